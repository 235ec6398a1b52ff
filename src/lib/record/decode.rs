//! From one line to one record: strict and fast first, patient for the rest.

use super::json::{entries, may_have_surrogates, strict};
use super::stream::Stream;
use super::types::Record;

/// What a line held.
#[derive(Debug, Clone)]
pub struct Decoded<'a> {
    /// The record.
    pub record: Record<'a>,
    /// The line as strict JSON: the bytes of the line itself wherever they are strict. Numbers keep
    /// their digits, those that no float holds too.
    pub text: &'a str,
    /// Escaped lone surrogates read as U+FFFD.
    pub surrogates: u64,
}

/// Why a line is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not one JSON object: torn, two lines mixed, NUL bytes, another kind of value.
    #[error("not one JSON object")]
    NotObject,
}

/// Reads one line of `stream`, without its newline. `Ok(None)` is a blank line.
///
/// A line with the fields of the format is read typed and borrowed. Any other JSON object is read
/// field by field: a key without a field and a value of another type go to the record's `extra`,
/// so nothing is lost and no number is rounded. `NaN`, `Infinity` and `-Infinity` are missing
/// values. `scratch` holds the corrected line where a correction was needed.
///
/// # Errors
/// [`Damaged`] when the line is not one JSON object.
pub fn decode<'a>(
    stream: Stream,
    line: &'a [u8],
    scratch: &'a mut String,
) -> Result<Option<Decoded<'a>>, Damaged> {
    let text = str::from_utf8(line).map_err(|_| Damaged::NotUtf8)?.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    if !may_have_surrogates(text)
        && let Some(record) = read(stream, text)
    {
        return Ok(Some(Decoded { record, text, surrogates: 0 }));
    }
    let surrogates = strict(text, scratch);
    let text = scratch.as_str();
    let record = read(stream, text).ok_or(Damaged::NotObject)?;
    Ok(Some(Decoded { record, text, surrogates }))
}

fn read(stream: Stream, text: &str) -> Option<Record<'_>> {
    // serde also reads a struct from an array of its fields, and that is no record.
    if !text.starts_with('{') {
        return None;
    }
    Record::from_strict(stream, text).ok().or_else(|| Some(Record::from_entries(stream, entries(text).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Value;

    fn check(stream: Stream, line: &str, see: impl FnOnce(Decoded<'_>)) {
        let mut scratch = String::new();
        see(decode(stream, line.as_bytes(), &mut scratch).unwrap().unwrap());
    }

    fn values(record: &Record<'_>) -> String {
        let mut out = Vec::new();
        record.values(|value| out.push(format!("{value:?}")));
        out.join(" ")
    }

    #[test]
    fn a_usual_line_is_borrowed() {
        let line = r#"{"ts":1.5,"node":"n","gpu":0,"util":20,"mem_mb":30000,"power_w":300}"#;
        check(Stream::GpuUtil, line, |decoded| {
            assert_eq!(decoded.text.as_ptr(), line.as_ptr());
            let Record::GpuUtil(record) = decoded.record else { panic!("another record") };
            assert!(matches!(record.node.unwrap().0, std::borrow::Cow::Borrowed("n")));
            assert_eq!((record.ts, record.util), (Some(1.5), Some(20)));
        });
    }

    #[test]
    fn unknown_keys_and_values_of_another_type_are_kept_raw() {
        let line = r#"{"new": [1, 2], "ts": 5, "node": null, "gpu": 18446744073709551617, "util": 20.0, "mem_mb": 1.5}"#;
        check(Stream::GpuUtil, line, |decoded| {
            assert_eq!(values(&decoded.record), "Float(5.0) Missing Missing Int(20) Missing Missing");
            let extra: Vec<_> = decoded.record.extra().iter().map(|(key, raw)| (&**key, raw.get())).collect();
            assert_eq!(extra, [("new", "[1, 2]"), ("gpu", "18446744073709551617"), ("mem_mb", "1.5")]);
        });
    }

    #[test]
    fn integers_above_two_to_the_53_are_exact() {
        let line = r#"{"ts":1,"kind":"gen_end","sample_index":9007199254740993,"group_index":-1,"turn":-1}"#;
        check(Stream::Trajectories, line, |decoded| {
            assert!(values(&decoded.record).contains("Int(9007199254740993)"));
        });
    }

    #[test]
    fn floats_read_back_to_the_last_digit() {
        for text in ["1769907597.0937245", "0.30000000000000004", "2.2250738585072011e-308", "9.5e-3"] {
            let line = format!(r#"{{"ts":1,"addr":"a","metric":"m","labels":{{}},"value":{text}}}"#);
            check(Stream::EngineSeries, &line, |decoded| {
                let wanted = Value::Float(text.parse().unwrap());
                let mut last = Value::Missing;
                decoded.record.values(|value| last = value);
                assert_eq!(last, wanted);
            });
        }
    }

    #[test]
    fn non_finite_numbers_are_missing() {
        let line = r#"{"ts":1.0,"addr":"NaN","metric":"m","labels":{"a":"b"},"value":-Infinity}"#;
        check(Stream::EngineSeries, line, |decoded| {
            assert_eq!(
                values(&decoded.record),
                r#"Float(1.0) Text("NaN") Text("m") Json("{\"a\":\"b\"}") Missing"#
            );
            assert_eq!(
                decoded.text,
                r#"{"ts":1.0,"addr":"NaN","metric":"m","labels":{"a":"b"},"value":null}"#
            );
        });
        let huge = r#"{"ts":1.0,"addr":"a","metric":"m","labels":{},"value":1e999}"#;
        check(Stream::EngineSeries, huge, |decoded| {
            assert_eq!(decoded.record.extra().len(), 1);
        });
    }

    #[test]
    fn a_lone_surrogate_anywhere_is_replaced_and_counted() {
        let line = r#"{"ts":1,"metrics":{"a\ud83d":"\ude00"}}"#;
        check(Stream::Metrics, line, |decoded| {
            assert_eq!(decoded.surrogates, 2);
            assert_eq!(decoded.text, r#"{"ts":1,"metrics":{"a\ufffd":"\ufffd"}}"#);
        });
        let line = r#"{"ts":1,"detail":"\ud83d\ude00"}"#;
        check(Stream::Trajectories, line, |decoded| {
            assert_eq!(decoded.surrogates, 0);
            assert!(values(&decoded.record).contains("😀"));
        });
    }

    #[test]
    fn the_last_of_a_repeated_key_counts() {
        check(Stream::DataBuffer, r#"{"ts":1,"length":2,"length":3}"#, |decoded| {
            assert_eq!(values(&decoded.record), "Float(1.0) Int(3)");
        });
    }

    #[test]
    fn an_open_phase_has_the_time_of_its_start() {
        for (line, time) in [
            (r#"{"t0":5.0,"t1":-1.0}"#, Some(5.0)),
            (r#"{"t0":5.0,"t1":7.0}"#, Some(7.0)),
            (r#"{"t0":5.0,"t1":NaN}"#, None),
        ] {
            check(Stream::Phases, line, |decoded| assert_eq!(decoded.record.time(), time));
        }
    }

    #[test]
    fn what_is_not_one_object_is_damaged() {
        for line in [
            r#"{"ts":1,"a{"ts":2,"length":3}"#,
            r#"{"ts":1,"length":1}{"ts":2,"length":3}"#,
            r#"{"ts":1,"length":"#,
            "[1.0,2]",
            "null",
            "7",
            "{\"ts\":1,\"length\":2}\0\0",
            "\0\0\0\0",
            "{\"ts\":1,\"length\":-NaN}",
        ] {
            let mut scratch = String::new();
            let decoded = decode(Stream::DataBuffer, line.as_bytes(), &mut scratch);
            assert_eq!(decoded.map(|_| ()), Err(Damaged::NotObject), "{line}");
        }
        let mut scratch = String::new();
        let decoded = decode(Stream::DataBuffer, b"{\"ts\":1,\"x\":\"\xff\"}", &mut scratch);
        assert_eq!(decoded.map(|_| ()), Err(Damaged::NotUtf8));
    }

    #[test]
    fn a_blank_line_is_no_damage() {
        let mut scratch = String::new();
        assert!(decode(Stream::DataBuffer, b" \r", &mut scratch).unwrap().is_none());
    }
}
