//! JSON as the streams have it: borrowed text, objects in order, and what Python writes beyond JSON.
//!
//! Python's `json` writes `NaN`, `Infinity` and `-Infinity`, and escapes a lone surrogate as
//! `\ud83d`; neither is JSON that others can read. [`strict`] turns such a line into strict JSON.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Text of a record: borrowed from the line, owned only where the line has escapes.
///
/// `Cow` alone would do if serde borrowed inside an `Option`; it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// Keys and raw values of the JSON object `text`, in its order, repeated keys included.
///
/// # Errors
/// When `text` is not one strict JSON object.
pub fn entries(text: &str) -> Result<Vec<(Text<'_>, &RawValue)>, serde_json::Error> {
    struct Entries<'a>(Vec<(Text<'a>, &'a RawValue)>);
    struct EntriesVisitor;
    impl<'de> Visitor<'de> for EntriesVisitor {
        type Value = Entries<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                entries.push(entry);
            }
            Ok(Entries(entries))
        }
    }
    impl<'de> Deserialize<'de> for Entries<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(EntriesVisitor)
        }
    }
    serde_json::from_str::<Entries<'_>>(text).map(|entries| entries.0)
}

/// Whether `text` may hold an escaped surrogate, lone or paired. Cheap: most lines have no backslash.
pub(super) fn may_have_surrogates(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\\', bytes).any(|at| matches!(bytes.get(at + 1..at + 3), Some([b'u', b'd' | b'D'])))
}

/// Writes `text` to `out` with everything that Python writes beyond JSON made strict: the bare
/// tokens `NaN`, `Infinity` and `-Infinity` become `null`, an escaped surrogate without its other
/// half becomes `\ufffd`. Returns how many surrogates were replaced. Anything else is copied,
/// right or wrong: whether it is JSON is the parser's question.
pub fn strict(text: &str, out: &mut String) -> u64 {
    out.clear();
    out.reserve(text.len());
    let bytes = text.as_bytes();
    let mut replaced = 0;
    let mut copied = 0; // everything before is in `out`
    let mut at = 0;
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        // Length of the source replaced at `at`, and its replacement. Both ends fall on ASCII bytes.
        let mut swap = None;
        let mut step = 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => match code_unit(bytes, at) {
                Some(0xD800..=0xDBFF) if matches!(code_unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => {
                    step = 12
                }
                Some(0xD800..=0xDFFF) => {
                    replaced += 1;
                    swap = Some((6, "\\ufffd"));
                }
                _ => step = 2,
            },
            b'N' | b'I' | b'-' if !in_string => {
                let token = ["NaN", "Infinity", "-Infinity"]
                    .into_iter()
                    .find(|token| bytes.get(at..).is_some_and(|rest| rest.starts_with(token.as_bytes())));
                swap = token.map(|token| (token.len(), "null"));
            }
            _ => {}
        }
        if let Some((length, replacement)) = swap {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(replacement);
            copied = at + length;
            step = length;
        }
        at += step;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    replaced
}

/// The UTF-16 code unit of the escape `\uXXXX` at `at`.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict_of(text: &str) -> (String, u64) {
        let mut out = "left over".to_owned();
        let replaced = strict(text, &mut out);
        (out, replaced)
    }

    #[test]
    fn non_finite_tokens_become_null_outside_strings_only() {
        assert_eq!(
            strict_of(r#"{"a":NaN,"NaN":"-Infinity \" NaN","b":[Infinity,-Infinity,-1]}"#).0,
            r#"{"a":null,"NaN":"-Infinity \" NaN","b":[null,null,-1]}"#
        );
    }

    #[test]
    fn a_lone_surrogate_is_replaced_and_counted_and_a_pair_is_kept() {
        let (text, replaced) =
            strict_of(r#"["\ud83d","\ud83d\ude00","\ude00é","\ud83d\ud83d\uDE00","\\ud83d"]"#);
        assert_eq!(text, r#"["\ufffd","\ud83d\ude00","\ufffdé","\ufffd\ud83d\uDE00","\\ud83d"]"#);
        assert_eq!(replaced, 3);
        let texts: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(texts, ["\u{fffd}", "😀", "\u{fffd}é", "\u{fffd}😀", "\\ud83d"]);
    }

    #[test]
    fn cut_escapes_are_copied_as_they_are() {
        for text in
            [r#"{"a":"\"#, r#"{"a":"\u"#, r#"{"a":"\ud83"#, r#"{"a":"\ud83d\u"#, "-", "Na", r#""\+123""#]
        {
            assert!(strict_of(text).0.len() >= text.len());
        }
        assert_eq!(strict_of(r#"{"a":"\u+123"}"#).0, r#"{"a":"\u+123"}"#);
    }

    #[test]
    fn objects_keep_their_order_and_their_numbers() {
        let entries = entries(r#"{"b": 18446744073709551616, "a": {"x": [1]}, "b": null}"#).unwrap();
        let seen: Vec<_> = entries.iter().map(|(key, raw)| (&**key, raw.get())).collect();
        assert_eq!(seen, [("b", "18446744073709551616"), ("a", r#"{"x": [1]}"#), ("b", "null")]);
    }
}
