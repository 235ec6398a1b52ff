//! `miles-scrape`: sglang's metrics to NDJSON.

use clap::Parser;

use super::exit::{CliError, Exit};

/// The tool's name in messages.
pub const TOOL: &str = "miles-scrape";

/// sglang's metrics to NDJSON.
#[derive(Debug, Parser)]
#[command(name = "miles-scrape", version, max_term_width = 100)]
pub struct ScrapeArgs {}

/// Runs the tool.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(_args: ScrapeArgs) -> Result<Exit, CliError> {
    Err(CliError::new("not built yet"))
}
