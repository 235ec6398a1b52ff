//! Whole-process times and memory of `miles-dump` on the benchmark run, as a Markdown table.
//!
//! ```text
//! cargo bench                      # all commands, median of 7 runs
//! cargo bench -- --runs 15 tokens  # rows with "tokens" in their name
//! cargo bench -- --fresh           # write the run anew
//! ```
//!
//! The run is one step of 1,024 samples and 6.4 M tokens, what `miles demo DIR --steps 1 --prompts 128
//! --samples-per-prompt 8 --max-response 12000` writes; it is made once and kept in `target/tmp`, or in
//! `MILES_BENCH_DIR`. Times are of runs that nobody watches, with the files in the page cache; memory
//! is sampled in runs of its own: `RssAnon` is what a process has for itself, `VmHWM` counts the mapped
//! file pages too. With `MILES_TEST_PYTHON` set, `torch.load` of the rollout file is measured beside.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use miles::demo::{self, Settings};

const RUN: Settings = Settings {
    steps: 1,
    prompts: 128,
    samples_per_prompt: 8,
    max_response: 12_000,
    gpus: 8,
    nodes: 1,
    minutes: 0,
    seed: 0,
};
/// A sample in the middle of the file, and one near it that has a conversation.
const SAMPLE: &str = "512";
const CHAT_SAMPLE: &str = "520";
/// Runs that memory is sampled in; the largest reading counts.
const WATCHED_RUNS: usize = 3;
const SAMPLE_EVERY: Duration = Duration::from_micros(500);

/// What is measured.
struct Case {
    name: &'static str,
    program: OsString,
    args: Vec<OsString>,
    /// Something to take away before each run.
    without: Option<PathBuf>,
}

struct Measured {
    median: Duration,
    fastest: Duration,
    private_kib: u64,
    resident_kib: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut fresh, mut filter) = (7, false, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {} // cargo's own
            "--fresh" => fresh = true,
            "--runs" => runs = args.next().ok_or("--runs takes a number")?.parse()?,
            _ => filter = Some(arg),
        }
    }
    let runs: usize = std::cmp::max(runs, 1);
    let dir = prepare(fresh)?;
    let mut out = io::stdout().lock();
    writeln!(out, "| command | median | fastest | private memory | with mapped pages |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for case in cases(&dir).iter().filter(|case| filter.as_ref().is_none_or(|part| case.name.contains(part)))
    {
        match measure(case, runs)? {
            Ok(m) => writeln!(
                out,
                "| {} | {} | {} | {:.1} MB | {:.1} MB |",
                case.name,
                milliseconds(m.median),
                milliseconds(m.fastest),
                megabytes(m.private_kib),
                megabytes(m.resident_kib)
            )?,
            Err(status) => writeln!(out, "| {} | fails: {status} | | | |", case.name)?,
        }
        out.flush()?;
    }
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn megabytes(kib: u64) -> f64 {
    kib as f64 * 1024.0 / 1e6
}

/// The benchmark run; written unless it is there.
fn prepare(fresh: bool) -> Result<PathBuf, Box<dyn Error>> {
    let dir = std::env::var_os("MILES_BENCH_DIR")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-run"), PathBuf::from);
    if fresh || !dir.join("demo.json").exists() {
        let started = Instant::now();
        let report = demo::write(&dir, &RUN, || ())?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{}: wrote {:.1} MB in {seconds:.1} s", dir.display(), report.bytes as f64 / 1e6);
    }
    Ok(dir)
}

fn cases(dir: &Path) -> Vec<Case> {
    let cache = dir.join("dashboard/cache");
    let rollout = dir.join("rollout_data/0.pt");
    let dump = |name, args: &[&str], without: Option<&PathBuf>| Case {
        name,
        program: env!("CARGO_BIN_EXE_miles-dump").into(),
        args: ["-d".into(), dir.as_os_str().to_owned()]
            .into_iter()
            .chain(args.iter().map(OsString::from))
            .collect(),
        without: without.cloned(),
    };
    let mut cases = vec![
        dump("--help", &["--help"], None),
        dump("ids", &["ids"], None),
        dump("summary, first", &["summary", "0"], Some(&cache)),
        dump("summary, again", &["summary", "0"], None),
        dump("groups, first", &["groups", "0"], Some(&cache)),
        dump("steps, first", &["steps"], Some(&cache)),
        dump("samples", &["samples", "0"], None),
        dump("tokens", &["tokens", "0", SAMPLE], None),
        dump("messages", &["messages", "0", CHAT_SAMPLE], None),
        dump("joined", &["joined", "0"], None),
        dump("joined to Parquet", &["joined", "0", "--format", "parquet"], None),
    ];
    let mut inspect = dump("inspect", &["inspect"], None);
    inspect.args.push(rollout.clone().into());
    cases.push(inspect);
    if let Some(python) = std::env::var_os("MILES_TEST_PYTHON") {
        let load = |name, program: &str| Case {
            name,
            program: python.clone(),
            args: vec!["-c".into(), program.into(), rollout.clone().into()],
            without: None,
        };
        cases.push(load("python: import torch", "import torch"));
        cases.push(load(
            "python: torch.load of the rollout file",
            "import sys, torch; torch.load(sys.argv[1], weights_only=False)",
        ));
    }
    cases
}

/// Runs the case; answers the exit status instead if it does not succeed.
fn measure(case: &Case, runs: usize) -> io::Result<Result<Measured, ExitStatus>> {
    // The first run brings the files into the page cache and does not count.
    let (_, status) = timed(case)?;
    if !status.success() {
        return Ok(Err(status));
    }
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let (time, status) = timed(case)?;
        if !status.success() {
            return Ok(Err(status));
        }
        times.push(time);
    }
    times.sort();
    let (mut private_kib, mut resident_kib) = (0, 0);
    for _ in 0..WATCHED_RUNS {
        let (private, resident) = watched(case)?;
        private_kib = private_kib.max(private);
        resident_kib = resident_kib.max(resident);
    }
    Ok(Ok(Measured { median: times[runs / 2], fastest: times[0], private_kib, resident_kib }))
}

fn clear(case: &Case) -> io::Result<()> {
    match &case.without {
        Some(path) if path.exists() => fs::remove_dir_all(path),
        _ => Ok(()),
    }
}

fn spawn(case: &Case) -> io::Result<Child> {
    Command::new(&case.program)
        .args(&case.args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn timed(case: &Case) -> io::Result<(Duration, ExitStatus)> {
    clear(case)?;
    let started = Instant::now();
    let status = spawn(case)?.wait()?;
    Ok((started.elapsed(), status))
}

/// Peaks of `RssAnon` and `VmHWM` in KiB. `ru_maxrss` would not do: it begins with the parent's.
fn watched(case: &Case) -> io::Result<(u64, u64)> {
    clear(case)?;
    let mut child = spawn(case)?;
    let status = format!("/proc/{}/status", child.id());
    let (mut private, mut resident) = (0, 0);
    while child.try_wait()?.is_none() {
        if let Ok(text) = fs::read_to_string(&status) {
            let field = |name: &str| {
                let line = text.lines().find(|line| line.starts_with(name))?;
                line.split_whitespace().nth(1)?.parse::<u64>().ok()
            };
            private = private.max(field("RssAnon:").unwrap_or(0));
            resident = resident.max(field("VmHWM:").unwrap_or(0));
        }
        thread::sleep(SAMPLE_EVERY);
    }
    Ok((private, resident))
}
