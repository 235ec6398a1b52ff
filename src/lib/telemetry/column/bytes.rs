//! Columns to bytes and back: little-endian, a count before everything that can vary in number.

/// Bytes that are read from the front.
#[derive(Debug)]
pub(in crate::telemetry) struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    pub(super) fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u64::from_le_bytes(*count)).ok()
    }

    pub(super) fn int(&mut self) -> Option<i64> {
        let (int, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_le_bytes(*int))
    }

    pub(super) fn text(&mut self) -> Option<&'b str> {
        let count = self.count()?;
        str::from_utf8(self.take(count)?).ok()
    }

    pub(super) fn floats(&mut self) -> Option<Vec<f64>> {
        let count = self.count()?;
        let (chunks, _) = self.take(count.checked_mul(8)?)?.as_chunks();
        Some(chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
    }

    pub(super) fn ints(&mut self) -> Option<Vec<i32>> {
        let count = self.count()?;
        let (chunks, _) = self.take(count.checked_mul(4)?)?.as_chunks();
        Some(chunks.iter().map(|chunk| i32::from_le_bytes(*chunk)).collect())
    }

    pub(super) fn longs(&mut self) -> Option<Vec<i64>> {
        let count = self.count()?;
        let (chunks, _) = self.take(count.checked_mul(8)?)?.as_chunks();
        Some(chunks.iter().map(|chunk| i64::from_le_bytes(*chunk)).collect())
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }
}

pub(super) fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u64).to_le_bytes());
}

pub(super) fn put_int(int: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&int.to_le_bytes());
}

pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    put_count(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn put_floats(values: &[f64], out: &mut Vec<u8>) {
    put_count(values.len(), out);
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

pub(super) fn put_ints(values: &[i32], out: &mut Vec<u8>) {
    put_count(values.len(), out);
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

pub(super) fn put_longs(values: &[i64], out: &mut Vec<u8>) {
    put_count(values.len(), out);
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
