//! The bytes of a file, and what keeps a hostile one from taking all memory.
//!
//! The decoder believes sizes and counts in page headers and allocates for them: a header of 20 bytes
//! can claim a page of 2 GiB, a dictionary of 2³² entries or a list of as many nulls. So here the
//! page's size is checked before its header is believed, counts before a page is decoded, and all that
//! one question decodes is charged to a [`Budget`] that depends on the size of the file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};

use super::error::Problem;

/// Decoded bytes that any file may need: constant columns take almost no bytes in a file.
const FREE_BYTES: u64 = 128 * 1024 * 1024;
/// Decoded bytes for each byte of the file on top.
const BYTES_PER_BYTE: u64 = 64;
/// Bytes of a page header that are fetched at a time; most are smaller.
const HEADER_BYTES: usize = 256;

/// A file on disk, read where needed and never mapped: a map of a file that is cut short while it is
/// read ends the process.
#[derive(Clone)]
enum Data {
    File(Arc<File>),
    Memory(Bytes),
}

/// The bytes of a Parquet file.
#[derive(Clone)]
pub(super) struct Source {
    data: Data,
    len: u64,
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(Self { len: metadata.len(), data: Data::File(Arc::new(file)) })
    }

    pub(super) fn memory(bytes: Vec<u8>) -> Self {
        Self { len: bytes.len() as u64, data: Data::Memory(bytes.into()) }
    }

    /// Bytes `[start, start + len)`, which the file must have.
    pub(super) fn bytes(&self, start: u64, len: usize) -> Result<Bytes, Problem> {
        let end = start.checked_add(len as u64).filter(|&end| end <= self.len);
        let (Some(end), Ok(from)) = (end, usize::try_from(start)) else {
            return Err(Problem::damaged(format!("{len} bytes at byte {start} are past the end")));
        };
        match &self.data {
            Data::File(file) => {
                let mut bytes = vec![0; len];
                file.read_exact_at(&mut bytes, start)?;
                Ok(bytes.into())
            }
            Data::Memory(bytes) => Ok(bytes.slice(from..end as usize)),
        }
    }

    /// What one question about this file may decode.
    pub(super) fn budget(&self) -> Budget {
        Budget { left: Arc::new(AtomicU64::new(self.limit())), file_bytes: self.len }
    }

    fn limit(&self) -> u64 {
        FREE_BYTES.saturating_add(self.len.saturating_mul(BYTES_PER_BYTE))
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Source {
    type T = Headers;

    fn get_read(&self, start: u64) -> Result<Headers, ParquetError> {
        Ok(Headers { source: self.clone(), at: start, held: Bytes::new(), first: true })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        Ok(self.bytes(start, length)?)
    }
}

/// Reads page headers, the only thing that the decoder streams.
pub(super) struct Headers {
    source: Source,
    at: u64,
    held: Bytes,
    first: bool,
}

impl Read for Headers {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.held.is_empty() {
            let left = self.source.len.saturating_sub(self.at);
            let len = usize::try_from(left).unwrap_or(HEADER_BYTES).min(HEADER_BYTES);
            self.held = self.source.bytes(self.at, len).map_err(io::Error::other)?;
            self.at += len as u64;
            if std::mem::take(&mut self.first) {
                check_header(&self.held, &self.source).map_err(io::Error::other)?;
            }
        }
        let len = out.len().min(self.held.len());
        out[..len].copy_from_slice(&self.held.split_to(len));
        Ok(len)
    }
}

/// A page header (Thrift's compact protocol) begins with three required numbers: type, uncompressed
/// size, compressed size. Every writer puts them in that order, so no other order is accepted.
fn check_header(bytes: &[u8], source: &Source) -> Result<(), Problem> {
    let mut bytes = bytes.iter();
    let mut number = || -> Option<u64> {
        // One more than the last field's number, and a 32-bit integer.
        bytes.next().filter(|&&field| field == 0x15)?;
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                // Zigzag: the sign is the lowest bit.
                return Some(value).filter(|value| value & 1 == 0).map(|value| value >> 1);
            }
        }
        None
    };
    let (Some(_), Some(size), Some(_)) = (number(), number(), number()) else {
        return Err(Problem::damaged("a page header does not begin as one"));
    };
    if size > source.limit() {
        return Err(Problem::TooLarge { file_bytes: source.len });
    }
    Ok(())
}

/// Decoded bytes left to one question.
#[derive(Clone)]
pub(super) struct Budget {
    left: Arc<AtomicU64>,
    file_bytes: u64,
}

impl Budget {
    fn charge(&self, bytes: u64) -> Result<(), Problem> {
        let charged =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        charged.map(|_| ()).map_err(|_| Problem::TooLarge { file_bytes: self.file_bytes })
    }
}

/// A column chunk's pages, checked before they are decoded.
pub(super) struct Pages {
    inner: SerializedPageReader<Source>,
    budget: Budget,
    /// What a value takes when decoded, its levels included.
    value_bytes: u64,
    is_list: bool,
}

impl Pages {
    pub(super) fn new(
        source: &Arc<Source>,
        chunk: &ColumnChunkMetaData,
        rows: usize,
        budget: Budget,
    ) -> Result<Self, Problem> {
        let value_bytes = 4 + match chunk.column_type() {
            Physical::BOOLEAN => 1,
            Physical::INT32 | Physical::FLOAT => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            _ => size_of::<parquet::data_type::ByteArray>() as u64,
        };
        let inner = SerializedPageReader::new(Arc::clone(source), chunk, rows, None)?;
        let is_list = chunk.column_descr().max_rep_level() > 0;
        Ok(Self { inner, budget, value_bytes, is_list })
    }

    /// Steps over data pages without values, as pyarrow can write them: the decoder takes one for the
    /// end of the column (parquet 60).
    fn drop_empty(&mut self) -> Result<(), ParquetError> {
        while let Some(page) = self.inner.peek_next_page()? {
            if page.is_dict || page.num_levels != Some(0) {
                break;
            }
            self.inner.skip_next_page()?;
        }
        Ok(())
    }

    fn check(&self, page: &Page) -> Result<(), Problem> {
        let bytes = page.buffer().len() as u64;
        match page {
            // The smallest value of a dictionary takes 4 bytes.
            Page::DictionaryPage { num_values, .. } if u64::from(*num_values) * 4 > bytes => {
                return Err(Problem::damaged("a dictionary has more entries than bytes"));
            }
            Page::DictionaryPage { num_values, .. } => {
                return self.budget.charge(bytes + u64::from(*num_values) * self.value_bytes);
            }
            Page::DataPage { encoding, rep_level_encoding, buf, num_values, .. } => {
                check_encoding(*encoding)?;
                if self.is_list {
                    if *rep_level_encoding != Encoding::RLE {
                        return Err(Problem::Unsupported { what: format!("levels as {rep_level_encoding}") });
                    }
                    let (len, levels) = buf.split_at_checked(4).ok_or_else(short_levels)?;
                    let len = len.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
                    check_levels(levels.get(..len).ok_or_else(short_levels)?, *num_values)?;
                }
            }
            Page::DataPageV2 { encoding, rep_levels_byte_len, buf, num_values, .. } => {
                check_encoding(*encoding)?;
                if self.is_list {
                    let levels = buf.get(..*rep_levels_byte_len as usize).ok_or_else(short_levels)?;
                    check_levels(levels, *num_values)?;
                }
            }
        }
        self.budget.charge(bytes + u64::from(page.num_values()) * self.value_bytes)
    }
}

/// The two encodings of text as deltas have counts of their own that the decoder believes, and nobody
/// writes them unless told to.
fn check_encoding(encoding: Encoding) -> Result<(), Problem> {
    match encoding {
        Encoding::PLAIN
        | Encoding::PLAIN_DICTIONARY
        | Encoding::RLE
        | Encoding::RLE_DICTIONARY
        | Encoding::DELTA_BINARY_PACKED
        | Encoding::BYTE_STREAM_SPLIT => Ok(()),
        other => Err(Problem::Unsupported { what: format!("encoding {other}") }),
    }
}

fn short_levels() -> Problem {
    Problem::damaged("a page has fewer repetition levels than values")
}

/// Counts repetition levels of one bit, in runs as Encodings.md has them: where a page has too few,
/// stepping over rows never ends in the decoder (parquet 60).
fn check_levels(mut levels: &[u8], wanted: u32) -> Result<(), Problem> {
    let mut count: u64 = 0;
    while count < wanted.into() {
        let mut header: u64 = 0;
        for shift in (0..=28).step_by(7) {
            let (&byte, rest) = levels.split_first().ok_or_else(short_levels)?;
            levels = rest;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        // Either groups of 8 levels, a byte each, or one level so many times.
        let (bytes, run) = if header & 1 == 1 { (header >> 1, (header >> 1) * 8) } else { (1, header >> 1) };
        let bytes = usize::try_from(bytes).map_err(|_| short_levels())?;
        levels = levels.get(bytes..).filter(|_| run > 0).ok_or_else(short_levels)?;
        count += run;
    }
    Ok(())
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.drop_empty()?;
        let page = self.inner.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.drop_empty()?;
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.inner.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.inner.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.inner.take_deferred_dictionary()?;
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.drop_empty()?;
        self.inner.at_record_boundary()
    }
}
