//! What can be wrong with a Parquet file that is read.

use std::io;
use std::path::PathBuf;

use parquet::errors::ParquetError;

use crate::row::Kind;

/// A Parquet file that cannot give what was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{problem}", path.display(), column.as_ref().map(|name| format!("column '{name}': ")).unwrap_or_default())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// The column that was read, if it is about one.
    pub column: Option<String>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not Parquet, or cut short while it was written.
    #[error("not a whole Parquet file: {0}")]
    NotParquet(&'static str),
    /// The file contradicts itself or the format.
    #[error("damaged Parquet: {0}")]
    Damaged(String),
    /// Whole, but written in a way that is not read here.
    #[error("unsupported {what}")]
    Unsupported {
        /// The codec, encoding or encryption.
        what: String,
    },
    /// The column holds something else than was asked for.
    #[error("holds {have}, not {want:?}")]
    OtherKind {
        /// What was asked for.
        want: Kind,
        /// The file's type.
        have: String,
    },
    /// A number that does not fit the kind asked for.
    #[error("{value} does not fit {want:?}")]
    OutOfRange {
        /// What was asked for.
        want: Kind,
        /// The number.
        value: i64,
    },
    /// A list of integers with a missing element, which no cell can hold.
    #[error("a list has a null element")]
    NullElement,
    /// More values or larger pages than a file of this size can need: a decompression bomb.
    #[error("decodes to far more than a file of {file_bytes} bytes should hold")]
    TooLarge {
        /// Size of the file.
        file_bytes: u64,
    },
    /// There is no such row.
    #[error("no row {row} in row group {group}")]
    NoRow {
        /// The row group.
        group: usize,
        /// The row in it.
        row: usize,
    },
}

impl Problem {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

impl From<ParquetError> for Problem {
    /// Problems of our own checks, and the system's errors, come out of the decoder's wrapping.
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) if error.raw_os_error().is_some() => Self::Io(*error),
                Ok(error) => match error.downcast::<Self>() {
                    Ok(problem) => problem,
                    Err(error) => Self::Damaged(error.to_string()),
                },
                Err(inner) => match inner.downcast::<Self>() {
                    Ok(problem) => *problem,
                    Err(inner) => Self::Damaged(inner.to_string()),
                },
            },
            ParquetError::NYI(what) => Self::Unsupported { what },
            ParquetError::General(what) | ParquetError::EOF(what) => Self::Damaged(what),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<Problem> for ParquetError {
    fn from(problem: Problem) -> Self {
        Self::External(Box::new(problem))
    }
}
