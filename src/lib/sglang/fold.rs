//! One answer's text becomes values: one for each engine, metric and set of kept labels.
//!
//! Records keep `engine_type` and `dp_rank` only, so series that differ in anything else fall together, and
//! each other label says how:
//!
//! 1. A label with an empty value is not there, as in Prometheus.
//! 2. Of two names of a metric, the one that was asked for counts (see [`super::Selection`]).
//! 3. The same labels twice: the first counts. A router that knows data-parallel ranks asks an engine once a
//!    rank and repeats all of it as `http://host:port@0`, `@1`: one of them counts.
//! 4. `priority`: the series without one is the total of those with one, so it alone counts. Where none is
//!    without, they are parts.
//! 5. Ranks (`tp_rank`, `pp_rank`, `moe_ep_rank`, any `…_rank` but the kept one, and `pid`): every rank tells
//!    of the same requests, be it in a gauge or a counter, so the lowest rank counts and nothing is
//!    multiplied.
//! 6. Whatever else differs (`is_streaming`, `model_name`, `mode`, labels of the user's): parts of a whole.
//!    Counters, sums and counts of histograms add up, as do gauges that are amounts; gauges that are shares
//!    or durations become their mean.
//!
//! Buckets and quantiles are left out. A value that is no finite number is left out and counted: the series
//! has a gap there.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::names::{Fold, Selection, Target, stem};
use super::text::{Kind, Line, Lines, Malformed, Sample};

/// Which engine a sample of a router's aggregate is of.
const WORKER: &str = "worker_addr";

/// What an answer came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// In the order of engines, metrics and data-parallel ranks.
    pub values: Vec<Value>,
    /// Samples of any name.
    pub samples: u64,
    /// Samples of sglang's, selected or not.
    pub of_sglang: u64,
    /// Values left out because they are not finite.
    pub not_finite: u64,
    /// Lines that are none of the format's.
    pub malformed: u64,
    /// The first of those.
    pub first_malformed: Option<Malformed>,
}

/// One value, as it is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Which engine, in a router's words; `None` where the answer does not say.
    pub worker: Option<String>,
    /// Place of the metric in the selection.
    pub(super) metric: usize,
    /// `unified`, `prefill`, `decode`, where the engine says.
    pub engine_type: Option<String>,
    /// Data-parallel rank, where the engine has several.
    pub dp_rank: Option<String>,
    /// The value, finite.
    pub value: f64,
}

/// A sample that counts towards a [`Value`].
#[derive(Debug)]
struct Part<'a> {
    worker: Cow<'a, str>,
    metric: usize,
    engine_type: Cow<'a, str>,
    dp_rank: Cow<'a, str>,
    alias: bool,
    has_priority: bool,
    ranks: Vec<(Cow<'a, str>, Rank<'a>)>,
    /// All other labels.
    rest: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    grows: bool,
    value: f64,
}

/// A rank in the order of numbers, behind them what is none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    Number(u64),
    Text(Cow<'a, str>),
}

impl<'a> Rank<'a> {
    fn new(text: Cow<'a, str>) -> Self {
        text.parse().map_or(Self::Text(text), Self::Number)
    }
}

/// Reads the answer of an engine, or of a router when `of_router`.
#[must_use]
pub fn read(text: &[u8], selection: &Selection, of_router: bool) -> Answer {
    let mut answer = Answer::default();
    let mut kinds: Vec<(Cow<'_, str>, Kind)> = Vec::new();
    let mut parts: Vec<Part<'_>> = Vec::new();
    for line in Lines::new(text) {
        match line {
            Ok(Line::Type(family, kind)) => {
                if stem(&family).is_some() {
                    kinds.push((family, kind));
                }
            }
            Ok(Line::Sample(sample)) => {
                answer.samples += 1;
                let Some(stem) = stem(&sample.name) else { continue };
                answer.of_sglang += 1;
                for target in selection.targets(stem) {
                    let kind = kind_of(&kinds, &sample.name);
                    let fits = matches!(kind, None | Some(Kind::Histogram | Kind::Summary));
                    if !target.of_histogram || fits {
                        let grows = selection.metrics().get(target.metric).is_some_and(|m| m.grows);
                        parts.extend(part(&sample, *target, grows_by(kind, grows), of_router));
                    }
                }
            }
            Err(malformed) => {
                answer.malformed += 1;
                answer.first_malformed.get_or_insert(malformed);
            }
        }
    }
    parts.sort_by(in_order);
    for group in parts.chunk_by(|a, b| in_order(a, b) == Ordering::Equal) {
        let metric = group.first().and_then(|part| selection.metrics().get(part.metric));
        answer.settle(group, metric.is_some_and(|metric| metric.fold == Fold::Mean));
    }
    answer
}

/// The type of the family that a sample is of; types are told shortly before their samples.
fn kind_of(kinds: &[(Cow<'_, str>, Kind)], name: &str) -> Option<Kind> {
    let of = |family: &str, kind: Kind| match name.strip_prefix(family)? {
        "" => Some(kind),
        "_sum" | "_count" | "_bucket" => matches!(kind, Kind::Histogram | Kind::Summary).then_some(kind),
        // OpenMetrics tells the type of `x_total` as that of `x`.
        "_total" => (kind == Kind::Counter).then_some(kind),
        _ => None,
    };
    kinds.iter().rev().find_map(|(family, kind)| of(family, *kind))
}

/// Whether a metric only grows: its type says, else its name.
fn grows_by(kind: Option<Kind>, by_name: bool) -> bool {
    match kind {
        Some(Kind::Counter | Kind::Histogram | Kind::Summary) => true,
        Some(Kind::Gauge) => false,
        Some(Kind::Other) | None => by_name,
    }
}

/// Sorts the labels of a sample; `None` for a bucket or a quantile.
fn part<'a>(sample: &Sample<'a>, target: Target, grows: bool, of_router: bool) -> Option<Part<'a>> {
    let mut part = Part {
        worker: Cow::Borrowed(""),
        metric: target.metric,
        engine_type: Cow::Borrowed(""),
        dp_rank: Cow::Borrowed(""),
        alias: target.alias,
        has_priority: false,
        ranks: Vec::new(),
        rest: Vec::new(),
        grows,
        value: sample.value,
    };
    for (name, value) in sample.labels() {
        match &*name {
            _ if value.is_empty() => {}
            "le" | "quantile" => return None,
            "engine_type" => part.engine_type = value,
            "dp_rank" => part.dp_rank = value,
            WORKER if of_router => part.worker = value,
            label if label.ends_with("_rank") || label == "pid" => part.ranks.push((name, Rank::new(value))),
            label => {
                part.has_priority |= label == "priority";
                part.rest.push((name, value));
            }
        }
    }
    part.ranks.sort();
    part.rest.sort();
    Some(part)
}

/// The worker without the rank that a router puts behind it.
fn engine(worker: &str) -> &str {
    worker.rsplit_once('@').map_or(worker, |(engine, _)| engine)
}

/// Order of values; equal for what falls together.
fn in_order(a: &Part<'_>, b: &Part<'_>) -> Ordering {
    let number = |rank: &str| rank.parse::<u64>().unwrap_or(u64::MAX);
    engine(&a.worker)
        .cmp(engine(&b.worker))
        .then_with(|| a.metric.cmp(&b.metric))
        .then_with(|| a.engine_type.cmp(&b.engine_type))
        .then_with(|| number(&a.dp_rank).cmp(&number(&b.dp_rank)))
        .then_with(|| a.dp_rank.cmp(&b.dp_rank))
}

impl Answer {
    /// Makes one value of the parts that fall together.
    fn settle(&mut self, group: &[Part<'_>], mean: bool) {
        let Some(first) = group.first() else { return };
        let mut counting: Vec<&Part<'_>> = group.iter().collect();
        let only_alias = counting.iter().all(|part| part.alias);
        counting.retain(|part| part.alias == only_alias);
        // The first worker counts: the sort is stable, so it is the first of the answer.
        if let Some(worker) = counting.first().map(|part| &part.worker) {
            counting.retain(|part| part.worker == *worker);
        }
        if counting.iter().any(|part| !part.has_priority) {
            counting.retain(|part| !part.has_priority);
        }
        if let Some(lowest) =
            counting.iter().copied().map(|part| part.ranks.as_slice()).min_by(|a, b| by_rank(a, b))
        {
            counting.retain(|part| part.ranks == lowest);
        }
        let mut seen: Vec<&[(Cow<'_, str>, Cow<'_, str>)]> = Vec::with_capacity(counting.len());
        let mut sum = 0.0;
        for part in &counting {
            if !seen.contains(&part.rest.as_slice()) {
                seen.push(&part.rest);
                sum += part.value;
            }
        }
        let grows = counting.first().is_some_and(|part| part.grows);
        let value = if mean && !grows { sum / seen.len() as f64 } else { sum };
        if !value.is_finite() {
            self.not_finite += 1;
            return;
        }
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.values.push(Value {
            worker: text(engine(&first.worker)),
            metric: first.metric,
            engine_type: text(&first.engine_type),
            dp_rank: text(&first.dp_rank),
            value,
        });
    }
}

/// Fewer ranks first (who has none speaks for all), then the lower ones.
fn by_rank(a: &[(Cow<'_, str>, Rank<'_>)], b: &[(Cow<'_, str>, Rank<'_>)]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `worker metric{engine_type,dp_rank}=value` of each value.
    fn values(text: &str, of_router: bool) -> Vec<String> {
        let selection = Selection::default();
        let answer = read(text.as_bytes(), &selection, of_router);
        assert_eq!(answer.malformed, 0, "{:?}", answer.first_malformed);
        let shown = |value: &Value| {
            let name = &selection.metrics()[value.metric].name;
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!(
                "{} {name}{{{},{}}}={}",
                text(&value.worker),
                text(&value.engine_type),
                text(&value.dp_rank),
                value.value
            )
            .trim_start()
            .to_owned()
        };
        answer.values.iter().map(shown).collect()
    }

    #[test]
    fn a_counter_over_a_split_sums_and_ranks_that_repeat_it_do_not_multiply() {
        let text = "\
# TYPE sglang:num_requests_total counter
sglang:num_requests_total{model_name=\"m\",is_streaming=\"true\",tp_rank=\"0\"} 10
sglang:num_requests_total{model_name=\"m\",is_streaming=\"false\",tp_rank=\"0\"} 5
sglang:num_requests_total{model_name=\"m\",is_streaming=\"true\",tp_rank=\"1\"} 10
sglang:num_requests_total{model_name=\"m\",is_streaming=\"false\",tp_rank=\"1\"} 5
";
        assert_eq!(values(text, false), ["sglang_num_requests_total{,}=15"]);
    }

    #[test]
    fn a_gauge_repeated_by_eight_ranks_is_one_value() {
        let text: String = (0..8)
            .rev()
            .map(|rank| {
                format!("sglang:num_running_reqs{{engine_type=\"unified\",tp_rank=\"{rank}\",pp_rank=\"0\",pid=\"{rank}\"}} {}\n", 42 + rank)
            })
            .collect();
        assert_eq!(values(&text, false), ["sglang_num_running_reqs{unified,}=42"]);
    }

    #[test]
    fn ranks_are_numbers_and_the_lowest_one_there_is_counts() {
        // Data-parallel attention: each rank of it is a group of tensor-parallel ranks of its own.
        let text = "\
sglang:num_running_reqs{dp_rank=\"10\",tp_rank=\"12\"} 3
sglang:num_running_reqs{dp_rank=\"10\",tp_rank=\"9\"} 4
sglang:num_running_reqs{dp_rank=\"2\",tp_rank=\"4\"} 5
";
        assert_eq!(values(text, false), ["sglang_num_running_reqs{,2}=5", "sglang_num_running_reqs{,10}=4"]);
    }

    #[test]
    fn the_series_without_a_priority_is_the_total_and_without_one_they_add_up() {
        let text = "\
sglang:num_queue_reqs{priority=\"\"} 7
sglang:num_queue_reqs{priority=\"1\"} 3
sglang:num_queue_reqs{priority=\"2\"} 4
sglang:num_running_reqs{priority=\"1\"} 3
sglang:num_running_reqs{priority=\"2\"} 4
sglang:token_usage{priority=\"1\"} 0.5
sglang:token_usage{priority=\"2\"} 0.25
";
        assert_eq!(
            values(text, false),
            ["sglang_num_running_reqs{,}=7", "sglang_num_queue_reqs{,}=7", "sglang_token_usage{,}=0.375"]
        );
    }

    #[test]
    fn a_renamed_metric_keeps_its_name_and_counts_once() {
        let old = "sglang:num_prefill_prealloc_queue_reqs 3\n";
        let new = "sglang:num_prefill_bootstrap_queue_reqs 5\n";
        assert_eq!(values(new, false), ["sglang_num_prefill_prealloc_queue_reqs{,}=5"]);
        for both in [format!("{old}{new}"), format!("{new}{old}")] {
            assert_eq!(values(&both, false), ["sglang_num_prefill_prealloc_queue_reqs{,}=3"]);
        }
    }

    #[test]
    fn a_histogram_is_its_sum_and_count_and_a_gauge_of_that_name_is_none() {
        let text = "\
# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_sum{is_streaming=\"true\"} 1.5
sglang:time_to_first_token_seconds_sum{is_streaming=\"false\"} 1.0
sglang:time_to_first_token_seconds_bucket{is_streaming=\"true\",le=\"+Inf\"} 3
sglang:time_to_first_token_seconds_count{is_streaming=\"true\"} 3
sglang:time_to_first_token_seconds_count{is_streaming=\"false\"} 1
sglang:time_to_first_token_seconds_created{is_streaming=\"true\"} 1.7e9
# TYPE sglang:gen_throughput_count gauge
sglang:gen_throughput_count 9
";
        assert_eq!(
            values(text, false),
            [
                "sglang_time_to_first_token_seconds_sum{,}=2.5",
                "sglang_time_to_first_token_seconds_count{,}=4"
            ]
        );
    }

    #[test]
    fn a_router_names_engines_and_one_asked_once_a_rank_counts_once() {
        let text = "\
sglang_num_requests_total{worker_addr=\"http://b:1@0\",dp_rank=\"\"} 5
sglang_num_requests_total{worker_addr=\"http://b:1@1\",dp_rank=\"\"} 5
sglang_num_requests_total{worker_addr=\"http://a:1\",dp_rank=\"\"} 2
";
        assert_eq!(
            values(text, true),
            ["http://a:1 sglang_num_requests_total{,}=2", "http://b:1 sglang_num_requests_total{,}=5"]
        );
    }

    #[test]
    fn what_is_not_finite_is_a_gap_and_counted() {
        let text = "sglang:gen_throughput NaN\nsglang:token_usage +Inf\nsglang:num_queue_reqs 0\n";
        let answer = read(text.as_bytes(), &Selection::default(), false);
        assert_eq!((answer.values.len(), answer.not_finite, answer.of_sglang), (1, 2, 3));
        let text = "sglang:token_usage{m=\"a\"} 1e308\nsglang:gen_throughput{m=\"a\"} 1e308\nsglang:gen_throughput{m=\"b\"} 1e308\n";
        let answer = read(text.as_bytes(), &Selection::default(), false);
        assert_eq!((answer.values.len(), answer.not_finite), (1, 1));
    }

    #[test]
    fn the_same_series_twice_counts_once() {
        let text = "sglang:num_requests_total{m=\"a\"} 5\nsglang:num_requests_total{m=\"a\"} 6\n";
        assert_eq!(values(text, false), ["sglang_num_requests_total{,}=5"]);
    }
}
