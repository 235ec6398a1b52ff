//! What scraping costs: the text of an engine's answer, and a whole process that scrapes many engines.
//!
//! ```text
//! cargo bench --bench scrape                        # both
//! cargo bench --bench scrape -- --seconds 60        # watch the process for longer
//! cargo bench --bench scrape -- --engines 8 --interval 1
//! ```
//!
//! The text is 72 KB: what an engine of eight tensor-parallel ranks exposes, most of it buckets. The process
//! is `miles-scrape` with stub engines that answer with that text at once; its processor time is read from
//! `/proc` after it has settled, so start and handshakes are left out.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use miles::sglang::{Selection, read, text::Lines};

/// Size of the text.
const TEXT_BYTES: usize = 72_000;
/// Times that the text is read; the fastest counts, being the least disturbed.
const READS: usize = 2000;
/// After this the connections are made and the pages touched.
const SETTLE: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let (mut engines, mut interval, mut seconds) = (64, 2.0, 20);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} takes a number"));
        match arg.as_str() {
            "--bench" => {} // cargo's own
            "--engines" => engines = value()?.parse()?,
            "--interval" => interval = value()?.parse()?,
            "--seconds" => seconds = value()?.parse()?,
            _ => return Err(format!("{arg} is no option").into()),
        }
    }
    let text = text();
    println!("| what | measured |\n| --- | ---: |");
    let size = text.len() / 1000;
    println!("| scan {size} KB, every line | {:.0} µs |", fastest(|| Lines::new(text.as_bytes()).count()));
    let selection = Selection::default();
    let values = || read(text.as_bytes(), &selection, false).values.len();
    println!("| {size} KB to {} values | {:.0} µs |", values(), fastest(values));
    let share = process(&text, engines, interval, Duration::from_secs(seconds))?;
    println!("| {engines} engines each {interval} s | {:.2} % of a core |", share * 100.0);
    Ok(())
}

/// Microseconds of the fastest run.
fn fastest<T>(work: impl Fn() -> T) -> f64 {
    let one = || {
        let begun = Instant::now();
        std::hint::black_box(work());
        begun.elapsed()
    };
    (0..READS).map(|_| one()).min().unwrap_or_default().as_secs_f64() * 1e6
}

/// Metrics as an engine exposes them.
fn text() -> String {
    let mut text = String::new();
    let labels = "engine_type=\"unified\",model_name=\"Qwen/Qwen3-30B-A3B\",moe_ep_rank=\"0\",pp_rank=\"0\"";
    let mut family = |name: &str, kind: &str, lines: &[(&str, String)]| {
        let _ = writeln!(text, "# HELP sglang:{name} What it is.\n# TYPE sglang:{name} {kind}");
        for (ending, more) in lines {
            for rank in 0..8 {
                let _ =
                    writeln!(text, "sglang:{name}{ending}{{{labels}{more},tp_rank=\"{rank}\"}} {rank}.5e+03");
            }
        }
        text.len() < TEXT_BYTES
    };
    let plain = [("", String::new())];
    for name in ["num_running_reqs", "num_queue_reqs", "gen_throughput", "token_usage", "cache_hit_rate"] {
        family(name, "gauge", &plain);
    }
    for name in ["prompt_tokens_total", "generation_tokens_total", "num_requests_total"] {
        let split = ["true", "false"].map(|streaming| ("", format!(",is_streaming=\"{streaming}\"")));
        family(name, "counter", &split);
    }
    let histogram = |buckets: u32| {
        let buckets = (0..buckets).map(|le| ("_bucket", format!(",le=\"{le}.5\"")));
        buckets.chain([("_sum", String::new()), ("_count", String::new())]).collect::<Vec<_>>()
    };
    for name in ["time_to_first_token_seconds", "e2e_request_latency_seconds", "inter_token_latency_seconds"]
    {
        family(name, "histogram", &histogram(12));
    }
    let mut number = 0;
    while family(&format!("other_{number}"), "histogram", &histogram(4)) {
        number += 1;
    }
    text
}

/// Share of one core that the tool takes.
fn process(text: &str, engines: usize, interval: f64, watch: Duration) -> Result<f64, Box<dyn Error>> {
    let length = text.len();
    let answer: Arc<str> = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}").into();
    let mut command = Command::new(env!("CARGO_BIN_EXE_miles-scrape"));
    command.args(["--interval", &interval.to_string()]).stdout(Stdio::piped());
    for _ in 0..engines {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        command.args(["--engine", &listener.local_addr()?.to_string()]);
        let answer = Arc::clone(&answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(stream, &answer));
            }
        });
    }
    let mut child = command.spawn()?;
    let mut out = child.stdout.take().ok_or("no stdout")?;
    thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    thread::sleep(SETTLE);
    let (before, begun) = (processor_time(child.id())?, Instant::now());
    thread::sleep(watch);
    let spent = processor_time(child.id())? - before;
    let share = spent / begun.elapsed().as_secs_f64();
    child.kill()?;
    child.wait()?;
    Ok(share)
}

fn serve(stream: TcpStream, answer: &str) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        while !lines.next()?.ok()?.is_empty() {}
        out.write_all(answer.as_bytes()).ok()?;
    }
}

/// Seconds that a process has run, in user mode and in the kernel.
fn processor_time(pid: u32) -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Behind the name, which can hold anything, fields 14 and 15 of proc(5) are 11 and 12.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    // The kernel reports hundredths of a second to programs, whatever it counts in (USER_HZ).
    Ok(ticks as f64 / 100.0)
}
