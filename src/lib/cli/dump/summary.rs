//! `miles-dump summary`, `groups` and `steps`: rows made from the summary of each step.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::args::{GroupsArgs, SummaryArgs};
use super::step_rows::{self, StepRows};
use super::steps_arg::{Span, Steps};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{self, Column};
use crate::rollout::cache::Cache;
use crate::rollout::summary::Summary;
use crate::rollout::{groups, steps, summary};

/// One row a sample.
pub(super) fn summary(
    args: &SummaryArgs,
    cache: Option<&Cache>,
    context: &Context,
) -> Result<Exit, CliError> {
    let lowest = Cell::new(0);
    let exit = rows(context, cache, &args.steps, args.eval, &summary::COLUMNS, |summary, push| {
        summary.rows.iter().try_for_each(|row| {
            lowest.set(lowest.get().min(row.staleness.unwrap_or(0)));
            push(row.cells())
        })
    })?;
    if lowest.get() < 0 {
        context.warn(format_args!(
            "staleness falls to {}: weight versions above the rollout id, as after a failover to older weights",
            lowest.get()
        ));
    }
    Ok(exit)
}

/// One row a group.
pub(super) fn groups(args: &GroupsArgs, cache: Option<&Cache>, context: &Context) -> Result<Exit, CliError> {
    rows(context, cache, &args.steps, args.eval, &groups::COLUMNS, |summary, push| {
        groups::groups(&summary.rows, summary.id.evaluation).iter().try_for_each(|group| push(group.cells()))
    })
}

/// One row a train step.
pub(super) fn steps(cache: Option<&Cache>, context: &Context) -> Result<Exit, CliError> {
    let all = Steps::Many(vec![Span { first: 0, last: u64::MAX }]);
    rows(context, cache, &all, false, &steps::COLUMNS, |summary, push| push(steps::Step::of(summary).cells()))
}

/// Why a row is the last: it was refused, or nobody wants more.
type Stop = Option<CliError>;

fn rows(
    context: &Context,
    cache: Option<&Cache>,
    wanted: &Steps,
    evaluation: bool,
    columns: &[Column],
    make: impl Fn(&Summary, &mut dyn FnMut(Vec<output::Cell<'_>>) -> Result<(), Stop>) -> Result<(), Stop>,
) -> Result<Exit, CliError> {
    let run = step_rows::open(context)?;
    let found = step_rows::find(&run, wanted, evaluation)?;
    let mut output = None;
    let exit = step_rows::each(context, &found, |files| {
        let summary = step_rows::summary(context, cache, files)?;
        let output = match &mut output {
            Some(output) => output,
            // Opened only now, so that a step that cannot be read leaves no file behind.
            none => none.insert(StepRows::open(context, wanted, columns)?),
        };
        let mut push = |cells: Vec<output::Cell<'_>>| match output.row(files.id.rollout_id, cells) {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(())) => Err(None),
            Err(e) => Err(Some(e)),
        };
        match make(&summary, &mut push) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(None) => Ok(ControlFlow::Break(())),
            Err(Some(e)) => Err(e),
        }
    })?;
    match output {
        Some(output) => output.close(context, exit),
        None => Ok(exit),
    }
}
