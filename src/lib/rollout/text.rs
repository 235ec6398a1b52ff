//! Token ids as text, by the run's own tokenizer.
//!
//! Decoding is left to the `tokenizers` crate, but loading a whole tokenizer is most of a second for a
//! vocabulary of 150,000 (merges and pre-tokenizer, which only encoding needs, are the larger part). So
//! the file is read for the few thousand ids of a sample, and the crate is given a tokenizer of those:
//! their tokens, the added tokens and the decoder, which is all that decoding looks at.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;
use tokenizers::Tokenizer;

/// Decodes ids one at a time, so that text and series line up.
#[derive(Debug)]
pub struct Decoder {
    path: PathBuf,
    file: Vec<u8>,
    /// Ids looked up so far; `None` for one that the tokenizer does not have.
    texts: HashMap<i32, Option<String>>,
}

impl Decoder {
    /// Reads `tokenizer/tokenizer.json` of a run directory.
    ///
    /// # Errors
    /// Why there is no usable tokenizer, in one clause.
    pub fn load(run: &Path) -> Result<Self, String> {
        let path = run.join("tokenizer").join("tokenizer.json");
        let file = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { path, file, texts: HashMap::new() })
    }

    /// Looks up the ids that will be decoded.
    ///
    /// # Errors
    /// Why the tokenizer is not usable, in one clause.
    pub fn learn(&mut self, ids: &[i32]) -> Result<(), String> {
        let new: HashSet<u32> = ids
            .iter()
            .filter(|id| !self.texts.contains_key(id))
            .filter_map(|&id| u32::try_from(id).ok())
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let why = |e: &dyn fmt::Display| format!("{}: {e}", self.path.display());
        let tokenizer = match reduced(&self.file, &new) {
            Some(tokenizer) => tokenizer,
            // Of a form that is not known here; the crate may know it, or say what is wrong.
            None => Tokenizer::from_bytes(&self.file).map_err(|e| why(&e))?,
        };
        for id in new {
            let text = tokenizer.id_to_token(id).and_then(|_| tokenizer.decode(&[id], false).ok());
            self.texts.insert(id as i32, text);
        }
        Ok(())
    }

    /// Looks up every id that the tokenizer has, and lets go of its file: for a process that will be
    /// asked again and again. Ids outside of it are `None` from then on.
    ///
    /// # Errors
    /// Why the tokenizer is not usable, in one clause.
    pub fn learn_all(&mut self) -> Result<(), String> {
        let ids: Vec<u32> = match serde_json::from_slice::<File<'_>>(&self.file) {
            Ok(file) => {
                let added = file.added_tokens.iter();
                let added = added.filter_map(|raw| serde_json::from_str::<Added<'_>>(raw.get()).ok());
                file.model.vocab.0.iter().map(|(_, id)| *id).chain(added.map(|a| a.id)).collect()
            }
            // Of a form that is not known here.
            Err(_) => Tokenizer::from_bytes(&self.file)
                .map_err(|e| format!("{}: {e}", self.path.display()))?
                .get_vocab(true)
                .into_values()
                .collect(),
        };
        let ids: Vec<i32> = ids.into_iter().filter_map(|id| i32::try_from(id).ok()).collect();
        self.learn(&ids)?;
        self.file = Vec::new();
        Ok(())
    }

    /// The text of an id that was learned, special tokens included; `None` for an id the tokenizer does
    /// not have.
    pub fn decode(&self, id: i32) -> Option<&str> {
        self.texts.get(&id)?.as_deref()
    }
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, default)]
    added_tokens: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    decoder: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Model<'a>,
}

#[derive(Deserialize)]
struct Model<'a> {
    #[serde(borrow)]
    vocab: Vocabulary<'a>,
}

#[derive(Deserialize)]
struct Added<'a> {
    id: u32,
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// Tokens with their ids: an object (BPE, WordPiece, WordLevel) or a list of pairs whose place is the id
/// (Unigram).
struct Vocabulary<'a>(Vec<(Cow<'a, str>, u32)>);

impl<'de: 'a, 'a> Deserialize<'de> for Vocabulary<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tokens;
        impl<'de> Visitor<'de> for Tokens {
            type Value = Vec<(Cow<'de, str>, u32)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vocabulary")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some((token, id)) = map.next_entry::<Token<'de>, u32>()? {
                    all.push((token.0, id));
                }
                Ok(all)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some((token, _)) = seq.next_element::<(Token<'de>, IgnoredAny)>()? {
                    all.push((token.0, all.len() as u32));
                }
                Ok(all)
            }
        }
        deserializer.deserialize_any(Tokens).map(Vocabulary)
    }
}

/// A string that is borrowed unless it has escapes.
#[derive(Deserialize)]
struct Token<'a>(#[serde(borrow)] Cow<'a, str>);

/// A tokenizer that decodes the ids `wanted` as the whole one would. `None` when the file has another
/// form than expected.
fn reduced(file: &[u8], wanted: &HashSet<u32>) -> Option<Tokenizer> {
    let file: File<'_> = serde_json::from_slice(file).ok()?;
    let added: Vec<Added<'_>> =
        file.added_tokens.iter().map(|raw| serde_json::from_str(raw.get()).ok()).collect::<Option<_>>()?;
    let mut vocab = serde_json::Map::new();
    // The crate numbers an added token by the model's vocabulary; one that is in it under another id than
    // its own is left to the crate.
    let numbers: HashMap<&str, u32> = added.iter().map(|a| (a.content.as_ref(), a.id)).collect();
    for (token, id) in &file.model.vocab.0 {
        if numbers.get(token.as_ref()).is_some_and(|own| own != id) {
            return None;
        }
        if wanted.contains(id) {
            vocab.insert(token.clone().into_owned(), json!(id));
        }
    }
    for token in &added {
        vocab.insert(token.content.clone().into_owned(), json!(token.id));
    }
    let small = json!({
        "version": "1.0",
        "added_tokens": file.added_tokens,
        "normalizer": null,
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": file.decoder,
        // Decoding asks the model for nothing but the token of an id; this one is the plainest.
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": ""},
    });
    Tokenizer::from_bytes(small.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every id up to `most` decoded by the reduced tokenizer as by the whole one.
    fn agrees(file: &serde_json::Value, most: u32) {
        let bytes = file.to_string().into_bytes();
        let whole = Tokenizer::from_bytes(&bytes).unwrap();
        let ids: HashSet<u32> = (0..most).collect();
        let small = reduced(&bytes, &ids).expect("a form that is known");
        for id in 0..most {
            assert_eq!(small.id_to_token(id), whole.id_to_token(id), "id {id}");
            assert_eq!(small.decode(&[id], false).unwrap(), whole.decode(&[id], false).unwrap(), "id {id}");
        }
        let one = reduced(&bytes, &HashSet::from([1])).unwrap();
        assert_eq!(one.decode(&[1], false).unwrap(), whole.decode(&[1], false).unwrap());
    }

    fn file(
        model: serde_json::Value,
        decoder: serde_json::Value,
        added: serde_json::Value,
    ) -> serde_json::Value {
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
            "pre_tokenizer": null, "post_processor": null, "decoder": decoder, "model": model})
    }

    fn special(id: u32, content: &str) -> serde_json::Value {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    }

    #[test]
    fn a_reduced_byte_level_tokenizer_decodes_like_the_whole_one() {
        // "Ġ" is a space, "Ã" and "©" are the two bytes of é, which alone are no text.
        let vocab = json!({"a": 0, "Ġ": 1, "Ġa": 2, "Ã": 3, "©": 4, "Ã©": 5, "\"": 6, "\\": 7});
        let model = json!({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab, "merges": [["Ġ", "a"], ["Ã", "©"]]});
        let decoder =
            json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
        agrees(&file(model, decoder, json!([special(8, "<|end|>"), special(9, "<|im_start|>")])), 12);
    }

    #[test]
    fn a_reduced_unigram_tokenizer_decodes_like_the_whole_one() {
        let vocab = json!([["<unk>", 0.0], ["\u{2581}the", -1.0], ["s", -2.0], ["\u{2581}", -3.0]]);
        let model = json!({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false});
        let decoder = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
        agrees(&file(model, decoder, json!([special(0, "<unk>"), special(4, "</s>")])), 6);
    }

    #[test]
    fn a_reduced_word_piece_tokenizer_decodes_like_the_whole_one() {
        let model = json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "play": 1, "##ing": 2, ".": 3}});
        let decoder = json!({"type": "WordPiece", "prefix": "##", "cleanup": true});
        agrees(&file(model, decoder, json!([special(0, "[UNK]")])), 5);
    }

    #[test]
    fn an_added_token_that_the_model_numbers_otherwise_is_left_to_the_crate() {
        let model = json!({"type": "WordLevel", "vocab": {"a": 0, "<s>": 1}, "unk_token": "a"});
        let bytes = file(model, json!(null), json!([special(7, "<s>")])).to_string();
        assert!(reduced(bytes.as_bytes(), &HashSet::from([0, 1])).is_none());
    }
}
