//! A host with GPUs for `miles-sample`: the stub of NVIDIA's library, what it is told, and the tool on top.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tempfile::TempDir;

/// Far longer than anything here takes: who needs this long hangs.
pub const WATCHDOG: Duration = Duration::from_secs(90);

/// A record from the pipe.
pub type Line = Map<String, Value>;

/// The stub, built once a test binary.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nvml/stub.c");
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep();
        let library = folder.join("libnvidia-ml.so.1");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let built = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o"])
            .args([&library, &source])
            .status()
            .unwrap();
        assert!(built.success());
        library
    })
}

/// A host.
pub struct Host {
    folder: TempDir,
    world: BTreeMap<String, String>,
}

impl Host {
    pub fn new(gpus: u32) -> Self {
        let mut host = Self { folder: tempfile::tempdir().unwrap(), world: BTreeMap::new() };
        host.set("gpus", gpus);
        host
    }

    /// Changes the world, also under a running tool.
    pub fn set(&mut self, key: &str, value: impl ToString) -> &mut Self {
        self.change([(key, Some(value.to_string()))])
    }

    pub fn unset(&mut self, key: &str) -> &mut Self {
        self.change([(key, None)])
    }

    /// Several changes at once.
    pub fn change<'k>(&mut self, changes: impl IntoIterator<Item = (&'k str, Option<String>)>) -> &mut Self {
        for (key, value) in changes {
            match value {
                Some(value) => self.world.insert(key.to_owned(), value),
                None => self.world.remove(key),
            };
        }
        let text: String = self.world.iter().map(|(key, value)| format!("{key} {value}\n")).collect();
        let new = self.folder.path().join("world.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.world()).unwrap();
        self
    }

    fn world(&self) -> PathBuf {
        self.folder.path().join("world")
    }

    /// `miles-sample --nvml STUB --node n ARGS`.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = tool();
        command.arg("--nvml").arg(library()).args(["--node", "n"]).args(args);
        command.env("NVML_STUB", self.world());
        command
    }

    /// Runs the tool to its end.
    pub fn run(&self, args: &[&str]) -> Answer {
        answer(self.command(args))
    }

    /// Starts the tool, which goes on.
    pub fn start(&self, args: &[&str]) -> Running {
        Running::start(self.command(args))
    }
}

/// The tool, with nothing of this machine's in its environment.
pub fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_miles-sample"));
    command.env_remove("LD_LIBRARY_PATH").env_remove("NVML_STUB").stdin(Stdio::null());
    command
}

/// Unix seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// When a record was read.
pub fn time(line: &Line) -> f64 {
    line["ts"].as_f64().unwrap()
}

/// How the tool ended, and what it said.
pub struct Answer {
    pub status: ExitStatus,
    pub lines: Vec<Line>,
    pub stderr: String,
}

impl Answer {
    /// It succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status.code(), Some(0), "{}", self.stderr);
        self
    }

    /// It ended with `status`, one line on stderr, and all of `says` in it.
    #[track_caller]
    pub fn fails(self, status: i32, says: &[&str]) {
        assert_eq!(self.status.code(), Some(status), "{}", self.stderr);
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("miles-sample: "), "{}", self.stderr);
        for text in says {
            assert!(self.stderr.contains(text), "no {text:?} in {}", self.stderr);
        }
    }

    /// Records of a stream.
    pub fn of(&self, stream: &str) -> Vec<&Line> {
        self.lines.iter().filter(|line| line["stream"] == stream).collect()
    }
}

/// Runs a command to its end.
pub fn answer(command: Command) -> Answer {
    let mut running = Running::start(command);
    let status = running.wait();
    let lines = running.lines.iter().collect();
    Answer { status, lines, stderr: running.stderr() }
}

/// The tool while it runs.
pub struct Running {
    child: Child,
    lines: Receiver<Line>,
    stderr: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(command: Command) -> Self {
        let (mut running, stdout) = Self::start_unread(command);
        let (tell, lines) = channel();
        running.lines = lines;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                // A whole line, strict JSON.
                let line = serde_json::from_str(&line.unwrap()).unwrap();
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        running
    }

    /// Whose stdout is read by whoever calls.
    pub fn start_unread(mut command: Command) -> (Self, ChildStdout) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut from = child.stderr.take().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let told = stderr.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                told.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        (Self { child, lines: channel().1, stderr, reader: Some(reader) }, stdout)
    }

    /// What it has said on stderr by now.
    pub fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// All that it said; after its end.
    pub fn stderr(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.said()
    }

    /// Reads until `enough` of a line.
    #[track_caller]
    pub fn until(&self, what: &str, mut enough: impl FnMut(&Line) -> bool) -> Line {
        let until = Instant::now() + WATCHDOG;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if enough(&line) => return line,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => panic!("hangs, without {what}:\n{}", self.said()),
                Err(RecvTimeoutError::Disconnected) => panic!("ended without {what}:\n{}", self.said()),
            }
        }
    }

    /// Reads until each of these GPUs has had `more` further records of `gpu_util`. None of `not` may have one
    /// of a time from now on; older ones can still be on their way.
    #[track_caller]
    pub fn goes_on(&self, gpus: &[u64], not: &[u64], more: usize) {
        let now = now();
        let mut counts: BTreeMap<u64, usize> = gpus.iter().map(|gpu| (*gpu, 0)).collect();
        self.until("records of all", |line| {
            if line["stream"] == "gpu_util" {
                let gpu = line["gpu"].as_u64().unwrap();
                assert!(!not.contains(&gpu) || time(line) < now, "a record of GPU {gpu}");
                counts.entry(gpu).and_modify(|count| *count += 1);
            }
            counts.values().all(|count| *count >= more)
        });
    }

    /// Waits until it has said `text` on stderr.
    #[track_caller]
    pub fn says(&self, text: &str) {
        let until = Instant::now() + WATCHDOG;
        while !self.said().contains(text) {
            assert!(Instant::now() < until, "never said {text:?}:\n{}", self.said());
            // What is read meanwhile is not wanted; unread, it would fill the pipe.
            while self.lines.try_recv().is_ok() {}
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success()
        );
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + WATCHDOG;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "still running:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it with SIGTERM, after which it must have ended well; all that it said comes back.
    #[track_caller]
    pub fn stop(mut self) -> String {
        self.signal("-TERM");
        let status = self.wait();
        let said = self.stderr();
        assert_eq!(status.code(), Some(0), "{said}");
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only after a failed test is it still there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
