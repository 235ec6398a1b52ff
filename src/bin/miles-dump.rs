//! `miles-dump`: what a run's dumps hold.

use std::process::ExitCode;

fn main() -> ExitCode {
    miles::cli::main_dump(std::env::args_os())
}
