//! Lanes that stand out, for a person to look at.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use super::arguments::within;
use super::lay::on_lanes;
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
            let mut scored = lowest_util(store, &selection, window)?;
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

fn lowest_util(store: &Store, selection: &Selection, window: &Window) -> Result<Vec<Outlier>, TimelineError> {
    let mut sums: HashMap<(String, i64), (i64, i64)> = HashMap::new();
    store.gpu_by_file(window, |blocks| {
        let lanes = readings(blocks, selection, window, true);
        let of_file: Vec<_> = lanes.par_iter().map(|lane| (lane.node, lane.gpu, sum(lane))).collect();
        for (node, gpu, (sum, count)) in of_file {
            let lane = sums.entry((node.to_owned(), gpu)).or_default();
            *lane = (lane.0 + sum, lane.1 + count);
        }
    })?;
    let scored = sums.into_iter().filter(|(_, (_, count))| *count > 0);
    Ok(scored
        .map(|((node, gpu), (sum, count))| Outlier { node, gpu, score: sum as f64 / count as f64 })
        .collect())
}

/// Sum and number of a lane's readings of utilisation.
fn sum(lane: &LaneReadings<'_>) -> (i64, i64) {
    let (mut sum, mut count) = (0, 0);
    for part in &lane.parts {
        // Without a branch for each reading, so that the compiler can take several at once.
        for &util in part.util.iter() {
            let there = util != MISSING;
            sum += if there { i64::from(util) } else { 0 };
            count += i64::from(there);
        }
    }
    (sum, count)
}

fn slowest_phase(
    store: &Store,
    selection: &Selection,
    window: &Window,
    name: &str,
) -> Result<Vec<Outlier>, TimelineError> {
    let phases = on_lanes(store, selection, window, true)?;
    let of_name: Vec<bool> = phases
        .kind_names()
        .map(|number| phases.names().get(number).is_some_and(|known| known == name))
        .collect();
    let scored = phases.by_lane().filter_map(|(node, gpu, pieces)| {
        let (mut sum, mut count) = (0.0, 0_u32);
        for piece in pieces {
            if of_name.get(piece.kind as usize) == Some(&true) {
                sum += piece.t1 - piece.t0;
                count += 1;
            }
        }
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
