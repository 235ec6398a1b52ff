//! Many clients at once while the run is being written: nothing fails but with 503, memory stays where it is.
//!
//! `MILES_LOAD_S` says for how long (a few seconds without it), `MILES_LOAD_CLIENTS` how many clients. Times are
//! printed and not judged: `MILES_LOAD_S=60 cargo test --release --test serve_load -- --nocapture` shows them.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::Run;
use common::server::{Response, Server};

/// What the process may have grown by in the second half, MB: allocators keep a little of everything.
const GROWTH_MB: f64 = 48.0;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Questions of every route, over changing windows.
fn questions(server: &Server) -> Vec<String> {
    let meta = server.json("/api/meta");
    let newest = meta["time_range"][1].as_f64().unwrap();
    let step = &meta["rollout_ids"]["train"][0];
    let sample = &server.json(&format!("/api/rollout/{step}/summary"))["rows"][0]["sample_index"];
    let mut all: Vec<String> = [
        "/",
        "/api/meta",
        "/api/advisory",
        "/api/openapi.json",
        "/api/timeline/topology",
        "/api/timeline/bubbles",
        "/api/timeline/outliers?criterion=lowest_util",
        "/api/timeline/outliers?criterion=slowest_phase:actor_train",
        "/api/metrics?keys=dump/reward_mean,perf/step_time",
    ]
    .map(str::to_owned)
    .to_vec();
    for part in ["summary", "groups", "trajectories", "sample/999999/tokens"] {
        all.push(format!("/api/rollout/{step}/{part}"));
    }
    for part in ["tokens", "tokens?start=10&end=50", "messages"] {
        all.push(format!("/api/rollout/{step}/sample/{sample}/{part}"));
    }
    for back in [60.0, 300.0, 900.0] {
        let window = format!("t0={}&t1={newest}", newest - back);
        for metric in ["util", "mem_mb", "phase", "lifecycle"] {
            all.push(format!("/api/timeline/heatmap?metric={metric}&{window}"));
        }
        for route in ["phases", "gpu", "gpu_processes", "fleet"] {
            all.push(format!("/api/timeline/{route}?{window}"));
        }
        for metric in meta["engine_metric_keys"].as_array().unwrap().iter().take(4) {
            all.push(format!("/api/timeline/engine_series?metric={}&{window}", metric.as_str().unwrap()));
        }
    }
    all
}

/// Private memory of a process, MB.
fn private_mb(pid: u32) -> f64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { return 0.0 };
    let kb = |line: &str| line.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok());
    text.lines().filter(|l| l.starts_with("Private_")).filter_map(kb).sum::<f64>() / 1024.0
}

#[test]
fn two_hundred_clients_are_answered_while_the_run_is_written() {
    let clients = setting("MILES_LOAD_CLIENTS", 200);
    let duration = Duration::from_secs(setting("MILES_LOAD_S", 4));
    let run = Run::empty();
    let folder = run.file("live");
    let mut writer = Command::new(env!("CARGO_BIN_EXE_miles"))
        .args([
            "demo",
            folder.to_str().unwrap(),
            "--steps",
            "2",
            "--gpus",
            "4",
            "--minutes",
            "20",
            "--live",
            "-q",
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !folder.join("dashboard/meta.json").is_file() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    // Its first telemetry is there with its last dump, some moments later.
    std::thread::sleep(Duration::from_secs(2));
    let server = Server::start(&folder, &["--follow"]);
    let questions = questions(&server);
    let (stop, answers) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let mut memory = Vec::new();
    std::thread::scope(|scope| {
        for client in 0..clients as usize {
            let (questions, stop, answers, server) = (&questions, &stop, &answers, &server);
            scope.spawn(move || {
                let mut mine = Vec::new();
                let mut connection = BufReader::new(server.connect());
                // Each begins elsewhere and takes steps of its own.
                let mut at = client;
                while !stop.load(Ordering::Relaxed) {
                    at += 1 + client % 7;
                    let path = &questions[at % questions.len()];
                    let request = format!(
                        "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept-Encoding: gzip, zstd\r\n\r\n",
                        server.address
                    );
                    let asked = Instant::now();
                    connection.get_mut().write_all(request.as_bytes()).unwrap();
                    let response = Response::read(&mut connection);
                    mine.push((at % questions.len(), response.status, asked.elapsed()));
                    // People look at what they got.
                    std::thread::sleep(Duration::from_millis(100));
                }
                answers.lock().unwrap().extend(mine);
            });
        }
        let started = Instant::now();
        while started.elapsed() < duration {
            std::thread::sleep(duration / 8);
            memory.push(private_mb(server.child.id()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    writer.kill().unwrap();
    writer.wait().unwrap();

    let answers = answers.into_inner().unwrap();
    let mut statuses: BTreeMap<(u16, &str), usize> = BTreeMap::new();
    for (question, status, _) in &answers {
        let route = questions[*question].split('?').next().unwrap();
        *statuses.entry((*status, route)).or_default() += 1;
    }
    let unexpected: Vec<_> = statuses.keys().filter(|(s, _)| ![200, 404, 503].contains(s)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    let unknown: Vec<_> = statuses.keys().filter(|(s, r)| *s == 404 && !r.contains("/sample/")).collect();
    assert!(unknown.is_empty(), "{unknown:?}");

    let mut times: Vec<Duration> = answers.iter().map(|(.., time)| *time).collect();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let busy = statuses.iter().filter(|((s, _), _)| *s == 503).map(|(_, n)| n).sum::<usize>();
    println!(
        "{clients} clients, {duration:?}: {} answers ({busy} of them 503), p50 {:?}, p90 {:?}, p99 {:?}, worst {:?}; private MB {memory:.0?}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
    let mut slowest: Vec<_> = answers.iter().collect();
    slowest.sort_by_key(|(.., time)| std::cmp::Reverse(*time));
    for (question, status, time) in slowest.iter().take(5) {
        println!("  {time:?} {status} {}", questions[*question]);
    }
    let half = memory[memory.len() / 2 - 1];
    assert!(memory.last().unwrap() - half < GROWTH_MB, "memory grows: {memory:.0?} MB");
}
