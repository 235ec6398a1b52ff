//! Events in the lives of samples, in order of arrival: 24 bytes a row.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::bytes::{put_count, put_floats, put_int, put_ints, put_longs, put_text};
use super::group::span;
use super::{Build, Bytes, Columns, Lacks, MISSING, narrow};
use crate::record::{Record, Stream};
use crate::telemetry::shape::{Hole, Holes, Numbers};

/// Rows of `trajectories`, in order of arrival.
#[derive(Debug, Default)]
pub struct TrajectoryBlock {
    events: Vec<Event>,
    span: Option<(f64, f64)>,
    ts: Vec<f64>,
    event: Vec<u32>,
    sample_index: Vec<i64>,
    group_index: Vec<i32>,
    /// Group indices that do not fit 32 bits, by row.
    far_groups: BTreeMap<usize, i64>,
}

/// What an event says besides when and of which sample.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Event {
    kind: EventKind,
    turn: i64,
    weight_version: Box<str>,
    detail: Box<str>,
}

/// What happened to a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// An attempt begins.
    AttemptStart,
    /// A generation call begins.
    GenStart,
    /// A generation call ends.
    GenEnd,
    /// A tool call begins.
    ToolStart,
    /// A tool call ends.
    ToolEnd,
    /// An attempt ends.
    AttemptEnd,
    /// Anything else.
    Other,
}

impl EventKind {
    const NAMED: [Self; 6] =
        [Self::AttemptStart, Self::GenStart, Self::GenEnd, Self::ToolStart, Self::ToolEnd, Self::AttemptEnd];

    /// As the stream has it; `other` for anything else.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttemptStart => "attempt_start",
            Self::GenStart => "gen_start",
            Self::GenEnd => "gen_end",
            Self::ToolStart => "tool_start",
            Self::ToolEnd => "tool_end",
            Self::AttemptEnd => "attempt_end",
            Self::Other => "other",
        }
    }
}

impl From<&str> for EventKind {
    fn from(name: &str) -> Self {
        Self::NAMED.into_iter().find(|kind| kind.name() == name).unwrap_or(Self::Other)
    }
}

/// One event of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrajectoryRow<'a> {
    /// When, Unix seconds.
    pub ts: f64,
    /// What happened.
    pub kind: EventKind,
    /// `Sample.index`.
    pub sample_index: i64,
    /// Group, -1 for none; `None` where the record has no such key.
    pub group_index: Option<i64>,
    /// Turn from 1, -1 for none.
    pub turn: i64,
    /// Weight version of the engine, empty if unknown.
    pub weight_version: &'a str,
    /// Anything else worth knowing; of an ended attempt its status.
    pub detail: &'a str,
}

impl TrajectoryBlock {
    /// The rows in order of arrival.
    pub fn rows(&self) -> impl Iterator<Item = TrajectoryRow<'_>> {
        (0..self.ts.len()).filter_map(|row| self.row(row))
    }

    /// When each event was, Unix seconds, in order of arrival.
    #[must_use]
    pub fn ts(&self) -> &[f64] {
        &self.ts
    }

    /// The sample of each event, in order of arrival.
    #[must_use]
    pub fn sample_index(&self) -> &[i64] {
        &self.sample_index
    }

    /// The event of one place; `None` behind the last.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<TrajectoryRow<'_>> {
        let event = self.events.get(*self.event.get(row)? as usize)?;
        Some(TrajectoryRow {
            ts: *self.ts.get(row)?,
            kind: event.kind,
            sample_index: *self.sample_index.get(row)?,
            group_index: self.group_index(row),
            turn: event.turn,
            weight_version: &event.weight_version,
            detail: &event.detail,
        })
    }

    fn group_index(&self, row: usize) -> Option<i64> {
        match self.group_index.get(row) {
            Some(&MISSING) => self.far_groups.get(&row).copied(),
            Some(&group) => Some(group.into()),
            None => None,
        }
    }
}

impl Holes for TrajectoryBlock {
    const HOLES: &'static [Hole] =
        &[Hole::float("\"ts\":"), Hole::integer("\"sample_index\":"), Hole::integer("\"group_index\":")];
}

impl Columns for TrajectoryBlock {
    const STREAM: Stream = Stream::Trajectories;
    type Builder = TrajectoryBuilder;

    fn rows(&self) -> usize {
        self.ts.len()
    }

    fn bytes(&self) -> usize {
        let texts = self
            .events
            .iter()
            .map(|event| size_of::<Event>() + event.weight_version.len() + event.detail.len());
        24 * self.ts.len() + 48 * self.far_groups.len() + texts.sum::<usize>()
    }

    fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.events.len(), out);
        for event in &self.events {
            put_text(event.kind.name(), out);
            put_int(event.turn, out);
            put_text(&event.weight_version, out);
            put_text(&event.detail, out);
        }
        put_floats(&self.ts, out);
        put_ints(&self.event.iter().map(|event| event.cast_signed()).collect::<Vec<_>>(), out);
        put_longs(&self.sample_index, out);
        put_ints(&self.group_index, out);
        put_count(self.far_groups.len(), out);
        for (&row, &group) in &self.far_groups {
            put_count(row, out);
            put_int(group, out);
        }
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut events = Vec::new();
        for _ in 0..bytes.count()? {
            let (kind, turn) = (bytes.text()?.into(), bytes.int()?);
            let (weight_version, detail) = (bytes.text()?.into(), bytes.text()?.into());
            events.push(Event { kind, turn, weight_version, detail });
        }
        let (ts, event) = (bytes.floats()?, bytes.ints()?);
        let (sample_index, group_index) = (bytes.longs()?, bytes.ints()?);
        let mut far_groups = BTreeMap::new();
        for _ in 0..bytes.count()? {
            far_groups.insert(bytes.count()?, bytes.int()?);
        }
        let event = event.into_iter().map(i32::cast_unsigned).collect();
        Some(Self { events, span: span(&ts), ts, event, sample_index, group_index, far_groups })
    }
}

#[derive(Debug, Default)]
pub struct TrajectoryBuilder {
    block: TrajectoryBlock,
    known: HashMap<Event, u32, RandomState>,
}

impl TrajectoryBuilder {
    fn event(&mut self, event: Event) -> u32 {
        let next = self.known.len() as u32;
        *self.known.entry(event).or_insert_with_key(|event| {
            self.block.events.push(event.clone());
            next
        })
    }

    fn push_row(&mut self, ts: f64, event: u32, sample_index: i64, group_index: Option<i64>) {
        let group = group_index.map_or(MISSING, narrow);
        if let Some(far) = group_index.filter(|_| group == MISSING) {
            self.block.far_groups.insert(self.block.ts.len(), far);
        }
        self.block.ts.push(ts);
        self.block.event.push(event);
        self.block.sample_index.push(sample_index);
        self.block.group_index.push(group);
    }
}

/// Stands for no group index in the numbers of a row: no writer counts to there.
const NO_GROUP: i64 = i64::MIN;

impl Build<TrajectoryBlock> for TrajectoryBuilder {
    fn read(&mut self, record: &Record<'_>) -> Result<(u32, Numbers), Lacks> {
        let Record::TrajectoryEvent(seen) = record else { return Err(Lacks("its stream")) };
        let ts = seen.ts.ok_or(Lacks("ts"))?;
        let sample = seen.sample_index.ok_or(Lacks("sample_index"))?;
        let event = Event {
            kind: seen.kind.as_deref().ok_or(Lacks("kind"))?.into(),
            turn: seen.turn.unwrap_or(-1),
            weight_version: seen.weight_version.as_deref().unwrap_or_default().into(),
            detail: seen.detail.as_deref().unwrap_or_default().into(),
        };
        let group = seen.group_index.unwrap_or(NO_GROUP);
        Ok((self.event(event), [ts.to_bits(), sample.cast_unsigned(), group.cast_unsigned(), 0]))
    }

    fn reserve(&mut self, rows: usize) {
        self.block.ts.reserve(rows);
        self.block.event.reserve(rows);
        self.block.sample_index.reserve(rows);
        self.block.group_index.reserve(rows);
    }

    fn push(&mut self, subject: u32, &[ts, sample, group, _]: &Numbers) {
        let group = Some(group.cast_signed()).filter(|group| *group != NO_GROUP);
        self.push_row(f64::from_bits(ts), subject, sample.cast_signed(), group);
    }

    fn absorb(&mut self, block: &TrajectoryBlock) {
        let map: Vec<u32> = block.events.iter().map(|event| self.event(event.clone())).collect();
        for (row, ((&ts, &event), &sample)) in
            block.ts.iter().zip(&block.event).zip(&block.sample_index).enumerate()
        {
            if let Some(&event) = map.get(event as usize) {
                self.push_row(ts, event, sample, block.group_index(row));
            }
        }
    }

    fn finish(mut self) -> TrajectoryBlock {
        self.block.span = span(&self.block.ts);
        self.block.ts.shrink_to_fit();
        self.block.event.shrink_to_fit();
        self.block.sample_index.shrink_to_fit();
        self.block.group_index.shrink_to_fit();
        self.block
    }
}
