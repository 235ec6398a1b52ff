//! One JSON array of objects, for readers that want a whole document.

use super::destination::Destination;
use super::ndjson::Objects;
use super::{Column, OutputError, Row, Writer};

pub(super) struct Json {
    destination: Destination,
    objects: Objects,
    started: bool,
}

impl Json {
    pub(super) fn new(destination: Destination, columns: &[Column]) -> Self {
        Self { destination, objects: Objects::new(columns), started: false }
    }
}

impl Writer for Json {
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError> {
        let out = self.destination.buffer();
        out.extend_from_slice(if self.started { b",\n" } else { b"[\n" });
        self.objects.push(out, row);
        self.started = true;
        self.destination.spill_if_full()
    }

    fn object(&mut self, json: &str) -> Result<bool, OutputError> {
        let out = self.destination.buffer();
        out.extend_from_slice(if self.started { b",\n" } else { b"[\n" });
        out.extend_from_slice(json.as_bytes());
        self.started = true;
        self.destination.spill_if_full().map(|()| true)
    }

    fn finish(mut self: Box<Self>, _cut: bool) -> Result<Destination, OutputError> {
        let end: &[u8] = if self.started { b"\n]\n" } else { b"[]\n" };
        self.destination.buffer().extend_from_slice(end);
        Ok(self.destination)
    }
}
