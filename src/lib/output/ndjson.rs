//! One JSON object a line, the format between tools.

use super::destination::Destination;
use super::text::{push_json_cell, push_json_str};
use super::{Column, OutputError, Row, Writer};

/// `{"name":value,…}` for a row, shared with the JSON array writer.
pub(super) struct Objects {
    /// `"name":` of each picked column, with the comma or brace before it.
    keys: Vec<Vec<u8>>,
}

impl Objects {
    pub(super) fn new(columns: &[Column]) -> Self {
        let keys = columns.iter().enumerate().map(|(at, column)| {
            let mut key = vec![if at == 0 { b'{' } else { b',' }];
            push_json_str(&mut key, &column.name);
            key.push(b':');
            key
        });
        Self { keys: keys.collect() }
    }

    pub(super) fn push(&self, out: &mut Vec<u8>, row: Row<'_>) {
        if self.keys.is_empty() {
            out.push(b'{');
        }
        for (key, cell) in self.keys.iter().zip(row.iter()) {
            out.extend_from_slice(key);
            push_json_cell(out, cell);
        }
        out.push(b'}');
    }
}

pub(super) struct Ndjson {
    destination: Destination,
    objects: Objects,
}

impl Ndjson {
    pub(super) fn new(destination: Destination, columns: &[Column]) -> Self {
        Self { destination, objects: Objects::new(columns) }
    }
}

impl Writer for Ndjson {
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError> {
        let out = self.destination.buffer();
        self.objects.push(out, row);
        out.push(b'\n');
        self.destination.spill_if_full()
    }

    fn object(&mut self, json: &str) -> Result<bool, OutputError> {
        let out = self.destination.buffer();
        out.extend_from_slice(json.as_bytes());
        out.push(b'\n');
        self.destination.spill_if_full().map(|()| true)
    }

    fn finish(self: Box<Self>, _cut: bool) -> Result<Destination, OutputError> {
        Ok(self.destination)
    }
}
