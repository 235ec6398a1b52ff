//! One row source, several writers.
//!
//! A command describes its rows once as [`Column`]s and pushes each row as [`Cell`]s into a
//! [`RowSink`]. What the rows become (NDJSON, JSON, CSV, Parquet, a table) is the sink's business,
//! so a command never formats anything and memory never grows with the number of rows.

mod csv;
mod destination;
mod error;
mod json;
mod ndjson;
mod open;
mod parquet;
mod table;
mod text;

use std::ops::ControlFlow;

pub use crate::row::{Cell, Column, Kind};
pub use destination::remove_unfinished_file;
pub use error::OutputError;
pub use open::{Format, Options, Output, Report};
pub use text::{escape_controls, push_json_f32, push_json_f64, push_json_str};

/// Where rows go.
pub trait RowSink {
    /// Takes one row, one cell a column in the columns' order.
    ///
    /// Answers [`ControlFlow::Break`] when the consumer wants no more rows: the limit is reached or
    /// the reader of the pipe is gone. That is success, not an error.
    ///
    /// # Errors
    /// [`OutputError`] when the destination cannot be written.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<ControlFlow<()>, OutputError>;
}

/// The cells of a row that were asked for, in the order asked for.
#[derive(Clone, Copy)]
struct Row<'a> {
    cells: &'a [Cell<'a>],
    picks: &'a [usize],
}

impl<'a> Row<'a> {
    /// Picks are checked against the columns when the output is opened and cells when a row arrives.
    fn iter(&self) -> impl Iterator<Item = &'a Cell<'a>> + use<'a> {
        let cells = self.cells;
        self.picks.iter().filter_map(move |&at| cells.get(at))
    }
}

/// One format: turns rows into bytes of its [`Destination`](destination::Destination).
trait Writer {
    /// Writes one row.
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError>;

    /// Writes one finished JSON object as it is; false from a format that has no place for one.
    fn object(&mut self, _json: &str) -> Result<bool, OutputError> {
        Ok(false)
    }

    /// Writes what is still held back and the format's end, and gives the destination back.
    fn finish(self: Box<Self>, cut: bool) -> Result<destination::Destination, OutputError>;
}
