//! How long each training step took and how much of it the trainer waited.

use serde::Serialize;

use crate::telemetry::{MetricValue, MetricsLog, Point};

/// Step key of records that are about a training step.
pub const ROLLOUT_STEP: &str = "rollout/step";

const STEP_TIME: &str = "perf/step_time";
const WAIT_RATIO: &str = "perf/wait_time_ratio";

/// The steps of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Bubbles {
    /// In the order they were logged; a step that a restarted run did again is there twice.
    pub bubbles: Vec<Bubble>,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bubble {
    /// The step.
    pub step: Option<i64>,
    /// When it was logged, Unix seconds.
    pub ts: Option<f64>,
    /// How long it took, seconds.
    pub step_time: Option<f64>,
    /// Part of it that the trainer waited, 0 to 1.
    pub wait_ratio: Option<f64>,
}

/// Records of the step key [`ROLLOUT_STEP`] that have a step time or a wait ratio.
#[must_use]
pub fn bubbles(log: &MetricsLog) -> Bubbles {
    let points = |key: &str| log.series.get(key).map(Vec::as_slice).unwrap_or_default();
    let (mut times, mut ratios) = (points(STEP_TIME), points(WAIT_RATIO));
    let mut bubbles = Vec::new();
    // Both series are in order of their records: a merge.
    while let Some(row) = times.first().into_iter().chain(ratios.first()).map(|point| point.row).min() {
        let (step_time, wait_ratio) = (take(&mut times, row), take(&mut ratios, row));
        if let Some(record) = log.rows.get(row as usize)
            && record.step_key.as_deref() == Some(ROLLOUT_STEP)
        {
            bubbles.push(Bubble { step: record.step, ts: record.ts, step_time, wait_ratio });
        }
    }
    Bubbles { bubbles }
}

/// When training took a step: the time of its newest record.
#[must_use]
pub fn consumed(log: &MetricsLog, step: i64) -> Option<f64> {
    bubbles(log).bubbles.iter().rev().filter(|bubble| bubble.step == Some(step)).find_map(|bubble| bubble.ts)
}

/// Takes the points of record `row` off the front.
fn take(points: &mut &[Point], row: u32) -> Option<f64> {
    let mut found = None;
    while let Some((point, rest)) = points.split_first().filter(|(point, _)| point.row <= row) {
        found = number(&point.value);
        *points = rest;
    }
    found
}

/// The value as a number, where it is one.
#[must_use]
pub fn number(value: &MetricValue) -> Option<f64> {
    match value {
        MetricValue::Int(value) => Some(*value as f64),
        MetricValue::Float(value) => Some(*value).filter(|value| value.is_finite()),
        MetricValue::Bool(_) | MetricValue::Text(_) | MetricValue::Missing => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::telemetry::{Store, StoreOptions};

    #[test]
    fn a_step_has_a_time_or_a_ratio_or_both() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("metrics.jsonl"),
            r#"{"ts":1.0,"step_key":"rollout/step","step":0,"metrics":{"perf/step_time":5,"perf/wait_time_ratio":0.5}}
{"ts":2.0,"step_key":"rollout/step","step":1,"metrics":{"perf/wait_time_ratio":0.25}}
{"ts":3.0,"step_key":"train/step","step":1,"metrics":{"perf/step_time":9.0}}
{"ts":4.0,"step_key":"rollout/step","step":1,"metrics":{"perf/step_time":NaN}}
{"ts":5.0,"step_key":"rollout/step","step":2,"metrics":{"loss":1.0}}
"#,
        )
        .unwrap();
        let log = Store::open(folder.path(), StoreOptions::default()).metrics();
        let bubble = |step, ts, step_time, wait_ratio| Bubble {
            step: Some(step),
            ts: Some(ts),
            step_time,
            wait_ratio,
        };
        let want = [
            bubble(0, 1.0, Some(5.0), Some(0.5)),
            bubble(1, 2.0, None, Some(0.25)),
            bubble(1, 4.0, None, None),
        ];
        assert_eq!(bubbles(&log).bubbles, want);
        assert_eq!(consumed(&log, 1), Some(4.0), "a step that was done again ended the second time");
        assert_eq!(consumed(&log, 2), None);
    }
}
