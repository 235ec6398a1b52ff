//! `miles-collect`: NDJSON records to a run's streams. Checks the arguments, takes signals, and prints
//! what the collector has to say from a thread of its own, so that a stuck stderr holds nothing up.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::{ArgAction, Parser};

use super::common::looks_like_run;
use super::context::say;
use super::exit::{CliError, Exit};
use crate::collect::{
    Address, CollectError, Collector, LockError, Notice, Settings, Stop, Summary, Tell, Weight, Written,
};
use crate::record::Stream;
use crate::telemetry::{DASHBOARD, counted};

/// The tool's name in messages.
pub const TOOL: &str = "miles-collect";

/// Notices that wait for stderr at most; one that finds no place is counted.
const NOTICES: usize = 1024;

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Write records from stdin and sockets to a run's streams.
#[derive(Debug, Parser)]
#[command(name = "miles-collect", version, max_term_width = 100)]
#[command(after_help = "\
A record is one JSON object a line, its stream first:
  {\"stream\":\"gpu_util\",\"ts\":1769907597.1,\"node\":\"10.0.0.1\",\"gpu\":0,\"util\":97,\"mem_mb\":60000,\"power_w\":640}
A line that is no record is told with its source and number, and left out. {\"stream\":\"meta\",
\"run_name\":…,\"start_ts\":…,\"args\":{…}} goes into meta.json; its args join those that are there.

Records are appended to DIR/dashboard/ at least every --flush-interval. Without --listen the end of stdin is
the end; with it, SIGTERM or SIGINT is, and stdin is one producer more. Whatever waits is then written: exit 0
says that all of it was; a second signal ends at once. While the disk fails, records wait, the newest --max-buffered of a stream (and 150 MB
in all). Sockets are read whatever the disk does; stdin alone is read no faster than a working disk takes it.
-v tells each flush: \"flushed N records (TOTAL in all): STREAM N (TOTAL), …\"; those are on disk and stay.
Nobody is asked who they are: listen on loopback, a private network or a socket.

Examples:
  miles-sample | miles-collect -d /runs/a
  miles-collect -d /runs/a --listen tcp://0.0.0.0:7700 --run-name a --arg colocate=true
  miles-collect -d /runs/a --listen unix:/run/miles.sock --metrics-listen 0.0.0.0:9400 < /dev/null
  jq -c '{stream:\"data_buffer\",ts:.time,length:.n}' log.json | miles-collect -d /runs/a")]
pub struct CollectArgs {
    /// Run directory: what the job was given as --dump-details; made if it is not there [default: the
    /// working directory, if it looks like a run]
    #[arg(short, long, value_name = "DIR", env = "MILES_DUMP_DETAILS", hide_env_values = true)]
    pub dump_details: Option<OsString>,
    /// Let producers connect here: tcp://HOST:PORT (port 0 is any that is free) or unix:PATH; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<Address>,
    /// Write what waits at least so often
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub flush_interval: f64,
    /// Records of one stream that wait at most while the disk does not take them; then the oldest go
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pub max_buffered: usize,
    /// Wait at each flush until the disk itself has it, not only the system
    #[arg(long)]
    pub fsync: bool,
    /// Name of the run in meta.json [default: the one that is there, else the directory's]
    #[arg(long, value_name = "NAME")]
    pub run_name: Option<String>,
    /// A setting of the job for args in meta.json; VALUE is JSON, or text if it is not; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = argument)]
    pub arg: Vec<(String, Written)>,
    /// Serve the latest values as Prometheus text at http://HOST:PORT/metrics
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub metrics_listen: Option<String>,
    /// Say nothing on stderr but errors and losses
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell each flush, and who comes and goes, on stderr
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

/// `KEY=VALUE`, with the value typed as JSON types it.
fn argument(text: &str) -> Result<(String, Written), String> {
    let (key, value) = text.split_once('=').ok_or("it is KEY=VALUE")?;
    if key.is_empty() {
        return Err("the key is empty".to_owned());
    }
    let value = Written::parse(value).unwrap_or_else(|_| Written::text(value));
    Ok((key.to_owned(), value))
}

/// `HOST:PORT`, as it was given.
fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err("it is HOST:PORT, as in 0.0.0.0:9400".to_owned()),
    }
}

/// Runs the tool.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(args: CollectArgs) -> Result<Exit, CliError> {
    let settings = settings(&args)?;
    let stop = Stop::new().map_err(|error| CliError::new(format!("no pipe: {error}")))?;
    stop_on_signals(&stop);
    let talk = Talk::start(args.quiet, args.verbose)?;
    if settings.stdin && settings.listen.is_empty() && io::stdin().is_terminal() && !args.quiet {
        say(TOOL, "reading records from the terminal; Ctrl-D ends");
    }
    let collected = Collector::start(settings, talk.tell()).and_then(|collector| collector.run(&stop));
    talk.end();
    summary(collected?, &args)
}

fn settings(args: &CollectArgs) -> Result<Settings, CliError> {
    let seconds = args.flush_interval;
    if !(0.01..=86_400.0).contains(&seconds) {
        return Err(CliError::usage("--flush-interval is 0.01 to 86400 seconds"));
    }
    if args.max_buffered == 0 {
        return Err(CliError::usage("--max-buffered is at least 1"));
    }
    let run = run_dir(args)?;
    // The name that a person knows it by: `.` has none.
    let named = std::path::absolute(&run).ok().and_then(|path| path.canonicalize().ok().or(Some(path)));
    let name = named.as_deref().and_then(Path::file_name).unwrap_or(run.as_os_str());
    Ok(Settings {
        dashboard: run.join(DASHBOARD),
        listen: args.listen.clone(),
        // With addresses a terminal is where a person started it, and reading it in the background would
        // stop the process.
        stdin: args.listen.is_empty() || !io::stdin().is_terminal(),
        flush_interval: Duration::from_secs_f64(seconds),
        max_buffered: args.max_buffered,
        fsync: args.fsync,
        run_name: args.run_name.clone(),
        folder_name: name.to_string_lossy().into_owned(),
        args: args.arg.clone(),
        metrics_listen: args.metrics_listen.clone(),
        each_bad_line: args.verbose > 0,
    })
}

/// The run directory, which need not be there yet: a collector comes before the job.
fn run_dir(args: &CollectArgs) -> Result<PathBuf, CliError> {
    match args.dump_details.as_deref().filter(|dir| !dir.is_empty()) {
        Some(dir) if Path::new(dir).exists() && !Path::new(dir).is_dir() => {
            Err(CliError::usage(format!("{}: is not a directory", Path::new(dir).display()))
                .with_hint("-d takes the directory that the job was given as --dump-details"))
        }
        Some(dir) => Ok(dir.into()),
        None if looks_like_run(Path::new(".")) => Ok(".".into()),
        None => Err(CliError::usage("no run directory was given, and the working directory is not one")
            .with_hint("say -d DIR or set MILES_DUMP_DETAILS")),
    }
}

fn summary(summary: Summary, args: &CollectArgs) -> Result<Exit, CliError> {
    let sum = |of: fn(&crate::collect::Tally) -> u64| summary.tallies.iter().map(of).sum::<u64>();
    let (written, dropped, lost) = (sum(|t| t.written), sum(|t| t.dropped), sum(|t| t.waiting));
    if let Some(replaced) = summary.replaced {
        return Err(CliError::from_error(&replaced).with_hint(format!(
            "this collector gave way; {written} records were written, {lost} that waited are lost"
        )));
    }
    if !summary.failures.is_empty() {
        let lost: Vec<String> = Stream::ALL
            .iter()
            .zip(&summary.tallies)
            .filter(|(_, tally)| tally.waiting > 0)
            .map(|(stream, tally)| format!("{stream} {}", tally.waiting))
            .collect();
        let lost = if lost.is_empty() { "no record".to_owned() } else { lost.join(", ") };
        return Err(CliError::new(format!(
            "the last flush failed: {}; lost with it: {lost}; written: {written}, dropped: {dropped}",
            summary.failures.join("; ")
        ))
        .with_hint("make room or repair the disk before the next start"));
    }
    if !args.quiet || dropped > 0 {
        let mut text = format!("{} written", counted(written, "record"));
        let records = |count| counted(count, "record");
        for (count, what) in [
            (dropped, format!("{} dropped because the disk did not take them", records(dropped))),
            (summary.bad_lines, format!("{} left out", counted(summary.bad_lines, "bad line"))),
            (summary.left_out, format!("keys left out of {}", records(summary.left_out))),
        ] {
            if count > 0 {
                text.push_str(", ");
                text.push_str(&what);
            }
        }
        if summary.bad_lines > 0 && args.verbose == 0 {
            text.push_str("; hint: -v tells each");
        }
        say(TOOL, &text);
    }
    Ok(Exit::Ok)
}

impl From<CollectError> for CliError {
    fn from(error: CollectError) -> Self {
        let told = Self::from_error(&error);
        match error {
            // Another collector still writes the run: the same command may work later.
            CollectError::Lock(LockError::Held { hint, .. }) => {
                told.with_exit(Exit::StillWriting).with_hint(hint)
            }
            CollectError::Listen { .. } => told.with_hint("name an address of this host that is free"),
            CollectError::Folder { .. } | CollectError::Lock(_) => {
                told.with_hint("name a directory that you may write to")
            }
            CollectError::System { .. } | CollectError::Writer => told,
        }
    }
}

/// Prints notices on a thread of its own.
struct Talk {
    send: SyncSender<Notice>,
    unsaid: Arc<AtomicU64>,
    thread: thread::JoinHandle<()>,
}

impl Talk {
    fn start(quiet: bool, verbose: u8) -> Result<Self, CliError> {
        let (send, receive) = sync_channel::<Notice>(NOTICES);
        let unsaid = Arc::new(AtomicU64::new(0));
        let missed = Arc::clone(&unsaid);
        let run = move || {
            for notice in receive {
                let before = missed.swap(0, Ordering::Relaxed);
                if before > 0 {
                    say(TOOL, &format!("warning: {before} messages were lost: stderr was stuck"));
                }
                match notice.weight() {
                    Weight::Error => say(TOOL, &notice.to_string()),
                    Weight::Warning if !quiet => say(TOOL, &format!("warning: {notice}")),
                    Weight::Note if !quiet => say(TOOL, &notice.to_string()),
                    Weight::Detail if verbose > 0 => say(TOOL, &notice.to_string()),
                    _ => {}
                }
            }
        };
        let thread = thread::Builder::new().name("talk".into()).spawn(run);
        let thread = thread.map_err(|error| CliError::new(format!("no thread: {error}")))?;
        Ok(Self { send, unsaid, thread })
    }

    fn tell(&self) -> Tell {
        let (send, unsaid) = (self.send.clone(), Arc::clone(&self.unsaid));
        Arc::new(move |notice| {
            if let Err(TrySendError::Full(_)) = send.try_send(notice) {
                unsaid.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Lets the last words out; a stuck stderr does not get to keep the process.
    fn end(self) {
        drop(self.send);
        let until = std::time::Instant::now() + LAST_WORDS;
        while !self.thread.is_finished() && std::time::Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Where a signal is to be written to.
static STOP: AtomicI32 = AtomicI32::new(-1);

/// Lets SIGINT, SIGTERM and SIGHUP end the collector in order; a second one ends the process at once. One
/// that the parent chose to ignore (nohup) stays ignored.
fn stop_on_signals(stop: &Stop) {
    extern "C" fn on_signal(signal: libc::c_int) {
        let byte = b"x";
        // SAFETY: both calls are async-signal-safe, and the byte lives for ever.
        unsafe {
            libc::write(STOP.load(Ordering::Relaxed), byte.as_ptr().cast(), 1);
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    STOP.store(stop.descriptor(), Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler does nothing that is not async-signal-safe.
        unsafe {
            let handler = on_signal as *const () as libc::sighandler_t;
            if libc::signal(signal, handler) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_metrics_has_a_host_and_a_port() {
        for text in ["0.0.0.0:9400", "[::1]:0", "node-1:80"] {
            assert_eq!(host_and_port(text).as_deref(), Ok(text));
        }
        for text in ["", "9400", ":9400", "h:", "h:x", "h:70000"] {
            assert!(host_and_port(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_setting_has_the_type_that_json_gives_it() {
        for (text, value) in [
            ("n=8", serde_json::json!(8)),
            ("colocate=true", serde_json::json!(true)),
            ("name=qwen=3", serde_json::json!("qwen=3")),
            ("id=\"8\"", serde_json::json!("8")),
            ("list=[1,2]", serde_json::json!([1, 2])),
            ("empty=", serde_json::json!("")),
            ("x=null", serde_json::Value::Null),
        ] {
            assert_eq!(argument(text).unwrap().1.get(), value.to_string(), "{text}");
        }
        assert_eq!(argument("n=12345678901234567890123").unwrap().1.get(), "12345678901234567890123");
        assert!(argument("n").is_err() && argument("=1").is_err());
    }
}
