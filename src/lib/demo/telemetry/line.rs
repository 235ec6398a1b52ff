//! Bytes of a line: numbers as Python's `json` prints them, without an allocation.
//!
//! Every float of the demo is a whole number of thousandths or the like, kept as an integer. Printed
//! digit by digit it is what `repr` gives for the nearest float64, as long as it has at most 15
//! significant digits or, for times of this century, at most 16: neighbours are then further apart
//! than two float64 values.

/// Digits of a two-digit number, so that a division gives two of them.
const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
40414243444546474849505152535455565758596061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Appends a whole number.
pub(super) fn push_int(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    while rest >= 10 {
        let pair = (rest % 100) as usize * 2;
        rest /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if rest > 0 || at == digits.len() {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `value` / 10^`decimals` as a float: no zeros at the end, but at least one decimal; below
/// 0.0001 with an exponent.
pub(super) fn push_fixed(out: &mut Vec<u8>, value: i64, decimals: u32) {
    let scale = 10_u64.pow(decimals);
    if value != 0 && value.unsigned_abs() < scale / 10_000 {
        return push_small(out, value, decimals);
    }
    let (whole, mut part) = (value.unsigned_abs() / scale, value.unsigned_abs() % scale);
    if value < 0 {
        out.push(b'-');
    }
    push_int(out, whole as i64);
    out.push(b'.');
    let mut unit = scale / 10;
    loop {
        out.push(b'0' + (part / unit.max(1)) as u8);
        part %= unit.max(1);
        unit /= 10;
        if part == 0 {
            return;
        }
    }
}

/// The same for what has an exponent.
fn push_small(out: &mut Vec<u8>, value: i64, decimals: u32) {
    let (mut digits, mut zeros) = (value, 0);
    while digits % 10 == 0 {
        digits /= 10;
        zeros += 1;
    }
    let mut text = Vec::new();
    push_int(&mut text, digits.abs());
    let exponent = decimals - zeros + 1 - text.len() as u32;
    if value < 0 {
        out.push(b'-');
    }
    out.push(text[0]);
    if text.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&text[1..]);
    }
    out.extend_from_slice(b"e-");
    out.extend_from_slice(if exponent < 10 { b"0" } else { b"" });
    push_int(out, exponent.into());
}

/// Appends a time in Unix milliseconds as Unix seconds.
pub(super) fn push_time(out: &mut Vec<u8>, ms: i64) {
    push_fixed(out, ms, 3);
}

/// Appends a float, rounded to so many decimals.
pub(super) fn push_float(out: &mut Vec<u8>, value: f64, decimals: u32) {
    push_fixed(out, (value * 10_u64.pow(decimals) as f64).round() as i64, decimals);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn whole_numbers_have_all_their_digits() {
        for value in [0, 1, 9, 10, 42, 99, 100, 101, 1000, 81_559, -1, -100, i64::MAX, i64::MIN] {
            assert_eq!(text(|out| push_int(out, value)), value.to_string());
        }
    }

    #[test]
    fn floats_look_as_python_prints_them() {
        for (value, decimals, expected) in [
            (0, 3, "0.0"),
            (1_000_000_000, 3, "1000000.0"),
            (1_767_267_900_250, 3, "1767267900.25"),
            (1_767_267_900_007, 3, "1767267900.007"),
            (-25, 2, "-0.25"),
            (955, 3, "0.955"),
            (123, 0, "123.0"),
            (0, 6, "0.0"),
            (100, 6, "0.0001"),
            (99, 6, "9.9e-05"),
            (-90, 6, "-9e-05"),
            (1, 6, "1e-06"),
            (120, 12, "1.2e-10"),
        ] {
            assert_eq!(text(|out| push_fixed(out, value, decimals)), expected);
        }
    }

    #[test]
    fn a_time_is_the_shortest_text_of_its_float() {
        for ms in (0..5000).map(|n| 1_767_267_900_000 + n * 977) {
            assert_eq!(text(|out| push_time(out, ms)), format!("{:?}", ms as f64 / 1000.0));
        }
    }
}
