//! Which metrics are scraped, and the one name that each has in the records.
//!
//! An engine exposes `sglang:x`, a router's aggregate `sglang_x`: both are recorded as `sglang_x`. A metric
//! that sglang has renamed keeps the name that was asked for, whichever the engine exposes. What was asked
//! for and turns out to be a histogram is recorded as its `_sum` and `_count`.

use std::collections::HashMap;

/// What is scraped when nobody says, without the prefix.
const DEFAULT: [&str; 19] = [
    "num_running_reqs",
    "num_queue_reqs",
    "gen_throughput",
    "token_usage",
    "cache_hit_rate",
    "num_prefill_prealloc_queue_reqs",
    "num_prefill_inflight_queue_reqs",
    "num_decode_prealloc_queue_reqs",
    "num_decode_transfer_queue_reqs",
    "kv_transfer_speed_gb_s",
    "kv_transfer_latency_ms",
    "prompt_tokens_total",
    "generation_tokens_total",
    "num_requests_total",
    "num_aborted_requests_total",
    "time_to_first_token_seconds",
    "inter_token_latency_seconds",
    "time_per_output_token_seconds",
    "e2e_request_latency_seconds",
];

/// Two names of one metric: sglang called the queue of a prefill engine "prealloc" until it had priorities,
/// and "bootstrap" since.
const RENAMED: [(&str, &str); 1] = [("num_prefill_prealloc_queue_reqs", "num_prefill_bootstrap_queue_reqs")];

/// Gauges of old engines that are histograms in new ones. Beside `_sum` and `_count`, the gauge goes on: the
/// mean of what was observed between two scrapes.
const GAUGES_BEFORE: [&str; 2] = ["kv_transfer_speed_gb_s", "kv_transfer_latency_ms"];

/// Endings of what only grows. `_bucket` is not among what can be asked for: without `le` it means nothing.
const GROWING: [&str; 3] = ["_total", "_sum", "_count"];

/// Endings of gauges that are a share, a mean or a duration: of several the mean is meant, of all others the
/// sum. The reader of the streams folds data-parallel ranks alike.
const MEANT: [&str; 11] = [
    "_usage",
    "_rate",
    "_ratio",
    "_occupancy",
    "utilization",
    "_length",
    "_ms",
    "_seconds",
    "_time",
    "balancedness",
    "_latency",
];

/// Why a list of metrics cannot be scraped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is none in it.
    #[error("no metric is named")]
    Empty,
    /// One is no name.
    #[error("'{0}' is no name of a metric")]
    Odd(String),
    /// Buckets.
    #[error("'{0}': the label that tells buckets apart is not kept")]
    Bucket(String),
}

/// How the parts of a split gauge become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Mean,
}

/// A metric of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metric {
    /// `sglang_x`
    pub name: String,
    pub fold: Fold,
    /// Only grows, by its name.
    pub grows: bool,
    /// Places of the `_sum` and `_count` that this gauge is the mean of, where engines have those instead.
    pub mean_of: Option<(usize, usize)>,
}

/// What a name of an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// Place in [`Selection::metrics`].
    pub metric: usize,
    /// Not the name that was asked for but its other one, which counts when that is missing.
    pub alias: bool,
    /// Meant only if the family is a histogram or a summary, or has no type.
    pub of_histogram: bool,
}

/// The metrics that are scraped.
#[derive(Debug, Clone)]
pub struct Selection {
    metrics: Vec<Metric>,
    targets: HashMap<String, Vec<Target>, foldhash::fast::FixedState>,
}

impl Default for Selection {
    fn default() -> Self {
        Self::of(DEFAULT.iter().map(|name| (*name).to_owned()))
    }
}

impl Selection {
    /// The metrics that are named, in either spelling; the prefix can be left out.
    ///
    /// # Errors
    /// [`NameError`] when there is none, or one cannot be scraped.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Self, NameError> {
        let mut plain: Vec<String> = Vec::new();
        for name in names {
            let name = name.as_ref().trim();
            let stem = stem(name).unwrap_or(name);
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
            if stem.is_empty() || !stem.chars().all(letters) {
                return Err(NameError::Odd(name.to_owned()));
            }
            if stem.ends_with("_bucket") {
                return Err(NameError::Bucket(name.to_owned()));
            }
            if !plain.iter().any(|other| other == stem) {
                plain.push(stem.to_owned());
            }
        }
        if plain.is_empty() { Err(NameError::Empty) } else { Ok(Self::of(plain)) }
    }

    fn of(stems: impl IntoIterator<Item = String>) -> Self {
        let mut selection = Self { metrics: Vec::new(), targets: HashMap::default() };
        for stem in stems {
            let grows = GROWING.iter().any(|ending| stem.ends_with(ending));
            let whole = selection.add(&stem, grows, false);
            if grows {
                continue;
            }
            let sum = selection.add(&format!("{stem}_sum"), true, true);
            let count = selection.add(&format!("{stem}_count"), true, true);
            if GAUGES_BEFORE.contains(&stem.as_str())
                && let Some(metric) = selection.metrics.get_mut(whole)
            {
                metric.mean_of = Some((sum, count));
            }
        }
        selection
    }

    /// Adds what is recorded under `stem`, once; answers its place.
    fn add(&mut self, stem: &str, grows: bool, of_histogram: bool) -> usize {
        let name = format!("sglang_{stem}");
        if let Some(place) = self.metrics.iter().position(|metric| metric.name == name) {
            return place;
        }
        let metric = self.metrics.len();
        let mean = !grows && MEANT.iter().any(|ending| stem.ends_with(ending));
        let fold = if mean { Fold::Mean } else { Fold::Sum };
        self.metrics.push(Metric { name, fold, grows, mean_of: None });
        let mut aim = |stem: &str, alias| {
            self.targets.entry(stem.to_owned()).or_default().push(Target { metric, alias, of_histogram });
        };
        aim(stem, false);
        for (old, new) in RENAMED {
            if stem == old {
                aim(new, true);
            } else if stem == new {
                aim(old, true);
            }
        }
        metric
    }

    /// The metrics, in the order of the records.
    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// What the name without its prefix means here.
    pub(super) fn targets(&self, stem: &str) -> &[Target] {
        self.targets.get(stem).map_or(&[], Vec::as_slice)
    }
}

/// A name of sglang's without its prefix, whichever of the two it has.
pub(super) fn stem(name: &str) -> Option<&str> {
    name.strip_prefix("sglang").and_then(|rest| rest.strip_prefix([':', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(selection: &Selection) -> Vec<&str> {
        selection.metrics().iter().map(|metric| metric.name.as_str()).collect()
    }

    #[test]
    fn both_spellings_and_none_are_one_name() {
        let selection = Selection::new(["sglang:a_total", "sglang_a_total", " a_total ", "b_sum"]).unwrap();
        assert_eq!(names(&selection), ["sglang_a_total", "sglang_b_sum"]);
        assert_eq!(stem("sglang:x"), Some("x"));
        assert_eq!(stem("sglang_x"), Some("x"));
        assert_eq!((stem("sglangx"), stem("smg_x")), (None, None));
    }

    #[test]
    fn whatever_may_be_a_histogram_has_a_sum_and_a_count() {
        let selection = Selection::new(["e2e_request_latency_seconds"]).unwrap();
        assert_eq!(
            names(&selection),
            [
                "sglang_e2e_request_latency_seconds",
                "sglang_e2e_request_latency_seconds_sum",
                "sglang_e2e_request_latency_seconds_count"
            ]
        );
        assert_eq!(selection.metrics()[0].fold, Fold::Mean);
        assert_eq!(selection.metrics()[1].fold, Fold::Sum);
    }

    #[test]
    fn the_name_that_was_asked_for_wins_over_the_other_one() {
        let selection = Selection::default();
        let old = selection.targets("num_prefill_prealloc_queue_reqs")[0];
        let new = selection.targets("num_prefill_bootstrap_queue_reqs")[0];
        assert_eq!((old.metric, old.alias), (new.metric, false));
        assert!(new.alias);
        let selection = Selection::new(["num_prefill_bootstrap_queue_reqs"]).unwrap();
        assert!(selection.targets("num_prefill_prealloc_queue_reqs")[0].alias);
        assert_eq!(names(&selection)[0], "sglang_num_prefill_bootstrap_queue_reqs");
    }

    #[test]
    fn what_cannot_be_scraped_is_refused() {
        assert_eq!(Selection::new([""; 0]).unwrap_err(), NameError::Empty);
        for odd in ["", "sglang:", "a b", "a{x=\"y\"}"] {
            assert!(matches!(Selection::new([odd]), Err(NameError::Odd(_))), "{odd}");
        }
        assert!(matches!(Selection::new(["sglang:x_bucket"]), Err(NameError::Bucket(_))));
    }
}
