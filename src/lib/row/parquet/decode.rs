//! From a column's values and levels back to cells.

use std::borrow::Cow;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};

use super::error::Problem;
use super::shape::Shape;
use crate::row::{Cell, Kind};

/// The column's next `rows` cells; fewer are damage.
pub(super) fn cells(
    reader: &mut ColumnReader,
    shape: Shape,
    rows: usize,
) -> Result<Vec<Cell<'static>>, Problem> {
    let kind = shape.kind;
    let cells = match reader {
        ColumnReader::BoolColumnReader(reader) => scalars(read(reader, rows)?, shape, |v| Ok(Cell::Bool(v))),
        ColumnReader::Int32ColumnReader(reader) => ints(read(reader, rows)?, shape),
        ColumnReader::Int64ColumnReader(reader) => ints(read(reader, rows)?, shape),
        ColumnReader::FloatColumnReader(reader) => {
            let raw = read(reader, rows)?;
            match kind {
                Kind::Floats => lists(raw, shape, |v| Ok(v.unwrap_or(f32::NAN)), |v| Cell::Floats(v.into())),
                Kind::Float64 => scalars(raw, shape, |v| Ok(Cell::F64(v.into()))),
                _ => scalars(raw, shape, |v| Ok(Cell::F32(v))),
            }
        }
        ColumnReader::DoubleColumnReader(reader) => scalars(read(reader, rows)?, shape, |v| Ok(Cell::F64(v))),
        ColumnReader::ByteArrayColumnReader(reader) => {
            let raw = read(reader, rows)?;
            match kind {
                Kind::Texts => lists(raw, shape, |v| v.as_ref().map(text).transpose(), Cell::Texts),
                Kind::Json => scalars(raw, shape, |v| Ok(Cell::Json(text(&v)?))),
                _ => scalars(raw, shape, |v| Ok(Cell::Text(text(&v)?))),
            }
        }
        _ => Err(Problem::damaged("a column's type is not the schema's")),
    }?;
    if cells.len() == rows {
        Ok(cells)
    } else {
        Err(Problem::damaged(format!("{} rows where {rows} should be", cells.len())))
    }
}

/// Steps over `rows` rows without decoding their values.
pub(super) fn skip(reader: &mut ColumnReader, rows: usize) -> Result<(), Problem> {
    let skipped = match reader {
        ColumnReader::BoolColumnReader(reader) => reader.skip_records(rows),
        ColumnReader::Int32ColumnReader(reader) => reader.skip_records(rows),
        ColumnReader::Int64ColumnReader(reader) => reader.skip_records(rows),
        ColumnReader::FloatColumnReader(reader) => reader.skip_records(rows),
        ColumnReader::DoubleColumnReader(reader) => reader.skip_records(rows),
        ColumnReader::ByteArrayColumnReader(reader) => reader.skip_records(rows),
        _ => return Err(Problem::damaged("a column's type is not the schema's")),
    }?;
    if skipped == rows { Ok(()) } else { Err(Problem::damaged("a column has fewer rows than its group")) }
}

/// Values and levels of some rows.
struct Raw<T> {
    definition: Vec<i16>,
    repetition: Vec<i16>,
    values: Vec<T>,
}

fn read<T: DataType>(reader: &mut ColumnReaderImpl<T>, rows: usize) -> Result<Raw<T::T>, Problem> {
    let mut raw = Raw { definition: Vec::new(), repetition: Vec::new(), values: Vec::new() };
    let Raw { definition, repetition, values } = &mut raw;
    reader.read_records(rows, Some(definition), Some(repetition), values)?;
    Ok(raw)
}

fn text(bytes: &ByteArray) -> Result<Cow<'static, str>, Problem> {
    match bytes.as_utf8() {
        Ok(text) => Ok(Cow::Owned(text.to_owned())),
        Err(_) => Err(Problem::damaged("a text is not UTF-8")),
    }
}

fn ints<T: Into<i64> + Copy>(raw: Raw<T>, shape: Shape) -> Result<Vec<Cell<'static>>, Problem> {
    let want = shape.kind;
    let misfit = |value: i64| Problem::OutOfRange { want, value };
    match want {
        Kind::Ints => {
            let element = |v: Option<T>| {
                let value = v.ok_or(Problem::NullElement)?.into();
                i32::try_from(value).map_err(|_| misfit(value))
            };
            lists(raw, shape, element, |v| Cell::Ints(v.into()))
        }
        Kind::Mask => {
            let element = |v: Option<T>| {
                let value = v.ok_or(Problem::NullElement)?.into();
                i8::try_from(value).map_err(|_| misfit(value))
            };
            lists(raw, shape, element, |v| Cell::Mask(v.into()))
        }
        _ => scalars(raw, shape, |v| match v.into() {
            value if want == Kind::Int32 && i32::try_from(value).is_err() => Err(misfit(value)),
            value => Ok(Cell::Int(value)),
        }),
    }
}

fn too_few() -> Problem {
    Problem::damaged("a column has fewer values than levels")
}

fn scalars<T>(
    raw: Raw<T>,
    shape: Shape,
    cell: impl Fn(T) -> Result<Cell<'static>, Problem>,
) -> Result<Vec<Cell<'static>>, Problem> {
    let mut values = raw.values.into_iter();
    if shape.present == 0 {
        return values.map(cell).collect();
    }
    let cells = raw.definition.iter().map(|&level| {
        if level < shape.present { Ok(Cell::Null) } else { cell(values.next().ok_or_else(too_few)?) }
    });
    cells.collect()
}

/// A definition level below `shape.empty` is no list; that level an empty one; from there to below
/// `shape.present` a null element.
fn lists<T, E>(
    raw: Raw<T>,
    shape: Shape,
    element: impl Fn(Option<T>) -> Result<E, Problem>,
    cell: impl Fn(Vec<E>) -> Cell<'static>,
) -> Result<Vec<Cell<'static>>, Problem> {
    let empty = shape.empty.unwrap_or(0);
    let mut values = raw.values.into_iter();
    let mut cells = Vec::new();
    let mut open: Option<Vec<E>> = None;
    for (&repetition, &definition) in raw.repetition.iter().zip(&raw.definition) {
        if repetition == 0 {
            cells.extend(open.take().map(&cell));
            if definition <= empty {
                cells.push(if definition < empty { Cell::Null } else { cell(Vec::new()) });
                continue;
            }
            open = Some(Vec::new());
        }
        let value = match definition == shape.present {
            true => Some(values.next().ok_or_else(too_few)?),
            false => None,
        };
        match &mut open {
            Some(items) if definition > empty => items.push(element(value)?),
            _ => return Err(Problem::damaged("a list goes on where none has begun")),
        }
    }
    cells.extend(open.take().map(&cell));
    Ok(cells)
}
