//! Appending to a file so that no line is ever there twice and no half of one stays.
//!
//! A write can fail after a part of its bytes. Whole lines among those count as written. The rest, half
//! a line, is cut off again; where the system refuses that too, the file remembers how much of the line
//! is there, and the next attempt begins with what is missing of it. A file that somebody else changed,
//! or that a crash left without a newline at its end, is given one first.

use std::io;
use std::path::Path;

use super::chunk::Chunk;

/// Where appended bytes go; files, but for tests.
pub(super) trait Disk: Send {
    /// Opens a file for appending, making it and its folder if they are not there.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Appendable>>;
}

/// A file that is open for appending.
pub(super) trait Appendable {
    /// Its length.
    fn length(&self) -> io::Result<u64>;
    /// Its last byte, when it has `length` bytes.
    fn last(&self, length: u64) -> io::Result<Option<u8>>;
    /// Writes some of the bytes at the end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts it to a length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Brings it to the disk itself.
    fn sync(&mut self) -> io::Result<()>;
    /// Closes it. A network file system may say only now that it could not write.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// What is known of the end of a file from the last time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Its length then; `None` before the first time.
    length: Option<u64>,
    /// A line of which the file has a part that could not be cut off.
    torn: Option<Torn>,
    /// A length that the file must be cut to first: it may hold more, of which nobody knows what.
    cut: Option<u64>,
}

/// A line of which the file has the first bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Torn {
    line: Vec<u8>,
    written: usize,
}

impl Tail {
    /// Whether there is nothing to repair.
    pub(super) const fn is_clean(&self) -> bool {
        self.torn.is_none() && self.cut.is_none()
    }
}

/// What came of appending.
#[derive(Debug, Default)]
pub(super) struct Appended {
    /// Bytes of the chunks, from the first on, that are done with: whole lines on disk, and perhaps one
    /// more that [`Tail`] holds.
    pub done: usize,
    /// Whether the last of those lines is one that [`Tail`] holds.
    pub held: bool,
    /// A line that [`Tail`] held from before, if it is whole on disk now.
    pub finished: Option<Vec<u8>>,
    /// What stopped it.
    pub error: Option<io::Error>,
}

/// Appends `chunks` to the file at `path`, whose end was left as `tail` says.
pub(super) fn append(
    disk: &dyn Disk,
    path: &Path,
    tail: &mut Tail,
    chunks: &[Chunk],
    sync: bool,
) -> Appended {
    let mut file = match disk.open(path) {
        Ok(file) => file,
        Err(error) => return Appended { error: Some(error), ..Appended::default() },
    };
    let mut appended = Appended::default();
    let began = match begin(file.as_mut(), tail) {
        Ok(began) => began,
        Err(error) => return Appended { error: Some(error), ..Appended::default() },
    };
    let before = tail.clone();
    appended.error = write_torn(file.as_mut(), tail, &mut appended.finished)
        .and_then(|()| write_chunks(file.as_mut(), tail, chunks, &mut appended))
        .err();
    let synced = if sync { file.sync() } else { Ok(()) };
    if let Err(error) = synced.and(file.close()) {
        // Nobody knows what of it is there: back to where this began.
        *tail = Tail { cut: Some(began), ..before };
        if let Ok(mut file) = disk.open(path) {
            let _ = cut_back(file.as_mut(), tail);
        }
        return Appended { error: Some(error), ..Appended::default() };
    }
    appended
}

/// Brings the file's end in order; answers its length then.
fn begin(file: &mut dyn Appendable, tail: &mut Tail) -> io::Result<u64> {
    cut_back(file, tail)?;
    let length = file.length()?;
    if tail.length == Some(length) {
        if let Some(torn) = &mut tail.torn {
            let good = length.saturating_sub(torn.written as u64);
            if torn.written > 0 && file.cut(good).is_ok() {
                torn.written = 0;
                tail.length = Some(good);
                return Ok(good);
            }
        }
        return Ok(length);
    }
    // New to us, or changed by somebody else. What was there of a torn line is not ours to go on with.
    if let Some(torn) = &mut tail.torn {
        torn.written = 0;
    }
    tail.length = Some(length);
    if file.last(length)?.is_some_and(|last| last != b'\n') {
        write_all(file, tail, b"\n").map_err(|(_, error)| error)?;
    }
    Ok(tail.length.unwrap_or(length))
}

fn cut_back(file: &mut dyn Appendable, tail: &mut Tail) -> io::Result<()> {
    let Some(to) = tail.cut else { return Ok(()) };
    let length = file.length()?;
    if length > to {
        file.cut(to)?;
    }
    // A shorter file is not as we left it, and begins as one that somebody else changed.
    tail.length = (length >= to).then_some(to);
    tail.cut = None;
    Ok(())
}

fn write_torn(file: &mut dyn Appendable, tail: &mut Tail, finished: &mut Option<Vec<u8>>) -> io::Result<()> {
    let Some(mut torn) = tail.torn.take() else { return Ok(()) };
    match write_all(file, tail, torn.line.get(torn.written..).unwrap_or_default()) {
        Ok(()) => {
            *finished = Some(torn.line);
            Ok(())
        }
        Err((written, error)) => {
            torn.written += written;
            tail.torn = Some(torn);
            Err(error)
        }
    }
}

fn write_chunks(
    file: &mut dyn Appendable,
    tail: &mut Tail,
    chunks: &[Chunk],
    appended: &mut Appended,
) -> io::Result<()> {
    for chunk in chunks {
        let lines = chunk.lines();
        let Err((written, error)) = write_all(file, tail, lines) else {
            appended.done += lines.len();
            continue;
        };
        let (whole, rest) = lines.split_at(written);
        let end = memchr::memrchr(b'\n', whole).map_or(0, |at| at + 1);
        appended.done += end;
        let half = written - end;
        if half == 0 {
            return Err(error);
        }
        let good = tail.length.map(|length| length.saturating_sub(half as u64));
        match good.map(|good| file.cut(good)) {
            Some(Ok(())) => tail.length = good,
            _ => {
                let missing = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
                let line = lines.get(end..written + missing).unwrap_or_default().to_vec();
                appended.done += line.len();
                appended.held = true;
                tail.torn = Some(Torn { line, written: half });
            }
        }
        return Err(error);
    }
    Ok(())
}

/// Writes all of it, or says how much was written.
fn write_all(file: &mut dyn Appendable, tail: &mut Tail, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match file.write(rest) {
            Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                written += count;
                tail.length = tail.length.map(|length| length + count as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
