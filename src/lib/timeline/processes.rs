//! Who held memory on the GPUs.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::json;

use super::selection::Rows;
use super::{Selection, TimelineError, json};
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
        for row in self.blocks.iter().flat_map(|block| block.rows()) {
            if self.window.contains(Some(row.ts)) && rows.row(row.node, row.gpu).is_some() {
                visit(row)?;
            }
        }
        Ok(())
    }

    /// The answer as JSON text.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        json::joined(r#"{"processes":["#, &self.blocks, "]}", |block, out| {
            // Of a row only time and memory are new. What is not selected has no text.
            let mut rows = Rows::growing(&self.selection);
            let texts: Vec<Option<Vec<u8>>> = block
                .processes()
                .map(|ProcessRow { node, gpu, pid, name, .. }| {
                    rows.row(node, gpu)?;
                    let mut out = Vec::new();
                    for (key, value) in [
                        (",\"node\":", json!(node)),
                        (",\"gpu\":", json!(gpu)),
                        (",\"pid\":", json!(pid)),
                        (",\"name\":", json!(name)),
                    ] {
                        out.extend_from_slice(key.as_bytes());
                        json::put(value, &mut out);
                    }
                    out.extend_from_slice(br#","mem_mb":"#);
                    Some(out)
                })
                .collect();
            for (ts, process, mem_mb) in block.readings() {
                if let Some(Some(text)) = texts.get(process as usize)
                    && self.window.contains(Some(ts))
                {
                    out.extend_from_slice(br#"{"ts":"#);
                    json::put(ts, out);
                    out.extend_from_slice(text);
                    json::put(mem_mb, out);
                    out.extend_from_slice(b"},");
                }
            }
        })
    }
}

impl Serialize for Processes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json::raw(self.to_json(), serializer)
    }
}
