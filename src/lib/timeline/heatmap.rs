//! A row of bytes for each lane: what it did in each part of a window.

use std::collections::HashMap;
use std::str::FromStr;

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::arguments::{X_BUCKETS, drawn, within};
use super::lay::on_lanes;
use super::paint::{Palette, painted};
use super::readings::{LaneReadings, readings};
use super::{Buckets, Lane, Selection, TimelineError};
use crate::telemetry::{MISSING, Store, Window};

/// What the cells of a lane can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneMetric {
    /// Utilisation; 255 is 100 %.
    Util,
    /// Memory in use; 255 is the peak of the selected lanes in the window.
    MemMb,
    /// Power; 255 is the peak of the selected lanes in the window.
    PowerW,
    /// Number of the phase in the palette.
    Phase,
}

impl LaneMetric {
    /// As a question names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Util => "util",
            Self::MemMb => "mem_mb",
            Self::PowerW => "power_w",
            Self::Phase => "phase",
        }
    }
}

impl FromStr for LaneMetric {
    type Err = TimelineError;

    fn from_str(text: &str) -> Result<Self, TimelineError> {
        [Self::Util, Self::MemMb, Self::PowerW, Self::Phase]
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| {
                TimelineError::argument(
                    "metric",
                    format_args!("{text:?}"),
                    "util, mem_mb, power_w, phase or lifecycle",
                )
            })
    }
}

/// Parts that a row is cut into when a question does not say.
pub const HEATMAP_X_BUCKETS: usize = 1200;

/// Cells, and what they mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap {
    /// What they mean.
    pub header: HeatmapHeader,
    /// One byte a cell, row after row: `header.rows` times `header.x_buckets`.
    pub cells: Vec<u8>,
}

/// What the cells of a heatmap mean. Of `scale` and `palette` at most one is there.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatmapHeader {
    /// A row of cells each.
    pub rows: HeatmapRows,
    /// Cells of a row.
    pub x_buckets: usize,
    /// Start of the first cell, Unix seconds.
    pub t0: f64,
    /// End of the last cell, Unix seconds.
    pub t1: f64,
    /// What the cells show.
    pub metric: &'static str,
    /// Of magnitudes.
    pub scale: Option<Scale>,
    /// Of states: what each value of a cell stands for.
    pub palette: Option<Vec<String>>,
}

/// What the rows of a heatmap are.
#[derive(Debug, Clone, PartialEq)]
pub enum HeatmapRows {
    /// Lanes.
    Lanes(Vec<LaneRow>),
    /// Samples.
    Samples {
        /// Those that have a row.
        rows: Vec<SampleRow>,
        /// How many there are.
        total: usize,
    },
}

/// A lane as a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaneRow {
    /// Host.
    pub node: String,
    /// Index of the GPU on its host.
    pub gpu: i64,
    /// Index of the lane in the run.
    pub index: usize,
    /// `rollout`, `train`.
    pub roles: Vec<String>,
}

/// A sample as a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampleRow {
    /// `Sample.index`.
    pub sample_index: i64,
    /// Its group.
    pub group_index: Option<i64>,
}

/// What a cell of 255 is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scale {
    /// In the unit of the metric.
    pub max: f64,
}

impl Heatmap {
    /// The bytes on the wire: length of the header (4 bytes, little-endian), the header as JSON, the cells.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // A header is made of texts and finite numbers, which can always be written.
        let header = serde_json::to_vec(&self.header).unwrap_or_default();
        let length = u32::try_from(header.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(4 + header.len() + self.cells.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&self.cells);
        bytes
    }
}

impl Serialize for HeatmapHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut header = serializer.serialize_map(None)?;
        match &self.rows {
            HeatmapRows::Lanes(rows) => header.serialize_entry("rows", rows)?,
            HeatmapRows::Samples { rows, total } => {
                header.serialize_entry("rows", rows)?;
                header.serialize_entry("rows_total", total)?;
            }
        }
        header.serialize_entry("x_buckets", &self.x_buckets)?;
        header.serialize_entry("t0", &self.t0)?;
        header.serialize_entry("t1", &self.t1)?;
        header.serialize_entry("metric", self.metric)?;
        header.serialize_entry("scale", &self.scale)?;
        header.serialize_entry("palette", &self.palette)?;
        header.end()
    }
}

/// The selected lanes in `x_buckets` equal parts of `window`. A magnitude is the greatest reading of its part,
/// rounded down to its scale; no reading and a reading of 0 look alike. A phase covers the parts it starts and
/// ends in whole; idle phases are covered by the others.
///
/// A run without any data has no rows.
///
/// # Errors
/// [`TimelineError::Argument`] when `x_buckets` is not one of [`X_BUCKETS`] or the window ends before it
/// starts; [`TimelineError::Telemetry`].
pub fn heatmap(
    store: &Store,
    selection: &Selection,
    window: &Window,
    metric: LaneMetric,
    x_buckets: usize,
) -> Result<Heatmap, TimelineError> {
    let x_buckets = within("x_buckets", x_buckets, X_BUCKETS)?;
    let header = |rows, (t0, t1), scale, palette| HeatmapHeader {
        rows: HeatmapRows::Lanes(rows),
        x_buckets,
        t0,
        t1,
        metric: metric.name(),
        scale,
        palette,
    };
    let Some((t0, t1)) = drawn(window, store.time_range()?)? else {
        return Ok(Heatmap { header: header(Vec::new(), (0.0, 0.0), None, None), cells: Vec::new() });
    };
    let window = Window { t0: Some(t0), t1: Some(t1) };
    let buckets = Buckets::new(t0, t1, x_buckets);
    let rows = selection.lanes().map(|(index, lane)| row(index, lane)).collect();
    if metric == LaneMetric::Phase {
        let phases = on_lanes(store, selection, &window, false)?;
        let palette = Palette::of(&phases);
        let cells = painted(&phases, &palette, &buckets);
        let names = palette.into_names();
        return Ok(Heatmap { header: header(rows, (t0, t1), None, Some(names)), cells });
    }
    let maxima = lane_maxima(store, selection, &window, &buckets, metric, false)?;
    let peak = maxima.iter().copied().filter(|value| *value != MISSING).max();
    let max = match metric {
        LaneMetric::Util => 100.0,
        // Any scale will do for no readings.
        _ => peak.map_or(1.0, f64::from),
    };
    let cells = maxima.iter().map(|&value| cell(value, max)).collect();
    Ok(Heatmap { header: header(rows, (t0, t1), Some(Scale { max }), None), cells })
}

fn row(index: usize, lane: &Lane) -> LaneRow {
    LaneRow { node: lane.node.clone(), gpu: lane.gpu, index, roles: lane.roles.clone() }
}

/// A reading on a scale where `max` is 255.
fn cell(value: i32, max: f64) -> u8 {
    if value <= 0 {
        return 0;
    }
    // A cast takes what is above to 255.
    (f64::from(value) / max * 255.0) as u8
}

/// Greatest reading of each lane in each part, lane after lane; [`MISSING`] where there is none. `beyond` adds
/// lanes that the catalog lacks, where all are selected, in no particular order.
pub(super) fn lane_maxima(
    store: &Store,
    selection: &Selection,
    window: &Window,
    buckets: &Buckets,
    metric: LaneMetric,
    beyond: bool,
) -> Result<Vec<i32>, TimelineError> {
    let selected = selection.lanes().count();
    let mut cells = vec![MISSING; selected * buckets.count()];
    // Those that the catalog lacks may be others in each file.
    let mut more: HashMap<(String, i64), Vec<i32>> = HashMap::new();
    store.gpu_by_file(window, |blocks| {
        let lanes = readings(blocks, selection, window, beyond);
        let (known, unknown) = lanes.split_at(selected.min(lanes.len()));
        cells
            .par_chunks_mut(buckets.count())
            .zip(known)
            .for_each(|(cells, lane)| raise(lane, metric, buckets, cells));
        for lane in unknown {
            let cells = more.entry((lane.node.to_owned(), lane.gpu));
            raise(lane, metric, buckets, cells.or_insert_with(|| vec![MISSING; buckets.count()]));
        }
    })?;
    more.into_values().for_each(|row| cells.extend(row));
    Ok(cells)
}

/// Raises the cells of a lane to its readings.
fn raise(lane: &LaneReadings<'_>, metric: LaneMetric, buckets: &Buckets, cells: &mut [i32]) {
    for part in &lane.parts {
        let values = match metric {
            LaneMetric::MemMb => &part.mem_mb,
            LaneMetric::PowerW => &part.power_w,
            LaneMetric::Util | LaneMetric::Phase => &part.util,
        };
        buckets.maxima(&part.ts, values, cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_rounded_down_and_never_above_255() {
        assert_eq!(
            [0, 1, 50, 99, 100, 130, -5, MISSING].map(|v| cell(v, 100.0)),
            [0, 2, 127, 252, 255, 255, 0, 0]
        );
        assert_eq!(cell(0, 0.0), 0);
    }

    #[test]
    fn the_wire_has_the_length_of_the_header_first() {
        let header = HeatmapHeader {
            rows: HeatmapRows::Samples {
                rows: vec![SampleRow { sample_index: 7, group_index: None }],
                total: 2,
            },
            x_buckets: 2,
            t0: 1.0,
            t1: 2.5,
            metric: "lifecycle",
            scale: None,
            palette: Some(vec![String::new(), "queue".to_owned()]),
        };
        let bytes = Heatmap { header, cells: vec![0, 1] }.encode();
        let text = r#"{"rows":[{"sample_index":7,"group_index":null}],"rows_total":2,"x_buckets":2,"t0":1.0,"t1":2.5,"metric":"lifecycle","scale":null,"palette":["","queue"]}"#;
        assert_eq!(bytes[..4], (text.len() as u32).to_le_bytes());
        assert_eq!(&bytes[4..4 + text.len()], text.as_bytes());
        assert_eq!(bytes[4 + text.len()..], [0, 1]);
    }

    #[test]
    fn a_metric_is_named_as_in_the_header() {
        for name in ["util", "mem_mb", "power_w", "phase"] {
            assert_eq!(name.parse::<LaneMetric>().unwrap().name(), name);
        }
        assert!("nope".parse::<LaneMetric>().unwrap_err().is_argument());
    }
}
