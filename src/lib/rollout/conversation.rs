//! Conversations: `trajectory/{rid}.jsonl`, one object a line, only for samples that recorded one.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Error;

/// The line of one sample as it was recorded, and damaged lines passed on the way.
#[derive(Debug)]
pub struct Line {
    /// The JSON object.
    pub json: Box<RawValue>,
    /// (byte offset, what is wrong) of lines that could not be read.
    pub damage: Vec<(u64, String)>,
}

#[derive(Deserialize)]
struct Head {
    sample_index: Option<i64>,
}

/// Finds the conversation of a sample. A damaged line costs only itself; a last line without newline
/// is still being written and does not count.
///
/// # Errors
/// [`Error::NoConversation`], [`Error::Io`].
pub fn find(path: &Path, index: i64) -> Result<Line, Error> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoConversation { path: path.to_owned(), index });
        }
        Err(e) => return Err(Error::io(path, e)),
    };
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let (mut line, mut offset, mut damage) = (Vec::new(), 0u64, Vec::new());
    loop {
        line.clear();
        let n = reader.read_until(b'\n', &mut line).map_err(|e| Error::io(path, e))?;
        if n == 0 || line.last() != Some(&b'\n') {
            return Err(Error::NoConversation { path: path.to_owned(), index });
        }
        let at = offset;
        offset += n as u64;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_str::<Head>(text) {
            Ok(head) if head.sample_index == Some(index) => match parse(text) {
                Ok(json) => return Ok(Line { json, damage }),
                Err(e) => return Err(Error::Line { path: path.to_owned(), offset: at, what: e.to_string() }),
            },
            Ok(_) => {}
            Err(e) => damage.push((at, e.to_string())),
        }
    }
}

fn parse(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(text.to_owned())
}
