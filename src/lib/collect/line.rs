//! From a line as a producer sent it to the line that belongs on disk.

use super::catalog::NAMING;
use super::check::{Wrong, rewrite};
use super::meta::Written;
use super::shape::{Hour, Shape, shapes};
use crate::record::{Layout, Stream, entries, strict};

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Bad {
    /// Longer than any record.
    #[error("longer than {} KiB", super::split::MAX_LINE / 1024)]
    TooLong,
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not one JSON object.
    #[error("not one JSON object")]
    NotObject,
    /// The last line of a producer that went away in the middle of it.
    #[error("cut off at its end")]
    CutOff,
    /// Nothing says which stream it belongs to.
    #[error("no \"stream\"; hint: each record begins with one, as in {{\"stream\":\"gpu_util\",…}}")]
    NoStream,
    /// Nobody knows the stream.
    #[error("{0}")]
    Unknown(#[from] crate::record::UnknownStream),
    /// A record of a known stream that it may not hold.
    #[error("{0}")]
    Wrong(#[from] Wrong),
    /// What a training process says about its run is not as it should be.
    #[error("meta: {0}")]
    Meta(&'static str),
}

/// What a training process says about its run, in a record `{"stream":"meta",…}`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetaRecord {
    /// Name of the run.
    pub run_name: Option<String>,
    /// Start of this attempt, Unix seconds.
    pub start_ts: Option<f64>,
    /// Settings of the job, which join those that are there.
    pub args: Vec<(String, Written)>,
}

/// A line read.
#[derive(Debug, PartialEq)]
pub(super) enum Read<'a> {
    /// A record.
    Record(Ready<'a>),
    /// Something about the run.
    Meta(MetaRecord),
    /// White space.
    Blank,
}

/// A record ready to be written.
#[derive(Debug, PartialEq)]
pub(super) struct Ready<'a> {
    /// Place of its stream in [`Stream::ALL`].
    pub at: usize,
    /// Of its time.
    pub hour: Hour,
    /// The object behind its opening brace, without a newline.
    pub body: &'a [u8],
    /// What says which GPUs it is about; equal bytes say the same.
    pub lane: Lane<'a>,
    /// What says which series it is a value of, where that was found at a look.
    pub series: Option<&'a [u8]>,
    /// Keys that were left out.
    pub left_out: Vec<String>,
}

/// What a record says about lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane<'a> {
    /// Nothing.
    None,
    /// What these bytes say.
    Known(&'a [u8]),
    /// It has to be read to know.
    Unknown,
}

/// Reads lines. Keeps its memory from one to the next.
#[derive(Debug)]
pub(super) struct Reader {
    shapes: Vec<Shape>,
    /// The shape of the line before: the next one mostly is alike.
    last: usize,
    clean: String,
    out: Vec<u8>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { shapes: shapes(), last: 0, clean: String::new(), out: Vec::new() }
    }

    /// Reads one line without its newline.
    #[inline]
    pub(super) fn read<'a>(&'a mut self, line: &'a [u8]) -> Result<Read<'a>, Bad> {
        let alike = |shape: &&Shape| line.starts_with(&shape.prefix);
        let mut shape = self.shapes.get(self.last).filter(alike);
        if shape.is_none()
            && let Some(at) = self.shapes.iter().position(|shape| alike(&shape))
        {
            self.last = at;
            shape = self.shapes.get(at);
        }
        if let Some(shape) = shape {
            let body = line.get(shape.prefix.len()..).unwrap_or_default();
            if let Some(seen) = shape.read(body) {
                return Ok(Read::Record(Ready {
                    at: shape.at,
                    hour: seen.hour,
                    body,
                    lane: seen
                        .lane
                        .and_then(|range| body.get(range))
                        .map_or(lane_of(shape.stream), Lane::Known),
                    series: seen.series.and_then(|range| body.get(range)),
                    left_out: Vec::new(),
                }));
            }
        }
        self.patiently(line)
    }

    #[cold]
    fn patiently<'a>(&'a mut self, line: &[u8]) -> Result<Read<'a>, Bad> {
        let text = str::from_utf8(line).map_err(|_| Bad::NotUtf8)?;
        // A byte order mark comes from tools of another system.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_ascii();
        if text.is_empty() {
            return Ok(Read::Blank);
        }
        strict(text, &mut self.clean);
        let object = entries(&self.clean).map_err(|_| Bad::NotObject)?;
        let named = object.iter().rev().find(|(key, _)| &**key == "stream").ok_or(Bad::NoStream)?;
        let name: String = serde_json::from_str(named.1.get()).map_err(|_| Bad::NoStream)?;
        if name == "meta" {
            return meta(&self.clean).map(Read::Meta);
        }
        let stream: Stream = name.parse()?;
        self.out.clear();
        let done = rewrite(stream, &object, &mut self.out).map_err(|wrong| as_said(wrong, text))?;
        let body = self.out.get(1..).unwrap_or_default();
        let shape = self.shapes.iter().find(|shape| shape.stream == stream).ok_or(Bad::NoStream)?;
        let seen = shape.read(body);
        let range = |range: Option<_>| range.and_then(|range| body.get::<std::ops::Range<usize>>(range));
        let (lane, series) = seen.map(|seen| (seen.lane, seen.series)).unwrap_or_default();
        Ok(Read::Record(Ready {
            at: shape.at,
            hour: (stream.layout() == Layout::Hourly).then_some((done.time / 3600.0).floor() as i64),
            body,
            lane: range(lane).map_or(lane_of(stream), Lane::Known),
            series: range(series),
            left_out: done.left_out,
        }))
    }
}

/// The same with the word that the producer sent where strict JSON has only null for it.
fn as_said(mut wrong: Wrong, text: &str) -> Wrong {
    if let Wrong::Value { key, found, .. } = &mut wrong
        && found == "null"
        && let Some((_, rest)) = text.rsplit_once(&format!("\"{key}\""))
        && let Some(value) = rest.trim_ascii_start().strip_prefix(':')
    {
        let value = value.trim_ascii_start();
        if let Some(word) = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| value.starts_with(word))
        {
            word.clone_into(found);
        }
    }
    wrong
}

/// What a record of `stream` says about lanes if no bytes of it do.
fn lane_of(stream: Stream) -> Lane<'static> {
    if NAMING.contains(&stream) { Lane::Unknown } else { Lane::None }
}

fn meta(text: &str) -> Result<MetaRecord, Bad> {
    let object = Written::entries(text).map_err(|_| Bad::NotObject)?;
    let mut record = MetaRecord::default();
    for (key, value) in object {
        let raw = value.get();
        match key.as_str() {
            "run_name" | "start_ts" | "args" if raw == "null" => {}
            "run_name" => {
                let name = serde_json::from_str(raw).map_err(|_| Bad::Meta("\"run_name\" must be text"))?;
                record.run_name = Some(name);
            }
            "start_ts" => {
                let time = raw.parse::<f64>().ok().filter(|time| (0.0..=1e11).contains(time));
                record.start_ts = Some(time.ok_or(Bad::Meta("\"start_ts\" is no time in Unix seconds"))?);
            }
            "args" => {
                record.args = Written::entries(raw).map_err(|_| Bad::Meta("\"args\" must be an object"))?;
            }
            // Whatever else a newer client says; the record is a message, not a line to keep.
            _ => {}
        }
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As writers send them.
    const LINES: [&str; 6] = [
        r#"{"stream":"gpu_util","ts":3600.5,"node":"n","gpu":3,"util":20,"mem_mb":30000,"power_w":300}"#,
        r#"{"stream":"engine_series","ts":7200.0,"addr":"a","metric":"m","labels":{"a":"b"},"value":1.25}"#,
        r#"{"stream":"phases","name":"a","t0":1.5,"t1":-1.0,"node":"n","gpus":[0],"rank":2,"role":"train"}"#,
        r#"{"stream":"data_buffer","ts":1.5,"length":7}"#,
        r#"{"stream":"metrics","ts":1.5,"step_key":null,"step":1,"metrics":{"a":1,"b":"x","c":true}}"#,
        r#"{"stream":"trajectories","ts":1.5,"kind":"gen_end","sample_index":1,"group_index":-1,"turn":-1,"weight_version":"","detail":""}"#,
    ];

    #[test]
    fn a_line_of_a_writer_goes_to_disk_as_it_came() {
        let mut reader = Reader::new();
        let line =
            br#"{"stream":"gpu_util","ts":3600.5,"node":"n","gpu":3,"util":20,"mem_mb":30000,"power_w":300}"#;
        let Read::Record(ready) = reader.read(line).unwrap() else { panic!("no record") };
        assert_eq!(ready.hour, Some(1));
        assert_eq!(ready.body.as_ptr(), line[21..].as_ptr());
        assert_eq!(ready.lane, Lane::Known(&br#""n","gpu":3"#[..]));
    }

    #[test]
    fn both_readers_agree_on_the_bytes_the_hour_and_the_lane() {
        let (mut fast, mut slow) = (Reader::new(), Reader::new());
        for line in LINES {
            let spaced = line.replace("\":", "\": ").replace(",\"", " ,\"");
            let fast = fast.read(line.as_bytes()).unwrap();
            assert!(
                matches!(&fast, Read::Record(ready) if line.ends_with(str::from_utf8(ready.body).unwrap()))
            );
            assert_eq!(fast, slow.read(spaced.as_bytes()).unwrap(), "{line}");
        }
    }

    proptest! {
        /// Whatever the look takes, the patient reader takes too, to the same bytes, hour and lanes.
        #[test]
        fn a_look_takes_nothing_that_patience_would_not(
            which in 0..LINES.len(),
            changes in prop::collection::vec((0_usize..200, "[-+.eE0-9\"\\\\,:{}\\[\\] a-z]|true|null|9999999|é"), 0..3),
        ) {
            let mut line = LINES[which].to_owned();
            for (at, text) in changes {
                let at = at % line.len();
                if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
                    line.replace_range(at..=at, &text);
                }
            }
            let (mut fast, mut slow) = (Reader::new(), Reader::new());
            let fast = fast.read(line.as_bytes());
            let slow = slow.patiently(line.as_bytes());
            match (&fast, &slow) {
                (Ok(Read::Record(fast)), Ok(Read::Record(slow))) => {
                    prop_assert_eq!((fast.at, fast.hour, fast.body), (slow.at, slow.hour, slow.body), "{}", line);
                    prop_assert_eq!((fast.lane, fast.series), (slow.lane, slow.series), "{}", line);
                }
                _ => prop_assert_eq!(&fast, &slow, "{}", line),
            }
        }
    }

    #[test]
    fn the_manuals_name_of_trajectories_is_taken() {
        let line = r#"{"stream":"trajectory","ts":1.5,"kind":"gen_end","sample_index":1,"group_index":-1,"turn":-1,"weight_version":"","detail":""}"#;
        let mut reader = Reader::new();
        let Read::Record(ready) = reader.read(line.as_bytes()).unwrap() else { panic!("no record") };
        assert_eq!(Stream::ALL[ready.at], Stream::Trajectories);
    }

    #[test]
    fn a_meta_record_is_a_message() {
        let mut reader = Reader::new();
        let line =
            br#"{"stream":"meta","run_name":"r","start_ts":5,"args":{"colocate":true,"x":NaN},"new":1}"#;
        let Read::Meta(meta) = reader.read(line).unwrap() else { panic!("no meta") };
        assert_eq!((meta.run_name.as_deref(), meta.start_ts), (Some("r"), Some(5.0)));
        assert_eq!(meta.args, Written::entries(r#"{"colocate":true,"x":null}"#).unwrap());
        let wrong = reader.read(br#"{"stream":"meta","args":[]}"#).unwrap_err();
        assert_eq!(wrong, Bad::Meta("\"args\" must be an object"));
    }

    #[test]
    fn what_is_no_record_is_told_apart() {
        let mut reader = Reader::new();
        for (line, says) in [
            (&b"{\"stream\":\"gpu_util\",\"ts\":1"[..], "not one JSON object"),
            (b"[1]", "not one JSON object"),
            (b"\xff\xfe", "not UTF-8"),
            (b"{\"ts\":1}", "no \"stream\""),
            (b"{\"stream\":1}", "no \"stream\""),
            (b"{\"stream\":\"gpus\"}", "unknown stream \"gpus\""),
            (b"{\"stream\":\"data_buffer\",\"ts\":NaN,\"length\":1}", "\"ts\" is NaN"),
            (b"{\"stream\":\"data_buffer\",\"ts\":1,\"length\": -Infinity}", "\"length\" is -Infinity"),
            (b"{\"stream\":\"data_buffer\",\"ts\":1,\"length\":null}", "\"length\" is null"),
            (b"{\"stream\":\"data_buffer\",\"ts\":1,\"length\":1}\0", "not one JSON object"),
        ] {
            let error = reader.read(line).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(reader.read(b" \r"), Ok(Read::Blank));
    }
}
