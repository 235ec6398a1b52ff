//! A stand-in for the store: the same questions, answered by reading everything. To go when the store is merged.
#![allow(missing_docs, clippy::type_complexity)]

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Damage, LaneCatalog, Meta, TelemetryError, Window, scan};
use crate::record::{Engine, Record, Stream};

pub const MISSING: i32 = i32::MIN;

#[derive(Debug, Default, Clone)]
pub struct StoreOptions;

#[derive(Debug)]
pub struct Store {
    dashboard: PathBuf,
}

#[derive(Debug, Default)]
pub struct GpuBlock {
    lanes: BTreeMap<(String, i64), (Vec<f64>, Vec<i32>, Vec<i32>, Vec<i32>)>,
}

#[derive(Debug, Clone, Copy)]
pub struct GpuLane<'a> {
    pub node: &'a str,
    pub gpu: i64,
    pub ts: &'a [f64],
    pub util: &'a [i32],
    pub mem_mb: &'a [i32],
    pub power_w: &'a [i32],
    pub sorted: bool,
}

impl GpuBlock {
    pub fn lanes(&self) -> impl Iterator<Item = GpuLane<'_>> {
        self.lanes.iter().map(|((node, gpu), (ts, util, mem_mb, power_w))| GpuLane {
            node,
            gpu: *gpu,
            ts,
            util,
            mem_mb,
            power_w,
            sorted: ts.is_sorted(),
        })
    }
}

#[derive(Debug, Default)]
pub struct ProcessBlock {
    rows: Vec<(f64, String, i64, Option<i64>, Option<String>, Option<i64>)>,
}

#[derive(Debug, Clone, Copy)]
pub struct ProcessRow<'a> {
    pub ts: f64,
    pub node: &'a str,
    pub gpu: i64,
    pub pid: Option<i64>,
    pub name: Option<&'a str>,
    pub mem_mb: Option<i64>,
}

impl ProcessBlock {
    pub fn rows(&self) -> impl Iterator<Item = ProcessRow<'_>> {
        self.rows.iter().map(|r| ProcessRow {
            ts: r.0,
            node: &r.1,
            gpu: r.2,
            pid: r.3,
            name: r.4.as_deref(),
            mem_mb: r.5,
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

    pub fn catalog(&self) -> Option<Arc<LaneCatalog>> {
        LaneCatalog::read(&self.dashboard).ok().flatten().map(Arc::new)
    }

    pub fn version(&self, stream: Stream) -> u64 {
        let mut n = 0;
        let _ = self.each(stream, |_| n += 1);
        n
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

    pub fn gpu(&self, _: &Window) -> Result<Vec<Arc<GpuBlock>>, TelemetryError> {
        let mut blocks = vec![GpuBlock::default()];
        let mut n = 0;
        self.each(Stream::GpuUtil, |record| {
            let Record::GpuUtil(r) = record else { return };
            let (Some(ts), Some(node), Some(gpu)) = (r.ts, &r.node, r.gpu) else { return };
            n += 1;
            if n % 1000 == 0 {
                blocks.push(GpuBlock::default());
            }
            let number = |value: Option<i64>| value.and_then(|v| i32::try_from(v).ok()).unwrap_or(MISSING);
            let Some(block) = blocks.last_mut() else { return };
            let lane = block.lanes.entry((node.to_string(), gpu)).or_default();
            lane.0.push(ts);
            lane.1.push(number(r.util));
            lane.2.push(number(r.mem_mb));
            lane.3.push(number(r.power_w));
        })?;
        Ok(blocks.into_iter().map(Arc::new).collect())
    }

    pub fn processes(&self, _: &Window) -> Result<Vec<Arc<ProcessBlock>>, TelemetryError> {
        let mut block = ProcessBlock::default();
        self.each(Stream::GpuProcesses, |record| {
            let Record::GpuProcess(r) = record else { return };
            let (Some(ts), Some(node), Some(gpu)) = (r.ts, &r.node, r.gpu) else { return };
            block.rows.push((
                ts,
                node.to_string(),
                gpu,
                r.pid,
                r.name.as_deref().map(str::to_owned),
                r.mem_mb,
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

    pub fn topology(&self) -> Arc<Vec<Snapshot>> {
        let mut all = Vec::new();
        let _ = self.each(Stream::Topology, |record| {
            if let Record::Topology(t) = record
                && let Some(ts) = t.ts
            {
                all.push(Snapshot { ts, engines: t.engines() });
            }
        });
        Arc::new(all)
    }
}
