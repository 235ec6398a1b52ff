//! One append-only file that is read again and again: what is new in it, or that it is another file.
//!
//! A file is opened for each reading and never held open: on NFS a held handle goes stale when the
//! file is replaced, and a rotated file would be followed under its old name. Growth is told from
//! replacement by size, identity (device and inode), modification time, and the last bytes that
//! were read, which must still be there.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Bytes before the place of reading that are compared before going on. Lines hold a time, so the end
/// of another file differs within a line.
const ANCHOR: usize = 128;

/// Waits between attempts at a file whose handle went stale. NFS clears its caches within tens of
/// milliseconds; a query must not hang for longer.
const STALE_WAITS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(200)];

/// What the system says of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub size: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
    identity: (u64, u64),
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            identity: (metadata.dev(), metadata.ino()),
        }
    }
}

/// The state of `path`, or `None` when there is no such file.
pub(super) fn stat(path: &Path) -> io::Result<Option<Stat>> {
    patiently(|| match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(Stat::from(&metadata))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    })
}

/// An open file and its state when it was opened, which bounds what is read of it.
#[derive(Debug)]
pub(super) struct Opened {
    pub file: File,
    pub stat: Stat,
}

impl Opened {
    /// Opens `path`; `None` when there is no such file. Anything but a regular file is an error.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        // Without waiting: opening a named pipe would wait for a writer that never comes.
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        patiently(|| match options.open(path) {
            Ok(file) => {
                let metadata = file.metadata()?;
                if !metadata.is_file() {
                    return Err(io::Error::other("not a regular file"));
                }
                Ok(Some(Self { file, stat: Stat::from(&metadata) }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Bytes `[start, end)` of the file as a reader.
    pub(super) fn range(&self, start: u64, end: u64) -> Range<'_> {
        Range { file: &self.file, at: start, end: end.min(self.stat.size) }
    }

    /// The place after `offset` bytes, to go on from later.
    pub(super) fn mark(&self, offset: u64) -> io::Result<Mark> {
        let start = offset.saturating_sub(ANCHOR as u64);
        let mut anchor = Vec::with_capacity(ANCHOR);
        self.range(start, offset).read_to_end(&mut anchor)?;
        Ok(Mark { offset, anchor, stat: self.stat })
    }
}

/// A stretch of a file, read without moving the file's own place.
#[derive(Debug)]
pub(super) struct Range<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl Read for Range<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let length = out.len().min(left);
        let read = self.file.read_at(out.get_mut(..length).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Where reading stopped, and enough to tell whether it can go on.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub offset: u64,
    anchor: Vec<u8>,
    pub stat: Stat,
}

/// What became of a file since a mark.
#[derive(Debug)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// It has more bytes behind the mark.
    Grown(Opened),
    /// It is another file, or was cut or rewritten: what was read before does not count.
    Replaced,
    /// It is not there.
    Gone,
}

impl Mark {
    /// What became of `path`, whose state is `now`.
    pub(super) fn change(&self, path: &Path, now: Option<Stat>) -> io::Result<Change> {
        let Some(now) = now else { return Ok(Change::Gone) };
        if now == self.stat {
            return Ok(Change::None);
        }
        // Equal size and another time: rewritten in place.
        if now.identity != self.stat.identity || now.size <= self.stat.size {
            return Ok(Change::Replaced);
        }
        let Some(opened) = Opened::open(path)? else { return Ok(Change::Gone) };
        let mut anchor = Vec::with_capacity(ANCHOR);
        opened.range(self.offset - self.anchor.len() as u64, self.offset).read_to_end(&mut anchor)?;
        let goes_on = opened.stat.identity == self.stat.identity && anchor == self.anchor;
        Ok(if goes_on { Change::Grown(opened) } else { Change::Replaced })
    }
}

/// Tries again when the handle of a file on NFS went stale between two calls.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for wait in STALE_WAITS {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle => thread::sleep(wait),
            answer => return answer,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn change(mark: &Mark, path: &Path) -> Change {
        mark.change(path, stat(path).unwrap()).unwrap()
    }

    #[test]
    fn growth_is_told_from_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(&path, "one\ntwo\nthr").unwrap();
        let mark = Opened::open(&path).unwrap().unwrap().mark(8).unwrap();
        assert!(matches!(change(&mark, &path), Change::None));

        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"ee\n").unwrap();
        let Change::Grown(opened) = change(&mark, &path) else { panic!() };
        let mut rest = String::new();
        opened.range(8, u64::MAX).read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "three\n");

        fs::write(&path, "one\nTWO\nthree\nfour\n").unwrap();
        assert!(matches!(change(&mark, &path), Change::Replaced), "rewritten in place and longer");
        fs::write(&path, "one\n").unwrap();
        assert!(matches!(change(&mark, &path), Change::Replaced), "cut");
        fs::rename(&path, folder.path().join("old")).unwrap();
        assert!(matches!(change(&mark, &path), Change::Gone));
        fs::write(&path, "one\ntwo\nthree, and more\n").unwrap();
        assert!(matches!(change(&mark, &path), Change::Replaced), "another file of the same name");
    }
}
