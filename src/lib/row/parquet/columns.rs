//! One column's share of a row group: values, and the levels that say where nulls and lists lie.
//!
//! A scalar's definition level is 0 (null) or 1 (value). A list's is 0 (null), 1 (empty), 2 (null
//! element) or 3 (element); its repetition level is 0 for a row's first entry and 1 for the others.

use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;

use crate::row::{Cell, Kind};

const LIST_NULL: i16 = 0;
const LIST_EMPTY: i16 = 1;
const ELEMENT_NULL: i16 = 2;
const ELEMENT: i16 = 3;

enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

/// Values and levels gathered since the last row group.
pub(super) struct Gathered {
    values: Values,
    definition: Vec<i16>,
    /// None for a scalar column.
    repetition: Option<Vec<i16>>,
    /// Whether NaN and infinities are values; else they are missing.
    keep_non_finite: bool,
}

impl Gathered {
    pub(super) fn new(kind: Kind, keep_non_finite: bool) -> Self {
        let values = match kind {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Int => Values::Int64(Vec::new()),
            Kind::Float32 | Kind::Floats => Values::Float(Vec::new()),
            Kind::Float64 => Values::Double(Vec::new()),
            Kind::Int32 | Kind::Ints | Kind::Mask => Values::Int32(Vec::new()),
            Kind::Text | Kind::Json | Kind::Texts => Values::Bytes(Vec::new()),
        };
        let repetition = kind.is_list().then(Vec::new);
        Self { values, definition: Vec::new(), repetition, keep_non_finite }
    }

    /// Adds a row's cell; answers the bytes it takes here. The cell fits the column: the writer has
    /// checked.
    pub(super) fn push(&mut self, cell: &Cell<'_>) -> usize {
        let keep = self.keep_non_finite;
        match (&mut self.values, cell) {
            (Values::Bool(values), Cell::Bool(value)) => values.push(*value),
            (Values::Int64(values), Cell::Int(value)) => values.push(*value),
            (Values::Int32(values), &Cell::Int(value)) if i32::try_from(value).is_ok() => {
                values.extend(i32::try_from(value));
            }
            (Values::Float(values), Cell::F32(value)) if keep || value.is_finite() => values.push(*value),
            (Values::Double(values), Cell::F64(value)) if keep || value.is_finite() => values.push(*value),
            (Values::Bytes(values), Cell::Text(text) | Cell::Json(text)) => {
                values.push(text.as_bytes().to_vec().into());
                self.definition.push(1);
                return text.len() + size_of::<ByteArray>();
            }
            (Values::Int32(values), Cell::Ints(items)) => {
                values.extend_from_slice(items);
                return self.push_list(items.len(), 4);
            }
            (Values::Int32(values), Cell::Mask(items)) => {
                values.extend(items.iter().map(|&item| i32::from(item)));
                return self.push_list(items.len(), 4);
            }
            (Values::Float(values), Cell::Floats(items)) => {
                if keep || items.iter().all(|item| item.is_finite()) {
                    values.extend_from_slice(items);
                    return self.push_list(items.len(), 4);
                }
                values.extend(items.iter().copied().filter(|item| item.is_finite()));
                let levels = items.iter().map(|item| element_level(item.is_finite()));
                self.definition.extend(levels);
                return self.push_repetition(items.len()) + 6 * items.len();
            }
            (Values::Bytes(values), Cell::Texts(items)) => {
                let mut bytes = 0;
                for text in items.iter().flatten() {
                    values.push(text.as_bytes().to_vec().into());
                    bytes += text.len() + size_of::<ByteArray>();
                }
                if items.is_empty() {
                    return self.push_list(0, 0);
                }
                self.definition.extend(items.iter().map(|item| element_level(item.is_some())));
                return bytes + self.push_repetition(items.len()) + 2 * items.len();
            }
            // Null, and a float that is missing.
            _ => {
                self.definition.push(LIST_NULL);
                if let Some(repetition) = &mut self.repetition {
                    repetition.push(0);
                }
                return 4;
            }
        }
        self.definition.push(1);
        10
    }

    /// Levels of a list without null elements.
    fn push_list(&mut self, len: usize, item_bytes: usize) -> usize {
        if len == 0 {
            self.definition.push(LIST_EMPTY);
            return self.push_repetition(1);
        }
        self.definition.resize(self.definition.len() + len, ELEMENT);
        self.push_repetition(len) + len * (item_bytes + 2)
    }

    /// Repetition levels of a row with `len` entries, at least one.
    fn push_repetition(&mut self, len: usize) -> usize {
        if let Some(repetition) = &mut self.repetition {
            repetition.push(0);
            repetition.resize(repetition.len() + len - 1, 1);
        }
        2 * len
    }

    /// Writes what was gathered and forgets it, keeping the memory for the next group.
    pub(super) fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let definition = &mut self.definition;
        let repetition = self.repetition.as_mut();
        match (&mut self.values, writer) {
            (Values::Bool(values), ColumnWriter::BoolColumnWriter(writer)) => {
                batch(writer, values, definition, repetition)
            }
            (Values::Int32(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                batch(writer, values, definition, repetition)
            }
            (Values::Int64(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                batch(writer, values, definition, repetition)
            }
            (Values::Float(values), ColumnWriter::FloatColumnWriter(writer)) => {
                batch(writer, values, definition, repetition)
            }
            (Values::Double(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                batch(writer, values, definition, repetition)
            }
            (Values::Bytes(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                batch(writer, values, definition, repetition)
            }
            _ => Err(ParquetError::General("a column's writer is of another type than its values".into())),
        }
    }
}

fn element_level(present: bool) -> i16 {
    if present { ELEMENT } else { ELEMENT_NULL }
}

fn batch<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    definition: &mut Vec<i16>,
    repetition: Option<&mut Vec<i16>>,
) -> Result<(), ParquetError> {
    writer.write_batch(values, Some(definition), repetition.as_deref().map(Vec::as_slice))?;
    values.clear();
    definition.clear();
    if let Some(repetition) = repetition {
        repetition.clear();
    }
    Ok(())
}
