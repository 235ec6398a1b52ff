//! A line of any stream, of any bytes: never a panic, and what is read is strict JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use miles::record::{Stream, decode, entries};
use miles::telemetry::Lines;

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let stream = Stream::ALL[usize::from(*first) % Stream::ALL.len()];
    let mut scratch = String::new();
    let mut lines = Lines::new(bytes, 0);
    while let Ok(Some(line)) = lines.next_line() {
        let Some(line) = line.bytes else { continue };
        if let Ok(Some(decoded)) = decode(stream, line, &mut scratch) {
            assert!(entries(decoded.text).is_ok());
            let mut values = 0;
            decoded.record.values(|_| values += 1);
            assert_eq!(values, stream.fields().len());
        }
    }
});
