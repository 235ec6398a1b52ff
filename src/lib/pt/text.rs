//! Strings and bytes of a pickle, decoded from where their opcode lies.

use std::borrow::Cow;

use super::error::{ErrorKind, Fault};
use super::opcode::*;

/// Bytes of the length field of a string or bytes opcode.
pub(super) fn length_width(op: u8) -> usize {
    match op {
        SHORT_BINUNICODE | SHORT_BINBYTES | SHORT_BINSTRING => 1,
        BINUNICODE8 | BINBYTES8 | BYTEARRAY8 => 8,
        _ => 4,
    }
}

/// A little-endian unsigned length of up to eight bytes.
pub(super) fn read_length(b: &[u8]) -> u64 {
    b.iter().rev().fold(0, |n, &c| n << 8 | u64::from(c))
}

/// The payload of the string or bytes opcode at `at`. Empty if the bytes changed since the machine
/// checked them, which a mapped file can do.
pub(super) fn payload(pickle: &[u8], at: u64) -> &[u8] {
    let rest = pickle.get(at as usize..).unwrap_or_default();
    let width = rest.first().map_or(0, |&op| length_width(op));
    let len = read_length(rest.get(1..1 + width).unwrap_or_default()) as usize;
    len.checked_add(1 + width).and_then(|end| rest.get(1 + width..end)).unwrap_or_default()
}

/// Digits of the longest int that is written out, Python's own limit: the work grows with their square.
const DIGITS: usize = 4300;

/// The decimal digits of the `LONG1`, `LONG4`, `LONG` or `INT` opcode at `at`.
pub(super) fn long(pickle: &[u8], at: u64) -> Result<String, Fault> {
    let too_long = || Fault::limit(at, format!("an int of more than {DIGITS} digits"));
    let rest = pickle.get(at as usize..).unwrap_or_default();
    let width = match rest.first() {
        Some(&LONG1) => 1,
        Some(&LONG4) => 4,
        _ => {
            let line = rest.get(1..).unwrap_or_default().split(|&c| c == b'\n').next().unwrap_or_default();
            let text = str::from_utf8(line).unwrap_or_default().trim_end_matches('L');
            let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
            let digits = digits.trim_start_matches('0');
            return if digits.len() > DIGITS { Err(too_long()) } else { Ok(format!("{sign}{digits}")) };
        }
    };
    let len = read_length(rest.get(1..1 + width).unwrap_or_default()) as usize;
    // A byte is 2.4 digits.
    if len > DIGITS / 12 * 5 {
        return Err(too_long());
    }
    Ok(decimal(rest.get(1 + width..1 + width + len).unwrap_or_default()))
}

/// Whether a text is an optional sign and digits.
pub(super) fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Module and name of the `GLOBAL` opcode at `at`.
pub(super) fn global(pickle: &[u8], at: u64) -> (&[u8], &[u8]) {
    let rest = pickle.get(at as usize + 1..).unwrap_or_default();
    let mut lines = rest.splitn(3, |&c| c == b'\n');
    (lines.next().unwrap_or_default(), lines.next().unwrap_or_default())
}

/// UTF-8 as Python pickles it: lone surrogates come as three bytes (`surrogatepass`). Each becomes
/// one U+FFFD, as does every other undecodable stretch; the count is returned.
pub(super) fn utf8(bytes: &[u8]) -> (Cow<'_, str>, u64) {
    match std::str::from_utf8(bytes) {
        Ok(s) => (Cow::Borrowed(s), 0),
        Err(_) => {
            let (text, replaced) = repaired(bytes);
            (Cow::Owned(text), replaced)
        }
    }
}

fn repaired(mut bytes: &[u8]) -> (String, u64) {
    let mut out = String::with_capacity(bytes.len());
    let mut replaced = 0;
    loop {
        match std::str::from_utf8(bytes) {
            Ok(s) => {
                out.push_str(s);
                return (out, replaced);
            }
            Err(e) => {
                let (good, bad) = bytes.split_at(e.valid_up_to());
                out.push_str(&String::from_utf8_lossy(good));
                out.push(char::REPLACEMENT_CHARACTER);
                replaced += 1;
                let surrogate = matches!(bad, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]);
                let skip = if surrogate { 3 } else { e.error_len().unwrap_or(bad.len()) };
                bytes = bad.get(skip..).unwrap_or_default();
            }
        }
    }
}

/// What `_codecs.encode(text, "latin1")` yields: one byte a character. Protocol 2 has no bytes, so
/// NumPy's buffers travel this way. ASCII is borrowed; anything else is copied once.
pub(super) fn latin1(text: &[u8], at: u64) -> Result<Cow<'_, [u8]>, Fault> {
    if text.is_ascii() {
        return Ok(Cow::Borrowed(text));
    }
    // Characters below U+0080 are one byte of UTF-8, those up to U+00FF are two that begin with C2 or C3.
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        match rest {
            [] => return Ok(Cow::Owned(out)),
            [c @ 0..=0x7f, tail @ ..] => {
                out.push(*c);
                rest = tail;
            }
            [lead @ (0xc2 | 0xc3), c @ 0x80..=0xbf, tail @ ..] => {
                out.push((lead & 3) << 6 | (c & 0x3f));
                rest = tail;
            }
            _ => {
                let off = (text.len() - rest.len()) as u64;
                let what = "a character above U+00FF in bytes that are encoded as latin1".to_owned();
                return Err(Fault::at(at + off, ErrorKind::Corrupt(what)));
            }
        }
    }
}

/// A little-endian two's complement number of any width in decimal digits.
fn decimal(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
    let mut magnitude: Vec<u8> = bytes.to_vec();
    if negative {
        let mut carry = true;
        for b in &mut magnitude {
            let (sum, over) = (!*b).overflowing_add(u8::from(carry));
            (*b, carry) = (sum, over);
        }
    }
    // Base 10^9 digits, least significant first.
    let mut digits: Vec<u32> = Vec::new();
    for &byte in magnitude.iter().rev() {
        let mut carry = u64::from(byte);
        for d in &mut digits {
            let wide = u64::from(*d) << 8 | carry;
            (*d, carry) = ((wide % 1_000_000_000) as u32, wide / 1_000_000_000);
        }
        if carry > 0 {
            digits.push(carry as u32);
        }
    }
    let mut out = String::from(if negative { "-" } else { "" });
    match digits.split_last() {
        None => out.push('0'),
        Some((top, rest)) => {
            out.push_str(&top.to_string());
            for d in rest.iter().rev() {
                out.push_str(&format!("{d:09}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_surrogate_becomes_one_replacement_character() {
        let (text, n) = utf8(b"ab\xed\xa0\x80c\xed\xb0\x80");
        assert_eq!((text.as_ref(), n), ("ab\u{fffd}c\u{fffd}", 2));
        assert_eq!(utf8("gut \u{1f600}".as_bytes()), (Cow::Borrowed("gut \u{1f600}"), 0));
    }

    #[test]
    fn latin1_is_one_byte_a_character() {
        let text: String = (0u8..=255).map(char::from).collect();
        assert_eq!(latin1(text.as_bytes(), 0).unwrap().as_ref(), (0u8..=255).collect::<Vec<_>>());
        let fault = latin1("aĀ".as_bytes(), 100).unwrap_err();
        assert_eq!(fault.offset, Some(101));
    }

    #[test]
    fn wide_integers_keep_every_digit() {
        assert_eq!(decimal(&[]), "0");
        assert_eq!(decimal(&[0xff]), "-1");
        assert_eq!(decimal(&(1i128 << 100).to_le_bytes()), (1i128 << 100).to_string());
        assert_eq!(decimal(&(-(1i128 << 100) - 7).to_le_bytes()), (-(1i128 << 100) - 7).to_string());
        assert_eq!(decimal(&i128::MIN.to_le_bytes()), i128::MIN.to_string());
        assert_eq!(decimal(&10u128.pow(18).to_le_bytes()), "1000000000000000000");
    }
}
