//! `miles-dump stream NAME`: the records of one telemetry stream.
//!
//! Two shapes. [`run`] gives rows with the fields of the format as columns, for CSV, Parquet, a
//! table or chosen columns. [`lines`] passes each record on as the JSON object that it is, with
//! keys that the format does not know, for NDJSON and JSON without chosen columns.

use std::borrow::Cow;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use crate::output::{Cell, Column, Kind, OutputError, RowSink};
use crate::record::{FieldKind, Stream, Value};
use crate::telemetry::{
    DASHBOARD, Damage, Found, TelemetryError, TimeArg, TimeError, Window, counted, newest, partitions, scan,
    shown,
};
use crate::timeline::{LaneFilter, Selector};

/// Damaged files that are named; a run of weeks has hundreds of hours.
pub(super) const FILES_NAMED: usize = 5;

/// What to read.
#[derive(Debug, Clone)]
pub struct StreamRequest {
    /// Which stream.
    pub stream: Stream,
    /// First time, inclusive. A record's time is its `ts`; of a phase its end, or its start while it is open.
    pub t0: Option<TimeArg>,
    /// Last time, inclusive.
    pub t1: Option<TimeArg>,
    /// Only records that touch these lanes.
    pub lanes: Option<Selector>,
}

/// Why a stream's rows could not be given.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// Lanes were selected in a stream whose records name none.
    #[error("--lanes: records of {stream} name no lane; hint: streams with lanes are {}", with_lanes())]
    NoLanes {
        /// The stream.
        stream: Stream,
    },
    /// The times make no window.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// A stream cannot be read.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The rows cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl RowsError {
    /// Whether the command was wrong, as opposed to the data or the system.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::NoLanes { .. } | Self::Time(_))
    }
}

fn with_lanes() -> String {
    let named: Vec<_> =
        Stream::ALL.into_iter().filter(|stream| stream.names_lanes()).map(Stream::name).collect();
    named.join(", ")
}

/// The columns of [`run`]: the fields of the stream's format, in its order.
#[must_use]
pub fn columns(stream: Stream) -> Vec<Column> {
    stream
        .fields()
        .iter()
        .map(|field| {
            let kind = match field.kind {
                FieldKind::Bool => Kind::Bool,
                FieldKind::Int => Kind::Int,
                FieldKind::Float => Kind::Float64,
                FieldKind::Text => Kind::Text,
                FieldKind::Ints => Kind::Ints,
                FieldKind::Json => Kind::Json,
            };
            Column::new(field.name, kind)
        })
        .collect()
}

/// Gives the records as rows of [`columns`]. What the columns cannot hold is told to `notes`, as is damage.
///
/// # Errors
/// [`RowsError`].
pub fn run(
    run_dir: &Path,
    request: &StreamRequest,
    sink: &mut dyn RowSink,
    notes: &mut dyn FnMut(String),
) -> Result<(), RowsError> {
    let mut unheld = 0_u64;
    let mut example = None;
    select(run_dir, request, notes, |found| {
        if let Some((key, _)) = found.record.extra().first() {
            unheld += 1;
            example.get_or_insert_with(|| key.to_string());
        }
        let mut cells = Vec::with_capacity(request.stream.fields().len());
        found.record.values(|value| cells.push(cell(value)));
        Ok(sink.row(&cells)?)
    })?;
    if let Some(key) = example {
        notes(format!(
            "{}: {} with a key or a value that no column holds (first: {key:?}); \
             hint: --format ndjson without --columns gives records whole",
            request.stream,
            counted(unheld, "record")
        ));
    }
    Ok(())
}

/// Hands each record to `line` as one JSON object on one line, without the newline: byte for byte
/// as it is on disk wherever that is strict JSON. Damage is told to `notes`.
///
/// # Errors
/// [`RowsError`].
pub fn lines(
    run_dir: &Path,
    request: &StreamRequest,
    line: &mut dyn FnMut(&str) -> Result<ControlFlow<()>, OutputError>,
    notes: &mut dyn FnMut(String),
) -> Result<(), RowsError> {
    select(run_dir, request, notes, |found| Ok(line(found.text)?))
}

fn select(
    run_dir: &Path,
    request: &StreamRequest,
    notes: &mut dyn FnMut(String),
    mut visit: impl FnMut(Found<'_>) -> Result<ControlFlow<()>, RowsError>,
) -> Result<(), RowsError> {
    let StreamRequest { stream, t0, t1, lanes } = request;
    if lanes.is_some() && !stream.names_lanes() {
        return Err(RowsError::NoLanes { stream: *stream });
    }
    let dashboard = run_dir.join(DASHBOARD);
    let window = window(run_dir, *stream, *t0, *t1, notes)?;
    let filter = match lanes {
        Some(selector) => Some(LaneFilter::load(&dashboard, selector, *stream)?),
        None => None,
    };
    let mut damage = Damage::default();
    scan::<RowsError>(&dashboard, *stream, &window, &mut damage, |found| {
        if filter.as_ref().is_none_or(|filter| filter.touches(&found.record)) {
            visit(found)
        } else {
            Ok(ControlFlow::Continue(()))
        }
    })?;
    damage.notes(FILES_NAMED).into_iter().for_each(notes);
    Ok(())
}

/// The window that is asked for, after a look whether there is a run and whether it has the stream.
pub(super) fn window(
    run_dir: &Path,
    stream: Stream,
    t0: Option<TimeArg>,
    t1: Option<TimeArg>,
    notes: &mut dyn FnMut(String),
) -> Result<Window, RowsError> {
    fs::read_dir(run_dir).map_err(|source| TelemetryError::Open { path: run_dir.to_owned(), source })?;
    let dashboard = run_dir.join(DASHBOARD);
    if partitions(&dashboard, stream)?.is_empty() {
        notes(format!("{}: the run recorded no {stream}", shown(&dashboard)));
    }
    Window::resolve(t0, t1, || Ok(newest(&dashboard)?))
}

fn cell(value: Value<'_>) -> Cell<'_> {
    match value {
        Value::Missing => Cell::Null,
        Value::Bool(value) => Cell::Bool(value),
        Value::Int(value) => Cell::Int(value),
        Value::Float(value) => Cell::F64(value),
        Value::Text(value) => Cell::Text(Cow::Borrowed(value)),
        Value::Ints(values) => Cell::Ints(Cow::Borrowed(values)),
        Value::Json(text) => Cell::Json(Cow::Borrowed(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rows, run_with};
    use super::*;

    const UTIL: &str = "dashboard/gpu_util/20260201_01.jsonl";

    fn request(stream: Stream) -> StreamRequest {
        StreamRequest { stream, t0: None, t1: None, lanes: None }
    }

    fn rows(folder: &Path, request: &StreamRequest) -> (Vec<String>, Vec<String>) {
        let mut sink = Rows::default();
        let mut notes = Vec::new();
        run(folder, request, &mut sink, &mut |note| notes.push(note)).unwrap();
        (sink.0, notes)
    }

    fn texts(folder: &Path, request: &StreamRequest) -> Vec<String> {
        let mut out = Vec::new();
        let mut line = |text: &str| {
            out.push(text.to_owned());
            Ok(ControlFlow::Continue(()))
        };
        lines(folder, request, &mut line, &mut |_| ()).unwrap();
        out
    }

    #[test]
    fn a_torn_line_is_skipped_and_counted_and_its_neighbours_are_given() {
        let good = |ts: u32| {
            format!("{{\"ts\":{ts}.0,\"node\":\"n\",\"gpu\":0,\"util\":1,\"mem_mb\":2,\"power_w\":3}}\n")
        };
        let text = format!("{}{{\"ts\":1,\"a{}{}", good(1), good(2), good(3));
        let folder = run_with(&[(UTIL, &text)]);
        let (rows, notes) = rows(folder.path(), &request(Stream::GpuUtil));
        assert_eq!(rows, [r#"1 "n" 0 1 2 3"#, r#"3 "n" 0 1 2 3"#]);
        let shown = folder.path().join(UTIL).display().to_string();
        let note =
            format!("{shown}: 1 damaged line skipped (first at byte {}): not one JSON object", good(1).len());
        assert_eq!(notes, [note]);
    }

    #[test]
    fn unknown_keys_stay_in_the_lines_and_are_noted_beside_rows() {
        let line = r#"{"ts":1.0,"length":2,"x":{"y":18446744073709551617}}"#;
        let folder = run_with(&[("dashboard/data_buffer.jsonl", &format!("{line}\n"))]);
        assert_eq!(texts(folder.path(), &request(Stream::DataBuffer)), [line]);
        let (rows, notes) = rows(folder.path(), &request(Stream::DataBuffer));
        assert_eq!(rows, ["1 2"]);
        assert!(notes[0].contains("data_buffer: 1 record ") && notes[0].contains("\"x\""), "{notes:?}");
    }

    #[test]
    fn lines_are_strict_json_whatever_python_wrote() {
        let text = "{\"ts\":1.0,\"step_key\":null,\"step\":null,\"metrics\":{\"a\":NaN,\"b\":\"\\ud83d\"}}\n";
        let folder = run_with(&[("dashboard/metrics.jsonl", text)]);
        let texts = texts(folder.path(), &request(Stream::Metrics));
        assert_eq!(texts, [r#"{"ts":1.0,"step_key":null,"step":null,"metrics":{"a":null,"b":"\ufffd"}}"#]);
        let (rows, notes) = rows(folder.path(), &request(Stream::Metrics));
        assert_eq!(rows, [r#"1 null null {"a":null,"b":"\ufffd"}"#]);
        assert_eq!(notes, ["1 lone surrogate escape read as U+FFFD"]);
    }

    #[test]
    fn relative_times_count_from_the_newest_record_of_the_run() {
        let line = |ts: u32| format!("{{\"ts\":{ts},\"length\":{ts}}}\n");
        let text: String = [100, 139, 140, 170].map(line).concat();
        let newest = "{\"ts\":200,\"engines\":[]}\n";
        let folder =
            run_with(&[("dashboard/data_buffer.jsonl", &text), ("dashboard/topology.jsonl", newest)]);
        let mut request = request(Stream::DataBuffer);
        request.t0 = Some(TimeArg::Before(60.0));
        assert_eq!(rows(folder.path(), &request).0, ["140 140", "170 170"]);
        request.t1 = Some(TimeArg::At(140.0));
        assert_eq!(rows(folder.path(), &request).0, ["140 140"]);
        request.t0 = Some(TimeArg::At(141.0));
        let error = run(folder.path(), &request, &mut Rows::default(), &mut |_| ()).unwrap_err();
        assert!(error.is_usage(), "{error}");
    }

    #[test]
    fn lanes_of_a_stream_that_names_none_are_a_usage_error() {
        let folder = run_with(&[("dashboard/data_buffer.jsonl", "")]);
        let mut request = request(Stream::DataBuffer);
        request.lanes = Some("all".parse().unwrap());
        let error = run(folder.path(), &request, &mut Rows::default(), &mut |_| ()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("gpu_util"), "{error}");
    }

    #[test]
    fn a_stream_that_was_not_recorded_is_no_rows_and_a_note() {
        let folder = run_with(&[]);
        let (rows, notes) = rows(folder.path(), &request(Stream::Phases));
        assert!(rows.is_empty() && notes[0].contains("no phases"), "{notes:?}");
        let missing = folder.path().join("nowhere");
        let error = run(&missing, &request(Stream::Phases), &mut Rows::default(), &mut |_| ()).unwrap_err();
        assert!(!error.is_usage() && error.to_string().contains("nowhere"), "{error}");
    }

    #[test]
    fn a_sink_that_wants_no_more_ends_the_scan() {
        let text = "{\"ts\":1,\"length\":1}\n{\"ts\":2,\"length\":2}\n";
        let folder = run_with(&[("dashboard/data_buffer.jsonl", text)]);
        let mut seen = 0;
        let mut line = |_: &str| {
            seen += 1;
            Ok(ControlFlow::Break(()))
        };
        lines(folder.path(), &request(Stream::DataBuffer), &mut line, &mut |_| ()).unwrap();
        assert_eq!(seen, 1);
    }

    #[test]
    fn rows_of_the_recorded_runs_hold_exactly_what_their_lines_hold() {
        use serde_json::{Value as Json, json};
        struct Objects(Vec<Column>, Vec<Json>);
        impl RowSink for Objects {
            fn row(&mut self, cells: &[Cell<'_>]) -> Result<ControlFlow<()>, OutputError> {
                let value = |cell: &Cell<'_>| match cell {
                    Cell::Null => Json::Null,
                    Cell::Int(value) => json!(value),
                    Cell::F64(value) => json!(value),
                    Cell::Text(text) => json!(text),
                    Cell::Ints(values) => json!(values),
                    Cell::Json(text) => serde_json::from_str(text).unwrap(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(cells.len(), self.0.len());
                let named =
                    self.0.iter().zip(cells).map(|(column, cell)| (column.name.to_string(), value(cell)));
                self.1.push(named.collect());
                Ok(ControlFlow::Continue(()))
            }
        }
        let shared = std::env::var_os("MILES_SHARED")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), Into::into);
        for name in ["basic", "edges", "legacy_flat"] {
            let dump = shared.join("golden").join(name).join("dump");
            if !dump.is_dir() {
                eprintln!("skipped: no {}", dump.display());
                continue;
            }
            for stream in Stream::ALL {
                let mut sink = Objects(columns(stream), Vec::new());
                let mut notes = Vec::new();
                run(&dump, &request(stream), &mut sink, &mut |note| notes.push(note)).unwrap();
                let texts = texts(&dump, &request(stream));
                assert_eq!(sink.1.len(), texts.len());
                for (row, text) in sink.1.iter().zip(&texts) {
                    assert_eq!(*row, serde_json::from_str::<Json>(text).unwrap(), "{name} {stream}");
                }
                assert_eq!(notes.len(), usize::from(texts.is_empty()), "{notes:?}");
            }
        }
    }
}
