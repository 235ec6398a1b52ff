//! For tests: a run to read and a sink to look into.

use std::fs;
use std::ops::ControlFlow;

use crate::output::{Cell, OutputError, RowSink};

/// Rows as one text each.
#[derive(Default)]
pub(super) struct Rows(pub(super) Vec<String>);

impl RowSink for Rows {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<ControlFlow<()>, OutputError> {
        let cells = cells.iter().map(|cell| match cell {
            Cell::Null => "null".to_owned(),
            Cell::Int(value) => value.to_string(),
            Cell::F64(value) => value.to_string(),
            Cell::Text(text) => format!("{text:?}"),
            Cell::Json(text) => text.to_string(),
            Cell::Ints(values) => format!("{values:?}"),
            other => format!("{other:?}"),
        });
        self.0.push(cells.collect::<Vec<_>>().join(" "));
        Ok(ControlFlow::Continue(()))
    }
}

/// A run directory with these files.
pub(super) fn run_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}
