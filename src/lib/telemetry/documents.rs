//! The two JSON documents beside the streams: `meta.json` and `lane_catalog.json`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tail::{Opened, Stat, stat};
use super::{DamagedFile, TelemetryError};
use crate::record::strict;

/// What a run says about itself; rewritten by each attempt.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Meta {
    /// Name of the run.
    pub run_name: Option<String>,
    /// Start of the newest attempt, Unix seconds.
    pub start_ts: Option<f64>,
    /// The settings of the job that were recorded.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Version of the format, 1.
    pub schema_version: Option<i64>,
}

impl Meta {
    /// Reads `meta.json` under `dashboard`; `None` when there is none.
    ///
    /// # Errors
    /// [`TelemetryError`] when it cannot be read or is no such document.
    pub fn read(dashboard: &Path) -> Result<Option<Self>, TelemetryError> {
        read(&dashboard.join("meta.json"))
    }
}

/// Every lane that the run has used, by the name `node:gpu`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct LaneCatalog {
    /// Version of the format, 1.
    pub version: Option<i64>,
    /// The lanes.
    pub lanes: BTreeMap<String, CatalogLane>,
}

/// What is known of one lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CatalogLane {
    /// Trainer ranks that ran on it.
    pub ranks: Vec<i64>,
    /// Addresses of engines that served on it.
    pub engine_addrs: Vec<String>,
    /// `rollout`, `train`.
    pub roles: Vec<String>,
}

impl LaneCatalog {
    /// Reads `lane_catalog.json` under `dashboard`; `None` when there is none.
    ///
    /// # Errors
    /// [`TelemetryError`] when it cannot be read or is no such document.
    pub fn read(dashboard: &Path) -> Result<Option<Self>, TelemetryError> {
        read(&dashboard.join("lane_catalog.json"))
    }
}

/// A document that is read on first use and again when it is another.
#[derive(Debug)]
pub(super) struct Document<T> {
    path: PathBuf,
    state: Mutex<State<T>>,
    version: AtomicU64,
}

#[derive(Debug)]
struct State<T> {
    /// Of the file that was read last, if one was looked for.
    stat: Option<Option<Stat>>,
    value: Option<Arc<T>>,
    trouble: Option<String>,
}

impl<T: DeserializeOwned> Document<T> {
    pub(super) fn new(path: PathBuf) -> Self {
        let state = State { stat: None, value: None, trouble: None };
        Self { path, state: Mutex::new(state), version: AtomicU64::new(0) }
    }

    /// Grows with every change that was noticed.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The document; `None` when there is none or it was never whole.
    pub(super) fn value(&self) -> Option<Arc<T>> {
        let mut state = self.lock();
        if state.stat.is_none() {
            self.look(&mut state);
        }
        state.value.clone()
    }

    /// Reads the document again if it is another; answers whether it is.
    pub(super) fn refresh(&self) -> bool {
        let changed = self.look(&mut self.lock());
        if changed {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        changed
    }

    pub(super) fn damage(&self, out: &mut Vec<DamagedFile>) {
        if let Some(reason) = &self.lock().trouble {
            out.push(DamagedFile { path: self.path.clone(), lines: 0, first: 0, reason: reason.clone() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, state: &mut State<T>) -> bool {
        // What is no regular file has no state, and is looked at once.
        let now = stat(&self.path).ok().flatten();
        if state.stat == Some(now) {
            return false;
        }
        state.stat = Some(now);
        match read(&self.path) {
            Ok(value) => {
                state.value = value.map(Arc::new);
                state.trouble = None;
            }
            // The last one that was whole stays: the job rewrites it in a moment.
            Err(TelemetryError::Document { reason, .. }) => state.trouble = Some(reason),
            Err(error) => state.trouble = Some(error.to_string()),
        }
        true
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TelemetryError> {
    let failed = |source| TelemetryError::Open { path: path.to_owned(), source };
    let Some(opened) = Opened::open(path).map_err(failed)? else { return Ok(None) };
    let mut bytes = Vec::new();
    opened.range(0, u64::MAX).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut clean = String::new();
    strict(&text, &mut clean);
    serde_json::from_str(&clean)
        .map(Some)
        .map_err(|error| TelemetryError::Document { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_document_is_missing_read_or_named_as_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("meta.json");
        assert_eq!(Meta::read(folder.path()).unwrap(), None);
        fs::write(&path, r#"{"run_name": "r", "start_ts": NaN, "args": {"a": 1, "b": Infinity}, "new": []}"#)
            .unwrap();
        let meta = Meta::read(folder.path()).unwrap().unwrap();
        assert_eq!((meta.run_name.as_deref(), meta.start_ts), (Some("r"), None));
        assert_eq!(meta.args["b"], Value::Null);
        fs::write(&path, r#"{"run_name": "#).unwrap();
        let error = Meta::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("meta.json") && error.contains("line 1"), "{error}");
    }
}
