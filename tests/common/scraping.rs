//! `miles-scrape` while it runs: its records and its words as they come, and its end.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nothing here takes a second on an idle machine, but for the real router, which Python starts: a minute where
/// everything else wants the processors too. Who needs this long hangs.
pub const LONG: Duration = Duration::from_secs(240);

/// How the tool ended.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub records: Vec<Value>,
    pub stderr: String,
}

impl Ended {
    /// Records as `addr metric labels=value`, addresses replaced by the names given.
    pub fn shown(&self, names: &[(&str, String)]) -> Vec<String> {
        self.records.iter().filter_map(|record| shown(record, names)).collect()
    }

    pub fn stream(&self, name: &str) -> Vec<&Value> {
        self.records.iter().filter(|record| record["stream"] == name).collect()
    }

    #[track_caller]
    pub fn ends_with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "no {text:?}: {}", self.stderr);
        }
        self
    }
}

/// See [`Ended::shown`]; `None` for another stream.
pub fn shown(record: &Value, names: &[(&str, String)]) -> Option<String> {
    if record["stream"] != "engine_series" {
        return None;
    }
    let addr = record["addr"].as_str().unwrap();
    let name = names.iter().find(|(_, url)| url == addr).map_or(addr, |(name, _)| name);
    let metric = record["metric"].as_str().unwrap();
    let labels = record["labels"].as_object().unwrap();
    let labels: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={}", v.as_str().unwrap())).collect();
    Some(format!("{name} {metric} {{{}}} {}", labels.join(","), record["value"]))
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_miles-scrape"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the tool to its end.
pub fn scrape(args: &[&str]) -> Ended {
    Scrape::start(command(args)).end()
}

/// A running tool; ended with it.
pub struct Scrape {
    child: Child,
    records: Receiver<Value>,
    seen: Vec<Value>,
    stderr: Arc<Mutex<String>>,
    listener: Option<thread::JoinHandle<()>>,
}

impl Scrape {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, records) = channel();
        let stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.unwrap();
                assert!(line.starts_with("{\"stream\":"), "{line}");
                let record = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
                if send.send(record).is_err() {
                    return;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let (heard, told) = (Arc::clone(&stderr), child.stderr.take().unwrap());
        let listener = thread::spawn(move || {
            for line in BufReader::new(told).lines() {
                let line = line.unwrap();
                assert!(line.starts_with("miles-scrape: "), "{line}");
                let mut heard = heard.lock().unwrap();
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Self { child, records, seen: Vec::new(), stderr, listener: Some(listener) }
    }

    pub fn run(args: &[&str]) -> Self {
        Self::start(command(args))
    }

    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// The next record that is wanted; those before it are passed over.
    #[track_caller]
    pub fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        while begun.elapsed() < LONG {
            if let Ok(record) = self.records.recv_timeout(Duration::from_millis(100)) {
                self.seen.push(record.clone());
                if wanted(&record) {
                    return record;
                }
            }
        }
        panic!("no such record; {} others\n{}", self.seen.len(), self.stderr());
    }

    /// The next record of an engine.
    #[track_caller]
    pub fn until_of(&mut self, addr: &str) -> Value {
        self.until(|record| record["addr"] == addr)
    }

    /// Waits until the tool has said this.
    #[track_caller]
    pub fn hears(&self, text: &str) {
        let begun = Instant::now();
        while !self.stderr().contains(text) {
            assert!(begun.elapsed() < LONG, "no {text:?}: {}", self.stderr());
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn pid(&self) -> libc::pid_t {
        libc::pid_t::try_from(self.child.id()).unwrap()
    }

    /// Sends a signal and waits for the end.
    pub fn stop(self, signal: libc::c_int) -> Ended {
        // SAFETY: plain numbers; the child has not been waited for.
        unsafe { libc::kill(self.pid(), signal) };
        self.end()
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONG, "hangs: {}", self.stderr());
            thread::sleep(Duration::from_millis(5));
        };
        let mut records = std::mem::take(&mut self.seen);
        records.extend(self.records.iter());
        self.listener.take().unwrap().join().unwrap();
        Ended { status: status.code(), records, stderr: self.stderr() }
    }
}

impl Drop for Scrape {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
