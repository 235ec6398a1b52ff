//! The per-token mirror of a step, `dashboard_columns/rollout_{rid}.parquet`: one sample's tokens
//! without reading the `.pt`.
//!
//! The mirror is only ever a shortcut. A file that is missing, unreadable, of other columns or at odds
//! with itself is a reason to read the `.pt`, never an error: see [`Fallback`].

use std::io;
use std::path::Path;

use crate::row::parquet::{Field, Problem, ReadError, Reader};
use crate::row::{Cell, Column, Kind};

/// Why the `.pt` must be read instead.
#[derive(Debug)]
pub(super) struct Fallback {
    note: Option<String>,
}

impl Fallback {
    /// What is wrong with the mirror, worth a line on stderr; none if there simply is no mirror, as in
    /// runs of old versions.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    fn noted(note: impl Into<String>) -> Self {
        Self { note: Some(note.into()) }
    }
}

impl From<ReadError> for Fallback {
    fn from(error: ReadError) -> Self {
        match &error.problem {
            Problem::Io(source) if source.kind() == io::ErrorKind::NotFound => Self { note: None },
            _ => Self::noted(error.to_string()),
        }
    }
}

/// An open mirror.
pub(super) struct Mirror {
    file: Reader,
    path: String,
    sample_index: Field,
    response_length: Field,
    total_length: Field,
    tokens: Field,
    loss_mask: Field,
    rollout_log_probs: Field,
}

/// What the mirror holds of one sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MirrorSample {
    /// The last so many tokens are the response.
    pub(super) response_length: usize,
    /// Number of tokens, prompt and response.
    pub(super) total_length: usize,
    /// Token ids of prompt and response.
    pub(super) tokens: Vec<i32>,
    /// One entry a response token; none means all 1.
    pub(super) loss_mask: Option<Vec<i8>>,
    /// One entry a response token; NaN where nothing was recorded.
    pub(super) rollout_log_probs: Option<Vec<f32>>,
}

impl Mirror {
    /// Opens the mirror at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, Fallback> {
        let file = Reader::open(path)?;
        let path = path.display().to_string();
        let field = |name, kind| match file.field(&Column::new(name, kind))? {
            Some(field) => Ok(field),
            None => Err(Fallback::noted(format!("{path}: no column '{name}'"))),
        };
        Ok(Self {
            sample_index: field("sample_index", Kind::Int)?,
            response_length: field("response_length", Kind::Int)?,
            total_length: field("total_length", Kind::Int)?,
            tokens: field("tokens", Kind::Ints)?,
            loss_mask: field("loss_mask", Kind::Mask)?,
            rollout_log_probs: field("rollout_log_probs", Kind::Floats)?,
            path,
            file,
        })
    }

    /// How many samples it has.
    pub(super) fn len(&self) -> u64 {
        self.file.row_count()
    }

    /// The sample with this `Sample.index`; none if the mirror has no row of it.
    pub(super) fn sample(&self, index: i64) -> Result<Option<MirrorSample>, Fallback> {
        let Some(place) = self.file.find(&self.sample_index, index)? else {
            return Ok(None);
        };
        let odd = |what: &str| Fallback::noted(format!("{}: sample {index}: {what}", self.path));
        let length = |field| match self.file.cell(place, field)? {
            Cell::Int(length) => usize::try_from(length).map_err(|_| odd("a length is negative")),
            _ => Err(odd("a length is missing")),
        };
        let sample = MirrorSample {
            response_length: length(&self.response_length)?,
            total_length: length(&self.total_length)?,
            tokens: match self.file.cell(place, &self.tokens)? {
                Cell::Ints(tokens) => tokens.into_owned(),
                _ => return Err(odd("its tokens are missing")),
            },
            loss_mask: match self.file.cell(place, &self.loss_mask)? {
                Cell::Mask(mask) => Some(mask.into_owned()),
                _ => None,
            },
            rollout_log_probs: match self.file.cell(place, &self.rollout_log_probs)? {
                Cell::Floats(log_probs) => Some(log_probs.into_owned()),
                _ => None,
            },
        };
        match sample.contradiction() {
            Some(what) => Err(odd(what)),
            None => Ok(Some(sample)),
        }
    }
}

impl MirrorSample {
    fn contradiction(&self) -> Option<&'static str> {
        let response = self.response_length;
        if self.tokens.len() != self.total_length {
            Some("it has not total_length tokens")
        } else if response > self.total_length {
            Some("its response is longer than the whole")
        } else if self.loss_mask.as_ref().is_some_and(|mask| mask.len() != response) {
            Some("its loss mask is not as long as its response")
        } else if self.rollout_log_probs.as_ref().is_some_and(|log_probs| log_probs.len() != response) {
            Some("its log-probabilities are not as many as its response's tokens")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::path::PathBuf;

    use super::*;
    use crate::row::parquet::{Writer, WriterOptions};

    const COLUMNS: [Column; 6] = [
        Column::new("sample_index", Kind::Int32),
        Column::new("response_length", Kind::Int32),
        Column::new("total_length", Kind::Int32),
        Column::new("tokens", Kind::Ints),
        Column::new("loss_mask", Kind::Mask),
        Column::new("rollout_log_probs", Kind::Floats),
    ];

    fn row(index: i64, response: i64) -> Vec<Cell<'static>> {
        let response = usize::try_from(response).unwrap();
        let total = response + 3;
        let base = i32::try_from(index).unwrap() * 1000;
        let mut log_probs: Vec<f32> = (0..response).map(|at| -(at as f32) / 8.0).collect();
        if let Some(first) = log_probs.first_mut() {
            *first = f32::NAN;
        }
        vec![
            Cell::Int(index),
            Cell::Int(response as i64),
            Cell::Int(total as i64),
            Cell::Ints((0..total as i32).map(|at| base + at).collect()),
            Cell::Mask((0..response).map(|at| (at % 2) as i8).collect()),
            Cell::Floats(Cow::Owned(log_probs)),
        ]
    }

    fn write(columns: &[Column], rows: &[Vec<Cell<'_>>]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollout_0.parquet");
        let options = WriterOptions { row_group_rows: Some(8), ..WriterOptions::default() };
        let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), columns, options).unwrap();
        for row in rows {
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        (dir, path)
    }

    fn note(path: &Path, index: i64) -> String {
        let fallback = match Mirror::open(path) {
            Err(fallback) => fallback,
            Ok(mirror) => mirror.sample(index).unwrap_err(),
        };
        fallback.note().unwrap().to_owned()
    }

    #[test]
    fn any_sample_is_found_whatever_the_order_of_the_rows() {
        let rows: Vec<_> = [5, 3, 40, 7, 1, 0, 22, 9, 8, 21, 2].map(|index| row(index, index)).into();
        let (_dir, path) = write(&COLUMNS, &rows);
        let mirror = Mirror::open(&path).unwrap();
        for (index, response) in [(5, 5), (0, 0), (2, 2), (40, 40)] {
            let sample = mirror.sample(index).unwrap().unwrap();
            assert_eq!(sample.response_length, response);
            assert_eq!(sample.total_length, response + 3);
            assert_eq!(sample.tokens[1], i32::try_from(index).unwrap() * 1000 + 1);
            assert_eq!(sample.loss_mask.as_ref().map(Vec::len), Some(response));
            let log_probs = sample.rollout_log_probs.unwrap();
            assert_eq!(log_probs.len(), response);
            assert!(log_probs.first().is_none_or(|first| first.is_nan()));
            assert!(log_probs.get(2).is_none_or(|&third| third == -0.25));
        }
        assert_eq!(mirror.sample(4).unwrap(), None);
        assert_eq!(mirror.sample(i64::MIN).unwrap(), None);
    }

    #[test]
    fn a_sample_without_mask_and_log_probs_has_none() {
        let mut bare = row(0, 2);
        bare[4] = Cell::Null;
        bare[5] = Cell::Null;
        let (_dir, path) = write(&COLUMNS, &[bare, row(1, 2)]);
        let sample = Mirror::open(&path).unwrap().sample(0).unwrap().unwrap();
        assert_eq!((sample.loss_mask, sample.rollout_log_probs), (None, None));
    }

    #[test]
    fn no_mirror_is_not_worth_a_note() {
        let dir = tempfile::tempdir().unwrap();
        let fallback = Mirror::open(&dir.path().join("rollout_0.parquet")).err().unwrap();
        assert_eq!(fallback.note(), None);
    }

    #[test]
    fn a_mirror_of_other_columns_is_passed_over() {
        let (_dir, path) = write(&COLUMNS[..5], &[row(0, 2)[..5].to_vec()]);
        assert!(note(&path, 0).ends_with("no column 'rollout_log_probs'"));
        let mut columns = COLUMNS;
        columns[3] = Column::new("tokens", Kind::Text);
        let mut cells = row(0, 2);
        cells[3] = Cell::from("1 2 3");
        let (_dir, path) = write(&columns, &[cells]);
        assert!(note(&path, 0).contains("column 'tokens': holds BYTE_ARRAY, not Ints"), "{}", note(&path, 0));
    }

    #[test]
    fn a_cut_mirror_is_passed_over() {
        let (_dir, path) = write(&COLUMNS, &[row(0, 2)]);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(note(&path, 0).contains("not a whole Parquet file"), "{}", note(&path, 0));
    }

    #[test]
    fn a_sample_that_contradicts_its_lengths_is_passed_over() {
        for (column, cell, what) in [
            (2, Cell::Int(4), "it has not total_length tokens"),
            (1, Cell::Int(9), "its response is longer than the whole"),
            (1, Cell::Int(-1), "a length is negative"),
            (1, Cell::Null, "a length is missing"),
            (3, Cell::Null, "its tokens are missing"),
            (4, Cell::Mask(Cow::Borrowed(&[1])), "its loss mask is not as long as its response"),
            (5, Cell::Floats(Cow::Borrowed(&[])), "its log-probabilities are not as many"),
        ] {
            let mut cells = row(7, 2);
            cells[column] = cell;
            let (_dir, path) = write(&COLUMNS, &[cells]);
            assert!(note(&path, 7).contains(&format!("sample 7: {what}")), "{}", note(&path, 7));
        }
    }
}
