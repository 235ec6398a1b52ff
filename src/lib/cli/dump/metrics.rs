//! `miles-dump metrics`: the training metrics as points, one row a value.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::value::RawValue;
use wildmatch::WildMatch;

use super::stream::{FILES_NAMED, RowsError, window};
use crate::output::{Cell, Column, Kind, RowSink};
use crate::record::{Record, Stream, Text, entries};
use crate::telemetry::{DASHBOARD, Damage, TimeArg, counted, scan};

/// Which points.
#[derive(Debug, Clone, Default)]
pub struct MetricsRequest {
    /// Globs (`*`, `?`) of metric names, any of which must match; none is every name.
    pub keys: Vec<String>,
    /// Only records of this step counter, such as `rollout/step`.
    pub x: Option<String>,
    /// First time, inclusive.
    pub t0: Option<TimeArg>,
    /// Last time, inclusive.
    pub t1: Option<TimeArg>,
}

/// The columns of [`run`].
///
/// `value` is the number; of a bool 1 or 0; null where the recorded number is not finite or the
/// value is no number. `text` is a recorded text, or the JSON text of a recorded list or object,
/// or the exact digits of an integer or a huge number that no 64-bit float equals; null otherwise.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::new("key", Kind::Text),
        Column::new("step_key", Kind::Text),
        Column::new("step", Kind::Int),
        Column::new("ts", Kind::Float64),
        Column::new("value", Kind::Float64),
        Column::new("text", Kind::Text),
    ]
}

/// Gives one row a point, in the order in which they were recorded. Damage, and globs that match
/// no name, are told to `notes`.
///
/// # Errors
/// [`RowsError`].
pub fn run(
    run_dir: &Path,
    request: &MetricsRequest,
    sink: &mut dyn RowSink,
    notes: &mut dyn FnMut(String),
) -> Result<(), RowsError> {
    let window = window(run_dir, Stream::Metrics, request.t0, request.t1, notes)?;
    let globs: Vec<WildMatch> = request.keys.iter().map(|key| WildMatch::new(key)).collect();
    let mut matched = vec![false; globs.len()];
    let mut odd = 0_u64;
    let mut stopped = false;
    let mut damage = Damage::default();
    scan::<RowsError>(&run_dir.join(DASHBOARD), Stream::Metrics, &window, &mut damage, |found| {
        let Record::Metrics(record) = &found.record else { return Ok(ControlFlow::Continue(())) };
        if request.x.is_some() && request.x.as_deref() != record.step_key.as_deref() {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(points) = record.metrics else { return Ok(ControlFlow::Continue(())) };
        let Ok(points) = entries(points.get()) else {
            odd += 1;
            return Ok(ControlFlow::Continue(()));
        };
        for (key, raw) in points {
            if !wanted(&globs, &mut matched, &key) {
                continue;
            }
            let (value, text) = value(raw);
            let row = [
                Cell::Text(Cow::Borrowed(&key)),
                record.step_key.as_deref().map_or(Cell::Null, |key| Cell::Text(Cow::Borrowed(key))),
                record.step.map_or(Cell::Null, Cell::Int),
                record.ts.map_or(Cell::Null, Cell::F64),
                value.map_or(Cell::Null, Cell::F64),
                text.map_or(Cell::Null, Cell::Text),
            ];
            if sink.row(&row)?.is_break() {
                stopped = true;
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    damage.notes(FILES_NAMED).into_iter().for_each(&mut *notes);
    if odd > 0 {
        notes(format!("{} without an object of metrics left out", counted(odd, "record")));
    }
    if !stopped {
        for (glob, _) in globs.iter().zip(matched).filter(|(_, matched)| !matched) {
            notes(format!("--keys: no metric here is named {:?}", glob.to_string()));
        }
    }
    Ok(())
}

/// Whether any glob takes `key`; remembers each that does.
fn wanted(globs: &[WildMatch], matched: &mut [bool], key: &str) -> bool {
    let mut wanted = globs.is_empty();
    for (glob, matched) in globs.iter().zip(matched) {
        if glob.matches(key) {
            *matched = true;
            wanted = true;
        }
    }
    wanted
}

/// `value` and `text` of a recorded value.
fn value(raw: &RawValue) -> (Option<f64>, Option<Cow<'_, str>>) {
    match raw.get() {
        "null" => (None, None),
        "true" => (Some(1.0), None),
        "false" => (Some(0.0), None),
        json if json.starts_with('"') => match serde_json::from_str::<Text<'_>>(json) {
            Ok(text) => (None, Some(text.0)),
            Err(_) => (None, Some(Cow::Borrowed(json))),
        },
        json => match json.parse::<f64>() {
            Ok(number) if !number.is_finite() => (None, Some(Cow::Borrowed(json))),
            Ok(number) => (Some(number), rounded(json, number).then_some(Cow::Borrowed(json))),
            Err(_) => (None, Some(Cow::Borrowed(json))),
        },
    }
}

/// Whether `digits` is an integer that `number`, the float nearest to it, does not equal.
fn rounded(digits: &str, number: f64) -> bool {
    // A float prints as an integer exactly, however large it is.
    let integer = !digits.contains(['.', 'e', 'E']);
    integer && digits != "-0" && format!("{number:.0}") != digits
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rows, run_with};
    use super::*;

    const METRICS: &str = concat!(
        r#"{"ts":1.5,"step_key":"rollout/step","step":0,"metrics":{"perf/time":9.5,"note":"a\nb","ok":true,"n":NaN}}"#,
        "\n",
        r#"{"ts":2.5,"step_key":null,"step":null,"metrics":{"perf/tokens":9007199254740993,"big":9007199254740992,"l":[1]}}"#,
        "\n",
        r#"{"ts":3.5,"step_key":"train/step","step":4,"metrics":[1]}"#,
        "\n",
    );

    fn rows(request: &MetricsRequest) -> (Vec<String>, Vec<String>) {
        let folder = run_with(&[("dashboard/metrics.jsonl", METRICS)]);
        let mut sink = Rows::default();
        let mut notes = Vec::new();
        run(folder.path(), request, &mut sink, &mut |note| notes.push(note)).unwrap();
        (sink.0, notes)
    }

    #[test]
    fn every_kind_of_value_becomes_a_point() {
        let (rows, notes) = rows(&MetricsRequest::default());
        assert_eq!(
            rows,
            [
                r#""perf/time" "rollout/step" 0 1.5 9.5 null"#,
                r#""note" "rollout/step" 0 1.5 null "a\nb""#,
                r#""ok" "rollout/step" 0 1.5 1 null"#,
                r#""n" "rollout/step" 0 1.5 null null"#,
                r#""perf/tokens" null null 2.5 9007199254740992 "9007199254740993""#,
                r#""big" null null 2.5 9007199254740992 null"#,
                r#""l" null null 2.5 null "[1]""#,
            ]
        );
        assert_eq!(notes, ["1 record without an object of metrics left out"]);
    }

    #[test]
    fn globs_choose_names_and_a_glob_without_any_is_noted() {
        let keys = vec!["perf/*".to_owned(), "ok".to_owned(), "loss*".to_owned()];
        let (rows, notes) = rows(&MetricsRequest { keys, ..MetricsRequest::default() });
        let names: Vec<_> = rows.iter().filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(names, ["\"perf/time\"", "\"ok\"", "\"perf/tokens\""]);
        assert_eq!(notes.last().map(String::as_str), Some("--keys: no metric here is named \"loss*\""));
    }

    #[test]
    fn a_step_key_and_a_window_choose_records() {
        let x = Some("rollout/step".to_owned());
        assert_eq!(rows(&MetricsRequest { x, ..MetricsRequest::default() }).0.len(), 4);
        let (t0, t1) = (Some(TimeArg::At(2.0)), Some(TimeArg::Before(1.0)));
        assert_eq!(rows(&MetricsRequest { t0, t1, ..MetricsRequest::default() }).0.len(), 3);
    }

    #[test]
    fn integers_that_a_float_cannot_hold_are_told_from_those_it_can() {
        for (digits, wrong) in [
            ("9007199254740993", true),
            ("-9007199254740993", true),
            ("18446744073709551616", false),
            ("18446744073709551617", true),
            ("0", false),
            ("-0", false),
            ("1e300", false),
        ] {
            assert_eq!(rounded(digits, digits.parse().unwrap()), wrong, "{digits}");
        }
    }
}
