//! What each sample of a training step went through before the step was consumed.

use serde::Serialize;

use super::events::Events;
use super::spans::{Attempt, Life, Segment, pair};
use super::{MAX_WINDOW_S, TimelineError, bubbles};
use crate::telemetry::{Store, TrajectoryRow, Window};

/// How long before its consumption the life of a step's samples is looked for, seconds: the longest
/// window that any question may ask for.
pub const LOOK_BACK_S: f64 = MAX_WINDOW_S;

/// The lives of a step's samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trajectories {
    /// One a sample that has an event, in order of its first one.
    pub lanes: Vec<SampleLane>,
    /// When training took the step, Unix seconds; null for a run without telemetry.
    pub consume_ts: Option<f64>,
    /// Start of the look back, Unix seconds.
    pub t0: Option<f64>,
}

/// The life of one sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleLane {
    /// `Sample.index`.
    pub sample_index: i64,
    /// Its group.
    pub group_index: Option<i64>,
    /// First event, Unix seconds.
    pub first_ts: f64,
    /// Last event, Unix seconds.
    pub last_ts: f64,
    /// Generation and tool use in order of time.
    pub segments: Vec<OwnedSegment>,
    /// Tries in order of time.
    pub attempts: Vec<Attempt>,
    /// How the newest attempt that has ended came out.
    pub status: Option<String>,
    /// Numeric weight versions of its segments, ascending.
    pub versions: Vec<i64>,
}

/// A `Segment` that outlives the block it was read from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnedSegment {
    /// Generation or tool use.
    pub kind: super::SpanKind,
    /// Start, Unix seconds.
    pub t0: Option<f64>,
    /// End, Unix seconds.
    pub t1: Option<f64>,
    /// Turn from 1; -1 of a coarse span.
    pub turn: i64,
    /// Weights of the engine where known.
    pub weight_version: Option<String>,
}

/// The lives of `samples`, the sample indices of training step `step`; with `only` of that one.
///
/// # Errors
/// [`TimelineError`] when the stream cannot be read.
pub fn trajectories(
    store: &Store,
    step: i64,
    samples: &[i64],
    only: Option<i64>,
) -> Result<Trajectories, TimelineError> {
    let consumed = bubbles::consumed(&store.metrics(), step);
    let newest = || -> Result<_, TimelineError> { Ok(store.time_range()?.map(|(_, newest)| newest)) };
    let Some(consume_ts) = consumed.map_or_else(newest, |ts| Ok(Some(ts)))? else {
        return Ok(Trajectories { lanes: Vec::new(), consume_ts: None, t0: None });
    };
    let window = Window { t0: Some(consume_ts - LOOK_BACK_S), t1: Some(consume_ts) };
    let blocks = store.trajectories(&window)?;
    let wanted = samples.iter().copied().filter(|index| only.is_none_or(|only| only == *index));
    let mut lanes: Vec<SampleLane> =
        Events::new(&blocks, &window).of(wanted).iter().filter_map(|events| lane(events)).collect();
    lanes.sort_by(|a, b| a.first_ts.total_cmp(&b.first_ts).then(a.sample_index.cmp(&b.sample_index)));
    Ok(Trajectories { lanes, consume_ts: Some(consume_ts), t0: window.t0 })
}

/// The lane of one sample; `None` for no events.
fn lane(events: &[TrajectoryRow<'_>]) -> Option<SampleLane> {
    let (first, last) = (events.first()?, events.last()?);
    let Life { attempts, segments, status, group_index } = pair(events);
    let mut versions: Vec<i64> = segments.iter().filter_map(|s| s.weight_version.parse().ok()).collect();
    versions.sort_unstable();
    versions.dedup();
    let owned = |Segment { kind, t0, t1, turn, weight_version }| OwnedSegment {
        kind,
        t0,
        t1,
        turn,
        weight_version: known(weight_version),
    };
    Some(SampleLane {
        sample_index: first.sample_index,
        group_index,
        first_ts: first.ts,
        last_ts: last.ts,
        segments: segments.into_iter().map(owned).collect(),
        attempts,
        status: status.map(str::to_owned),
        versions,
    })
}

/// The stream's empty text is a version that nobody knew.
fn known(version: &str) -> Option<String> {
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::telemetry::StoreOptions;

    fn run(events: &[(f64, &str, i64, i64)], metrics: &str) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = events
            .iter()
            .map(|(ts, kind, sample, turn)| {
                format!(
                    "{{\"ts\":{ts:?},\"kind\":\"{kind}\",\"sample_index\":{sample},\"group_index\":-1,\
                     \"turn\":{turn},\"weight_version\":\"7\",\"detail\":\"\"}}\n"
                )
            })
            .collect();
        fs::write(folder.path().join("trajectories.jsonl"), lines).unwrap();
        fs::write(folder.path().join("metrics.jsonl"), metrics).unwrap();
        let store = Store::open(folder.path(), StoreOptions::default());
        (folder, store)
    }

    const EVENTS: [(f64, &str, i64, i64); 6] = [
        (20_000.0, "gen_start", 5, 1),
        (20_001.0, "gen_start", 4, 1),
        (20_002.0, "gen_end", 5, 1),
        (20_002.0, "tool_start", 5, 1),
        (20_500.0, "gen_end", 4, 1),
        (100.0, "gen_start", 4, 2),
    ];

    #[test]
    fn a_step_shows_its_samples_in_the_four_hours_before_it_was_consumed() {
        let step = r#"{"ts":20400.0,"step_key":"rollout/step","step":3,"metrics":{"perf/step_time":1.0}}"#;
        let (_folder, store) = run(&EVENTS, &format!("{step}\n"));
        let got = trajectories(&store, 3, &[4, 5, 6], None).unwrap();
        assert_eq!((got.consume_ts, got.t0), (Some(20_400.0), Some(6_000.0)));
        let lanes: Vec<_> = got.lanes.iter().map(|l| (l.sample_index, l.first_ts, l.last_ts)).collect();
        assert_eq!(lanes, [(5, 20_000.0, 20_002.0), (4, 20_001.0, 20_001.0)]);
        assert_eq!(got.lanes[0].versions, [7]);
        assert_eq!(got.lanes[0].group_index, None);
        assert_eq!(got.lanes[1].segments[0].t1, None);
    }

    #[test]
    fn a_step_that_was_not_logged_ends_with_the_data() {
        let (_folder, store) = run(&EVENTS, "");
        let got = trajectories(&store, 3, &[4, 5], Some(4)).unwrap();
        assert_eq!(got.consume_ts, Some(20_500.0));
        assert_eq!(got.lanes.len(), 1);
        assert_eq!(got.lanes[0].segments[0].t1, Some(20_500.0));
    }

    #[test]
    fn a_run_without_telemetry_has_no_lives_and_no_times() {
        let (_folder, store) = run(&[], "");
        let got = serde_json::to_string(&trajectories(&store, 0, &[1], None).unwrap()).unwrap();
        assert_eq!(got, r#"{"lanes":[],"consume_ts":null,"t0":null}"#);
    }
}
