//! `miles-sample`: GPUs to NDJSON.

use std::process::ExitCode;

fn main() -> ExitCode {
    miles::cli::main_sample(std::env::args_os())
}
