//! A torch archive around a pickle made by hand: stored records without checksums, which the reader
//! does not look at. Shared by tests and fuzz targets.

/// An archive whose `data.pkl` is `pickle`, with storages `0` to `3` of 0, 1, 16 and 64 bytes that count
/// up from 0.
pub fn around(pickle: &[u8], byteorder: &[u8]) -> Vec<u8> {
    let mut zip = Zip::default();
    zip.record("a/data.pkl", pickle);
    zip.record("a/byteorder", byteorder);
    for (i, size) in [0u8, 1, 16, 64].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..size).collect();
        zip.record(&format!("a/data/{i}"), &bytes);
    }
    zip.finish()
}

#[derive(Default)]
struct Zip {
    out: Vec<u8>,
    directory: Vec<u8>,
    records: u16,
}

impl Zip {
    fn record(&mut self, name: &str, bytes: &[u8]) {
        let at = (self.out.len() as u32).to_le_bytes();
        // Records begin at multiples of 16, so that tensors can be borrowed.
        let padding = (16 - (self.out.len() + 30 + name.len()) % 16) % 16;
        let (name_len, size) = ((name.len() as u16).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
        let padding_len = (padding as u16).to_le_bytes();
        let head =
            [b"PK\x03\x04", &[0; 22][..], &name_len, &padding_len, name.as_bytes(), &[0; 16][..padding]];
        self.out.extend(head.concat());
        self.out.extend_from_slice(bytes);
        let entry = [b"PK\x01\x02", &[0; 16][..], &size, &size, &name_len, &[0; 12], &at, name.as_bytes()];
        self.directory.extend(entry.concat());
        self.records += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let (at, len) = (self.out.len() as u32, self.directory.len() as u32);
        let count = self.records.to_le_bytes();
        self.out.append(&mut self.directory);
        let end =
            [b"PK\x05\x06", &[0; 4][..], &count, &count, &len.to_le_bytes(), &at.to_le_bytes(), &[0; 2]];
        self.out.extend(end.concat());
        self.out
    }
}
