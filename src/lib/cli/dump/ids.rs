//! `miles-dump ids`: which steps there are, and which are still being written.

use super::step_rows;
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind, RowSink};
use crate::rollout::State;

const COLUMNS: [Column; 8] = [
    Column::new("rollout_id", Kind::Int),
    Column::new("evaluation", Kind::Bool),
    Column::new("samples", Kind::Int),
    Column::new("train_ranks", Kind::Int),
    Column::new("rollout_bytes", Kind::Int),
    Column::new("train_bytes", Kind::Int),
    Column::new("age_s", Kind::Float64),
    Column::new("state", Kind::Text),
];

/// One row a step, train steps first.
pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    let run = step_rows::open(context)?;
    let count = run.all().len() as u64;
    let bar = context.progress(count, "steps");
    let mut output = context.open(&COLUMNS)?;
    let mut exit = Exit::Ok;
    for step in run.all() {
        let step = step?;
        // Counting can mean scanning the file; who does not ask for the number does not wait for it.
        let samples = if step.state == State::Ready && context.wants("samples") {
            match run.count_samples(&step) {
                Ok(n) => Some(n as i64),
                Err(e) => {
                    let e = CliError::from(e);
                    context.complain(&e);
                    exit = e.exit();
                    None
                }
            }
        } else {
            None
        };
        let train_bytes: u64 = step.train.iter().map(|f| f.bytes).sum();
        let row = [
            Cell::Int(step.id.rollout_id),
            Cell::Bool(step.id.evaluation),
            Cell::from(samples),
            Cell::Int(step.train.len() as i64),
            Cell::Int(step.rollout_bytes as i64),
            Cell::Int(train_bytes as i64),
            Cell::F64((step.age_s() * 10.0).round() / 10.0),
            Cell::from(match step.state {
                State::Ready => "ready",
                State::Writing => "writing",
            }),
        ];
        if output.row(&row)?.is_break() {
            break;
        }
        bar.add(1);
    }
    context.close(output)?;
    Ok(exit)
}
