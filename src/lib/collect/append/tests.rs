//! Appending to a disk that fails in every way at every byte.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::*;

/// Files in memory, and what goes wrong with them.
#[derive(Debug, Default, Clone)]
struct Fake(Arc<Mutex<World>>);

#[derive(Debug, Default)]
struct World {
    files: HashMap<PathBuf, Vec<u8>>,
    /// Bytes that writes may still take; then they fail.
    room: Option<usize>,
    /// Bytes of one write at most.
    at_once: Option<usize>,
    no_cut: bool,
    no_close: bool,
    no_open: bool,
}

struct Open(Fake, PathBuf);

fn no(what: &str) -> io::Error {
    io::Error::other(what.to_owned())
}

impl Fake {
    fn set(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.0.lock().unwrap());
    }

    fn text(&self) -> String {
        let world = self.0.lock().unwrap();
        String::from_utf8(world.files.get(Path::new("f")).cloned().unwrap_or_default()).unwrap()
    }

    fn append(&self, tail: &mut Tail, chunks: &[Chunk]) -> Appended {
        append(self, Path::new("f"), tail, chunks, false)
    }
}

impl Disk for Fake {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Appendable>> {
        let mut world = self.0.lock().unwrap();
        if world.no_open {
            return Err(no("open"));
        }
        world.files.entry(path.to_owned()).or_default();
        Ok(Box::new(Open(self.clone(), path.to_owned())))
    }
}

impl Open {
    fn with<T>(&self, f: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        f(self.0.0.lock().unwrap().files.get_mut(&self.1).unwrap())
    }
}

impl Appendable for Open {
    fn length(&self) -> io::Result<u64> {
        Ok(self.with(|file| file.len() as u64))
    }

    fn last(&self, _length: u64) -> io::Result<Option<u8>> {
        Ok(self.with(|file| file.last().copied()))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.0.0.lock().unwrap();
        let most = world.at_once.unwrap_or(usize::MAX).min(world.room.unwrap_or(usize::MAX)).min(bytes.len());
        if most == 0 {
            return Err(no("write"));
        }
        if let Some(room) = &mut world.room {
            *room -= most;
        }
        world.files.get_mut(&self.1).unwrap().extend_from_slice(&bytes[..most]);
        Ok(most)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.0.0.lock().unwrap().no_cut {
            return Err(no("cut"));
        }
        self.with(|file| file.truncate(usize::try_from(length).unwrap()));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        if self.0.0.lock().unwrap().no_close { Err(no("close")) } else { Ok(()) }
    }
}

fn chunk(bodies: &[&str]) -> Chunk {
    let mut chunk = Chunk::new(None);
    bodies.iter().for_each(|body| chunk.push(body.as_bytes()));
    chunk
}

/// As the writer does: what is done is taken away.
fn rest(mut chunks: Vec<Chunk>, mut done: usize) -> Vec<Chunk> {
    for chunk in &mut chunks {
        let length = chunk.lines().len().min(done);
        chunk.advance(length);
        done -= length;
    }
    chunks.retain(|chunk| chunk.records() > 0);
    chunks
}

#[test]
fn whatever_fails_at_whatever_byte_every_line_is_there_once_in_the_end() {
    let chunks = || vec![chunk(&["1}", "22}", "333}"]), chunk(&["4}"])];
    let whole = "{1}\n{22}\n{333}\n{4}\n";
    for room in 0..=whole.len() {
        for (no_cut, no_close) in [(false, false), (true, false), (false, true), (true, true)] {
            for at_once in [1, 3, 100] {
                for again_no_cut in [false, true] {
                    let disk = Fake::default();
                    let mut tail = Tail::default();
                    disk.set(|w| {
                        (w.room, w.at_once, w.no_cut, w.no_close) =
                            (Some(room), Some(at_once), no_cut, no_close);
                    });
                    let first = disk.append(&mut tail, &chunks());
                    let left = rest(chunks(), first.done);
                    assert_eq!(first.error.is_none(), room == whole.len() && !no_close);
                    if !no_cut {
                        assert!(disk.text().is_empty() || disk.text().ends_with('\n'), "{:?}", disk.text());
                        assert!(tail.is_clean());
                    }
                    // A second failure on top, after a few bytes more.
                    disk.set(|w| (w.room, w.no_cut, w.no_close) = (Some(2), again_no_cut, false));
                    let second = disk.append(&mut tail, &left);
                    let left = rest(left, second.done);
                    disk.set(|w| (w.room, w.no_cut) = (None, no_cut && !no_close));
                    let third = disk.append(&mut tail, &left);
                    assert!(third.error.is_none(), "{:?}", third.error);
                    assert!(rest(left, third.done).is_empty() && !third.held && tail.is_clean());
                    assert_eq!(
                        disk.text(),
                        whole,
                        "room {room} cut {no_cut} close {no_close} once {at_once}"
                    );
                    let finished = [&first, &second, &third].iter().filter(|a| a.finished.is_some()).count();
                    let held = [&first, &second].iter().filter(|a| a.held).count();
                    assert_eq!(finished, held);
                }
            }
        }
    }
}

#[test]
fn an_unterminated_line_is_ended_first() {
    for before in ["{\"ts\":1,\"a", "\0\0\0", "x\ny"] {
        let disk = Fake::default();
        disk.set(|w| drop(w.files.insert("f".into(), before.into())));
        let mut tail = Tail::default();
        assert!(disk.append(&mut tail, &[chunk(&["1}"])]).error.is_none());
        assert_eq!(disk.text(), format!("{before}\n{{1}}\n"));
        assert!(disk.append(&mut tail, &[chunk(&["2}"])]).error.is_none());
        assert_eq!(disk.text(), format!("{before}\n{{1}}\n{{2}}\n"));
    }
}

#[test]
fn a_line_ended_by_us_is_not_ended_again_when_the_rest_fails() {
    let disk = Fake::default();
    disk.set(|w| {
        w.files.insert("f".into(), b"torn".to_vec());
        w.room = Some(1);
    });
    let mut tail = Tail::default();
    assert!(disk.append(&mut tail, &[chunk(&["1}"])]).error.is_some());
    disk.set(|w| w.room = None);
    assert!(disk.append(&mut tail, &[chunk(&["1}"])]).error.is_none());
    assert_eq!(disk.text(), "torn\n{1}\n");
}

#[test]
fn what_somebody_else_does_to_the_file_is_seen() {
    let disk = Fake::default();
    let mut tail = Tail::default();
    assert!(disk.append(&mut tail, &[chunk(&["1}"])]).error.is_none());
    disk.set(|w| w.files.get_mut(Path::new("f")).unwrap().extend_from_slice(b"theirs"));
    assert!(disk.append(&mut tail, &[chunk(&["2}"])]).error.is_none());
    assert_eq!(disk.text(), "{1}\ntheirs\n{2}\n");
    disk.set(|w| w.files.get_mut(Path::new("f")).unwrap().clear());
    assert!(disk.append(&mut tail, &[chunk(&["3}"])]).error.is_none());
    assert_eq!(disk.text(), "{3}\n");
}

#[test]
fn a_torn_line_of_ours_behind_which_somebody_wrote_is_written_again_whole() {
    let disk = Fake::default();
    let mut tail = Tail::default();
    disk.set(|w| (w.room, w.no_cut) = (Some(3), true));
    let first = disk.append(&mut tail, &[chunk(&["1234}"])]);
    assert!(first.held && disk.text() == "{12");
    disk.set(|w| {
        w.room = None;
        w.files.get_mut(Path::new("f")).unwrap().extend_from_slice(b"x");
    });
    assert!(disk.append(&mut tail, &[]).finished.is_some());
    assert_eq!(disk.text(), "{12x\n{1234}\n");
}
