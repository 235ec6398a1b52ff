//! The collector killed at random moments under load: nothing that a flush completed is lost or doubled, and
//! no torn line is ever taken for a record.
//!
//! `MILES_KILLS` says how often, 60 if it does not.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/collector.rs"]
mod collector;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collector::{Collector, buffered, collect, lengths, lines_and_torn, tool, unix};
use serde_json::Value;

/// Runs that go into one folder before it is looked at.
const A_FOLDER: usize = 30;

/// Ids of a run begin at its number times this.
const IDS: u64 = 10_000_000;

const STREAMS: [(&str, &str); 3] =
    [("gpu_util", "mem_mb"), ("trajectories", "sample_index"), ("data_buffer", "length")];

/// The `n`th record of each stream of a run; hours change within it.
fn records(first: u64, n: u64) -> String {
    let (id, ts) = (first + n, 1_769_907_000.25 + n as f64 / 4.0);
    format!(
        "{{\"stream\":\"gpu_util\",\"ts\":{ts:?},\"node\":\"n{}\",\"gpu\":{},\"util\":1,\"mem_mb\":{id},\"power_w\":2}}\n\
         {{\"stream\":\"trajectories\",\"ts\":{ts:?},\"kind\":\"gen_end\",\"sample_index\":{id},\"group_index\":-1,\"turn\":-1,\"weight_version\":\"1\",\"detail\":\"\"}}\n\
         {{\"stream\":\"data_buffer\",\"ts\":{ts:?},\"length\":{id}}}\n",
        n % 3,
        n % 8,
    )
}

/// What the collector said was written of each stream when it was killed.
fn acknowledged(stderr: &str) -> HashMap<String, u64> {
    let mut written = HashMap::new();
    // A line without its end was cut by the kill.
    for line in stderr.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let Some((_, streams)) = line.split_once("in all): ") else { continue };
        for part in streams.trim().split(", ") {
            let (name, counts) = part.split_once(' ').unwrap();
            let total = counts.split_once('(').unwrap().1.trim_end_matches(')');
            written.insert(name.to_owned(), total.parse().unwrap());
        }
    }
    written
}

/// A generator whose moments differ and whose failures repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// One collector from its start to its kill; answers what it said was written.
fn one_life(run: &Path, first: u64, random: &mut Random) -> HashMap<String, u64> {
    let socket = run.join("s");
    let mut command = tool();
    command.arg("-d").arg(run).args(["-v", "--flush-interval", "0.01", "--listen"]);
    command.arg(format!("unix:{}", socket.display()));
    let collector = Collector::spawn(command);
    collector.wait_for("listening on unix:");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let producing = scope.spawn(|| {
            let mut stream = unix(&socket);
            let mut n = 0;
            // As fast as it goes, but not for ever.
            while n < 20_000 && !done.load(Ordering::Relaxed) {
                let block: String = (n..n + 50).map(|n| records(first, n)).collect();
                n += 50;
                if stream.write_all(block.as_bytes()).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        // Some die before their first flush, most within one.
        if random.below(8) > 0 {
            collector.wait_for("flushed ");
        }
        std::thread::sleep(Duration::from_micros(random.below(30_000)));
        let ended = collector.kill();
        done.store(true, Ordering::Relaxed);
        producing.join().unwrap();
        assert!(!ended.stderr.contains("left out"), "{}", ended.stderr);
        acknowledged(&ended.stderr)
    })
}

#[test]
fn nothing_that_a_flush_completed_is_lost_or_doubled_by_a_kill() {
    let kills: usize = std::env::var("MILES_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut acknowledged, mut found, mut torn) = (0, 0, 0);
    let mut left = kills;
    while left > 0 {
        let folder = tempfile::tempdir().unwrap();
        let lives = left.min(A_FOLDER);
        left -= lives;
        let written: Vec<_> =
            (0..lives).map(|life| one_life(folder.path(), life as u64 * IDS, &mut random)).collect();
        // The last start ends what the last kill left, and begins no line of its own.
        assert_eq!(collect(folder.path(), &[], "").status.code(), Some(0));
        for (stream, key) in STREAMS {
            let (good, bad) = lines_and_torn(folder.path(), stream);
            assert!(bad <= lives * 3, "{bad} torn lines after {lives} kills");
            torn += bad;
            let mut seen: HashMap<u64, u64> = HashMap::new();
            for line in &good {
                let id = serde_json::from_str::<Value>(line).unwrap()[key].as_u64().unwrap();
                // Byte for byte what was sent, so that no two halves make a record.
                let sent = records(id - id % IDS, id % IDS);
                let sent =
                    sent.lines().find(|l| l.starts_with(&format!("{{\"stream\":\"{stream}\""))).unwrap();
                assert_eq!(line[1..], sent[sent.find(',').unwrap() + 1..]);
                *seen.entry(id).or_default() += 1;
            }
            found += seen.len();
            assert!(seen.values().all(|count| *count == 1), "{stream}: a record is there twice");
            for (life, written) in written.iter().enumerate() {
                let count = written.get(stream).copied().unwrap_or(0);
                acknowledged += count;
                for n in 0..count {
                    let id = life as u64 * IDS + n;
                    assert!(
                        seen.contains_key(&id),
                        "{stream}: record {n} of life {life} is lost: {count} were told"
                    );
                }
            }
        }
    }
    println!("{kills} kills: {acknowledged} records of completed flushes, {found} found, {torn} torn lines");
    assert!(acknowledged > 0);
}

#[test]
fn a_line_that_a_crash_left_is_ended_before_the_next() {
    let run = tempfile::tempdir().unwrap();
    let dashboard = run.path().join("dashboard");
    fs::create_dir_all(&dashboard).unwrap();
    let torn = "{\"ts\":1769907600.5,\"length\":1}\n{\"ts\":1769907600.5,\"leng";
    fs::write(dashboard.join("data_buffer.jsonl"), torn).unwrap();
    assert_eq!(collect(run.path(), &[], buffered(2)).status.code(), Some(0));
    let text = fs::read_to_string(dashboard.join("data_buffer.jsonl")).unwrap();
    assert_eq!(text, format!("{torn}\n{{\"ts\":1769907600.5,\"length\":2}}\n"));
    // And so that the next finds nothing to end.
    assert_eq!(collect(run.path(), &[], buffered(3)).status.code(), Some(0));
    assert!(
        fs::read_to_string(dashboard.join("data_buffer.jsonl"))
            .unwrap()
            .ends_with(":2}\n{\"ts\":1769907600.5,\"length\":3}\n")
    );
}

#[test]
fn documents_that_a_crash_left_half_written_are_cleared_away() {
    let run = tempfile::tempdir().unwrap();
    let dashboard = run.path().join("dashboard");
    fs::create_dir_all(&dashboard).unwrap();
    for name in [".meta.json.x1.tmp", ".lane_catalog.json.x2.tmp"] {
        fs::write(dashboard.join(name), "{").unwrap();
    }
    assert_eq!(collect(run.path(), &[], buffered(2)).status.code(), Some(0));
    let mut names: Vec<_> = fs::read_dir(&dashboard)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["collect.lock", "data_buffer.jsonl", "meta.json"]);
    assert_eq!(lengths(run.path()), [2]);
}
