//! `miles-sample`: GPUs to NDJSON.

use clap::Parser;

use super::exit::{CliError, Exit};

/// The tool's name in messages.
pub const TOOL: &str = "miles-sample";

/// GPUs to NDJSON.
#[derive(Debug, Parser)]
#[command(name = "miles-sample", version, max_term_width = 100)]
pub struct SampleArgs {}

/// Runs the tool.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(_args: SampleArgs) -> Result<Exit, CliError> {
    Err(CliError::new("not built yet"))
}
