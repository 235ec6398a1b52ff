//! Logged metrics as series over a step key.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::TimelineError;
use crate::telemetry::{MetricValue, MetricsLog, Window};

/// Series by key, in the order they were asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoggedMetrics(pub Vec<(String, LoggedSeries)>);

/// Points of one key in the order they were logged.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LoggedSeries {
    /// Step.
    pub x: Vec<i64>,
    /// Number, bool or text as it was logged; null for NaN and infinity.
    pub y: Vec<Logged>,
    /// When it was logged, Unix seconds.
    pub ts: Vec<Option<f64>>,
}

/// A logged value that writes itself as it was logged.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged(pub MetricValue);

impl Serialize for Logged {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            MetricValue::Int(value) => to.serialize_i64(*value),
            MetricValue::Float(value) if value.is_finite() => to.serialize_f64(*value),
            MetricValue::Bool(value) => to.serialize_bool(*value),
            MetricValue::Text(value) => to.serialize_str(value),
            MetricValue::Float(_) | MetricValue::Missing => to.serialize_none(),
        }
    }
}

impl Serialize for LoggedMetrics {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (key, series) in &self.0 {
            map.serialize_entry(key, series)?;
        }
        map.end()
    }
}

/// The keys of a comma-separated list, each once.
///
/// # Errors
/// [`TimelineError::Argument`] for a list of none.
pub fn keys(list: &str) -> Result<Vec<&str>, TimelineError> {
    let mut keys: Vec<&str> = Vec::new();
    for key in list.split(',').filter(|key| !key.is_empty()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        let wanted = "one or more metric_keys of /api/meta, with commas between them";
        return Err(TimelineError::argument("keys", format!("{list:?}"), wanted));
    }
    Ok(keys)
}

/// The series of `keys` over the step key `x`: points of records that have this step key, a step and
/// the metric, inside the closed window. A key that nobody logged is an empty series.
#[must_use]
pub fn metrics(log: &MetricsLog, keys: &[&str], x: &str, window: &Window) -> LoggedMetrics {
    let series = |key: &str| {
        let mut series = LoggedSeries::default();
        for point in log.series.get(key).into_iter().flatten() {
            let Some(row) = log.rows.get(point.row as usize) else { continue };
            let Some(step) = row.step.filter(|_| row.step_key.as_deref() == Some(x)) else { continue };
            if window.contains(row.ts) {
                series.x.push(step);
                series.y.push(Logged(point.value.clone()));
                series.ts.push(row.ts);
            }
        }
        series
    };
    LoggedMetrics(keys.iter().map(|key| ((*key).to_owned(), series(key))).collect())
}

/// Every metric that was logged, in order of text.
#[must_use]
pub fn metric_keys(log: &MetricsLog) -> Vec<String> {
    log.series.keys().map(|key| key.to_string()).collect()
}

/// Every step key that was logged, in order of text.
#[must_use]
pub fn step_keys(log: &MetricsLog) -> Vec<String> {
    log.step_keys().map(|key| key.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::telemetry::{Store, StoreOptions};

    fn log() -> Arc<MetricsLog> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("metrics.jsonl"),
            r#"{"ts":1.0,"step_key":"rollout/step","step":0,"metrics":{"a":1,"b":"warm"}}
{"ts":2.0,"step_key":"train/step","step":8,"metrics":{"a":2.5}}
{"ts":3.0,"step_key":null,"step":null,"metrics":{"c":true}}
{"ts":4.0,"step_key":"rollout/step","step":1,"metrics":{"a":NaN,"b":true}}
{"ts":5.0,"step_key":"rollout/step","step":null,"metrics":{"a":7}}
{"ts":6.0,"step_key":"rollout/step","step":0,"metrics":{"a":3.5}}
"#,
        )
        .unwrap();
        Store::open(folder.path(), StoreOptions::default()).metrics()
    }

    #[test]
    fn a_series_has_the_points_of_its_step_key_as_they_were_logged() {
        let got = metrics(&log(), &["a", "b", "c"], "rollout/step", &Window::ALL);
        let want = json!({
            "a": {"x": [0, 1, 0], "y": [1, null, 3.5], "ts": [1.0, 4.0, 6.0]},
            "b": {"x": [0, 1], "y": ["warm", true], "ts": [1.0, 4.0]},
            "c": {"x": [], "y": [], "ts": []},
        });
        assert_eq!(serde_json::to_value(got).unwrap(), want);
        let window = Window { t0: Some(2.0), t1: Some(5.0) };
        let got = metrics(&log(), &["a"], "rollout/step", &window);
        assert_eq!(got.0[0].1.x, [1]);
    }

    #[test]
    fn keys_are_listed_once_and_in_order() {
        assert_eq!(metric_keys(&log()), ["a", "b", "c"]);
        assert_eq!(step_keys(&log()), ["rollout/step", "train/step"]);
        assert_eq!(keys("b,,a,b").unwrap(), ["b", "a"]);
        assert!(keys(",").unwrap_err().is_argument());
    }
}
