//! `miles-dump messages`: one row a message of a sample's conversation.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::args::MessagesArgs;
use super::step_rows::{self, StepRows};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind};
use crate::rollout::Error;
use crate::rollout::conversation::{self, Message};

const COLUMNS: [Column; 7] = [
    Column::new("position", Kind::Int),
    Column::new("role", Kind::Text),
    // A string, or a list of parts.
    Column::new("content", Kind::Json),
    Column::new("name", Kind::Text),
    Column::new("reasoning_content", Kind::Json),
    Column::new("tool_calls", Kind::Json),
    Column::new("extra", Kind::Json),
];

/// One row a message, in order.
pub(super) fn run(args: &MessagesArgs, context: &Context) -> Result<Exit, CliError> {
    let run = step_rows::open(context)?;
    let found = step_rows::find(&run, &args.steps, args.eval)?;
    let mut output: Option<StepRows> = None;
    let (mut seen, mut missing) = (false, None);
    let exit = step_rows::each(context, &found, |files| {
        let path = run.conversation_path(files.id);
        let line = match conversation::find(&path, args.sample) {
            Err(e @ Error::NoConversation { .. }) if found.len() > 1 => {
                missing.get_or_insert(e);
                return Ok(ControlFlow::Continue(()));
            }
            other => other?,
        };
        seen = true;
        if let Some((offset, what)) = line.damage.first() {
            let (n, s) = (line.damage.len(), if line.damage.len() == 1 { "" } else { "s" });
            context.warn(format_args!(
                "{}: {n} damaged line{s} skipped (first at byte {offset}): {what}",
                path.display()
            ));
        }
        if line.replaced_characters > 0 {
            let n = line.replaced_characters;
            context.warn(format_args!("{}: {n} lone surrogates replaced by U+FFFD", path.display()));
        }
        let messages = conversation::messages(&path, &line)?;
        let output = match &mut output {
            Some(output) => output,
            none => none.insert(StepRows::open(context, &args.steps, &COLUMNS)?),
        };
        for (position, message) in messages.iter().enumerate() {
            if output.row(files.id.rollout_id, cells(position, message))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let (false, Some(e)) = (seen, missing) {
        return Err(e.into());
    }
    match output {
        Some(output) => output.close(context, exit),
        None => Ok(exit),
    }
}

fn cells(position: usize, message: &Message) -> Vec<Cell<'_>> {
    let string = |key: &str| message.get(key).and_then(|raw| serde_json::from_str::<String>(raw).ok());
    // A plain string is text in every format; anything else stays the JSON it is.
    let value = |key: &str| match message.get(key) {
        None | Some("null") => Cell::Null,
        Some(raw) => match string(key) {
            Some(text) => Cell::Text(Cow::Owned(text)),
            None => Cell::Json(Cow::Borrowed(raw)),
        },
    };
    let known = |key: &str| COLUMNS.iter().any(|c| c.name == key) && key != "position" && key != "extra";
    let mut extra = serde_json::Map::new();
    for (key, raw) in message.fields.iter().filter(|(key, _)| !known(key)) {
        // Text of another writer's JSON; it was parsed when the line was.
        extra.insert(key.clone(), serde_json::from_str(raw).unwrap_or_default());
    }
    vec![
        Cell::Int(position as i64),
        Cell::from(string("role")),
        value("content"),
        Cell::from(string("name")),
        value("reasoning_content"),
        value("tool_calls"),
        if extra.is_empty() {
            Cell::Null
        } else {
            Cell::Json(serde_json::Value::from(extra).to_string().into())
        },
    ]
}
