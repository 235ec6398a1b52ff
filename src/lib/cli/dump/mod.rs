//! `miles-dump`: what a run's dumps hold.
//!
//! A command is one file with one function, `run(args, context)`, that opens an output through the
//! context, pushes rows until told to stop, and closes it. [`run`] sends each command to its function.

pub mod args;
pub mod metrics;
pub mod steps_arg;
pub mod stream;
#[cfg(test)]
mod testing;

use self::args::{DumpArgs, DumpCommand};
use super::common::Settings;
use super::context::Context;
use super::exit::{CliError, Exit};

/// The tool's name in messages.
pub const TOOL: &str = "miles-dump";

/// Runs one command.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(args: DumpArgs) -> Result<Exit, CliError> {
    let context = Context::new(TOOL, Settings::new(args.common)?);
    dispatch(&args.command, &context)
}

/// One line a command. Commands that have no function yet are refused by name.
fn dispatch(command: &DumpCommand, _context: &Context) -> Result<Exit, CliError> {
    let name = match command {
        DumpCommand::Ids(_) => "ids",
        DumpCommand::Steps(_) => "steps",
        DumpCommand::Summary(_) => "summary",
        DumpCommand::Groups(_) => "groups",
        DumpCommand::Samples(_) => "samples",
        DumpCommand::Joined(_) => "joined",
        DumpCommand::Tokens(_) => "tokens",
        DumpCommand::Messages(_) => "messages",
        DumpCommand::Metrics(_) => "metrics",
        DumpCommand::Stream(_) => "stream",
        DumpCommand::Inspect(_) => "inspect",
    };
    Err(CliError::new(format!("{name} is not built in yet")))
}
