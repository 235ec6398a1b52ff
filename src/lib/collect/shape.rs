//! The fast half of checking a line: whether it is, byte for byte, what a writer of this format writes.
//!
//! A shape walks once over the bytes behind the opening brace and answers yes only for a compact object
//! with the fields of the stream in their order, each of its type. Such a line goes to disk as it
//! came. Anything else is no error: [`check`](super::check) reads it patiently and writes it anew, so
//! this file may refuse whatever is rare (escapes, text beyond ASCII, exponents, white space).

use std::ops::Range;

use crate::record::{FieldKind, Stream};

/// Digits of a whole number that always fit 64 bits.
const SAFE_DIGITS: usize = 18;
/// Longest number that is looked at here; a double needs 24 characters.
const MOST_NUMBER: usize = 40;
/// Digits of a time before its point; one more and it is 1e11 or later.
const TIME_DIGITS: usize = 11;
/// A fraction that begins like this can round up to the next second, and to the next hour.
const NINES: &[u8] = b".999999";

/// The hour of a record in Unix hours; `None` in a stream that has one file.
pub(super) type Hour = Option<i64>;

/// What a shape found in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Of the record's time.
    pub hour: Hour,
    /// Where the body says which GPUs it is about, if it does; equal bytes say the same.
    pub lane: Option<Range<usize>>,
    /// Where the body says which series it is a value of, if it does.
    pub series: Option<Range<usize>>,
}

/// How the lines of one stream look under one of its names.
#[derive(Debug)]
pub(super) struct Shape {
    /// The stream.
    pub stream: Stream,
    /// Its place in [`Stream::ALL`].
    pub at: usize,
    /// How a line begins on a pipe: `{"stream":"gpu_util",`.
    pub prefix: Vec<u8>,
    hourly: bool,
    fields: Vec<Part>,
    /// First and last field that say which GPU the record is about.
    lane: Option<(usize, usize)>,
    /// First and last field that say which series it belongs to.
    series: Option<(usize, usize)>,
}

#[derive(Debug)]
struct Part {
    /// The key with its colon and, but for the first, the comma before it.
    key: Vec<u8>,
    kind: FieldKind,
    nullable: bool,
    names_lane: bool,
    time: Time,
}

/// What a field has to do with the time of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    No,
    /// The time; of a phase the time if the end says that it is open.
    Start,
    /// The end of a phase.
    End,
}

/// Whether `name` of `stream` may be null. The format says it of the two of `metrics`, and process memory
/// is something that a driver may not know; a card may lack whatever its
/// health is told by.
pub(super) fn may_be_null(stream: Stream, name: &str) -> bool {
    match stream {
        Stream::Metrics => matches!(name, "step_key" | "step"),
        Stream::GpuProcesses => name == "mem_mb",
        Stream::GpuHealth => !matches!(name, "ts" | "node" | "gpu"),
        Stream::Phases
        | Stream::Topology
        | Stream::GpuUtil
        | Stream::EngineSeries
        | Stream::Trajectories
        | Stream::DataBuffer => false,
    }
}

/// Whether `name` of `stream` says whose GPU the record is about, so that a negative index or an empty name
/// would make a lane of nobody.
pub(super) fn names_lane(stream: Stream, name: &str) -> bool {
    matches!(stream, Stream::GpuUtil | Stream::GpuProcesses | Stream::GpuHealth)
        && matches!(name, "node" | "gpu")
}

/// The shapes of every stream, and those of the names that are accepted beside them.
pub(super) fn shapes() -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Stream::ALL
        .into_iter()
        .enumerate()
        .map(|(at, stream)| Shape::new(at, stream, stream.name()))
        .collect();
    if let Some(at) = Stream::ALL.into_iter().position(|stream| stream == Stream::Trajectories) {
        // What the user manual calls it.
        shapes.push(Shape::new(at, Stream::Trajectories, "trajectory"));
    }
    shapes
}

impl Shape {
    fn new(at: usize, stream: Stream, name: &str) -> Self {
        let fields: Vec<Part> = stream
            .fields()
            .iter()
            .enumerate()
            .map(|(index, field)| Part {
                key: format!("{}\"{}\":", if index == 0 { "" } else { "," }, field.name).into_bytes(),
                kind: field.kind,
                nullable: may_be_null(stream, field.name),
                names_lane: names_lane(stream, field.name),
                time: match field.name {
                    "ts" | "t0" => Time::Start,
                    "t1" => Time::End,
                    _ => Time::No,
                },
            })
            .collect();
        let place = |name: &str| stream.fields().iter().position(|field| field.name == name);
        let last = fields.len().saturating_sub(1);
        Self {
            stream,
            at,
            prefix: format!("{{\"stream\":\"{name}\",").into_bytes(),
            hourly: stream.layout() == crate::record::Layout::Hourly,
            lane: match stream {
                Stream::Phases => place("node").map(|node| (node, last)),
                Stream::GpuUtil | Stream::GpuProcesses => place("node").zip(place("gpu")),
                _ => None,
            },
            series: place("addr").zip(place("labels")).or_else(|| place("node").zip(place("gpu"))),
            fields,
        }
    }

    /// Reads a body: everything behind the opening brace, the closing one included.
    #[inline]
    pub(super) fn read(&self, body: &[u8]) -> Option<Seen> {
        let mut at = 0;
        let mut time = 0;
        let (mut lane, mut series) = (0..0, 0..0);
        for (index, part) in self.fields.iter().enumerate() {
            let rest = body.get(at..)?.strip_prefix(part.key.as_slice())?;
            let start = body.len() - rest.len();
            if part.names_lane && (rest.starts_with(b"-") || rest.starts_with(b"\"\"")) {
                return None;
            }
            let length = match part.kind {
                FieldKind::Float if part.time == Time::End && is_open(rest) => open_length(rest),
                FieldKind::Float if part.time != Time::No => {
                    let (seconds, length) = seconds(rest)?;
                    // A phase that seems to end before it begins.
                    if part.time == Time::End && seconds < time {
                        return None;
                    }
                    time = seconds;
                    length
                }
                FieldKind::Float => number(rest, part.nullable)?,
                FieldKind::Int => integer(rest, part.nullable)?,
                FieldKind::Text => text(rest, part.nullable)?,
                FieldKind::Bool => boolean(rest, part.nullable)?,
                FieldKind::Ints => integers(rest)?,
                FieldKind::Json => json(self.stream, rest)?,
            };
            at = start + length;
            for (range, fields) in [(&mut lane, self.lane), (&mut series, self.series)] {
                if let Some((first, last)) = fields {
                    if index == first {
                        range.start = start;
                    }
                    if index == last {
                        range.end = at;
                    }
                }
            }
        }
        if body.get(at..)? != b"}" {
            return None;
        }
        Some(Seen {
            hour: self.hourly.then_some(time / 3600),
            lane: self.lane.map(|_| lane),
            series: self.series.map(|_| series),
        })
    }
}

/// Whether a phase's end says that it has none yet, as `-1.0` or `-1`.
fn is_open(rest: &[u8]) -> bool {
    rest.starts_with(b"-1.0,") || rest.starts_with(b"-1,")
}

fn open_length(rest: &[u8]) -> usize {
    if rest.starts_with(b"-1.0") { 4 } else { 2 }
}

fn digits(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len())
}

/// Length of digits that may begin a JSON number: at least one, no zero before others.
fn whole(text: &[u8]) -> Option<usize> {
    match digits(text) {
        0 => None,
        1 => Some(1),
        count => (text.first() != Some(&b'0')).then_some(count),
    }
}

/// Whole seconds of a time, and the length of the number.
fn seconds(text: &[u8]) -> Option<(i64, usize)> {
    let count = whole(text).filter(|count| *count <= TIME_DIGITS)?;
    let value = text.get(..count)?.iter().fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0'));
    let rest = text.get(count..)?;
    if rest.starts_with(NINES) {
        return None;
    }
    Some((value, count + fraction(rest)?))
}

/// Length of the fraction of a number, 0 for none; `None` where something follows that needs a closer look.
fn fraction(text: &[u8]) -> Option<usize> {
    let length = match text.split_first() {
        Some((b'.', decimals)) => Some(digits(decimals)).filter(|count| *count > 0)? + 1,
        _ => 0,
    };
    match text.get(length) {
        Some(b',' | b'}') if length <= MOST_NUMBER => Some(length),
        _ => None,
    }
}

fn number(text: &[u8], nullable: bool) -> Option<usize> {
    if nullable && text.starts_with(b"null") {
        return Some(4);
    }
    let sign = usize::from(text.first() == Some(&b'-'));
    let rest = text.get(sign..)?;
    let count = whole(rest).filter(|count| *count <= MOST_NUMBER)?;
    Some(sign + count + fraction(rest.get(count..)?)?)
}

fn integer(text: &[u8], nullable: bool) -> Option<usize> {
    if nullable && text.starts_with(b"null") {
        return Some(4);
    }
    let sign = usize::from(text.first() == Some(&b'-'));
    let digits = text.get(sign..)?;
    let count = whole(digits).filter(|count| *count <= SAFE_DIGITS)?;
    // There is no negative zero among whole numbers.
    if sign == 1 && digits.first() == Some(&b'0') {
        return None;
    }
    match text.get(sign + count) {
        Some(b',' | b'}' | b']') => Some(sign + count),
        _ => None,
    }
}

/// Length of `true`, `false`, or of null where that may be.
fn boolean(text: &[u8], nullable: bool) -> Option<usize> {
    let words: [&[u8]; 3] = [b"true", b"false", b"null"];
    let word = words.into_iter().find(|word| text.starts_with(word))?;
    (nullable || word != b"null").then_some(word.len())
}

/// Length of a string of printable ASCII without escapes, its quotes included.
fn text(text: &[u8], nullable: bool) -> Option<usize> {
    if nullable && text.starts_with(b"null") {
        return Some(4);
    }
    let inside = text.strip_prefix(b"\"")?;
    let end = inside.iter().position(|byte| !matches!(byte, b' '..=b'!' | b'#'..=b'[' | b']'..=b'~'))?;
    (inside.get(end) == Some(&b'"')).then_some(end + 2)
}

/// Length of a list of GPU indices.
fn integers(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    if !text.starts_with(b"[") {
        return None;
    }
    if text.get(at) == Some(&b']') {
        return Some(2);
    }
    loop {
        // Nine digits fit the 32 bits that a reader keeps.
        at += integer(text.get(at..)?, false).filter(|length| *length <= 9)?;
        match text.get(at) {
            Some(b',') => at += 1,
            Some(b']') => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Length of an object of plain values: text in the labels of an engine's sample, numbers, bools or text
/// among logged metrics. Other JSON is for the patient reader.
fn json(stream: Stream, object: &[u8]) -> Option<usize> {
    let numbers = match stream {
        Stream::EngineSeries => false,
        Stream::Metrics => true,
        _ => return None,
    };
    if !object.starts_with(b"{") {
        return None;
    }
    if object.get(1) == Some(&b'}') {
        return Some(2);
    }
    let mut at = 1;
    loop {
        at += text(object.get(at..)?, false)?;
        if object.get(at) != Some(&b':') {
            return None;
        }
        at += 1;
        let value = object.get(at..)?;
        at += match value.first()? {
            b'"' => text(value, false)?,
            b't' if numbers && value.starts_with(b"true") => 4,
            b'f' if numbers && value.starts_with(b"false") => 5,
            _ if numbers => number(value, false)?,
            _ => return None,
        };
        match object.get(at) {
            Some(b',') => at += 1,
            Some(b'}') => return Some(at + 1),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: Stream, body: &str) -> Option<Seen> {
        shapes().into_iter().find(|shape| shape.stream == stream).unwrap().read(body.as_bytes())
    }

    #[test]
    fn the_lines_of_a_writer_are_known_at_a_look() {
        let body =
            r#""ts":1769907597.0937245,"node":"10.0.0.1","gpu":3,"util":20,"mem_mb":30000,"power_w":300}"#;
        let seen = read(Stream::GpuUtil, body).unwrap();
        assert_eq!(seen.hour, Some(1_769_907_597 / 3600));
        assert_eq!(&body[seen.lane.unwrap()], r#""10.0.0.1","gpu":3"#);
        let body = r#""ts":7200,"addr":"http://a:1","metric":"m","labels":{"dp_rank":"0"},"value":-0.5}"#;
        let seen = read(Stream::EngineSeries, body).unwrap();
        assert_eq!((seen.hour, seen.lane), (Some(2), None));
        assert_eq!(&body[seen.series.unwrap()], r#""http://a:1","metric":"m","labels":{"dp_rank":"0"}"#);
        let body = r#""ts":1.5,"step_key":null,"step":null,"metrics":{"a":1.5,"b":true,"c":"x"}}"#;
        assert_eq!(read(Stream::Metrics, body).unwrap().hour, None);
        let phase = |t1| {
            format!(r#""name":"a","t0":3600.5,"t1":{t1},"node":"n","gpus":[0,11],"rank":-1,"role":"train"}}"#)
        };
        for (t1, hour) in [("-1.0", 1), ("-1", 1), ("7200.0", 2)] {
            let body = phase(t1);
            let seen = read(Stream::Phases, &body).unwrap();
            assert_eq!(seen.hour, Some(hour));
            assert_eq!(&body[seen.lane.unwrap()], r#""n","gpus":[0,11],"rank":-1,"role":"train""#);
        }
    }

    #[test]
    fn whatever_is_rare_or_wrong_is_left_to_the_patient_reader() {
        let good = r#""ts":1.5,"node":"n","gpu":3,"util":20,"mem_mb":30000,"power_w":300}"#;
        assert!(read(Stream::GpuUtil, good).is_some());
        for (from, to) in [
            ("1.5", "1e3"),
            ("1.5", "-1.5"),
            ("1.5", "123456789012"),
            ("1.5", "3599.9999999999"),
            ("1.5", "1."),
            ("1.5", "01"),
            ("\"n\"", "\"\\n\""),
            ("\"n\"", "\"é\""),
            ("\"n\"", "null"),
            ("\"n\"", "\"\""),
            ("\"gpu\":3", "\"gpu\":-3"),
            ("20", "20.0"),
            ("20", "null"),
            ("300}", "300}}"),
            ("300}", "300,\"x\":1}"),
            ("300}", "300"),
            ("\"gpu\":3,", ""),
            ("\"gpu\":3,", "\"gpu\": 3,"),
            ("30000", "1234567890123456789"),
        ] {
            assert_eq!(read(Stream::GpuUtil, &good.replacen(from, to, 1)), None, "{from} -> {to}");
        }
    }
}
