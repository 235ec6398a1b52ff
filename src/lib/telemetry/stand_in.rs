//! A stand-in for the store: the same questions, answered by reading everything. To go when the store is merged.
#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Damage, DamagedFile, Meta, TelemetryError, Window, scan};
use crate::record::{Engine, Record, Stream, entries};

#[derive(Debug, Default, Clone)]
pub struct StoreOptions;

#[derive(Debug)]
pub struct Store {
    dashboard: PathBuf,
}

#[derive(Debug, Default)]
pub struct EngineBlock {
    series: BTreeMap<(String, String, Vec<(String, String)>), (Vec<f64>, Vec<f64>)>,
}

#[derive(Debug, Clone, Copy)]
pub struct EngineSlice<'a> {
    pub addr: &'a str,
    pub metric: &'a str,
    pub labels: &'a [(String, String)],
    pub ts: &'a [f64],
    pub value: &'a [f64],
    pub sorted: bool,
}

impl EngineBlock {
    pub fn series(&self) -> impl Iterator<Item = EngineSlice<'_>> {
        self.series.iter().map(|((addr, metric, labels), (ts, value))| EngineSlice {
            addr,
            metric,
            labels,
            ts,
            value,
            sorted: ts.is_sorted(),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    AttemptStart,
    GenStart,
    GenEnd,
    ToolStart,
    ToolEnd,
    AttemptEnd,
    Other,
}

#[derive(Debug, Clone, Copy)]
pub struct TrajectoryRow<'a> {
    pub ts: f64,
    pub kind: EventKind,
    pub sample_index: i64,
    pub group_index: Option<i64>,
    pub turn: i64,
    pub weight_version: &'a str,
    pub detail: &'a str,
}

#[derive(Debug, Default)]
pub struct TrajectoryBlock {
    rows: Vec<(f64, EventKind, i64, Option<i64>, i64, String, String)>,
}

impl TrajectoryBlock {
    pub fn rows(&self) -> impl Iterator<Item = TrajectoryRow<'_>> {
        self.rows.iter().map(|r| TrajectoryRow {
            ts: r.0,
            kind: r.1,
            sample_index: r.2,
            group_index: r.3,
            turn: r.4,
            weight_version: &r.5,
            detail: &r.6,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct PhaseRow<'a> {
    pub name: &'a str,
    pub t0: f64,
    pub t1: Option<f64>,
    pub node: &'a str,
    pub gpus: &'a [i32],
    pub rank: i64,
    pub role: &'a str,
}

#[derive(Debug, Default)]
pub struct Phases {
    rows: Vec<(String, f64, Option<f64>, String, Vec<i32>, i64, String)>,
}

impl Phases {
    pub fn rows(&self) -> impl Iterator<Item = PhaseRow<'_>> {
        self.rows.iter().map(|r| PhaseRow {
            name: &r.0,
            t0: r.1,
            t1: r.2,
            node: &r.3,
            gpus: &r.4,
            rank: r.5,
            role: &r.6,
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(Arc<str>),
    Missing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub row: u32,
    pub value: MetricValue,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricsRow {
    pub ts: Option<f64>,
    pub step_key: Option<Arc<str>>,
    pub step: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricsLog {
    pub rows: Vec<MetricsRow>,
    pub series: BTreeMap<Arc<str>, Vec<Point>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub ts: f64,
    pub engines: Vec<Engine>,
}

impl Store {
    pub fn open(dashboard: &Path, _: StoreOptions) -> Self {
        Self { dashboard: dashboard.to_owned() }
    }

    fn each(&self, stream: Stream, mut visit: impl FnMut(&Record<'_>)) -> Result<(), TelemetryError> {
        scan(&self.dashboard, stream, &Window::ALL, &mut Damage::default(), |found| {
            visit(&found.record);
            Ok(ControlFlow::Continue(()))
        })
    }

    pub fn meta(&self) -> Arc<Meta> {
        Arc::new(Meta::read(&self.dashboard).ok().flatten().unwrap_or_default())
    }

    pub fn version(&self, stream: Stream) -> u64 {
        let mut n = 0;
        let _ = self.each(stream, |_| n += 1);
        n
    }

    pub fn damage(&self) -> Vec<DamagedFile> {
        Vec::new()
    }

    pub fn time_range(&self) -> Option<(f64, f64)> {
        let mut range: Option<(f64, f64)> = None;
        for stream in Stream::ALL {
            let _ = self.each(stream, |record| {
                let mut add = |t: f64| {
                    let (a, b) = range.unwrap_or((t, t));
                    range = Some((a.min(t), b.max(t)));
                };
                record.time().into_iter().for_each(&mut add);
                if let Record::Phase(phase) = record {
                    phase.t0.into_iter().for_each(add);
                }
            });
        }
        range
    }

    pub fn engines(&self, _: &Window) -> Result<Vec<Arc<EngineBlock>>, TelemetryError> {
        let mut block = EngineBlock::default();
        self.each(Stream::EngineSeries, |record| {
            let Record::EngineSample(s) = record else { return };
            let (Some(ts), Some(addr), Some(metric)) = (s.ts, &s.addr, &s.metric) else { return };
            let mut labels: Vec<(String, String)> = s
                .labels
                .and_then(|raw| entries(raw.get()).ok())
                .unwrap_or_default()
                .into_iter()
                .filter_map(|(k, v)| Some((k.to_string(), serde_json::from_str(v.get()).ok()?)))
                .collect();
            labels.sort();
            let (times, values) =
                block.series.entry((addr.to_string(), metric.to_string(), labels)).or_default();
            times.push(ts);
            values.push(s.value.unwrap_or(f64::NAN));
        })?;
        Ok(vec![Arc::new(block)])
    }

    pub fn trajectories(&self, _: &Window) -> Result<Vec<Arc<TrajectoryBlock>>, TelemetryError> {
        let mut block = TrajectoryBlock::default();
        self.each(Stream::Trajectories, |record| {
            let Record::TrajectoryEvent(e) = record else { return };
            let (Some(ts), Some(sample)) = (e.ts, e.sample_index) else { return };
            let kind = match e.kind.as_deref() {
                Some("attempt_start") => EventKind::AttemptStart,
                Some("attempt_end") => EventKind::AttemptEnd,
                Some("gen_start") => EventKind::GenStart,
                Some("gen_end") => EventKind::GenEnd,
                Some("tool_start") => EventKind::ToolStart,
                Some("tool_end") => EventKind::ToolEnd,
                _ => EventKind::Other,
            };
            let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
            block.rows.push((
                ts,
                kind,
                sample,
                e.group_index.filter(|&g| g != -1),
                e.turn.unwrap_or(-1),
                text(e.weight_version.as_deref()),
                text(e.detail.as_deref()),
            ));
        })?;
        Ok(vec![Arc::new(block)])
    }

    pub fn phases(&self, window: &Window) -> Result<Phases, TelemetryError> {
        let mut rows = Vec::new();
        self.each(Stream::Phases, |record| {
            let Record::Phase(p) = record else { return };
            let (Some(t0), Some(t1)) = (p.t0, p.t1) else { return };
            let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
            rows.push((
                text(p.name.as_deref()),
                t0,
                (!p.is_open()).then_some(t1),
                text(p.node.as_deref()),
                p.gpus.clone().unwrap_or_default(),
                p.rank.unwrap_or(-1),
                text(p.role.as_deref()),
            ));
        })?;
        let key = |r: &(String, f64, Option<f64>, String, Vec<i32>, i64, String)| {
            (r.0.clone(), r.1.to_bits(), r.3.clone(), r.5)
        };
        let closed: HashSet<_> = rows.iter().filter(|r| r.2.is_some()).map(key).collect();
        rows.retain(|r| {
            (r.2.is_some() || !closed.contains(&key(r)))
                && window.t1.is_none_or(|t1| r.1 <= t1)
                && window.t0.is_none_or(|t0| r.2.is_none_or(|end| end >= t0))
        });
        Ok(Phases { rows })
    }

    pub fn metrics(&self) -> Arc<MetricsLog> {
        let mut log = MetricsLog::default();
        let _ = self.each(Stream::Metrics, |record| {
            let Record::Metrics(m) = record else { return };
            let row = log.rows.len() as u32;
            log.rows.push(MetricsRow {
                ts: m.ts,
                step_key: m.step_key.as_deref().map(Arc::from),
                step: m.step,
            });
            for (key, raw) in m.metrics.and_then(|raw| entries(raw.get()).ok()).unwrap_or_default() {
                let value = match serde_json::from_str::<serde_json::Value>(raw.get()) {
                    Ok(serde_json::Value::Bool(b)) => MetricValue::Bool(b),
                    Ok(serde_json::Value::String(s)) => MetricValue::Text(s.into()),
                    Ok(serde_json::Value::Number(n)) => n
                        .as_i64()
                        .map(MetricValue::Int)
                        .or_else(|| n.as_f64().map(MetricValue::Float))
                        .unwrap_or(MetricValue::Missing),
                    _ => MetricValue::Missing,
                };
                log.series.entry(Arc::from(&*key)).or_default().push(Point { row, value });
            }
        });
        Arc::new(log)
    }

    pub fn topology(&self) -> Arc<Vec<Snapshot>> {
        Arc::default()
    }

    pub fn data_buffer(&self) -> Arc<Vec<(f64, i64)>> {
        let mut all = Vec::new();
        let _ = self.each(Stream::DataBuffer, |record| {
            if let Record::DataBuffer(d) = record
                && let (Some(ts), Some(length)) = (d.ts, d.length)
            {
                all.push((ts, length));
            }
        });
        Arc::new(all)
    }

    pub fn engine_metric_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let _ = self.each(Stream::EngineSeries, |record| {
            if let Record::EngineSample(s) = record {
                names.extend(s.metric.as_deref().map(str::to_owned));
            }
        });
        names
    }
}
