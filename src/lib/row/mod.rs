//! The row model: what a column holds, one value of a row, and rows on disk as Parquet.
//!
//! It lies on the lowest floor because both ends use it: commands push rows to every output format,
//! and a run's dumps keep tables of their own (the mirror of per-token columns, cached summaries).

mod cell;
pub mod parquet;

use std::borrow::Cow;

/// What a column holds; fixes how a cell is written and its Parquet type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// Signed 64-bit integer.
    Int,
    /// Signed integer of 32 bits in Parquet, for files whose readers expect that; its cell is
    /// [`Cell::Int`], and Parquet refuses a value that does not fit.
    Int32,
    /// 32-bit float, as the trainer and the engine record per-token series.
    Float32,
    /// 64-bit float.
    Float64,
    /// UTF-8 text.
    Text,
    /// Text that is one strict JSON value already; embedded as it is in JSON formats, text elsewhere.
    /// A [`Cell::Text`] in such a column is the JSON string of that text: quoted in JSON formats,
    /// plain text elsewhere.
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

impl Kind {
    /// True when a cell holds a list.
    pub const fn is_list(self) -> bool {
        matches!(self, Self::Ints | Self::Mask | Self::Floats | Self::Texts)
    }
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
    /// [`Kind::Int`] or [`Kind::Int32`].
    Int(i64),
    /// [`Kind::Float32`]; NaN and infinities are written as missing.
    F32(f32),
    /// [`Kind::Float64`]; NaN and infinities are written as missing.
    F64(f64),
    /// [`Kind::Text`], or a string in a [`Kind::Json`] column.
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
