//! `miles-scrape`: sglang's metrics to NDJSON.

use std::process::ExitCode;

fn main() -> ExitCode {
    miles::cli::main_scrape(std::env::args_os())
}
