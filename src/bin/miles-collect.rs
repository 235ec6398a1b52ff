//! `miles-collect`: NDJSON records to a run's streams.

use std::process::ExitCode;

fn main() -> ExitCode {
    miles::cli::main_collect(std::env::args_os())
}
