//! Readings of GPUs by lane: 20 bytes a row.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::bytes::{Bytes, put_count, put_floats, put_int, put_ints, put_text};
use super::group::{ascending, span};
use super::{Build, Columns, Lacks, narrow};
use crate::record::{Record, Stream};
use crate::telemetry::shape::{Hole, Holes, Numbers};

/// A reading that the record lacks, or that does not fit 32 bits.
pub const MISSING: i32 = i32::MIN;

/// Rows of `gpu_util`, those of a lane together.
#[derive(Debug, Default)]
pub struct GpuBlock {
    lanes: Vec<Lane>,
    rows: usize,
    span: Option<(f64, f64)>,
}

/// A lane's columns. Each is an allocation of its own: a row goes to its place when it is read, and nothing is
/// moved afterwards.
#[derive(Debug)]
struct Lane {
    node: Box<str>,
    gpu: i64,
    sorted: bool,
    ts: Vec<f64>,
    util: Vec<i32>,
    mem_mb: Vec<i32>,
    power_w: Vec<i32>,
}

impl Lane {
    fn new(node: Box<str>, gpu: i64) -> Self {
        let (ts, util, mem_mb, power_w) = Default::default();
        Self { node, gpu, sorted: true, ts, util, mem_mb, power_w }
    }

    fn reserve(&mut self, rows: usize) {
        self.ts.reserve(rows);
        self.util.reserve(rows);
        self.mem_mb.reserve(rows);
        self.power_w.reserve(rows);
    }
}

/// The rows of one lane in a block, in order of arrival; all columns have the same length.
#[derive(Debug, Clone, Copy)]
pub struct GpuLane<'a> {
    /// Host.
    pub node: &'a str,
    /// Index of the GPU on its host.
    pub gpu: i64,
    /// When, Unix seconds; finite.
    pub ts: &'a [f64],
    /// Utilisation in percent, or [`MISSING`].
    pub util: &'a [i32],
    /// Memory in use in MiB, or [`MISSING`].
    pub mem_mb: &'a [i32],
    /// Power in W, or [`MISSING`].
    pub power_w: &'a [i32],
    /// Whether `ts` never falls.
    pub sorted: bool,
}

impl GpuBlock {
    /// The lanes by node and GPU.
    pub fn lanes(&self) -> impl Iterator<Item = GpuLane<'_>> {
        self.lanes.iter().map(|lane| GpuLane {
            node: &lane.node,
            gpu: lane.gpu,
            ts: &lane.ts,
            util: &lane.util,
            mem_mb: &lane.mem_mb,
            power_w: &lane.power_w,
            sorted: lane.sorted,
        })
    }

    fn new(mut lanes: Vec<Lane>) -> Self {
        lanes.retain(|lane| !lane.ts.is_empty());
        lanes.sort_by(|a, b| (&a.node, a.gpu).cmp(&(&b.node, b.gpu)));
        let mut total: Option<(f64, f64)> = None;
        for lane in &mut lanes {
            lane.sorted = ascending(&lane.ts);
            let ends = lane.ts.first().copied().zip(lane.ts.last().copied());
            if let Some((least, most)) = if lane.sorted { ends } else { span(&lane.ts) } {
                total = Some(total.map_or((least, most), |(a, b)| (a.min(least), b.max(most))));
            }
        }
        Self { rows: lanes.iter().map(|lane| lane.ts.len()).sum(), span: total, lanes }
    }
}

impl Holes for GpuBlock {
    const HOLES: &'static [Hole] = &[
        Hole::float("\"ts\":"),
        Hole::integer("\"util\":"),
        Hole::integer("\"mem_mb\":"),
        Hole::integer("\"power_w\":"),
    ];
}

impl Columns for GpuBlock {
    const STREAM: Stream = Stream::GpuUtil;
    type Builder = GpuBuilder;

    fn rows(&self) -> usize {
        self.rows
    }

    fn bytes(&self) -> usize {
        let held = |lane: &Lane| 20 * lane.ts.capacity() + size_of::<Lane>() + lane.node.len();
        self.lanes.iter().map(held).sum()
    }

    fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.lanes.len(), out);
        for lane in &self.lanes {
            put_text(&lane.node, out);
            put_int(lane.gpu, out);
            put_floats(&lane.ts, out);
            put_ints(&lane.util, out);
            put_ints(&lane.mem_mb, out);
            put_ints(&lane.power_w, out);
        }
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut lanes = Vec::new();
        for _ in 0..bytes.count()? {
            let (node, gpu) = (bytes.text()?.into(), bytes.int()?);
            let (ts, util) = (bytes.floats()?, bytes.ints()?);
            let (mem_mb, power_w) = (bytes.ints()?, bytes.ints()?);
            let rows = ts.len();
            if [util.len(), mem_mb.len(), power_w.len()].iter().any(|length| *length != rows) {
                return None;
            }
            lanes.push(Lane { node, gpu, sorted: true, ts, util, mem_mb, power_w });
        }
        Some(Self::new(lanes))
    }
}

#[derive(Debug, Default)]
pub struct GpuBuilder {
    places: HashMap<(Box<str>, i64), u32, RandomState>,
    lanes: Vec<Lane>,
    /// Rows that each lane has room for from its start on.
    room: usize,
}

impl GpuBuilder {
    fn lane(&mut self, node: &str, gpu: i64) -> u32 {
        let next = self.lanes.len() as u32;
        let place = *self.places.entry((node.into(), gpu)).or_insert(next);
        if place == next {
            let mut lane = Lane::new(node.into(), gpu);
            lane.reserve(self.room);
            self.lanes.push(lane);
        }
        place
    }
}

impl Build<GpuBlock> for GpuBuilder {
    fn read(&mut self, record: &Record<'_>) -> Result<(u32, Numbers), Lacks> {
        let Record::GpuUtil(reading) = record else { return Err(Lacks("its stream")) };
        let ts = reading.ts.ok_or(Lacks("ts"))?;
        let node = reading.node.as_deref().ok_or(Lacks("node"))?;
        let gpu = reading.gpu.ok_or(Lacks("gpu"))?;
        let number = |value: Option<i64>| value.unwrap_or(MISSING.into()).cast_unsigned();
        let numbers = [ts.to_bits(), number(reading.util), number(reading.mem_mb), number(reading.power_w)];
        Ok((self.lane(node, gpu), numbers))
    }

    fn reserve(&mut self, rows: usize) {
        // GPUs are read together, so that lanes have about as many rows each.
        self.room = rows / self.lanes.len().max(1);
        self.lanes.iter_mut().for_each(|lane| lane.reserve(self.room));
    }

    fn push(&mut self, subject: u32, &[ts, util, mem_mb, power_w]: &Numbers) {
        let Some(lane) = self.lanes.get_mut(subject as usize) else { return };
        lane.ts.push(f64::from_bits(ts));
        lane.util.push(narrow(util.cast_signed()));
        lane.mem_mb.push(narrow(mem_mb.cast_signed()));
        lane.power_w.push(narrow(power_w.cast_signed()));
    }

    fn absorb(&mut self, block: &GpuBlock) {
        for from in block.lanes() {
            let place = self.lane(from.node, from.gpu);
            let Some(lane) = self.lanes.get_mut(place as usize) else { continue };
            lane.ts.extend_from_slice(from.ts);
            lane.util.extend_from_slice(from.util);
            lane.mem_mb.extend_from_slice(from.mem_mb);
            lane.power_w.extend_from_slice(from.power_w);
        }
    }

    fn finish(self) -> GpuBlock {
        GpuBlock::new(self.lanes)
    }
}
