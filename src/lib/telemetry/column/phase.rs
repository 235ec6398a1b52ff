//! Phases in order of arrival, 20 bytes a row, and the open markers that nothing in the block closed.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::bytes::{Bytes, put_count, put_floats, put_int, put_ints, put_text};
use super::{Build, Columns, Lacks};
use crate::record::{Record, Stream};
use crate::telemetry::shape::{Hole, Holes, Numbers};

/// End of an open marker in the file.
const OPEN: f64 = -1.0;

/// Rows of `phases`, in order of arrival.
#[derive(Debug, Default)]
pub struct PhaseBlock {
    kinds: Vec<Kind>,
    span: Option<(f64, f64)>,
    t0: Vec<f64>,
    t1: Vec<f64>,
    kind: Vec<u32>,
    /// Kind and start of each open marker that no phase of this block closes, in order of arrival.
    open: Vec<(u32, f64)>,
}

/// Everything of a phase but its times.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    name: Box<str>,
    node: Box<str>,
    gpus: Box<[i32]>,
    rank: i64,
    role: Box<str>,
}

/// What an open marker and the phase that closes it have in common: node, rank, name and the bits of
/// the start.
pub(in crate::telemetry) type PhaseKey = (Box<str>, i64, Box<str>, u64);

/// One phase of one rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseRow<'a> {
    /// Name of the phase, such as `actor_train`.
    pub name: &'a str,
    /// Start, Unix seconds.
    pub t0: f64,
    /// End, Unix seconds; `None` in an open marker that nothing closed.
    pub t1: Option<f64>,
    /// Host.
    pub node: &'a str,
    /// The rank's GPUs on `node`; empty for the rollout manager.
    pub gpus: &'a [i32],
    /// Rank; -1 for the rollout manager.
    pub rank: i64,
    /// `train` or `rollout_manager`.
    pub role: &'a str,
}

impl PhaseBlock {
    /// What the phases are of, by number: each as a row without times.
    pub fn kinds(&self) -> impl Iterator<Item = PhaseRow<'_>> {
        (0..self.kinds.len() as u32).filter_map(|kind| self.row(kind, f64::NAN, None))
    }

    /// Start, end and number of the kind of each closed phase, in order of arrival.
    pub fn closed_times(&self) -> impl Iterator<Item = (f64, f64, u32)> {
        self.t0.iter().zip(&self.t1).zip(&self.kind).map(|((&t0, &t1), &kind)| (t0, t1, kind))
    }

    /// The closed phases in order of arrival.
    pub fn closed(&self) -> impl Iterator<Item = PhaseRow<'_>> {
        let rows = self.t0.iter().zip(&self.t1).zip(&self.kind);
        rows.filter_map(|((&t0, &t1), &kind)| self.row(kind, t0, Some(t1)))
    }

    /// The open markers that nothing in this block closes.
    pub(in crate::telemetry) fn open(&self) -> impl Iterator<Item = PhaseRow<'_>> {
        self.open.iter().filter_map(|&(kind, t0)| self.row(kind, t0, None))
    }

    fn row(&self, kind: u32, t0: f64, t1: Option<f64>) -> Option<PhaseRow<'_>> {
        let kind = self.kinds.get(kind as usize)?;
        let Kind { name, node, gpus, rank, role } = kind;
        Some(PhaseRow { name, t0, t1, node, gpus, rank: *rank, role })
    }

    /// Whether this block begins with all closed phases of `old`.
    pub(in crate::telemetry) fn extends(&self, old: &Self) -> bool {
        self.kinds.starts_with(&old.kinds)
            && self.kind.starts_with(&old.kind)
            && self.t0.starts_with(&old.t0)
            && self.t1.starts_with(&old.t1)
    }

    /// Removes from `open` the keys that a phase of this block closes.
    pub(in crate::telemetry) fn close(&self, open: &mut HashSet<PhaseKey>) {
        // Almost no row can be meant, and a key is expensive.
        let starts: HashSet<u64, RandomState> = open.iter().map(|key| key.3).collect();
        if starts.is_empty() {
            return;
        }
        for (&t0, &kind) in self.t0.iter().zip(&self.kind) {
            if starts.contains(&t0.to_bits())
                && let Some(kind) = self.kinds.get(kind as usize)
            {
                open.remove(&(kind.node.clone(), kind.rank, kind.name.clone(), t0.to_bits()));
            }
        }
    }
}

impl PhaseRow<'_> {
    /// What this phase has in common with its open marker.
    pub(in crate::telemetry) fn key(&self) -> PhaseKey {
        (self.node.into(), self.rank, self.name.into(), self.t0.to_bits())
    }
}

impl Holes for PhaseBlock {
    const HOLES: &'static [Hole] = &[Hole::float("\"t0\":"), Hole::float("\"t1\":")];
}

impl Columns for PhaseBlock {
    const STREAM: Stream = Stream::Phases;
    type Builder = PhaseBuilder;

    fn time(&[t0, t1, ..]: &Numbers) -> f64 {
        let (t0, t1) = (f64::from_bits(t0), f64::from_bits(t1));
        if t1 == OPEN { t0 } else { t1 }
    }

    fn rows(&self) -> usize {
        self.t0.len() + self.open.len()
    }

    fn bytes(&self) -> usize {
        let kinds = self.kinds.iter().map(|kind| {
            size_of::<Kind>() + kind.name.len() + kind.node.len() + kind.role.len() + 4 * kind.gpus.len()
        });
        20 * self.t0.len() + 16 * self.open.len() + kinds.sum::<usize>()
    }

    /// From the earliest start to the latest end; open markers count with their start.
    fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.kinds.len(), out);
        for kind in &self.kinds {
            put_text(&kind.name, out);
            put_text(&kind.node, out);
            put_ints(&kind.gpus, out);
            put_int(kind.rank, out);
            put_text(&kind.role, out);
        }
        put_floats(&self.t0, out);
        put_floats(&self.t1, out);
        put_ints(&self.kind.iter().map(|kind| kind.cast_signed()).collect::<Vec<_>>(), out);
        put_ints(&self.open.iter().map(|(kind, _)| kind.cast_signed()).collect::<Vec<_>>(), out);
        put_floats(&self.open.iter().map(|(_, t0)| *t0).collect::<Vec<_>>(), out);
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut kinds = Vec::new();
        for _ in 0..bytes.count()? {
            kinds.push(Kind {
                name: bytes.text()?.into(),
                node: bytes.text()?.into(),
                gpus: bytes.ints()?.into(),
                rank: bytes.int()?,
                role: bytes.text()?.into(),
            });
        }
        let (t0, t1, kind) = (bytes.floats()?, bytes.floats()?, bytes.ints()?);
        let open: Vec<_> = bytes.ints()?.into_iter().map(i32::cast_unsigned).zip(bytes.floats()?).collect();
        let times = t0.iter().chain(&t1).copied().chain(open.iter().map(|(_, t0)| *t0));
        let span = times.map(|at| (at, at)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Some(Self { kinds, span, t0, t1, kind: kind.into_iter().map(i32::cast_unsigned).collect(), open })
    }
}

#[derive(Debug, Default)]
pub struct PhaseBuilder {
    block: PhaseBlock,
    known: HashMap<Kind, u32, RandomState>,
    /// What identifies a phase besides its start: kinds that differ in GPUs or role only share it.
    subjects: HashMap<(Box<str>, i64, Box<str>), u32, RandomState>,
    /// Subject of each kind.
    subject: Vec<u32>,
    /// Open markers by subject and bits of the start, as places in `open`.
    waiting: HashMap<(u32, u64), Vec<usize>, RandomState>,
    open: Vec<Option<(u32, f64)>>,
}

impl PhaseBuilder {
    fn kind(&mut self, kind: Kind) -> u32 {
        let next = self.known.len() as u32;
        if let Some(&known) = self.known.get(&kind) {
            return known;
        }
        let subjects = self.subjects.len() as u32;
        let key = (kind.node.clone(), kind.rank, kind.name.clone());
        self.subject.push(*self.subjects.entry(key).or_insert(subjects));
        self.block.kinds.push(kind.clone());
        self.known.insert(kind, next);
        next
    }

    fn push_row(&mut self, kind: u32, t0: f64, t1: f64) {
        let key = (self.subject.get(kind as usize).copied().unwrap_or_default(), t0.to_bits());
        let (least, greatest) = self.block.span.get_or_insert((t0, t0));
        *least = least.min(t0);
        *greatest = greatest.max(t0);
        if t1 == OPEN {
            self.waiting.entry(key).or_default().push(self.open.len());
            self.open.push(Some((kind, t0)));
            return;
        }
        *least = least.min(t1);
        *greatest = greatest.max(t1);
        // Most rows close a marker, and without markers there is nothing to look up.
        if !self.waiting.is_empty() {
            for place in self.waiting.remove(&key).into_iter().flatten() {
                if let Some(slot) = self.open.get_mut(place) {
                    *slot = None;
                }
            }
        }
        self.block.t0.push(t0);
        self.block.t1.push(t1);
        self.block.kind.push(kind);
    }
}

impl Build<PhaseBlock> for PhaseBuilder {
    fn read(&mut self, record: &Record<'_>) -> Result<(u32, Numbers), Lacks> {
        let Record::Phase(phase) = record else { return Err(Lacks("its stream")) };
        let t0 = phase.t0.ok_or(Lacks("t0"))?;
        let t1 = phase.t1.ok_or(Lacks("t1"))?;
        let kind = Kind {
            name: phase.name.as_deref().ok_or(Lacks("name"))?.into(),
            node: phase.node.as_deref().ok_or(Lacks("node"))?.into(),
            gpus: phase.gpus.as_deref().unwrap_or_default().into(),
            rank: phase.rank.ok_or(Lacks("rank"))?,
            role: phase.role.as_deref().ok_or(Lacks("role"))?.into(),
        };
        Ok((self.kind(kind), [t0.to_bits(), t1.to_bits(), 0, 0]))
    }

    fn reserve(&mut self, rows: usize) {
        // Half of the lines are markers, and those that are closed take no row.
        let rows = rows / 2;
        self.block.t0.reserve(rows);
        self.block.t1.reserve(rows);
        self.block.kind.reserve(rows);
    }

    fn push(&mut self, subject: u32, &[t0, t1, ..]: &Numbers) {
        self.push_row(subject, f64::from_bits(t0), f64::from_bits(t1));
    }

    fn absorb(&mut self, block: &PhaseBlock) {
        let map: Vec<u32> = block.kinds.iter().map(|kind| self.kind(kind.clone())).collect();
        let mut push = |kind: u32, t0, t1| {
            if let Some(&kind) = map.get(kind as usize) {
                self.push_row(kind, t0, t1);
            }
        };
        // The markers that are open here were not closed by these rows, so their order does not matter.
        block.open.iter().for_each(|&(kind, t0)| push(kind, t0, OPEN));
        for ((&t0, &t1), &kind) in block.t0.iter().zip(&block.t1).zip(&block.kind) {
            push(kind, t0, t1);
        }
    }

    fn finish(mut self) -> PhaseBlock {
        self.block.open = self.open.into_iter().flatten().collect();
        self.block.t0.shrink_to_fit();
        self.block.t1.shrink_to_fit();
        self.block.kind.shrink_to_fit();
        self.block
    }
}
