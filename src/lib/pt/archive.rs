//! The zip archive around a torch file: mapped (or in memory), its central directory indexed, nothing
//! copied.
//!
//! Local headers written by torch carry zero sizes and checksums and padding extras, so sizes come
//! from the central directory and only the length of name and extra from the local header. Zip64
//! records are read wherever they are; checksums are not verified (torch does not either, and may
//! be told not to write them).

use std::borrow::Cow;
use std::fs;
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::Limits;
use super::error::{Error, ErrorKind, Fault, Foreign, grouped};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const END64_LOCATOR: u32 = 0x0706_4b50;
/// An end record is 22 bytes and its comment at most 65,535.
const END_SEARCH: usize = 22 + 65_535;

/// A torch archive, mapped or in memory.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    map: Source,
    /// Sorted by name.
    entries: Vec<Entry>,
    /// `archive/` or whatever the file was called when it was saved.
    prefix: String,
    /// Whether storages were written by a big-endian machine.
    big_endian: bool,
}

/// Where the archive's bytes are.
#[derive(Debug)]
enum Source {
    Mapped(Mmap),
    Memory(Vec<u8>),
}

impl Deref for Source {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

#[derive(Debug, Clone)]
struct Entry {
    name_at: usize,
    name_len: usize,
    header_at: u64,
    packed: u64,
    size: u64,
    method: u16,
}

/// One record of the archive: its bytes and where they begin.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// Offset in the file, `None` when the record was inflated.
    pub at: Option<u64>,
}

impl Archive {
    /// Maps the file and reads its central directory.
    ///
    /// # Errors
    /// [`Error`] when it cannot be opened or is not a complete torch archive; the kind says what it
    /// is instead.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::map(path).and_then(|map| Self::index(path, Source::Mapped(map))).map_err(|f| f.in_file(path))
    }

    /// Reads the central directory of an archive that is in memory. `name` stands for its path.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::index(name, Source::Memory(bytes)).map_err(|f| f.in_file(name))
    }

    fn map(path: &Path) -> Result<Mmap, Fault> {
        let io = |e| Fault::from(ErrorKind::Io(e));
        // Looked at before it is opened: opening a named pipe waits for a writer.
        let meta = fs::metadata(path).map_err(io)?;
        if meta.is_dir() {
            return Err(ErrorKind::Foreign(Foreign::Directory).into());
        }
        if !meta.is_file() {
            return Err(
                ErrorKind::Unsupported("source: not a regular file, so it cannot be mapped".into()).into()
            );
        }
        let file = fs::File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        if meta.len() == 0 {
            // An empty range cannot be mapped everywhere.
            return Err(ErrorKind::Foreign(Foreign::Empty).into());
        }
        // SAFETY: the map is read-only and private. Another process may still shrink or rewrite the
        // file: bytes are then only ever parsed again (every read is checked) and a lost page is
        // SIGBUS, which the tools turn into a clean exit.
        unsafe { Mmap::map(&file) }.map_err(io)
    }

    fn index(path: &Path, map: Source) -> Result<Self, Fault> {
        if map.is_empty() {
            return Err(ErrorKind::Foreign(Foreign::Empty).into());
        }
        let entries = match directory(&map) {
            Ok(entries) => entries,
            Err(fault) => return Err(Foreign::sniff(&map).map_or(fault, |f| ErrorKind::Foreign(f).into())),
        };
        let mut archive =
            Self { path: path.to_owned(), map, entries, prefix: String::new(), big_endian: false };
        archive.prefix = archive.find_prefix()?;
        if let Some(order) = archive.find("byteorder")? {
            archive.big_endian = archive.read(&order, 16)?.bytes.trim_ascii() == b"big";
        }
        Ok(archive)
    }

    /// The file this archive was opened from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file.
    pub fn len(&self) -> u64 {
        self.map.len() as u64
    }

    /// Whether the file has no bytes; an opened archive never has none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(super) fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    /// Lets the system take back the pages of `[start, end)` of the file. They are read again when
    /// they are touched again; without this a walk over a large file keeps all of it resident. Does
    /// nothing for an archive in memory.
    pub(super) fn release(&self, start: u64, end: u64) {
        let Source::Mapped(map) = &self.map else { return };
        const PAGE: u64 = 4096;
        let (start, end) = (start / PAGE * PAGE, end.min(self.len()) / PAGE * PAGE);
        if start < end {
            // A refusal costs memory, not correctness.
            // SAFETY: the range lies in this map, which is read-only and backed by the file.
            let _ = unsafe {
                map.unchecked_advise_range(
                    memmap2::UncheckedAdvice::DontNeed,
                    start as usize,
                    (end - start) as usize,
                )
            };
        }
    }

    /// Bytes of the mapped file; empty when the range lies outside.
    pub(super) fn slice(&self, at: u64, len: u64) -> &[u8] {
        slice(&self.map, at, len).unwrap_or_default()
    }

    /// The record `name` below the archive's prefix: `data.pkl`, `data/0`.
    pub(super) fn record(&self, name: &str, limits: &Limits) -> Result<Option<Record<'_>>, Fault> {
        self.find(name)?.map(|e| self.read(&e, limits.inflated_bytes)).transpose()
    }

    fn name(&self, e: &Entry) -> &[u8] {
        self.map.get(e.name_at..e.name_at + e.name_len).unwrap_or_default()
    }

    fn find_prefix(&self) -> Result<String, Fault> {
        let mut best: Option<&[u8]> = None;
        let mut script = false;
        let mut npz = !self.entries.is_empty();
        for e in &self.entries {
            let name = self.name(e);
            npz &= name.ends_with(b".npy");
            let cut = name.iter().position(|&c| c == b'/').map_or(0, |i| i + 1);
            let tail = name.get(cut..).unwrap_or_default();
            script |= tail == b"constants.pkl" || tail.starts_with(b"code/");
            if tail == b"data.pkl" {
                best = Some(name.get(..cut).unwrap_or_default());
            }
        }
        match best {
            Some(_) if script => Err(ErrorKind::Foreign(Foreign::TorchScript).into()),
            Some(prefix) => String::from_utf8(prefix.to_vec())
                .map_err(|_| Fault::corrupt(0, "the archive's folder name is not UTF-8")),
            None if npz => Err(ErrorKind::Foreign(Foreign::Npz).into()),
            None => Err(ErrorKind::Foreign(Foreign::OtherZip).into()),
        }
    }

    fn find(&self, name: &str) -> Result<Option<Entry>, Fault> {
        let wanted = |e: &Entry| {
            let full = self.name(e);
            let (prefix, n) = (self.prefix.as_bytes(), self.prefix.len().min(full.len()));
            full[..n].cmp(prefix).then_with(|| full[n..].cmp(name.as_bytes()))
        };
        let Ok(i) = self.entries.binary_search_by(wanted) else { return Ok(None) };
        let twin = |j: usize| self.entries.get(j).is_some_and(|e| wanted(e).is_eq());
        if twin(i + 1) || (i > 0 && twin(i - 1)) {
            return Err(Fault::corrupt(self.entries[i].header_at, format!("two records are called {name}")));
        }
        Ok(Some(self.entries[i].clone()))
    }

    fn read(&self, e: &Entry, most: u64) -> Result<Record<'_>, Fault> {
        let name = || String::from_utf8_lossy(self.name(e)).into_owned();
        let map = &self.map[..];
        let head = slice(map, e.header_at, 30)
            .ok_or_else(|| Fault::truncated(e.header_at, format!("no local header for {}", name())))?;
        if u32_at(head, 0) != LOCAL {
            return Err(Fault::corrupt(e.header_at, format!("no local header for {}", name())));
        }
        let start = e.header_at + 30 + u64::from(u16_at(head, 26)) + u64::from(u16_at(head, 28));
        let bytes = slice(map, start, e.packed).ok_or_else(|| {
            Fault::truncated(
                self.len(),
                format!("{} needs {} bytes from byte {}", name(), grouped(e.packed), grouped(start)),
            )
        })?;
        match e.method {
            0 if e.packed == e.size => Ok(Record { bytes: Cow::Borrowed(bytes), at: Some(start) }),
            0 => Err(Fault::corrupt(e.header_at, format!("{} is stored with two sizes", name()))),
            8 => {
                if e.size > most {
                    let what = format!("{} inflates to {} bytes", name(), grouped(e.size));
                    return Err(Fault::limit(e.header_at, what));
                }
                // The claimed size is not reserved: a lie would cost memory before it is found.
                let mut out = Vec::new();
                flate2::read::DeflateDecoder::new(bytes)
                    .take(e.size + 1)
                    .read_to_end(&mut out)
                    .map_err(|err| Fault::corrupt(start, format!("{} does not inflate: {err}", name())))?;
                if out.len() as u64 != e.size {
                    return Err(Fault::corrupt(
                        start,
                        format!("{} inflates to another size than it claims", name()),
                    ));
                }
                Ok(Record { bytes: Cow::Owned(out), at: None })
            }
            other => Err(Fault::at(
                e.header_at,
                ErrorKind::Unsupported(format!("zip compression method {other} of {}", name())),
            )),
        }
    }
}

fn slice(map: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(at).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    map.get(start..end)
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    b.get(at..at + 2).and_then(|s| s.try_into().ok()).map_or(0, u16::from_le_bytes)
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    b.get(at..at + 4).and_then(|s| s.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(b: &[u8], at: usize) -> u64 {
    b.get(at..at + 8).and_then(|s| s.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Where the central directory lies: (offset, bytes, entries).
fn end_record(map: &[u8]) -> Result<(u64, u64, u64), Fault> {
    let from = map.len().saturating_sub(END_SEARCH);
    let tail = &map[from..];
    let found = (0..tail.len().saturating_sub(21)).rev().find(|&i| {
        // A comment can hold the signature; its length must reach the end of the file.
        u32_at(tail, i) == END && i + 22 + usize::from(u16_at(tail, i + 20)) == tail.len()
    });
    let Some(at) = found else {
        return Err(Fault::truncated(map.len() as u64, "no end record, the archive is incomplete"));
    };
    let end = &tail[at..];
    let (mut count, mut bytes, mut offset) =
        (u64::from(u16_at(end, 10)), u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    let here = from + at;
    if let Some(locator) = here.checked_sub(20).map(|i| &map[i..here])
        && u32_at(locator, 0) == END64_LOCATOR
    {
        let end64 = slice(map, u64_at(locator, 8), 56)
            .filter(|r| u32_at(r, 0) == END64)
            .ok_or_else(|| Fault::corrupt(here as u64 - 20, "the zip64 locator points nowhere"))?;
        (count, bytes, offset) = (u64_at(end64, 32), u64_at(end64, 40), u64_at(end64, 48));
    }
    Ok((offset, bytes, count))
}

fn directory(map: &[u8]) -> Result<Vec<Entry>, Fault> {
    let (offset, bytes, count) = end_record(map)?;
    let dir = slice(map, offset, bytes)
        .ok_or_else(|| Fault::corrupt(offset, "the central directory lies outside the file"))?;
    let bad = |at: usize| Fault::corrupt(offset + at as u64, "a central directory entry is damaged");
    // 46 bytes is the smallest entry, so a claimed count cannot reserve more than the file holds.
    if count > bytes / 46 {
        return Err(bad(0));
    }
    let mut entries = Vec::with_capacity(count as usize);
    let mut at = 0usize;
    for _ in 0..count {
        let head = dir.get(at..at + 46).filter(|h| u32_at(h, 0) == CENTRAL).ok_or_else(|| bad(at))?;
        let name_len = usize::from(u16_at(head, 28));
        let extra_len = usize::from(u16_at(head, 30));
        let next = at + 46 + name_len + extra_len + usize::from(u16_at(head, 32));
        let extra = dir.get(at + 46 + name_len..at + 46 + name_len + extra_len).ok_or_else(|| bad(at))?;
        if u16_at(head, 8) & 1 != 0 {
            return Err(Fault::at(offset + at as u64, ErrorKind::Unsupported("encrypted zip entry".into())));
        }
        let mut e = Entry {
            name_at: offset as usize + at + 46,
            name_len,
            header_at: u64::from(u32_at(head, 42)),
            packed: u64::from(u32_at(head, 20)),
            size: u64::from(u32_at(head, 24)),
            method: u16_at(head, 10),
        };
        zip64(&mut e, extra).ok_or_else(|| bad(at))?;
        entries.push(e);
        at = next;
    }
    let name = |e: &Entry| map.get(e.name_at..e.name_at + e.name_len).unwrap_or_default();
    entries.sort_by(|a, b| name(a).cmp(name(b)));
    Ok(entries)
}

/// Replaces the saturated 32-bit fields of an entry by those of its zip64 extra.
fn zip64(e: &mut Entry, mut extra: &[u8]) -> Option<()> {
    const FULL: u64 = u32::MAX as u64;
    let mut wide: &[u8] = &[];
    while extra.len() >= 4 {
        let (id, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let body = extra.get(4..4 + len)?;
        if id == 1 {
            wide = body;
        }
        extra = &extra[4 + len..];
    }
    for field in [&mut e.size, &mut e.packed, &mut e.header_at] {
        if *field == FULL {
            if wide.len() < 8 {
                return None;
            }
            *field = u64_at(wide, 0);
            wide = &wide[8..];
        }
    }
    Some(())
}
