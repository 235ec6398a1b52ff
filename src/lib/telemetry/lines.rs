//! Complete lines of an append-only file in one pass, each with its byte offset, in constant memory.
//!
//! The file is read, not mapped: it may live on NFS and be cut or replaced by its writer, and a
//! mapping would turn that into a signal.

use std::io::{self, Read};

/// Bytes asked of the system at a time; more gained nothing in measurements.
const CHUNK: usize = 256 * 1024;

/// Longest line that is held in memory. No record comes near it; a hole of NUL bytes that a crashed
/// writer leaves on a network file system can be larger than memory.
pub(super) const MAX_LINE: usize = 64 * 1024 * 1024;

/// One complete line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it starts in the file, bytes.
    pub offset: u64,
    /// Its bytes without the newline; `None` for a line longer than 64 MiB, which is not kept.
    pub bytes: Option<&'a [u8]>,
}

/// Splits a reader into complete lines. What follows the last newline is not there yet.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// Unread part of `buffer`.
    start: usize,
    end: usize,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    max_line: usize,
}

impl<R: Read> Lines<R> {
    /// Lines of `source`, which stands at byte `offset` of its file, at the start of a line.
    pub fn new(source: R, offset: u64) -> Self {
        Self { source, buffer: vec![0; CHUNK], start: 0, end: 0, offset, max_line: MAX_LINE }
    }

    /// Offset of the first byte that was not yet given out: where to go on when the file has grown.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next complete line, or `None` at the end of what is there.
    ///
    /// # Errors
    /// What the source answers.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let offset = self.offset;
        let mut searched = 0; // bytes of the line known to hold no newline
        let mut dropped = 0_u64; // bytes of an overlong line already thrown away
        loop {
            let unread = self.buffer.get(self.start + searched..self.end).unwrap_or_default();
            if let Some(found) = memchr::memchr(b'\n', unread) {
                let length = searched + found;
                let line = self.start..self.start + length;
                self.start += length + 1;
                self.offset = offset + dropped + length as u64 + 1;
                let bytes = if dropped == 0 { self.buffer.get(line) } else { None };
                return Ok(Some(Line { offset, bytes }));
            }
            searched = self.end - self.start;
            if searched > self.max_line {
                dropped += searched as u64;
                self.start = self.end;
                searched = 0;
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// As many complete lines as are at hand, with their newlines, for a reader that finds the ends of
    /// lines itself. `bytes` is `None` for one overlong line. `None` at the end of what is there.
    ///
    /// # Errors
    /// What the source answers.
    pub(super) fn next_region(&mut self) -> io::Result<Option<Line<'_>>> {
        let offset = self.offset;
        let mut searched = 0;
        loop {
            let unread = self.buffer.get(self.start + searched..self.end).unwrap_or_default();
            if let Some(found) = memchr::memrchr(b'\n', unread) {
                let region = self.start..self.start + searched + found + 1;
                self.start = region.end;
                self.offset = offset + region.len() as u64;
                return Ok(Some(Line { offset, bytes: self.buffer.get(region) }));
            }
            searched = self.end - self.start;
            if searched > self.max_line {
                let length = self.next_line()?.map(|line| line.offset);
                return Ok(length.map(|offset| Line { offset, bytes: None }));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads more behind the unread part, which moves to the front; the buffer grows if that fills it.
    fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.source.read(self.buffer.get_mut(self.end..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(mut lines: Lines<Slow<'_>>) -> (Vec<(u64, Option<String>)>, u64) {
        let mut out = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            out.push((line.offset, line.bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())));
        }
        (out, lines.offset())
    }

    #[test]
    fn only_complete_lines_come_out_whatever_the_size_of_a_read() {
        for step in [1, 2, 3, 7, 100] {
            let (lines, offset) = all(Lines::new(Slow(b"one\n\ntwo three\nfo", step), 10));
            let line = |text: &str| Some(text.to_owned());
            assert_eq!(lines, [(10, line("one")), (14, line("")), (15, line("two three"))]);
            assert_eq!(offset, 25);
        }
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_whole() {
        let text = format!("{}\nx\n", "y".repeat(3 * CHUNK));
        let (lines, offset) = all(Lines::new(Slow(text.as_bytes(), 5000), 0));
        assert_eq!(lines[0].1.as_ref().map(String::len), Some(3 * CHUNK));
        assert_eq!(lines[1], (3 * CHUNK as u64 + 1, Some("x".to_owned())));
        assert_eq!(offset, text.len() as u64);
    }

    #[test]
    fn an_overlong_line_is_dropped_in_bounded_memory_and_the_next_is_found() {
        let text = format!("a\n{}\nb\n", "y".repeat(10 * CHUNK));
        let mut lines = Lines::new(Slow(text.as_bytes(), CHUNK), 0);
        lines.max_line = CHUNK;
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            seen.push((line.offset, line.bytes.map(<[u8]>::len)));
        }
        assert_eq!(seen, [(0, Some(1)), (2, None), (10 * CHUNK as u64 + 3, Some(1))]);
        assert!(lines.buffer.len() <= 4 * CHUNK, "{}", lines.buffer.len());
    }
}
