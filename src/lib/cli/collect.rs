//! `miles-collect`: NDJSON records to a run's streams.

use clap::Parser;

use super::exit::{CliError, Exit};

/// The tool's name in messages.
pub const TOOL: &str = "miles-collect";

/// NDJSON records to a run's streams.
#[derive(Debug, Parser)]
#[command(name = "miles-collect", version, max_term_width = 100)]
pub struct CollectArgs {}

/// Runs the tool.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(_args: CollectArgs) -> Result<Exit, CliError> {
    Err(CliError::new("not built yet"))
}
