//! Times and memory of `miles serve` on large runs, as Markdown tables.
//!
//! ```text
//! cargo bench --bench serve                 # 8 nodes x 8 GPUs x 12 h
//! cargo bench --bench serve -- --big        # 128 nodes x 8 GPUs x 24 h as well: 13 GB on disk
//! cargo bench --bench serve -- --runs 9     # servers started for the cold times; 5 unless said
//! ```
//!
//! The runs are written once and kept in `target/tmp`, or in `MILES_BENCH_DIR`. *Cold* is the first answer
//! to a question in a server that has answered those above it, with the files in the page cache and no
//! kept columns; the median of several servers. *Again* is the same question, *other windows* the
//! question about windows that nobody asked before, each a hundred times in one server.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use miles::demo::{self, Settings};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Length of the window that most questions are about, seconds: the longest that is allowed.
const WINDOW_S: f64 = 14_400.0;
/// Questions whose times make a percentile.
const QUESTIONS: usize = 100;

fn run_of(nodes: u32, minutes: u32) -> Settings {
    Settings { nodes, gpus: 8, minutes, ..Settings::default() }
}

fn main() -> Outcome<()> {
    let (mut servers, mut big) = (5, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => servers = args.next().ok_or("--runs takes a number")?.parse()?,
            "--big" => big = true,
            _ => {}
        }
    }
    measure("serve-run", &run_of(8, 720), servers)?;
    if big {
        measure("serve-big", &run_of(128, 1440), servers)?;
    }
    Ok(())
}

/// A server of the run, ended with this.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(run: &Path) -> Outcome<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_miles"))
            .args(["serve", "--port", "0", "--host", "127.0.0.1", "-q", "-d"])
            .arg(run)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let port = line.trim().trim_end_matches('/').rsplit(':').next().ok_or("no port")?.parse()?;
        Ok(Self { process, port })
    }

    /// The body of an answer, and how long it took.
    fn get(&self, path: &str) -> Outcome<(Vec<u8>, Duration)> {
        let started = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let took = started.elapsed();
        let body = answer.windows(4).position(|end| end == b"\r\n\r\n").ok_or("no answer")? + 4;
        if !answer.starts_with(b"HTTP/1.1 200") {
            return Err(format!("{path}: {}", String::from_utf8_lossy(&answer)).into());
        }
        Ok((answer.split_off(body), took))
    }

    /// Private memory and its peak (with file pages), bytes.
    fn memory(&self) -> Outcome<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        Ok((field("RssAnon").unwrap_or(0) * 1024, field("VmHWM").unwrap_or(0) * 1024))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A question, with `{4h}`, `{10min}` or `{all}` for its window.
struct Question {
    name: &'static str,
    path: String,
}

fn questions(meta: &serde_json::Value) -> Vec<Question> {
    let ask = |name, path: &str| Question { name, path: path.to_owned() };
    let engine = meta["engine_metric_keys"][0].as_str().unwrap_or_default().to_owned();
    let keys: Vec<_> =
        meta["metric_keys"].as_array().into_iter().flatten().filter_map(|k| k.as_str()).take(8).collect();
    let step =
        meta["rollout_ids"]["train"].as_array().and_then(|ids| ids.last()).cloned().unwrap_or_default();
    vec![
        ask("heatmap, util, 4 h", "/api/timeline/heatmap?metric=util&{4h}"),
        ask("heatmap, phase, 4 h", "/api/timeline/heatmap?metric=phase&{4h}"),
        ask("fleet, 4 h", "/api/timeline/fleet?{4h}"),
        ask("gpu, all lanes, 4 h", "/api/timeline/gpu?{4h}"),
        ask("engine series, whole run", &format!("/api/timeline/engine_series?metric={engine}&{{all}}")),
        ask("lowest_util, whole run", "/api/timeline/outliers?criterion=lowest_util&{all}"),
        ask(
            "slowest actor_train, whole run",
            "/api/timeline/outliers?criterion=slowest_phase:actor_train&{all}",
        ),
        ask("heatmap, memory, 4 h", "/api/timeline/heatmap?metric=mem_mb&{4h}"),
        ask("heatmap, power, 4 h", "/api/timeline/heatmap?metric=power_w&{4h}"),
        ask("heatmap, lifecycle, 4 h", "/api/timeline/heatmap?metric=lifecycle&{4h}"),
        ask("phases, 4 h", "/api/timeline/phases?{4h}"),
        ask("gpu_processes, 1 lane, 4 h", "/api/timeline/gpu_processes?lanes=g:0&{4h}"),
        ask("gpu_processes, all lanes, 10 min", "/api/timeline/gpu_processes?{10min}"),
        ask("trajectories of a step", &format!("/api/rollout/{step}/trajectories")),
        ask("advisory, whole run", "/api/advisory?{all}"),
        ask("metrics, 8 keys", &format!("/api/metrics?keys={}&{{all}}", keys.join(","))),
        ask("topology", "/api/timeline/topology"),
        ask("bubbles", "/api/timeline/bubbles"),
        ask("meta", "/api/meta"),
    ]
}

/// The path of a question whose window ends `back` seconds before the end of the data.
fn asked(question: &Question, (_, t1): (f64, f64), back: f64) -> String {
    let end = t1 - back;
    let window = |length: f64| format!("t0={}&t1={end}", end - length);
    // With one end open a window may be of any length.
    let whole = if back == 0.0 { String::new() } else { format!("t1={end}") };
    question
        .path
        .replace("{4h}", &window(WINDOW_S))
        .replace("{10min}", &window(600.0))
        .replace("{all}", &whole)
}

fn measure(name: &str, settings: &Settings, servers: usize) -> Outcome<()> {
    let run = prepare(name, settings)?;
    let mut out = io::stdout().lock();
    let (mut starts, mut colds): (Vec<Duration>, Vec<Vec<Duration>>) = (Vec::new(), Vec::new());
    let (mut kept_starts, mut kept_colds) = (Vec::new(), Vec::new());
    let mut sizes = Vec::new();
    for server in 0..2 * servers.max(1) {
        // The first half finds no columns that an earlier server kept; a large run leaves some.
        let fresh = server < servers.max(1);
        if fresh {
            let _ = fs::remove_dir_all(run.join("dashboard/cache"));
        }
        let started = Instant::now();
        let server = Server::start(&run)?;
        let (meta, _) = server.get("/api/meta")?;
        let first = started.elapsed();
        let meta: serde_json::Value = serde_json::from_slice(&meta)?;
        let range = range(&meta)?;
        let mut times = Vec::new();
        sizes.clear();
        for question in questions(&meta) {
            let (body, took) = server.get(&asked(&question, range, 0.0))?;
            times.push(took);
            sizes.push(body.len());
        }
        if fresh {
            starts.push(first);
            colds.push(times);
        } else {
            kept_starts.push(first);
            kept_colds.push(times);
        }
    }
    let server = Server::start(&run)?;
    let (meta, _) = server.get("/api/meta")?;
    let meta: serde_json::Value = serde_json::from_slice(&meta)?;
    let range = range(&meta)?;
    let Settings { nodes, gpus, minutes, .. } = settings;
    writeln!(
        out,
        "\n{nodes} nodes x {gpus} GPUs x {} h. Start to the first answer (`/api/meta`): {}; with kept columns {}.\n",
        minutes / 60,
        ms(median(&mut starts)),
        ms(median(&mut kept_starts))
    )?;
    writeln!(
        out,
        "| question | body | cold | cold, columns kept | again, p50 | p99 | other windows, p50 | p99 |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for (index, question) in questions(&meta).iter().enumerate() {
        let nth =
            |all: &[Vec<Duration>]| median(&mut all.iter().map(|times| times[index]).collect::<Vec<_>>());
        let same = asked(question, range, 0.0);
        server.get(&same)?;
        let mut again = (0..QUESTIONS).map(|_| Ok(server.get(&same)?.1)).collect::<Outcome<Vec<_>>>()?;
        let others = question.path.contains('{');
        let mut other = Vec::new();
        for turn in 1..=QUESTIONS {
            // Windows within the last hours, which are warm.
            other.push(server.get(&asked(question, range, 3.7 * turn as f64))?.1);
        }
        let (other_median, other_p99) = if others {
            (ms(median(&mut other)), ms(percentile(&mut other)))
        } else {
            (String::new(), String::new())
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {other_median} | {other_p99} |",
            question.name,
            size(sizes[index]),
            ms(nth(&colds)),
            ms(nth(&kept_colds)),
            ms(median(&mut again)),
            ms(percentile(&mut again))
        )?;
        out.flush()?;
    }
    let (private, peak) = server.memory()?;
    writeln!(
        out,
        "\nIn the end {} MB private; at most {} MB in all.",
        private / 1_000_000,
        peak / 1_000_000
    )?;
    Ok(())
}

fn range(meta: &serde_json::Value) -> Outcome<(f64, f64)> {
    let at = |index: usize| meta["time_range"][index].as_f64().ok_or("no time range");
    Ok((at(0)?, at(1)?))
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn percentile(times: &mut [Duration]) -> Duration {
    times.sort();
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn size(bytes: usize) -> String {
    format!("{:.1} kB", bytes as f64 / 1e3)
}

/// The run; written unless it is there.
fn prepare(name: &str, settings: &Settings) -> Outcome<PathBuf> {
    let parent = std::env::var_os("MILES_BENCH_DIR")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(), PathBuf::from);
    let dir = parent.join(name);
    if !dir.join("demo.json").exists() {
        let started = Instant::now();
        let report = demo::write(&dir, settings, || ())?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{}: wrote {:.1} MB in {seconds:.1} s", dir.display(), report.bytes as f64 / 1e6);
    }
    Ok(dir)
}
