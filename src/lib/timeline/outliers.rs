//! Lanes that stand out, for a person to look at.

use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use super::arguments::within;
use super::phases::on_lanes;
use super::readings::{LaneReadings, readings};
use super::{Lanes, Selection, TimelineError};
use crate::telemetry::{MISSING, Store, Window};

/// Lanes answered when a question does not say.
pub const TOP_K: usize = 16;

/// What makes a lane stand out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    /// Low mean utilisation, percent.
    LowestUtil,
    /// Long mean duration of the phase of this name, seconds.
    SlowestPhase(String),
}

impl FromStr for Criterion {
    type Err = TimelineError;

    fn from_str(text: &str) -> Result<Self, TimelineError> {
        match text.split_once(':') {
            None if text == "lowest_util" => Ok(Self::LowestUtil),
            Some(("slowest_phase", name)) if !name.is_empty() => Ok(Self::SlowestPhase(name.to_owned())),
            _ => {
                let wanted = "lowest_util, or slowest_phase:NAME such as slowest_phase:actor_train";
                Err(TimelineError::argument("criterion", format_args!("{text:?}"), wanted))
            }
        }
    }
}

/// Lanes that stand out most, the most first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outliers {
    /// The lanes.
    pub outliers: Vec<Outlier>,
}

/// A lane and how much it stands out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// Host.
    pub node: String,
    /// Index of the GPU on its host.
    pub gpu: i64,
    /// Mean utilisation in percent, or mean duration in seconds.
    pub score: f64,
}

/// The `top_k` lanes that stand out most in `window`, which can be of any length. Lanes without readings, or
/// without a phase of the name, are left out. Durations are of whole phases, also where they reach beyond the
/// window; those of the rollout manager are cut where the topology changed.
///
/// # Errors
/// [`TimelineError::Argument`] when `top_k` is not 1 to 256; [`TimelineError::Telemetry`].
pub fn outliers(
    store: &Store,
    lanes: &Arc<Lanes>,
    window: &Window,
    criterion: &Criterion,
    top_k: usize,
) -> Result<Outliers, TimelineError> {
    let top_k = within("top_k", top_k, 1..=256)?;
    let selection = Selection::all(Arc::clone(lanes));
    let ascending = |a: &Outlier, b: &Outlier| {
        a.score.total_cmp(&b.score).then_with(|| (&a.node, a.gpu).cmp(&(&b.node, b.gpu)))
    };
    let mut outliers = match criterion {
        Criterion::LowestUtil => {
            let blocks = store.gpu(window)?;
            let lanes = readings(&blocks, &selection, window, true);
            let mut scored: Vec<_> = lanes.par_iter().filter_map(lowest_util).collect();
            scored.sort_by(ascending);
            scored
        }
        Criterion::SlowestPhase(name) => {
            let mut scored = slowest_phase(store, &selection, window, name)?;
            scored.sort_by(|a, b| ascending(b, a));
            scored
        }
    };
    outliers.truncate(top_k);
    Ok(Outliers { outliers })
}

fn lowest_util(lane: &LaneReadings<'_>) -> Option<Outlier> {
    let (mut sum, mut count) = (0_i64, 0_i64);
    for part in &lane.parts {
        // Without a branch for each reading, so that the compiler can take several at once.
        for &util in part.util.iter() {
            let there = util != MISSING;
            sum += if there { i64::from(util) } else { 0 };
            count += i64::from(there);
        }
    }
    let score = (count > 0).then(|| sum as f64 / count as f64)?;
    Some(Outlier { node: lane.node.to_owned(), gpu: lane.gpu, score })
}

fn slowest_phase(
    store: &Store,
    selection: &Selection,
    window: &Window,
    name: &str,
) -> Result<Vec<Outlier>, TimelineError> {
    let phases = on_lanes(store, selection, window, true)?;
    let Some(number) = phases.names().iter().position(|known| known == name) else { return Ok(Vec::new()) };
    let scored = phases.by_lane().filter_map(|(node, gpu, pieces)| {
        let of_name = pieces.iter().filter(|piece| piece.name as usize == number);
        let (sum, count) =
            of_name.fold((0.0, 0_u32), |(sum, count), piece| (sum + (piece.t1 - piece.t0), count + 1));
        let score = (count > 0).then(|| sum / f64::from(count))?;
        Some(Outlier { node: node.to_owned(), gpu, score })
    });
    Ok(scored.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_is_one_of_two() {
        assert_eq!("lowest_util".parse::<Criterion>().unwrap(), Criterion::LowestUtil);
        let slowest = Criterion::SlowestPhase("a:b".to_owned());
        assert_eq!("slowest_phase:a:b".parse::<Criterion>().unwrap(), slowest);
        for text in ["", "nope", "slowest_phase", "slowest_phase:", "lowest_util:x"] {
            assert!(text.parse::<Criterion>().unwrap_err().is_argument(), "{text}");
        }
    }
}
