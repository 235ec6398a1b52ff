//! The patient half of checking a line: any JSON object of a stream to the line that belongs on disk.
//!
//! Keys are put in the order of the format, white space goes, and numbers keep the digits that the producer
//! wrote. What the format wants and the object lacks makes it a bad line. A key that the format does not
//! know stays behind the others, except in the two streams whose lines the job's own reader would then
//! reject: there it is left out, and so is a logged metric whose value is no number, bool or text. What
//! is left out is told by name.

use serde_json::value::RawValue;

use super::shape::{may_be_null, names_lane};
use crate::record::{FieldKind, Stream, Text, entries};

/// Times that a record can have, Unix seconds; what is outside is no time, and would make an hour of its own.
const LAST_TIME: f64 = 1e11;

/// How far the end of a phase may lie before its start: a time rounded to whole seconds, or a clock that was
/// set right meanwhile. What is further back is another time, or none.
pub(super) const ROUNDING_S: f64 = 1.0;

/// Keys of an engine in a topology record.
const ENGINE_KEYS: [&str; 5] = ["addr", "worker_type", "engine_rank", "gpus", "gpu_uuids"];

/// Above it not every integer is a float, so a float does not say which integer was meant.
const EXACT: f64 = 9_007_199_254_740_992.0;

type Entries<'a> = [(Text<'a>, &'a RawValue)];

/// Why an object is no record of its stream.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// A key of the format is not there.
    #[error("{stream}: no {key:?}")]
    Missing {
        /// Of which stream.
        stream: Stream,
        /// Which.
        key: &'static str,
    },
    /// A value is not what the format says.
    #[error("{stream}: {key:?} is {found}, and must be {wanted}")]
    Value {
        /// Of which stream.
        stream: Stream,
        /// Which.
        key: &'static str,
        /// What it must be.
        wanted: &'static str,
        /// The beginning of what is there.
        found: String,
    },
    /// A phase that ends before it begins.
    #[error("{stream}: \"t1\" is {t1}, before \"t0\", which is {t0}; hint: \"t1\" of an open phase is -1.0")]
    Backwards {
        /// Of which stream.
        stream: Stream,
        /// Its start, Unix seconds.
        t0: f64,
        /// Its end, Unix seconds.
        t1: f64,
    },
    /// A time that no record has.
    #[error("{stream}: {key:?} is {found}, which is no time in Unix seconds{}", milliseconds(found))]
    Time {
        /// Of which stream.
        stream: Stream,
        /// Which.
        key: &'static str,
        /// What is there.
        found: String,
    },
}

fn milliseconds(found: &str) -> &'static str {
    match found.parse::<f64>() {
        Ok(value) if (1e11..1e14).contains(&value) => "; hint: are these milliseconds?",
        _ => "",
    }
}

/// What came of an object.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rewritten {
    /// Its time, Unix seconds.
    pub time: f64,
    /// Keys that are not in the line, by name.
    pub left_out: Vec<String>,
}

/// Appends the record of `stream` that an object holds to `out`: one object, without a newline.
pub(super) fn rewrite(stream: Stream, object: &Entries<'_>, out: &mut Vec<u8>) -> Result<Rewritten, Wrong> {
    let mut done = Rewritten::default();
    let (mut start, mut end) = (None, None);
    for (index, field) in stream.fields().iter().enumerate() {
        let name = field.name;
        out.push(if index == 0 { b'{' } else { b',' });
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        // Of a repeated key the last one counts, as in Python.
        let raw = object.iter().rev().find(|(key, _)| &**key == name).map(|(_, raw)| raw.get());
        let raw = match raw {
            Some("null") | None if may_be_null(stream, name) => {
                out.extend_from_slice(b"null");
                continue;
            }
            Some(raw) => raw,
            None => return Err(Wrong::Missing { stream, key: name }),
        };
        let wrong = |wanted| Wrong::Value { stream, key: name, wanted, found: beginning(raw) };
        match field.kind {
            FieldKind::Float => {
                let value = float(raw).ok_or_else(|| wrong("a number"))?;
                match name {
                    "ts" | "t0" => start = Some(time(stream, name, value, raw)?),
                    "t1" if value == -1.0 => {}
                    "t1" => end = Some(time(stream, name, value, raw)?),
                    _ => {}
                }
                out.extend_from_slice(raw.as_bytes());
            }
            FieldKind::Int => {
                let value = integer(raw).ok_or_else(|| wrong("a whole number of 64 bits"))?;
                if value < 0 && names_lane(stream, name) {
                    return Err(wrong("the index of a GPU, from 0"));
                }
                out.extend_from_slice(value.to_string().as_bytes());
            }
            FieldKind::Text if raw == "\"\"" && names_lane(stream, name) => {
                return Err(wrong("the name of a node"));
            }
            FieldKind::Text if raw.starts_with('"') => out.extend_from_slice(raw.as_bytes()),
            FieldKind::Text => return Err(wrong("text")),
            FieldKind::Bool if matches!(raw, "true" | "false") => out.extend_from_slice(raw.as_bytes()),
            FieldKind::Bool => return Err(wrong("true or false")),
            FieldKind::Ints => {
                let list: Vec<i32> = serde_json::from_str(raw).map_err(|_| wrong("a list of GPU indices"))?;
                // Writing numbers to memory cannot fail.
                let _ = serde_json::to_writer(&mut *out, &list);
            }
            FieldKind::Json => match (stream, name) {
                (Stream::Metrics, "metrics") => {
                    metrics(raw, out, &mut done.left_out).ok_or_else(|| wrong("an object"))?;
                }
                (Stream::EngineSeries, "labels") => {
                    labels(raw, out).ok_or_else(|| wrong("an object of text to text"))?;
                }
                (Stream::Topology, "engines") => {
                    if !are_engines(raw) {
                        return Err(wrong(
                            "a list of {addr, worker_type, engine_rank, gpus: [[node, gpu], …], gpu_uuids}",
                        ));
                    }
                    compact(raw, out);
                }
                _ => compact(raw, out),
            },
        }
    }
    if let (Some(t0), Some(t1)) = (start, end)
        && t1 < t0 - ROUNDING_S
    {
        return Err(Wrong::Backwards { stream, t0, t1 });
    }
    let known = |key: &str| key == "stream" || stream.fields().iter().any(|field| field.name == key);
    for (key, raw) in object.iter().filter(|(key, _)| !known(key)) {
        if matches!(stream, Stream::GpuUtil | Stream::EngineSeries) {
            done.left_out.push(key.to_string());
            continue;
        }
        out.push(b',');
        let _ = serde_json::to_writer(&mut *out, &**key);
        out.push(b':');
        compact(raw.get(), out);
    }
    out.push(b'}');
    // Every stream has a start; a phase that is over goes by its end.
    done.time = end.or(start).ok_or(Wrong::Missing { stream, key: "ts" })?;
    Ok(done)
}

/// The first characters of a value, for a message.
fn beginning(raw: &str) -> String {
    const MOST: usize = 40;
    match raw.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", raw.get(..cut).unwrap_or_default()),
        None => raw.to_owned(),
    }
}

fn float(raw: &str) -> Option<f64> {
    // `parse` takes words such as `inf` too, but those are no JSON and cannot be here.
    raw.parse().ok().filter(|value: &f64| value.is_finite())
}

fn integer(raw: &str) -> Option<i64> {
    raw.parse().ok().or_else(|| {
        let value = float(raw)?;
        (value.trunc() == value && value.abs() <= EXACT).then_some(value as i64)
    })
}

fn time(stream: Stream, key: &'static str, value: f64, raw: &str) -> Result<f64, Wrong> {
    if (0.0..=LAST_TIME).contains(&value) {
        return Ok(value);
    }
    Err(Wrong::Time { stream, key, found: beginning(raw) })
}

/// Logged metrics: numbers, bools and text stay. `None` for what is no object.
fn metrics(raw: &str, out: &mut Vec<u8>, left_out: &mut Vec<String>) -> Option<()> {
    let mut separator = b'{';
    for (key, value) in entries(raw).ok()? {
        let value = value.get();
        let plain = match value.as_bytes().first()? {
            b'"' | b't' | b'f' => true,
            b'[' | b'{' | b'n' => false,
            _ => float(value).is_some(),
        };
        if !plain {
            left_out.push(key.to_string());
            continue;
        }
        out.push(separator);
        separator = b',';
        let _ = serde_json::to_writer(&mut *out, &*key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Some(())
}

fn labels(raw: &str, out: &mut Vec<u8>) -> Option<()> {
    let entries = entries(raw).ok()?;
    if !entries.iter().all(|(_, value)| value.get().starts_with('"')) {
        return None;
    }
    compact(raw, out);
    Some(())
}

fn are_engines(raw: &str) -> bool {
    let Ok(engines) = serde_json::from_str::<Vec<&RawValue>>(raw) else { return false };
    engines.iter().all(|engine| {
        let Ok(engine) = entries(engine.get()) else { return false };
        ENGINE_KEYS.iter().all(|wanted| {
            let value = engine.iter().rev().find(|(key, _)| &**key == *wanted);
            value.is_some_and(|(key, value)| fits(key, value.get()))
        })
    })
}

fn fits(key: &str, raw: &str) -> bool {
    match key {
        "engine_rank" => raw.parse::<i64>().is_ok(),
        "gpus" => serde_json::from_str::<Vec<(String, i64)>>(raw).is_ok(),
        "gpu_uuids" => serde_json::from_str::<Vec<Option<String>>>(raw).is_ok(),
        _ => raw.starts_with('"'),
    }
}

/// Appends JSON without the white space outside its strings.
fn compact(raw: &str, out: &mut Vec<u8>) {
    let (mut inside, mut escaped) = (false, false);
    for &byte in raw.as_bytes() {
        if inside {
            inside = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            inside = byte == b'"';
        }
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: Stream, text: &str) -> Result<(String, Rewritten), String> {
        let object = entries(text).unwrap();
        let mut out = Vec::new();
        let done = rewrite(stream, &object, &mut out).map_err(|wrong| wrong.to_string())?;
        Ok((String::from_utf8(out).unwrap(), done))
    }

    #[test]
    fn keys_come_in_the_order_of_the_format_and_numbers_keep_their_digits() {
        let text = r#"{ "power_w" : 300, "gpu": 3.0, "util": 20, "mem_mb":30000, "node":"n", "ts": 1769907597.09372450, "x": 1, "stream": "gpu_util" }"#;
        let (line, done) = check(Stream::GpuUtil, text).unwrap();
        assert_eq!(
            line,
            r#"{"ts":1769907597.09372450,"node":"n","gpu":3,"util":20,"mem_mb":30000,"power_w":300}"#
        );
        assert_eq!(done.left_out, ["x"]);
        assert_eq!(done.time, 1_769_907_597.093_724_5);
    }

    #[test]
    fn an_unknown_key_stays_where_readers_take_it() {
        let text = r#"{"ts":1,"length":2,"new": [1, {"a b": "c \" d"}]}"#;
        let (line, done) = check(Stream::DataBuffer, text).unwrap();
        assert_eq!(line, r#"{"ts":1,"length":2,"new":[1,{"a b":"c \" d"}]}"#);
        assert_eq!(done.left_out, [""; 0]);
    }

    #[test]
    fn a_metric_that_is_no_plain_value_is_left_out_and_the_others_stay() {
        let text =
            r#"{"ts":1,"step":5,"metrics":{"a":null,"b":1.50,"c":[1],"d":true,"e":1e999,"f":"x","g":-2}}"#;
        let (line, done) = check(Stream::Metrics, text).unwrap();
        assert_eq!(line, r#"{"ts":1,"step_key":null,"step":5,"metrics":{"b":1.50,"d":true,"f":"x","g":-2}}"#);
        assert_eq!(done.left_out, ["a", "c", "e"]);
        let (line, _) = check(Stream::Metrics, r#"{"ts":1,"metrics":{"a":null}}"#).unwrap();
        assert_eq!(line, r#"{"ts":1,"step_key":null,"step":null,"metrics":{}}"#);
    }

    #[test]
    fn what_the_format_wants_must_be_there_and_of_its_type() {
        for (stream, text, says) in [
            (Stream::DataBuffer, r#"{"ts":1}"#, "data_buffer: no \"length\""),
            (Stream::DataBuffer, r#"{"ts":1,"length":null}"#, "\"length\" is null"),
            (Stream::DataBuffer, r#"{"ts":1,"length":1.5}"#, "a whole number"),
            (Stream::DataBuffer, r#"{"ts":1,"length":18446744073709551617}"#, "64 bits"),
            (Stream::DataBuffer, r#"{"ts":"1","length":1}"#, "must be a number"),
            (Stream::DataBuffer, r#"{"ts":1769907597000,"length":1}"#, "milliseconds?"),
            (Stream::DataBuffer, r#"{"ts":-1,"length":1}"#, "no time"),
            (
                Stream::EngineSeries,
                r#"{"ts":1,"addr":"a","metric":"m","labels":{"a":1},"value":1}"#,
                "text to text",
            ),
            (
                Stream::EngineSeries,
                r#"{"ts":1,"addr":"a","metric":"m","labels":{},"value":1e999}"#,
                "a number",
            ),
            (Stream::Metrics, r#"{"ts":1,"metrics":[]}"#, "an object"),
            (Stream::Topology, r#"{"ts":1,"engines":[{"addr":"a"}]}"#, "worker_type"),
            (
                Stream::Phases,
                r#"{"name":"a","t0":1,"t1":-1.0,"node":"n","gpus":["0"],"rank":0,"role":"train"}"#,
                "GPU indices",
            ),
            (
                Stream::Phases,
                r#"{"name":"a","t0":-1,"t1":-1.0,"node":"n","gpus":[],"rank":0,"role":"train"}"#,
                "\"t0\" is -1",
            ),
        ] {
            let error = check(stream, text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn what_would_be_the_lane_of_nobody_is_no_record() {
        for (stream, text) in [
            (Stream::GpuUtil, r#"{"ts":1,"node":"n","gpu":0,"util":1,"mem_mb":1,"power_w":1}"#),
            (Stream::GpuProcesses, r#"{"ts":1,"node":"n","gpu":0,"pid":1,"name":"p","mem_mb":1}"#),
        ] {
            assert!(check(stream, text).is_ok());
            let error = check(stream, &text.replace(r#""gpu":0"#, r#""gpu":-1"#)).unwrap_err();
            assert!(error.contains("\"gpu\" is -1, and must be the index of a GPU"), "{error}");
            let error = check(stream, &text.replace("\"n\"", "\"\"")).unwrap_err();
            assert!(error.contains("the name of a node"), "{error}");
        }
    }

    #[test]
    fn a_phase_that_ends_before_it_begins_is_no_record() {
        let phase = |t1: &str| {
            let text = format!(
                r#"{{"name":"a","t0":1769907598.5,"t1":{t1},"node":"n","gpus":[0],"rank":0,"role":"train"}}"#
            );
            check(Stream::Phases, &text)
        };
        assert!(phase("1769907598").is_ok() && phase("-1").is_ok());
        for t1 in ["1", "0", "1769907590.25"] {
            let error = phase(t1).unwrap_err();
            assert!(
                error.contains(&format!("\"t1\" is {t1}, before \"t0\", which is 1769907598.5")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_topology_with_every_key_is_taken() {
        let engine = r#"{"addr":"http://a:1","worker_type":"external","engine_rank":-1,"gpus":[["n", 0]],"gpu_uuids":[null]}"#;
        let (line, _) = check(Stream::Topology, &format!(r#"{{"ts":1,"engines":[{engine}]}}"#)).unwrap();
        assert!(line.contains(r#""gpus":[["n",0]]"#), "{line}");
    }

    #[test]
    fn a_phase_goes_by_its_end_and_an_open_one_by_its_start() {
        let phase = |t1: &str| {
            let text = format!(
                r#"{{"name":"a","t0":5.5,"t1":{t1},"node":"n","gpus":[0, 1],"rank":0,"role":"train"}}"#
            );
            check(Stream::Phases, &text).unwrap().1.time
        };
        assert_eq!((phase("-1.0"), phase("-1e0"), phase("7")), (5.5, 5.5, 7.0));
    }
}
