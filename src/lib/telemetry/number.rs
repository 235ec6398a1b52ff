//! JSON numbers at the front of a byte slice, read without a copy and almost without a branch.
//!
//! Only what can be read exactly and at once is read here; anything else is `None`, and the line goes
//! to the patient reader. A number that this reads has the value that serde_json gives it.

/// Digits that always fit 64 bits.
const SAFE_DIGITS: usize = 19;

/// Largest power of five that fits 64 bits.
const MOST_DECIMALS: usize = 27;

/// `10^n` for what one look at eight bytes can add.
const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// `5^-n` as its 64 leading bits, rounded down, and how far they are shifted: the number is
/// `bits * 2^-(63 + shift)`.
const FIFTHS: [(u64, i32); MOST_DECIMALS + 1] = fifths();

const fn fifths() -> [(u64, i32); MOST_DECIMALS + 1] {
    let mut table = [(1 << 63, 0); MOST_DECIMALS + 1];
    let mut power: u64 = 1;
    let mut n = 1;
    while n <= MOST_DECIMALS {
        power *= 5;
        let shift = 64 - power.leading_zeros();
        // `2^(63 + shift) / power`, whose dividend has up to 127 bits.
        table[n] = (((1_u128 << (63 + shift)) / power as u128) as u64, shift as i32);
        n += 1;
    }
    table
}

/// A float and what follows it.
#[inline]
pub(super) fn float(text: &[u8]) -> Option<(f64, &[u8])> {
    let (negative, digits) = sign(text);
    let (mantissa, count) = whole(digits)?;
    let mut rest = digits.get(count..)?;
    let (mut mantissa, mut total, mut decimals) = (mantissa, count, 0);
    if let Some((b'.', fraction)) = rest.split_first() {
        (mantissa, decimals) = digits_of(fraction, mantissa);
        total += decimals;
        rest = fraction.get(decimals..)?;
        if decimals == 0 {
            return None;
        }
    }
    if total > SAFE_DIGITS || decimals > MOST_DECIMALS || matches!(rest.first(), Some(b'e' | b'E')) {
        return slow_float(text);
    }
    let Some(value) = scaled(mantissa, decimals) else { return slow_float(text) };
    Some((if negative { -value } else { value }, rest))
}

/// An integer and what follows it; `None` also for a number with a fraction or an exponent.
#[inline(always)]
pub(super) fn integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = sign(text);
    let (magnitude, count) = whole(digits)?;
    let rest = digits.get(count..)?;
    if count >= SAFE_DIGITS || matches!(rest.first(), Some(b'.' | b'e' | b'E')) {
        return None;
    }
    let magnitude = i64::try_from(magnitude).ok()?;
    Some((if negative { -magnitude } else { magnitude }, rest))
}

#[inline(always)]
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    }
}

/// Value and count of the digits before a point: at least one, no zero in front of others.
#[inline(always)]
fn whole(text: &[u8]) -> Option<(u64, usize)> {
    let (value, count) = match text.first_chunk().map(|chunk| eight(u64::from_le_bytes(*chunk))) {
        // Most numbers are short.
        Some((value, count)) if count < 8 => (value, count),
        _ => digits_of(text, 0),
    };
    (count == 1 || (count > 1 && text.first() != Some(&b'0'))).then_some((value, count))
}

/// The digits at the front of `text` behind those of `value`, and how many there are. The value wraps
/// beyond 19 digits, which the caller counts.
fn digits_of(text: &[u8], mut value: u64) -> (u64, usize) {
    let mut count = 0;
    loop {
        let rest = text.get(count..).unwrap_or_default();
        let chunk = match rest.first_chunk() {
            Some(chunk) => *chunk,
            None => {
                let mut chunk = [0; 8];
                chunk.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
                chunk
            }
        };
        let (digits, found) = eight(u64::from_le_bytes(chunk));
        let Some(ten) = TENS.get(found) else { return (value, count) };
        value = value.wrapping_mul(*ten).wrapping_add(digits);
        count += found;
        if found < 8 {
            return (value, count);
        }
    }
}

/// Value and count of the digits at the front of eight bytes, the first of which is the lowest.
#[inline(always)]
fn eight(bytes: u64) -> (u64, usize) {
    let digits = bytes ^ 0x3030_3030_3030_3030;
    // The high bit of every byte that is no digit.
    let other = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = (other.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // The digits move to the end; what comes in before them are zeros.
    let aligned = digits << (64 - 8 * count);
    let pairs = aligned.wrapping_mul(10).wrapping_add(aligned >> 8);
    let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, count)
}

/// `mantissa * 10^-decimals` rounded right, or `None` in the rare case that 64 bits do not decide.
fn scaled(mantissa: u64, decimals: usize) -> Option<f64> {
    if mantissa == 0 {
        return Some(0.0);
    }
    let &(fifth, shift) = FIFTHS.get(decimals)?;
    let zeros = mantissa.leading_zeros();
    let product = u128::from(mantissa << zeros) * u128::from(fifth);
    // `fifth` is less than one too small, so the true upper half is this or, with what follows it,
    // less than one more.
    let upper = (product >> 64) as u64;
    let spare = 11 - upper.leading_zeros();
    let (kept, cut, half) = (upper >> spare, upper & ((1 << spare) - 1), 1 << (spare - 1));
    if cut == half || cut + 1 == half {
        return None;
    }
    let kept = kept + u64::from(cut > half);
    let exponent = spare as i32 + 1 - zeros as i32 - decimals as i32 - shift;
    // The value is `kept * 2^exponent` with 53 bits in `kept`; a carry into the 54th raises the exponent.
    let biased = u64::try_from(exponent + 1075).ok()?;
    Some(f64::from_bits((biased << 52) + kept - (1 << 52)))
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
    // The caller has seen the digits up to the exponent, so that this cannot be what Rust takes and
    // JSON does not.
    number.parse().ok().filter(|value: &f64| value.is_finite()).map(|value| (value, rest))
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
