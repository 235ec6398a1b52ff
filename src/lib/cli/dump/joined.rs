//! `miles-dump joined`: one row a sample with the per-token lists of both sides, values as recorded.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use super::args::JoinedArgs;
use super::step_rows::{self, StepRows};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind};
use crate::rollout::summary::{self, Row, TrainStats};
use crate::rollout::{Batch, Computed, Sample, Series, StepFiles, Train, TrainRow};

/// Behind the summary's columns. Names are those of the tokens object; the trainer's own copy of the
/// engine's log-probs keeps its key with a prefix.
const LISTS: [Column; 11] = [
    Column::new("tokens", Kind::Ints),
    Column::new("rollout_loss_mask", Kind::Mask),
    Column::new("rollout_log_probs", Kind::Floats),
    Column::new("loss_mask", Kind::Mask),
    Column::new("train_rollout_log_probs", Kind::Floats),
    Column::new("train_log_probs", Kind::Floats),
    Column::new("ref_log_probs", Kind::Floats),
    Column::new("entropy", Kind::Floats),
    Column::new("ref_entropy", Kind::Floats),
    Column::new("advantages", Kind::Floats),
    Column::new("returns", Kind::Floats),
];

/// Rows after which the files' pages are given back, so that memory does not grow with the batch.
const ROWS_HELD: usize = 64;

/// The train side's columns in the order of [`LISTS`], from `train_rollout_log_probs` on.
const COMPUTED: [Computed; 7] = [
    Computed::RolloutLogProbs,
    Computed::LogProbs,
    Computed::RefLogProbs,
    Computed::Entropy,
    Computed::RefEntropy,
    Computed::Advantages,
    Computed::Returns,
];

/// One row a sample, read and written one at a time.
pub(super) fn run(args: &JoinedArgs, context: &Context) -> Result<Exit, CliError> {
    let run = step_rows::open(context)?;
    let found = step_rows::find(&run, &args.steps, false)?;
    let columns: Vec<Column> = summary::COLUMNS.iter().chain(&LISTS).cloned().collect();
    let mut output = None;
    let exit = step_rows::each(context, &found, |files| {
        let (batch, train) = rayon::join(|| Batch::open(&files.rollout), || Train::open(files));
        let (batch, train) = (batch?, train?);
        let known: HashSet<i64> = batch.samples().filter_map(Sample::index).collect();
        train.check_indices(&known)?;
        let raw = train.raw_reward(batch.len())?;
        let output = match &mut output {
            Some(output) => output,
            none => none.insert(StepRows::open(context, &args.steps, &columns)?),
        };
        for (place, sample) in batch.samples().enumerate() {
            let train_row = sample.index().and_then(|i| train.row(i));
            let stats = train_row.map(TrainStats::of).transpose()?;
            let raw = raw.and_then(|r| r.get(place).copied().flatten());
            let row = Row::new(sample, files.id.rollout_id, raw, stats);
            let mut cells = row.cells();
            lists(context, sample, train_row, &mut cells)?;
            if output.row(files.id.rollout_id, cells)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if place % ROWS_HELD == ROWS_HELD - 1 {
                train.release_pages();
                batch.file().release_pages();
            }
        }
        tell(context, files, &batch, &train);
        Ok(ControlFlow::Continue(()))
    })?;
    match output {
        Some(output) => output.close(context, exit),
        None => Ok(exit),
    }
}

fn tell(context: &Context, files: &StepFiles, batch: &Batch, train: &Train) {
    step_rows::told_sibling(context, files);
    let joined = batch.samples().filter(|s| s.index().is_some_and(|i| train.row(i).is_some())).count();
    if !train.is_empty() && joined < batch.len() {
        context.warn(format_args!(
            "step {}: {joined} of {} samples have a train row; the rest are null",
            files.id.rollout_id,
            batch.len()
        ));
    }
    step_rows::told_replaced(context, files, batch.file().replaced_characters());
}

fn lists<'a>(
    context: &Context,
    sample: Sample<'a>,
    train: Option<TrainRow<'a>>,
    cells: &mut Vec<Cell<'a>>,
) -> Result<(), CliError> {
    let wants = |name: &str| context.wants(name);
    let cell = |v: Option<Cell<'a>>| v.unwrap_or(Cell::Null);
    let tokens = if wants("tokens") { sample.tokens()? } else { None };
    cells.push(cell(tokens.map(|v| Cell::Ints(v.into()))));
    let mask = if wants("rollout_loss_mask") { sample.loss_mask()? } else { None };
    cells.push(cell(mask.map(|v| Cell::Mask(v.into()))));
    let own = if wants("rollout_log_probs") { sample.rollout_log_probs()? } else { None };
    cells.push(cell(own.map(|v| Cell::Floats(v.into()))));
    let Some(train) = train else {
        cells.extend(std::iter::repeat_n(Cell::Null, 1 + COMPUTED.len()));
        return Ok(());
    };
    let mask = if wants("loss_mask") { train.mask()? } else { None };
    let small = |m: &i32| i8::try_from(*m).unwrap_or(if *m > 0 { i8::MAX } else { i8::MIN });
    cells.push(cell(mask.map(|v| Cell::Mask(v.iter().map(small).collect::<Vec<_>>().into()))));
    let columns = train.columns()?;
    for (column, described) in COMPUTED.into_iter().zip(&LISTS[4..]) {
        let series = if wants(&described.name) { columns.get(column)? } else { Series::Absent };
        cells.push(match series {
            Series::Values(Cow::Borrowed(v)) => Cell::Floats(Cow::Borrowed(v)),
            Series::Values(Cow::Owned(v)) => Cell::Floats(Cow::Owned(v)),
            Series::Absent | Series::Unplaced => Cell::Null,
        });
    }
    Ok(())
}
