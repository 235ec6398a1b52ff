//! The lifecycle heatmap: what every sample of a window was doing, bucket by bucket.

use serde::Serialize;

use super::TimelineError;
use super::spans::{SpanKind, pair};
use super::trajectories::{Slots, by_slot, rows_within};
use super::wire;
use crate::telemetry::{Store, TrajectoryRow, Window};

/// Most rows of the picture; more than a screen has pixels for would be painted over each other.
pub const MAX_ROWS: usize = 1024;

/// Fewest and most buckets: a picture of one column shows nothing, no screen has more than 4,000.
pub const X_BUCKETS: std::ops::RangeInclusive<usize> = 2..=4000;

/// Meaning of a cell's number.
pub const PALETTE: [&str; 4] = ["", "queue", "generating", "tool_wait"];

const QUEUE: u8 = 1;
const GENERATING: u8 = 2;
const TOOL_WAIT: u8 = 3;

/// A picture of samples over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Lifecycle {
    /// What the cells are.
    pub header: Header,
    /// Places in [`PALETTE`], row by row.
    pub cells: Vec<u8>,
}

/// What the cells of a [`Lifecycle`] are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Header {
    /// The samples, by their first event.
    pub rows: Vec<SampleRow>,
    /// Samples that have an event in the window, also those beyond [`MAX_ROWS`].
    pub rows_total: usize,
    /// Cells of a row.
    pub x_buckets: usize,
    /// Start of the first bucket, Unix seconds.
    pub t0: f64,
    /// End of the last one, Unix seconds.
    pub t1: f64,
    /// `lifecycle`.
    pub metric: &'static str,
    /// Null: cells are no magnitudes.
    pub scale: Option<f64>,
    /// [`PALETTE`].
    pub palette: [&'static str; 4],
}

/// One row of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SampleRow {
    /// `Sample.index`.
    pub sample_index: i64,
    /// Its group.
    pub group_index: Option<i64>,
}

impl Lifecycle {
    /// The picture as it travels, see [`wire`].
    ///
    /// # Errors
    /// As [`wire::encode`].
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        wire::encode(&self.header, &self.cells)
    }
}

/// Paints the samples with an event inside `[t0, t1]`. What started before the window has no start
/// here and is painted from its edge; what is still going on, up to the other edge.
///
/// # Errors
/// [`TimelineError`] for a number of buckets outside [`X_BUCKETS`] or when the stream cannot be read.
pub fn lifecycle(store: &Store, t0: f64, t1: f64, x_buckets: usize) -> Result<Lifecycle, TimelineError> {
    if !X_BUCKETS.contains(&x_buckets) {
        let wanted = format!("from {} to {}", X_BUCKETS.start(), X_BUCKETS.end());
        return Err(TimelineError::argument("x_buckets", x_buckets, wanted));
    }
    let window = Window { t0: Some(t0), t1: Some(t1) };
    let blocks = store.trajectories(&window)?;
    let rows: Vec<TrajectoryRow<'_>> = rows_within(&blocks, &window).collect();
    let samples = Slots::new(rows.iter().map(|row| row.sample_index));
    let numbered = |row: &TrajectoryRow<'_>| samples.slot(row.sample_index).map(|slot| slot as usize);

    let mut first = vec![f64::INFINITY; samples.len()];
    for row in &rows {
        if let Some(first) = numbered(row).and_then(|slot| first.get_mut(slot)) {
            *first = first.min(row.ts);
        }
    }
    let mut order: Vec<u32> = (0..samples.len() as u32).collect();
    // Stable, so samples that start together stay in order of their index.
    order.sort_by(|a, b| first[*a as usize].total_cmp(&first[*b as usize]));
    order.truncate(MAX_ROWS);
    let mut place = vec![None; samples.len()];
    for (at, slot) in order.iter().enumerate() {
        place[*slot as usize] = Some(at as u32);
    }
    let shown = rows
        .iter()
        .filter_map(|row| {
            numbered(row).and_then(|slot| place.get(slot).copied().flatten()).map(|at| (at, *row))
        })
        .collect();

    let mut cells = vec![0; order.len() * x_buckets];
    let mut headers = Vec::with_capacity(order.len());
    for (line, events) in cells.chunks_exact_mut(x_buckets).zip(by_slot(shown, order.len())) {
        let Some(event) = events.first() else { continue };
        let life = pair(&events);
        let mut row = Line { line, t0, t1 };
        life.attempts.iter().for_each(|attempt| row.paint(attempt.t0, attempt.t1, QUEUE));
        for segment in &life.segments {
            let colour = if segment.kind == SpanKind::Gen { GENERATING } else { TOOL_WAIT };
            row.paint(segment.t0, segment.t1, colour);
        }
        headers.push(SampleRow { sample_index: event.sample_index, group_index: life.group_index });
    }
    let header = Header {
        rows: headers,
        rows_total: samples.len(),
        x_buckets,
        t0,
        t1,
        metric: "lifecycle",
        scale: None,
        palette: PALETTE,
    };
    Ok(Lifecycle { header, cells })
}

/// One row of cells over the window.
struct Line<'a> {
    line: &'a mut [u8],
    t0: f64,
    t1: f64,
}

impl Line<'_> {
    /// Paints the buckets of both ends and all between.
    fn paint(&mut self, from: Option<f64>, to: Option<f64>, colour: u8) {
        let (buckets, last) = (self.line.len() as f64, self.line.len() - 1);
        // A window of no length divides by zero: the cast takes NaN for the first bucket.
        let bucket = |ts: f64| (((ts - self.t0) / (self.t1 - self.t0) * buckets) as usize).min(last);
        let (from, to) = (bucket(from.unwrap_or(self.t0)), bucket(to.unwrap_or(self.t1)));
        if let Some(cells) = self.line.get_mut(from..=to) {
            cells.fill(colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::telemetry::StoreOptions;

    fn run(lines: impl IntoIterator<Item = (f64, &'static str, i64, i64)>) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let line = |(ts, kind, sample, turn): (f64, &str, i64, i64)| {
            format!(
                "{{\"ts\":{ts:?},\"kind\":\"{kind}\",\"sample_index\":{sample},\"group_index\":2,\
                 \"turn\":{turn},\"weight_version\":\"\",\"detail\":\"\"}}\n"
            )
        };
        let text: String = lines.into_iter().map(line).collect();
        fs::write(folder.path().join("trajectories.jsonl"), text).unwrap();
        let store = Store::open(folder.path(), StoreOptions::default());
        (folder, store)
    }

    #[test]
    fn a_sample_waits_generates_and_calls_its_tool() {
        let (_folder, store) = run([
            (10.0, "attempt_start", 7, -1),
            (12.0, "gen_start", 7, 1),
            (13.5, "gen_end", 7, 1),
            (14.0, "tool_start", 7, 1),
            (15.9, "tool_end", 7, 1),
            (17.0, "attempt_end", 7, -1),
            (11.0, "gen_start", 3, 1),
            (16.5, "tool_end", 4, 1),
        ]);
        let picture = lifecycle(&store, 10.0, 20.0, 10).unwrap();
        let samples: Vec<_> = picture.header.rows.iter().map(|row| row.sample_index).collect();
        assert_eq!(samples, [7, 3, 4]);
        let rows: Vec<&[u8]> = picture.cells.chunks(10).collect();
        assert_eq!(rows[0], [1, 1, 2, 2, 3, 3, 1, 1, 0, 0]);
        assert_eq!(rows[1], [0, 2, 2, 2, 2, 2, 2, 2, 2, 2], "goes on");
        assert_eq!(rows[2], [3, 3, 3, 3, 3, 3, 3, 0, 0, 0], "began before");
    }

    #[test]
    fn the_first_samples_are_shown_and_the_others_counted() {
        let events = (0..1500).map(|i| (2000.0 - f64::from(i), "gen_start", i64::from(i) * 1_000_000, 1));
        let (_folder, store) = run(events);
        let picture = lifecycle(&store, 0.0, 3000.0, 2).unwrap();
        assert_eq!((picture.header.rows.len(), picture.header.rows_total), (MAX_ROWS, 1500));
        assert_eq!(picture.header.rows[0].sample_index, 1_499_000_000);
        assert_eq!(picture.cells.len(), 2 * MAX_ROWS);
    }

    #[test]
    fn an_empty_window_is_an_empty_picture_and_one_bucket_is_refused() {
        let (_folder, store) = run([(1.0, "gen_start", 0, 1)]);
        let picture = lifecycle(&store, 5.0, 5.0, 4).unwrap();
        assert_eq!((picture.header.rows_total, picture.cells.len()), (0, 0));
        assert_eq!(lifecycle(&store, 1.0, 1.0, 4).unwrap().cells.len(), 4);
        assert!(lifecycle(&store, 0.0, 9.0, 1).unwrap_err().is_argument());
    }
}
