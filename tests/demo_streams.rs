//! `miles demo`: the telemetry that it writes, read back through the library and through the tool.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use miles::demo::{self, Settings};
use miles::pt::File;
use miles::record::{Layout, Stream};
use miles::telemetry::{LaneCatalog, Meta};
use miles::timeline::Lanes;
use serde_json::Value;
use tempfile::TempDir;

/// Two nodes, a run of two hours: it hangs for long, and its dumps are those of its last steps.
const LONG: Settings = Settings {
    steps: 4,
    prompts: 6,
    samples_per_prompt: 4,
    max_response: 256,
    gpus: 1,
    nodes: 2,
    minutes: 120,
    seed: 5,
};

fn default_run() -> &'static Path {
    static RUN: OnceLock<TempDir> = OnceLock::new();
    RUN.get_or_init(|| write(&Settings::default())).path()
}

fn long_run() -> &'static Path {
    static RUN: OnceLock<TempDir> = OnceLock::new();
    RUN.get_or_init(|| write(&LONG)).path()
}

fn write(settings: &Settings) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    demo::write(dir.path(), settings, || ()).unwrap();
    dir
}

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

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap()
}

/// What names a phase, and its closing event.
fn phase(record: &Value) -> (String, i64, String, String) {
    let rank = record["rank"].as_i64().unwrap();
    (text(record, "node").into(), rank, text(record, "name").into(), record["t0"].to_string())
}

/// Markers without a closing event.
fn open_phases(run: &Path) -> Vec<Value> {
    let all = records(run, Stream::Phases);
    let closed: BTreeSet<_> = all.iter().filter(|r| r["t1"] != -1.0).map(phase).collect();
    all.into_iter().filter(|r| r["t1"] == -1.0 && !closed.contains(&phase(r))).collect()
}

#[test]
fn every_line_has_exactly_the_keys_of_the_format_in_their_order() {
    for run in [default_run(), long_run()] {
        for stream in Stream::OF_JOB {
            let expected: Vec<&str> = stream.fields().iter().map(|field| field.name).collect();
            for (path, text) in files(run, stream) {
                assert!(text.ends_with('\n'), "{}", path.display());
                for line in text.lines() {
                    let record: Value = serde_json::from_str(line).unwrap();
                    assert!(record.as_object().unwrap().keys().eq(&expected), "{line}");
                    // Rust writes small numbers as 1e-6 and Python as 1e-06; only metrics have some.
                    if stream != Stream::Metrics {
                        assert_eq!(record.to_string(), line);
                    }
                }
            }
        }
    }
}

#[test]
fn the_tool_reads_every_stream_without_damage() {
    for stream in Stream::OF_JOB {
        let output = Command::new(env!("CARGO_BIN_EXE_miles-dump"))
            .args(["stream", stream.name(), "-d"])
            .arg(default_run())
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let whole: String = files(default_run(), stream).into_iter().map(|(_, text)| text).collect();
        // On a pipe a record says first which stream it is of.
        let label = format!("\"stream\":\"{stream}\",");
        assert!(String::from_utf8(output.stdout).unwrap().replace(&label, "") == whole, "{stream}");
    }
}

/// Real Python: `MILES_TEST_PYTHON` names one.
#[test]
fn python_would_write_the_same_bytes() {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        eprintln!("skipped: MILES_TEST_PYTHON names no Python");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/demo_streams_check.py");
    for run in [default_run(), long_run()] {
        let ran = Command::new(&python).arg(script).arg(run).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(String::from_utf8(ran.stdout).unwrap().lines().count(), Stream::OF_JOB.len());
    }
}

#[test]
fn records_lie_in_their_hour_and_in_order_of_time() {
    for run in [default_run(), long_run()] {
        for stream in Stream::OF_JOB {
            let mut before = f64::MIN;
            let files = files(run, stream);
            assert!(stream.layout() == Layout::Flat || files.len() > 1, "{stream} crosses no hour");
            for (path, text) in files {
                let hour: Option<f64> = (stream.layout() == Layout::Hourly).then(|| {
                    // 2026-01-01 11:00 UTC is the first hour of every run.
                    let hour = path
                        .file_stem()
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .strip_prefix("20260101_")
                        .unwrap()
                        .parse::<f64>();
                    1_767_225_600.0 + hour.unwrap() * 3600.0
                });
                for line in text.lines() {
                    let at = time(&serde_json::from_str(line).unwrap());
                    assert!(at >= before, "{stream}: {line}");
                    assert!(hour.is_none_or(|hour| (hour..hour + 3600.0).contains(&at)), "{line}");
                    before = at;
                }
            }
        }
    }
}

#[test]
fn every_gpu_is_read_every_second_and_shows_what_it_does() {
    let mut lanes: BTreeMap<(String, i64), Vec<(f64, i64)>> = BTreeMap::new();
    for record in records(long_run(), Stream::GpuUtil) {
        let util = record["util"].as_i64().unwrap();
        assert!((0..=100).contains(&util) && record["mem_mb"].as_i64().unwrap() < 81_559);
        assert!((50..=720).contains(&record["power_w"].as_i64().unwrap()));
        let lane = (text(&record, "node").to_owned(), record["gpu"].as_i64().unwrap());
        lanes.entry(lane).or_default().push((time(&record), util));
    }
    assert_eq!(lanes.len(), 2);
    for readings in lanes.values() {
        assert_eq!(readings.len(), 7200);
        assert!(readings.windows(2).all(|pair| pair[1].0 - pair[0].0 == 1.0));
        // Half an hour of nothing in the end, and work before.
        let mean = |part: &[(f64, i64)]| part.iter().map(|r| r.1).sum::<i64>() / part.len() as i64;
        assert!(mean(&readings[5400..]) < 8 && mean(&readings[..5000]) > 45);
    }
}

#[test]
fn a_marker_has_its_phase_and_only_a_save_never_ends() {
    for (run, lasts) in [(default_run(), 0.0), (long_run(), 1800.0)] {
        let open = open_phases(run);
        assert_eq!(open.len(), 1);
        assert_eq!(text(&open[0], "name"), "save_model");
        let newest = records(run, Stream::GpuUtil).last().map(time).unwrap();
        assert!(newest - time(&open[0]) > lasts, "{newest}");
        // An alarm wants three closed phases of the name.
        let is_save = |r: &&Value| r["name"] == "save_model" && r["t1"] != -1.0;
        assert!(records(run, Stream::Phases).iter().filter(is_save).count() >= 3);
        let marked = records(run, Stream::Phases).iter().filter(|r| r["t1"] == -1.0).count();
        assert!(marked > 20);
    }
}

#[test]
fn a_rank_is_in_one_phase_at_a_time() {
    for (run, ranks) in [(default_run(), 8), (long_run(), 2)] {
        let mut spans: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
        for record in records(run, Stream::Phases).iter().filter(|r| r["t1"] != -1.0) {
            let t0 = record["t0"].as_f64().unwrap();
            assert!(t0 <= time(record), "{record}");
            spans.entry(record["rank"].as_i64().unwrap()).or_default().push((t0, time(record)));
        }
        assert_eq!(spans.len(), ranks + 1, "with the rollout manager");
        for spans in spans.values() {
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

#[test]
fn one_rank_straggles_and_the_others_wait_for_it() {
    let mut seconds: BTreeMap<(String, i64), f64> = BTreeMap::new();
    for record in records(default_run(), Stream::Phases).iter().filter(|r| r["t1"] != -1.0) {
        let length = time(record) - record["t0"].as_f64().unwrap();
        *seconds.entry((text(record, "name").into(), record["rank"].as_i64().unwrap())).or_default() +=
            length;
    }
    let of = |name: &str, rank: i64| seconds[&(name.to_owned(), rank)];
    for name in ["actor_train", "update_weights"] {
        assert!((0..8).all(|rank| rank == 5 || of(name, rank) * 1.15 < of(name, 5)), "{name}");
    }
    assert!((0..8).all(|rank| rank == 5 || of("train_wait", rank) > of("train_wait", 5) + 60.0));
}

#[test]
fn an_engine_saturates_and_another_restarts_on_its_gpus() {
    let topology = records(default_run(), Stream::Topology);
    assert_eq!(topology.len(), 2);
    let engine = |snapshot: usize, at: usize| &topology[snapshot]["engines"][at];
    assert_eq!(engine(0, 3)["gpus"], engine(1, 3)["gpus"]);
    let (old, new) = (text(engine(0, 3), "addr").to_owned(), text(engine(1, 3), "addr").to_owned());
    assert!(old != new && engine(0, 2) == engine(1, 2));

    let mut full = BTreeMap::<String, usize>::new();
    let (mut last_old, mut first_new, mut restarted) = (0.0, f64::MAX, Vec::new());
    let mut queued = 0.0_f64;
    for record in records(default_run(), Stream::EngineSeries) {
        let (addr, metric, at) = (text(&record, "addr"), text(&record, "metric"), time(&record));
        let value = record["value"].as_f64().unwrap();
        if metric == "sglang_token_usage" && value > 0.95 {
            *full.entry(addr.to_owned()).or_default() += 1;
        }
        if metric == "sglang_num_queue_reqs" {
            queued = queued.max(value);
        }
        if addr == old {
            last_old = at;
        } else if addr == new {
            first_new = first_new.min(at);
            if metric == "sglang_generation_tokens_total" {
                restarted.push(value);
            }
        }
    }
    assert_eq!(full.keys().collect::<Vec<_>>(), [text(engine(0, 0), "addr")]);
    assert!(full.into_values().all(|scrapes| scrapes > 60) && queued > 5.0);
    assert!(first_new - last_old > 20.0 && first_new >= time(&topology[1]));
    assert!(restarted[0] < 1000.0 && restarted.is_sorted());
}

#[test]
fn counters_only_rise_and_one_engine_tells_its_ranks_apart() {
    let mut last: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut labels = BTreeSet::new();
    for record in records(long_run(), Stream::EngineSeries) {
        let (addr, metric) = (text(&record, "addr").to_owned(), text(&record, "metric").to_owned());
        labels.insert(record["labels"].to_string());
        if ["_total", "_sum", "_count"].iter().any(|end| metric.ends_with(end)) {
            let value = record["value"].as_f64().unwrap();
            let before = last.insert((addr, metric), value).unwrap_or(0.0);
            assert!(value >= before, "{record}");
        }
    }
    assert_eq!(labels.len(), 3, "{labels:?}");
}

/// Group, status and weight versions of the samples of a step's dump.
fn dumped(run: &Path, rid: u32) -> BTreeMap<i64, (i64, String, Vec<String>)> {
    let file = File::open(run.join(format!("rollout_data/{rid}.pt"))).unwrap();
    let samples = file.root().get("samples").unwrap().items().unwrap();
    let sample = |s: miles::pt::Ref<'_>| {
        let int = |key: &str| s.get(key).unwrap().as_i64().unwrap();
        let text = |value: miles::pt::Ref<'_>| value.as_str().unwrap().into_owned();
        let versions = s.get("weight_versions").unwrap().items().unwrap().into_iter().map(text).collect();
        (int("index"), (int("group_index"), text(s.get("status").unwrap()), versions))
    };
    samples.into_iter().map(sample).collect()
}

#[test]
fn trajectories_are_those_of_the_dumped_samples() {
    let first = LONG.first_dump();
    assert_eq!((first, LONG.run_steps()), (44, 48));
    for (run, settings) in [(default_run(), Settings::default()), (long_run(), LONG)] {
        let mut lives: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
        for record in records(run, Stream::Trajectories) {
            lives.entry(record["sample_index"].as_i64().unwrap()).or_default().push(record);
        }
        assert_eq!(lives.len() as u32, settings.run_steps() * settings.samples());
        let mut aborted = 0;
        for rid in settings.first_dump()..settings.run_steps() {
            for (index, (group, status, versions)) in dumped(run, rid) {
                let life = &lives[&index];
                assert!(life.iter().all(|event| event["group_index"] == group));
                assert_eq!(life[0]["kind"], "attempt_start");
                let end = life.last().unwrap();
                assert_eq!((text(end, "kind"), text(end, "detail")), ("attempt_end", status.as_str()));
                let count = |kind: &str| life.iter().filter(|event| event["kind"] == kind).count();
                assert_eq!(count("attempt_start"), count("attempt_end"));
                // What aborts an attempt may hit it within a tool.
                let open = count("tool_start") - count("tool_end");
                assert!(open < count("attempt_end"), "sample {index}");
                aborted += count("attempt_end") - 1;
                let seen: BTreeSet<&str> = life
                    .iter()
                    .filter(|e| e["kind"] == "gen_end")
                    .map(|e| text(e, "weight_version"))
                    .collect();
                assert_eq!(seen, versions.iter().map(String::as_str).collect(), "sample {index}");
            }
        }
        assert!(aborted > 5, "{aborted}");
    }
}

#[test]
fn metrics_name_every_step_of_the_run() {
    let mut steps: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    let records = records(long_run(), Stream::Metrics);
    for record in &records {
        let step = record["step"].as_i64().unwrap();
        let metrics = record["metrics"].as_object().unwrap();
        steps.entry(text(record, "step_key")).or_default().insert(step);
        if metrics.contains_key("perf/step_time") {
            steps.entry("perf").or_default().insert(step);
            assert!(metrics["perf/actor_train_mfu"].as_f64().unwrap() > 0.2);
            let ratio = metrics["perf/wait_time_ratio"].as_f64().unwrap();
            assert!((0.2..0.9).contains(&ratio), "{record}");
        }
    }
    let all: BTreeSet<i64> = (0..48).collect();
    assert!(["rollout/step", "train/step", "perf"].iter().all(|key| steps[key] == all));
    assert!(LONG.eval_steps().iter().all(|&rid| steps["eval/step"].contains(&rid.into())));
    assert!(steps["eval/step"].len() > 2);
}

#[test]
fn the_catalog_says_what_a_scan_finds() {
    for run in [default_run(), long_run()] {
        let copy = tempfile::tempdir().unwrap();
        let dashboard = run.join("dashboard");
        let from_catalog = Lanes::load(&dashboard).unwrap();
        for name in ["phases", "gpu_util", "gpu_processes"] {
            std::os::unix::fs::symlink(dashboard.join(name), copy.path().join(name)).unwrap();
        }
        fs::copy(dashboard.join("topology.jsonl"), copy.path().join("topology.jsonl")).unwrap();
        assert_eq!(from_catalog, Lanes::load(copy.path()).unwrap());
        assert!(LaneCatalog::read(&dashboard).unwrap().is_some());
        let meta = Meta::read(&dashboard).unwrap().unwrap();
        assert_eq!(meta.start_ts, Some(1_767_267_900.0));
        assert_eq!(meta.args["colocate"], true);
    }
}

#[test]
fn a_run_of_no_minutes_has_dumps_alone() {
    let run = write(&Settings { minutes: 0, steps: 1, prompts: 1, ..Settings::default() });
    assert!(run.path().join("rollout_data/0.pt").exists() && !run.path().join("dashboard").exists());
}

#[test]
fn the_smallest_runs_have_telemetry_too() {
    for (steps, minutes) in [(1, 1), (40, 1), (2, 3), (1, 125)] {
        let size = Settings { steps, minutes, prompts: 1, samples_per_prompt: 2, ..Settings::default() };
        let run = write(&Settings { gpus: 1, max_response: 256, ..size });
        assert_eq!(records(run.path(), Stream::GpuUtil).len() as u32, minutes * 60);
        assert_eq!(records(run.path(), Stream::Topology).len(), 2);
        assert!(!records(run.path(), Stream::Trajectories).is_empty());
    }
}
