//! `miles-dump`: what a run's dumps hold.
//!
//! A command is one file with one function, `run(args, context)`, that opens an output through the
//! context, pushes rows until told to stop, and closes it. [`run`] sends each command to its function.

pub mod args;
mod ids;
mod inspect;
mod joined;
mod messages;
pub mod metrics;
mod samples;
mod step_rows;
pub mod steps_arg;
pub mod stream;
mod streams;
mod summary;
#[cfg(test)]
mod testing;
mod tokens;

use self::args::{DumpArgs, DumpCommand};
use super::common::Settings;
use super::context::Context;
use super::exit::{CliError, Exit};
use crate::rollout::cache::Cache;

/// The tool's name in messages.
pub const TOOL: &str = "miles-dump";

/// Runs one command.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(args: DumpArgs) -> Result<Exit, CliError> {
    let context = Context::new(TOOL, Settings::new(args.common)?);
    let cache = || match (args.no_cache, &args.cache_dir) {
        (true, _) => Ok(None),
        (false, Some(dir)) => Ok(Some(Cache::new(dir.clone()))),
        (false, None) => Ok(Some(Cache::of_run(&context.run_dir()?))),
    };
    dispatch(&args.command, cache, &context)
}

/// One line a command.
fn dispatch(
    command: &DumpCommand,
    cache: impl Fn() -> Result<Option<Cache>, CliError>,
    context: &Context,
) -> Result<Exit, CliError> {
    match command {
        DumpCommand::Ids(_) => ids::run(context),
        DumpCommand::Steps(_) => summary::steps(cache()?.as_ref(), context),
        DumpCommand::Summary(args) => summary::summary(args, cache()?.as_ref(), context),
        DumpCommand::Groups(args) => summary::groups(args, cache()?.as_ref(), context),
        DumpCommand::Samples(args) => samples::run(args, context),
        DumpCommand::Joined(args) => joined::run(args, context),
        DumpCommand::Tokens(args) => tokens::run(args, context),
        DumpCommand::Messages(args) => messages::run(args, context),
        DumpCommand::Metrics(args) => streams::metrics(args, context),
        DumpCommand::Stream(args) => streams::stream(args, context),
        DumpCommand::Inspect(args) => inspect::run(args, context),
    }
}
