//! Apache Parquet without Arrow: rows are gathered into columns and written as row groups.
//!
//! A row group ends at [`MAX_ROWS`] rows or [`MAX_BYTES`] gathered bytes, whichever comes first, so
//! memory stays the same for a million rows and for rows with lists of 100,000 tokens.
//! Layout of lists and the meaning of the levels: Parquet's LogicalTypes.md, "Lists".

mod columns;
mod schema;

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use self::columns::Gathered;
use super::destination::Destination;
use super::{Column, Kind, OutputError, Row, Writer};

/// Rows in a group at most: what readers expect of files without lists.
const MAX_ROWS: usize = 64 * 1024;
/// Bytes gathered for a group at most, levels included. Larger groups compress no better.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Level 1 is within 2 % of level 3 on token ids and twice as fast.
const ZSTD_LEVEL: i32 = 1;

pub(super) struct Parquet {
    writer: SerializedFileWriter<Destination>,
    name: String,
    columns: Vec<Gathered>,
    rows: usize,
    bytes: usize,
}

impl Parquet {
    pub(super) fn new(destination: Destination, columns: &[Column]) -> Result<Self, OutputError> {
        let name = destination.name().to_owned();
        let open = || -> Result<_, ParquetError> {
            let schema = schema::schema(columns)?;
            let properties = properties(columns)?;
            SerializedFileWriter::new(destination, schema, Arc::new(properties))
        };
        let writer = open().map_err(|source| OutputError::Parquet { destination: name.clone(), source })?;
        let columns = columns.iter().map(|column| Gathered::new(column.kind)).collect();
        Ok(Self { writer, name, columns, rows: 0, bytes: 0 })
    }

    fn write_group(&mut self) -> Result<(), OutputError> {
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            for gathered in &mut self.columns {
                let Some(mut column) = group.next_column()? else { break };
                gathered.write(column.untyped())?;
                column.close()?;
            }
            group.close()?;
            Ok(())
        };
        let written = write();
        self.rows = 0;
        self.bytes = 0;
        written.map_err(|source| OutputError::Parquet { destination: self.name.clone(), source })
    }
}

impl Writer for Parquet {
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError> {
        for (gathered, cell) in self.columns.iter_mut().zip(row.iter()) {
            self.bytes += gathered.push(cell);
        }
        self.rows += 1;
        if self.rows >= MAX_ROWS || self.bytes >= MAX_BYTES {
            return self.write_group();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _cut: bool) -> Result<Destination, OutputError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let Self { writer, name, .. } = *self;
        writer.into_inner().map_err(|source| OutputError::Parquet { destination: name, source })
    }
}

/// Statistics serve to skip row groups and pages by a scalar such as `sample_index`; the smallest and
/// largest token of a list serve nobody. Log-probabilities hardly repeat, so a dictionary of them is
/// work for nothing.
fn properties(columns: &[Column]) -> Result<WriterProperties, ParquetError> {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("miles-tools version ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Page);
    for column in columns {
        let name = column.name.to_string();
        builder = match column.kind {
            Kind::Ints | Kind::Mask | Kind::Floats | Kind::Texts => {
                let path = ColumnPath::new(vec![name, "list".into(), "element".into()]);
                if column.kind == Kind::Floats {
                    builder = builder.set_column_dictionary_enabled(path.clone(), false);
                }
                builder.set_column_statistics_enabled(path, EnabledStatistics::None)
            }
            Kind::Float32 | Kind::Float64 => {
                builder.set_column_dictionary_enabled(ColumnPath::from(vec![name]), false)
            }
            _ => builder,
        };
    }
    Ok(builder.build())
}
