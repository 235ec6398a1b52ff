//! A stretch of lines that go into one file.

use super::shape::Hour;

/// Bytes after which a chunk is full: a write of this size costs nothing beside its bytes, and memory is
/// given back in pieces of it.
const FULL: usize = 256 * 1024;

/// What a chunk costs beside its bytes, about.
pub(super) const OVERHEAD: usize = 128;

/// Complete lines of one stream and hour, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The hour; `None` in a stream of one file.
    pub hour: Hour,
    /// A line says something of lanes that is not known to be on disk.
    pub lanes: bool,
    bytes: Vec<u8>,
    /// Where the first line begins that was not dropped or written.
    start: usize,
    records: usize,
}

impl Chunk {
    /// An empty chunk.
    pub(super) fn new(hour: Hour) -> Self {
        Self { hour, ..Self::default() }
    }

    /// Its lines.
    pub(super) fn lines(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// How many there are.
    pub(super) const fn records(&self) -> usize {
        self.records
    }

    /// Whether a line of `length` bytes fits; one does into an empty chunk, whatever its length.
    pub(super) fn has_room(&self, length: usize) -> bool {
        self.bytes.is_empty() || self.bytes.len() + length <= FULL
    }

    /// Memory that the chunk takes, about: a vector that grows has up to twice what is in it, but only the
    /// newest chunks of a stream grow.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + OVERHEAD
    }

    /// Appends a line: an opening brace, `body`, a newline.
    #[inline]
    pub(super) fn push(&mut self, body: &[u8]) {
        self.bytes.push(b'{');
        self.bytes.extend_from_slice(body);
        self.bytes.push(b'\n');
        self.records += 1;
    }

    /// Takes the oldest line away, if there is one.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let Some(end) = memchr::memchr(b'\n', self.lines()) else { return false };
        self.start += end + 1;
        self.records = self.records.saturating_sub(1);
        true
    }

    /// Takes the lines away that end within the first `length` bytes; answers how many those are.
    pub(super) fn advance(&mut self, length: usize) -> usize {
        let head = self.lines().get(..length).unwrap_or(self.lines());
        let Some(end) = memchr::memrchr(b'\n', head) else { return 0 };
        let count = memchr::memchr_iter(b'\n', head).count();
        self.start += end + 1;
        self.records = self.records.saturating_sub(count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bodies: &[&str]) -> Chunk {
        let mut chunk = Chunk::new(Some(1));
        bodies.iter().for_each(|body| chunk.push(body.as_bytes()));
        chunk
    }

    #[test]
    fn the_oldest_line_goes_first() {
        let mut chunk = chunk(&["1}", "22}"]);
        assert!(chunk.drop_oldest());
        assert_eq!((chunk.lines(), chunk.records()), (&b"{22}\n"[..], 1));
        assert!(chunk.drop_oldest());
        assert_eq!((chunk.lines(), chunk.records()), (&b""[..], 0));
        assert!(!chunk.drop_oldest());
    }

    #[test]
    fn only_whole_lines_are_taken_as_written() {
        for (written, count, rest) in
            [(0, 0, "{1}\n{22}\n"), (3, 0, "{1}\n{22}\n"), (4, 1, "{22}\n"), (8, 1, "{22}\n"), (9, 2, "")]
        {
            let mut chunk = chunk(&["1}", "22}"]);
            assert_eq!(chunk.advance(written), count);
            assert_eq!((chunk.lines(), chunk.records()), (rest.as_bytes(), 2 - count), "{written}");
        }
    }

    #[test]
    fn a_line_longer_than_a_chunk_has_one_of_its_own() {
        let mut chunk = Chunk::new(None);
        assert!(chunk.has_room(10 * FULL));
        chunk.push(&vec![b'x'; FULL]);
        assert!(!chunk.has_room(1));
    }
}
