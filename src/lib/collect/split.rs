//! Lines out of whatever pieces a producer's bytes arrive in, in bounded memory.

/// Longest line that is taken. A topology of a thousand engines or a step's logged metrics take a tenth.
pub(super) const MAX_LINE: usize = 1024 * 1024;

/// Beginnings of lines that all producers together may have waiting for their ends. More than that is
/// no producer of records: hundreds would have to stop in the middle of lines of their greatest length.
pub(super) const MAX_WAITING: usize = 16 * 1024 * 1024;

/// Memory that a producer keeps for the next unfinished line.
const KEPT: usize = 64 * 1024;

/// A line that came to its end, or will not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A whole line, without its newline.
    Line(&'a [u8]),
    /// A line that is longer than any may be.
    TooLong,
}

/// What one producer has sent of a line that is not whole yet.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    partial: Vec<u8>,
    /// Within a line that was too long.
    skipping: bool,
    lines: u64,
}

impl Splitter {
    /// Hands the lines that `block` completes to `each`, with their number from 1. `waiting` counts the
    /// bytes that all producers hold.
    pub(super) fn feed(
        &mut self,
        mut block: &[u8],
        waiting: &mut usize,
        mut each: impl FnMut(u64, Piece<'_>),
    ) {
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (head, rest) = block.split_at(end);
            block = rest.get(1..).unwrap_or_default();
            if self.skipping {
                self.skipping = false;
                continue;
            }
            self.lines += 1;
            if self.partial.is_empty() {
                each(self.lines, if head.len() > MAX_LINE { Piece::TooLong } else { Piece::Line(head) });
                continue;
            }
            if self.partial.len() + head.len() > MAX_LINE {
                each(self.lines, Piece::TooLong);
            } else {
                let held = self.partial.len();
                self.partial.extend_from_slice(head);
                each(self.lines, Piece::Line(&self.partial));
                self.partial.truncate(held);
            }
            self.release(waiting);
        }
        if self.skipping || block.is_empty() {
            return;
        }
        if self.partial.len() + block.len() > MAX_LINE || *waiting + block.len() > MAX_WAITING {
            self.release(waiting);
            self.skipping = true;
            self.lines += 1;
            each(self.lines, Piece::TooLong);
            return;
        }
        self.partial.extend_from_slice(block);
        *waiting += block.len();
    }

    /// The producer has ended: what it sent behind its last newline, with the number of that line.
    pub(super) fn finish(&mut self, waiting: &mut usize) -> Option<(u64, Vec<u8>)> {
        if self.partial.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.partial);
        *waiting = waiting.saturating_sub(rest.len());
        self.lines += 1;
        Some((self.lines, rest))
    }

    fn release(&mut self, waiting: &mut usize) {
        *waiting = waiting.saturating_sub(self.partial.len());
        self.partial.clear();
        self.partial.shrink_to(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbered lines, of which `None` was too long.
    type Numbered = Vec<(u64, Option<String>)>;

    fn lines(text: &[u8], step: usize) -> (Numbered, Option<(u64, Vec<u8>)>, usize) {
        let (mut splitter, mut waiting, mut seen) = (Splitter::default(), 0, Vec::new());
        for block in text.chunks(step) {
            splitter.feed(block, &mut waiting, |number, piece| {
                seen.push((
                    number,
                    match piece {
                        Piece::Line(line) => Some(String::from_utf8_lossy(line).into_owned()),
                        Piece::TooLong => None,
                    },
                ));
            });
        }
        let rest = splitter.finish(&mut waiting);
        (seen, rest, waiting)
    }

    #[test]
    fn lines_are_the_same_in_pieces_of_any_size() {
        for step in [1, 2, 3, 5, 100] {
            let (seen, rest, waiting) = lines(b"one\n\ntwo three\nfo", step);
            let line = |text: &str| Some(text.to_owned());
            assert_eq!(seen, [(1, line("one")), (2, line("")), (3, line("two three"))]);
            assert_eq!((rest, waiting), (Some((4, b"fo".to_vec())), 0));
        }
    }

    #[test]
    fn a_line_without_an_end_is_given_up_and_the_next_is_found() {
        let mut text = vec![b'x'; 3 * MAX_LINE];
        text.extend_from_slice(b"\nnext\n");
        for step in [1000, MAX_LINE, text.len()] {
            let (seen, rest, waiting) = lines(&text, step);
            assert_eq!(seen, [(1, None), (2, Some("next".to_owned()))], "{step}");
            assert_eq!((rest, waiting), (None, 0));
        }
    }

    #[test]
    fn many_unfinished_lines_stay_within_the_bound_of_all() {
        let mut waiting = 0;
        let mut splitters: Vec<Splitter> = (0..64).map(|_| Splitter::default()).collect();
        let mut refused = 0;
        for splitter in &mut splitters {
            splitter.feed(&vec![b'x'; MAX_LINE], &mut waiting, |_, piece| {
                assert_eq!(piece, Piece::TooLong);
                refused += 1;
            });
        }
        assert_eq!(refused, 48);
        let held: usize = splitters.iter().map(|splitter| splitter.partial.capacity()).sum();
        assert!(waiting <= MAX_WAITING && held <= 2 * MAX_WAITING, "{held}");
    }
}
