//! `meta.json`: what the run says about itself.
//!
//! `start_ts` is when the newest attempt of the job began. The start of a collector is no attempt's: the time
//! that is there stays however often collectors come and go, and now is taken only where there is none. Only
//! a training process that sends a `meta` record begins another attempt. Settings join those that are
//! there, so that several may tell a part.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::disk;
use super::line::MetaRecord;
use crate::record::{entries, strict};

/// Its name under `dashboard`.
const NAME: &str = "meta.json";

/// A JSON value as it was written, so that a whole number of any length keeps its digits.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Written(Box<RawValue>);

impl Written {
    /// The value that `text` is.
    ///
    /// # Errors
    /// It is no JSON, or a number that not every reader takes, such as 1e999.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<serde_json::Value>(text)?;
        serde_json::from_str(text).map(Self)
    }

    /// The members of the object that `text` is.
    pub(super) fn entries(text: &str) -> Result<Vec<(String, Self)>, serde_json::Error> {
        let members = entries(text)?;
        members.into_iter().map(|(key, value)| Ok((key.to_string(), Self::parse(value.get())?))).collect()
    }

    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::of(&text)
    }

    fn number(number: f64) -> Self {
        Self::of(&number)
    }

    /// Texts and numbers are JSON always.
    fn of(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).unwrap_or_default())
    }

    /// Its JSON.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl<'de> serde::Deserialize<'de> for Written {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

/// The members in their order, as an object.
struct Object<'a>(&'a [(String, Written)]);

impl Serialize for Object<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The keys of the format first.
#[derive(Serialize)]
struct Document<'a> {
    run_name: &'a Written,
    start_ts: &'a Written,
    args: Object<'a>,
    schema_version: u32,
    #[serde(flatten)]
    others: Object<'a>,
}

/// Sets members; one that is there keeps its place.
pub(super) fn join(members: &mut Vec<(String, Written)>, new: Vec<(String, Written)>) {
    let mut places: HashMap<String, usize> =
        members.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
    for (key, value) in new {
        match places.get(&key).and_then(|place| members.get_mut(*place)) {
            Some((_, old)) => *old = value,
            None => {
                places.insert(key.clone(), members.len());
                members.push((key, value));
            }
        }
    }
}

/// The document.
#[derive(Debug)]
pub(super) struct Meta {
    path: PathBuf,
    run_name: Written,
    start_ts: Written,
    args: Vec<(String, Written)>,
    /// Whatever else an earlier writer put there.
    others: Vec<(String, Written)>,
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
    pub args: Vec<(String, Written)>,
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
        let (old, wrong) = match std::fs::read(&path) {
            Ok(bytes) => {
                let mut text = String::new();
                strict(&String::from_utf8_lossy(&bytes), &mut text);
                match Written::entries(&text) {
                    Ok(old) => (old, None),
                    Err(error) => (Vec::new(), Some(error.to_string())),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let find = |name: &str| old.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        let name = known.run_name.map(|name| Written::text(&name));
        let name = name.or_else(|| find("run_name").filter(|name| name.get().starts_with('"')).cloned());
        let start = find("start_ts").filter(|start| start.get().parse::<f64>().is_ok_and(f64::is_finite));
        let mut meta = Self {
            path,
            run_name: name.unwrap_or_else(|| Written::text(&known.folder_name)),
            start_ts: start.cloned().unwrap_or_else(|| Written::number(known.now)),
            args: find("args").and_then(|args| Written::entries(args.get()).ok()).unwrap_or_default(),
            others: Vec::new(),
            changed: true,
            sync,
        };
        let mut others = old;
        others
            .retain(|(key, _)| !matches!(key.as_str(), "run_name" | "start_ts" | "args" | "schema_version"));
        join(&mut meta.others, others);
        join(&mut meta.args, known.args);
        (meta, wrong)
    }

    /// Takes in what a training process says.
    pub(super) fn apply(&mut self, record: MetaRecord) {
        if let Some(name) = record.run_name {
            self.run_name = Written::text(&name);
        }
        if let Some(start) = record.start_ts {
            self.start_ts = Written::number(start);
        }
        join(&mut self.args, record.args);
        self.changed = true;
    }

    /// Writes the document if it changed.
    pub(super) fn write(&mut self) -> Result<(), (PathBuf, io::Error)> {
        if !self.changed {
            return Ok(());
        }
        // As Python's `json` indents it.
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b" "));
        let document = Document {
            run_name: &self.run_name,
            start_ts: &self.start_ts,
            args: Object(&self.args),
            schema_version: 1,
            others: Object(&self.others),
        };
        let written = document.serialize(&mut serializer).map_err(io::Error::from);
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
    use serde_json::{Value, json};

    fn args(text: &str) -> Vec<(String, Written)> {
        Written::entries(text).unwrap()
    }

    fn known(now: f64) -> Known {
        Known { folder_name: "folder".to_owned(), now, ..Known::default() }
    }

    fn read(folder: &Path) -> String {
        std::fs::read_to_string(folder.join(NAME)).unwrap()
    }

    #[test]
    fn a_first_document_has_every_key_of_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let args = args(r#"{"colocate": true, "n": 8}"#);
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
        let given = args(r#"{"b": 3}"#);
        let (mut meta, _) = Meta::open(folder.path(), Known { args: given, ..known(7.0) }, false);
        meta.apply(MetaRecord { args: args(r#"{"c": "x"}"#), ..MetaRecord::default() });
        meta.write().unwrap();
        let text: Value = serde_json::from_str(&read(folder.path())).unwrap();
        assert_eq!(
            text,
            json!({"run_name": "old", "start_ts": 5.0, "args": {"a": 1, "b": 3, "c": "x"}, "schema_version": 1, "extra": [1]})
        );
        let record = MetaRecord { run_name: Some("new".into()), start_ts: Some(9.0), args: Vec::new() };
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
    fn a_whole_number_of_any_length_keeps_its_digits() {
        let folder = tempfile::tempdir().unwrap();
        let long = "12345678901234567890123";
        let old = format!(r#"{{"start_ts": 5, "args": {{"a": {long}}}, "extra": [{long}, {long}]}}"#);
        std::fs::write(folder.path().join(NAME), old).unwrap();
        let given = args(&format!(r#"{{"b": {{"c": {long}}}}}"#));
        let (mut meta, wrong) = Meta::open(folder.path(), Known { args: given, ..known(7.0) }, false);
        assert_eq!(wrong, None);
        meta.write().unwrap();
        let text = read(folder.path());
        assert_eq!(text.matches(long).count(), 4, "{text}");
        assert!(Written::parse("1e999").is_err());
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
