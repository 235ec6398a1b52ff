//! `miles`: all tools under one name.

use std::process::ExitCode;

fn main() -> ExitCode {
    miles::cli::main_miles(std::env::args_os())
}
