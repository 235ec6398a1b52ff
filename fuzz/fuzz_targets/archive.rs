//! Any bytes as a whole file: opened, walked, its tensors read. Never a panic, bounded in time and memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use miles::pt::File;

mod walk;

fuzz_target!(|data: &[u8]| {
    match File::from_bytes("fuzz.pt", data.to_vec(), &walk::limits()) {
        Ok(file) => walk::all(&file),
        Err(e) => walk::said(&e),
    }
});
