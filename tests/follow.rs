//! A store that follows a run knows what one opened this moment knows, whatever happens to the files.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miles::advise;
use miles::record::Stream;
use miles::telemetry::{Store, StoreOptions, Window};
use miles::timeline::{self, LaneIndex, Selection};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Small numbers from a seed, the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Everything that a store answers, as text.
fn answers(store: &Store) -> String {
    let mut out = String::new();
    let windows = [
        Window::ALL,
        Window { t0: Some(HOUR + 3000.0), t1: Some(HOUR + 3900.0) },
        Window { t0: Some(HOUR - 10.0), t1: Some(HOUR + 20.0) },
    ];
    writeln!(out, "range {:?}", store.time_range().unwrap()).unwrap();
    for window in windows {
        let inside = |ts: f64| window.contains(Some(ts));
        let mut rows = Vec::new();
        for block in store.gpu(&window).unwrap() {
            for lane in block.lanes() {
                for row in (0..lane.ts.len()).filter(|row| inside(lane.ts[*row])) {
                    rows.push(format!(
                        "gpu {} {} {:?} {}",
                        lane.node, lane.gpu, lane.ts[row], lane.util[row]
                    ));
                }
            }
        }
        for block in store.engines(&window).unwrap() {
            for series in block.series() {
                for (ts, value) in series.ts.iter().zip(series.value).filter(|(ts, _)| inside(**ts)) {
                    rows.push(format!(
                        "engine {} {} {:?} {ts:?} {value:?}",
                        series.addr, series.metric, series.labels
                    ));
                }
            }
        }
        for block in store.processes(&window).unwrap() {
            rows.extend(block.rows().filter(|row| inside(row.ts)).map(|row| format!("{row:?}")));
        }
        for block in store.trajectories(&window).unwrap() {
            rows.extend(block.rows().filter(|row| inside(row.ts)).map(|row| format!("{row:?}")));
        }
        let overlaps = |t0: f64, t1: Option<f64>| {
            window.t1.is_none_or(|end| t0 < end)
                && t1.is_none_or(|t1| window.t0.is_none_or(|start| t1 > start))
        };
        let phases = store.phases(&window).unwrap();
        rows.extend(phases.rows().filter(|row| overlaps(row.t0, row.t1)).map(|row| format!("{row:?}")));
        rows.sort();
        writeln!(out, "{window:?}\n{}", rows.join("\n")).unwrap();
    }
    writeln!(out, "{:?}", store.metrics()).unwrap();
    writeln!(out, "{:?}\n{:?}", store.topology(), store.data_buffer()).unwrap();
    writeln!(out, "{:?}\n{:?}", store.meta(), store.catalog()).unwrap();
    writeln!(out, "{:?}", store.engine_metric_names().unwrap()).unwrap();
    let mut damage: Vec<_> = store.damage().iter().map(|file| format!("{file:?}")).collect();
    damage.sort();
    writeln!(out, "{}", damage.join("\n")).unwrap();
    out
}

/// Answers to the questions of the HTTP API, as text. What is kept between questions is kept with `store`.
fn questions(store: &Store, index: &LaneIndex) -> String {
    let mut out = String::new();
    let lanes = index.lanes(store).unwrap();
    let all = Selection::all(Arc::clone(&lanes));
    let some = Selection::new(Arc::clone(&lanes), Some("rank:0-1,every:3")).unwrap();
    let windows = [Window::ALL, Window { t0: Some(HOUR + 3000.0), t1: Some(HOUR + 3900.0) }];
    let mut tell = |name: &str, answer: String| writeln!(out, "{name} {answer}").unwrap();
    tell("topology", json(&timeline::topology(store, &lanes)));
    tell("bubbles", json(&timeline::bubbles::bubbles(&store.metrics())));
    for window in windows {
        for selection in [&all, &some] {
            tell("phases", json(&timeline::phases(store, selection, &window).unwrap()));
            tell("gpu", json(&timeline::gpu(store, selection, &window, 8).unwrap()));
            tell("processes", json(&timeline::processes(store, selection, &window).unwrap()));
            for metric in ["util", "mem_mb", "power_w", "phase"] {
                let metric = metric.parse().unwrap();
                tell("heatmap", format!("{:?}", timeline::heatmap(store, selection, &window, metric, 30)));
            }
        }
        tell("lifecycle", format!("{:?}", timeline::lifecycle(store, &window, 30)));
        tell("fleet", format!("{:?}", timeline::fleet(store, &lanes, &window, 20).map(|fleet| json(&fleet))));
        for criterion in ["lowest_util", "slowest_phase:rollout"] {
            let criterion = criterion.parse().unwrap();
            tell("outliers", json(&timeline::outliers(store, &lanes, &window, &criterion, 9).unwrap()));
        }
        for metric in ["a", "b"] {
            let question = timeline::engines::Question { metric, max_points: 9, per_dp_rank: false };
            tell(metric, json(&timeline::engines::engine_series(store, &window, &question).unwrap()));
        }
        let metrics = timeline::metrics::metrics(&store.metrics(), &["m", "x/1"], "rollout/step", &window);
        tell("metrics", json(&metrics));
        let report = advise::report(store, &window, None, &advise::Options { low_mfu_threshold: 0.15 });
        tell("advice", json(&report.unwrap()));
        tell(
            "trajectories",
            json(&timeline::trajectories::trajectories(store, 3, &[0, 1, 2, 3], None).unwrap()),
        );
    }
    out
}

fn json(answer: &impl serde::Serialize) -> String {
    serde_json::to_string(answer).unwrap()
}

/// Start of the hour in which the runs begin, and where it ends.
const HOUR: f64 = 1_769_904_000.0;

/// Bytes that a writer has yet to append, by file.
fn records(random: &mut Random) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let start = HOUR + 3400.0;
    let mut line = |stream: &str, ts: Option<f64>, text: String| {
        let path = match ts {
            Some(ts) if ts < HOUR + 3600.0 => format!("{stream}/20260201_00.jsonl"),
            Some(_) => format!("{stream}/20260201_01.jsonl"),
            None => format!("{stream}.jsonl"),
        };
        writeln!(files.entry(path.into()).or_default(), "{text}").unwrap();
    };
    for tick in 0..random.below(30) + 5 {
        let ts = start + 20.0 * tick as f64 + random.below(4) as f64 * 0.25;
        for gpu in 0..2 {
            let util = random.below(101);
            line(
                "gpu_util",
                Some(ts),
                format!(r#"{{"ts":{ts:?},"node":"n","gpu":{gpu},"util":{util},"mem_mb":5,"power_w":6}}"#),
            );
            line(
                "gpu_processes",
                Some(ts),
                format!(r#"{{"ts":{ts:?},"node":"n","gpu":{gpu},"pid":7,"name":"é","mem_mb":{util}}}"#),
            );
        }
        for metric in ["a", "b", "c_total"].iter().take(1 + random.below(3) as usize) {
            line(
                "engine_series",
                Some(ts),
                format!(
                    r#"{{"ts":{ts:?},"addr":"http://n:1","metric":"{metric}","labels":{{}},"value":{}}}"#,
                    random.below(9)
                ),
            );
        }
        let sample = random.below(5);
        line(
            "trajectories",
            Some(ts),
            format!(
                r#"{{"ts":{ts:?},"kind":"gen_start","sample_index":{sample},"group_index":0,"turn":1,"weight_version":"1","detail":""}}"#
            ),
        );
        let phase = |t1: f64| {
            format!(
                r#"{{"name":"rollout","t0":{ts:?},"t1":{t1:?},"node":"n","gpus":[0],"rank":{},"role":"train"}}"#,
                tick % 3
            )
        };
        line("phases", Some(ts), phase(-1.0));
        if random.below(4) > 0 {
            let t1 = ts + random.below(400) as f64;
            line("phases", Some(t1), phase(t1));
        }
        line(
            "metrics",
            None,
            format!(
                r#"{{"ts":{ts:?},"step_key":"rollout/step","step":{tick},"metrics":{{"m":{util},"x/{util}":true}}}}"#,
                util = random.below(5)
            ),
        );
        line("data_buffer", None, format!(r#"{{"ts":{ts:?},"length":{tick}}}"#));
        if random.below(5) == 0 {
            line(
                "topology",
                None,
                format!(r#"{{"ts":{ts:?},"engines":[{{"addr":"http://n:{tick}","gpus":[["n",0]]}}]}}"#),
            );
        }
        if random.below(6) == 0 {
            line("gpu_util", Some(ts), r#"{"ts":1,"no{"ts":2}"#.into());
        }
        if random.below(6) == 0 {
            // A record that comes an hour late, or without its time.
            line(
                "gpu_util",
                Some(start),
                format!(r#"{{"ts":{start:?},"node":"late","gpu":0,"util":1,"mem_mb":5,"power_w":NaN}}"#),
            );
            line(
                "engine_series",
                Some(ts),
                r#"{"addr":"http://n:1","metric":"a","labels":{},"value":1}"#.into(),
            );
        }
    }
    files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
}

fn append(dashboard: &Path, path: &Path, bytes: &[u8]) {
    let path = dashboard.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn check(store: &Store, index: &LaneIndex, dashboard: &Path, what: &str) {
    store.refresh().unwrap();
    let new = Store::open(dashboard, StoreOptions::default());
    let followed = questions(store, index) + &answers(store);
    let fresh = questions(&new, &LaneIndex::default()) + &answers(&new);
    let differ = followed.lines().zip(fresh.lines()).find(|(a, b)| a != b);
    assert!(followed == fresh, "after {what}: {differ:?}");
}

fn follow(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let dashboard = folder.path().join("dashboard");
    let mut random = Random(seed);
    let mut left = records(&mut random);
    // Little memory makes hours come and go.
    let memory = if seed.is_multiple_of(2) { 0 } else { StoreOptions::default().memory };
    let store = Store::open(&dashboard, StoreOptions { memory, ..StoreOptions::default() });
    let index = LaneIndex::default();
    check(&store, &index, &dashboard, "nothing");
    let mut step = 0;
    while !left.is_empty() {
        step += 1;
        for _ in 0..=random.below(6) {
            let Some(path) = left.keys().nth(random.below(left.len().max(1) as u64) as usize).cloned() else {
                break;
            };
            let bytes = left.get_mut(&path).unwrap();
            let length = (random.below(700) as usize + 1).min(bytes.len());
            append(&dashboard, &path, &bytes[..length]);
            bytes.drain(..length);
            if bytes.is_empty() {
                left.remove(&path);
            }
        }
        let files: Vec<PathBuf> = walk(&dashboard);
        let Some(file) = files.get(random.below(files.len().max(1) as u64) as usize) else { continue };
        match random.below(40) {
            0 => {
                // Rotated: the old file gets another name, and a new one begins.
                fs::rename(file, file.with_extension("jsonl.1")).unwrap();
            }
            1 => {
                let size = fs::metadata(file).unwrap().len();
                OpenOptions::new().write(true).open(file).unwrap().set_len(size / 2).unwrap();
            }
            2 => fs::remove_file(file).unwrap(),
            3 => {
                let mut bytes = fs::read(file).unwrap();
                bytes.extend_from_slice(b"{\"rewritten\":1}\n");
                fs::write(file, bytes).unwrap();
            }
            4 => append(&dashboard, file, b"{\"ts\":1,\"two writers"),
            5 => append(&dashboard, file, &[0; 40]),
            6 => {
                fs::write(dashboard.join("meta.json"), format!("{{\"run_name\":\"r{step}\",\"start_ts\":1}}"))
                    .unwrap()
            }
            7 => fs::write(
                dashboard.join("lane_catalog.json"),
                format!("{{\"version\":1,\"lanes\":{{\"n:{step}\":{{}}}}}}"),
            )
            .unwrap(),
            _ => {}
        }
        check(&store, &index, &dashboard, &format!("step {step} of seed {seed}"));
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn a_store_that_follows_knows_what_a_fresh_one_knows() {
    let cases = std::env::var("MILES_FOLLOW_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    TestRunner::new(config)
        .run(&any::<u64>(), |seed| {
            follow(seed);
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_change_is_told_by_stream() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default());
    store.refresh().unwrap();
    assert!(store.refresh().unwrap().is_empty());
    append(folder.path(), Path::new("metrics.jsonl"), b"{\"ts\":1,\"metrics\":{}}\n");
    append(folder.path(), Path::new("gpu_util/20260201_00.jsonl"), b"{\"ts\":");
    let before = store.version(Stream::GpuUtil);
    assert_eq!(store.refresh().unwrap().streams, [Stream::Metrics, Stream::GpuUtil]);
    assert!(store.version(Stream::GpuUtil) > before);
    fs::write(folder.path().join("meta.json"), "{}").unwrap();
    let changes = store.refresh().unwrap();
    assert!(changes.documents && changes.streams.is_empty());
    assert!(store.refresh().unwrap().is_empty());
}

#[test]
fn a_time_far_outside_its_files_hour_is_damage_and_moves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let line = |ts: &str| {
        format!("{{\"ts\":{ts},\"node\":\"n\",\"gpu\":0,\"util\":1,\"mem_mb\":2,\"power_w\":3}}\n")
    };
    let good = ["1769904000.5", "1769907000", "1769907900.25"].map(line).concat();
    let wild = ["1801440000.5", "1e300", "-5", "0.0"].map(line).concat();
    append(folder.path(), Path::new("gpu_util/20260201_00.jsonl"), (good.clone() + &wild).as_bytes());
    append(
        folder.path(),
        Path::new("data_buffer.jsonl"),
        b"{\"ts\":1e300,\"length\":1}\n{\"ts\":1769904001,\"length\":2}\n",
    );
    append(folder.path(), Path::new("metrics.jsonl"), b"{\"ts\":-7,\"step\":0,\"metrics\":{\"a\":1}}\n");
    let store = Store::open(folder.path(), StoreOptions::default());
    assert_eq!(store.time_range().unwrap(), Some((1_769_904_000.5, 1_769_907_900.25)));
    let rows: usize = store
        .gpu(&Window::ALL)
        .unwrap()
        .iter()
        .flat_map(|block| block.lanes().map(|lane| lane.ts.len()).collect::<Vec<_>>())
        .sum();
    assert_eq!(rows, 3);
    assert_eq!((store.metrics().series.len(), store.metrics().rows[0].ts), (1, None));
    let damage: Vec<_> =
        store.damage().into_iter().map(|file| (file.lines, file.first, file.reason)).collect();
    assert_eq!(
        damage,
        [
            (1, 0, "a time that is none".to_owned()),
            (4, good.len() as u64, "a time far outside its file's hour".to_owned()),
        ]
    );
}

#[test]
fn what_is_no_regular_file_is_damage_and_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let pipe = |name: &str| {
        let name = std::ffi::CString::new(path(name).to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    };
    fs::create_dir(path("phases")).unwrap();
    fs::create_dir_all(path("trajectories/20260201_00.jsonl")).unwrap();
    for name in ["topology.jsonl", "meta.json", "phases/20260201_00.jsonl"] {
        pipe(name);
    }
    std::os::unix::fs::symlink("gpu_util", path("gpu_util")).unwrap();
    let store = Store::open(folder.path(), StoreOptions::default());
    store.refresh().unwrap();
    answers(&store);
    let damaged: Vec<_> = store.damage().iter().map(|file| file.path.clone()).collect();
    for name in [
        "topology.jsonl",
        "meta.json",
        "phases/20260201_00.jsonl",
        "trajectories/20260201_00.jsonl",
        "gpu_util",
    ] {
        assert!(damaged.contains(&path(name)), "{name}: {damaged:?}");
    }
}
