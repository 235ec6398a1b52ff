//! JSON numbers at the front of a byte slice, read without a copy.
//!
//! Only what can be read exactly and at once is read here; anything else is `None`, and the line goes
//! to the patient reader. A number that this reads has the value that serde_json gives it.

/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Integers up to this are floats without rounding.
const EXACT: u64 = 1 << 53;

/// Digits that always fit 64 bits.
const SAFE_DIGITS: usize = 19;

/// A float and what follows it.
pub(super) fn float(text: &[u8]) -> Option<(f64, &[u8])> {
    let (negative, digits) = sign(text);
    let (whole, after) = digits_of(digits, 0)?;
    let (mantissa, count, decimals, rest) = match after.split_first() {
        Some((b'.', fraction)) => {
            let (mantissa, rest) = digits_of_fraction(fraction, whole)?;
            let decimals = fraction.len() - rest.len();
            (mantissa, digits.len() - rest.len() - 1, decimals, rest)
        }
        _ => (whole, digits.len() - after.len(), 0, after),
    };
    if matches!(rest.first(), Some(b'e' | b'E' | b'.' | b'0'..=b'9')) || count > SAFE_DIGITS {
        return slow_float(text);
    }
    let value = match POWERS.get(decimals) {
        // Both are exact, so the one division rounds once and right.
        Some(power) if mantissa <= EXACT => mantissa as f64 / power,
        _ => return slow_float(text),
    };
    Some((if negative { -value } else { value }, rest))
}

/// An integer and what follows it; `None` also for a number with a fraction or an exponent.
pub(super) fn integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = sign(text);
    let (magnitude, rest) = digits_of(digits, 0)?;
    if digits.len() - rest.len() >= SAFE_DIGITS || matches!(rest.first(), Some(b'.' | b'e' | b'E')) {
        return None;
    }
    let magnitude = i64::try_from(magnitude).ok()?;
    Some((if negative { -magnitude } else { magnitude }, rest))
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    }
}

/// The digits before a point: at least one, no zero in front of others.
fn digits_of(text: &[u8], start: u64) -> Option<(u64, &[u8])> {
    let (first, second) = (text.first()?, text.get(1));
    if !first.is_ascii_digit() || (*first == b'0' && second.is_some_and(u8::is_ascii_digit)) {
        return None;
    }
    digits_of_fraction(text, start)
}

/// At least one digit. Wraps beyond 19, which the caller counts.
fn digits_of_fraction(text: &[u8], start: u64) -> Option<(u64, &[u8])> {
    let mut value = start;
    let mut at = 0;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (at > 0).then_some((value, text.get(at..)?))
}

/// Whatever the standard library reads, if its text is a JSON number.
#[cold]
fn slow_float(text: &[u8]) -> Option<(f64, &[u8])> {
    let end = text
        .iter()
        .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = str::from_utf8(number).ok()?;
    // What Rust takes and JSON does not: a point without digits on both sides. The sign and the
    // zeros in front were checked by the caller.
    let value: f64 = number.parse().ok()?;
    let bare_point = number.ends_with('.') || number.contains(".e") || number.contains(".E");
    (value.is_finite() && !bare_point).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn as_serde(text: &str) -> Option<f64> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn what_is_read_is_what_serde_reads_and_what_is_not_json_is_not_read() {
        for text in [
            "0",
            "-0",
            "0.0",
            "-0.0",
            "1",
            "12.5",
            "1769907597.0937245",
            "0.02346005266389739",
            "1e5",
            "2.5E-3",
            "123456789012345678901234567890",
            "9007199254740993",
            "0.1",
            "1e-400",
            "5e-324",
            "1.7976931348623157e308",
            "0.000000000000000000000000001",
            "00",
            "01",
            "-",
            "",
            ".5",
            "5.",
            "5.e3",
            "1e",
            "+1",
            "--1",
            "1e999",
            "1.2.3",
            "NaN",
            "-Infinity",
            "1e+5",
            "12345678901234567890.5",
        ] {
            let mut line = text.as_bytes().to_vec();
            line.push(b',');
            let ours = float(&line).filter(|(_, rest)| rest == b",").map(|(value, _)| value.to_bits());
            let theirs = as_serde(text).map(f64::to_bits);
            assert_eq!(ours, theirs, "{text}");
        }
    }

    #[test]
    fn an_integer_is_exact_or_left_to_others() {
        assert_eq!(integer(b"42,"), Some((42, &b","[..])));
        assert_eq!(integer(b"-7}"), Some((-7, &b"}"[..])));
        assert_eq!(integer(b"999999999999999999}"), Some((999_999_999_999_999_999, &b"}"[..])));
        for text in ["", "-", "x", "1.0", "1e3", "007", "9999999999999999999", "99999999999999999999999999"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_float_reads_back(value in any::<f64>().prop_filter("JSON has no others", |v| v.is_finite())) {
            for text in [format!("{value}"), format!("{value:?}"), format!("{value:e}"), format!("{value:.9}")] {
                let read = float(text.as_bytes()).map(|(value, rest)| (value.to_bits(), rest.len()));
                prop_assert_eq!(read, as_serde(&text).map(|value| (value.to_bits(), 0)), "{}", text);
            }
        }

        #[test]
        fn any_text_of_number_characters_agrees_with_serde(text in "[-+.eE0-9]{0,24}") {
            let read = float(text.as_bytes()).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value.to_bits());
            prop_assert_eq!(read, as_serde(&text).map(f64::to_bits));
        }
    }
}
