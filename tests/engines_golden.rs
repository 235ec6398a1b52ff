//! Engine series, trajectories, the lifecycle picture, bubbles, logged metrics, what a run says about
//! itself and advice equal what a real server answered about the same runs.
//!
//! Needs the recorded runs: `../shared`, or where `MILES_SHARED` says.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::golden;
use miles::advise;
use miles::rollout;
use miles::rollout::summary::{Row, Summary};
use miles::telemetry::{Store, StoreOptions, Window};
use miles::timeline::{About, TimelineError, bubbles, engines, lifecycle, metrics, trajectories};
use serde::Serialize;
use serde_json::Value;

type Query = HashMap<String, String>;

/// Path and parameters of a question; the recorded ones escape `,` and `:` only.
fn question(path: &str) -> (String, Query) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let text = |value: &str| value.replace("%2C", ",").replace("%3A", ":");
    (path.to_owned(), pairs.map(|(key, value)| (key.to_owned(), text(value))).collect())
}

fn json(answer: Result<impl Serialize, TimelineError>) -> Result<Value, u16> {
    match answer {
        Ok(answer) => Ok(serde_json::to_value(answer).unwrap()),
        Err(error) if error.is_argument() => Err(400),
        Err(error) => panic!("{error}"),
    }
}

/// What the run answers; `None` for a route of others.
fn answer(
    store: &Store,
    steps: &HashMap<i64, Vec<Row>>,
    path: &str,
    query: &Query,
) -> Option<Result<Value, u16>> {
    let number = |key: &str| query.get(key).map(|text| text.parse::<f64>().unwrap());
    let window = Window { t0: number("t0"), t1: number("t1") };
    let text = |key: &str| query.get(key).map_or("", String::as_str);
    Some(match path {
        "/api/timeline/engine_series" => {
            let question = engines::Question {
                metric: text("metric"),
                max_points: number("max_points").map_or(engines::DEFAULT_MAX_POINTS, |n| n as usize),
                per_dp_rank: text("per_dp_rank") == "true",
            };
            json(engines::engine_series(store, &window, &question))
        }
        "/api/timeline/heatmap" if text("metric") == "lifecycle" => {
            let buckets = number("x_buckets").unwrap() as usize;
            json(
                lifecycle(store, &window, buckets)
                    .map(|picture| serde_json::json!({"header": picture.header, "cells": picture.cells})),
            )
        }
        "/api/timeline/bubbles" => json(Ok(bubbles::bubbles(&store.metrics()))),
        "/api/metrics" if !text("keys").starts_with("dump/") => {
            let x = query.get("x").map_or(bubbles::ROLLOUT_STEP, String::as_str);
            json(
                metrics::keys(text("keys")).map(|keys| metrics::metrics(&store.metrics(), &keys, x, &window)),
            )
        }
        "/api/meta" => json(About::of(store)),
        "/api/advisory" => {
            let newest = steps.keys().max().map(|id| advise::Step { rollout_id: *id, rows: &steps[id] });
            json(advise::report(store, &window, newest, &advise::Options::default()))
        }
        _ => {
            let step = path.strip_prefix("/api/rollout/")?.strip_suffix("/trajectories")?.parse().unwrap();
            let samples: Vec<i64> = steps[&step].iter().filter_map(|row| row.sample_index).collect();
            let only = query.get("sample_index").map(|text| text.parse().unwrap());
            json(trajectories::trajectories(store, step, &samples, only))
        }
    })
}

/// Where the recorded answer and ours differ; what others add to `/api/meta` and the words of an advisory aside.
fn difference(path: &str, mut want: Value, got: &Value) -> Option<String> {
    if path == "/api/meta" {
        let dumped = |key: &Value| key.as_str().unwrap().starts_with("dump/");
        let object = want.as_object_mut().unwrap();
        object
            .retain(|key, _| !["mode", "time_range", "rollout_ids", "capabilities"].contains(&key.as_str()));
        object["metric_keys"].as_array_mut().unwrap().retain(|key| !dumped(key));
    }
    for advisory in want.get_mut("advisories").and_then(Value::as_array_mut).into_iter().flatten() {
        advisory.as_object_mut().unwrap().remove("message");
    }
    if let Some(cells) = want.as_object_mut().and_then(|object| object.remove("cells_base64")) {
        want["cells"] = decode(cells.as_str().unwrap()).into();
    }
    differs(&want, got, "")
}

/// The first difference. Closer than `compare_api.py`, which for a Unix time allows hours: nothing here
/// is a float32 sum.
fn differs(want: &Value, got: &Value, at: &str) -> Option<String> {
    let no = || Some(format!("{at}: want {want}, got {got}"));
    match (want, got) {
        (Value::Number(w), Value::Number(g)) => {
            let (w, g) = (w.as_f64().unwrap(), g.as_f64().unwrap());
            if (w - g).abs() <= 1e-12 * w.abs().max(1.0) { None } else { no() }
        }
        (Value::Array(w), Value::Array(g)) if w.len() == g.len() => {
            w.iter().zip(g).enumerate().find_map(|(i, (w, g))| differs(w, g, &format!("{at}[{i}]")))
        }
        (Value::Object(w), Value::Object(g)) => w.iter().find_map(|(key, w)| match g.get(key) {
            Some(g) => differs(w, g, &format!("{at}.{key}")),
            None => Some(format!("{at}.{key}: missing")),
        }),
        _ if want == got => None,
        _ => no(),
    }
}

/// Bytes of standard base64.
fn decode(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let chunk = |four: &[u8]| {
        let kept = four.iter().filter(|c| **c != b'=').count();
        let bits = four.iter().filter(|c| **c != b'=').fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c)));
        let bytes = (bits << (6 * (4 - kept)) << 8).to_be_bytes();
        bytes[..kept - 1].to_vec()
    };
    text.as_bytes().chunks(4).flat_map(chunk).collect()
}

fn steps(run: &Path) -> HashMap<i64, Vec<Row>> {
    let Ok(run) = rollout::Run::open(run) else { return HashMap::new() };
    let rows = |id| Summary::read(&run.step(id, false).unwrap()).unwrap().rows;
    run.ids(false).map(|id| (id, rows(id))).collect()
}

fn replay(name: &str, expected: usize) {
    let Some(golden) = golden() else { return };
    let run = common::Run::copy(&golden.join(name).join("dump"));
    let store = Store::open(&run.path().join("dashboard"), StoreOptions::default());
    let steps = steps(run.path());
    let recorded = fs::read_to_string(golden.join(name).join("api.jsonl")).unwrap();
    let (mut agree, mut bad) = (0, Vec::new());
    for line in recorded.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let (path, query) = question(record["path"].as_str().unwrap());
        let Some(got) = answer(&store, &steps, &path, &query) else { continue };
        let difference = match (record["status"].as_u64().unwrap(), got) {
            (200, Ok(got)) => difference(&path, record["body"].clone(), &got),
            (want, Err(status)) if want == u64::from(status) => None,
            (want, got) => Some(format!("want status {want}, got {got:?}")),
        };
        match difference {
            None => agree += 1,
            Some(difference) => bad.push(format!("{}: {difference}", record["path"])),
        }
    }
    assert!(bad.is_empty(), "{} of {} differ:\n{}", bad.len(), bad.len() + agree, bad.join("\n"));
    assert_eq!(agree, expected, "answers that agree");
}

#[test]
fn a_run_with_everything_answers_as_recorded() {
    replay("basic", 54);
}

#[test]
fn a_run_of_dumps_only_answers_as_recorded() {
    replay("dump_only", 20);
    replay("parallel", 20);
}

#[test]
fn restarts_ranks_and_open_spans_answer_as_recorded() {
    replay("edges", 59);
}

#[test]
fn flat_streams_answer_as_recorded() {
    replay("legacy_flat", 59);
}
