//! Torch files made by hand, for what no honest writer writes: a pickle given as opcodes, in the archive
//! that `torch.save` makes.

use std::io::Write;

/// A torch file around a pickle and its storages `data/0`, `data/1`, ….
pub fn file(pickle: &[u8], storages: &[&[u8]]) -> Vec<u8> {
    let mut records =
        vec![("x/data.pkl".to_owned(), pickle), ("x/byteorder".to_owned(), b"little".as_slice())];
    records.extend(storages.iter().enumerate().map(|(key, bytes)| (format!("x/data/{key}"), *bytes)));
    records.push(("x/version".to_owned(), b"3\n"));
    zip(&records)
}

/// A zip archive of stored records.
fn zip(records: &[(String, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in records {
        let at = u32::try_from(out.len()).unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let (length, name_length) = (u32::try_from(bytes.len()).unwrap(), u16::try_from(name.len()).unwrap());
        // Version, flags, method, time, date; then what the local header and the directory share.
        let mut shared = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for field in [crc.sum(), length, length] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend(name_length.to_le_bytes());
        shared.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&shared);
        out.write_all(name.as_bytes()).unwrap();
        out.extend(*bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = u32::try_from(out.len()).unwrap();
    let count = u16::try_from(records.len()).unwrap();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(u32::try_from(directory.len()).unwrap().to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// Opcodes of one value, put together.
#[derive(Debug, Clone, Default)]
pub struct Pickle(pub Vec<u8>);

impl Pickle {
    pub fn raw(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    pub fn str(self, text: &str) -> Self {
        self.bytes_as_str(text.as_bytes())
    }

    /// A BINUNICODE of any bytes, valid UTF-8 or not.
    pub fn bytes_as_str(self, bytes: &[u8]) -> Self {
        self.raw(b"X").raw(u32::try_from(bytes.len()).unwrap().to_le_bytes()).raw(bytes)
    }

    pub fn int(self, value: i32) -> Self {
        self.raw(b"J").raw(value.to_le_bytes())
    }

    pub fn ints(self, values: &[i32]) -> Self {
        let list = values.iter().fold(self.raw(b"]("), |pickle, &value| pickle.int(value));
        list.raw(b"e")
    }

    pub fn floats(self, values: &[f64]) -> Self {
        let list = values.iter().fold(self.raw(b"]("), |p, v| p.raw(b"G").raw(v.to_be_bytes()));
        list.raw(b"e")
    }

    /// The whole pickle, at protocol 2.
    pub fn finish(self) -> Vec<u8> {
        [b"\x80\x02".as_slice(), &self.0, b"."].concat()
    }
}

/// A rollout file: `samples` are the opcodes of each sample's further entries, key and value by turns, behind
/// an index, a group, three tokens (two of response) and a reward.
pub fn rollout(rollout_id: i32, samples: &[Pickle]) -> Vec<u8> {
    let mut p = Pickle::default().raw(b"}(").str("rollout_id").int(rollout_id).str("metadata").raw(b"}");
    p = p.str("samples").raw(b"](");
    for (index, more) in samples.iter().enumerate() {
        let index = i32::try_from(index).unwrap();
        // Python's pickler appends a thousand at a time.
        if index > 0 && index % 1000 == 0 {
            p = p.raw(b"e(");
        }
        p = p.raw(b"}(").str("index").int(index).str("group_index").int(0).str("tokens").ints(&[1, 2, 3]);
        p = p.str("response_length").int(2).str("status").str("completed");
        p = p.str("reward").raw(b"G").raw(1f64.to_be_bytes()).raw(&more.0).raw(b"u");
    }
    file(&p.raw(b"eu").finish(), &[])
}
