//! Rows through every format: what comes out reads back as what went in.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use miles::output::{Cell, Column, Format, Kind, Options, Output, OutputError, RowSink};

const COLUMNS: [Column; 10] = [
    Column::new("flag", Kind::Bool),
    Column::new("index", Kind::Int),
    Column::new("reward", Kind::Float32),
    Column::new("ts", Kind::Float64),
    Column::new("status", Kind::Text),
    Column::new("extra", Kind::Json),
    Column::new("tokens", Kind::Ints),
    Column::new("mask", Kind::Mask),
    Column::new("log_probs", Kind::Floats),
    Column::new("versions", Kind::Texts),
];

fn full_row() -> Vec<Cell<'static>> {
    vec![
        Cell::from(true),
        Cell::from(9_007_199_254_740_993_i64),
        Cell::from(0.1_f32),
        Cell::from(1_760_000_000.25_f64),
        Cell::from("say \"hi\",\n\u{1b}[31m"),
        Cell::Json(Cow::Borrowed(r#"{"a": [1, null]}"#)),
        Cell::Ints(Cow::Borrowed(&[1, -2, 150_000])),
        Cell::Mask(Cow::Borrowed(&[0, 1, -1])),
        Cell::Floats(Cow::Borrowed(&[-0.5, f32::NAN, 1e-7])),
        Cell::Texts(vec![Some("57".into()), None]),
    ]
}

fn empty_row() -> Vec<Cell<'static>> {
    let mut row = vec![Cell::Null; 6];
    row[2] = Cell::from(f32::INFINITY);
    row.extend([
        Cell::Ints(Cow::Borrowed(&[])),
        Cell::Null,
        Cell::Floats(Cow::Borrowed(&[])),
        Cell::Texts(vec![]),
    ]);
    row
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pushes rows into a buffer and answers it.
fn written(options: &Options, columns: &[Column], rows: &[Vec<Cell<'_>>]) -> Vec<u8> {
    let sink = Shared::default();
    let mut output = options.open_over(columns, Box::new(sink.clone())).unwrap();
    for row in rows {
        if output.row(row).unwrap().is_break() {
            break;
        }
    }
    output.finish().unwrap();
    let bytes = sink.0.lock().unwrap();
    bytes.clone()
}

fn text(format: Format, rows: &[Vec<Cell<'_>>]) -> String {
    let options = Options { format: Some(format), ..Options::default() };
    String::from_utf8(written(&options, &COLUMNS, rows)).unwrap()
}

const FULL_JSON: &str = concat!(
    r#"{"flag":true,"index":9007199254740993,"reward":0.1,"ts":1760000000.25,"#,
    r#""status":"say \"hi\",\n\u001b[31m","extra":{"a": [1, null]},"tokens":[1,-2,150000],"mask":[0,1,-1],"#,
    r#""log_probs":[-0.5,null,1e-7],"versions":["57",null]}"#
);
const EMPTY_JSON: &str = concat!(
    r#"{"flag":null,"index":null,"reward":null,"ts":null,"status":null,"extra":null,"#,
    r#""tokens":[],"mask":null,"log_probs":[],"versions":[]}"#
);

#[test]
fn ndjson_is_strict_json_one_object_a_line() {
    assert_eq!(text(Format::Ndjson, &[full_row(), empty_row()]), format!("{FULL_JSON}\n{EMPTY_JSON}\n"));
    assert_eq!(text(Format::Ndjson, &[]), "");
}

#[test]
fn json_is_one_array_even_without_rows() {
    assert_eq!(text(Format::Json, &[full_row(), empty_row()]), format!("[\n{FULL_JSON},\n{EMPTY_JSON}\n]\n"));
    assert_eq!(text(Format::Json, &[]), "[]\n");
}

#[test]
fn csv_holds_lists_as_json_and_missing_values_as_nothing() {
    let csv = text(Format::Csv, &[full_row(), empty_row()]);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    assert_eq!(header.iter().collect::<Vec<_>>(), COLUMNS.each_ref().map(|column| &*column.name));
    let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let full = [
        "true",
        "9007199254740993",
        "0.1",
        "1760000000.25",
        "say \"hi\",\n\u{1b}[31m",
        r#"{"a": [1, null]}"#,
        "[1,-2,150000]",
        "[0,1,-1]",
        "[-0.5,null,1e-7]",
        r#"["57",null]"#,
    ];
    assert_eq!(records[0].iter().collect::<Vec<_>>(), full);
    assert_eq!(records[1].iter().collect::<Vec<_>>(), ["", "", "", "", "", "", "[]", "", "[]", "[]"]);
}

#[test]
fn a_table_lines_up_and_lets_no_control_character_through() {
    let table = text(Format::Table, &[full_row(), empty_row()]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(!table.contains('\u{1b}'), "{table}");
    assert!(lines[1].contains("\\n\\u{1b}[31m"), "{table}");
    let column = |name: &str| lines[0].find(name).unwrap();
    assert_eq!(lines[1].find("[1, -2, 150000]"), Some(column("tokens")), "{table}");
    assert!(lines[2].contains("null"), "{table}");
}

#[test]
fn a_long_table_prints_every_row_and_keeps_its_columns() {
    let columns = [Column::new("n", Kind::Int), Column::new("name", Kind::Text)];
    let rows: Vec<Vec<Cell>> = (0..100).map(|n| vec![Cell::from(n), Cell::from("x")]).collect();
    let options = Options { format: Some(Format::Table), ..Options::default() };
    let table = String::from_utf8(written(&options, &columns, &rows)).unwrap();
    assert_eq!(table.lines().count(), 101);
    assert!(table.lines().skip(1).all(|line| line.find('x') == Some(4)), "{table}");
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let options = Options { columns: Some(vec!["tokens".into(), "flag".into()]), ..Options::default() };
    let bytes = written(&options, &COLUMNS, &[full_row()]);
    assert_eq!(String::from_utf8(bytes).unwrap(), "{\"tokens\":[1,-2,150000],\"flag\":true}\n");
    assert!(options.wants("flag") && !options.wants("index"));
}

#[test]
fn an_unknown_or_repeated_column_is_a_usage_error() {
    for (names, hint) in
        [("rewrad", "the columns are flag, index, reward"), ("ts,ts", "name each column once")]
    {
        let columns = Some(names.split(',').map(str::to_owned).collect());
        let options = Options { columns, ..Options::default() };
        let Err(error) = options.open(&COLUMNS) else { panic!("{names} was taken") };
        assert!(error.is_usage());
        assert!(error.hint().unwrap().starts_with(hint), "{error}");
    }
}

#[test]
fn a_limit_ends_the_rows_and_is_reported() {
    for limit in [0, 2] {
        let options = Options { limit: Some(limit), ..Options::default() };
        let sink = Shared::default();
        let mut output = options.open_over(&COLUMNS, Box::new(sink.clone())).unwrap();
        assert_eq!(output.is_done(), limit == 0);
        let mut pushed = 0;
        while output.row(&full_row()).unwrap() == ControlFlow::Continue(()) {
            pushed += 1;
        }
        assert_eq!(pushed, limit.saturating_sub(1));
        assert!(output.row(&full_row()).unwrap().is_break());
        let report = output.finish().unwrap();
        assert_eq!((report.rows, report.limited, report.closed), (limit, true, false));
        assert_eq!(sink.0.lock().unwrap().iter().filter(|&&byte| byte == b'\n').count() as u64, limit);
    }
}

struct Fails(io::ErrorKind);

impl Write for Fails {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn push(output: &mut Output, row: &[Cell<'_>]) {
    assert!(output.row(row).unwrap().is_continue());
}

fn push_until_break(output: &mut Output) -> Result<u32, OutputError> {
    for pushed in 0..100_000 {
        if output.row(&full_row())?.is_break() {
            return Ok(pushed);
        }
    }
    panic!("nobody stopped the rows");
}

#[test]
fn a_closed_pipe_is_success_in_every_format() {
    for format in Format::ALL {
        let options = Options { format: Some(format), ..Options::default() };
        let sink = Box::new(Fails(io::ErrorKind::BrokenPipe));
        let mut output = options.open_over(&COLUMNS, sink).unwrap();
        // Parquet and tables write late; the end notices at the latest.
        if !matches!(format, Format::Parquet) {
            assert!(push_until_break(&mut output).unwrap() > 0);
        } else {
            assert!(output.row(&full_row()).is_ok());
        }
        let report = output.finish().unwrap_or_else(|error| panic!("{}: {error}", format.name()));
        assert!(report.closed, "{}", format.name());
    }
}

#[test]
fn a_full_disk_is_an_error_with_a_hint_in_every_format() {
    for format in Format::ALL {
        let options = Options { format: Some(format), ..Options::default() };
        let sink = Box::new(Fails(io::ErrorKind::StorageFull));
        let mut output = options.open_over(&COLUMNS, sink).unwrap();
        push(&mut output, &full_row());
        let error = output.finish().unwrap_err();
        assert!(!error.is_usage());
        assert!(error.hint().unwrap_or_default().contains("free some space"), "{}: {error:?}", format.name());
    }
}

#[test]
fn a_row_that_does_not_match_its_columns_is_refused() {
    let mut output = Options::default().open_over(&COLUMNS, Box::new(io::sink())).unwrap();
    assert!(matches!(output.row(&[Cell::Null]), Err(OutputError::RowShape { .. })));
    let mut row = full_row();
    row[2] = Cell::from(1.0_f64);
    assert!(matches!(output.row(&row), Err(OutputError::CellKind { .. })));
}

fn file_options(path: &Path) -> Options {
    Options { path: Some(path.to_owned()), ..Options::default() }
}

fn names_in(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_file_appears_only_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.JSONL");
    let mut output = file_options(&path).open(&COLUMNS).unwrap();
    push(&mut output, &full_row());
    assert!(!path.exists());
    assert_eq!(names_in(dir.path()).len(), 1, "the temporary file lies in the same folder");
    output.finish().unwrap();
    assert_eq!(names_in(dir.path()), ["rows.JSONL"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{FULL_JSON}\n"));
}

#[test]
fn a_failed_output_leaves_the_old_file_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    std::fs::write(&path, "old").unwrap();
    let mut output = file_options(&path).open(&COLUMNS).unwrap();
    push(&mut output, &full_row());
    drop(output);
    assert_eq!(names_in(dir.path()), ["rows.parquet"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

#[cfg(unix)]
#[test]
fn a_device_is_written_in_place_and_a_link_stays_a_link() {
    use std::os::unix::fs::FileTypeExt;
    let options = Options { format: Some(Format::Csv), ..file_options(Path::new("/dev/null")) };
    options.open(&COLUMNS).unwrap().finish().unwrap();
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());

    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.csv"), dir.path().join("link.csv"));
    std::fs::write(&real, "old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    file_options(&link).open(&COLUMNS).unwrap().finish().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("flag,"));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = |path: &Path| file_options(path).open(&COLUMNS).err().unwrap();
    let missing = error(&dir.path().join("no/rows.csv"));
    assert!(missing.to_string().contains("no/rows.csv: "), "{missing}");
    assert_eq!(missing.hint().as_deref(), Some("create the folder first"));
    assert!(error(&dir.path().join("rows.xlsx")).is_usage());
    let folder = dir.path().join("folder.csv");
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(error(&folder), OutputError::IsDirectory { .. }));
}

/// Writes rows with many groups: long lists, so that the bound on bytes cuts.
fn write_parquet(path: &Path, rows: usize) {
    let mut output = file_options(path).open(&COLUMNS).unwrap();
    let tokens: Vec<i32> = (0..100_000).collect();
    let log_probs: Vec<f32> =
        tokens.iter().map(|&token| if token % 7 == 0 { f32::NAN } else { -token as f32 / 8.0 }).collect();
    push(&mut output, &full_row());
    push(&mut output, &empty_row());
    for at in 0..rows {
        let mut row = full_row();
        row[1] = Cell::from(at as i64);
        row[6] = Cell::from(&tokens[..]);
        row[8] = Cell::from(&log_probs[..]);
        push(&mut output, &row);
    }
    assert_eq!(output.finish().unwrap().rows as usize, rows + 2);
}

#[test]
fn parquet_row_groups_are_bounded_by_bytes_and_carry_statistics() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::statistics::Statistics;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    write_parquet(&path, 30);
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let meta = reader.metadata();
    assert!(meta.file_metadata().created_by().unwrap().starts_with("miles-tools version "));
    assert_eq!(meta.file_metadata().num_rows(), 32);
    assert!(meta.num_row_groups() > 1);
    let last = meta.row_group(meta.num_row_groups() - 1);
    let Some(Statistics::Int64(index)) = last.column(1).statistics() else { panic!("no statistics") };
    assert_eq!(index.max_opt(), Some(&29));
    let rows: Vec<parquet::record::Row> =
        reader.get_row_iter(None).unwrap().take(2).collect::<Result<_, _>>().unwrap();
    let json = |row: &parquet::record::Row| row.to_string();
    assert!(json(&rows[0]).contains("log_probs: [-5E-1, null, 0.0000001]"), "{}", json(&rows[0]));
    assert!(
        json(&rows[1]).contains("tokens: []") && json(&rows[1]).contains("mask: null"),
        "{}",
        json(&rows[1])
    );
}

/// Real readers: `MILES_TEST_PYTHON` names a Python with polars and pyarrow.
#[test]
fn polars_and_pyarrow_read_the_same_values() {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        eprintln!("skipped: MILES_TEST_PYTHON names no Python with polars and pyarrow");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    write_parquet(&path, 20);
    let empty = dir.path().join("empty.parquet");
    file_options(&empty).open(&COLUMNS).unwrap().finish().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/output_parquet.py");
    let ran = Command::new(python).arg(script).args([&path, &empty]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
