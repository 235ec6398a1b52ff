//! `miles demo`: writes a synthetic run to try the tools on.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;

use super::context::say;
use super::exit::{CliError, Exit};
use super::miles::TOOL;
use super::progress::Progress;
use crate::demo::{self, Settings};

/// `miles demo`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The same options and seed give the same bytes. A folder that holds anything but an earlier demo
run is refused; an earlier demo run is replaced, and what you put beside it stays.

Examples:
  miles demo /tmp/run && miles-dump -d /tmp/run steps
  miles demo /tmp/large --steps 1 --prompts 128 --max-response 12000")]
pub struct DemoArgs {
    /// Folder for the run: new, empty, or an earlier demo run
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Train steps
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
    /// GPUs a node; a trainer rank on each
    #[arg(long, value_name = "N", default_value_t = Settings::default().gpus)]
    pub gpus: u32,
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = Settings::default().nodes)]
    pub nodes: u32,
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
        seed: args.seed,
    };
    settings.check()?;
    let progress = Progress::new(settings.files() as u64, "files", !args.quiet && io::stderr().is_terminal());
    let report = demo::write(&args.dir, &settings, || progress.add(1))?;
    progress.retire();
    if !args.quiet {
        let dir = args.dir.display();
        let megabytes = report.bytes as f64 / 1e6;
        let note = format!("{dir}: {} files, {megabytes:.1} MB; try miles-dump -d {dir} steps", report.files);
        say(TOOL, &note);
    }
    Ok(Exit::Ok)
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
