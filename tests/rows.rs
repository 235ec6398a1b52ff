//! Rows on disk as Parquet: what was written reads back, whoever wrote it, and damage is an error.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::path::Path;

use miles::output::{Format, Options, RowSink};
use miles::row::parquet::{Field, Place, Problem, ReadError, Reader, WriteError, Writer, WriterOptions};
use miles::row::{Cell, Column, Kind};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;

fn write(columns: &[Column], options: WriterOptions, rows: &[Vec<Cell<'_>>]) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new(), columns, options)?;
    for row in rows {
        writer.push(row)?;
    }
    writer.finish()
}

#[test]
fn a_file_has_the_groups_and_the_metadata_asked_for() {
    let columns = [Column::new("sample_index", Kind::Int32)];
    let rows: Vec<Vec<Cell<'_>>> = (0..20).map(|index| vec![Cell::Int(index)]).collect();
    let options = WriterOptions {
        row_group_rows: Some(8),
        metadata: vec![("version".into(), "1".into())],
        ..WriterOptions::default()
    };
    let bytes = write(&columns, options, &rows).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    std::fs::write(&path, bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let footer = reader.metadata();
    assert_eq!(footer.row_groups().iter().map(|group| group.num_rows()).collect::<Vec<_>>(), [8, 8, 4]);
    let pairs = footer.file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|pair| pair.key == "version" && pair.value.as_deref() == Some("1")));
    let physical = footer.file_metadata().schema_descr().column(0).physical_type();
    assert_eq!(physical, parquet::basic::Type::INT32);
}

#[test]
fn a_value_beyond_32_bits_is_refused_and_never_wrapped() {
    let columns = [Column::new("sample_index", Kind::Int32)];
    let row = vec![Cell::Int(1 << 31)];
    let error = write(&columns, WriterOptions::default(), &[row]).unwrap_err();
    assert!(matches!(error, WriteError::OutOfRange { value: 0x8000_0000, .. }), "{error}");
}

#[test]
fn a_row_that_does_not_match_its_columns_is_refused() {
    let columns = [Column::new("a", Kind::Int), Column::new("b", Kind::Text)];
    for row in [vec![Cell::Int(1)], vec![Cell::Int(1), Cell::Null, Cell::Null], vec![Cell::Null; 3]] {
        let error = write(&columns, WriterOptions::default(), &[row]).unwrap_err();
        assert!(matches!(error, WriteError::RowShape { columns: 2 }), "{error}");
    }
    let error = write(&columns, WriterOptions::default(), &[vec![Cell::F32(1.0), Cell::Null]]).unwrap_err();
    assert!(matches!(error, WriteError::CellKind { cell: "F32", .. }), "{error}");
}

#[test]
fn a_text_in_a_json_column_is_a_json_string_and_plain_text_elsewhere() {
    let columns = [Column::new("reward", Kind::Json)];
    let rows = [vec![Cell::from("a \"b\"")], vec![Cell::Json(Cow::Borrowed(r#"{"a":1}"#))]];
    let text = |format| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let options = Options { format: Some(format), path: Some(path.clone()), ..Options::default() };
        let mut output = options.open(&columns).unwrap();
        for row in &rows {
            assert!(output.row(row).unwrap().is_continue());
        }
        output.finish().unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    assert_eq!(text(Format::Ndjson), "{\"reward\":\"a \\\"b\\\"\"}\n{\"reward\":{\"a\":1}}\n");
    assert_eq!(text(Format::Csv), "reward\n\"a \"\"b\"\"\"\n\"{\"\"a\"\":1}\"\n");
    assert!(text(Format::Table).contains("a \"b\"\n"));
}

/// One column of each kind, and cells that hold all that is special about it.
fn all_kinds() -> (Vec<Column>, Vec<Vec<Cell<'static>>>) {
    let columns = vec![
        Column::new("done", Kind::Bool),
        Column::new("sample_index", Kind::Int),
        Column::new("length", Kind::Int32),
        Column::new("reward", Kind::Float32),
        Column::new("time", Kind::Float64),
        Column::new("status", Kind::Text),
        Column::new("extra", Kind::Json),
        Column::new("tokens", Kind::Ints),
        Column::new("mask", Kind::Mask),
        Column::new("log_probs", Kind::Floats),
        Column::new("versions", Kind::Texts),
    ];
    let row = |at: i64| {
        vec![
            Cell::from(at % 2 == 0),
            Cell::from(at - 3),
            Cell::from(i32::MIN),
            Cell::from(at as f32 / 4.0),
            Cell::from(-0.1_f64),
            Cell::from(format!("é{at}")),
            Cell::Json(Cow::Borrowed("{}")),
            Cell::Ints((0..at as i32).collect()),
            Cell::Mask(Cow::Borrowed(&[0, -1, 1])),
            Cell::Floats(Cow::Borrowed(&[-0.5])),
            Cell::Texts(vec![None, Some("57".into())]),
        ]
    };
    let mut rows: Vec<_> = (0..9).map(row).collect();
    rows[3] = vec![Cell::Null; columns.len()];
    rows[7][7] = Cell::Ints(Cow::Borrowed(&[]));
    rows[7][10] = Cell::Texts(vec![]);
    (columns, rows)
}

fn small_file() -> Vec<u8> {
    let (columns, rows) = all_kinds();
    write(&columns, WriterOptions { row_group_rows: Some(4), ..WriterOptions::default() }, &rows).unwrap()
}

fn open(bytes: Vec<u8>) -> Result<Reader, ReadError> {
    Reader::from_bytes(Path::new("rows.parquet"), bytes)
}

fn fields(file: &Reader, columns: &[Column]) -> Vec<Field> {
    columns.iter().map(|column| file.field(column).unwrap().unwrap()).collect()
}

#[test]
fn rows_read_back_cell_for_cell_in_order_and_by_place() {
    let (columns, rows) = all_kinds();
    let file = open(small_file()).unwrap();
    assert_eq!((file.row_count(), file.group_count()), (9, 3));
    assert!(file.column_names().eq(columns.iter().map(|column| &*column.name)));
    let fields = fields(&file, &columns);
    let read: Vec<_> = file.rows(&fields).collect::<Result<_, _>>().unwrap();
    assert_eq!(read, rows);
    for (at, row) in rows.iter().enumerate() {
        let place = Place { group: at / 4, row: at % 4 };
        for (field, cell) in fields.iter().zip(row) {
            assert_eq!(&file.cell(place, field).unwrap(), cell);
        }
    }
    let beyond = file.cell(Place { group: 2, row: 1 }, &fields[0]).unwrap_err();
    assert!(matches!(beyond.problem, Problem::NoRow { group: 2, row: 1 }), "{beyond}");
}

#[test]
fn a_row_is_found_by_its_integer() {
    let (columns, rows) = all_kinds();
    let file = open(small_file()).unwrap();
    let index = file.field(&columns[1]).unwrap().unwrap();
    for at in 0..rows.len() {
        let want = (at != 3).then_some(Place { group: at / 4, row: at % 4 });
        assert_eq!(file.find(&index, at as i64 - 3).unwrap(), want);
    }
    assert_eq!(file.find(&index, 1000).unwrap(), None);
}

#[test]
fn a_column_that_is_missing_or_of_another_kind_is_told_apart() {
    let file = open(small_file()).unwrap();
    assert!(file.field(&Column::new("entropy", Kind::Floats)).unwrap().is_none());
    let error = file.field(&Column::new("tokens", Kind::Floats)).unwrap_err();
    assert_eq!(error.to_string(), "rows.parquet: column 'tokens': holds a list of INT32, not Floats");
    let error = file.field(&Column::new("tokens", Kind::Int)).unwrap_err();
    assert_eq!(error.to_string(), "rows.parquet: column 'tokens': holds a list of INT32, not Int");
    let error = file.field(&Column::new("reward", Kind::Mask)).unwrap_err();
    assert_eq!(error.to_string(), "rows.parquet: column 'reward': holds FLOAT, not Mask");
}

#[test]
fn a_value_that_its_kind_cannot_hold_is_an_error_and_never_wrapped() {
    let columns = [Column::new("tokens", Kind::Ints), Column::new("index", Kind::Int)];
    let row = vec![Cell::Ints(Cow::Borrowed(&[1, 300])), Cell::Int(1 << 40)];
    let file = open(write(&columns, WriterOptions::default(), &[row]).unwrap()).unwrap();
    let place = Place { group: 0, row: 0 };
    let mask = file.field(&Column::new("tokens", Kind::Mask)).unwrap().unwrap();
    let error = file.cell(place, &mask).unwrap_err();
    assert!(matches!(error.problem, Problem::OutOfRange { value: 300, .. }), "{error}");
    let narrow = file.field(&Column::new("index", Kind::Int32)).unwrap().unwrap();
    let error = file.cell(place, &narrow).unwrap_err();
    assert!(matches!(error.problem, Problem::OutOfRange { value: 0x100_0000_0000, .. }), "{error}");
}

#[test]
fn what_is_no_parquet_is_named_for_what_it_is() {
    for (bytes, what) in [
        (&b""[..], "rows.parquet: not a whole Parquet file: too short"),
        (b"PAR1 and then nothing", "rows.parquet: not a whole Parquet file: it does not end in PAR1"),
        (b"PAR1\0\0\0\0\x01\0\0\0PARE", "rows.parquet: unsupported encryption"),
        (
            b"PAR1\0\0\0\0\xff\xff\xff\x7fPAR1",
            "rows.parquet: damaged Parquet: its footer is longer than the file",
        ),
    ] {
        assert_eq!(open(bytes.to_vec()).err().unwrap().to_string(), what);
    }
    let error = Reader::open(Path::new("/nonexistent/rows.parquet")).err().unwrap();
    assert!(matches!(&error.problem, Problem::Io(source) if source.kind() == std::io::ErrorKind::NotFound));
    assert!(Reader::open(Path::new("/dev/zero")).is_err());
}

/// Asks all that can be asked; the answers may be errors, but they come.
fn exercise(bytes: Vec<u8>) {
    let Ok(file) = open(bytes) else { return };
    let columns = all_kinds().0;
    let fields: Vec<Field> = columns.iter().filter_map(|column| file.field(column).ok()?).collect();
    for field in &fields {
        let _ = file.cell(Place { group: 1, row: 2 }, field);
        let _ = file.find(field, 3);
    }
    let _ = file.rows(&fields).take(100).count();
    let _ = file.metadata("key");
}

/// The decoder's panics are caught; their messages would drown the test's.
fn quietly(test: impl FnOnce() + std::panic::UnwindSafe) {
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.location().is_some_and(|at| !at.file().contains("/parquet-")) {
                usual(info);
            }
        }));
    });
    test();
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    quietly(|| {
        let whole = small_file();
        for len in 0..whole.len() {
            assert!(open(whole[..len].to_vec()).is_err(), "{len} of {} bytes", whole.len());
        }
    });
}

#[test]
fn a_file_with_any_byte_changed_gives_an_answer() {
    quietly(|| {
        let whole = small_file();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = [0, 0xff, whole[at] ^ 1, whole[at] ^ 0x80][at % 4];
            exercise(bytes);
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_file_with_several_damages_gives_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        quietly(|| {
            let mut bytes = small_file();
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            exercise(bytes);
        });
    }

    #[test]
    fn any_bytes_in_a_parquet_frame_give_an_answer(footer in prop::collection::vec(any::<u8>(), 0..200)) {
        quietly(|| {
            let mut bytes = b"PAR1".to_vec();
            bytes.extend_from_slice(&footer);
            bytes.extend_from_slice(&(footer.len() as u32).to_le_bytes());
            bytes.extend_from_slice(b"PAR1");
            exercise(bytes);
        });
    }
}

/// The cells that tests/rows_write.py wrote in row `i`.
fn python_row(i: i64) -> Vec<Cell<'static>> {
    let small = i % 5;
    let unless = |missing: bool, cell: Cell<'static>| if missing { Cell::Null } else { cell };
    let log_prob = |at: i64| if at == 1 { f32::NAN } else { -(at as f32) / 8.0 };
    let version = |at: i64| if at == 1 { None } else { Some(Cow::Owned(at.to_string())) };
    vec![
        Cell::Int(i * 7 % 40),
        Cell::Int(small),
        Cell::Ints((0..=small).map(|at| (i * 10 + at) as i32).collect()),
        unless(i % 6 == 5, Cell::Mask(vec![1; small as usize].into())),
        unless(i % 7 == 6, Cell::Floats((0..small).map(log_prob).collect())),
        unless(i % 4 == 3, Cell::from(format!("é{}", i % 3))),
        unless(i % 9 == 8, Cell::from(i % 2 == 0)),
        unless(i % 8 == 7, Cell::from(i as f32 / 4.0)),
        Cell::from(i as f64 / 10.0),
        unless(i % 5 == 4, Cell::Texts((0..i % 4).map(version).collect())),
    ]
}

/// NaN is a missing element here, so it equals itself.
fn same(left: &Cell<'_>, right: &Cell<'_>) -> bool {
    match (left, right) {
        (Cell::Floats(left), Cell::Floats(right)) => {
            left.len() == right.len()
                && left.iter().zip(right.iter()).all(|(l, r)| l == r || (l.is_nan() && r.is_nan()))
        }
        _ => left == right,
    }
}

#[test]
fn files_of_polars_and_pyarrow_read_the_same_in_every_layout() {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        eprintln!("skipped: MILES_TEST_PYTHON is not set");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rows_write.py");
    let status = std::process::Command::new(python).arg(script).arg(dir.path()).status().unwrap();
    assert!(status.success());
    let columns = [
        Column::new("sample_index", Kind::Int),
        Column::new("response_length", Kind::Int32),
        Column::new("tokens", Kind::Ints),
        Column::new("loss_mask", Kind::Mask),
        Column::new("rollout_log_probs", Kind::Floats),
        Column::new("status", Kind::Text),
        Column::new("done", Kind::Bool),
        Column::new("reward", Kind::Float32),
        Column::new("time", Kind::Float64),
        Column::new("versions", Kind::Texts),
    ];
    let mut read = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let file = Reader::open(&path).unwrap();
        let fields = fields(&file, &columns);
        let rows: Result<Vec<_>, _> = file.rows(&fields).collect();
        if ["gzip", "lz4", "brotli", "delta_text"].iter().any(|other| name.contains(other)) {
            let error = rows.unwrap_err();
            assert!(matches!(error.problem, Problem::Unsupported { .. }), "{error}");
            continue;
        }
        let rows = rows.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rows.len(), 40, "{name}");
        for (i, row) in rows.iter().enumerate() {
            let want = python_row(i as i64);
            assert!(row.iter().zip(&want).all(|(l, r)| same(l, r)), "{name} row {i}: {row:?} != {want:?}");
            let place = file.find(&fields[0], i as i64 * 7 % 40).unwrap().unwrap();
            for (field, want) in fields.iter().zip(&want) {
                let cell = file.cell(place, field).unwrap();
                assert!(same(&cell, want), "{name} {field:?} at {place:?}: {cell:?} != {want:?}");
            }
        }
        read += 1;
    }
    assert_eq!(read, 14);
}
