//! The lifecycle heatmap: what every sample of a window was doing, bucket by bucket.

use super::arguments::{drawn, within};
use super::events::Events;
use super::spans::{SpanKind, pair};
use super::{Buckets, Heatmap, HeatmapHeader, HeatmapRows, SampleRow, TimelineError, X_BUCKETS};
use crate::telemetry::{Store, Window};

/// Name of the picture among the metrics of a heatmap.
const LIFECYCLE: &str = "lifecycle";

/// Most rows of the picture; more than a screen has pixels for would be painted over each other.
const MAX_ROWS: usize = 1024;

/// Meaning of a cell's number.
const PALETTE: [&str; 4] = ["", "queue", "generating", "tool_wait"];

const QUEUE: u8 = 1;
const GENERATING: u8 = 2;
const TOOL_WAIT: u8 = 3;

/// Paints the samples with an event inside the window. What started before the window has no start
/// here and is painted from its edge; what is still going on, up to the other edge.
///
/// # Errors
/// [`TimelineError`] for a number of buckets outside [`X_BUCKETS`] or a window that ends before it
/// starts, or when the stream cannot be read.
pub fn lifecycle(store: &Store, window: &Window, x_buckets: usize) -> Result<Heatmap, TimelineError> {
    let x_buckets = within("x_buckets", x_buckets, X_BUCKETS)?;
    let picture = |rows, total, (t0, t1), cells| Heatmap {
        header: HeatmapHeader {
            rows: HeatmapRows::Samples { rows, total },
            x_buckets,
            t0,
            t1,
            metric: LIFECYCLE,
            scale: None,
            palette: Some(PALETTE.map(str::to_owned).into()),
        },
        cells,
    };
    let Some((t0, t1)) = drawn(window, store.time_range()?)? else {
        return Ok(picture(Vec::new(), 0, (0.0, 0.0), Vec::new()));
    };
    let window = Window { t0: Some(t0), t1: Some(t1) };
    let blocks = store.trajectories(&window)?;
    let (samples, total) = Events::new(&blocks, &window).first(MAX_ROWS);
    let buckets = Buckets::new(t0, t1, x_buckets);
    let mut cells = vec![0; samples.len() * x_buckets];
    let mut rows = Vec::with_capacity(samples.len());
    for (line, events) in cells.chunks_exact_mut(x_buckets).zip(&samples) {
        let Some(event) = events.first() else { continue };
        let life = pair(events);
        // Both ends' buckets and all between.
        let mut paint = |from: Option<f64>, to: Option<f64>, colour: u8| {
            let (from, to) = (buckets.index(from.unwrap_or(t0)), buckets.index(to.unwrap_or(t1)));
            if let Some(cells) = line.get_mut(from..=to) {
                cells.fill(colour);
            }
        };
        life.attempts.iter().for_each(|attempt| paint(attempt.t0, attempt.t1, QUEUE));
        for segment in &life.segments {
            let colour = if segment.kind == SpanKind::Gen { GENERATING } else { TOOL_WAIT };
            paint(segment.t0, segment.t1, colour);
        }
        rows.push(SampleRow { sample_index: event.sample_index, group_index: life.group_index });
    }
    Ok(picture(rows, total, (t0, t1), cells))
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

    fn between(t0: f64, t1: f64) -> Window {
        Window { t0: Some(t0), t1: Some(t1) }
    }

    fn samples(picture: &Heatmap) -> Vec<i64> {
        match &picture.header.rows {
            HeatmapRows::Samples { rows, .. } => rows.iter().map(|row| row.sample_index).collect(),
            HeatmapRows::Lanes(_) => panic!("lanes"),
        }
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
        let picture = lifecycle(&store, &between(10.0, 20.0), 10).unwrap();
        assert_eq!(samples(&picture), [7, 3, 4]);
        let rows: Vec<&[u8]> = picture.cells.chunks(10).collect();
        assert_eq!(rows[0], [1, 1, 2, 2, 3, 3, 1, 1, 0, 0]);
        assert_eq!(rows[1], [0, 2, 2, 2, 2, 2, 2, 2, 2, 2], "goes on");
        assert_eq!(rows[2], [3, 3, 3, 3, 3, 3, 3, 0, 0, 0], "began before");
    }

    #[test]
    fn the_first_samples_are_shown_and_the_others_counted() {
        let events = (0..1500).map(|i| (2000.0 - f64::from(i), "gen_start", i64::from(i) * 1_000_000, 1));
        let (_folder, store) = run(events);
        let picture = lifecycle(&store, &between(0.0, 3000.0), 2).unwrap();
        assert_eq!(samples(&picture)[0], 1_499_000_000);
        let HeatmapRows::Samples { rows, total } = &picture.header.rows else { panic!("no samples") };
        assert_eq!((rows.len(), *total), (MAX_ROWS, 1500));
        assert_eq!(picture.cells.len(), 2 * MAX_ROWS);
    }

    #[test]
    fn an_empty_window_is_an_empty_picture_and_one_bucket_is_refused() {
        let (_folder, store) = run([(1.0, "gen_start", 0, 1)]);
        assert_eq!(lifecycle(&store, &between(5.0, 5.0), 4).unwrap().cells.len(), 0);
        assert_eq!(lifecycle(&store, &between(1.0, 1.0), 4).unwrap().cells.len(), 4);
        assert_eq!(lifecycle(&store, &Window::ALL, 4).unwrap().cells.len(), 4);
        assert!(lifecycle(&store, &Window::ALL, 1).unwrap_err().is_argument());
        let (_folder, nothing) = run([]);
        assert!(samples(&lifecycle(&nothing, &Window::ALL, 4).unwrap()).is_empty());
    }
}
