//! Readings of GPUs in a window, lane by lane.
//!
//! The rows of a lane lie in several blocks. Where they are in order of time, which is almost always, a
//! lane's readings are borrowed pieces of the blocks' columns, found by binary search; only what is out
//! of order is copied and sorted.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Rows, Selection};
use crate::telemetry::{GpuBlock, GpuLane, Window};

/// The readings of one lane.
#[derive(Debug)]
pub(super) struct LaneReadings<'b> {
    pub node: &'b str,
    pub gpu: i64,
    /// None where the lane has no readings in the window.
    pub parts: Vec<Part<'b>>,
}

/// Readings in order of time; all columns are of one length, and not empty.
#[derive(Debug, Clone)]
pub(super) struct Part<'b> {
    pub ts: Cow<'b, [f64]>,
    pub util: Cow<'b, [i32]>,
    pub mem_mb: Cow<'b, [i32]>,
    pub power_w: Cow<'b, [i32]>,
}

/// The selected lanes' readings in `window`, in order of the lanes. `beyond` adds lanes that the catalog
/// lacks, where all are selected; they are last.
pub(super) fn readings<'b>(
    blocks: &'b [Arc<GpuBlock>],
    selection: &'b Selection,
    window: &Window,
    beyond: bool,
) -> Vec<LaneReadings<'b>> {
    let mut rows = if beyond { Rows::growing(selection) } else { Rows::fixed(selection) };
    let mut parts: Vec<Vec<Part<'b>>> = Vec::new();
    for lane in blocks.iter().flat_map(|block| block.lanes()) {
        let Some(row) = rows.row(lane.node, lane.gpu) else { continue };
        let Some(part) = inside(&lane, window) else { continue };
        let row = row as usize;
        if row >= parts.len() {
            parts.resize_with(row + 1, Vec::new);
        }
        if let Some(parts) = parts.get_mut(row) {
            parts.push(part);
        }
    }
    parts.resize_with(rows.lanes().len(), Vec::new);
    let lanes = rows.lanes().iter().zip(parts);
    lanes.map(|(&(node, gpu), parts)| LaneReadings { node, gpu, parts }).collect()
}

/// What of a lane's rows is inside the window.
fn inside<'b>(lane: &GpuLane<'b>, window: &Window) -> Option<Part<'b>> {
    let (first, last) = (lane.ts.first()?, lane.ts.last()?);
    let rows = if !lane.sorted || (window.contains(Some(*first)) && window.contains(Some(*last))) {
        0..lane.ts.len()
    } else {
        let start = window.t0.map_or(0, |t0| lane.ts.partition_point(|ts| *ts < t0));
        let end = window.t1.map_or(lane.ts.len(), |t1| lane.ts.partition_point(|ts| *ts <= t1));
        start..end
    };
    let part = Part {
        ts: Cow::Borrowed(lane.ts.get(rows.clone())?),
        util: Cow::Borrowed(lane.util.get(rows.clone())?),
        mem_mb: Cow::Borrowed(lane.mem_mb.get(rows.clone())?),
        power_w: Cow::Borrowed(lane.power_w.get(rows)?),
    };
    let part = if lane.sorted { part } else { merged(&[part], window) };
    (!part.ts.is_empty()).then_some(part)
}

/// Rows of several parts as one in order of time, those outside the window left out. Rows of one time
/// stay in the order of arrival.
fn merged<'b>(parts: &[Part<'_>], window: &Window) -> Part<'b> {
    let mut rows: Vec<(f64, i32, i32, i32)> = Vec::new();
    for part in parts {
        let columns = part.ts.iter().zip(&*part.util).zip(&*part.mem_mb).zip(&*part.power_w);
        rows.extend(columns.map(|(((&ts, &util), &mem_mb), &power_w)| (ts, util, mem_mb, power_w)));
    }
    rows.retain(|row| window.contains(Some(row.0)));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    Part {
        ts: rows.iter().map(|row| row.0).collect(),
        util: rows.iter().map(|row| row.1).collect(),
        mem_mb: rows.iter().map(|row| row.2).collect(),
        power_w: rows.iter().map(|row| row.3).collect(),
    }
}

impl LaneReadings<'_> {
    /// Brings the parts into order of time, each after the one before.
    pub(super) fn order(&mut self) {
        let ends = |part: &Part<'_>| part.ts.first().copied().zip(part.ts.last().copied());
        let spans: Vec<_> = self.parts.iter().filter_map(ends).collect();
        let in_order = spans.windows(2).all(|pair| match pair {
            [(_, end), (start, _)] => end <= start,
            _ => true,
        });
        if !in_order {
            self.parts = vec![merged(&self.parts, &Window::ALL)];
        }
    }

    /// How many readings there are.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.ts.len()).sum()
    }
}
