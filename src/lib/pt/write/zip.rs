//! A zip archive written front to back, laid out as torch lays it out: records stored and aligned,
//! sizes behind the data, zip64 end records always. Source: APPNOTE.TXT 6.3.

use std::io::{self, Write};

use flate2::Crc;

/// Storages begin at a multiple of this, as in torch, so that a mapped one can be used in place.
const ALIGNMENT: u64 = 64;
/// Sizes and offsets from here on need zip64 fields.
const WIDE: u64 = u32::MAX as u64;

/// Stored entries, sizes behind the data (flag 0x8) and in the central directory.
pub(super) struct Zip<W> {
    out: W,
    at: u64,
    records: Vec<Stored>,
}

struct Stored {
    name: String,
    header_at: u64,
    crc: u32,
    size: u64,
}

/// UTF-8 names, sizes after the data.
const FLAGS: u16 = 0x0808;

impl<W: Write> Zip<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, at: 0, records: Vec::new() }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    pub(super) fn record(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let header_at = self.at;
        let data_at = header_at + 30 + name.len() as u64;
        // An extra field of the id "FB" pads to the alignment, as torch does it; 4 bytes are its own head.
        let padding = (ALIGNMENT - (data_at + 4) % ALIGNMENT) % ALIGNMENT;
        let mut head = Vec::with_capacity(128);
        head.extend_from_slice(&0x0403_4b50u32.to_le_bytes());
        // Version needed 4.5 (zip64), method 0, no time.
        for field in [45u16, FLAGS, 0, 0, 0] {
            head.extend_from_slice(&field.to_le_bytes());
        }
        head.extend_from_slice(&[0; 12]);
        head.extend_from_slice(&(name.len() as u16).to_le_bytes());
        head.extend_from_slice(&(padding as u16 + 4).to_le_bytes());
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b"FB");
        head.extend_from_slice(&(padding as u16).to_le_bytes());
        head.resize(head.len() + padding as usize, b'Z');
        self.put(&head)?;

        let mut counted = Counted { out: &mut self.out, crc: Crc::new(), size: 0 };
        fill(&mut counted)?;
        let (crc, size) = (counted.crc.sum(), counted.size);
        self.at += size;
        let mut tail = 0x0807_4b50u32.to_le_bytes().to_vec();
        tail.extend_from_slice(&crc.to_le_bytes());
        for _ in 0..2 {
            if size >= WIDE {
                tail.extend_from_slice(&size.to_le_bytes());
            } else {
                tail.extend_from_slice(&(size as u32).to_le_bytes());
            }
        }
        self.put(&tail)?;
        self.records.push(Stored { name: name.to_owned(), header_at, crc, size });
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        let start = self.at;
        let records = std::mem::take(&mut self.records);
        for r in &records {
            let mut extra = Vec::new();
            for field in [r.size, r.size, r.header_at] {
                if field >= WIDE {
                    extra.extend_from_slice(&field.to_le_bytes());
                }
            }
            let narrow = |v: u64| (v.min(WIDE) as u32).to_le_bytes();
            let mut e = 0x0201_4b50u32.to_le_bytes().to_vec();
            for field in [45u16, 45, FLAGS, 0, 0, 0] {
                e.extend_from_slice(&field.to_le_bytes());
            }
            e.extend_from_slice(&r.crc.to_le_bytes());
            e.extend_from_slice(&narrow(r.size));
            e.extend_from_slice(&narrow(r.size));
            e.extend_from_slice(&(r.name.len() as u16).to_le_bytes());
            let extra_len = if extra.is_empty() { 0 } else { extra.len() + 4 };
            e.extend_from_slice(&(extra_len as u16).to_le_bytes());
            e.extend_from_slice(&[0; 10]);
            e.extend_from_slice(&narrow(r.header_at));
            e.extend_from_slice(r.name.as_bytes());
            if !extra.is_empty() {
                e.extend_from_slice(&1u16.to_le_bytes());
                e.extend_from_slice(&(extra.len() as u16).to_le_bytes());
                e.extend_from_slice(&extra);
            }
            self.put(&e)?;
        }
        let (end, bytes, count) = (self.at, self.at - start, records.len() as u64);
        // The zip64 records are written always, as torch does.
        let mut e = 0x0606_4b50u32.to_le_bytes().to_vec();
        e.extend_from_slice(&44u64.to_le_bytes());
        e.extend_from_slice(&45u16.to_le_bytes());
        e.extend_from_slice(&45u16.to_le_bytes());
        e.extend_from_slice(&[0; 8]);
        for field in [count, count, bytes, start] {
            e.extend_from_slice(&field.to_le_bytes());
        }
        e.extend_from_slice(&0x0706_4b50u32.to_le_bytes());
        e.extend_from_slice(&0u32.to_le_bytes());
        e.extend_from_slice(&end.to_le_bytes());
        e.extend_from_slice(&1u32.to_le_bytes());
        e.extend_from_slice(&0x0605_4b50u32.to_le_bytes());
        e.extend_from_slice(&[0; 4]);
        for _ in 0..2 {
            e.extend_from_slice(&(count.min(0xffff) as u16).to_le_bytes());
        }
        e.extend_from_slice(&(bytes.min(WIDE) as u32).to_le_bytes());
        e.extend_from_slice(&(start.min(WIDE) as u32).to_le_bytes());
        e.extend_from_slice(&0u16.to_le_bytes());
        self.put(&e)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

struct Counted<'w, W> {
    out: &'w mut W,
    crc: Crc,
    size: u64,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.size += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
