//! Writes rows: they are gathered into columns and written as row groups.
//!
//! A row group ends at [`WriterOptions::row_group_rows`] rows or [`MAX_BYTES`] gathered bytes,
//! whichever comes first, so memory stays the same for a million rows and for rows with lists of
//! 100,000 tokens.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::columns::Gathered;
use super::schema;
use crate::row::{Cell, Column, Kind};

/// Rows in a group if nothing else is asked for: what readers expect of files without lists.
const ROW_GROUP_ROWS: usize = 64 * 1024;
/// Bytes gathered for a group at most, levels included. Larger groups compress no better.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Log-probabilities, most of the bytes, hardly compress at any level: the fastest will do.
const ZSTD_LEVEL: i32 = 1;

/// Why rows could not be written as Parquet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The encoder failed, or what it writes to.
    #[error("{0}")]
    Encoder(ParquetError),
    /// What the encoder writes to failed.
    #[error(transparent)]
    Io(io::Error),
    /// A value does not fit its column's 32 bits.
    #[error("column '{column}': {value} does not fit 32 bits")]
    OutOfRange {
        /// The column's name.
        column: String,
        /// The value.
        value: i64,
    },
    /// A row without exactly one cell a column.
    #[error("a row does not have one cell for each of {columns} columns")]
    RowShape {
        /// Columns declared.
        columns: usize,
    },
    /// A cell that its column cannot hold.
    #[error("column '{column}' of kind {kind:?} was given a {cell} cell")]
    CellKind {
        /// The column's name.
        column: String,
        /// What the column was declared to hold.
        kind: Kind,
        /// What came.
        cell: &'static str,
    },
}

impl From<ParquetError> for WriteError {
    /// The system's own errors come out of the encoder's wrapping.
    fn from(source: ParquetError) -> Self {
        match source {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(source) => Self::Io(*source),
                Err(inner) => Self::Encoder(ParquetError::External(inner)),
            },
            source => Self::Encoder(source),
        }
    }
}

/// How a file is laid out.
#[derive(Debug, Clone, Default)]
pub struct WriterOptions {
    /// Rows in a group at most; none is 65,536. Small groups (the mirror has 8) make one row cheap to
    /// read and the file larger.
    pub row_group_rows: Option<usize>,
    /// Key and value pairs for the file's footer.
    pub metadata: Vec<(String, String)>,
    /// Keeps NaN and infinities as they are. Without it they are written as null, as in every text
    /// format: what other tools read should not hang on how they treat NaN.
    pub keep_non_finite: bool,
}

/// Writes rows of fixed columns. [`Writer::finish`] makes the file whole; without it there is none.
pub struct Writer<W: io::Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<(Column, Gathered)>,
    row_group_rows: usize,
    rows: usize,
    bytes: usize,
}

impl<W: io::Write + Send> Writer<W> {
    /// Starts a file of `columns` on `to`.
    ///
    /// # Errors
    /// [`WriteError`] when `to` fails, or the columns make no schema (a name twice).
    pub fn new(to: W, columns: &[Column], options: WriterOptions) -> Result<Self, WriteError> {
        let schema = schema::schema(columns)?;
        let WriterOptions { row_group_rows, metadata, keep_non_finite } = options;
        let writer = SerializedFileWriter::new(to, schema, Arc::new(properties(columns, metadata)?))?;
        let gathered = |column: &Column| (column.clone(), Gathered::new(column.kind, keep_non_finite));
        Ok(Self {
            writer,
            columns: columns.iter().map(gathered).collect(),
            row_group_rows: row_group_rows.unwrap_or(ROW_GROUP_ROWS).max(1),
            rows: 0,
            bytes: 0,
        })
    }

    /// Adds one row: a cell for each column, in their order.
    ///
    /// # Errors
    /// [`WriteError`] when the row does not match the columns or the group cannot be written. After
    /// an error the file is lost.
    pub fn push<'c>(&mut self, cells: impl IntoIterator<Item = &'c Cell<'c>>) -> Result<(), WriteError> {
        let mut cells = cells.into_iter();
        let shape = WriteError::RowShape { columns: self.columns.len() };
        for (column, gathered) in &mut self.columns {
            let Some(cell) = cells.next() else {
                return Err(shape);
            };
            check(column, cell)?;
            self.bytes += gathered.push(cell);
        }
        if cells.next().is_some() {
            return Err(shape);
        }
        self.rows += 1;
        if self.rows >= self.row_group_rows || self.bytes >= MAX_BYTES {
            return self.write_group();
        }
        Ok(())
    }

    /// Writes what is still gathered and the footer, and gives `to` back.
    ///
    /// # Errors
    /// [`WriteError`] when something cannot be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        Ok(self.writer.into_inner()?)
    }

    fn write_group(&mut self) -> Result<(), WriteError> {
        self.rows = 0;
        self.bytes = 0;
        let mut group = self.writer.next_row_group()?;
        for (_, gathered) in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            gathered.write(column.untyped())?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

fn check(column: &Column, cell: &Cell<'_>) -> Result<(), WriteError> {
    if !cell.fits(column.kind) {
        let (kind, cell) = (column.kind, cell.name());
        return Err(WriteError::CellKind { column: column.name.to_string(), kind, cell });
    }
    match (column.kind, cell) {
        (Kind::Int32, &Cell::Int(value)) if i32::try_from(value).is_err() => {
            Err(WriteError::OutOfRange { column: column.name.to_string(), value })
        }
        _ => Ok(()),
    }
}

/// Statistics serve to skip row groups and pages by a scalar such as `sample_index`; the smallest and
/// largest token of a list serve nobody. Log-probabilities hardly repeat, so a dictionary of them is
/// work for nothing; one of token ids makes no smaller file than zstd alone and takes 2.6 times as
/// long to write.
fn properties(columns: &[Column], metadata: Vec<(String, String)>) -> Result<WriterProperties, ParquetError> {
    let metadata: Vec<KeyValue> =
        metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("miles-tools version ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(metadata).filter(|pairs| !pairs.is_empty()));
    for column in columns {
        let name = column.name.to_string();
        if column.kind.is_list() {
            let path = ColumnPath::new(vec![name, "list".into(), "element".into()]);
            if matches!(column.kind, Kind::Floats | Kind::Ints) {
                builder = builder.set_column_dictionary_enabled(path.clone(), false);
            }
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
        } else if matches!(column.kind, Kind::Float32 | Kind::Float64) {
            builder = builder.set_column_dictionary_enabled(ColumnPath::from(vec![name]), false);
        }
    }
    Ok(builder.build())
}
