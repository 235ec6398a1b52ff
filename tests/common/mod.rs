//! What tests that run `miles-dump` share: runs copied and aged, the tool started with a watchdog, its
//! rows parsed, values compared as recorded answers are.

// Each test file uses a part of it; helpers of tests may fail as tests do.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod server;
pub mod torch;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};
use tempfile::TempDir;

/// Nothing that these tests ask for takes a second; who needs this long hangs.
const WATCHDOG: Duration = Duration::from_secs(20);
/// Older than any age that the tool looks at.
pub const OLD: Duration = Duration::from_secs(3600);

/// Relative and absolute difference of equal numbers: float32 sums taken in another order differ by that.
const REL: f64 = 2e-5;
const ABS: f64 = 2e-6;

/// The fixtures of this repository.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Recorded runs and answers, where this checkout has them.
pub fn golden() -> Option<PathBuf> {
    let shared = std::env::var_os("MILES_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let golden = shared.join("golden");
    if !golden.is_dir() {
        println!("skipped: no {}", golden.display());
        return None;
    }
    Some(golden)
}

/// A run in a folder of its own, gone with it.
pub struct Run {
    folder: TempDir,
}

impl Run {
    /// A run without anything in it.
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A copy of a run, an hour old.
    pub fn copy(from: &Path) -> Self {
        let run = Self::empty();
        copy_tree(from, run.path());
        run
    }

    /// A copy of `tests/fixtures/runs/NAME`, an hour old.
    pub fn fixture(name: &str) -> Self {
        Self::copy(&fixtures().join("runs").join(name))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, an hour old.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        age(&path, OLD);
    }

    /// Copies one of `tests/fixtures/pt`, an hour old.
    pub fn place_pt(&self, pt: &str, name: &str) {
        self.write(name, fs::read(fixtures().join("pt").join(pt)).unwrap());
    }

    /// Cuts a file to its first bytes; it stays an hour old.
    pub fn cut(&self, name: &str, keep: usize) {
        let bytes = fs::read(self.file(name)).unwrap();
        self.write(name, &bytes[..keep.min(bytes.len())]);
    }

    pub fn remove(&self, name: &str) {
        let path = self.file(name);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }

    /// Makes a file look this many seconds old; negative is the future.
    pub fn age_s(&self, name: &str, seconds: f64) {
        let path = self.file(name);
        let file = File::options().write(true).open(&path).unwrap();
        let span = Duration::from_secs_f64(seconds.abs());
        let now = SystemTime::now();
        file.set_modified(if seconds < 0.0 { now + span } else { now - span }).unwrap();
    }

    /// Runs `miles-dump -d RUN ARGS`.
    pub fn dump(&self, args: &[&str]) -> Answer {
        dump_in(self.path(), args)
    }

    /// Rows of a command that must succeed.
    pub fn rows(&self, args: &[&str]) -> Vec<Map<String, Value>> {
        self.dump(args).ok().rows()
    }
}

/// Copies files below `from`; all become an hour old and writable.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_tree(&source, &target);
        } else {
            // Not fs::copy: it keeps a read-only source read-only.
            fs::write(&target, fs::read(&source).unwrap()).unwrap();
            age(&target, OLD);
        }
    }
}

/// Makes a file look this old.
pub fn age(path: &Path, age: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

/// How a tool ended and what it said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// For messages of failing tests.
    pub command: String,
    /// `None` when a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

/// Runs `miles-dump -d RUN ARGS`.
pub fn dump_in(run: &Path, args: &[&str]) -> Answer {
    let mut command = tool();
    command.arg("-d").arg(run).args(args);
    answer(command)
}

/// `miles-dump`, free of the caller's surroundings.
pub fn tool() -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_miles-dump")))
}

/// The same in at most `kib` of address space, as `ulimit -v` limits it.
pub fn tool_within(kib: u64) -> Command {
    let mut command = clean(Command::new("sh"));
    command.args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_miles-dump")]);
    command
}

fn clean(mut command: Command) -> Command {
    command.env_remove("MILES_DUMP_DETAILS").env_remove("RUST_BACKTRACE").stdin(Stdio::null());
    command
}

/// Runs a command to its end and fails when it does not come to one.
pub fn answer(mut command: Command) -> Answer {
    let shown = shown(&command);
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Read while it runs, or a full pipe would stop it.
    let read = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).expect("output is text")
        })
    };
    let stdout = read(Box::new(child.stdout.take().unwrap()));
    let stderr = read(Box::new(child.stderr.take().unwrap()));
    let status = wait(&mut child, &shown);
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    Answer { command: shown, status: status.code(), stdout, stderr, took: start.elapsed() }
}

/// Waits for a child that must end.
pub fn wait(child: &mut Child, shown: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > WATCHDOG {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("still running after {WATCHDOG:?}: {shown}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn shown(command: &Command) -> String {
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    format!("{} {}", command.get_program().to_string_lossy(), args.join(" "))
}

impl Answer {
    /// It succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, Some(0), "{}\n{}", self.command, self.stderr);
        self
    }

    /// It ended with `status` and told one error on one line, with all of `says` in it.
    #[track_caller]
    pub fn fails(self, status: i32, says: &[&str]) -> Self {
        assert_eq!(self.status, Some(status), "{}\n{}", self.command, self.stderr);
        let errors: Vec<&str> =
            self.stderr.lines().filter(|l| !l.starts_with("miles-dump: warning: ")).collect();
        let [error] = errors[..] else { panic!("not one error: {}\n{}", self.command, self.stderr) };
        assert!(error.starts_with("miles-dump: "), "{}\n{}", self.command, self.stderr);
        for text in says {
            assert!(error.contains(text), "no {text:?}: {}\n{error}", self.command);
        }
        self
    }

    /// Stderr has all of these in it.
    #[track_caller]
    pub fn says(self, says: &[&str]) -> Self {
        for text in says {
            assert!(self.stderr.contains(text), "no {text:?}: {}\n{}", self.command, self.stderr);
        }
        self
    }

    /// Nothing on stderr.
    #[track_caller]
    pub fn quiet(self) -> Self {
        assert_eq!(self.stderr, "", "{}", self.command);
        self
    }

    /// Whatever it came to, it told it as a tool does: a known status, no panic, no signal.
    #[track_caller]
    pub fn sane(self) -> Self {
        let (command, stderr) = (&self.command, &self.stderr);
        assert!(matches!(self.status, Some(0 | 2 | 64 | 75)), "{:?}: {command}\n{stderr}", self.status);
        assert!(!stderr.contains("panicked"), "{command}\n{stderr}");
        assert!(self.status == Some(0) || !stderr.is_empty(), "silent failure: {command}");
        // The argument parser has its own words for a command line that it cannot take.
        let parser = self.status == Some(64) && stderr.starts_with("error: ");
        let ours = stderr.lines().all(|line| line.starts_with("miles-dump: "));
        assert!(parser || ours, "{command}\n{stderr}");
        self
    }

    /// Stdout as NDJSON. Fails on anything that is not strict JSON, NaN and Infinity among it.
    #[track_caller]
    pub fn rows(&self) -> Vec<Map<String, Value>> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}\n{}", self.command))
        };
        self.stdout.lines().map(parse).collect()
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.command))
    }
}

/// Where `got` first differs from `want`: numbers within the tolerance, keys that only `got` has allowed,
/// order of arrays kept.
pub fn differs(want: &Value, got: &Value) -> Option<String> {
    differs_at(want, got, "")
}

fn differs_at(want: &Value, got: &Value, at: &str) -> Option<String> {
    let no = || Some(format!("{}: want {want}, got {got}", if at.is_empty() { "." } else { at }));
    match (want, got) {
        (Value::Number(w), Value::Number(g)) => {
            let same = w == g || w.as_f64().zip(g.as_f64()).is_some_and(|(w, g)| close(w, g));
            if same { None } else { no() }
        }
        (Value::Array(w), Value::Array(g)) if w.len() == g.len() => {
            w.iter().zip(g).enumerate().find_map(|(i, (w, g))| differs_at(w, g, &format!("{at}[{i}]")))
        }
        (Value::Array(w), Value::Array(g)) => Some(format!("{at}: want {} items, got {}", w.len(), g.len())),
        (Value::Object(w), Value::Object(g)) => w.iter().find_map(|(key, w)| match g.get(key) {
            Some(g) => differs_at(w, g, &format!("{at}.{key}")),
            None => Some(format!("{at}.{key}: missing")),
        }),
        _ if want == got => None,
        _ => no(),
    }
}

/// Equal as float32 sums are.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= (REL * a.abs().max(b.abs())).max(ABS)
}

/// The rows of `tokens` made from the API's single object.
pub fn token_rows(object: &Value) -> Value {
    let (start, end) = (object["start"].as_i64().unwrap(), object["end"].as_i64().unwrap());
    let prompt = object["prompt_len"].as_i64().unwrap();
    let columns = [
        ("loss_mask", "loss_mask"),
        ("rollout_log_prob", "rollout_log_probs"),
        ("train_log_prob", "train_log_probs"),
        ("lp_diff", "lp_diff"),
        ("imp_ratio", "imp_ratio"),
        ("entropy", "entropy"),
        ("ref_entropy", "ref_entropy"),
        ("ref_log_prob", "ref_log_probs"),
        ("advantage", "advantages"),
        ("return", "returns"),
    ];
    let at = |list: &str, i: i64| usize::try_from(i).ok().and_then(|i| object[list].get(i)).cloned();
    let row = |position: i64| {
        let mut row = Map::new();
        row.insert("position".into(), position.into());
        row.insert("token_id".into(), at("token_ids", position - start).unwrap());
        row.insert("token_text".into(), at("token_text", position - start).unwrap_or_default());
        let response = (position >= prompt).then_some(position - prompt);
        row.insert("response_position".into(), response.into());
        // The series begin where the response does, or where the window does if that is later.
        let place = position - prompt.max(start);
        for (column, list) in columns {
            row.insert(column.into(), at(list, place).unwrap_or_default());
        }
        Value::Object(row)
    };
    (start..end).map(row).collect()
}

/// Does something for each item, several at a time: the tool waits a while before it calls an old file
/// damaged, and waiting takes no processor.
pub fn several<T: Sync>(items: &[T], each: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        let chunks = items.chunks(items.len().div_ceil(8).max(1));
        let workers: Vec<_> = chunks.map(|chunk| scope.spawn(|| chunk.iter().for_each(&each))).collect();
        for worker in workers {
            // The panic of a failed check, message and all.
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}
