//! Conversations: `trajectory/{rid}.jsonl`, one object a line, only for samples that recorded one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Error;
use crate::record;
use crate::telemetry::Lines;

/// One sample's line, and what was wrong with lines passed on the way.
#[derive(Debug)]
pub struct Line {
    /// The object as recorded, made strict JSON.
    pub json: String,
    /// (byte offset, what is wrong) of lines that cannot be read.
    pub damage: Vec<(u64, String)>,
    /// Lone surrogates replaced by U+FFFD in the line.
    pub replaced_characters: u64,
}

/// One message of a conversation, the values as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Keys and values in the order recorded.
    pub fields: Vec<(String, String)>,
}

impl Message {
    /// The JSON text under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

#[derive(Deserialize)]
struct Head {
    sample_index: Option<i64>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
}

/// Finds the conversation of a sample. A damaged line costs only itself; a last line without newline
/// is still being written and does not count.
///
/// # Errors
/// [`Error::NoConversation`], [`Error::Io`].
pub fn find(path: &Path, index: i64) -> Result<Line, Error> {
    let mut damage = Vec::new();
    let found = each(path, 0, &mut damage, |_, sample, json, replaced_characters| {
        (sample == Some(index)).then(|| (json.trim().to_owned(), replaced_characters))
    })?;
    match found {
        Some((json, replaced_characters)) => Ok(Line { json, damage, replaced_characters }),
        None => Err(Error::NoConversation { path: path.to_owned(), index }),
    }
}

/// Where each sample's conversation lies, for a process that will be asked for more than one.
#[derive(Debug, Default)]
pub struct Index {
    /// Byte offset of the first line of each sample.
    offsets: HashMap<i64, u64>,
    /// (byte offset, what is wrong) of lines that cannot be read.
    pub damage: Vec<(u64, String)>,
}

impl Index {
    /// Reads the file once. One that is not there has no conversations.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut index = Self::default();
        let offsets = &mut index.offsets;
        each(path, 0, &mut index.damage, |offset, sample, _, _| {
            if let Some(sample) = sample {
                offsets.entry(sample).or_insert(offset);
            }
            None::<()>
        })?;
        Ok(index)
    }

    /// As [`find`], at the place that is known.
    ///
    /// # Errors
    /// As [`find`]; also [`Error::NoConversation`] when the file is not what it was.
    pub fn find(&self, path: &Path, index: i64) -> Result<Line, Error> {
        let missing = || Error::NoConversation { path: path.to_owned(), index };
        let offset = *self.offsets.get(&index).ok_or_else(missing)?;
        let first = each(path, offset, &mut Vec::new(), |_, sample, json, replaced_characters| {
            Some((sample, json.trim().to_owned(), replaced_characters))
        })?;
        match first {
            Some((Some(sample), json, replaced_characters)) if sample == index => {
                Ok(Line { json, damage: Vec::new(), replaced_characters })
            }
            _ => Err(missing()),
        }
    }
}

/// Hands offset, sample, strict JSON and the number of replaced characters of each line from `start` on to
/// `visit`, until it answers something.
fn each<T>(
    path: &Path,
    start: u64,
    damage: &mut Vec<(u64, String)>,
    mut visit: impl FnMut(u64, Option<i64>, &str, u64) -> Option<T>,
) -> Result<Option<T>, Error> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    };
    file.seek(SeekFrom::Start(start)).map_err(|e| Error::io(path, e))?;
    let mut lines = Lines::new(file, start);
    let mut strict = String::new();
    while let Some(line) = lines.next_line().map_err(|e| Error::io(path, e))? {
        let Some(bytes) = line.bytes else {
            damage.push((line.offset, "longer than any conversation".to_owned()));
            continue;
        };
        let text = String::from_utf8_lossy(bytes);
        if text.trim().is_empty() {
            continue;
        }
        // Python writes NaN and lone surrogates, which JSON has not.
        strict.clear();
        let replaced_characters = record::strict(&text, &mut strict);
        match serde_json::from_str::<Head>(&strict) {
            Ok(head) => {
                if let Some(found) = visit(line.offset, head.sample_index, &strict, replaced_characters) {
                    return Ok(Some(found));
                }
            }
            Err(e) => damage.push((line.offset, e.to_string())),
        }
    }
    Ok(None)
}

/// The messages of a conversation's line.
///
/// # Errors
/// [`Error::Inconsistent`] when the line's `messages` are no list of objects.
pub fn messages(path: &Path, line: &Line) -> Result<Vec<Message>, Error> {
    let bad =
        |e: serde_json::Error| Error::inconsistent(path, format!("messages are no list of objects: {e}"));
    let body: Body<'_> = serde_json::from_str(&line.json).map_err(bad)?;
    let message = |raw: &RawValue| {
        let fields = record::entries(raw.get()).map_err(bad)?;
        Ok(Message {
            fields: fields.into_iter().map(|(k, v)| (k.0.into_owned(), v.get().to_owned())).collect(),
        })
    };
    body.messages.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_finds_what_a_search_finds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("3.jsonl");
        assert!(Index::read(&path).unwrap().find(&path, 1).is_err());
        let text = "{\"sample_index\": 1, \"reward\": NaN}\n{\"sample_in\n\n{\"sample_index\": 7, \"a\": \"\\ud83d\"}\n\
                    {\"sample_index\": 1, \"again\": 1}\n{\"sample_index\": 9}";
        std::fs::write(&path, text).unwrap();
        let index = Index::read(&path).unwrap();
        assert_eq!(index.damage.len(), 1);
        for sample in [1, 7] {
            let (a, b) = (find(&path, sample).unwrap(), index.find(&path, sample).unwrap());
            assert_eq!((a.json, a.replaced_characters), (b.json, b.replaced_characters));
        }
        // The last line is not complete.
        assert!(find(&path, 9).is_err() && index.find(&path, 9).is_err());
        std::fs::write(&path, "{\"sample_index\": 5}\n").unwrap();
        assert!(index.find(&path, 1).is_err());
    }
}
