//! Token ids as text, by the run's own tokenizer.

use std::collections::HashMap;
use std::path::Path;

use tokenizers::Tokenizer;

/// Decodes ids one at a time, so that text and series line up.
pub struct Decoder {
    tokenizer: Tokenizer,
    known: HashMap<i32, String>,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Decoder {
    /// Loads `tokenizer/tokenizer.json` of a run directory.
    ///
    /// # Errors
    /// Why there is no usable tokenizer, in one clause.
    pub fn load(run: &Path) -> Result<Self, String> {
        let path = run.join("tokenizer").join("tokenizer.json");
        if !path.is_file() {
            return Err(format!("{}: no such file", path.display()));
        }
        let tokenizer = Tokenizer::from_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { tokenizer, known: HashMap::new() })
    }

    /// The text of one id, special tokens included; `None` for an id the tokenizer does not have.
    pub fn decode(&mut self, id: i32) -> Option<&str> {
        if !self.known.contains_key(&id) {
            let number = u32::try_from(id).ok()?;
            self.tokenizer.id_to_token(number)?;
            let text = self.tokenizer.decode(&[number], false).ok()?;
            self.known.insert(id, text);
        }
        self.known.get(&id).map(String::as_str)
    }
}
