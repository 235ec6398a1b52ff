//! Streams of recorded runs and of damaged files, through the library's public face.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use miles::record::{Stream, decode};
use miles::telemetry::{Damage, LaneCatalog, Meta, TelemetryError, Window, newest, scan};
use miles::timeline::{Lanes, Selector};
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

/// Run directories recorded from a real server, where this checkout has them.
fn golden() -> Option<PathBuf> {
    let shared = std::env::var_os("MILES_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let golden = shared.join("golden");
    if !golden.is_dir() {
        eprintln!("skipped: no {}", golden.display());
        return None;
    }
    Some(golden)
}

fn texts(dashboard: &Path, stream: Stream, window: &Window) -> (Vec<String>, Damage) {
    let mut damage = Damage::default();
    let mut out = Vec::new();
    scan::<TelemetryError>(dashboard, stream, window, &mut damage, |found| {
        out.push(found.text.to_owned());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    (out, damage)
}

/// Answer of the recorded server to `path`.
fn answer(golden: &Path, run: &str, path: &str) -> Value {
    let recorded = fs::read_to_string(golden.join(run).join("api.jsonl")).unwrap();
    recorded
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|answer| answer["path"] == path)
        .map(|answer| answer["body"].clone())
        .unwrap()
}

const RECORDED: [&str; 3] = ["basic", "edges", "legacy_flat"];

#[test]
fn every_line_of_the_recorded_runs_comes_out_byte_for_byte() {
    let Some(golden) = golden() else { return };
    for run in RECORDED {
        let dashboard = golden.join(run).join("dump/dashboard");
        for stream in Stream::ALL {
            let mut wanted = String::new();
            let mut files = vec![dashboard.join(format!("{stream}.jsonl"))];
            if let Ok(folder) = fs::read_dir(dashboard.join(stream.name())) {
                let hours: BTreeSet<_> = folder.map(|entry| entry.unwrap().path()).collect();
                files.extend(hours);
            }
            for file in files {
                wanted += &fs::read_to_string(file).unwrap_or_default();
            }
            let (texts, damage) = texts(&dashboard, stream, &Window::ALL);
            let given: String = texts.iter().flat_map(|text| [text.as_str(), "\n"]).collect();
            assert!(given == wanted, "{run} {stream}");
            assert_eq!(damage, Damage::default(), "{run} {stream}");
        }
    }
}

#[test]
fn the_newest_time_is_the_end_of_the_servers_time_range() {
    let Some(golden) = golden() else { return };
    for run in RECORDED {
        let wanted = answer(&golden, run, "/api/meta")["time_range"][1].as_f64();
        assert!(wanted.is_some());
        assert_eq!(newest(&golden.join(run).join("dump/dashboard")).unwrap(), wanted, "{run}");
    }
}

#[test]
fn meta_names_the_run_as_the_server_does() {
    let Some(golden) = golden() else { return };
    for run in RECORDED {
        let wanted = answer(&golden, run, "/api/meta");
        let meta = Meta::read(&golden.join(run).join("dump/dashboard")).unwrap().unwrap();
        assert_eq!(meta.run_name.as_deref(), wanted["run_name"].as_str(), "{run}");
        assert_eq!(meta.start_ts, wanted["start_ts"].as_f64(), "{run}");
    }
}

#[test]
fn lanes_are_the_servers_and_a_scan_finds_what_the_catalog_says() {
    let Some(golden) = golden() else { return };
    for run in RECORDED {
        let dashboard = golden.join(run).join("dump/dashboard");
        let lanes = Lanes::load(&dashboard).unwrap();
        let wanted = answer(&golden, run, "/api/timeline/topology");
        let wanted: Vec<_> = wanted["lanes"].as_array().unwrap().iter().collect();
        assert_eq!(lanes.0.len(), wanted.len(), "{run}");
        for (lane, wanted) in lanes.0.iter().zip(wanted) {
            assert_eq!(
                (Some(&*lane.node), Some(lane.gpu)),
                (wanted["node"].as_str(), wanted["gpu"].as_i64())
            );
        }
        if LaneCatalog::read(&dashboard).unwrap().is_none() {
            continue;
        }
        let copy = tempfile::tempdir().unwrap();
        for stream in Stream::ALL {
            let (texts, _) = texts(&dashboard, stream, &Window::ALL);
            let text: String = texts.into_iter().map(|text| text + "\n").collect();
            fs::write(copy.path().join(format!("{stream}.jsonl")), text).unwrap();
        }
        assert_eq!(Lanes::load(copy.path()).unwrap(), lanes, "{run}");
    }
}

#[test]
fn selectors_choose_the_lanes_that_the_server_answers_for() {
    let Some(golden) = golden() else { return };
    let mut asked = 0;
    for run in RECORDED {
        let lanes = Lanes::load(&golden.join(run).join("dump/dashboard")).unwrap();
        let recorded = fs::read_to_string(golden.join(run).join("api.jsonl")).unwrap();
        for line in recorded.lines().filter(|line| line.contains("/api/timeline/gpu?")) {
            let answer: Value = serde_json::from_str(line).unwrap();
            let path = answer["path"].as_str().unwrap();
            let Some((_, rest)) = path.split_once("lanes=") else { continue };
            let selector = rest.split('&').next().unwrap().replace("%3A", ":").replace("%2C", ",");
            let selector: Selector = selector.parse().unwrap();
            let chosen: BTreeSet<_> =
                selector.select(&lanes).map(|lane| format!("{}:{}", lane.node, lane.gpu)).collect();
            let wanted: BTreeSet<_> = answer["body"]["lanes"].as_object().unwrap().keys().cloned().collect();
            assert_eq!(chosen, wanted, "{run} {path}");
            asked += 1;
        }
    }
    assert!(asked > 20, "{asked} answers with lanes");
}

#[test]
fn windows_by_hour_give_what_a_full_read_gives() {
    let Some(golden) = golden() else { return };
    let dashboard = golden.join("edges/dump/dashboard");
    for stream in [Stream::Phases, Stream::GpuUtil, Stream::Trajectories] {
        for (t0, t1) in [(1_769_907_600.0, 1_769_907_700.0), (1_769_907_000.0, 1_769_907_599.9), (0.0, 2e9)] {
            let window = Window { t0: Some(t0), t1: Some(t1) };
            let (all, _) = texts(&dashboard, stream, &Window::ALL);
            let wanted: Vec<_> = all
                .into_iter()
                .filter(|text| {
                    let record: Value = serde_json::from_str(text).unwrap();
                    let time = match record["t1"].as_f64() {
                        Some(-1.0) => &record["t0"],
                        Some(_) => &record["t1"],
                        None => &record["ts"],
                    };
                    (t0..=t1).contains(&time.as_f64().unwrap())
                })
                .collect();
            assert!(!wanted.is_empty(), "{stream} {window:?}");
            assert_eq!(texts(&dashboard, stream, &window).0, wanted, "{stream} {window:?}");
        }
    }
}

/// Lines that hold what real ones hold: escapes, both kinds of non-ASCII, NaN, nested objects.
const LINES: [&str; 4] = [
    r#"{"ts":1.5,"step_key":"rollout/step","step":0,"metrics":{"a":1.25,"b":"x\"y\ud83d\ude00","c":true}}"#,
    r#"{"ts":2.5,"step_key":null,"step":null,"metrics":{"é":NaN,"n":9007199254740993}}"#,
    r#"{"ts":3.5,"step_key":"train/step","step":7,"metrics":{}}"#,
    r#"{"ts": 4.5, "step_key": "a", "step": 8, "metrics": {"x": {"y": [1, 2]}}, "new": "😀"}"#,
];

/// The line as the reader gives it.
fn clean(line: &str) -> String {
    line.replace("NaN", "null")
}

proptest! {
    #[test]
    fn a_file_cut_at_any_byte_gives_exactly_its_complete_lines(cut in 0_usize..400) {
        let text: String = LINES.iter().flat_map(|line| [*line, "\n"]).collect();
        let cut = cut.min(text.len());
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("metrics.jsonl"), &text.as_bytes()[..cut]).unwrap();
        let (given, damage) = texts(folder.path(), Stream::Metrics, &Window::ALL);
        let complete = text.as_bytes()[..cut].iter().filter(|byte| **byte == b'\n').count();
        let wanted: Vec<_> = LINES[..complete].iter().map(|line| clean(line)).collect();
        prop_assert_eq!(given, wanted);
        prop_assert!(damage.files.is_empty());
    }

    #[test]
    fn a_restart_after_a_cut_at_any_byte_costs_one_line_and_invents_none(cut in 0_usize..400) {
        let text: String = LINES.iter().flat_map(|line| [*line, "\n"]).collect();
        let cut = cut.min(text.len());
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = text.as_bytes()[..cut].to_vec();
        bytes.extend_from_slice(text.as_bytes());
        fs::write(folder.path().join("metrics.jsonl"), &bytes).unwrap();
        let (given, damage) = texts(folder.path(), Stream::Metrics, &Window::ALL);
        let complete = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let torn = cut > 0 && bytes[cut - 1] != b'\n';
        let mut wanted: Vec<_> = LINES[..complete].iter().map(|line| clean(line)).collect();
        wanted.extend(LINES[usize::from(torn)..].iter().map(|line| clean(line)));
        prop_assert_eq!(given, wanted);
        prop_assert_eq!(damage.files.iter().map(|file| file.lines).sum::<u64>(), u64::from(torn));
        if torn {
            let start = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            prop_assert_eq!(damage.files[0].first, start as u64);
        }
    }

    #[test]
    fn damaged_bytes_never_cost_another_line(at in 0_usize..400, byte in any::<u8>()) {
        let mut bytes: Vec<u8> = LINES.iter().flat_map(|line| [line.as_bytes(), b"\n"]).flatten().copied().collect();
        let at = at.min(bytes.len() - 1);
        prop_assume!(byte != b'\n' && bytes[at] != b'\n');
        let hit = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        bytes[at] = byte;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("metrics.jsonl"), &bytes).unwrap();
        let (given, damage) = texts(folder.path(), Stream::Metrics, &Window::ALL);
        prop_assert_eq!(given.len() as u64 + damage.files.iter().map(|file| file.lines).sum::<u64>(), 4);
        for (index, line) in LINES.iter().enumerate().filter(|(index, _)| *index != hit) {
            prop_assert!(given.contains(&clean(line)), "line {} is gone", index);
        }
        for text in given {
            // Not a `Value`: a number such as 9007E99 is JSON, but no float holds it.
            prop_assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn no_line_of_any_bytes_panics_and_what_is_read_is_strict_json(
        which in 0..Stream::ALL.len(),
        line in "\\PC{0,20}|[{}\\[\\]\":,\\\\uUdD83NaIfinty\\-0.eE é😀\u{0}]{0,60}|\\{\"(ts|t1|node)\":(-?Infinity|NaN|1e999|\"(\\\\u[dD][89a-f][0-9a-f]{2}){0,3}\")\\}",
    ) {
        let stream = Stream::ALL[which];
        let mut scratch = String::new();
        if let Ok(Some(decoded)) = decode(stream, line.as_bytes(), &mut scratch) {
            prop_assert!(serde_json::from_str::<&RawValue>(decoded.text).is_ok(), "{}", decoded.text);
            let mut values = 0;
            decoded.record.values(|_| values += 1);
            prop_assert_eq!(values, stream.fields().len());
        } else {
            prop_assert!(!line.starts_with("{\"t"), "{}", line);
        }
    }
}
