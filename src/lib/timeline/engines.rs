//! Scraped engine metrics over time: as they were scraped, folded over data-parallel ranks, and
//! derived from counters.
//!
//! A series is one (address, labels). An engine with data parallelism reports every gauge and
//! counter once a rank; unless ranks are asked for, those of one scrape become one value. Counters
//! fold first and are derived afterwards: the engine's rate, not the sum of what its ranks' rates
//! leave when one of them restarts. Thinning comes last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use super::TimelineError;
use super::points::{Part, Points};
use crate::telemetry::{EngineBlock, EngineSlice, Store, Window};

/// Label that tells data-parallel ranks of an engine apart.
pub const DP_RANK: &str = "dp_rank";

/// Gauges that are shares or durations: of several ranks the mean is meant, of all others the sum.
const MEAN_FOLDED: [&str; 3] =
    ["sglang_token_usage", "sglang_cache_hit_rate", "sglang_kv_transfer_latency_ms"];

/// Names of rates, and the counter that each is the rate of.
const RATES: [(&str, &str); 4] = [
    ("sglang_prompt_tokens_per_s", "sglang_prompt_tokens_total"),
    ("sglang_generation_tokens_per_s", "sglang_generation_tokens_total"),
    ("sglang_requests_per_s", "sglang_num_requests_total"),
    ("sglang_aborted_requests_per_s", "sglang_num_aborted_requests_total"),
];

/// Names of means, and the `_sum` and `_count` of the histogram that each is the mean of.
const MEANS: [(&str, &str, &str); 4] = [
    (
        "sglang_ttft_mean_s",
        "sglang_time_to_first_token_seconds_sum",
        "sglang_time_to_first_token_seconds_count",
    ),
    (
        "sglang_inter_token_latency_mean_s",
        "sglang_inter_token_latency_seconds_sum",
        "sglang_inter_token_latency_seconds_count",
    ),
    (
        "sglang_time_per_output_token_mean_s",
        "sglang_time_per_output_token_seconds_sum",
        "sglang_time_per_output_token_seconds_count",
    ),
    (
        "sglang_e2e_latency_mean_s",
        "sglang_e2e_request_latency_seconds_sum",
        "sglang_e2e_request_latency_seconds_count",
    ),
];

/// Endings of what a scrape reports to be derived from, not to be looked at.
const RAW_ENDINGS: [&str; 3] = ["_total", "_sum", "_count"];

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// A scraped name or a derived one.
    pub metric: &'a str,
    /// Most points of a series, at least 2.
    pub max_points: usize,
    /// Whether every data-parallel rank is a series of its own.
    pub per_dp_rank: bool,
}

/// Most points of a series when nobody says.
pub const DEFAULT_MAX_POINTS: usize = 2000;

/// Answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineSeries {
    /// In order of address, then of labels.
    pub series: Vec<Series>,
}

/// One metric of one engine, or of one of its ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Address of the engine.
    pub addr: String,
    /// Labels but for those that were folded.
    pub labels: BTreeMap<String, String>,
    /// Its values.
    #[serde(flatten)]
    pub points: Points,
}

/// Answers a [`Question`]; a metric that nobody scraped has no series.
///
/// # Errors
/// [`TimelineError`] when `max_points` is below 2 or the stream cannot be read.
pub fn engine_series(
    store: &Store,
    window: &Window,
    question: &Question<'_>,
) -> Result<EngineSeries, TimelineError> {
    if question.max_points < 2 {
        return Err(TimelineError::argument("max_points", question.max_points, "at least 2"));
    }
    let mut series = Engines::open(store, window)?.series(question.metric, question.per_dp_rank);
    for one in &mut series {
        one.points = std::mem::take(&mut one.points).thin(question.max_points);
    }
    Ok(EngineSeries { series })
}

/// What can be asked for of a run whose scrapes had these names: gauges, and what can be derived.
#[must_use]
pub fn metric_keys(scraped: &BTreeSet<String>) -> Vec<String> {
    let gauges = scraped.iter().filter(|name| !RAW_ENDINGS.iter().any(|ending| name.ends_with(ending)));
    let rates = RATES.iter().filter(|(_, total)| scraped.contains(*total)).map(|(name, _)| *name);
    let both = |sum: &str, count: &str| scraped.contains(sum) && scraped.contains(count);
    let means = MEANS.iter().filter(|(_, sum, count)| both(sum, count)).map(|(name, ..)| *name);
    let keys: BTreeSet<&str> = gauges.map(String::as_str).chain(rates).chain(means).collect();
    keys.into_iter().map(str::to_owned).collect()
}

/// The scrapes of a window, to be asked more than once.
#[derive(Debug)]
pub struct Engines {
    blocks: Vec<Arc<EngineBlock>>,
    window: Window,
}

/// Address and labels, borrowed from a block.
type Key<'a> = (&'a str, Vec<&'a (String, String)>);

impl Engines {
    /// The scrapes inside the closed `window`.
    ///
    /// # Errors
    /// [`TimelineError`] when the stream cannot be read.
    pub fn open(store: &Store, window: &Window) -> Result<Self, TimelineError> {
        Ok(Self { blocks: store.engines(window)?, window: *window })
    }

    /// The series of a scraped or derived name, in order of address, then of labels.
    #[must_use]
    pub fn series(&self, metric: &str, per_dp_rank: bool) -> Vec<Series> {
        let series = if let Some((_, total)) = RATES.iter().find(|(name, _)| *name == metric) {
            let mut series = self.folded(total, per_dp_rank);
            series.values_mut().for_each(|points| *points = points.rate());
            series
        } else if let Some((_, sum, count)) = MEANS.iter().find(|(name, ..)| *name == metric) {
            let counts = self.folded(count, per_dp_rank);
            let mut series = self.folded(sum, per_dp_rank);
            for (key, points) in &mut series {
                *points = counts.get(key).map_or_else(Points::default, |counts| points.mean_of(counts));
            }
            series
        } else {
            self.folded(metric, per_dp_rank)
        };
        let owned = |(addr, labels): Key<'_>| {
            (addr.to_owned(), labels.into_iter().cloned().collect::<BTreeMap<_, _>>())
        };
        series
            .into_iter()
            .map(|(key, points)| {
                let (addr, labels) = owned(key);
                Series { addr, labels, points }
            })
            .collect()
    }

    /// Series of a scraped name; those without a value inside the window are left out.
    fn folded(&self, metric: &str, per_dp_rank: bool) -> BTreeMap<Key<'_>, Points> {
        let slices = self.blocks.iter().flat_map(|block| block.of_metric(metric));
        let mut parts: BTreeMap<Key<'_>, Vec<Part<'_>>> = BTreeMap::new();
        for EngineSlice { addr, labels, ts, value, sorted, .. } in slices {
            parts.entry((addr, labels.iter().collect())).or_default().push(Part { ts, value, sorted });
        }
        let series: Vec<(Key<'_>, Points)> = parts
            .into_par_iter()
            .map(|(key, parts)| (key, Points::gather(&parts, &self.window)))
            .filter(|(_, points)| !points.is_empty())
            .collect();
        if per_dp_rank {
            return series.into_iter().collect();
        }
        let mut ranks: BTreeMap<Key<'_>, Vec<Points>> = BTreeMap::new();
        for ((addr, mut labels), points) in series {
            labels.retain(|(name, _)| name != DP_RANK);
            ranks.entry((addr, labels)).or_default().push(points);
        }
        let mean = MEAN_FOLDED.contains(&metric);
        ranks.into_iter().map(|(key, members)| (key, Points::fold(members, mean))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::telemetry::StoreOptions;

    fn run(lines: &str) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("engine_series.jsonl"), lines).unwrap();
        let store = Store::open(folder.path(), StoreOptions::default());
        (folder, store)
    }

    fn line(ts: f64, addr: &str, metric: &str, labels: &str, value: f64) -> String {
        format!(
            "{{\"ts\":{ts:?},\"addr\":\"{addr}\",\"metric\":\"{metric}\",\"labels\":{{{labels}}},\"value\":{value:?}}}\n"
        )
    }

    fn ask(store: &Store, metric: &str, per_dp_rank: bool) -> Vec<(String, Vec<f64>, Vec<f64>)> {
        let question = Question { metric, max_points: 100, per_dp_rank };
        let answer = engine_series(store, &Window::ALL, &question).unwrap();
        let labels = |series: &Series| serde_json::to_string(&series.labels).unwrap();
        answer
            .series
            .into_iter()
            .map(|s| (s.addr.clone() + &labels(&s), s.points.ts, s.points.value))
            .collect()
    }

    #[test]
    fn ranks_add_up_to_their_engine_but_for_shares() {
        let mut lines = String::new();
        for (metric, values) in [("sglang_num_running_reqs", [3.0, 5.0]), ("sglang_token_usage", [0.5, 1.0])]
        {
            for (rank, value) in values.into_iter().enumerate() {
                let labels = format!("\"engine_type\":\"unified\",\"dp_rank\":\"{rank}\"");
                lines += &line(1.0, "http://b:1", metric, &labels, value);
            }
            lines += &line(1.0, "http://a:1", metric, "", 0.25);
        }
        let (_folder, store) = run(&lines);
        let b = "http://b:1{\"engine_type\":\"unified\"}".to_owned();
        let a = ("http://a:1{}".to_owned(), vec![1.0], vec![0.25]);
        let running = ask(&store, "sglang_num_running_reqs", false);
        assert_eq!(running, [a.clone(), (b.clone(), vec![1.0], vec![8.0])]);
        assert_eq!(ask(&store, "sglang_token_usage", false), [a, (b, vec![1.0], vec![0.75])]);
        let ranks = ask(&store, "sglang_num_running_reqs", true);
        assert_eq!(ranks.len(), 3);
        assert_eq!(ranks[2].0, "http://b:1{\"dp_rank\":\"1\",\"engine_type\":\"unified\"}");
    }

    #[test]
    fn a_rank_that_restarts_costs_its_engine_one_point_of_the_rate() {
        let mut lines = String::new();
        for (rank, values) in [[10.0, 20.0, 30.0], [100.0, 0.0, 10.0]].into_iter().enumerate() {
            for (at, value) in values.into_iter().enumerate() {
                let labels = format!("\"dp_rank\":\"{rank}\"");
                lines += &line(at as f64 * 2.0, "e", "sglang_num_requests_total", &labels, value);
            }
        }
        let (_folder, store) = run(&lines);
        assert_eq!(ask(&store, "sglang_requests_per_s", false), [("e{}".to_owned(), vec![4.0], vec![10.0])]);
        let by_rank = ask(&store, "sglang_requests_per_s", true);
        assert_eq!(by_rank[0].2, [5.0, 5.0]);
        assert_eq!(by_rank[1].2, [5.0]);
    }

    #[test]
    fn the_catalog_has_gauges_and_what_can_be_derived() {
        let names = ["sglang_x", "sglang_num_requests_total", "sglang_other_total"]
            .into_iter()
            .chain(["sglang_time_to_first_token_seconds_sum", "sglang_time_to_first_token_seconds_count"])
            .chain(["sglang_e2e_request_latency_seconds_sum"]);
        let names = names.map(str::to_owned).collect();
        assert_eq!(metric_keys(&names), ["sglang_requests_per_s", "sglang_ttft_mean_s", "sglang_x"]);
    }

    #[test]
    fn what_nobody_scraped_has_no_series_and_one_point_is_too_few() {
        let (_folder, store) = run("");
        assert!(ask(&store, "sglang_x", false).is_empty());
        let question = Question { metric: "x", max_points: 1, per_dp_rank: false };
        let error = engine_series(&store, &Window::ALL, &question).unwrap_err();
        assert!(error.is_argument() && error.to_string().contains("at least 2"), "{error}");
    }
}
