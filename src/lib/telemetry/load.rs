//! From a stretch of a file to a block of columns.

use std::io::{self, Read};
use std::ops::RangeInclusive;

use rayon::prelude::*;

use super::column::{Build, Columns};
use super::lines::Lines;
use super::shape::{Numbers, Shapes};
use super::tail::Opened;
use crate::record::decode;

/// Bytes that one thread reads into one block. Large enough that a block has a stretch of each lane
/// worth looping over, small enough that the threads finish together.
const PART: u64 = 16 << 20;

/// Below this a second thread gains nothing.
const LEAST_PART: u64 = 1 << 20;

/// Times that rows of a file can have, Unix seconds.
pub(super) type Times = RangeInclusive<f64>;

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

/// The stretches in which bytes from `from` on are read, when `files` are read at the same time.
pub(super) fn stretches(opened: &Opened, from: u64, files: usize) -> Vec<(u64, u64)> {
    let length = opened.stat.size.saturating_sub(from);
    // Each stretch meets the shapes of its lines anew, so that a file is not cut for nothing.
    let threads = rayon::current_num_threads().div_ceil(files.max(1)) as u64;
    let count = length.div_ceil(PART).max(threads.min(length / LEAST_PART)).max(1);
    let size = length.div_ceil(count);
    (0..count).map(|part| (from + part * size, from + ((part + 1) * size).min(length))).collect()
}

/// Reads the file from `from`, which is the start of a line, in parallel. The parts are in its order.
///
/// Called from threads that may wait, never from inside a parallel loop while a lock is held.
pub(super) fn load<C: Columns>(opened: &Opened, from: u64, times: &Times) -> io::Result<Vec<Part<C>>> {
    stretches(opened, from, 1)
        .into_par_iter()
        .map(|(start, end)| read(opened, start, end, start == from, times))
        .collect()
}

/// Reads the complete lines that start in `[start, end)`. Unless `at_line` says that one starts at
/// `start`, everything before the first newline from `start - 1` on belongs to an earlier stretch. Rows
/// outside `times` are damage.
pub(super) fn read<C: Columns>(
    opened: &Opened,
    start: u64,
    end: u64,
    at_line: bool,
    times: &Times,
) -> io::Result<Part<C>> {
    let from = if at_line { start } else { start.saturating_sub(1) };
    let mut lines = Lines::new(opened.range(from, u64::MAX), from);
    let mut reader = Reader::<C> {
        shapes: Shapes::new(),
        subjects: Vec::new(),
        builder: C::Builder::default(),
        rows: 0,
        times: times.clone(),
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
    // A stretch can begin in the middle of a line that another one reads.
    while lines.offset() < end {
        let Some(region) = lines.next_region()? else { break };
        let Some(bytes) = region.bytes else {
            reader.tally.add(region.offset, "longer than 64 MiB");
            done = Some(lines.offset());
            continue;
        };
        let wanted = usize::try_from(end - region.offset).unwrap_or(usize::MAX);
        let read = reader.region(bytes, region.offset, wanted);
        if done.is_none() && reader.rows > 0 {
            let left = (wanted - read.min(wanted)) as u128 * reader.rows as u128;
            // Lines vary little in length; a few per cent too much cost no memory until they are used.
            reader.builder.reserve((left / read.max(1) as u128 * 103 / 100) as usize);
        }
        done = Some(region.offset + read as u64);
    }
    Ok(Part { block: reader.builder.finish(), tally: reader.tally, end: done })
}

struct Reader<C: Columns> {
    shapes: Shapes<C>,
    /// What the lines of each shape are about.
    subjects: Vec<u32>,
    builder: C::Builder,
    rows: usize,
    times: Times,
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
                    self.push(subject, &numbers, offset + at as u64);
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

    fn push(&mut self, subject: u32, numbers: &Numbers, offset: u64) {
        if self.times.contains(&C::time(numbers)) {
            self.builder.push(subject, numbers);
            self.rows += 1;
        } else {
            self.tally.add(offset, "a time far outside its file's hour");
        }
    }

    #[cold]
    fn patiently(&mut self, line: &[u8], offset: u64) {
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Err(reason) = self.decode(line, offset, &mut scratch) {
            self.tally.add(offset, reason);
        }
        self.scratch = scratch;
    }

    fn decode(&mut self, line: &[u8], offset: u64, scratch: &mut String) -> Result<(), String> {
        let Some(decoded) = decode(C::STREAM, line, scratch).map_err(|reason| reason.to_string())? else {
            return Ok(());
        };
        let (subject, numbers) = self.builder.read(&decoded.record).map_err(|reason| reason.to_string())?;
        self.push(subject, &numbers, offset);
        if decoded.record.extra().is_empty() && self.shapes.learn(line, &numbers).is_some() {
            self.subjects.push(subject);
        }
        Ok(())
    }
}

/// Every complete line of a reader; what a small flat stream needs.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::telemetry::column::Bytes;
    use crate::telemetry::column::{
        EngineBlock, GpuBlock, MISSING, PhaseBlock, ProcessBlock, TrajectoryBlock,
    };
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::fs;

    /// A row as text, so that rows of all streams can be compared.
    fn rows_of(blocks: &[Rows]) -> Vec<String> {
        let mut rows: Vec<String> = blocks.iter().flat_map(|rows| rows.0.clone()).collect();
        rows.sort();
        rows
    }

    #[derive(Debug)]
    struct Rows(Vec<String>);

    trait Shown: Columns {
        fn shown(&self) -> Vec<String>;
    }

    impl Shown for GpuBlock {
        fn shown(&self) -> Vec<String> {
            let mut out = Vec::new();
            for lane in self.lanes() {
                for row in 0..lane.ts.len() {
                    let (ts, util) = (lane.ts[row], lane.util[row]);
                    out.push(format!(
                        "{ts:?} {} {} {util} {} {}",
                        lane.node, lane.gpu, lane.mem_mb[row], lane.power_w[row]
                    ));
                }
            }
            out
        }
    }

    impl Shown for EngineBlock {
        fn shown(&self) -> Vec<String> {
            let mut out = Vec::new();
            for series in self.series() {
                for (ts, value) in series.ts.iter().zip(series.value) {
                    out.push(format!(
                        "{ts:?} {} {} {:?} {value:?}",
                        series.addr, series.metric, series.labels
                    ));
                }
            }
            out
        }
    }

    impl Shown for ProcessBlock {
        fn shown(&self) -> Vec<String> {
            self.rows().map(|row| format!("{row:?}")).collect()
        }
    }

    impl Shown for TrajectoryBlock {
        fn shown(&self) -> Vec<String> {
            self.rows().map(|row| format!("{row:?}")).collect()
        }
    }

    impl Shown for PhaseBlock {
        fn shown(&self) -> Vec<String> {
            self.closed().chain(self.open()).map(|row| format!("{row:?}")).collect()
        }
    }

    /// What the patient reader alone makes of the text, and how many lines it cannot read.
    fn slowly<C: Shown>(text: &[u8]) -> (Vec<String>, u64) {
        let mut builder = C::Builder::default();
        let mut damaged = 0;
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in text[..complete].split(|byte| *byte == b'\n') {
            match decode(C::STREAM, line, &mut String::new()) {
                Ok(None) => {}
                Ok(Some(decoded)) => match builder.read(&decoded.record) {
                    Ok((subject, numbers)) => builder.push(subject, &numbers),
                    Err(_) => damaged += 1,
                },
                Err(_) => damaged += 1,
            }
        }
        (rows_of(&[Rows(builder.finish().shown())]), damaged)
    }

    fn check<C: Shown>(text: &[u8], cuts: &[usize]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(&path, text).unwrap();
        let opened = Opened::open(&path).unwrap().unwrap();
        let mut ends: Vec<u64> = cuts.iter().map(|cut| (cut % (text.len() + 1)) as u64).collect();
        ends.extend([0, text.len() as u64]);
        ends.sort();
        ends.dedup();
        let parts: Vec<_> = ends
            .windows(2)
            .map(|at| {
                read::<C>(&opened, at[0], at[1], at[0] == 0, &(f64::NEG_INFINITY..=f64::INFINITY)).unwrap()
            })
            .collect();
        let damaged: u64 = parts.iter().map(|part| part.tally.lines).sum();
        // Markers are matched within a block, so blocks are joined before they are compared.
        let mut joined = C::Builder::default();
        for part in &parts {
            joined.absorb(&part.block);
            let mut bytes = Vec::new();
            part.block.put(&mut bytes);
            let again = C::take(&mut Bytes(&bytes)).unwrap();
            assert_eq!((again.shown(), again.span()), (part.block.shown(), part.block.span()));
            assert!(bytes.is_empty() || C::take(&mut Bytes(&bytes[..bytes.len() - 1])).is_none());
        }
        let (rows, slow_damaged) = slowly::<C>(text);
        assert_eq!(rows_of(&[Rows(joined.finish().shown())]), rows);
        assert_eq!(damaged, slow_damaged);
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        assert_eq!(parts.iter().filter_map(|part| part.end).max().unwrap_or(0), complete);
    }

    /// Lines as writers write them, the same with odd values, and no lines at all.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let number = || {
            prop_oneof![
                (0_i64..2000).prop_map(|n| n.to_string()),
                any::<f64>().prop_map(|x| format!("{x:?}")),
                (1.7e9_f64..1.8e9).prop_map(|x| format!("{x}")),
                (0_u32..40).prop_map(|x| format!("{}.25", 1_769_900_000 + x)),
                select(vec![
                    "-1.0",
                    "-1",
                    "0",
                    "null",
                    "NaN",
                    "-Infinity",
                    "1e3",
                    "\"7\"",
                    "007",
                    "9007199254740993",
                    "1.",
                    "[1]"
                ])
                .prop_map(str::to_owned),
            ]
        };
        let text = || select(vec!["n", "m", "a b", "é", "\\n", "\\ud83d", "x\\\"util\\\":5", "rollout"]);
        let line = (
            select(vec![0, 0, 0, 1, 1, 2, 3, 4, 5]),
            proptest::collection::vec(number(), 4),
            text(),
            text(),
            any::<bool>(),
        );
        let line = line.prop_map(|(kind, n, a, b, spaced)| {
            let line = match kind {
                0 => format!(r#"{{"ts":{},"node":"{a}","gpu":0,"util":{},"mem_mb":{},"power_w":{}}}"#, n[0], n[1], n[2], n[3]),
                1 => format!(r#"{{"ts":{},"addr":"{a}","metric":"{b}","labels":{{"value":"{a}"}},"value":{}}}"#, n[0], n[1]),
                2 => format!(r#"{{"ts":{},"addr":"{a}","metric":"{b}","labels":{{}},"value":{}}}"#, n[0], n[1]),
                3 => format!(r#"{{"name":"{a}","t0":{},"t1":{},"node":"{b}","gpus":[0],"rank":0,"role":"train"}}"#, n[0], n[1]),
                4 => format!(r#"{{"ts":{},"kind":"gen_end","sample_index":{},"group_index":{},"turn":1,"weight_version":"{a}","detail":"{b}"}}"#, n[0], n[1], n[2]),
                _ => format!(r#"{{"ts":{},"node":"{a}","gpu":1,"pid":{},"name":"{b}","mem_mb":{}}}"#, n[0], n[1], n[2]),
            };
            if spaced { line.replace(':', ": ").replace(',', ", ") } else { line }.into_bytes()
        });
        let odd = prop_oneof![
            8 => line,
            1 => proptest::collection::vec(any::<u8>(), 0..12),
            1 => select(vec![&b""[..], b"{}", b"\0\0\0", b"[1]", br#"{"ts":1,"n{"ts":2}"#, br#"{"ts":1,"util":2,"util":3,"node":"n","gpu":0}"#])
                .prop_map(<[u8]>::to_vec),
        ];
        proptest::collection::vec((odd, select(vec![&b"\n"[..], b"\n", b"\n", b"\r\n", b""])), 0..30)
            .prop_map(|lines| {
                lines.into_iter().flat_map(|(line, end)| [line, end.to_vec()].concat()).collect()
            })
    }

    proptest! {
        #[test]
        fn however_a_file_is_cut_its_rows_are_those_of_the_patient_reader(
            text in lines(),
            cuts in proptest::collection::vec(any::<usize>(), 0..6),
        ) {
            check::<GpuBlock>(&text, &cuts);
            check::<EngineBlock>(&text, &cuts);
            check::<PhaseBlock>(&text, &cuts);
            check::<TrajectoryBlock>(&text, &cuts);
            check::<ProcessBlock>(&text, &cuts);
        }
    }

    #[test]
    fn a_label_with_the_name_of_a_hole_is_no_value() {
        let text = br#"{"ts":1,"addr":"a","metric":"m","labels":{"value":7},"value":7.0}
{"ts":1,"addr":"a","metric":"m","labels":{"value":9},"value":7.0}
{"ts":2,"labels":{},"addr":"a","metric":"m","value":1}
{"ts":2,"value":1,"addr":"a","metric":"m","labels":{}}
"#;
        check::<EngineBlock>(text, &[]);
        assert_eq!(slowly::<EngineBlock>(text), (vec!["2.0 a m [] 1.0".into(), "2.0 a m [] 1.0".into()], 2));
    }

    #[test]
    fn a_reading_that_is_missing_or_too_large_is_missing() {
        let text = b"{\"ts\":1,\"node\":\"n\",\"gpu\":0,\"util\":null,\"mem_mb\":9999999999,\"power_w\":5}\n";
        assert_eq!(slowly::<GpuBlock>(text).0, [format!("1.0 n 0 {MISSING} {MISSING} 5")]);
        check::<GpuBlock>(text, &[]);
        let record = decode(GpuBlock::STREAM, &text[..text.len() - 1], &mut String::new())
            .unwrap()
            .map(|d| matches!(d.record, Record::GpuUtil(_)));
        assert_eq!(record, Some(true));
    }
}
