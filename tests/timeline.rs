//! What the questions of the timeline answer equals what a real server answered about the same runs.
//!
//! Numbers are compared far more closely than the replay script does: nine hours are within its tolerance
//! for a time of today.
//!
//! Needs the recorded runs: `../shared`, or where `MILES_SHARED` says.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::golden;
use miles::telemetry::{Store, StoreOptions, Window};
use miles::timeline::{self, LaneIndex, Lanes, Selection, TimelineError};
use serde_json::{Value, json};

/// Sums taken in another order differ by less.
const REL: f64 = 1e-13;

struct Question<'q> {
    route: &'q str,
    query: HashMap<&'q str, String>,
}

impl<'q> Question<'q> {
    /// A question that these functions answer.
    fn of(path: &'q str) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: HashMap<_, _> =
            pairs.map(|(key, value)| (key, value.replace("%3A", ":").replace("%2C", ","))).collect();
        let route = path.strip_prefix("/api/")?;
        let ours = ["meta", "timeline/topology", "timeline/phases", "timeline/gpu", "timeline/gpu_processes"];
        let ours = ours.contains(&route)
            || ["timeline/heatmap", "timeline/fleet", "timeline/outliers"].contains(&route);
        (ours && query.get("metric").map(String::as_str) != Some("lifecycle"))
            .then_some(Self { route, query })
    }

    fn time(&self, key: &str) -> Option<f64> {
        self.query.get(key).map(|text| text.parse().unwrap())
    }

    fn count(&self, key: &str, default: usize) -> usize {
        self.query.get(key).map_or(default, |text| text.parse().unwrap())
    }

    fn window(&self) -> Result<Window, TimelineError> {
        timeline::window(self.time("t0"), self.time("t1"))
    }

    fn answer(&self, store: &Store, lanes: &Arc<Lanes>) -> Result<Value, TimelineError> {
        let selection = || Selection::new(Arc::clone(lanes), self.query.get("lanes").map(String::as_str));
        Ok(match self.route {
            "meta" => json!({ "time_range": store.time_range()? }),
            "timeline/topology" => value(&timeline::topology(store, lanes)),
            "timeline/phases" => value(&timeline::phases(store, &selection()?, &self.window()?)?),
            "timeline/gpu" => {
                let points = self.count("max_points", timeline::MAX_POINTS);
                value(&timeline::gpu(store, &selection()?, &self.window()?, points)?)
            }
            "timeline/gpu_processes" => value(&timeline::processes(store, &selection()?, &self.window()?)?),
            "timeline/heatmap" => {
                let metric = self.query.get("metric").map_or("util", String::as_str).parse()?;
                let buckets = self.count("x_buckets", timeline::HEATMAP_X_BUCKETS);
                let bytes =
                    timeline::heatmap(store, &selection()?, &self.window()?, metric, buckets)?.encode();
                let (length, rest) = bytes.split_at(4);
                let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
                let header: Value = serde_json::from_slice(&rest[..length]).unwrap();
                json!({ "header": header, "cells_base64": base64(&rest[length..]) })
            }
            "timeline/fleet" => {
                let buckets = self.count("x_buckets", timeline::FLEET_X_BUCKETS);
                value(&timeline::fleet(store, lanes, &self.window()?, buckets)?)
            }
            "timeline/outliers" => {
                let criterion = self.query.get("criterion").map_or("", String::as_str).parse()?;
                let window = timeline::window_of_any_length(self.time("t0"), self.time("t1"))?;
                value(&timeline::outliers(
                    store,
                    lanes,
                    &window,
                    &criterion,
                    self.count("top_k", timeline::TOP_K),
                )?)
            }
            route => panic!("{route}"),
        })
    }
}

/// Through text, as a client sees it.
fn value(answer: &impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(answer).unwrap()).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let at = (group >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit <= chunk.len() { DIGITS[at] as char } else { '=' });
        }
    }
    text
}

fn differences(wanted: &Value, got: &Value, at: &str, found: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(a), Value::Object(b)) => {
            if !a.keys().eq(b.keys()) {
                found.push(format!("{at}: keys {:?} and {:?}", a.keys(), b.keys()));
            }
            for (key, value) in a {
                differences(value, b.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"), found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                found.push(format!("{at}: {} and {} items", a.len(), b.len()));
            }
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{at}[{index}]"), found);
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (x - y).abs() > REL * x.abs().max(y.abs()) || a.is_f64() != b.is_f64() {
                found.push(format!("{at}: {a} and {b}"));
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{at}: {a} and {b}")),
    }
}

/// How many answers agree, and how many there are.
fn replay(run: &Path) -> (usize, usize) {
    let store = Store::open(&run.join("dump/dashboard"), StoreOptions::default());
    let lanes = LaneIndex::default().lanes(&store).unwrap();
    let (mut agreed, mut asked) = (0, 0);
    for line in fs::read_to_string(run.join("api.jsonl")).unwrap().lines() {
        let mut recorded: Value = serde_json::from_str(line).unwrap();
        let path = recorded["path"].as_str().unwrap().to_owned();
        let Some(question) = Question::of(&path) else { continue };
        let mut wanted = recorded["body"].take();
        if question.route == "meta" {
            wanted = json!({ "time_range": wanted["time_range"] });
        }
        let mut found = Vec::new();
        let status = match question.answer(&store, &lanes) {
            Ok(got) => {
                differences(&wanted, &got, "", &mut found);
                200
            }
            Err(error) => {
                assert!(error.is_argument(), "{path}: {error}");
                found.clear();
                400
            }
        };
        if status != recorded["status"] {
            found.insert(0, format!("status {} and {status}", recorded["status"]));
        }
        asked += 1;
        if found.is_empty() {
            agreed += 1;
        } else {
            println!("{path}: {} differ\n    {}", found.len(), found[..found.len().min(3)].join("\n    "));
        }
    }
    println!("{}: {agreed} of {asked} agree", run.display());
    (agreed, asked)
}

#[test]
fn recorded_answers_are_answered_again() {
    let Some(golden) = golden() else { return };
    for (run, questions) in
        [("basic", 77), ("edges", 77), ("legacy_flat", 77), ("dump_only", 2), ("parallel", 2)]
    {
        assert_eq!(replay(&golden.join(run)), (questions, questions), "{run}");
    }
}
