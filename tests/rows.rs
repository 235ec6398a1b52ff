//! Rows on disk as Parquet: what was written reads back, whoever wrote it, and damage is an error.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;

use miles::output::{Format, Options, RowSink};
use miles::row::parquet::{WriteError, Writer, WriterOptions};
use miles::row::{Cell, Column, Kind};
use parquet::file::reader::{FileReader, SerializedFileReader};

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
