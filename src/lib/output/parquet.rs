//! Rows as a Parquet file: the writer of [`crate::row::parquet`] over an output's destination.

use super::destination::Destination;
use super::{Column, OutputError, Row, Writer};
use crate::row::parquet::{self, WriterOptions};

pub(super) struct Parquet {
    writer: parquet::Writer<Destination>,
    name: String,
}

impl Parquet {
    pub(super) fn new(destination: Destination, columns: &[Column]) -> Result<Self, OutputError> {
        let name = destination.name().to_owned();
        match parquet::Writer::new(destination, columns, WriterOptions::default()) {
            Ok(writer) => Ok(Self { writer, name }),
            Err(source) => Err(OutputError::from_parquet(&name, source)),
        }
    }
}

impl Writer for Parquet {
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError> {
        self.writer.push(row.iter()).map_err(|source| OutputError::from_parquet(&self.name, source))
    }

    fn finish(self: Box<Self>, _cut: bool) -> Result<Destination, OutputError> {
        let Self { writer, name } = *self;
        writer.finish().map_err(|source| OutputError::from_parquet(&name, source))
    }
}
