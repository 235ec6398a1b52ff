//! Values as text: strict JSON written straight into a byte buffer, and text made safe for a terminal.
//!
//! Floats are the shortest text that reads back as the same float; what JSON has no number for (NaN,
//! infinities) is `null`.

use super::Cell;

/// Appends `value` as JSON: shortest text that reads back as the same `f32`, or `null`.
#[inline]
pub fn push_json_f32(out: &mut Vec<u8>, value: f32) {
    push_number(out, value);
}

/// Appends `value` as JSON: shortest text that reads back as the same `f64`, or `null`.
#[inline]
pub fn push_json_f64(out: &mut Vec<u8>, value: f64) {
    push_number(out, value);
}

/// serde_json writes numbers as said above, and a non-finite float as `null`. Writing a number to a
/// `Vec` cannot fail.
#[inline]
fn push_number<T: serde::Serialize>(out: &mut Vec<u8>, value: T) {
    let written = serde_json::to_writer(out, &value);
    debug_assert!(written.is_ok());
}

/// Appends an integer in decimal.
#[inline]
pub(super) fn push_int(out: &mut Vec<u8>, value: i64) {
    push_number(out, value);
}

/// Bytes that cannot stand for themselves in a JSON string of ours: those that JSON forbids, and
/// DEL and the lead byte of U+0080 to U+00BF, because a terminal obeys U+007F to U+009F.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[0x7f] = true;
    table[0xc2] = true;
    table
};

/// Appends `text` as a JSON string. All control characters are escaped, also those that JSON lets
/// through (U+007F to U+009F), so that printing it cannot drive a terminal.
pub fn push_json_str(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut start = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if !SPECIAL[usize::from(byte)] {
            at += 1;
            continue;
        }
        let (code, width) = match byte {
            0xc2 => match bytes.get(at + 1) {
                Some(&next) if next < 0xa0 => (next, 2),
                _ => {
                    at += 2;
                    continue;
                }
            },
            other => (other, 1),
        };
        out.extend_from_slice(&bytes[start..at]);
        let short = match code {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => 0,
        };
        if short == 0 {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(code >> 4)]);
            out.push(HEX[usize::from(code & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
        at += width;
        start = at;
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

/// Appends text that is JSON already, on one line: between tokens a line break is only white space,
/// and inside a string strict JSON has none.
pub(super) fn push_raw_json(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    out.extend_from_slice(json.trim().as_bytes());
    if out.len() == start {
        out.extend_from_slice(b"null");
    }
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Appends `[a,b,…]`.
#[inline]
fn push_list<T: Copy>(out: &mut Vec<u8>, items: &[T], push: impl Fn(&mut Vec<u8>, T)) {
    // 6 bytes an item is what a token id and its comma take; the buffer grows by itself past that.
    out.reserve(items.len().saturating_mul(6));
    out.push(b'[');
    for (at, &item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, item);
    }
    out.push(b']');
}

/// Appends any cell as one JSON value.
pub(super) fn push_json_cell(out: &mut Vec<u8>, cell: &Cell<'_>) {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Bool(true) => out.extend_from_slice(b"true"),
        Cell::Bool(false) => out.extend_from_slice(b"false"),
        Cell::Int(value) => push_int(out, *value),
        Cell::F32(value) => push_json_f32(out, *value),
        Cell::F64(value) => push_json_f64(out, *value),
        Cell::Text(text) => push_json_str(out, text),
        Cell::Json(json) => push_raw_json(out, json),
        Cell::Ints(items) => push_list(out, items, push_number::<i32>),
        Cell::Mask(items) => push_list(out, items, push_number::<i8>),
        Cell::Floats(items) => push_list(out, items, push_json_f32),
        Cell::Texts(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                match item {
                    Some(text) => push_json_str(out, text),
                    None => out.extend_from_slice(b"null"),
                }
            }
            out.push(b']');
        }
    }
}

/// Text with every character that could move a cursor, change colours or reorder what is read
/// written as an escape (`\n`, `\u{1b}`): C0 and C1 controls, DEL, line and paragraph separators,
/// zero-width and bidirectional marks.
pub fn escape_controls(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let harmful = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if harmful {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_the_shortest_text_that_reads_back() {
        for (value, text) in
            [(1.0, "1.0"), (1e-7, "1e-7"), (-0.0, "-0.0"), (0.1, "0.1"), (16_777_216.0, "16777216.0")]
        {
            assert_eq!(text_of(|out| push_json_f32(out, value)), text);
        }
    }

    #[test]
    fn what_json_has_no_number_for_is_null() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(text_of(|out| push_json_f64(out, value)), "null");
            assert_eq!(text_of(|out| push_json_f32(out, value as f32)), "null");
        }
    }

    #[test]
    fn control_characters_never_stand_for_themselves() {
        let text = "a\u{1b}[2J\u{9b}31m\u{7f}\n\t\"\\é\u{a0}";
        assert_eq!(
            text_of(|out| push_json_str(out, text)),
            "\"a\\u001b[2J\\u009b31m\\u007f\\n\\t\\\"\\\\é\u{a0}\""
        );
        assert_eq!(escape_controls("a\u{1b}[2J\u{202e}é"), "a\\u{1b}[2J\\u{202e}é");
    }

    #[test]
    fn embedded_json_stays_on_one_line() {
        assert_eq!(text_of(|out| push_raw_json(out, "{\n  \"a\": 1\r\n}\n")), "{   \"a\": 1  }");
        assert_eq!(text_of(|out| push_raw_json(out, "")), "null");
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in any::<String>()) {
            let json = text_of(|out| push_json_str(out, &text));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn any_finite_float_reads_back_to_the_bit(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            let json = text_of(|out| push_json_f32(out, value));
            if value.is_finite() {
                prop_assert_eq!(json.parse::<f32>().unwrap().to_bits(), bits);
            } else {
                prop_assert_eq!(json, "null");
            }
        }

        #[test]
        fn any_escaped_text_is_free_of_controls(text in any::<String>()) {
            prop_assert!(!escape_controls(&text).chars().any(char::is_control));
        }
    }
}
