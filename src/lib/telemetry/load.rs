//! From a stretch of a file to a block of columns.

use std::io::{self, Read};

use rayon::prelude::*;

use super::column::{Build, Columns};
use super::lines::Lines;
use super::shape::Shapes;
use super::tail::Opened;
use crate::record::decode;

/// Bytes that one thread reads into one block. Large enough that a block has a stretch of each lane
/// worth looping over, small enough that the threads finish together.
const PART: u64 = 16 << 20;

/// Below this a second thread gains nothing.
const LEAST_PART: u64 = 1 << 20;

/// Lines of a stretch that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// How many.
    pub lines: u64,
    /// Byte at which the first starts, and what is wrong with it.
    pub first: Option<(u64, String)>,
}

impl Tally {
    pub(super) fn add(&mut self, offset: u64, reason: impl ToString) {
        self.lines += 1;
        if self.first.is_none() {
            self.first = Some((offset, reason.to_string()));
        }
    }

    /// Adds what was found behind this stretch.
    pub(super) fn append(&mut self, later: Self) {
        self.lines += later.lines;
        if self.first.is_none() {
            self.first = later.first;
        }
    }
}

/// What was read of a stretch.
#[derive(Debug)]
pub(super) struct Part<C> {
    pub block: C,
    pub tally: Tally,
    /// Offset after the last complete line; `None` without one.
    pub end: Option<u64>,
}

/// The stretches in which bytes from `from` on are read.
pub(super) fn stretches(opened: &Opened, from: u64) -> Vec<(u64, u64)> {
    let length = opened.stat.size.saturating_sub(from);
    let threads = rayon::current_num_threads() as u64;
    let count = length.div_ceil(PART).max(threads.min(length / LEAST_PART)).max(1);
    let size = length.div_ceil(count);
    (0..count).map(|part| (from + part * size, from + ((part + 1) * size).min(length))).collect()
}

/// Reads the file from `from`, which is the start of a line, in parallel. The parts are in its order.
///
/// Called from threads that may wait, never from inside a parallel loop while a lock is held.
pub(super) fn load<C: Columns>(opened: &Opened, from: u64) -> io::Result<Vec<Part<C>>> {
    stretches(opened, from)
        .into_par_iter()
        .map(|(start, end)| read(opened, start, end, start == from))
        .collect()
}

/// Reads the complete lines that start in `[start, end)`. Unless `at_line` says that one starts at
/// `start`, everything before the first newline from `start - 1` on belongs to an earlier stretch.
pub(super) fn read<C: Columns>(opened: &Opened, start: u64, end: u64, at_line: bool) -> io::Result<Part<C>> {
    let from = if at_line { start } else { start.saturating_sub(1) };
    let mut lines = Lines::new(opened.range(from, u64::MAX), from);
    let mut reader = Reader::<C> {
        shapes: Shapes::new(C::HOLES),
        subjects: Vec::new(),
        builder: C::Builder::default(),
        tally: Tally::default(),
        scratch: String::new(),
    };
    let mut done = None;
    if !at_line {
        lines.next_line()?;
        if lines.offset() == from {
            return Ok(Part { block: reader.builder.finish(), tally: reader.tally, end: None });
        }
    }
    while lines.offset() < end {
        let Some(region) = lines.next_region()? else { break };
        let Some(bytes) = region.bytes else {
            reader.tally.add(region.offset, "longer than 64 MiB");
            done = Some(lines.offset());
            continue;
        };
        let wanted = usize::try_from(end - region.offset).unwrap_or(usize::MAX);
        let read = reader.region(bytes, region.offset, wanted);
        done = Some(region.offset + read as u64);
    }
    Ok(Part { block: reader.builder.finish(), tally: reader.tally, end: done })
}

struct Reader<C: Columns> {
    shapes: Shapes,
    /// What the lines of each shape are about.
    subjects: Vec<u32>,
    builder: C::Builder,
    tally: Tally,
    scratch: String,
}

impl<C: Columns> Reader<C> {
    /// Reads the lines of a region that start before `wanted`; answers how many bytes those were.
    fn region(&mut self, bytes: &[u8], offset: u64, wanted: usize) -> usize {
        let mut at = 0;
        while at < wanted {
            let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else { break };
            if let Some((shape, numbers, length)) = self.shapes.read(rest) {
                if let Some(&subject) = self.subjects.get(shape as usize) {
                    self.builder.push(subject, &numbers);
                }
                at += length;
                continue;
            }
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.patiently(rest.get(..length).unwrap_or_default(), offset + at as u64);
            at += length + 1;
        }
        at.min(bytes.len())
    }

    #[cold]
    fn patiently(&mut self, line: &[u8], offset: u64) {
        let decoded = match decode(C::STREAM, line, &mut self.scratch) {
            Ok(Some(decoded)) => decoded,
            Ok(None) => return,
            Err(reason) => return self.tally.add(offset, reason),
        };
        match self.builder.read(&decoded.record) {
            Ok((subject, numbers)) => {
                self.builder.push(subject, &numbers);
                if decoded.record.extra().is_empty() && self.shapes.learn(line, &numbers).is_some() {
                    self.subjects.push(subject);
                }
            }
            Err(reason) => self.tally.add(offset, reason),
        }
    }
}

/// Everything of a reader as text; what a small flat stream needs.
pub(super) fn whole_lines(
    source: impl Read,
    offset: u64,
    mut each: impl FnMut(u64, Option<&[u8]>),
) -> io::Result<u64> {
    let mut lines = Lines::new(source, offset);
    while let Some(line) = lines.next_line()? {
        each(line.offset, line.bytes);
    }
    Ok(lines.offset())
}
