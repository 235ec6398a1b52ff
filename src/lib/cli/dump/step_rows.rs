//! What the commands about steps share: finding them, reading summaries through the cache, and rows
//! that carry `rollout_id` when the command line does not say it alone.

use std::ops::ControlFlow;

use super::steps_arg::{MissingSteps, Steps};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind, Output, RowSink};
use crate::rollout::cache::Cache;
use crate::rollout::kept::{self, Kept};
use crate::rollout::summary::Summary;
use crate::rollout::{Error, Run, StepFiles};

/// Opens the run, and tells which files in it are not read.
pub(super) fn open(context: &Context) -> Result<Run, CliError> {
    let run = Run::open(context.run_dir()?)?;
    run.doubles().iter().for_each(|double| context.warn(double));
    Ok(run)
}

/// The steps that a command is about. A range or list takes what can be read by now; one step, and the
/// newest, must be readable.
pub(super) fn find(run: &Run, steps: &Steps, evaluation: bool) -> Result<Vec<StepFiles>, CliError> {
    match steps {
        Steps::Latest => Ok(vec![run.latest(evaluation)?]),
        Steps::One(id) => Ok(vec![run.step(i64::try_from(*id).unwrap_or(i64::MAX), evaluation)?]),
        Steps::Many(_) => {
            let there: Vec<u64> = run.ids(evaluation).filter_map(|id| u64::try_from(id).ok()).collect();
            let mut found = Vec::new();
            let mut hidden = None;
            for id in steps.resolve(&there)? {
                match run.step(id as i64, evaluation) {
                    Ok(step) => found.push(step),
                    Err(e @ Error::StillWriting { .. }) => hidden = Some(e),
                    Err(e) => return Err(e.into()),
                }
            }
            match hidden {
                Some(e) if found.is_empty() => Err(e.into()),
                _ => Ok(found),
            }
        }
    }
}

/// Does something for each step. Of several steps a damaged one is told and skipped, the others go on,
/// and the exit status says so at the end; a single one fails at once.
pub(super) fn each(
    context: &Context,
    steps: &[StepFiles],
    mut f: impl FnMut(&StepFiles) -> Result<ControlFlow<()>, CliError>,
) -> Result<Exit, CliError> {
    let bar = context.progress(steps.len() as u64, "steps");
    let mut exit = Exit::Ok;
    for step in steps {
        match f(step) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break,
            Err(e) if steps.len() == 1 || e.ends_all() => return Err(e),
            Err(e) => {
                // One step that is being written is worth a retry; a damaged one is not.
                exit = if exit == Exit::Ok || exit == e.exit() { e.exit() } else { Exit::Error };
                context.complain(&e);
            }
        }
        bar.add(1);
    }
    Ok(exit)
}

/// Reads a step's summary, from the cache when that is still true.
pub(super) fn summary(
    context: &Context,
    cache: Option<&Cache>,
    files: &StepFiles,
) -> Result<Summary, CliError> {
    let Kept { summary, from_cache, not_stored } = kept::summary(files, cache)?;
    if from_cache {
        context.note(2, format_args!("step {}: summary from the cache", files.id.rollout_id));
    }
    if let Some(why) = not_stored {
        context.note(1, format_args!("summary not kept: {why}"));
    }
    tell(context, files, &summary);
    Ok(summary)
}

/// What the numbers of a step do not say by themselves.
fn tell(context: &Context, files: &StepFiles, summary: &Summary) {
    let (id, n) = (files.id.rollout_id, summary.rows.len());
    told_sibling(context, files);
    let joined = summary.joined();
    if summary.has_train && joined < n {
        let ranks = files.train.len();
        context.warn(format_args!(
            "step {id}: {joined} of {n} samples have a train row in the {ranks} rank files; the rest are null"
        ));
    }
    match summary.unplaced() {
        0 => {}
        k => context.warn(format_args!(
            "step {id}: {k} of {n} samples have train columns whose slices cannot be placed (alignment_failed); a rank's file may be missing"
        )),
    }
    told_replaced(context, files, summary.replaced_characters);
}

/// Says that the train side is one that is not read.
pub(super) fn told_sibling(context: &Context, files: &StepFiles) {
    if let Some(sibling) = &files.sibling {
        context.warn(format_args!(
            "{}: a train file of slime's layout, which is not joined; columns of the train side are null",
            sibling.display()
        ));
    }
}

/// Says how many characters were not text.
pub(super) fn told_replaced(context: &Context, files: &StepFiles, n: u64) {
    if n > 0 {
        context.warn(format_args!("{}: {n} lone surrogates replaced by U+FFFD", files.rollout.display()));
    }
}

/// An output whose rows begin with `rollout_id` when that is needed.
pub(super) struct StepRows {
    output: Output,
    with_id: bool,
}

impl StepRows {
    pub fn open(context: &Context, steps: &Steps, columns: &[Column]) -> Result<Self, CliError> {
        let with_id = steps.needs_rollout_id() && columns.iter().all(|c| c.name != "rollout_id");
        let mut all = Vec::with_capacity(columns.len() + 1);
        all.extend(with_id.then(|| Column::new("rollout_id", Kind::Int)));
        all.extend_from_slice(columns);
        Ok(Self { output: context.open(&all)?, with_id })
    }

    pub fn row(&mut self, rollout_id: i64, mut cells: Vec<Cell<'_>>) -> Result<ControlFlow<()>, CliError> {
        if self.with_id {
            cells.insert(0, Cell::Int(rollout_id));
        }
        Ok(self.output.row(&cells)?)
    }

    /// Ends the output; `exit` is what the steps came to.
    pub fn close(self, context: &Context, exit: Exit) -> Result<Exit, CliError> {
        context.close(self.output)?;
        if let (true, Some(path)) = (exit != Exit::Ok, &context.settings().output.path) {
            context
                .warn(format_args!("{}: written without the steps that could not be read", path.display()));
        }
        Ok(exit)
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let exit = match &error {
            Error::StillWriting { .. } => Exit::StillWriting,
            Error::EmptyRange { .. } => Exit::Usage,
            _ => Exit::Error,
        };
        let made = Self::from_error(&error).with_exit(exit);
        match error.hint() {
            Some(hint) => made.with_hint(hint),
            None => made,
        }
    }
}

impl From<MissingSteps> for CliError {
    fn from(error: MissingSteps) -> Self {
        Self::from_error(&error).with_hint("miles-dump ids lists the steps")
    }
}
