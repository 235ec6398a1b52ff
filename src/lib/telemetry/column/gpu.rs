//! Readings of GPUs by lane: 20 bytes a row.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::bytes::{Bytes, put_count, put_floats, put_int, put_ints, put_text};
use super::group::{Grouping, ascending, order, span};
use super::{Build, Columns, Lacks, narrow};
use crate::record::{Record, Stream};
use crate::telemetry::shape::{Hole, Holes, Numbers};

/// A reading that the record lacks, or that does not fit 32 bits.
pub const MISSING: i32 = i32::MIN;

/// Rows of `gpu_util`, those of a lane together.
#[derive(Debug, Default)]
pub struct GpuBlock {
    lanes: Vec<Head>,
    span: Option<(f64, f64)>,
    ts: Vec<f64>,
    util: Vec<i32>,
    mem_mb: Vec<i32>,
    power_w: Vec<i32>,
}

#[derive(Debug)]
struct Head {
    node: Box<str>,
    gpu: i64,
    start: u32,
    end: u32,
    sorted: bool,
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
        self.lanes.iter().map(|head| {
            let rows = head.start as usize..head.end as usize;
            GpuLane {
                node: &head.node,
                gpu: head.gpu,
                ts: self.ts.get(rows.clone()).unwrap_or_default(),
                util: self.util.get(rows.clone()).unwrap_or_default(),
                mem_mb: self.mem_mb.get(rows.clone()).unwrap_or_default(),
                power_w: self.power_w.get(rows).unwrap_or_default(),
                sorted: head.sorted,
            }
        })
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
        self.ts.len()
    }

    fn bytes(&self) -> usize {
        20 * self.ts.len() + self.lanes.iter().map(|head| size_of::<Head>() + head.node.len()).sum::<usize>()
    }

    fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.lanes.len(), out);
        for head in &self.lanes {
            put_text(&head.node, out);
            put_int(head.gpu, out);
            put_int(head.end.into(), out);
        }
        put_floats(&self.ts, out);
        put_ints(&self.util, out);
        put_ints(&self.mem_mb, out);
        put_ints(&self.power_w, out);
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut heads = Vec::new();
        for _ in 0..bytes.count()? {
            heads.push((bytes.text()?, bytes.int()?, u32::try_from(bytes.int()?).ok()?));
        }
        let (ts, util, mem_mb, power_w) = (bytes.floats()?, bytes.ints()?, bytes.ints()?, bytes.ints()?);
        let mut start = 0;
        let mut lanes = Vec::with_capacity(heads.len());
        for (node, gpu, end) in heads {
            let sorted = ascending(ts.get(start as usize..end as usize)?);
            lanes.push(Head { node: node.into(), gpu, start, end, sorted });
            start = end;
        }
        Some(Self { lanes, span: span(&ts), ts, util, mem_mb, power_w })
    }
}

#[derive(Debug, Default)]
pub struct GpuBuilder {
    lanes: HashMap<(Box<str>, i64), u32, RandomState>,
    lane: Vec<u32>,
    ts: Vec<f64>,
    util: Vec<i32>,
    mem_mb: Vec<i32>,
    power_w: Vec<i32>,
}

impl GpuBuilder {
    fn lane(&mut self, node: &str, gpu: i64) -> u32 {
        let next = self.lanes.len() as u32;
        *self.lanes.entry((node.into(), gpu)).or_insert(next)
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
        self.lane.reserve(rows);
        self.ts.reserve(rows);
        self.util.reserve(rows);
        self.mem_mb.reserve(rows);
        self.power_w.reserve(rows);
    }

    fn push(&mut self, subject: u32, &[ts, util, mem_mb, power_w]: &Numbers) {
        self.lane.push(subject);
        self.ts.push(f64::from_bits(ts));
        self.util.push(narrow(util.cast_signed()));
        self.mem_mb.push(narrow(mem_mb.cast_signed()));
        self.power_w.push(narrow(power_w.cast_signed()));
    }

    fn absorb(&mut self, block: &GpuBlock) {
        for lane in block.lanes() {
            let subject = self.lane(lane.node, lane.gpu);
            self.lane.extend(std::iter::repeat_n(subject, lane.ts.len()));
            self.ts.extend_from_slice(lane.ts);
            self.util.extend_from_slice(lane.util);
            self.mem_mb.extend_from_slice(lane.mem_mb);
            self.power_w.extend_from_slice(lane.power_w);
        }
    }

    fn finish(mut self) -> GpuBlock {
        let mut lanes: Vec<_> = std::mem::take(&mut self.lanes).into_iter().collect();
        lanes.sort();
        let order = order(lanes.iter().map(|(_, lane)| *lane));
        self.lane.iter_mut().for_each(|lane| *lane = order.get(*lane as usize).copied().unwrap_or_default());
        let grouping = Grouping::new(&self.lane, lanes.len());
        drop(self.lane);
        let ts = grouping.column(self.ts);
        let lanes = lanes.into_iter().enumerate().map(|(place, ((node, gpu), _))| {
            let (start, end) = grouping.range(place);
            let sorted = ascending(ts.get(start as usize..end as usize).unwrap_or_default());
            Head { node, gpu, start, end, sorted }
        });
        let lanes = lanes.collect();
        GpuBlock {
            lanes,
            span: span(&ts),
            util: grouping.column(self.util),
            mem_mb: grouping.column(self.mem_mb),
            power_w: grouping.column(self.power_w),
            ts,
        }
    }
}
