//! `miles-collect` started for a test, producers for it, and what it wrote, read with types of our own.

// Each test file uses a part of it; helpers of tests may fail as tests do.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

/// Nothing that these tests wait for takes a second; who needs this long hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// `miles-collect`, free of the caller's surroundings.
pub fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_miles-collect"));
    command.env_remove("MILES_DUMP_DETAILS").env_remove("RUST_BACKTRACE").stdin(Stdio::null());
    command
}

/// A running collector, killed with the value.
pub struct Collector {
    child: Child,
    stderr: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    /// Where it listens, as it says.
    pub tcp: Option<String>,
}

/// How a collector ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Collector {
    /// Collects into `run`, listening on a free port.
    pub fn start(run: &Path, args: &[&str]) -> Self {
        let mut command = tool();
        command.arg("-d").arg(run).args(["--listen", "tcp://127.0.0.1:0"]).args(args);
        let mut collector = Self::spawn(command);
        collector.wait_for("listening on tcp://");
        let said = collector.said();
        let address = said.split("listening on tcp://").nth(1).and_then(|rest| rest.lines().next());
        collector.tcp = address.map(str::to_owned);
        collector
    }

    /// Runs a command.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&stderr));
        let reader = thread::spawn(move || {
            let mut line = String::new();
            while from.read_line(&mut line).unwrap() > 0 {
                to.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        Self { child, stderr, reader: Some(reader), tcp: None }
    }

    pub fn pid(&self) -> libc::pid_t {
        self.child.id().cast_signed()
    }

    pub fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, || self.said().contains(text));
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < PATIENCE, "never: {what}\n{}", self.said());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// A producer over TCP.
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(self.tcp.as_deref().unwrap()).unwrap()
    }

    /// Sends lines over a connection of its own.
    pub fn send(&self, text: impl AsRef<[u8]>) {
        self.connect().write_all(text.as_ref()).unwrap();
    }

    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child has not been waited for, so its id is still its own.
        unsafe { libc::kill(self.pid(), signal) };
    }

    /// Ends it with SIGTERM.
    pub fn end(self) -> Ended {
        self.signal(libc::SIGTERM);
        self.wait()
    }

    /// Ends it with SIGTERM; it must say that all is well.
    #[track_caller]
    pub fn end_well(self) -> String {
        let ended = self.end();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        ended.stderr
    }

    pub fn kill(self) -> Ended {
        self.signal(libc::SIGKILL);
        self.wait()
    }

    pub fn wait(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "does not end\n{}", self.said());
            thread::sleep(Duration::from_millis(1));
        };
        self.reader.take().unwrap().join().unwrap();
        Ended { status, stderr: self.said() }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if self.reader.is_some() {
            let _ = self.child.kill();
            // One that waits for a disk that stands still dies only when that goes on, which it may do after this.
            let start = Instant::now();
            while self.child.try_wait().is_ok_and(|status| status.is_none()) && start.elapsed().as_secs() < 2
            {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Runs the tool to its end with `stdin`.
pub fn collect(run: &Path, args: &[&str], stdin: impl AsRef<[u8]>) -> Ended {
    let mut command = tool();
    command.arg("-d").arg(run).args(args).stdin(Stdio::piped());
    let mut collector = Collector::spawn(command);
    let mut pipe = collector.child.stdin.take().unwrap();
    let bytes = stdin.as_ref().to_vec();
    let writing = thread::spawn(move || drop(pipe.write_all(&bytes)));
    let ended = collector.wait();
    writing.join().unwrap();
    ended
}

pub fn unix(path: &Path) -> UnixStream {
    UnixStream::connect(path).unwrap()
}

/// What a reader who allows nothing but the format makes of a line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuUtil {
    pub ts: f64,
    pub node: String,
    pub gpu: i64,
    pub util: i64,
    pub mem_mb: i64,
    pub power_w: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuProcess {
    pub ts: f64,
    pub node: String,
    pub gpu: i64,
    pub pid: i64,
    pub name: String,
    pub mem_mb: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSample {
    pub ts: f64,
    pub addr: String,
    pub metric: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub name: String,
    pub t0: f64,
    pub t1: f64,
    pub node: String,
    pub gpus: Vec<i32>,
    pub rank: i64,
    pub role: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub ts: f64,
    pub kind: String,
    pub sample_index: i64,
    pub group_index: i64,
    pub turn: i64,
    pub weight_version: String,
    pub detail: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataBuffer {
    pub ts: f64,
    pub length: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    pub ts: f64,
    pub step_key: Option<String>,
    pub step: Option<i64>,
    pub metrics: BTreeMap<String, Plain>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Plain {
    Bool(bool),
    Number(f64),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    pub ts: f64,
    pub engines: Vec<Engine>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub addr: String,
    pub worker_type: String,
    pub engine_rank: i64,
    pub gpus: Vec<(String, i64)>,
    pub gpu_uuids: Vec<Option<String>>,
}

/// The time of a line of `stream`; fails when it is not, key for key, what the format says.
pub fn strict(stream: &str, line: &str) -> Result<f64, serde_json::Error> {
    Ok(match stream {
        "gpu_util" => serde_json::from_str::<GpuUtil>(line)?.ts,
        "gpu_processes" => serde_json::from_str::<GpuProcess>(line)?.ts,
        "engine_series" => serde_json::from_str::<EngineSample>(line)?.ts,
        "trajectories" => serde_json::from_str::<Event>(line)?.ts,
        "data_buffer" => serde_json::from_str::<DataBuffer>(line)?.ts,
        "metrics" => serde_json::from_str::<Metrics>(line)?.ts,
        "topology" => serde_json::from_str::<Topology>(line)?.ts,
        "phases" => {
            let phase: Phase = serde_json::from_str(line)?;
            if phase.t1 == -1.0 { phase.t0 } else { phase.t1 }
        }
        _ => serde_json::from_str::<Value>(line)?["ts"].as_f64().unwrap(),
    })
}

/// The files of a stream under `run`, flat or hourly, by name.
pub fn files(run: &Path, stream: &str) -> Vec<PathBuf> {
    let dashboard = run.join("dashboard");
    let mut files: Vec<PathBuf> = fs::read_dir(dashboard.join(stream))
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    let flat = dashboard.join(format!("{stream}.jsonl"));
    if flat.exists() {
        files.insert(0, flat);
    }
    files
}

/// All lines of a stream in the order of its files. Each must be whole and of the format, and lie in its hour.
#[track_caller]
pub fn lines(run: &Path, stream: &str) -> Vec<String> {
    let (good, torn) = lines_and_torn(run, stream);
    assert_eq!(torn, 0, "{stream} has torn lines");
    good
}

/// The same, with the number of lines that are no records.
#[track_caller]
pub fn lines_and_torn(run: &Path, stream: &str) -> (Vec<String>, usize) {
    let (mut good, mut torn) = (Vec::new(), 0);
    for path in files(run, stream) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in text.split_inclusive('\n') {
            let Some(line) = line.strip_suffix('\n') else {
                torn += 1;
                continue;
            };
            match strict(stream, line) {
                Ok(time) if stem != stream => {
                    assert_eq!(hour_name(time), stem, "{line}");
                    good.push(line.to_owned());
                }
                Ok(_) => good.push(line.to_owned()),
                Err(_) => torn += 1,
            }
        }
    }
    (good, torn)
}

/// Name of the hour of a time, by a calendar of its own.
pub fn hour_name(time: f64) -> String {
    let hours = (time / 3600.0).floor() as i64;
    let (mut days, hour) = (hours.div_euclid(24), hours.rem_euclid(24));
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year:04}{:02}{:02}_{hour:02}", month + 1, days + 1)
}

/// A record of `data_buffer` on a pipe.
pub fn buffered(n: usize) -> String {
    format!("{{\"stream\":\"data_buffer\",\"ts\":1769907600.5,\"length\":{n}}}\n")
}

/// Lengths of all records of `data_buffer`.
pub fn lengths(run: &Path) -> Vec<usize> {
    let length = |line: &String| serde_json::from_str::<DataBuffer>(line).unwrap().length as usize;
    lines(run, "data_buffer").iter().map(length).collect()
}

/// Fails where `have` is not `want`, with the place and not with all of both.
#[track_caller]
pub fn same(have: &[usize], want: std::ops::Range<usize>) {
    let at = have.iter().zip(want.clone()).position(|(have, want)| *have != want);
    let around = at.and_then(|at| have.get(at.saturating_sub(2)..(at + 3).min(have.len())));
    assert!(at.is_none(), "another record at {at:?}: {around:?}");
    assert_eq!(have.len(), want.len());
}

/// The body of `GET url`.
pub fn get(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body.to_owned()
}
