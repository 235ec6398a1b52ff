//! Comma-separated values: a header, then a line a row.
//!
//! A missing value is an empty field, and so is an empty text: CSV cannot tell them apart. Lists and
//! JSON are JSON text in the field.

use std::io;

use super::destination::Destination;
use super::text::push_json_cell;
use super::{Cell, Column, OutputError, Row, Writer};

pub(super) struct Csv {
    writer: csv::Writer<Destination>,
    name: String,
    field: Vec<u8>,
}

impl Csv {
    pub(super) fn new(destination: Destination, columns: &[Column]) -> Result<Self, OutputError> {
        let name = destination.name().to_owned();
        let mut writer = csv::WriterBuilder::new().from_writer(destination);
        writer
            .write_record(columns.iter().map(|column| column.name.as_bytes()))
            .map_err(|source| csv_error(&name, source))?;
        Ok(Self { writer, name, field: Vec::new() })
    }
}

fn csv_error(destination: &str, source: csv::Error) -> OutputError {
    let source = match source.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => io::Error::other(format!("{other:?}")),
    };
    OutputError::Io { destination: destination.to_owned(), source }
}

impl Writer for Csv {
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError> {
        for cell in row.iter() {
            self.field.clear();
            let field = match cell {
                Cell::Text(text) => text.as_bytes(),
                Cell::Null => b"",
                Cell::F32(value) if !value.is_finite() => b"",
                Cell::F64(value) if !value.is_finite() => b"",
                other => {
                    push_json_cell(&mut self.field, other);
                    &self.field
                }
            };
            self.writer.write_field(field).map_err(|source| csv_error(&self.name, source))?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(|source| csv_error(&self.name, source))
    }

    fn finish(self: Box<Self>, _cut: bool) -> Result<Destination, OutputError> {
        let name = self.name;
        self.writer
            .into_inner()
            .map_err(|source| OutputError::Io { destination: name, source: source.into_error() })
    }
}
