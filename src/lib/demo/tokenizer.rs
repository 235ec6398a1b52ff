//! `tokenizer/`: the vocabulary as a Hugging Face tokenizer that any reader of the run can load.

use std::fmt::Write;

use super::vocabulary::{END_OF_TEXT, SPECIALS, TURN_END, Vocabulary};

/// Turns messages into a prompt, in the form that the demo's chat prompts have.
const CHAT_TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + \
     message['content'] + '<|im_end|>\\n' }}{% endfor %}\
     {% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// `tokenizer.json`: byte-level BPE that takes whole pieces (`ignore_merges`) and has no merges.
pub(super) fn json(vocabulary: &Vocabulary) -> String {
    let mut added = Vec::new();
    for (id, content, special) in SPECIALS {
        added.push(format!(
            "    {{\"id\": {id}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \
             \"normalized\": false, \"special\": {special}}}",
            quoted(content)
        ));
    }
    let byte_level =
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}";
    let mut vocab = Vec::new();
    for byte in 0..=u8::MAX {
        vocab.push(format!("      {}: {byte}", quoted(&visible(byte).to_string())));
    }
    for (piece, id) in vocabulary.pieces() {
        let piece: String = piece.bytes().map(visible).collect();
        vocab.push(format!("      {}: {id}", quoted(&piece)));
    }
    // A loader gives a marker the id that the model has for it; else the next one after the vocabulary,
    // whatever "added_tokens" says.
    for (id, content, _) in SPECIALS {
        vocab.push(format!("      {}: {id}", quoted(content)));
    }
    format!(
        "{{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [\n{}\n  ],\n  \
         \"normalizer\": null,\n  \"pre_tokenizer\": {byte_level},\n  \"post_processor\": null,\n  \
         \"decoder\": {byte_level},\n  \"model\": {{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \
         \"unk_token\": null,\n    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \
         \"fuse_unk\": false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": true,\n    \"vocab\": {{\n{}\n    \
         }},\n    \"merges\": []\n  }}\n}}\n",
        added.join(",\n"),
        vocab.join(",\n")
    )
}

/// `tokenizer_config.json`.
pub(super) fn config() -> String {
    let name =
        |wanted: u32| SPECIALS.iter().find(|special| special.0 == wanted).map_or("", |special| special.1);
    format!(
        "{{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  \"eos_token\": {},\n  \"pad_token\": {},\n  \
         \"model_max_length\": 131072,\n  \"clean_up_tokenization_spaces\": false,\n  \"chat_template\": {}\n}}\n",
        quoted(name(TURN_END)),
        quoted(name(END_OF_TEXT)),
        quoted(CHAT_TEMPLATE)
    )
}

/// The letter that stands for a byte in byte-level vocabularies: itself if it is printable Latin-1,
/// else the next one from U+0100 on (GPT-2's table).
fn visible(byte: u8) -> char {
    let printable = |b: u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if printable(byte) {
        return char::from(byte);
    }
    let rank = (0..byte).filter(|&b| !printable(b)).count() as u32;
    char::from_u32(0x100 + rank).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::language::{ODD, THOUGHTS};
    use super::*;

    #[test]
    fn the_tokenizers_crate_agrees_with_the_vocabulary() {
        let vocabulary = Vocabulary::new();
        let tokenizer = tokenizers::Tokenizer::from_bytes(json(&vocabulary)).unwrap();
        for text in THOUGHTS.iter().chain(&[ODD, "{\"result\": 123456}\n", "line\nline"]) {
            let ours = vocabulary.encode(text);
            assert_eq!(tokenizer.encode(*text, false).unwrap().get_ids(), ours, "{text}");
            assert_eq!(tokenizer.decode(&ours, false).unwrap(), *text);
        }
        for (id, name, _) in SPECIALS {
            assert_eq!(tokenizer.decode(&[id], false).unwrap(), name);
            assert_eq!(tokenizer.encode(name, false).unwrap().get_ids(), [id]);
        }
    }

    #[test]
    fn the_config_is_json() {
        let config: serde_json::Value = serde_json::from_str(&config()).unwrap();
        assert_eq!(config["eos_token"], "<|im_end|>");
    }
}
