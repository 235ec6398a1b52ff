//! `miles-dump samples`: one row a sample as it was dumped.
//!
//! The keys are the file's own. A column's kind is what all its values have in common; where they have
//! nothing in common, or nothing that a table can hold, the value is shown as JSON.
//! Of several steps a row begins with the step as `rollout_id`, and the key of that name that samples have
//! (an execution) is `sample_rollout_id`.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::args::SamplesArgs;
use super::step_rows::{self, StepRows};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind};
use crate::pt::{Kind as Value, Ref};
use crate::rollout::Batch;

/// One entry a token: left out unless asked for with `--with`.
const PER_TOKEN: [&str; 5] =
    ["tokens", "loss_mask", "rollout_log_probs", "teacher_log_probs", "opd_reverse_kl"];

/// One row a sample, in the file's order.
pub(super) fn run(args: &SamplesArgs, context: &Context) -> Result<Exit, CliError> {
    let run = step_rows::open(context)?;
    let found = step_rows::find(&run, &args.steps, args.eval)?;
    let batches: Result<Vec<_>, CliError> =
        if found.len() == 1 { Ok(vec![Batch::open(&found[0].rollout)?]) } else { Ok(Vec::new()) };
    // Columns must be known before the first row, so several steps are looked through twice.
    let mut columns = Columns::new(&args.with);
    let mut single = batches?.pop();
    match &single {
        Some(batch) => columns.see(batch),
        None => {
            for files in &found {
                if let Ok(batch) = Batch::open(&files.rollout) {
                    columns.see(&batch);
                }
            }
        }
    }
    let mut columns = columns.finish()?;
    let keys: Vec<_> = columns.iter().map(|c| c.name.clone()).collect();
    // A sample's own `rollout_id` is the id of an execution; of several steps the rows say which step.
    if args.steps.needs_rollout_id() {
        for column in columns.iter_mut().filter(|c| c.name == "rollout_id") {
            column.name = Cow::Borrowed("sample_rollout_id");
        }
    }
    let mut output = StepRows::open(context, &args.steps, &columns)?;
    let exit = step_rows::each(context, &found, |files| {
        let batch = match single.take() {
            Some(batch) => batch,
            None => Batch::open(&files.rollout)?,
        };
        // Those of a file that was looked through for its columns have been counted once.
        let counted = batch.file().replaced_characters();
        for sample in batch.samples() {
            let value = |(c, key): (&Column, &Cow<'_, str>)| match sample.value().get(key) {
                Some(r) if context.wants(&c.name) => {
                    // An Enum member means the same as its value.
                    let status = (key == "status").then(|| sample.status()).flatten();
                    status.map_or_else(|| cell(r, c.kind), Cell::from)
                }
                _ => Cell::Null,
            };
            let cells = columns.iter().zip(&keys).map(value).collect();
            if output.row(files.id.rollout_id, cells)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        step_rows::told_replaced(context, files, batch.file().replaced_characters() - counted);
        Ok(ControlFlow::Continue(()))
    })?;
    output.close(context, exit)
}

/// Keys in order of first appearance, and what their values have in common so far.
struct Columns {
    with: Vec<String>,
    kinds: Vec<(String, Option<Kind>)>,
}

impl Columns {
    fn new(with: &[String]) -> Self {
        Self { with: with.to_vec(), kinds: Vec::new() }
    }

    fn see(&mut self, batch: &Batch) {
        for sample in batch.samples() {
            for (i, (key, value)) in sample.value().entries().unwrap_or_default().into_iter().enumerate() {
                let Some(key) = key.as_str() else { continue };
                if PER_TOKEN.contains(&key.as_ref()) && !self.with.iter().any(|w| *w == key) {
                    continue;
                }
                // Samples list their keys in one order, so the place is nearly always right.
                let at = match self.kinds.get(i) {
                    Some((k, _)) if *k == key => Some(i),
                    _ => self.kinds.iter().position(|(k, _)| *k == key),
                };
                let at = at.unwrap_or_else(|| {
                    self.kinds.push((key.clone().into_owned(), None));
                    self.kinds.len() - 1
                });
                let kind = &mut self.kinds[at].1;
                let status = (key == "status").then(|| sample.status()).flatten();
                *kind = common(*kind, if status.is_some() { Some(Kind::Text) } else { kind_of(value) });
            }
        }
    }

    fn finish(self) -> Result<Vec<Column>, CliError> {
        let known = |w: &String| self.kinds.iter().any(|(k, _)| k == w);
        if let Some(missing) = self.with.iter().find(|w| !known(w)) {
            let keys: Vec<&str> = self.kinds.iter().map(|(k, _)| k.as_str()).collect();
            return Err(CliError::usage(format!("--with {missing}: no sample has this key"))
                .with_hint(format!("keys are {} and {}", PER_TOKEN.join(", "), keys.join(", "))));
        }
        let column = |(name, kind): (String, Option<Kind>)| Column {
            name: Cow::Owned(name),
            // A column of nothing but None.
            kind: kind.unwrap_or(Kind::Json),
        };
        Ok(self.kinds.into_iter().map(column).collect())
    }
}

/// The kind of one value; `None` for None, which goes with everything.
fn kind_of(r: Ref<'_>) -> Option<Kind> {
    if let Some(numbers) = r.numbers() {
        return Some(match numbers.has_floats() {
            true => Kind::Floats,
            // An empty list is a list of anything; floats take it.
            false if numbers.is_empty() => Kind::Floats,
            false if numbers.to_ints::<i32>().is_some() => Kind::Ints,
            false => Kind::Json,
        });
    }
    // Looked at, not decoded: characters that are replaced must be counted once.
    if r.is_str() {
        return Some(Kind::Text);
    }
    Some(match r.kind() {
        Ok(Value::None) => return None,
        Ok(Value::Bool(_)) => Kind::Bool,
        Ok(Value::Int(_)) => Kind::Int,
        Ok(Value::Float(_)) => Kind::Float64,
        Ok(Value::Str(_)) => Kind::Text,
        Ok(Value::List(items)) if items.iter().all(|i| i.is_str()) => Kind::Texts,
        Ok(Value::List(items)) if items.iter().all(|i| i.is_none() || i.as_f64().is_some()) => Kind::Floats,
        _ => Kind::Json,
    })
}

fn common(a: Option<Kind>, b: Option<Kind>) -> Option<Kind> {
    match (a, b) {
        (None, other) | (other, None) => other,
        (Some(a), Some(b)) if a == b => Some(a),
        (Some(Kind::Int), Some(Kind::Float64)) | (Some(Kind::Float64), Some(Kind::Int)) => {
            Some(Kind::Float64)
        }
        (Some(Kind::Ints), Some(Kind::Floats)) | (Some(Kind::Floats), Some(Kind::Ints)) => Some(Kind::Floats),
        (Some(Kind::Texts), Some(Kind::Floats)) | (Some(Kind::Floats), Some(Kind::Texts)) => {
            Some(Kind::Texts)
        }
        _ => Some(Kind::Json),
    }
}

fn cell(r: Ref<'_>, kind: Kind) -> Cell<'_> {
    let found = match kind {
        Kind::Bool => r.as_bool().map(Cell::Bool),
        Kind::Int => r.as_i64().map(Cell::Int),
        Kind::Float64 => r.as_f64().map(Cell::F64),
        Kind::Text => r.as_str().map(Cell::Text),
        Kind::Ints => r.numbers().and_then(|n| n.to_ints::<i32>()).map(|v| Cell::Ints(v.into())),
        Kind::Floats => floats(r).map(|v| Cell::Floats(v.into())),
        Kind::Texts => r
            .items()
            .map(|items| Cell::Texts(items.into_iter().map(Ref::as_str).collect()))
            .or_else(|| r.numbers().filter(|n| n.is_empty()).map(|_| Cell::Texts(Vec::new()))),
        _ => None,
    };
    match found {
        Some(cell) => cell,
        None if r.is_none() || kind != Kind::Json => Cell::Null,
        None => match r.as_str() {
            Some(text) => Cell::Text(text),
            None => Cell::Json(r.to_json().into()),
        },
    }
}

fn floats(r: Ref<'_>) -> Option<Vec<f32>> {
    if let Some(numbers) = r.numbers() {
        return Some(numbers.to_f32());
    }
    Some(r.items()?.into_iter().map(|i| i.as_f64().map_or(f32::NAN, |f| f as f32)).collect())
}
