//! All lanes at once: how many are in each phase, and how busy they are.

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::sync::Arc;

use super::arguments::{X_BUCKETS, drawn, within};
use super::heatmap::{LaneMetric, lane_maxima};
use super::lay::on_lanes;
use super::paint::{Palette, painted};
use super::{Buckets, Lanes, Selection, TimelineError};
use crate::telemetry::{MISSING, Store, Window};

/// Parts of the window when a question does not say.
pub const FLEET_X_BUCKETS: usize = 600;

/// What the lanes of a run do over time. Its size does not grow with the lanes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// Start of the first part, Unix seconds.
    pub t0: f64,
    /// End of the last part, Unix seconds.
    pub t1: f64,
    /// Parts.
    pub x_buckets: usize,
    /// Lanes of the run.
    pub lanes: usize,
    /// Names of the phases, sorted, behind an empty one for none.
    pub palette: Vec<String>,
    /// Fraction of the lanes in each phase, 4 decimals; empty for a run without lanes.
    pub composition: Composition,
    /// Utilisation over the lanes.
    pub band: Band,
}

/// Fractions by phase, in the order of the palette; `none` first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Composition(pub Vec<(String, Vec<f64>)>);

/// Percentiles over the lanes of the greatest utilisation of each in each part, percent. Each is the value of
/// a lane; `None` where no lane reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Band {
    /// 10th percentile.
    pub p10: Vec<Option<f64>>,
    /// 50th percentile.
    pub p50: Vec<Option<f64>>,
    /// 90th percentile.
    pub p90: Vec<Option<f64>>,
    /// Minimum.
    pub min: Vec<Option<f64>>,
}

/// All lanes in `x_buckets` equal parts of `window`.
///
/// # Errors
/// [`TimelineError::Argument`] when `x_buckets` is not one of [`X_BUCKETS`] or the window ends before it
/// starts; [`TimelineError::Telemetry`].
pub fn fleet(
    store: &Store,
    lanes: &Arc<Lanes>,
    window: &Window,
    x_buckets: usize,
) -> Result<Fleet, TimelineError> {
    let x_buckets = within("x_buckets", x_buckets, X_BUCKETS)?;
    let Some((t0, t1)) = drawn(window, store.time_range()?)? else {
        let none = vec![None; x_buckets];
        let band = Band { p10: none.clone(), p50: none.clone(), p90: none.clone(), min: none };
        let composition = Composition::default();
        return Ok(Fleet { t0: 0.0, t1: 0.0, x_buckets, lanes: 0, palette: Vec::new(), composition, band });
    };
    let window = Window { t0: Some(t0), t1: Some(t1) };
    let selection = Selection::all(Arc::clone(lanes));
    let buckets = Buckets::new(t0, t1, x_buckets);
    let phases = on_lanes(store, &selection, &window, false)?;
    let palette = Palette::of(&phases);
    let cells = painted(&phases, &palette, &buckets);
    let composition = composition(&cells, &palette, x_buckets);
    let maxima = lane_maxima(store, &selection, &window, &buckets, LaneMetric::Util, true)?;
    let band = band(&maxima, x_buckets);
    Ok(Fleet { t0, t1, x_buckets, lanes: lanes.0.len(), palette: palette.into_names(), composition, band })
}

/// How much of the lanes each number of the palette covers in each part.
fn composition(cells: &[u8], palette: &Palette, x_buckets: usize) -> Composition {
    let lanes = cells.len() / x_buckets;
    if lanes == 0 {
        return Composition::default();
    }
    // A lane stays in a phase for many parts: counted are the changes, and summed up once at the end.
    let mut changes = vec![0_i32; palette.names().len() * x_buckets];
    let mut change = |number: u8, at: usize, by: i32| {
        if let Some(count) = changes.get_mut(usize::from(number) * x_buckets + at) {
            *count += by;
        }
    };
    for row in cells.chunks(x_buckets) {
        let mut at = 0;
        for run in row.chunk_by(|a, b| a == b) {
            let number = run.first().copied().unwrap_or_default();
            if at > 0 {
                let before = row.get(at - 1).copied().unwrap_or_default();
                change(before, at, -1);
            }
            change(number, at, 1);
            at += run.len();
        }
    }
    // Rounded as decimal text is, so that a half goes where the exact value says.
    let rounded = |count: usize| {
        let fraction = count as f64 / lanes as f64;
        format!("{fraction:.4}").parse().unwrap_or(fraction)
    };
    let fractions: Vec<f64> = (0..=lanes).map(rounded).collect();
    let by_name = palette.names().iter().zip(changes.chunks(x_buckets)).map(|(name, changes)| {
        let name = if name.is_empty() { "none" } else { name };
        let counts = changes.iter().scan(0_i32, |count, change| {
            *count += change;
            usize::try_from(*count).ok()
        });
        (name.to_owned(), counts.map(|count| fractions.get(count).copied().unwrap_or_default()).collect())
    });
    Composition(by_name.collect())
}

/// Percentiles over the lanes, of cells that lie lane after lane.
fn band(maxima: &[i32], x_buckets: usize) -> Band {
    let columns = (0..x_buckets).into_par_iter().map_init(Vec::new, |values: &mut Vec<i32>, at| {
        values.clear();
        values.extend(maxima.iter().skip(at).step_by(x_buckets).filter(|value| **value != MISSING));
        values.sort_unstable();
        [0.1, 0.5, 0.9, 0.0].map(|fraction| nearest(values, fraction))
    });
    let columns: Vec<_> = columns.collect();
    let column = |which: fn(&[Option<f64>; 4]) -> Option<f64>| columns.iter().map(which).collect();
    Band { p10: column(|c| c[0]), p50: column(|c| c[1]), p90: column(|c| c[2]), min: column(|c| c[3]) }
}

/// The value whose rank is nearest to `fraction` of the last rank; of two equally near the higher.
fn nearest(sorted: &[i32], fraction: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (fraction * last as f64).round() as usize;
    sorted.get(rank).map(|value| f64::from(*value))
}

impl Serialize for Composition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut composition = serializer.serialize_map(Some(self.0.len()))?;
        for (name, fractions) in &self.0 {
            composition.serialize_entry(name, fractions)?;
        }
        composition.end()
    }
}
