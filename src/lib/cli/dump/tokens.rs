//! `miles-dump tokens`: one row a token, or the API's single object.

use std::ops::ControlFlow;

use super::args::TokensArgs;
use super::step_rows::{self, StepRows};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind};
use crate::rollout::object::TokensObject;
use crate::rollout::text::Decoder;
use crate::rollout::tokens::{Sequence, SeriesName};
use crate::rollout::{Error, Run, StepFiles};

const COLUMNS: [Column; 14] = [
    Column::new("position", Kind::Int),
    Column::new("token_id", Kind::Int),
    Column::new("token_text", Kind::Text),
    Column::new("response_position", Kind::Int),
    Column::new("loss_mask", Kind::Int),
    Column::new("rollout_log_prob", Kind::Float32),
    Column::new("train_log_prob", Kind::Float32),
    Column::new("lp_diff", Kind::Float32),
    Column::new("imp_ratio", Kind::Float32),
    Column::new("entropy", Kind::Float32),
    Column::new("ref_entropy", Kind::Float32),
    Column::new("ref_log_prob", Kind::Float32),
    Column::new("advantage", Kind::Float32),
    Column::new("return", Kind::Float32),
];

/// The series in the order of [`COLUMNS`], from `rollout_log_prob` on.
const SERIES: [SeriesName; 9] = [
    SeriesName::RolloutLogProbs,
    SeriesName::TrainLogProbs,
    SeriesName::LpDiff,
    SeriesName::ImpRatio,
    SeriesName::Entropy,
    SeriesName::RefEntropy,
    SeriesName::RefLogProbs,
    SeriesName::Advantages,
    SeriesName::Returns,
];

/// One row a token of one sample. Of several steps those that hold the sample.
pub(super) fn run(args: &TokensArgs, context: &Context) -> Result<Exit, CliError> {
    let run = step_rows::open(context)?;
    let found = step_rows::find(&run, &args.steps, args.eval)?;
    // Loaded for the first sample that is there, so that an error about the sample is all that is said.
    let mut loaded: Option<Option<Decoder>> = None;
    let mut output: Option<StepRows> = None;
    let mut documents = String::new();
    let mut missing = None;
    let mut seen = false;
    let exit = step_rows::each(context, &found, |files| {
        let sequence = match Sequence::read(&run, files, args.sample) {
            Err(e @ Error::NoSample { .. }) if found.len() > 1 => {
                missing.get_or_insert(e);
                return Ok(ControlFlow::Continue(()));
            }
            other => other?,
        };
        seen = true;
        tell(context, files, &sequence);
        let window = sequence.window(args.start, args.end)?;
        let decoder = loaded.get_or_insert_with(|| decoder(args, context, &run));
        let ids = &sequence.tokens[window.start..window.end];
        if let Some(Err(why)) = decoder.as_mut().map(|d| d.learn(ids)) {
            no_tokenizer(context, &why);
            *decoder = None;
        }
        if args.object {
            let object = TokensObject { sequence: &sequence, window, decoder: decoder.as_ref() };
            // Numbers and text: serialising them to memory cannot fail.
            documents.push_str(&serde_json::to_string(&object).unwrap_or_default());
            documents.push('\n');
            return Ok(ControlFlow::Continue(()));
        }
        let output = match &mut output {
            Some(output) => output,
            none => none.insert(StepRows::open(context, &args.steps, &COLUMNS)?),
        };
        for position in window.start..window.end {
            let text = decoder.as_ref().and_then(|d| d.decode(sequence.tokens[position]).map(str::to_owned));
            if output.row(files.id.rollout_id, cells(&sequence, position, text))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let (false, Some(e)) = (seen, missing) {
        return Err(e.into());
    }
    if args.object {
        context.settings().output.write_document(documents.as_bytes())?;
    }
    match output {
        Some(output) => output.close(context, exit),
        None => Ok(exit),
    }
}

fn decoder(args: &TokensArgs, context: &Context, run: &Run) -> Option<Decoder> {
    if !args.object && !context.wants("token_text") {
        return None;
    }
    match Decoder::load(run.dir()) {
        Ok(decoder) => Some(decoder),
        Err(why) => {
            no_tokenizer(context, &why);
            None
        }
    }
}

fn no_tokenizer(context: &Context, why: &str) {
    context.warn(format_args!("no usable tokenizer, so token_text is null: {why}"));
}

fn tell(context: &Context, files: &StepFiles, sequence: &Sequence) {
    step_rows::told_sibling(context, files);
    if !sequence.has_train && !files.train.is_empty() {
        context.warn(format_args!(
            "step {}, sample {}: no train row in the {} rank files, so the train side is null",
            files.id.rollout_id,
            sequence.sample_index,
            files.train.len()
        ));
    }
    if let Some(why) = &sequence.mirror_note {
        context.note(1, format_args!("{why}; read from {}", files.rollout.display()));
    }
    if sequence.alignment_failed {
        context.warn(format_args!(
            "step {}, sample {}: a train column's slices cannot be placed, so it is null",
            files.id.rollout_id, sequence.sample_index
        ));
    }
}

fn cells(sequence: &Sequence, position: usize, text: Option<String>) -> Vec<Cell<'static>> {
    let response = position.checked_sub(sequence.prompt_len);
    let mut row = Vec::with_capacity(COLUMNS.len() + 1);
    row.push(Cell::Int(position as i64));
    row.push(Cell::from(sequence.tokens[position]));
    row.push(Cell::from(text));
    row.push(Cell::from(response.map(|r| r as i64)));
    let mask = response.and_then(|r| sequence.loss_mask.as_ref()?.get(r).copied());
    row.push(Cell::from(mask));
    row.extend(SERIES.iter().map(|&name| Cell::from(response.and_then(|r| sequence.value(name, r)))));
    row
}
