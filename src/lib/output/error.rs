//! What can go wrong between a row and its file, and what to do about it.

use std::io;

use super::Kind;
use crate::row::parquet::WriteError;

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The destination failed.
    #[error("{destination}: {source}")]
    Io {
        /// File name or `stdout`.
        destination: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The rows cannot be Parquet.
    #[error("{destination}: cannot write Parquet: {source}")]
    Parquet {
        /// File name or `stdout`.
        destination: String,
        /// What the writer said.
        #[source]
        source: WriteError,
    },
    /// `--columns` names a column that the rows do not have.
    #[error("there is no column '{name}'")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names there are, comma-separated.
        known: String,
    },
    /// `--columns` names a column twice, which no format can hold.
    #[error("column '{name}' is asked for twice")]
    RepeatedColumn {
        /// The name asked for.
        name: String,
    },
    /// The ending of the output file names no format.
    #[error("{path}: the ending names no format")]
    UnknownEnding {
        /// The output file.
        path: String,
    },
    /// The output file is a directory.
    #[error("{path}: is a directory")]
    IsDirectory {
        /// The output file.
        path: String,
    },
    /// Parquet is binary and would only upset a terminal.
    #[error("Parquet is binary and stdout is a terminal")]
    ParquetToTerminal,
    /// A command pushed a row that does not match its columns: a bug here, not in the input.
    #[error("internal: a row of {cells} cells was pushed to {columns} columns")]
    RowShape {
        /// Cells in the row.
        cells: usize,
        /// Columns declared.
        columns: usize,
    },
    /// A command pushed a cell of another kind than its column: a bug here, not in the input.
    #[error("internal: column '{column}' of kind {kind:?} was given a {cell} cell")]
    CellKind {
        /// The column's name.
        column: String,
        /// What the column was declared to hold.
        kind: Kind,
        /// What came.
        cell: &'static str,
    },
}

impl OutputError {
    /// True when the user asked for something that cannot be (exit status 64), false when writing
    /// failed (exit status 2).
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownColumn { .. }
                | Self::RepeatedColumn { .. }
                | Self::UnknownEnding { .. }
                | Self::IsDirectory { .. }
                | Self::ParquetToTerminal
        )
    }

    /// True when the reader at the other end of the pipe has gone.
    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The writer's error; a failing file or pipe is the same error in every format.
    pub(super) fn from_parquet(destination: &str, source: WriteError) -> Self {
        let destination = destination.to_owned();
        match source {
            WriteError::Io(source) => Self::Io { destination, source },
            source => Self::Parquet { destination, source },
        }
    }

    /// What to do about it, in one clause.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownColumn { known, .. } => Some(format!("the columns are {known}")),
            Self::RepeatedColumn { .. } => Some("name each column once in --columns".into()),
            Self::UnknownEnding { .. } => {
                Some("end it in .ndjson, .jsonl, .json, .csv, .parquet or .txt, or say --format".into())
            }
            Self::IsDirectory { .. } => Some("name a file with -o, such as rows.parquet".into()),
            Self::ParquetToTerminal => Some("write to a file with -o rows.parquet, or to a pipe".into()),
            Self::RowShape { .. } | Self::CellKind { .. } => Some("please report this".into()),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("create the folder first".into()),
                io::ErrorKind::PermissionDenied => Some("choose a folder that you may write to".into()),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space, or write fewer rows with --columns or --limit".into())
                }
                _ => None,
            },
            Self::Parquet { .. } => None,
        }
    }
}
