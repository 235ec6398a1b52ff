//! The flat streams whole in memory: logged metrics, topology, length of the data buffer.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;

use super::DamagedFile;
use super::load::{Tally, whole_lines};
use super::partition::TIMES;
use super::tail::{Change, Mark, Opened, stat};
use crate::record::{Engine, Record, Stream, decode, entries};

/// Every logging call of the training job, and every metric as a series of points.
#[derive(Debug, Clone, Default)]
pub struct MetricsLog {
    /// The calls in the order of the file.
    pub rows: Vec<MetricsRow>,
    /// The points of each metric in the order of the file.
    pub series: BTreeMap<Arc<str>, Vec<Point>>,
    step_keys: BTreeMap<Arc<str>, ()>,
}

/// One logging call.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsRow {
    /// When, Unix seconds.
    pub ts: Option<f64>,
    /// Which counter `step` belongs to, such as `rollout/step`.
    pub step_key: Option<Arc<str>>,
    /// The step.
    pub step: Option<i64>,
}

/// A metric's value in one logging call.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which call: index into [`MetricsLog::rows`].
    pub row: u32,
    /// The value.
    pub value: MetricValue,
}

/// What a metric can be.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// An integer.
    Int(i64),
    /// Any other finite number.
    Float(f64),
    /// A flag.
    Bool(bool),
    /// Text.
    Text(Arc<str>),
    /// `null`, NaN, infinity, or a value that no metric has.
    Missing,
}

/// The engines that serve from a time on.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// From when on, Unix seconds.
    pub ts: f64,
    /// The engines.
    pub engines: Vec<Engine>,
}

impl MetricsLog {
    /// The names of the step counters, in order.
    pub fn step_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.step_keys.keys()
    }
}

impl MetricValue {
    fn read(raw: &RawValue) -> Self {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => {
                serde_json::from_str::<String>(text).map_or(Self::Missing, |text| Self::Text(text.into()))
            }
            _ => match (text.parse(), text.parse::<f64>()) {
                (Ok(integer), _) => Self::Int(integer),
                (_, Ok(float)) if float.is_finite() => Self::Float(float),
                _ => Self::Missing,
            },
        }
    }
}

/// A stream that is kept whole.
pub(super) trait Whole: Default + Clone {
    const STREAM: Stream;
    /// Takes in a record; the error says why it cannot.
    fn push(&mut self, record: &Record<'_>) -> Result<(), &'static str>;
    /// Oldest and newest time, Unix seconds.
    fn span(&self) -> Option<(f64, f64)>;
}

fn time(ts: Option<f64>) -> Result<f64, &'static str> {
    ts.ok_or("a record without ts")
        .and_then(|ts| TIMES.contains(&ts).then_some(ts).ok_or("a time that is none"))
}

fn span(times: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    times.map(|at| (at, at)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

impl Whole for MetricsLog {
    const STREAM: Stream = Stream::Metrics;

    fn push(&mut self, record: &Record<'_>) -> Result<(), &'static str> {
        let Record::Metrics(call) = record else { return Err("a record of another stream") };
        let row = u32::try_from(self.rows.len()).map_err(|_| "more records than can be counted")?;
        let step_key = call.step_key.as_deref().map(|key| match self.step_keys.get_key_value(key) {
            Some((known, ())) => Arc::clone(known),
            None => {
                let key: Arc<str> = key.into();
                self.step_keys.insert(Arc::clone(&key), ());
                key
            }
        });
        let ts = call.ts.filter(|ts| TIMES.contains(ts));
        self.rows.push(MetricsRow { ts, step_key, step: call.step });
        let Some(metrics) = call.metrics else { return Ok(()) };
        for (key, raw) in entries(metrics.get()).map_err(|_| "metrics that are no object")? {
            let point = Point { row, value: MetricValue::read(raw) };
            match self.series.get_mut(&*key) {
                // Of a repeated key the last one counts, as in Python.
                Some(points) => match points.last_mut() {
                    Some(last) if last.row == row => *last = point,
                    _ => points.push(point),
                },
                None => {
                    self.series.insert((&*key).into(), vec![point]);
                }
            }
        }
        Ok(())
    }

    fn span(&self) -> Option<(f64, f64)> {
        span(self.rows.iter().filter_map(|row| row.ts))
    }
}

impl Whole for Vec<Snapshot> {
    const STREAM: Stream = Stream::Topology;

    fn push(&mut self, record: &Record<'_>) -> Result<(), &'static str> {
        let Record::Topology(topology) = record else { return Err("a record of another stream") };
        let ts = time(topology.ts)?;
        let engines = topology.engines.ok_or("a record without engines")?;
        let engines = serde_json::from_str(engines.get()).map_err(|_| "engines that are none")?;
        Vec::push(self, Snapshot { ts, engines });
        Ok(())
    }

    fn span(&self) -> Option<(f64, f64)> {
        span(self.iter().map(|snapshot| snapshot.ts))
    }
}

impl Whole for Vec<(f64, i64)> {
    const STREAM: Stream = Stream::DataBuffer;

    fn push(&mut self, record: &Record<'_>) -> Result<(), &'static str> {
        let Record::DataBuffer(buffer) = record else { return Err("a record of another stream") };
        let ts = time(buffer.ts)?;
        Vec::push(self, (ts, buffer.length.ok_or("a record without length")?));
        Ok(())
    }

    fn span(&self) -> Option<(f64, f64)> {
        span(self.iter().map(|(ts, _)| *ts))
    }
}

/// One flat stream, read on first use.
#[derive(Debug)]
pub(super) struct Flat<T> {
    path: PathBuf,
    state: Mutex<State<T>>,
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct State<T> {
    read: bool,
    records: Arc<T>,
    mark: Option<Mark>,
    tally: Tally,
    trouble: Option<String>,
}

impl<T: Whole> Flat<T> {
    pub(super) fn new(dashboard: &Path) -> Self {
        let path = dashboard.join(format!("{}.jsonl", T::STREAM));
        Self { path, state: Mutex::default(), version: AtomicU64::new(0) }
    }

    /// Grows with every change that was noticed.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The records.
    pub(super) fn records(&self) -> Arc<T> {
        let mut state = self.lock();
        if !state.read {
            self.look(&mut state);
        }
        Arc::clone(&state.records)
    }

    /// Reads what was appended; answers whether anything changed.
    pub(super) fn refresh(&self) -> bool {
        let mut state = self.lock();
        let changed = self.look(&mut state);
        if changed {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        changed
    }

    pub(super) fn damage(&self, out: &mut Vec<DamagedFile>) {
        let state = self.lock();
        let path = || self.path.clone();
        if let Some(reason) = &state.trouble {
            out.push(DamagedFile { path: path(), lines: 0, first: 0, reason: reason.clone() });
        }
        if let Some((first, reason)) = &state.tally.first {
            out.push(DamagedFile {
                path: path(),
                lines: state.tally.lines,
                first: *first,
                reason: reason.clone(),
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, state: &mut State<T>) -> bool {
        state.read = true;
        match self.try_look(state) {
            Ok(changed) => {
                state.trouble = None;
                changed
            }
            Err(error) => {
                // What was read stays: the next look may find the file again.
                state.trouble = Some(format!("cannot be read: {error}"));
                false
            }
        }
    }

    fn try_look(&self, state: &mut State<T>) -> io::Result<bool> {
        let now = stat(&self.path)?;
        let opened = match &state.mark {
            None => match Opened::open(&self.path)? {
                Some(opened) => opened,
                None => return Ok(false),
            },
            Some(mark) => match mark.change(&self.path, now)? {
                Change::None => return Ok(false),
                Change::Grown(opened) => opened,
                Change::Replaced | Change::Gone => {
                    *state = State { read: true, ..State::default() };
                    match Opened::open(&self.path)? {
                        Some(opened) => opened,
                        None => return Ok(true),
                    }
                }
            },
        };
        let from = state.mark.as_ref().map_or(0, |mark| mark.offset);
        let records = Arc::make_mut(&mut state.records);
        let mut scratch = String::new();
        let tally = &mut state.tally;
        let end = whole_lines(opened.range(from, u64::MAX), from, |offset, bytes| {
            let Some(bytes) = bytes else { return tally.add(offset, "longer than 64 MiB") };
            match decode(T::STREAM, bytes, &mut scratch) {
                Ok(None) => {}
                Ok(Some(decoded)) => {
                    if let Err(reason) = records.push(&decoded.record) {
                        tally.add(offset, reason);
                    }
                }
                Err(reason) => tally.add(offset, reason),
            }
        })?;
        state.mark = Some(opened.mark(end)?);
        Ok(true)
    }
}

impl<T: Whole> Flat<T> {
    /// Oldest and newest time of the records, Unix seconds.
    pub(super) fn span(&self) -> Option<(f64, f64)> {
        self.records().span()
    }
}
