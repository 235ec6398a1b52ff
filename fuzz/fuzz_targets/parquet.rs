//! Any bytes as a Parquet file: whatever is asked, the answer is a value or an error.

#![no_main]

use std::path::Path;
use std::sync::Once;

use libfuzzer_sys::fuzz_target;
use miles::row::parquet::{Field, Place, Reader};
use miles::row::{Column, Kind};

/// Names as in the mirror of per-token columns and in tests/rows.rs.
const COLUMNS: [Column; 13] = [
    Column::new("sample_index", Kind::Int),
    Column::new("response_length", Kind::Int32),
    Column::new("length", Kind::Int32),
    Column::new("tokens", Kind::Ints),
    Column::new("loss_mask", Kind::Mask),
    Column::new("rollout_log_probs", Kind::Floats),
    Column::new("done", Kind::Bool),
    Column::new("reward", Kind::Float32),
    Column::new("time", Kind::Float64),
    Column::new("status", Kind::Text),
    Column::new("extra", Kind::Json),
    Column::new("versions", Kind::Texts),
    Column::new("log_probs", Kind::Floats),
];

/// libFuzzer's hook ends the process on any panic, also one that the reader catches on purpose. A panic
/// that gets out of the reader still ends it.
static CAUGHT_PANICS_ARE_FINE: Once = Once::new();

fuzz_target!(|bytes: &[u8]| {
    CAUGHT_PANICS_ARE_FINE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let Ok(file) = Reader::from_bytes(Path::new("fuzz.parquet"), bytes.to_vec()) else {
        return;
    };
    let fields: Vec<Field> = COLUMNS.iter().filter_map(|column| file.field(column).ok()?).collect();
    for field in &fields {
        let _ = file.find(field, 3);
        let _ = file.cell(Place { group: 0, row: 1 }, field);
    }
    let _ = file.rows(&fields).take(10_000).count();
});
