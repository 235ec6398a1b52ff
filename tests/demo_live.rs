//! `miles demo --live`: a run that goes on.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use miles::demo::{self, Settings};
use miles::record::{Layout, Stream};
use serde_json::Value;

/// Files of a stream in order of time, with their lines.
fn files(run: &Path, stream: Stream) -> Vec<(PathBuf, String)> {
    let dashboard = run.join("dashboard");
    let mut paths = match stream.layout() {
        Layout::Flat => vec![dashboard.join(format!("{stream}.jsonl"))],
        Layout::Hourly => {
            fs::read_dir(dashboard.join(stream.name())).unwrap().map(|e| e.unwrap().path()).collect()
        }
    };
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

fn records(run: &Path, stream: Stream) -> Vec<Value> {
    let files = files(run, stream);
    let lines = files.iter().flat_map(|(_, text)| text.lines());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// When a record was written.
fn time(record: &Value) -> f64 {
    match record.get("t1") {
        Some(t1) if t1 == -1.0 => record["t0"].as_f64().unwrap(),
        Some(t1) => t1.as_f64().unwrap(),
        None => record["ts"].as_f64().unwrap(),
    }
}

#[test]
fn a_live_run_grows_by_whole_lines_until_it_is_told_to_stop() {
    let dir = tempfile::tempdir().unwrap();
    let size = ["--steps", "20", "--minutes", "1", "--prompts", "2", "--samples-per-prompt", "4"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_miles"))
        .args(["demo", "--live", "--gpus", "2", "--max-response", "256"])
        .args(size)
        .arg(dir.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waited = Instant::now();
    // A step lasts three seconds: two new ones make sure that nothing of the past is seen.
    while !dir.path().join("train_data/21_1.pt").exists() {
        assert!(waited.elapsed() < Duration::from_secs(60), "no new step");
        assert!(child.try_wait().unwrap().is_none(), "ended by itself");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(dir.path().join("rollout_data/21.pt").exists());
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let status = child.wait().unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(status.code(), Some(0), "{told}");
    let mut readings: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for record in records(dir.path(), Stream::GpuUtil) {
        readings.entry(record["gpu"].as_i64().unwrap()).or_default().push(time(&record));
    }
    assert_eq!(readings.len(), 2);
    for times in readings.values() {
        assert!(times.len() > 63 && times.windows(2).all(|pair| pair[1] - pair[0] == 1.0));
    }
    for stream in Stream::OF_JOB {
        assert!(files(dir.path(), stream).iter().all(|(_, text)| text.ends_with('\n')), "{stream}");
        assert!(
            records(dir.path(), stream).windows(2).all(|pair| time(&pair[0]) <= time(&pair[1])),
            "{stream}"
        );
    }
    let steps: BTreeSet<i64> =
        records(dir.path(), Stream::Metrics).iter().map(|record| record["step"].as_i64().unwrap()).collect();
    assert!(steps.into_iter().eq(0..steps_of(dir.path())));
    // It is a demo run like any other: it can be written over.
    write_over(dir.path());
}

/// Steps that were logged.
fn steps_of(run: &Path) -> i64 {
    records(run, Stream::Metrics).iter().map(|record| record["step"].as_i64().unwrap()).max().unwrap() + 1
}

fn write_over(run: &Path) {
    demo::write(run, &Settings { steps: 1, minutes: 1, prompts: 1, ..Settings::default() }, || ()).unwrap();
    assert!(!run.join("train_data/21_1.pt").exists());
    assert_eq!(files(run, Stream::GpuUtil).len(), 1);
}

#[test]
fn a_live_run_that_is_stopped_at_once_has_its_past() {
    let dir = tempfile::tempdir().unwrap();
    let size = Settings { steps: 2, minutes: 0, prompts: 1, gpus: 1, ..Settings::default() };
    let error = demo::live(dir.path(), &size, &AtomicBool::new(true)).unwrap_err();
    assert_eq!(error.to_string(), "--minutes must be at least 1 with --live");
    let settings = Settings { minutes: 2, ..size };
    let report = demo::live(dir.path(), &settings, &AtomicBool::new(true)).unwrap();
    assert!(report.files >= settings.files());
    assert_eq!(records(dir.path(), Stream::GpuUtil).len(), 120);
}
