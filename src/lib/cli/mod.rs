//! The tools' command lines: arguments, checked settings, a run, an exit status.
//!
//! Only this floor prints to stderr and only its entry points end a process. An error is told once,
//! on one line: `miles-dump: WHAT; hint: WHAT TO DO`.

pub mod collect;
pub mod common;
pub mod context;
pub mod demo;
pub mod dump;
pub mod exit;
pub mod miles;
pub mod progress;
pub mod sample;
pub mod scrape;
pub mod serve;
mod signals;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use self::exit::{CliError, Exit};

/// The whole of `miles-dump`.
pub fn main_dump(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_tool(dump::TOOL, args, dump::run)
}

/// The whole of `miles-sample`.
pub fn main_sample(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_tool(sample::TOOL, args, sample::run)
}

/// The whole of `miles-scrape`.
pub fn main_scrape(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_tool(scrape::TOOL, args, scrape::run)
}

/// The whole of `miles-collect`.
pub fn main_collect(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_tool(collect::TOOL, args, collect::run)
}

/// The whole of `miles`.
pub fn main_miles(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_tool(miles::TOOL, args, miles::run)
}

fn run_tool<A: Parser>(
    tool: &'static str,
    args: impl IntoIterator<Item = OsString>,
    run: impl FnOnce(A) -> Result<Exit, CliError>,
) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    signals::install(tool);
    // The panic hook has told what happened; what is left is the exit status. Nothing is looked at
    // after a panic, so nothing half-changed can be seen.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| match A::try_parse_from(&args) {
        Ok(args) => run(args),
        Err(error) => tell_usage(&command_of::<A>(tool, &args), &error),
    }));
    match ended {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            // A closed stderr must not turn one failure into two.
            let _ = writeln!(io::stderr().lock(), "{tool}: {error}");
            error.exit()
        }
        Err(_panic) => Exit::Error,
    }
    .into()
}

/// The command that arguments are for, as `miles serve`: whose help says more.
fn command_of<A: CommandFactory>(tool: &str, args: &[OsString]) -> String {
    let mut command = &A::command();
    let mut name = tool.to_owned();
    for arg in args.iter().skip(1) {
        if let Some(sub) = command.find_subcommand(arg) {
            command = sub;
            name = format!("{name} {}", sub.get_name());
        }
    }
    name
}

/// Help and version are answers on stdout; all else about arguments is a usage error: one line as every
/// other error, where the parser writes a paragraph.
fn tell_usage(command: &str, error: &clap::Error) -> Result<Exit, CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed stdout is no failure of ours.
            let _ = error.print();
            return Ok(Exit::Ok);
        }
        // The help itself, on stderr.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return Ok(Exit::Usage);
        }
        _ => {}
    }
    let text = error.render().to_string();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let about = |line: &&str| {
        !line.starts_with("tip:") && !line.starts_with("Usage:") && !line.starts_with("For more")
    };
    let message: Vec<&str> = lines().filter(about).collect();
    let message = message.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let tip = lines().find_map(|line| line.strip_prefix("tip: ").map(str::to_owned));
    let usage =
        lines().find_map(|line| line.strip_prefix("Usage: ").map(|usage| format!("usage is {usage}")));
    let hint = tip.or(usage).unwrap_or_else(|| format!("{command} --help"));
    Err(CliError::usage(message).with_hint(hint))
}
