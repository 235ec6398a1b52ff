//! Values of an answer become lines of the `engine_series` stream.
//!
//! Values go out as they are: a counter of a restarted engine begins anew, and what rate that makes is the
//! reader's business. One thing is made here, the gauges that newer engines expose as histograms: the mean
//! of what was observed since the scrape before.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::fold::Value;
use super::names::Selection;
use crate::record::{EngineSample, Record, encode_piped};

/// Labels of a record, in the order in which the job writes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
struct Labels {
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dp_rank: Option<String>,
}

impl Labels {
    fn of(value: &Value) -> Self {
        Self { engine_type: value.engine_type.clone(), dp_rank: value.dp_rank.clone() }
    }
}

/// `_sum` and `_count` of one histogram.
type Observed = (f64, f64);

/// What histograms were at the last scrape, by address, then by gauge and labels.
#[derive(Debug, Default)]
pub(super) struct Means(HashMap<String, HashMap<(usize, Labels), Observed>>);

impl Means {
    /// Forgets an engine that is no more.
    pub fn forget(&mut self, addr: &str) {
        self.0.remove(addr);
    }

    /// Adds the gauges that `values` of one engine have as histograms. Nothing observed since the last scrape
    /// is a gap, as is a histogram that began anew.
    pub fn add(&mut self, addr: &str, values: &mut Vec<Value>, selection: &Selection) {
        let mut found = Vec::new();
        for (gauge, metric) in selection.metrics().iter().enumerate() {
            let Some((sum_at, count_at)) = metric.mean_of else { continue };
            let of = |at| values.iter().filter(move |value| value.metric == at);
            let sums: HashMap<Labels, f64> = of(sum_at).map(|sum| (Labels::of(sum), sum.value)).collect();
            for count in of(count_at) {
                let labels = Labels::of(count);
                let Some(&sum) = sums.get(&labels) else { continue };
                let here = self.0.entry(addr.to_owned()).or_default();
                let last = here.insert((gauge, labels), (sum, count.value));
                let Some((last_sum, last_count)) = last else { continue };
                let (grown, observed) = (sum - last_sum, count.value - last_count);
                if observed > 0.0 && grown >= 0.0 && (grown / observed).is_finite() {
                    found.push(Value { metric: gauge, value: grown / observed, ..count.clone() });
                }
            }
        }
        if !found.is_empty() {
            values.extend(found);
            values.sort_by_key(|value| value.metric);
        }
    }
}

/// Appends a line for each value of the engine at `addr`.
pub(super) fn lines(ts: f64, addr: &str, values: &[Value], selection: &Selection, out: &mut Vec<u8>) {
    let mut last: Option<(Labels, Box<RawValue>)> = None;
    for value in values {
        let Some(metric) = selection.metrics().get(value.metric) else { continue };
        // Series of one engine mostly have the same labels.
        let labels = Labels::of(value);
        let raw = match last.take().filter(|(before, _)| *before == labels) {
            Some((_, raw)) => raw,
            None => match to_raw_value(&labels) {
                Ok(raw) => raw,
                Err(_) => continue, // text only: cannot be
            },
        };
        let sample = EngineSample {
            ts: Some(ts),
            addr: Some(addr.into()),
            metric: Some(metric.name.as_str().into()),
            labels: Some(&raw),
            value: Some(value.value),
            extra: Vec::new(),
        };
        encode_piped(&Record::EngineSample(sample), out);
        last = Some((labels, raw));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold::read;
    use super::*;

    fn scraped(text: &str, means: &mut Means) -> String {
        let selection = Selection::default();
        let mut values = read(text.as_bytes(), &selection, false).values;
        means.add("http://a:1", &mut values, &selection);
        let mut out = Vec::new();
        lines(1.5, "http://a:1", &values, &selection, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_have_the_shape_of_the_stream() {
        let text = "\
sglang:num_running_reqs{engine_type=\"unified\",dp_rank=\"0\"} 16
sglang:num_running_reqs{engine_type=\"unified\",dp_rank=\"1\"} 3
sglang:gen_throughput 12.5
";
        let wanted = concat!(
            r#"{"stream":"engine_series","ts":1.5,"addr":"http://a:1","metric":"sglang_num_running_reqs","labels":{"engine_type":"unified","dp_rank":"0"},"value":16.0}"#,
            "\n",
            r#"{"stream":"engine_series","ts":1.5,"addr":"http://a:1","metric":"sglang_num_running_reqs","labels":{"engine_type":"unified","dp_rank":"1"},"value":3.0}"#,
            "\n",
            r#"{"stream":"engine_series","ts":1.5,"addr":"http://a:1","metric":"sglang_gen_throughput","labels":{},"value":12.5}"#,
            "\n"
        );
        assert_eq!(scraped(text, &mut Means::default()), wanted);
    }

    #[test]
    fn a_gauge_that_became_a_histogram_goes_on_as_the_mean_since_the_last_scrape() {
        let mut means = Means::default();
        let text = |sum: f64, count: u64| {
            format!(
                "# TYPE sglang:kv_transfer_latency_ms histogram\n\
                 sglang:kv_transfer_latency_ms_sum {sum}\nsglang:kv_transfer_latency_ms_count {count}\n"
            )
        };
        let mut mean = |sum, count| {
            let out = scraped(&text(sum, count), &mut means);
            assert!(out.contains("latency_ms_sum\"") && out.contains("latency_ms_count\""), "{out}");
            let line = out.lines().find(|line| line.contains("\"sglang_kv_transfer_latency_ms\""))?;
            Some(line.rsplit_once("\"value\":")?.1.trim_end_matches('}').to_owned())
        };
        assert_eq!(mean(100.0, 10), None);
        assert_eq!(mean(160.0, 13).as_deref(), Some("20.0"));
        assert_eq!(mean(160.0, 13), None, "nothing observed");
        assert_eq!(mean(5.0, 1), None, "began anew");
        assert_eq!(mean(12.0, 2).as_deref(), Some("7.0"));
        means.forget("http://a:1");
        assert!(means.0.is_empty());
        let gauge = scraped("sglang:kv_transfer_latency_ms 3\n", &mut means);
        assert!(gauge.contains("\"sglang_kv_transfer_latency_ms\"") && gauge.contains("3.0"), "{gauge}");
    }
}
