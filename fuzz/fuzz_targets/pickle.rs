//! Any bytes as `data.pkl` of a well-formed archive with a few storages: the time goes into the pickle
//! machine and into what is understood of its records. The first byte chooses the byte order.

#![no_main]

use libfuzzer_sys::fuzz_target;
use miles::pt::File;

#[path = "../../tests/support/archive.rs"]
mod archive;
mod walk;

fuzz_target!(|data: &[u8]| {
    let Some((order, pickle)) = data.split_first() else { return };
    let order: &[u8] = if *order == b'b' { b"big" } else { b"little" };
    match File::from_bytes("fuzz.pt", archive::around(pickle, order), &walk::limits()) {
        Ok(file) => walk::all(&file),
        Err(e) => walk::said(&e),
    }
});
