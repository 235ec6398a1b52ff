//! One row source, several writers.
//!
//! A command describes its rows once as [`Column`]s and pushes each row as [`Cell`]s into a
//! [`RowSink`]. What the rows become (NDJSON, JSON, CSV, Parquet, a table) is the sink's business,
//! so a command never formats anything and memory never grows with the number of rows.

mod cell;
mod csv;
mod destination;
mod error;
mod json;
mod ndjson;
mod open;
mod parquet;
mod table;
mod text;

use std::borrow::Cow;
use std::ops::ControlFlow;

pub use destination::remove_unfinished_file;
pub use error::OutputError;
pub use open::{Format, Options, Output, Report};
pub use text::{escape_controls, push_json_f32, push_json_f64, push_json_str};

/// What a column holds; fixes how a cell is written and its Parquet type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// Signed 64-bit integer.
    Int,
    /// 32-bit float, as the trainer and the engine record per-token series.
    Float32,
    /// 64-bit float.
    Float64,
    /// UTF-8 text.
    Text,
    /// Text that is one strict JSON value already; embedded as it is in JSON formats, text elsewhere.
    Json,
    /// List of integers such as token ids; Parquet `list<int32>`.
    Ints,
    /// List of small integers such as a loss mask; Parquet `list<int8>`.
    Mask,
    /// List of 32-bit floats; a NaN element is a missing value.
    Floats,
    /// List of texts.
    Texts,
}

/// Name and kind of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name as it appears in every format.
    pub name: Cow<'static, str>,
    /// What the cells hold.
    pub kind: Kind,
}

impl Column {
    /// A column with a fixed name.
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind }
    }
}

/// One value of a row. A cell is `Null` or matches its column's [`Kind`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Missing.
    Null,
    /// [`Kind::Bool`].
    Bool(bool),
    /// [`Kind::Int`].
    Int(i64),
    /// [`Kind::Float32`]; NaN and infinities are written as missing.
    F32(f32),
    /// [`Kind::Float64`]; NaN and infinities are written as missing.
    F64(f64),
    /// [`Kind::Text`].
    Text(Cow<'a, str>),
    /// [`Kind::Json`].
    Json(Cow<'a, str>),
    /// [`Kind::Ints`].
    Ints(Cow<'a, [i32]>),
    /// [`Kind::Mask`].
    Mask(Cow<'a, [i8]>),
    /// [`Kind::Floats`].
    Floats(Cow<'a, [f32]>),
    /// [`Kind::Texts`].
    Texts(Vec<Option<Cow<'a, str>>>),
}

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

    /// Writes what is still held back and the format's end, and gives the destination back.
    fn finish(self: Box<Self>, cut: bool) -> Result<destination::Destination, OutputError>;
}
