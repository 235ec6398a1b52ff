//! Conversations: `trajectory/{rid}.jsonl`, one object a line, only for samples that recorded one.

use std::fs::File;
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
    let missing = || Error::NoConversation { path: path.to_owned(), index };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
        Err(e) => return Err(Error::io(path, e)),
    };
    let mut lines = Lines::new(file, 0);
    let mut damage = Vec::new();
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
        let mut strict = String::new();
        let replaced_characters = record::strict(&text, &mut strict);
        match serde_json::from_str::<Head>(&strict) {
            Ok(head) if head.sample_index == Some(index) => {
                return Ok(Line { json: strict.trim().to_owned(), damage, replaced_characters });
            }
            Ok(_) => {}
            Err(e) => damage.push((line.offset, e.to_string())),
        }
    }
    Err(missing())
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
