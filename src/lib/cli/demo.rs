//! `miles demo`: writes a synthetic run to try the tools on.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;

use super::context::say;
use super::exit::{CliError, Exit};
use super::miles::TOOL;
use super::progress::Progress;
use crate::demo::{self, Live, Report, Settings};

/// `miles demo`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The same options and seed give the same bytes: the run begins at 2026-01-01 11:45 UTC. With --live
it ends now and goes on, a second at a time, until it is interrupted. A folder that holds anything
but an earlier demo run is refused; an earlier demo run is replaced, and what you put beside it stays.

Up to five minutes a step, the steps fill the run. A longer run has a step every two and a half
minutes and dumps of the last ones only.

Examples:
  miles demo /tmp/run && miles-dump -d /tmp/run steps
  miles demo /tmp/large --steps 1 --prompts 128 --max-response 12000
  miles demo /tmp/cluster --nodes 8 --minutes 720
  miles demo /tmp/running --live")]
pub struct DemoArgs {
    /// Folder for the run: new, empty, or an earlier demo run
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Train steps with dumps
    #[arg(long, value_name = "N", default_value_t = Settings::default().steps)]
    pub steps: u32,
    /// Prompts (groups) a step; an evaluation has a quarter of them
    #[arg(long, value_name = "N", default_value_t = Settings::default().prompts)]
    pub prompts: u32,
    /// Samples a prompt
    #[arg(long, value_name = "N", default_value_t = Settings::default().samples_per_prompt)]
    pub samples_per_prompt: u32,
    /// Tokens of the longest response, at least 256
    #[arg(long, value_name = "TOKENS", default_value_t = Settings::default().max_response)]
    pub max_response: u32,
    /// GPUs a node; a trainer rank on each, of which the first 16 of the run dump
    #[arg(long, value_name = "N", default_value_t = Settings::default().gpus)]
    pub gpus: u32,
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = Settings::default().nodes)]
    pub nodes: u32,
    /// Length of the telemetry, 0 for dumps alone [default: 30, or less for fewer than 8 steps]
    #[arg(long, value_name = "N")]
    pub minutes: Option<u32>,
    /// Let the run end now, and keep appending to it in real time until interrupted
    #[arg(long)]
    pub live: bool,
    /// Where the random numbers begin
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed)]
    pub seed: u64,
    /// No progress bar and no notes on stderr; errors stay
    #[arg(short, long)]
    pub quiet: bool,
}

/// Writes the run and says on stderr what came of it.
///
/// # Errors
/// A setting out of bounds, a folder that is not ours, or a disk that refuses.
pub fn run(args: &DemoArgs) -> Result<Exit, CliError> {
    let settings = Settings {
        steps: args.steps,
        prompts: args.prompts,
        samples_per_prompt: args.samples_per_prompt,
        max_response: args.max_response,
        gpus: args.gpus,
        nodes: args.nodes,
        minutes: args.minutes.unwrap_or_else(|| Settings::usual_minutes(args.steps)),
        seed: args.seed,
    };
    settings.check()?;
    let progress = Progress::new(settings.files() as u64, "files", !args.quiet && io::stderr().is_terminal());
    let dir = args.dir.display();
    let tell = |report: Report, advice: &str| {
        progress.retire();
        let megabytes = report.bytes as f64 / 1e6;
        if !args.quiet {
            say(TOOL, &format!("{dir}: {} files, {megabytes:.1} MB; {advice}", report.files));
        }
    };
    if !args.live {
        let report = demo::write(&args.dir, &settings, || progress.add(1))?;
        tell(report, &format!("try miles-dump -d {dir} steps"));
        return Ok(Exit::Ok);
    }
    let mut live = Live::begin(&args.dir, &settings, || progress.add(1))?;
    tell(live.report(), "goes on until interrupted");
    stop_on_signals();
    live.follow(&STOP)?;
    tell(live.report(), "stopped");
    Ok(Exit::Ok)
}

/// Set by a signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// Lets SIGINT and SIGTERM end a live run between two appends instead of within one.
fn stop_on_signals() {
    extern "C" fn stop(_signal: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: storing to an atomic is async-signal-safe.
        unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
    }
}

impl From<demo::Error> for CliError {
    fn from(error: demo::Error) -> Self {
        let told =
            Self::from_error(&error).with_exit(if error.is_usage() { Exit::Usage } else { Exit::Error });
        match error.hint() {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}
