//! Lines that are made in another order than that of their times.

use std::io::{self, Write};
use std::ops::Range;

use super::clock::Ms;

/// Lines of a span of time; those of other times are not kept.
#[derive(Debug)]
pub(super) struct Events {
    span: Range<Ms>,
    text: Vec<u8>,
    /// Time of each line, and where it lies in `text`.
    lines: Vec<(Ms, Range<usize>)>,
}

impl Events {
    pub(super) fn new(span: Range<Ms>) -> Self {
        Self { span, text: Vec::new(), lines: Vec::new() }
    }

    /// Adds what `line` appends, newline included, if its time is in the span.
    pub(super) fn add(&mut self, at: Ms, line: impl FnOnce(&mut Vec<u8>)) {
        if self.span.contains(&at) {
            let start = self.text.len();
            line(&mut self.text);
            self.lines.push((at, start..self.text.len()));
        }
    }

    /// Writes the lines in order of time; those of one time in the order in which they came.
    pub(super) fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.lines.sort_by_key(|line| line.0);
        self.lines.iter().try_for_each(|(_, range)| out.write_all(&self.text[range.clone()]))
    }
}
