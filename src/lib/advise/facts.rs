//! What rules look at: gathered once, so that a rule is arithmetic and its test needs no files.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Stalled;
use crate::rollout::summary::Row;
use crate::telemetry::{MetricsLog, Store, Window};
use crate::timeline::bubbles::number;
use crate::timeline::engines::{DP_RANK, Engines, Series};
use crate::timeline::{Points, TimelineError};

/// The newest training step, as far as its dump is there.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Which.
    pub rollout_id: i64,
    /// Its samples.
    pub rows: &'a [Row],
}

/// Everything that rules look at.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    /// The job's settings.
    pub settings: Settings,
    /// Start of the newest attempt, Unix seconds.
    pub start_ts: Option<f64>,
    /// Newest time of the data, Unix seconds.
    pub newest_ts: Option<f64>,
    /// Phases of this attempt that are open for longer than [`Stalled::MIN_AGE_S`], by name, with the
    /// durations of closed ones.
    pub open_phases: BTreeMap<String, OpenPhase>,
    /// Requests of each engine since its start, over the whole run.
    pub requests: Vec<Series>,
    /// Those of them that were aborted.
    pub aborted: Vec<Series>,
    /// Gauges of each engine inside the window.
    pub engines: EngineFacts,
    /// Model FLOPs utilisation of the whole run.
    pub mfu: Option<Mfu>,
    /// The newest training step.
    pub step: Option<Step<'a>>,
}

/// What engines reported inside the window.
#[derive(Debug, Clone, Default)]
pub struct EngineFacts {
    /// `sglang_token_usage`, 0 to 1.
    pub token_usage: Vec<Series>,
    /// `sglang_num_running_reqs`.
    pub running: Vec<Series>,
    /// The same, each data-parallel rank for itself.
    pub running_by_rank: Vec<Series>,
    /// `sglang_cache_hit_rate`, 0 to 1.
    pub cache_hit_rate: Vec<Series>,
    /// `sglang_prompt_tokens_total`, where the next is there.
    pub prompt_tokens: Vec<Series>,
    /// `sglang_cached_tokens_total`, which not every run scrapes.
    pub cached_tokens: Vec<Series>,
}

/// Settings that rules compare with or name.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settings {
    /// Training and engines share GPUs.
    pub colocate: bool,
    /// `sglang_max_running_requests`, above 0.
    pub max_running_requests: Option<f64>,
    /// `sglang_mem_fraction_static`.
    pub mem_fraction_static: Option<f64>,
    /// `n_samples_per_prompt`.
    pub samples_per_prompt: Option<i64>,
    /// `rollout_max_response_len`, tokens.
    pub max_response_len: Option<i64>,
}

impl Settings {
    /// Reads the settings of `meta.json`; one of another type counts as not recorded.
    #[must_use]
    pub fn of(args: &Map<String, Value>) -> Self {
        let get = |name: &str| args.get(name);
        Self {
            colocate: get("colocate").and_then(Value::as_bool).unwrap_or(false),
            max_running_requests: get("sglang_max_running_requests")
                .and_then(Value::as_f64)
                .filter(|limit| *limit > 0.0),
            mem_fraction_static: get("sglang_mem_fraction_static").and_then(Value::as_f64),
            samples_per_prompt: get("n_samples_per_prompt").and_then(Value::as_i64),
            max_response_len: get("rollout_max_response_len").and_then(Value::as_i64),
        }
    }
}

/// Phases of one name that are open, and how long such phases take.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenPhase {
    /// Where and since when each is open.
    pub open: Vec<OpenSince>,
    /// Durations of closed ones, seconds, in any order.
    pub closed_s: Vec<f64>,
}

/// One phase that has begun and not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenSince {
    /// Host.
    pub node: String,
    /// Rank, -1 for the rollout manager.
    pub rank: i64,
    /// Start, Unix seconds.
    pub t0: f64,
}

/// Model FLOPs utilisation as the trainer logs it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mfu {
    /// Of the newest step.
    pub latest: f64,
    /// Over all steps but the first, which compiles and warms up.
    pub mean: Option<f64>,
    /// How many steps that is the mean of.
    pub steps: usize,
    /// Peak of the hardware that it is a share of, TFLOPS.
    pub peak: Option<f64>,
}

impl Mfu {
    /// Of a run's log; `None` when it was never logged.
    #[must_use]
    pub fn of(log: &MetricsLog) -> Option<Self> {
        let values = |key: &str| -> Vec<f64> {
            log.series.get(key).into_iter().flatten().filter_map(|point| number(&point.value)).collect()
        };
        let shares = values("perf/actor_train_mfu");
        let rest = shares.get(1..).unwrap_or_default();
        Some(Self {
            latest: *shares.last()?,
            mean: (!rest.is_empty()).then(|| rest.iter().sum::<f64>() / rest.len() as f64),
            steps: rest.len(),
            peak: values("perf/mfu_peak_tflops").last().copied(),
        })
    }
}

impl<'a> Facts<'a> {
    /// Gathers the facts; gauges of engines inside `window`, all else of the whole run.
    ///
    /// # Errors
    /// [`TimelineError`] when the streams cannot be read.
    pub fn gather(store: &Store, window: &Window, step: Option<Step<'a>>) -> Result<Self, TimelineError> {
        let meta = store.meta();
        let run = Engines::open(store, &Window::ALL)?;
        let inside = if *window == Window::ALL { None } else { Some(Engines::open(store, window)?) };
        let gauges = inside.as_ref().unwrap_or(&run);
        let newest_ts = store.time_range()?.map(|(_, newest)| newest);
        // Each is a pass over the run; together they use every core.
        let asked = [
            (&run, "sglang_num_requests_total", false),
            (&run, "sglang_num_aborted_requests_total", false),
            (gauges, "sglang_token_usage", false),
            (gauges, "sglang_num_running_reqs", false),
            (gauges, "sglang_num_running_reqs", true),
            (gauges, "sglang_cache_hit_rate", false),
            (gauges, "sglang_cached_tokens_total", false),
        ];
        let answers: Vec<Vec<Series>> = asked
            .into_par_iter()
            .map(|(engines, metric, per_dp_rank)| engines.series(metric, per_dp_rank))
            .collect();
        let mut answers = answers.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let (requests, aborted) = (next(), next());
        let mut engines = EngineFacts {
            token_usage: next(),
            running: next(),
            running_by_rank: next(),
            cache_hit_rate: next(),
            cached_tokens: next(),
            prompt_tokens: Vec::new(),
        };
        if !engines.cached_tokens.is_empty() {
            engines.prompt_tokens = gauges.series("sglang_prompt_tokens_total", false);
        }
        Ok(Self {
            settings: Settings::of(&meta.args),
            start_ts: meta.start_ts,
            newest_ts,
            open_phases: open_phases(store, meta.start_ts, newest_ts)?,
            requests,
            aborted,
            engines,
            mfu: Mfu::of(&store.metrics()),
            step,
        })
    }
}

fn open_phases(
    store: &Store,
    start_ts: Option<f64>,
    newest_ts: Option<f64>,
) -> Result<BTreeMap<String, OpenPhase>, TimelineError> {
    let phases = store.phases(&Window::ALL)?;
    let mut by_name: BTreeMap<String, OpenPhase> = BTreeMap::new();
    // A marker of an earlier attempt belongs to processes that are gone.
    let ours = |t0: f64| start_ts.is_none_or(|start| t0 >= start);
    let old = |t0: f64| newest_ts.is_some_and(|newest| newest - t0 > Stalled::MIN_AGE_S);
    for row in phases.open().filter(|row| ours(row.t0) && old(row.t0)) {
        let open = OpenSince { node: row.node.to_owned(), rank: row.rank, t0: row.t0 };
        by_name.entry(row.name.to_owned()).or_default().open.push(open);
    }
    if !by_name.is_empty() {
        for row in phases.rows() {
            if let Some(t1) = row.t1
                && let Some(phase) = by_name.get_mut(row.name)
            {
                phase.closed_s.push(t1 - row.t0);
            }
        }
    }
    Ok(by_name)
}

/// Mean over all values of all series: an engine counts by how often it was scraped.
#[must_use]
pub fn pooled_mean(series: &[Series]) -> Option<f64> {
    let count: usize = series.iter().map(|one| one.points.len()).sum();
    let sum = |points: &Points| points.value.iter().sum::<f64>();
    (count > 0).then(|| series.iter().map(|one| sum(&one.points)).sum::<f64>() / count as f64)
}

/// Largest value, and the engine that reported it.
#[must_use]
pub fn peak(series: &[Series]) -> Option<(f64, &str)> {
    let values = series.iter().flat_map(|one| one.points.value.iter().map(|value| (*value, &*one.addr)));
    values.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// First and last time of all series.
#[must_use]
pub fn span(series: &[Series]) -> Option<[f64; 2]> {
    let first = series.iter().filter_map(|one| one.points.ts.first().copied()).min_by(f64::total_cmp);
    let last = series.iter().filter_map(|one| one.points.ts.last().copied()).max_by(f64::total_cmp);
    Some([first?, last?])
}

/// The data-parallel rank that a series is of.
#[must_use]
pub fn dp_rank(series: &Series) -> Option<&str> {
    series.labels.get(DP_RANK).map(String::as_str)
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A series of one engine, scraped every 2 s from time 0 on.
    pub fn series(addr: &str, values: &[f64]) -> Series {
        let points = values.iter().enumerate().map(|(at, value)| (at as f64 * 2.0, *value)).collect();
        Series { addr: addr.to_owned(), labels: BTreeMap::new(), points }
    }

    /// The same of one of its ranks.
    pub fn rank(addr: &str, rank: &str, values: &[f64]) -> Series {
        let mut one = series(addr, values);
        one.labels.insert(DP_RANK.to_owned(), rank.to_owned());
        one
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::testing::series;
    use super::*;
    use crate::telemetry::StoreOptions;

    #[test]
    fn the_first_step_and_what_is_no_number_do_not_count_for_the_mean() {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = ["0.9", "0.3", "NaN", "\"?\"", "0.1"]
            .iter()
            .map(|mfu| format!("{{\"ts\":1.0,\"step_key\":\"rollout/step\",\"step\":1,\"metrics\":{{\"perf/actor_train_mfu\":{mfu}}}}}\n"))
            .collect();
        fs::write(folder.path().join("metrics.jsonl"), lines).unwrap();
        let log = Store::open(folder.path(), StoreOptions::default()).metrics();
        assert_eq!(Mfu::of(&log), Some(Mfu { latest: 0.1, mean: Some(0.2), steps: 2, peak: None }));
        assert_eq!(Mfu::of(&MetricsLog::default()), None);
    }

    #[test]
    fn markers_of_an_earlier_attempt_are_no_open_phases() {
        let folder = tempfile::tempdir().unwrap();
        let line = |name: &str, t0: f64, t1: f64| {
            format!(
                "{{\"name\":\"{name}\",\"t0\":{t0:?},\"t1\":{t1:?},\"node\":\"n\",\"gpus\":[0],\"rank\":3,\"role\":\"train\"}}\n"
            )
        };
        let lines = [
            line("a", 5.0, -1.0),
            line("a", 20.0, -1.0),
            line("a", 1.0, 4.0),
            line("b", 20.0, 3000.0),
            line("b", 2000.0, -1.0),
        ];
        fs::write(folder.path().join("phases.jsonl"), lines.concat()).unwrap();
        fs::write(
            folder.path().join("meta.json"),
            r#"{"start_ts": 10.0, "args": {"colocate": true, "sglang_max_running_requests": 0}}"#,
        )
        .unwrap();
        let store = Store::open(folder.path(), StoreOptions::default());
        let facts = Facts::gather(&store, &Window::ALL, None).unwrap();
        let open = OpenSince { node: "n".to_owned(), rank: 3, t0: 20.0 };
        let want = OpenPhase { open: vec![open], closed_s: vec![3.0] };
        assert_eq!(facts.open_phases, BTreeMap::from([("a".to_owned(), want)]));
        assert!(facts.settings.colocate && facts.settings.max_running_requests.is_none());
        assert_eq!(facts.newest_ts, Some(3000.0));
    }

    #[test]
    fn engines_count_by_how_often_they_were_scraped() {
        let both = [series("a", &[1.0, 1.0, 4.0]), series("b", &[6.0])];
        assert_eq!(pooled_mean(&both), Some(3.0));
        assert_eq!(peak(&both), Some((6.0, "b")));
        assert_eq!(span(&both), Some([0.0, 4.0]));
        assert_eq!((pooled_mean(&[]), peak(&[]), span(&[])), (None, None, None));
    }
}
