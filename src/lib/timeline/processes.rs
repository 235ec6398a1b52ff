//! Who held memory on the GPUs.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::address::{Address, ByAddress};
use super::selection::Rows;
use super::{Selection, TimelineError};
use crate::telemetry::{ProcessBlock, ProcessRow, Store, Window};

/// Processes on the selected lanes in a window. The rows stay where they are until they are written: there
/// can be hundreds of thousands.
#[derive(Debug)]
pub struct Processes {
    blocks: Vec<Arc<ProcessBlock>>,
    selection: Selection,
    window: Window,
}

/// Processes on the selected lanes in `window`, in file order.
///
/// # Errors
/// [`TimelineError::Telemetry`].
pub fn processes(store: &Store, selection: &Selection, window: &Window) -> Result<Processes, TimelineError> {
    Ok(Processes { blocks: store.processes(window)?, selection: selection.clone(), window: *window })
}

impl Processes {
    /// Hands the rows to `visit`, in file order, until it fails.
    ///
    /// # Errors
    /// What `visit` answers.
    pub fn each<E>(&self, mut visit: impl FnMut(ProcessRow<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut rows = Rows::growing(&self.selection);
        let mut selected = ByAddress::default();
        for row in self.blocks.iter().flat_map(|block| block.rows()) {
            if !self.window.contains(Some(row.ts)) {
                continue;
            }
            let lane = (Address::of(row.node.as_bytes()), row.gpu);
            if *selected.entry(lane).or_insert_with(|| rows.row(row.node, row.gpu).is_some()) {
                visit(row)?;
            }
        }
        Ok(())
    }
}

impl Serialize for Processes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Rows<'p>(&'p Processes);
        impl Serialize for Rows<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut rows = serializer.serialize_seq(None)?;
                self.0.each(|row| rows.serialize_element(&Answer::from(row)))?;
                rows.end()
            }
        }
        let mut answer = serializer.serialize_map(Some(1))?;
        answer.serialize_entry("processes", &Rows(self))?;
        answer.end()
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    ts: f64,
    node: &'a str,
    gpu: i64,
    pid: Option<i64>,
    name: Option<&'a str>,
    mem_mb: Option<i64>,
}

impl<'a> From<ProcessRow<'a>> for Answer<'a> {
    fn from(row: ProcessRow<'a>) -> Self {
        let ProcessRow { ts, node, gpu, pid, name, mem_mb } = row;
        Self { ts, node, gpu, pid, name, mem_mb }
    }
}
