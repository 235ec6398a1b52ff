//! The demo's vocabulary: pieces of text and their token ids, both ways.
//!
//! It is a byte-level vocabulary without merges: a word that is a piece is one token, any other text
//! is its bytes, so every text can be written. Ids are spread over the range of a 152,000-entry
//! vocabulary, frequent pieces first, because the width of an id decides how a pickle stores it; the
//! ids between are not used.

use std::collections::HashMap;

use super::language::{ADJECTIVES, FIXED, NOUNS, NUMBERS, PROBLEMS, QUESTIONS, THOUGHTS, VERBS};

/// Ids of pieces lie below this; those of single bytes below 256.
const PIECES_END: u32 = 151_000;

/// Tokens that are markers, with the ids that a widespread family of models gives them.
pub(super) const SPECIALS: [(u32, &str, bool); 7] = [
    (END_OF_TEXT, "<|endoftext|>", true),
    (TURN_START, "<|im_start|>", true),
    (TURN_END, "<|im_end|>", true),
    (CALL_START, "<tool_call>", false),
    (CALL_END, "</tool_call>", false),
    (THINK_START, "<think>", false),
    (THINK_END, "</think>", false),
];
pub(super) const END_OF_TEXT: u32 = 151_643;
pub(super) const TURN_START: u32 = 151_644;
pub(super) const TURN_END: u32 = 151_645;
pub(super) const CALL_START: u32 = 151_657;
pub(super) const CALL_END: u32 = 151_658;
pub(super) const THINK_START: u32 = 151_667;
pub(super) const THINK_END: u32 = 151_668;

/// What a slot of a pattern is filled from. The words carry their leading space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Number,
    Noun,
    Adjective,
    Verb,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Token(u32),
    Slot(Slot),
}

/// A sentence with slots, cut into tokens once.
#[derive(Debug)]
pub(super) struct Pattern {
    /// First token at the start of a line; inside a line it is the first of `parts`.
    bare: u32,
    parts: Vec<Part>,
}

/// Pieces, ids and the cut patterns.
#[derive(Debug)]
pub(super) struct Vocabulary {
    ids: HashMap<String, u32>,
    /// Pieces by rank; the id of rank `r` is `256 + r * spread`.
    pieces: Vec<String>,
    spread: u32,
    slots: [Vec<u32>; 4],
    pub(super) thoughts: Vec<Pattern>,
    pub(super) problems: Vec<Pattern>,
    pub(super) questions: Vec<Pattern>,
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut pieces = Pieces::default();
        for pattern in [THOUGHTS, PROBLEMS, QUESTIONS, FIXED].into_iter().flatten() {
            // Both as a sentence inside a line and as one that begins it.
            for text in [format!(" {pattern}"), (*pattern).to_owned()] {
                for literal in literals(&text) {
                    split(literal).filter(|piece| piece.len() > 1).for_each(|piece| pieces.add(piece));
                }
            }
        }
        for word in [NOUNS, ADJECTIVES, VERBS].into_iter().flatten() {
            pieces.add(&format!(" {word}"));
            pieces.add(word);
        }
        for number in 0..NUMBERS {
            pieces.add(&format!(" {number}"));
            // A single digit is its byte.
            if number > 9 {
                pieces.add(&number.to_string());
            }
        }
        let pieces = pieces.list;
        let spread = (PIECES_END - 256) / pieces.len() as u32;
        let ids =
            pieces.iter().zip(0u32..).map(|(piece, rank)| (piece.clone(), 256 + rank * spread)).collect();
        let mut vocabulary = Self {
            ids,
            pieces,
            spread,
            slots: Default::default(),
            thoughts: Vec::new(),
            problems: Vec::new(),
            questions: Vec::new(),
        };
        let words = |list: &[&str]| list.iter().flat_map(|w| vocabulary.encode(&format!(" {w}"))).collect();
        let numbers = (0..NUMBERS).flat_map(|n| vocabulary.encode(&format!(" {n}"))).collect();
        vocabulary.slots = [numbers, words(NOUNS), words(ADJECTIVES), words(VERBS)];
        let cut = |list: &[&str]| list.iter().map(|pattern| vocabulary.cut(pattern)).collect();
        (vocabulary.thoughts, vocabulary.problems, vocabulary.questions) =
            (cut(THOUGHTS), cut(PROBLEMS), cut(QUESTIONS));
        vocabulary
    }

    /// Pieces with their ids, without single bytes and markers.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&str, u32)> {
        self.pieces.iter().zip(0u32..).map(|(piece, rank)| (piece.as_str(), 256 + rank * self.spread))
    }

    /// Token ids of a text without markers.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        for piece in split(text) {
            match self.ids.get(piece) {
                Some(&id) => tokens.push(id),
                None => tokens.extend(piece.bytes().map(u32::from)),
            }
        }
        tokens
    }

    /// Text of tokens, markers written out.
    pub(super) fn decode(&self, tokens: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(tokens.len() * 5);
        for &token in tokens {
            if let Ok(byte) = u8::try_from(token) {
                bytes.push(byte);
            } else if token >= PIECES_END {
                let marker = SPECIALS.iter().find(|special| special.0 == token);
                bytes.extend(marker.iter().flat_map(|special| special.1.bytes()));
            } else if let Some(piece) = self.pieces.get(((token - 256) / self.spread) as usize) {
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
        // A response cut inside a character ends as any decoder of bytes would end it.
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Writes a sentence; `pick(n)` answers a number below `n` for each slot.
    pub(super) fn fill(
        &self,
        pattern: &Pattern,
        starts_line: bool,
        tokens: &mut Vec<u32>,
        mut pick: impl FnMut(usize) -> usize,
    ) {
        let skip = usize::from(starts_line);
        if starts_line {
            tokens.push(pattern.bare);
        }
        tokens.extend(pattern.parts.iter().skip(skip).map(|part| match part {
            Part::Token(id) => *id,
            Part::Slot(slot) => {
                let words = &self.slots[*slot as usize];
                words[pick(words.len())]
            }
        }));
    }

    fn cut(&self, pattern: &str) -> Pattern {
        let text = format!(" {pattern}");
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(" {") {
            parts.extend(self.encode(&rest[..at]).into_iter().map(Part::Token));
            parts.push(Part::Slot(match &rest[at + 2..at + 3] {
                "n" => Slot::Number,
                "o" => Slot::Noun,
                "a" => Slot::Adjective,
                _ => Slot::Verb,
            }));
            rest = &rest[at + 4..];
        }
        parts.extend(self.encode(rest).into_iter().map(Part::Token));
        let first = split(pattern).next().unwrap_or_default();
        let bare = self.encode(first).first().copied().unwrap_or(u32::from(b' '));
        Pattern { bare, parts }
    }
}

#[derive(Default)]
struct Pieces {
    list: Vec<String>,
    seen: HashMap<String, ()>,
}

impl Pieces {
    fn add(&mut self, piece: &str) {
        if self.seen.insert(piece.to_owned(), ()).is_none() {
            self.list.push(piece.to_owned());
        }
    }
}

/// The text of a pattern between its slots.
fn literals(pattern: &str) -> impl Iterator<Item = &str> {
    ["{n}", "{o}", "{a}", "{v}"]
        .iter()
        .fold(vec![pattern], |texts, slot| {
            texts
                .into_iter()
                .flat_map(|text| text.split(slot))
                .map(|text| text.strip_suffix(' ').unwrap_or(text))
                .collect()
        })
        .into_iter()
}

/// Cuts a text as the byte-level pre-tokenizer of GPT-2 does, contractions aside: letters, digits or
/// other signs, each with at most one space before it; blanks that precede nothing stay apart.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let class = |c: char| match c {
        c if c.is_whitespace() => 0,
        c if c.is_alphabetic() => 1,
        c if c.is_numeric() => 2,
        _ => 3,
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let word = rest.strip_prefix(' ').unwrap_or(rest);
        let end = match word.chars().next().map(class) {
            Some(kind) if kind != 0 => {
                let len = word.find(|c| class(c) != kind).unwrap_or(word.len());
                rest.len() - word.len() + len
            }
            _ => first.len_utf8(),
        };
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::super::language::ODD;
    use super::*;

    #[test]
    fn every_text_comes_back_from_its_tokens() {
        let vocabulary = Vocabulary::new();
        for text in ["", " ", "a  b\n\n c", "The answer is \\boxed{42}.", ODD, "tokens 12345, {\"k\": [1.5]}"]
        {
            assert_eq!(vocabulary.decode(&vocabulary.encode(text)), text);
        }
    }

    #[test]
    fn words_are_single_tokens_spread_over_a_wide_vocabulary() {
        let vocabulary = Vocabulary::new();
        assert_eq!(vocabulary.encode("First, let the number").len(), 5);
        let ids: Vec<u32> = vocabulary.pieces().map(|(_, id)| id).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|&id| (256..PIECES_END).contains(&id)));
        assert!(ids.last().is_some_and(|&id| id > 140_000));
    }

    #[test]
    fn a_pattern_reads_the_same_at_the_start_of_a_line_and_inside() {
        let vocabulary = Vocabulary::new();
        for (pattern, text) in vocabulary.thoughts.iter().zip(THOUGHTS) {
            let (mut inside, mut start) = (Vec::new(), Vec::new());
            vocabulary.fill(pattern, false, &mut inside, |_| 0);
            vocabulary.fill(pattern, true, &mut start, |_| 0);
            assert_eq!(vocabulary.decode(&inside), format!(" {}", vocabulary.decode(&start)), "{text}");
            assert!(!vocabulary.decode(&start).contains('{'), "{text}");
        }
    }
}
