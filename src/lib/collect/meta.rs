//! `meta.json`: what the run says about itself.
//!
//! `start_ts` is when the newest attempt of the job began. The start of a collector is no attempt's: the time
//! that is there stays however often collectors come and go, and now is taken only where there is none. Only
//! a training process that sends a `meta` record begins another attempt. Settings join those that are
//! there, so that several may tell a part.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};

use super::disk;
use super::line::MetaRecord;
use crate::record::strict;

/// Its name under `dashboard`.
const NAME: &str = "meta.json";

/// The document.
#[derive(Debug)]
pub(super) struct Meta {
    path: PathBuf,
    /// Keys of the format first, then whatever else an earlier writer put there.
    document: Map<String, Value>,
    changed: bool,
    sync: bool,
}

/// What the collector itself knows about the run.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Name, if one was given.
    pub run_name: Option<String>,
    /// What the run is called if nobody says it.
    pub folder_name: String,
    /// Settings that were given.
    pub args: Map<String, Value>,
    /// When the collector started: the start of the attempt if nobody has told another.
    pub now: f64,
}

impl Meta {
    /// The document that is there, brought up to date; and what was wrong with the one that is there.
    pub(super) fn open(dashboard: &Path, known: Known, sync: bool) -> (Self, Option<String>) {
        let path = dashboard.join(NAME);
        for left in disk::leftovers(&path) {
            let _ = std::fs::remove_file(left);
        }
        let (mut old, wrong) = match std::fs::read(&path) {
            Ok(bytes) => {
                let mut text = String::new();
                strict(&String::from_utf8_lossy(&bytes), &mut text);
                match serde_json::from_str::<Map<String, Value>>(&text) {
                    Ok(old) => (old, None),
                    Err(error) => (Map::new(), Some(error.to_string())),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Map::new(), None),
            Err(error) => (Map::new(), Some(error.to_string())),
        };
        let name = known.run_name.map(Value::String);
        let name = name.or_else(|| old.remove("run_name").filter(Value::is_string));
        let start = old.get("start_ts").and_then(Value::as_f64);
        let args = match old.remove("args") {
            Some(Value::Object(args)) => args,
            _ => Map::new(),
        };
        let mut document = Map::new();
        document.insert("run_name".into(), name.unwrap_or(Value::String(known.folder_name)));
        document.insert("start_ts".into(), start.unwrap_or(known.now).into());
        document.insert("args".into(), Value::Object(args));
        document.insert("schema_version".into(), 1.into());
        for (key, value) in old {
            document.entry(key).or_insert(value);
        }
        let mut meta = Self { path, document, changed: true, sync };
        meta.join(known.args);
        (meta, wrong)
    }

    /// Takes in what a training process says.
    pub(super) fn apply(&mut self, record: MetaRecord) {
        if let Some(name) = record.run_name {
            self.document.insert("run_name".into(), name.into());
        }
        if let Some(start) = record.start_ts {
            self.document.insert("start_ts".into(), start.into());
        }
        self.join(record.args);
        self.changed = true;
    }

    fn join(&mut self, new: Map<String, Value>) {
        if let Some(Value::Object(args)) = self.document.get_mut("args") {
            args.extend(new);
        }
    }

    /// Writes the document if it changed.
    pub(super) fn write(&mut self) -> Result<(), (PathBuf, io::Error)> {
        if !self.changed {
            return Ok(());
        }
        // As Python's `json` indents it.
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b" "));
        let written = self.document.serialize(&mut serializer).map_err(io::Error::from);
        written
            .and_then(|()| disk::replace(&self.path, &text, self.sync))
            .map_err(|error| (self.path.clone(), error))?;
        self.changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known(now: f64) -> Known {
        Known { folder_name: "folder".to_owned(), now, ..Known::default() }
    }

    fn read(folder: &Path) -> String {
        std::fs::read_to_string(folder.join(NAME)).unwrap()
    }

    #[test]
    fn a_first_document_has_every_key_of_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let args = json!({"colocate": true, "n": 8}).as_object().unwrap().clone();
        let (mut meta, wrong) = Meta::open(folder.path(), Known { args, ..known(1769906850.5) }, false);
        meta.write().unwrap();
        assert_eq!(wrong, None);
        assert_eq!(
            read(folder.path()),
            "{\n \"run_name\": \"folder\",\n \"start_ts\": 1769906850.5,\n \"args\": {\n  \"colocate\": true,\n  \"n\": 8\n },\n \"schema_version\": 1\n}"
        );
    }

    #[test]
    fn settings_join_and_nothing_that_is_there_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(NAME),
            r#"{"run_name": "old", "start_ts": 5.0, "args": {"a": 1, "b": 2}, "schema_version": 1, "extra": [1]}"#,
        )
        .unwrap();
        let args = json!({"b": 3}).as_object().unwrap().clone();
        let (mut meta, _) = Meta::open(folder.path(), Known { args, ..known(7.0) }, false);
        meta.apply(MetaRecord {
            args: json!({"c": "x"}).as_object().unwrap().clone(),
            ..MetaRecord::default()
        });
        meta.write().unwrap();
        let text: Value = serde_json::from_str(&read(folder.path())).unwrap();
        assert_eq!(
            text,
            json!({"run_name": "old", "start_ts": 5.0, "args": {"a": 1, "b": 3, "c": "x"}, "schema_version": 1, "extra": [1]})
        );
        let record = MetaRecord { run_name: Some("new".into()), start_ts: Some(9.0), args: Map::new() };
        meta.apply(record);
        meta.write().unwrap();
        let text: Value = serde_json::from_str(&read(folder.path())).unwrap();
        assert_eq!((&text["run_name"], &text["start_ts"]), (&json!("new"), &json!(9.0)));
    }

    #[test]
    fn a_start_that_is_there_stays_until_a_training_process_tells_another() {
        let folder = tempfile::tempdir().unwrap();
        for (now, told, want) in
            [(7.0, None, 7.0), (8.0, None, 7.0), (9.0, Some(8.5), 8.5), (10.0, None, 8.5)]
        {
            let run_name = Some(format!("named at {now}"));
            let (mut meta, _) = Meta::open(folder.path(), Known { run_name, ..known(now) }, false);
            meta.apply(MetaRecord { start_ts: told, ..MetaRecord::default() });
            meta.write().unwrap();
            let text: Value = serde_json::from_str(&read(folder.path())).unwrap();
            assert_eq!(text["start_ts"], want);
        }
    }

    #[test]
    fn a_document_that_is_none_is_told_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NAME), "{\"run_name\": ").unwrap();
        let (mut meta, wrong) = Meta::open(folder.path(), known(7.0), false);
        assert!(wrong.unwrap().contains("EOF"));
        meta.write().unwrap();
        assert!(read(folder.path()).contains("\"start_ts\": 7.0"));
    }
}
