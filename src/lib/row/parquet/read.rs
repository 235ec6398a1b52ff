//! Reads Parquet files of any writer: all rows in order, or one cell of one row.
//!
//! A file is input from outside: whatever its bytes are, the answer is a value or a [`ReadError`].
//! What bounds memory is in `source`. The decoder has asserts and slices that a damaged file can trip,
//! so every call into it is made through [`guarded`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::IntoIter;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::Length;
use parquet::file::statistics::Statistics;

use super::decode;
use super::error::{Problem, ReadError};
use super::shape::{self, Shape};
use super::source::{Budget, Pages, Source};
use crate::row::{Cell, Column};

/// Rows decoded at a time: enough that a column's set-up costs nothing beside them.
const BATCH_ROWS: usize = 1024;
/// Magic at both ends of a file, and the footer's length before the second.
const TAIL_BYTES: u64 = 8;

/// An open Parquet file.
pub struct Reader {
    path: PathBuf,
    source: Arc<Source>,
    footer: ParquetMetaData,
}

/// A column of a file, checked to hold what it is read as.
#[derive(Debug, Clone)]
pub struct Field {
    name: String,
    leaf: usize,
    shape: Shape,
}

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Row group, from 0.
    pub group: usize,
    /// Row in the group, from 0.
    pub row: usize,
}

impl Reader {
    /// Opens the file at `path` and reads its footer.
    ///
    /// # Errors
    /// [`ReadError`] when there is no such file or it is no whole Parquet file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        match Source::open(path) {
            Ok(source) => Self::over(path, source),
            Err(error) => Err(ReadError { path: path.to_owned(), column: None, problem: error.into() }),
        }
    }

    /// Reads a file that is in memory; `path` is its name for messages.
    ///
    /// # Errors
    /// [`ReadError`] when it is no whole Parquet file.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::over(path, Source::memory(bytes))
    }

    fn over(path: &Path, source: Source) -> Result<Self, ReadError> {
        let path = path.to_owned();
        match guarded(|| read_footer(&source)) {
            Ok(footer) => Ok(Self { path, source: Arc::new(source), footer }),
            Err(problem) => Err(ReadError { path, column: None, problem }),
        }
    }

    /// Rows in the whole file.
    pub fn row_count(&self) -> u64 {
        let counts = (0..self.footer.num_row_groups()).map(|group| self.group_rows(group) as u64);
        counts.fold(0, u64::saturating_add)
    }

    /// Row groups in the file.
    pub fn group_count(&self) -> usize {
        self.footer.num_row_groups()
    }

    /// The value of a key in the footer.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let pairs = self.footer.file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Names of the columns, in the file's order.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.footer.file_metadata().schema().get_fields().iter().map(|field| field.name())
    }

    /// The column with the name and of the kind of `column`; none if there is no such name.
    ///
    /// Integers of 32 and 64 bits are read as either kind, a 32-bit float as a 64-bit one; a value
    /// that does not fit is an error when it is read.
    ///
    /// # Errors
    /// [`Problem::OtherKind`] when the column holds something else.
    pub fn field(&self, column: &Column) -> Result<Option<Field>, ReadError> {
        let schema = self.footer.file_metadata().schema_descr();
        let name = column.name.to_string();
        match guarded(|| shape::find(schema, &name, column.kind)) {
            Ok(found) => Ok(found.map(|(leaf, shape)| Field { name, leaf, shape })),
            Err(problem) => Err(ReadError { path: self.path.clone(), column: Some(name), problem }),
        }
    }

    /// The first row whose `field`, an integer, is `value`. Row groups whose statistics exclude it are
    /// not read.
    ///
    /// # Errors
    /// [`ReadError`] when a column chunk cannot be read.
    pub fn find(&self, field: &Field, value: i64) -> Result<Option<Place>, ReadError> {
        let budget = self.source.budget();
        let search = || {
            for group in 0..self.footer.num_row_groups() {
                if excludes(self.chunk(group, field)?, value) {
                    continue;
                }
                let mut reader = self.column(group, field, &budget)?;
                let rows = self.group_rows(group);
                for start in (0..rows).step_by(BATCH_ROWS) {
                    let cells = decode::cells(&mut reader, field.shape, BATCH_ROWS.min(rows - start))?;
                    if let Some(at) = cells.iter().position(|cell| *cell == Cell::Int(value)) {
                        return Ok(Some(Place { group, row: start + at }));
                    }
                }
            }
            Ok(None)
        };
        guarded(search).map_err(|problem| self.error(field, problem))
    }

    /// One cell. Reads only that column of that row group, and decodes only that row of it.
    ///
    /// # Errors
    /// [`ReadError`] when there is no such row or it cannot be read.
    pub fn cell(&self, place: Place, field: &Field) -> Result<Cell<'static>, ReadError> {
        let Place { group, row } = place;
        let read = || {
            if group >= self.footer.num_row_groups() || row >= self.group_rows(group) {
                return Err(Problem::NoRow { group, row });
            }
            let mut reader = self.column(group, field, &self.source.budget())?;
            decode::skip(&mut reader, row)?;
            decode::cells(&mut reader, field.shape, 1)?.pop().ok_or(Problem::NoRow { group, row })
        };
        guarded(read).map_err(|problem| self.error(field, problem))
    }

    /// All rows in order, with the cells of `fields`; none if there are no fields. Ends after the first
    /// error.
    pub fn rows<'a>(&'a self, fields: &'a [Field]) -> Rows<'a> {
        Rows {
            file: self,
            fields,
            budget: self.source.budget(),
            group: if fields.is_empty() { self.group_count() } else { 0 },
            left: 0,
            readers: Vec::new(),
            batch: Vec::new(),
            batch_left: 0,
        }
    }

    fn error(&self, field: &Field, problem: Problem) -> ReadError {
        ReadError { path: self.path.clone(), column: Some(field.name.clone()), problem }
    }

    /// The footer was checked to have no negative count.
    fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.footer.row_group(group).num_rows()).unwrap_or(0)
    }

    fn chunk(&self, group: usize, field: &Field) -> Result<&ColumnChunkMetaData, Problem> {
        let chunks = self.footer.row_group(group).columns();
        chunks.get(field.leaf).ok_or_else(|| Problem::damaged("a row group lacks a column"))
    }

    fn column(&self, group: usize, field: &Field, budget: &Budget) -> Result<ColumnReader, Problem> {
        let chunk = self.chunk(group, field)?;
        match chunk.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_) => {}
            other => return Err(Problem::Unsupported { what: format!("codec {other}") }),
        }
        let pages = Pages::new(&self.source, chunk, self.group_rows(group), budget.clone())?;
        Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)))
    }
}

/// Runs a piece of decoding; a panic in it is damage. Nothing is used after a panic but what was only
/// borrowed to be read, and a [`Rows`], which ends.
fn guarded<T>(decode: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(Problem::damaged("its parts contradict each other")))
}

fn read_footer(source: &Source) -> Result<ParquetMetaData, Problem> {
    let len = source.len();
    // The first magic, an empty footer and the tail.
    if len < 4 + TAIL_BYTES {
        return Err(Problem::NotParquet("too short"));
    }
    let tail = source.bytes(len - TAIL_BYTES, TAIL_BYTES as usize)?;
    let &[a, b, c, d, ref magic @ ..] = &tail[..] else {
        return Err(Problem::NotParquet("too short"));
    };
    match magic {
        b"PAR1" => {}
        b"PARE" => return Err(Problem::Unsupported { what: "encryption".into() }),
        _ => return Err(Problem::NotParquet("it does not end in PAR1")),
    }
    let footer_len = u32::from_le_bytes([a, b, c, d]);
    let Some(start) = (len - TAIL_BYTES).checked_sub(footer_len.into()).filter(|&start| start >= 4) else {
        return Err(Problem::damaged("its footer is longer than the file"));
    };
    let footer = ParquetMetaDataReader::decode_metadata(&source.bytes(start, footer_len as usize)?)?;
    check_footer(&footer, len)?;
    Ok(footer)
}

/// What the decoder takes for granted, and that no two chunks are one: else a small file could name
/// the same bytes a million times.
fn check_footer(footer: &ParquetMetaData, len: u64) -> Result<(), Problem> {
    let mut total: u64 = 0;
    for group in footer.row_groups() {
        if group.num_rows() < 0 {
            return Err(Problem::damaged("a row group has a negative number of rows"));
        }
        for chunk in group.columns() {
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let (Ok(start), Ok(size)) = (u64::try_from(start), u64::try_from(chunk.compressed_size())) else {
                return Err(Problem::damaged("a column chunk has a negative offset or size"));
            };
            total = total.saturating_add(size);
            if start.saturating_add(size) > len || total > len {
                return Err(Problem::damaged("a column chunk ends past the end of the file"));
            }
        }
    }
    Ok(())
}

/// Whether a chunk's statistics say that `value` is not in it.
fn excludes(chunk: &ColumnChunkMetaData, value: i64) -> bool {
    let (min, max) = match chunk.statistics() {
        Some(Statistics::Int32(range)) => {
            (range.min_opt().copied().map(i64::from), range.max_opt().copied().map(i64::from))
        }
        Some(Statistics::Int64(range)) => (range.min_opt().copied(), range.max_opt().copied()),
        _ => (None, None),
    };
    min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max)
}

/// Rows of a file in order; see [`Reader::rows`].
pub struct Rows<'a> {
    file: &'a Reader,
    fields: &'a [Field],
    budget: Budget,
    /// The next row group.
    group: usize,
    /// Rows of the present group that are not decoded yet.
    left: usize,
    readers: Vec<ColumnReader>,
    batch: Vec<IntoIter<Cell<'static>>>,
    batch_left: usize,
}

impl Rows<'_> {
    /// Decodes the next rows; false at the end of the file.
    fn fill(&mut self) -> Result<bool, ReadError> {
        while self.left == 0 {
            if self.group >= self.file.group_count() {
                return Ok(false);
            }
            self.left = self.file.group_rows(self.group);
            self.readers.clear();
            for field in self.fields {
                let reader = guarded(|| self.file.column(self.group, field, &self.budget));
                self.readers.push(reader.map_err(|problem| self.file.error(field, problem))?);
            }
            self.group += 1;
        }
        let rows = self.left.min(BATCH_ROWS);
        self.batch.clear();
        for (reader, field) in self.readers.iter_mut().zip(self.fields) {
            let cells = guarded(|| decode::cells(reader, field.shape, rows));
            self.batch.push(cells.map_err(|problem| self.file.error(field, problem))?.into_iter());
        }
        self.left -= rows;
        self.batch_left = rows;
        Ok(true)
    }

    fn end(&mut self) {
        self.group = self.file.group_count();
        self.left = 0;
        self.batch_left = 0;
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Vec<Cell<'static>>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch_left == 0 {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.end();
                    return Some(Err(error));
                }
            }
        }
        self.batch_left -= 1;
        Some(Ok(self.batch.iter_mut().filter_map(Iterator::next).collect()))
    }
}
