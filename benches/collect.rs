//! Whole-process speed and memory of `miles-collect`, as a Markdown table.
//!
//! ```text
//! cargo bench --bench collect                   # all cases, median of 5 runs
//! cargo bench --bench collect -- --runs 9 unix  # rows with "unix" in their name
//! ```
//!
//! The collector is held on one core, the producer on another where there is one. Time is from the first byte
//! sent to the end of the process, with everything flushed; CPU is what the collector itself used, both of its
//! threads together, so records a CPU second are what one core can take whatever the producer's speed is.
//! Memory is the peak of what was resident. The run is written into `target/tmp`, or below `MILES_BENCH_DIR`.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Enough that starting and ending take no part in it.
const RECORDS: usize = 3_000_000;
/// Size of a write: what the Python client and `jq` send is less, what a relay sends is this.
const WRITE: usize = 64 * 1024;

#[derive(Clone, Copy)]
enum Way {
    Unix,
    Tcp,
    Stdin,
}

struct Case {
    name: &'static str,
    way: Way,
    args: &'static [&'static str],
    records: fn(usize, &mut Vec<u8>),
    /// The disk takes nothing.
    full: bool,
}

struct Measured {
    time: Duration,
    cpu: Duration,
    resident_kib: u64,
}

const CASES: [Case; 7] = [
    Case { name: "gpu_util over a Unix socket", way: Way::Unix, args: &[], records: gpu, full: false },
    Case { name: "gpu_util over TCP", way: Way::Tcp, args: &[], records: gpu, full: false },
    Case { name: "engine_series over TCP", way: Way::Tcp, args: &[], records: engine, full: false },
    Case { name: "a mix of three streams over TCP", way: Way::Tcp, args: &[], records: mix, full: false },
    Case { name: "the mix on stdin", way: Way::Stdin, args: &[], records: mix, full: false },
    Case {
        name: "the mix over TCP, with metrics served",
        way: Way::Tcp,
        args: &["--metrics-listen", "127.0.0.1:0"],
        records: mix,
        full: false,
    },
    Case { name: "the mix over TCP, and a full disk", way: Way::Tcp, args: &[], records: mix, full: true },
];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut filter) = (5, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {} // cargo's own
            "--runs" => runs = args.next().ok_or("--runs takes a number")?.parse()?,
            _ => filter = Some(arg),
        }
    }
    let runs: usize = std::cmp::max(runs, 1);
    let dir = std::env::var_os("MILES_BENCH_DIR")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(), PathBuf::from)
        .join("bench-collect");
    // SAFETY: plain numbers; a collector that ends early must not end this too.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let mut out = io::stdout().lock();
    writeln!(out, "| case | records a second | records a CPU second | peak memory |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for case in CASES.iter().filter(|case| filter.as_ref().is_none_or(|part| case.name.contains(part))) {
        let mut bytes = Vec::new();
        (0..RECORDS).for_each(|n| (case.records)(n, &mut bytes));
        let mut measured = (0..runs).map(|_| measure(case, &dir, &bytes)).collect::<Result<Vec<_>, _>>()?;
        let resident = measured.iter().map(|m| m.resident_kib).max().unwrap_or(0);
        measured.sort_by_key(|m| m.time);
        let time = measured[runs / 2].time;
        measured.sort_by_key(|m| m.cpu);
        let cpu = measured[runs / 2].cpu;
        writeln!(
            out,
            "| {} | {} | {} | {:.0} MB |",
            case.name,
            thousands(time),
            thousands(cpu),
            resident as f64 * 1024.0 / 1e6
        )?;
        out.flush()?;
    }
    Ok(fs::remove_dir_all(&dir)?)
}

fn thousands(time: Duration) -> String {
    format!("{:.0},000", RECORDS as f64 / time.as_secs_f64() / 1e3)
}

/// The time of the `n`th record: a thousand a second, so that an hour changes now and then.
fn ts(n: usize) -> f64 {
    1_769_907_000.093_724_5 + n as f64 / 1e3
}

fn gpu(n: usize, out: &mut Vec<u8>) {
    let (ts, gpu) = (ts(n), n % 64);
    let (node, gpu, util) = (gpu / 8, gpu % 8, n * 7 % 101);
    push(
        out,
        format_args!(
            "{{\"stream\":\"gpu_util\",\"ts\":{ts},\"node\":\"10.0.0.{node}\",\"gpu\":{gpu},\"util\":{util},\"mem_mb\":{},\"power_w\":{}}}\n",
            60_000 + n % 9_000,
            300 + n % 400
        ),
    );
}

fn engine(n: usize, out: &mut Vec<u8>) {
    let (ts, engine) = (ts(n), n % 64);
    let value = (n * 7919 % 100_003) as f64 / 1009.0;
    push(
        out,
        format_args!(
            "{{\"stream\":\"engine_series\",\"ts\":{ts},\"addr\":\"http://10.0.0.{}:15000\",\"metric\":\"sglang_num_running_reqs\",\"labels\":{{\"engine_type\":\"regular\",\"dp_rank\":\"{}\"}},\"value\":{value}}}\n",
            engine / 8,
            engine % 8
        ),
    );
}

fn event(n: usize, out: &mut Vec<u8>) {
    let ts = ts(n);
    push(
        out,
        format_args!(
            "{{\"stream\":\"trajectories\",\"ts\":{ts},\"kind\":\"gen_end\",\"sample_index\":{n},\"group_index\":{},\"turn\":-1,\"weight_version\":\"{}\",\"detail\":\"\"}}\n",
            n / 8,
            n / 100_000
        ),
    );
}

fn mix(n: usize, out: &mut Vec<u8>) {
    [gpu, engine, event][n % 3](n, out);
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = out.write_fmt(text);
}

fn measure(case: &Case, dir: &Path, bytes: &[u8]) -> Result<Measured, Box<dyn Error>> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    let (socket, said) = (dir.join("s"), dir.join("stderr"));
    let address = match case.way {
        Way::Unix => Some(format!("unix:{}", socket.display())),
        Way::Tcp => Some("tcp://127.0.0.1:0".to_owned()),
        Way::Stdin => None,
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_miles-collect"));
    command.arg("-d").arg(dir.join("run")).args(case.args);
    command.args(address.iter().flat_map(|address| ["--listen", address.as_str()]));
    command.stderr(fs::File::create(&said)?).stdout(Stdio::null());
    command.stdin(if address.is_some() { Stdio::null() } else { Stdio::piped() });
    let full = case.full;
    // SAFETY: only system calls between the fork and the start of the program.
    unsafe {
        command.pre_exec(move || {
            stay_on(0);
            if full {
                let limit = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            }
            Ok(())
        })
    };
    let mut child = command.spawn()?;
    stay_on(1);
    let mut sink: Box<dyn Write> = match case.way {
        Way::Stdin => Box::new(child.stdin.take().ok_or("no stdin")?),
        Way::Unix => {
            wait_for(&said, "listening on ")?;
            Box::new(UnixStream::connect(&socket)?)
        }
        Way::Tcp => {
            let address = wait_for(&said, "listening on tcp://")?;
            Box::new(TcpStream::connect(address)?)
        }
    };
    let started = Instant::now();
    for piece in bytes.chunks(WRITE) {
        sink.write_all(piece)?;
    }
    drop(sink);
    if address.is_some() {
        let pid = child.id().cast_signed();
        // SAFETY: the child has not been waited for, so its id is still its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
    let (cpu, resident_kib) = wait(&mut child)?;
    let time = started.elapsed();
    let said = fs::read_to_string(&said)?;
    if !full && !said.contains(&format!("{RECORDS} records written")) {
        return Err(format!("{}: {said}", case.name).into());
    }
    Ok(Measured { time, cpu, resident_kib })
}

/// Keeps the calling thread on one core, if there are several.
fn stay_on(core: usize) {
    // SAFETY: the set is valid when zeroed; where the core is not there, the call changes nothing.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const cores);
    }
}

/// What follows `text` in what a collector says.
fn wait_for(said: &Path, text: &str) -> io::Result<String> {
    loop {
        let all = fs::read_to_string(said)?;
        if let Some((_, rest)) = all.split_once(text)
            && let Some((line, _)) = rest.split_once('\n')
        {
            return Ok(line.to_owned());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the end; answers CPU time, and the peak of resident memory in KiB. `ru_maxrss` would not do: it
/// begins with the parent's.
fn wait(child: &mut Child) -> io::Result<(Duration, u64)> {
    let status = format!("/proc/{}/status", child.id());
    let pid = child.id().cast_signed();
    let mut resident = 0;
    loop {
        if let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find(|line| line.starts_with("VmHWM:"));
            let peak = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            resident = resident.max(peak.unwrap_or(0));
        }
        // SAFETY: the struct is ours; the child is waited for here and nowhere else.
        let (said, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(pid, std::ptr::null_mut(), libc::WNOHANG, &raw mut usage), usage)
        };
        if said < 0 {
            return Err(io::Error::last_os_error());
        }
        if said == pid {
            let of = |time: libc::timeval| {
                Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
            };
            return Ok((of(usage.ru_utime) + of(usage.ru_stime), resident));
        }
        thread::sleep(Duration::from_micros(500));
    }
}
