//! The life of one sample out of its events: attempts, and what it spent them on.
//!
//! Spans pair by (kind, turn). An end without a start is a span whose start is not known, and a start
//! that nothing ends is one whose end is not: the window cut it off, or it still runs.

use serde::{Serialize, Serializer};

use crate::telemetry::{EventKind, TrajectoryRow};

/// Stands in the stream for no group.
const NO_GROUP: i64 = -1;

/// What a sample waits for during a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// An engine generates.
    Gen,
    /// A tool works.
    Tool,
}

/// One try at the sample, from the queue to its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Attempt {
    /// Start, Unix seconds.
    pub t0: Option<f64>,
    /// End, Unix seconds.
    pub t1: Option<f64>,
}

/// One stretch of generation or tool use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Segment<'a> {
    /// Which of the two.
    pub kind: SpanKind,
    /// Start, Unix seconds.
    pub t0: Option<f64>,
    /// End, Unix seconds.
    pub t1: Option<f64>,
    /// Turn from 1; -1 of a coarse span that covers all turns of an attempt.
    pub turn: i64,
    /// Weights of the engine; empty in the stream where it is not known, null here.
    #[serde(serialize_with = "or_null")]
    pub weight_version: &'a str,
}

fn or_null<S: Serializer>(text: &&str, to: S) -> Result<S::Ok, S::Error> {
    (!text.is_empty()).then_some(text).serialize(to)
}

/// What the events of one sample come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Life<'a> {
    /// Tries in order of time.
    pub attempts: Vec<Attempt>,
    /// Segments in order of their start, of their end where the start is not known.
    pub segments: Vec<Segment<'a>>,
    /// How the newest attempt that has ended came out.
    pub status: Option<&'a str>,
    /// The sample's group.
    pub group_index: Option<i64>,
}

/// Pairs the events of one sample, which are in order of time.
///
/// - `attempt_end` ends the open attempt and every open span, and lends its version to spans of the
///   attempt that have none.
/// - A version at a span's end replaces the one at its start: that is when the engine told it.
/// - A span that starts again before it has ended stays without an end.
/// - Coarse generation (turn below 1) goes where any turn of the sample was recorded: it is the
///   same time told twice.
#[must_use]
pub fn pair<'a>(events: &[TrajectoryRow<'a>]) -> Life<'a> {
    let mut life = Life::default();
    // Open spans of the running attempt, as places in `segments`; an attempt has few at a time.
    let mut open: Vec<((SpanKind, i64), usize)> = Vec::new();
    // First segment of the running attempt.
    let mut fresh = 0;
    for event in events {
        life.group_index = life.group_index.or(event.group_index.filter(|group| *group != NO_GROUP));
        let ts = event.ts;
        let (kind, starts) = match event.kind {
            EventKind::AttemptStart => {
                life.attempts.push(Attempt { t0: Some(ts), t1: None });
                continue;
            }
            EventKind::AttemptEnd => {
                for (_, at) in open.drain(..) {
                    life.segments[at].t1 = Some(ts);
                }
                for segment in &mut life.segments[fresh..] {
                    if segment.weight_version.is_empty() {
                        segment.weight_version = event.weight_version;
                    }
                }
                fresh = life.segments.len();
                match life.attempts.last_mut() {
                    Some(attempt) if attempt.t1.is_none() => attempt.t1 = Some(ts),
                    _ => life.attempts.push(Attempt { t0: None, t1: Some(ts) }),
                }
                life.status = Some(event.detail).filter(|detail| !detail.is_empty());
                continue;
            }
            EventKind::GenStart => (SpanKind::Gen, true),
            EventKind::GenEnd => (SpanKind::Gen, false),
            EventKind::ToolStart => (SpanKind::Tool, true),
            EventKind::ToolEnd => (SpanKind::Tool, false),
            EventKind::Other => continue,
        };
        let key = (kind, event.turn);
        let running = open.iter().rposition(|(of, _)| *of == key).map(|at| open.swap_remove(at).1);
        match running {
            Some(at) if !starts => {
                let segment = &mut life.segments[at];
                segment.t1 = Some(ts);
                if !event.weight_version.is_empty() {
                    segment.weight_version = event.weight_version;
                }
            }
            _ => {
                if starts {
                    open.push((key, life.segments.len()));
                }
                life.segments.push(Segment {
                    kind,
                    t0: starts.then_some(ts),
                    t1: (!starts).then_some(ts),
                    turn: event.turn,
                    weight_version: event.weight_version,
                });
            }
        }
    }
    let turn_told = |segment: &Segment<'_>| segment.kind == SpanKind::Gen && segment.turn > 0;
    if life.segments.iter().any(turn_told) {
        life.segments.retain(|segment| segment.kind != SpanKind::Gen || segment.turn > 0);
    }
    let begin = |segment: &Segment<'_>| segment.t0.or(segment.t1).unwrap_or_default();
    life.segments.sort_by(|a, b| begin(a).total_cmp(&begin(b)));
    life
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn event(ts: f64, kind: EventKind, turn: i64, version: &'static str) -> TrajectoryRow<'static> {
        let (sample_index, group_index) = (0, None);
        TrajectoryRow { ts, kind, sample_index, group_index, turn, weight_version: version, detail: "" }
    }

    fn segment(kind: SpanKind, t0: f64, t1: f64, turn: i64, version: &'static str) -> Segment<'static> {
        let known = |t: f64| t.is_finite().then_some(t);
        Segment { kind, t0: known(t0), t1: known(t1), turn, weight_version: version }
    }

    use EventKind::{AttemptEnd, AttemptStart, GenEnd, GenStart, ToolEnd, ToolStart};

    #[test]
    fn turns_and_tools_of_an_attempt_follow_each_other() {
        let life = pair(&[
            event(0.0, AttemptStart, -1, ""),
            event(1.0, GenStart, 1, ""),
            event(5.0, GenEnd, 1, "3"),
            event(5.0, ToolStart, 1, "3"),
            event(7.0, ToolEnd, 1, ""),
            event(7.0, GenStart, 2, "3"),
            event(9.0, GenEnd, 2, "4"),
            TrajectoryRow { detail: "completed", ..event(10.0, AttemptEnd, -1, "4") },
        ]);
        assert_eq!(life.attempts, [Attempt { t0: Some(0.0), t1: Some(10.0) }]);
        assert_eq!(
            life.segments,
            [
                segment(SpanKind::Gen, 1.0, 5.0, 1, "3"),
                segment(SpanKind::Tool, 5.0, 7.0, 1, "3"),
                segment(SpanKind::Gen, 7.0, 9.0, 2, "4"),
            ]
        );
        assert_eq!(life.status, Some("completed"));
    }

    #[test]
    fn the_end_of_an_attempt_closes_what_it_left_open_and_lends_its_version() {
        let life = pair(&[
            event(0.0, AttemptStart, -1, ""),
            event(1.0, GenStart, -1, ""),
            event(2.0, ToolStart, 1, "1"),
            event(9.0, AttemptEnd, -1, "2"),
        ]);
        let closed = [segment(SpanKind::Gen, 1.0, 9.0, -1, "2"), segment(SpanKind::Tool, 2.0, 9.0, 1, "1")];
        assert_eq!(life.segments, closed);
        assert_eq!(life.status, None);
    }

    #[test]
    fn a_turn_of_any_attempt_replaces_all_coarse_generation() {
        let life = pair(&[
            event(0.0, AttemptStart, -1, ""),
            event(1.0, GenStart, -1, ""),
            event(2.0, AttemptEnd, -1, "1"),
            event(3.0, AttemptStart, -1, ""),
            event(4.0, GenStart, 1, ""),
        ]);
        assert_eq!(life.segments, [segment(SpanKind::Gen, 4.0, f64::NAN, 1, "")]);
        assert_eq!(life.attempts[1], Attempt { t0: Some(3.0), t1: None });
    }

    #[test]
    fn an_end_without_a_start_has_an_unknown_start() {
        let life = pair(&[event(4.0, ToolEnd, 9, "0"), event(5.0, AttemptEnd, -1, "")]);
        assert_eq!(life.segments, [segment(SpanKind::Tool, f64::NAN, 4.0, 9, "0")]);
        assert_eq!(life.attempts, [Attempt { t0: None, t1: Some(5.0) }]);
        let json = serde_json::to_value(life.segments[0]).unwrap();
        let want = serde_json::json!(
            {"kind": "tool", "t0": null, "t1": 4.0, "turn": 9, "weight_version": "0"});
        assert_eq!(json, want);
    }

    /// The same pairing with a map of open spans, written the obvious way.
    fn naive(events: &[TrajectoryRow<'static>]) -> Vec<Segment<'static>> {
        let mut open: BTreeMap<(SpanKind, i64), usize> = BTreeMap::new();
        let mut attempt: Vec<usize> = Vec::new();
        let mut all: Vec<Segment<'static>> = Vec::new();
        for e in events {
            let kind = match e.kind {
                AttemptEnd => {
                    for &at in open.values() {
                        all[at].t1 = Some(e.ts);
                    }
                    for &at in &attempt {
                        if all[at].weight_version.is_empty() {
                            all[at].weight_version = e.weight_version;
                        }
                    }
                    open.clear();
                    attempt.clear();
                    continue;
                }
                GenStart | GenEnd => SpanKind::Gen,
                ToolStart | ToolEnd => SpanKind::Tool,
                _ => continue,
            };
            let start = matches!(e.kind, GenStart | ToolStart);
            if !start && let Some(at) = open.remove(&(kind, e.turn)) {
                all[at].t1 = Some(e.ts);
                if !e.weight_version.is_empty() {
                    all[at].weight_version = e.weight_version;
                }
                continue;
            }
            attempt.push(all.len());
            if start {
                open.insert((kind, e.turn), all.len());
            }
            let (t0, t1) = if start { (e.ts, f64::NAN) } else { (f64::NAN, e.ts) };
            all.push(segment(kind, t0, t1, e.turn, e.weight_version));
        }
        if all.iter().any(|s| s.kind == SpanKind::Gen && s.turn > 0) {
            all.retain(|s| s.kind == SpanKind::Tool || s.turn > 0);
        }
        all.sort_by_key(|s| s.t0.or(s.t1).map(|t| t as i64));
        all
    }

    proptest! {
        #[test]
        fn pairing_is_what_a_map_of_open_spans_does(
            steps in prop::collection::vec((0..3i64, 0..6usize, prop::sample::select(vec![-1i64, 1, 2]), 0..3usize), 0..40)
        ) {
            let mut ts = 0;
            let events: Vec<_> = steps.iter().map(|&(wait, kind, turn, version)| {
                ts += wait;
                let kind = [AttemptStart, AttemptEnd, GenStart, GenEnd, ToolStart, ToolEnd][kind];
                event(ts as f64, kind, turn, ["", "0", "1"][version])
            }).collect();
            prop_assert_eq!(pair(&events).segments, naive(&events));
        }
    }
}
