//! From one record to one line: strict JSON, the keys of the format in its order.

use super::types::Record;

/// Appends the line as it lies on disk, newline included. Fields that are missing are null, and a float that
/// is no number is null too: whether a stream may hold that is the writer's question.
pub fn encode(record: &Record<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    // Writing to memory cannot fail, and no key of a record is anything but text.
    if record.write_json(out).is_err() {
        out.truncate(start);
        return;
    }
    out.push(b'\n');
}

/// Appends the line as it goes through a pipe between tools: as on disk, behind the key `stream`.
pub fn encode_piped(record: &Record<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"stream\":\"");
    out.extend_from_slice(record.stream().name().as_bytes());
    out.extend_from_slice(b"\",");
    let brace = out.len();
    encode(record, out);
    out.remove(brace);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{GpuUtil, Stream, decode};

    const LINE: &str =
        r#"{"ts":1769907597.0937245,"node":"a\"b","gpu":0,"util":20,"mem_mb":30000,"power_w":300}"#;

    fn record() -> Record<'static> {
        Record::GpuUtil(GpuUtil {
            ts: Some(1_769_907_597.093_724_5),
            node: Some("a\"b".into()),
            gpu: Some(0),
            util: Some(20),
            mem_mb: Some(30_000),
            power_w: Some(300),
            extra: Vec::new(),
        })
    }

    #[test]
    fn a_record_has_the_keys_of_the_format_in_its_order() {
        let mut out = Vec::new();
        encode(&record(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{LINE}\n"));
        let mut out = b"before".to_vec();
        encode_piped(&record(), &mut out);
        let piped = format!("before{{\"stream\":\"gpu_util\",{}\n", &LINE[1..]);
        assert_eq!(String::from_utf8(out).unwrap(), piped);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut scratch = String::new();
        let decoded = decode(Stream::GpuUtil, LINE.as_bytes(), &mut scratch).unwrap().unwrap();
        let mut out = Vec::new();
        encode(&decoded.record, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{LINE}\n"));
    }
}
