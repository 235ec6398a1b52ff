//! `miles-sample`: GPUs to NDJSON.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use clap::{ArgAction, Parser};

use super::context::say;
use super::exit::{CliError, Exit};
use crate::gpu::{
    Control, Ended, Finished, Note, NvmlSource, SampleError, Sampler, Settings, Trouble, node_address,
};

/// The tool's name in messages.
pub const TOOL: &str = "miles-sample";

/// Bounds of an interval in seconds: no driver measures anything a hundred times a second, and a day is never.
const INTERVAL_S: [f64; 2] = [0.01, 86_400.0];

/// Read the GPUs of this host at an even pace, as records on stdout: one JSON object a line, with its stream
/// first.
///
/// Streams are gpu_util and gpu_processes, and with --health gpu_health: temperatures, clocks and why they are
/// low, memory, power, activity, NVLink and PCIe traffic, ECC errors and XIDs, MIG, UUID; null where a card
/// lacks it.
#[derive(Debug, Parser)]
#[command(name = "miles-sample", version, max_term_width = 100)]
#[command(after_help = "\
GPUs are numbered as the driver does, by PCI bus address, whatever CUDA_VISIBLE_DEVICES says:
NVIDIA's library, which is read here, knows nothing of that variable.

A card that hangs or is gone costs its own records; it is looked for again, and known by its UUID.
A card without utilisation (MIG), memory or power is left out of gpu_util, which cannot hold null,
and is in gpu_health. A reader of stdout that stops costs ticks, which are counted.

Exit status: 0 also when told to end or when the reader goes away, 69 without a driver or a GPU.

Examples:
  miles-sample --count 1 --health | jq .
  miles-sample | miles-collect -d RUN
  miles-sample --gpus 0,2 --interval 0.2 --process-interval 0 > gpus.ndjson
  ssh node7 miles-sample --node node7 | miles-collect -d RUN")]
pub struct SampleArgs {
    /// Time between two readings
    #[arg(long, value_name = "SECONDS", default_value = "1.0", value_parser = interval)]
    pub interval: Duration,

    /// Time between two lists of the GPUs' processes; 0 for none
    #[arg(long, value_name = "SECONDS", default_value = "5.0", value_parser = interval_or_none)]
    pub process_interval: OrNone,

    /// Name of this host in the records [default: its address towards the network, as the job has it]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,

    /// Only these GPUs, by the driver's numbers [default: all]
    #[arg(long, value_name = "0,2,…", value_delimiter = ',')]
    pub gpus: Option<Vec<u32>>,

    /// End after N readings [default: go on until told to end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// NVIDIA's library [default: the system's libnvidia-ml.so.1, else libnvidia-ml.so]
    #[arg(long, value_name = "PATH")]
    pub nvml: Option<PathBuf>,

    /// Make records of gpu_health too
    #[arg(long)]
    pub health: bool,

    /// No warnings on stderr; errors stay
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say on stderr what was opened and how it ended
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

/// An interval, or none: an option of an option would be another kind of argument to clap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrNone(pub Option<Duration>);

fn interval(text: &str) -> Result<Duration, String> {
    let [least, most] = INTERVAL_S;
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(least..=most).contains(&seconds) {
        return Err(format!("seconds from {least} to {most}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn interval_or_none(text: &str) -> Result<OrNone, String> {
    if text.parse() == Ok(0.0) {
        return Ok(OrNone(None));
    }
    interval(text).map(|interval| OrNone(Some(interval)))
}

/// Runs the tool.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(args: SampleArgs) -> Result<Exit, CliError> {
    let node = match args.node {
        Some(node) if node.is_empty() => {
            return Err(CliError::usage("--node is given an empty name").with_hint("name the host"));
        }
        Some(node) => node,
        None => node_address(),
    };
    let SampleArgs { quiet, verbose, .. } = args;
    let gpus = args.gpus.map(|mut gpus| {
        gpus.sort_unstable();
        gpus.dedup();
        gpus
    });
    let settings = Settings {
        interval: args.interval,
        process_interval: args.process_interval.0,
        node,
        gpus,
        count: args.count,
        health: args.health,
    };
    let signals = Signals::hold();
    let no_thread = |error: io::Error| CliError::new(format!("no thread: {error}"));
    let talk = Talk::new().map_err(no_thread)?;
    let mut tell = |note| match note {
        Note::Warning(text) if !quiet => talk.say(format!("warning: {text}")),
        Note::Detail(text) if verbose > 0 => talk.say(text),
        _ => {}
    };
    // Not the buffered one, whose lock a blocked write would hold when the process ends.
    let failed = |error: io::Error| CliError::new(format!("stdout: {error}"));
    let out = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(failed)?);
    let sampler = Sampler::new(settings, Arc::new(NvmlSource::new(args.nvml)), &mut tell);
    signals.end(sampler.control()).map_err(no_thread)?;
    let Finished { ended, busy } = sampler.run(out);
    match &ended {
        Ok(ended) if verbose > 0 => talk.say(summary(ended)),
        Ok(ended) if ended.dropped > 0 && !quiet => {
            talk.say(format!("warning: {} ticks were dropped", ended.dropped));
        }
        _ => {}
    }
    talk.end();
    let result = ended.map(|_| Exit::Ok).map_err(cli_error);
    if busy {
        leave(&result);
    }
    result
}

/// Talks on stderr from a thread of its own: where stderr is the same pipe as stdout, a reader that stops would
/// otherwise stop the sampler by way of what it says about that.
struct Talk {
    lines: SyncSender<String>,
    done: Receiver<()>,
}

impl Talk {
    /// Lines that wait; more are lost.
    const QUEUE: usize = 100;
    /// At the end, what waits is given this long.
    const PATIENCE: Duration = Duration::from_millis(500);

    fn new() -> io::Result<Self> {
        let (lines, queue) = sync_channel::<String>(Self::QUEUE);
        let (tell, done) = sync_channel(1);
        thread::Builder::new().name("talk".into()).spawn(move || {
            queue.iter().for_each(|line| say(TOOL, &line));
            let _ = tell.send(());
        })?;
        Ok(Self { lines, done })
    }

    fn say(&self, line: String) {
        let _ = self.lines.try_send(line);
    }

    fn end(self) {
        drop(self.lines);
        let _ = self.done.recv_timeout(Self::PATIENCE);
    }
}

fn summary(ended: &Ended) -> String {
    let Ended { ticks, skipped, dropped, readings } = ended;
    format!("{readings} readings in {ticks} ticks; {skipped} ticks skipped, {dropped} dropped")
}

fn cli_error(error: SampleError) -> CliError {
    let hint = match &error {
        SampleError::NoDevice(gpu) => Some(match gpu.trouble {
            Trouble::NoLibrary => "install NVIDIA's driver, or name its libnvidia-ml.so.1 with --nvml",
            Trouble::Denied => "may this user read /dev/nvidia*?",
            _ => "does nvidia-smi list a GPU?",
        }),
        SampleError::NothingRead(_) => Some("does nvidia-smi answer?"),
        SampleError::NoSuchGpu { .. } | SampleError::Output(_) | SampleError::System(_) => None,
    };
    let exit = match &error {
        SampleError::NoDevice(_) | SampleError::NoSuchGpu { .. } | SampleError::NothingRead(_) => {
            Exit::Unavailable
        }
        SampleError::Output(_) | SampleError::System(_) => Exit::Error,
    };
    let error = CliError::new(error.to_string()).with_exit(exit);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Ends the process while a thread is within the driver's library: what the library does when a process ends
/// in order could wait for that thread for ever.
fn leave(result: &Result<Exit, CliError>) -> ! {
    let exit = match result {
        Ok(exit) => *exit,
        Err(error) => {
            say(TOOL, &error.to_string());
            error.exit()
        }
    };
    // SAFETY: it takes a plain number.
    unsafe { libc::_exit(exit.code().into()) }
}

/// SIGINT, SIGTERM and SIGHUP, when they are no longer delivered to any thread.
struct Signals(libc::sigset_t);

impl Signals {
    /// To be called before there are other threads: those inherit that the signals are not theirs.
    fn hold() -> Self {
        let mut signals = MaybeUninit::uninit();
        // SAFETY: sigemptyset(3) makes the set; the rest reads it, or takes plain numbers.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            let mut signals = signals.assume_init();
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // One that the parent chose to ignore (nohup) stays ignored; held it would arrive all the same.
                if libc::signal(signal, libc::SIG_DFL) == libc::SIG_IGN {
                    libc::signal(signal, libc::SIG_IGN);
                } else {
                    libc::sigaddset(&raw mut signals, signal);
                }
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
            Self(signals)
        }
    }

    /// The first one ends the sampler in order, a second one the process at once.
    fn end(self, control: Control) -> io::Result<()> {
        let wait = move || {
            let Self(signals) = self;
            let mut signal = 0;
            // SAFETY: both outlive the call.
            unsafe { libc::sigwait(&raw const signals, &raw mut signal) };
            control.stop();
            // SAFETY: as above. Of this thread alone, which is enough: the next one has its default action.
            unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const signals, std::ptr::null_mut()) };
            loop {
                thread::park();
            }
        };
        thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        SampleArgs::command().debug_assert();
    }

    #[test]
    fn an_interval_is_a_number_of_seconds_within_bounds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for text in ["0", "-1", "nan", "inf", "1e9", "1s", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
        assert_eq!(interval_or_none("0"), Ok(OrNone(None)));
        assert_eq!(interval_or_none("5.0"), Ok(OrNone(Some(Duration::from_secs(5)))));
    }
}
