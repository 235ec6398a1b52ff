//! `miles-scrape` as it runs for hours: engines that hang, die, restart and come back, readers that stall or
//! go, signals. Nothing here judges speed; what is slow is bounded only by what would be a hang.

#![allow(clippy::unwrap_used)]

#[path = "common/engine.rs"]
#[allow(dead_code)]
mod engine;
#[path = "common/scraping.rs"]
#[allow(dead_code)]
mod scraping;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use engine::{Answer, Stub};
use scraping::{LONG, Scrape, command};
use serde_json::Value;

const RUNNING: &str = "sglang:num_running_reqs{engine_type=\"unified\"} 3\n";

fn args<'a>(stubs: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    stubs.iter().flat_map(|url| ["--engine", url]).chain(more.iter().copied()).collect()
}

fn urls(stubs: &[Stub]) -> Vec<String> {
    stubs.iter().map(Stub::url).collect()
}

#[test]
fn a_hanging_engine_has_a_gap_and_the_others_are_on_time() {
    let stubs: Vec<Stub> = (0..6).map(|_| Stub::engine(RUNNING)).collect();
    for stub in &stubs[..3] {
        stub.answer("/metrics", Answer::Hang);
    }
    let urls = urls(&stubs);
    let mut scrape = Scrape::run(&args(&urls, &["--interval", "0.05", "--timeout", "2"]));
    for url in &urls[..3] {
        scrape.hears(&format!("{url}/metrics: no answer within 2 s"));
    }
    let mut rounds: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let full = |rounds: &BTreeMap<String, BTreeSet<&str>>| rounds.values().filter(|r| r.len() == 3).count();
    while full(&rounds) < 20 {
        let record = scrape.until(|record| record["stream"] == "engine_series");
        let url = urls.iter().find(|url| record["addr"] == **url).unwrap();
        rounds.entry(record["ts"].to_string()).or_default().insert(url);
    }
    for stub in &stubs {
        assert_eq!(stub.most_at_once(), 1, "one scrape of an engine at a time");
    }
    // One comes back.
    stubs[0].metrics(RUNNING);
    stubs[0].cut();
    scrape.until_of(&urls[0]);
    scrape.hears(&format!("{}: back after ", urls[0]));
    let ended = scrape.stop(libc::SIGTERM).ends_with(0);
    let told = |url: &str| ended.stderr.lines().filter(|line| line.contains(url)).count();
    assert_eq!((told(&urls[1]), told(&urls[3])), (1, 0), "a gap is told once: {}", ended.stderr);
}

#[test]
fn all_of_sixty_four_engines_are_scraped_each_round_over_kept_connections() {
    let stubs: Vec<Stub> = (0..64).map(|_| Stub::engine(RUNNING)).collect();
    let urls = urls(&stubs);
    let mut scrape = Scrape::run(&args(&urls, &["--interval", "0.5"]));
    let mut rounds: BTreeMap<String, usize> = BTreeMap::new();
    while rounds.values().filter(|count| **count == 64).count() < 3 {
        let record = scrape.until(|_| true);
        *rounds.entry(record["ts"].to_string()).or_default() += 1;
    }
    let threads = std::fs::read_to_string(format!("/proc/{}/status", scrape.pid())).unwrap();
    let threads = threads.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    let threads: usize = threads.trim().parse().unwrap();
    assert!(threads <= 32 + 2, "{threads} threads for 64 engines");
    scrape.stop(libc::SIGINT).ends_with(0);
    let connections: usize = stubs.iter().map(Stub::connections).sum();
    assert!(connections < 64 * 3, "{connections} connections: they are not kept");
}

#[test]
fn a_counter_that_begins_anew_is_passed_on_as_it_is() {
    let stub = Stub::engine("sglang:prompt_tokens_total 1000\n");
    let url = stub.url();
    let mut scrape = Scrape::run(&["--engine", &url, "--interval", "0.05"]);
    scrape.until(|record| record["value"] == 1000.0);
    stub.down(true);
    scrape.hears("hint:");
    stub.metrics("sglang:prompt_tokens_total 5\n");
    stub.down(false);
    scrape.until(|record| record["value"] == 5.0);
    scrape.hears("back after");
    scrape.stop(libc::SIGINT).ends_with(0);
}

#[test]
fn an_engine_that_closes_kept_connections_has_no_gap() {
    let stub = Stub::engine(RUNNING);
    let url = stub.url();
    let mut scrape = Scrape::run(&["--engine", &url, "--interval", "0.05"]);
    for _ in 0..20 {
        scrape.until_of(&url);
        stub.cut();
    }
    let ended = scrape.stop(libc::SIGINT).ends_with(0);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_run_that_records_other_engines_has_those_scraped() {
    let (old, new) = (Stub::engine(RUNNING), Stub::engine(RUNNING));
    let run = tempfile::tempdir().unwrap();
    std::fs::create_dir(run.path().join("dashboard")).unwrap();
    let path = run.path().join("dashboard/topology.jsonl");
    let line = |ts: u32, url: String| format!("{{\"ts\":{ts}.0,\"engines\":[{{\"addr\":\"{url}\"}}]}}\n");
    let mut scrape = Scrape::run(&["--topology", run.path().to_str().unwrap(), "--interval", "0.05"]);
    scrape.hears("there are no engines yet");
    std::fs::write(&path, line(1, old.url())).unwrap();
    scrape.until_of(&old.url());
    std::fs::write(&path, line(1, old.url()) + &line(2, new.url())).unwrap();
    scrape.until_of(&new.url());
    let asked = old.heads().len();
    (0..5).for_each(|_| drop(scrape.until_of(&new.url())));
    assert!(old.heads().len() <= asked + 1, "the old one is left alone");
    scrape.stop(libc::SIGTERM).ends_with(0);
}

#[test]
fn all_of_a_round_has_one_time() {
    let stubs = [Stub::engine(RUNNING), Stub::engine(RUNNING)];
    let urls = urls(&stubs);
    // Longer than any answer takes here, so that none is late.
    let mut scrape = Scrape::run(&args(&urls, &["--interval", "5"]));
    let times = [(); 2].map(|()| scrape.until(|_| true)["ts"].as_f64().unwrap());
    assert_eq!(times[0], times[1]);
    scrape.stop(libc::SIGINT).ends_with(0);
}

#[test]
fn a_reader_that_goes_ends_it_quietly_whether_there_are_records_or_not() {
    for text in [RUNNING, "up 1\n"] {
        let stub = Stub::engine(text);
        let url = stub.url();
        let mut command = command(&["--engine", &url, "--interval", "0.05", "-q"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        if text == RUNNING {
            reader.read_line(&mut String::new()).unwrap();
        }
        drop(reader);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONG, "goes on without a reader");
            thread::sleep(Duration::from_millis(5));
        };
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_reader_that_stalls_loses_scrapes_and_not_memory_and_the_end_is_in_order() {
    // Rounds of a megabyte: 32 engines with 32 ranks each.
    let text: String = (0..32)
        .flat_map(|rank| {
            ["num_running_reqs", "num_queue_reqs", "gen_throughput", "token_usage", "cache_hit_rate"]
                .map(|name| format!("sglang:{name}{{engine_type=\"unified\",dp_rank=\"{rank}\"}} 1\n"))
        })
        .collect();
    let stubs: Vec<Stub> = (0..32).map(|_| Stub::engine(&text)).collect();
    let urls = urls(&stubs);
    let mut command = command(&args(&urls, &["--interval", "0.05"]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.contains("stdout is not read: scrapes dropped, 1 so far; hint: "), "{line}");
    let resident = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:").map(str::to_owned)).unwrap();
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    while !line.contains("16 so far") {
        line.clear();
        told.read_line(&mut line).unwrap();
    }
    assert!(resident(child.id()) < 200_000, "{} KiB", resident(child.id()));
    // SAFETY: plain numbers.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    // It reads again: everything that was taken is whole.
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(out.ends_with('\n'));
    for line in out.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    line.clear();
    told.read_to_string(&mut line).unwrap();
    assert!(line.contains("scrapes dropped in all"), "{line}");
}

#[test]
fn a_signal_ends_it_though_engines_hang_and_nobody_reads() {
    let stub = Stub::new();
    stub.answer("/metrics", Answer::Hang);
    let url = stub.url();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let scrape = Scrape::run(&["--engine", &url, "--timeout", "3600"]);
        let before = stub.heads().len();
        let begun = Instant::now();
        while stub.heads().len() <= before && begun.elapsed() < LONG {
            thread::sleep(Duration::from_millis(5));
        }
        let ended = scrape.stop(signal).ends_with(0);
        assert_eq!((ended.records.len(), ended.stderr.as_str()), (0, ""));
    }
}

#[test]
fn a_rack_that_is_down_is_not_one_line_for_each_engine() {
    let stubs: Vec<Stub> = (0..40).map(|_| Stub::engine("up 1\n")).collect();
    let urls = urls(&stubs);
    let scrape = Scrape::run(&args(&urls, &["--interval", "0.05"]));
    while stubs.iter().any(|stub| stub.heads().len() < 3) {
        thread::sleep(Duration::from_millis(5));
    }
    let ended = scrape.stop(libc::SIGINT).ends_with(0).says(&["more lines like these"]);
    let lines = ended.stderr.lines().count();
    assert!(lines < 20, "{lines} lines");
    ended.says(&["no known metrics at http://"]);
}
