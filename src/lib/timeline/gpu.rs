//! Readings of each lane over time, thinned so that peaks and dips stay.

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::arguments::within;
use super::readings::{LaneReadings, Part, readings};
use super::{Selection, TimelineError, json};
use crate::telemetry::{MISSING, Store, Window};

/// Points of a lane when a question does not say: more than most screens have columns.
pub const MAX_POINTS: usize = 2000;

/// Readings by lane.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuSeries {
    /// By node and GPU; lanes without readings in the window are left out.
    pub lanes: Vec<LaneSeries>,
}

/// Readings of one lane in order of time; all columns have one length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaneSeries {
    /// Host.
    pub node: String,
    /// Index of the GPU on its host.
    pub gpu: i64,
    /// When, Unix seconds.
    pub ts: Vec<f64>,
    /// Utilisation, percent, or [`MISSING`].
    pub util: Vec<i32>,
    /// Memory in use, MiB, or [`MISSING`].
    pub mem_mb: Vec<i32>,
    /// Power, W, or [`MISSING`].
    pub power_w: Vec<i32>,
}

/// Readings of the selected lanes, at most `max_points` of each. A lane with more is cut into half as many
/// parts of equal numbers of readings, and of each part the first reading with the lowest utilisation and
/// the first with the highest are kept, memory and power with them.
///
/// # Errors
/// [`TimelineError::Argument`] when `max_points` is below 2; [`TimelineError::Telemetry`].
pub fn gpu(
    store: &Store,
    selection: &Selection,
    window: &Window,
    max_points: usize,
) -> Result<GpuSeries, TimelineError> {
    within("max_points", max_points, 2..=usize::MAX)?;
    let blocks = store.gpu(window)?;
    let lanes = readings(&blocks, selection, window, true);
    let thinned =
        lanes.into_par_iter().filter(|lane| !lane.parts.is_empty()).map(|lane| thin(lane, max_points));
    let mut lanes: Vec<LaneSeries> = thinned.collect();
    lanes.sort_by(|a, b| (&a.node, a.gpu).cmp(&(&b.node, b.gpu)));
    Ok(GpuSeries { lanes })
}

fn thin(mut lane: LaneReadings<'_>, max_points: usize) -> LaneSeries {
    lane.order();
    let count = lane.len();
    let mut series = LaneSeries { node: lane.node.to_owned(), gpu: lane.gpu, ..LaneSeries::default() };
    series.reserve(count.min(max_points));
    if count <= max_points {
        lane.parts.iter().for_each(|part| series.append(part));
        return series;
    }
    let buckets = max_points / 2;
    let mut cursor = Cursor { parts: &lane.parts, part: 0, at: 0 };
    let mut start = 0;
    for bucket in 0..buckets {
        let end = edge(bucket + 1, count, buckets);
        let extremes = cursor.extremes(end - start);
        start = end;
        let Some((low, high)) = extremes else { continue };
        series.push(&lane.parts, low.min(high));
        if low != high {
            series.push(&lane.parts, low.max(high));
        }
    }
    series
}

/// Where part `bucket` of `count` readings in `buckets` parts starts.
fn edge(bucket: usize, count: usize, buckets: usize) -> usize {
    match bucket.checked_mul(count) {
        Some(product) => product / buckets,
        None => (bucket as u128 * count as u128 / buckets as u128) as usize,
    }
}

/// A reading: its part and its place there.
type Place = (usize, usize);

/// Walks over the readings of several parts as if they were one.
struct Cursor<'p, 'b> {
    parts: &'p [Part<'b>],
    part: usize,
    at: usize,
}

impl Cursor<'_, '_> {
    /// The first reading with the lowest and the first with the highest utilisation among the next `count`,
    /// and passes them. Readings without one count only where none has one.
    fn extremes(&mut self, mut count: usize) -> Option<(Place, Place)> {
        let mut low: Option<(i32, Place)> = None;
        let mut high: Option<(i32, Place)> = None;
        let mut first = None;
        while count > 0 {
            let Some(part) = self.parts.get(self.part) else { break };
            let ahead = part.util.get(self.at..).unwrap_or_default();
            let ahead = ahead.get(..count).unwrap_or(ahead);
            if let (None, false) = (first, ahead.is_empty()) {
                first = Some(((self.part, self.at), (self.part, self.at)));
            }
            // Values first and their places after: neither loop has a branch that depends on a reading.
            let lowest = ahead.iter().fold(i32::MAX, |lowest, &util| {
                // MISSING is below every reading.
                lowest.min(if util == MISSING { i32::MAX } else { util })
            });
            let highest = ahead.iter().fold(MISSING, |highest, &util| highest.max(util));
            if highest != MISSING {
                let place = |value| {
                    let at = ahead.iter().position(|util| *util == value).unwrap_or_default();
                    (self.part, self.at + at)
                };
                if low.is_none_or(|(known, _)| lowest < known) {
                    low = Some((lowest, place(lowest)));
                }
                if high.is_none_or(|(known, _)| highest > known) {
                    high = Some((highest, place(highest)));
                }
            }
            count -= ahead.len();
            self.at += ahead.len();
            if self.at >= part.util.len() {
                (self.part, self.at) = (self.part + 1, 0);
            }
        }
        low.zip(high).map(|(low, high)| (low.1, high.1)).or(first)
    }
}

impl LaneSeries {
    fn reserve(&mut self, count: usize) {
        self.ts.reserve_exact(count);
        self.util.reserve_exact(count);
        self.mem_mb.reserve_exact(count);
        self.power_w.reserve_exact(count);
    }

    fn append(&mut self, part: &Part<'_>) {
        self.ts.extend_from_slice(&part.ts);
        self.util.extend_from_slice(&part.util);
        self.mem_mb.extend_from_slice(&part.mem_mb);
        self.power_w.extend_from_slice(&part.power_w);
    }

    fn push(&mut self, parts: &[Part<'_>], (part, at): Place) {
        let Some(part) = parts.get(part) else { return };
        self.ts.extend(part.ts.get(at));
        self.util.extend(part.util.get(at));
        self.mem_mb.extend(part.mem_mb.get(at));
        self.power_w.extend(part.power_w.get(at));
    }
}

impl GpuSeries {
    /// The answer as JSON text.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        json::joined(r#"{"lanes":{"#, &self.lanes, "}}", |series, out| {
            // Digits and commas of one reading.
            out.reserve(30 * series.ts.len() + 100);
            json::put(format_args!("{}:{}", series.node, series.gpu), out);
            out.push(b':');
            json::put(series, out);
            out.push(b',');
        })
    }
}

impl Serialize for GpuSeries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json::raw(self.to_json(), serializer)
    }
}

impl Serialize for LaneSeries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_map(Some(4))?;
        columns.serialize_entry("ts", &self.ts)?;
        columns.serialize_entry("util", &Column(&self.util))?;
        columns.serialize_entry("mem_mb", &Column(&self.mem_mb))?;
        columns.serialize_entry("power_w", &Column(&self.power_w))?;
        columns.end()
    }
}

/// Writes a missing reading as null.
struct Column<'c>(&'c [i32]);

impl Serialize for Column<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = serializer.serialize_seq(Some(self.0.len()))?;
        for &value in self.0 {
            values.serialize_element(&(value != MISSING).then_some(value))?;
        }
        values.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(ts: &[f64], util: &[i32]) -> Part<'static> {
        let column: Vec<i32> = (0..util.len()).map(|at| at as i32).collect();
        Part {
            ts: ts.to_vec().into(),
            util: util.to_vec().into(),
            mem_mb: column.clone().into(),
            power_w: column.into(),
        }
    }

    fn thinned(parts: Vec<Part<'static>>, max_points: usize) -> LaneSeries {
        thin(LaneReadings { node: "n", gpu: 0, parts }, max_points)
    }

    #[test]
    fn each_part_keeps_its_first_lowest_and_its_first_highest_reading() {
        let ts: Vec<f64> = (0..8).map(f64::from).collect();
        let series = thinned(vec![part(&ts, &[5, 1, 9, 1, 9, 7, 7, 7])], 4);
        assert_eq!(series.ts, [1.0, 2.0, 4.0, 5.0]);
        assert_eq!(series.util, [1, 9, 9, 7]);
        assert_eq!(series.mem_mb, [1, 2, 4, 5]);
        let series = thinned(vec![part(&ts, &[3; 8])], 4);
        assert_eq!(series.ts, [0.0, 4.0], "one reading may be both");
    }

    #[test]
    fn as_many_readings_as_points_are_all_kept() {
        let ts = [1.0, 2.0, 3.0];
        assert_eq!(thinned(vec![part(&ts, &[1, 1, 1])], 3).ts, ts);
        assert_eq!(thinned(vec![part(&ts, &[1, 2, 1])], 2).ts, [1.0, 2.0]);
    }

    #[test]
    fn a_part_without_utilisation_keeps_one_reading() {
        let ts: Vec<f64> = (0..4).map(f64::from).collect();
        let series = thinned(vec![part(&ts, &[MISSING, MISSING, 4, MISSING])], 2);
        assert_eq!(series.ts, [2.0]);
        let series = thinned(vec![part(&ts, &[MISSING; 4])], 2);
        assert_eq!(serde_json::to_value(&series).unwrap()["util"], serde_json::json!([null]));
    }

    #[test]
    fn parts_that_overlap_are_brought_into_order_of_time() {
        let series = thinned(vec![part(&[3.0, 5.0], &[30, 50]), part(&[1.0, 3.0], &[10, 31])], 10);
        assert_eq!((series.ts, series.util), (vec![1.0, 3.0, 3.0, 5.0], vec![10, 30, 31, 50]));
    }

    proptest! {
        #[test]
        fn parts_are_thinned_as_one(
            util in prop::collection::vec(0..6_i32, 1..200),
            cuts in prop::collection::vec(0..200_usize, 0..5),
            max_points in 2..40_usize,
        ) {
            let ts: Vec<f64> = (0..util.len()).map(|at| at as f64).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < util.len()).collect();
            cuts.extend([0, util.len()]);
            cuts.sort_unstable();
            cuts.dedup();
            let parts: Vec<_> = cuts.windows(2).map(|c| part(&ts[c[0]..c[1]], &util[c[0]..c[1]])).collect();
            let series = thinned(parts, max_points);
            let mut wanted: Vec<usize> = (0..util.len()).collect();
            if util.len() > max_points {
                let buckets = max_points / 2;
                wanted = Vec::new();
                for bucket in 0..buckets {
                    let span = bucket * util.len() / buckets..(bucket + 1) * util.len() / buckets;
                    let low = span.clone().min_by_key(|at| util[*at]).unwrap();
                    let high = span.rev().max_by_key(|at| util[*at]).unwrap();
                    wanted.extend([low, high]);
                }
                wanted.sort_unstable();
                wanted.dedup();
            }
            prop_assert_eq!(series.ts, wanted.iter().map(|at| ts[*at]).collect::<Vec<_>>());
        }
    }
}
