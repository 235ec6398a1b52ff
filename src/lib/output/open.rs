//! From checked settings to rows in their place: which format, which columns, how many rows, where.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::csv::Csv;
use super::destination::Destination;
use super::json::Json;
use super::ndjson::Ndjson;
use super::parquet::Parquet;
use super::table::{Look, Table};
use super::{Cell, Column, OutputError, Row, RowSink, Writer};

/// What rows are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Ndjson,
    /// One JSON array.
    Json,
    /// Comma-separated values with a header.
    Csv,
    /// Apache Parquet, zstd.
    Parquet,
    /// Aligned text for people.
    Table,
}

impl Format {
    /// All formats, in the order that help lists them.
    pub const ALL: [Self; 5] = [Self::Ndjson, Self::Json, Self::Csv, Self::Parquet, Self::Table];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Table => "table",
        }
    }

    /// The format that a file name's ending stands for.
    pub fn from_ending(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "ndjson" | "jsonl" => Self::Ndjson,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "parquet" => Self::Parquet,
            "txt" => Self::Table,
            _ => return None,
        })
    }
}

/// Where rows go and how; what `--format`, `-o`, `--columns`, `--limit` and `--color` say.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Format; by default from the file's ending, else NDJSON, or a table on a terminal.
    pub format: Option<Format>,
    /// Output file; none or `-` is stdout.
    pub path: Option<PathBuf>,
    /// Columns to write, in this order; none is all.
    pub columns: Option<Vec<String>>,
    /// Most rows to write.
    pub limit: Option<u64>,
    /// Whether tables use colour.
    pub color: bool,
}

impl Options {
    /// True when a column called `name` will be written, so that a command can leave out the work for
    /// one that will not.
    pub fn wants(&self, name: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.iter().any(|column| column == name))
    }

    /// True when rows go to a terminal.
    pub fn is_terminal(&self) -> bool {
        self.file().is_none() && io::stdout().is_terminal()
    }

    /// The output file, if it is one.
    fn file(&self) -> Option<&Path> {
        self.path.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// The format that rows will have.
    ///
    /// # Errors
    /// The file's ending names no format and no format was given; Parquet to a terminal.
    pub fn resolve_format(&self) -> Result<Format, OutputError> {
        let format = match (self.format, self.file()) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::from_ending(path)
                .ok_or_else(|| OutputError::UnknownEnding { path: path.display().to_string() })?,
            (None, None) if self.is_terminal() => Format::Table,
            (None, None) => Format::Ndjson,
        };
        if format == Format::Parquet && self.is_terminal() {
            return Err(OutputError::ParquetToTerminal);
        }
        Ok(format)
    }

    /// Whether whole JSON objects can be written in place of rows.
    ///
    /// # Errors
    /// As [`Options::resolve_format`].
    pub fn takes_objects(&self) -> Result<bool, OutputError> {
        let format = self.resolve_format()?;
        Ok(matches!(format, Format::Ndjson | Format::Json) && self.columns.is_none())
    }

    /// Opens the output for rows of `columns`.
    ///
    /// # Errors
    /// A usage error ([`OutputError::is_usage`]) before anything is touched, or the system's.
    pub fn open(&self, columns: &[Column]) -> Result<Output, OutputError> {
        self.open_after(columns, None)
    }

    /// Like [`Options::open`], with something to do once, just before the first byte leaves, such as
    /// taking a progress bar off the terminal.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open_after(
        &self,
        columns: &[Column],
        before_first_byte: Option<Box<dyn FnOnce() + Send>>,
    ) -> Result<Output, OutputError> {
        let format = self.resolve_format()?;
        let picks = self.pick(columns)?;
        let mut destination = self.destination()?;
        if let Some(action) = before_first_byte {
            destination.before_first_byte(action);
        }
        Output::new(format, destination, columns, picks, self)
    }

    /// Opens the output for rows of `columns` over any writer, such as a buffer or a socket.
    ///
    /// # Errors
    /// An unknown column, or the writer's error.
    pub fn open_over(&self, columns: &[Column], sink: Box<dyn Write + Send>) -> Result<Output, OutputError> {
        let picks = self.pick(columns)?;
        Output::new(self.format.unwrap_or(Format::Ndjson), Destination::sink(sink), columns, picks, self)
    }

    /// Writes one finished document (not rows) to where rows would go. A reader that has gone is no
    /// error.
    ///
    /// # Errors
    /// [`OutputError`] when the destination cannot be written.
    pub fn write_document(&self, bytes: &[u8]) -> Result<(), OutputError> {
        let mut destination = self.destination()?;
        destination.buffer().extend_from_slice(bytes);
        quiet(destination.commit()).map(|_| ())
    }

    fn destination(&self) -> Result<Destination, OutputError> {
        match self.file() {
            Some(path) => Destination::file(path),
            None => Ok(Destination::stdout()),
        }
    }

    /// Positions of the asked-for columns.
    fn pick(&self, columns: &[Column]) -> Result<Vec<usize>, OutputError> {
        let Some(names) = &self.columns else {
            return Ok((0..columns.len()).collect());
        };
        let mut picks = Vec::with_capacity(names.len());
        for name in names {
            let Some(at) = columns.iter().position(|column| column.name == *name) else {
                let known: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
                return Err(OutputError::UnknownColumn { name: name.clone(), known: known.join(", ") });
            };
            if picks.contains(&at) {
                return Err(OutputError::RepeatedColumn { name: name.clone() });
            }
            picks.push(at);
        }
        Ok(picks)
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Rows taken.
    pub rows: u64,
    /// True when `--limit` ended the output.
    pub limited: bool,
    /// True when the reader of the pipe went away first.
    pub closed: bool,
}

/// An open output. Push rows, stop at `Break`, then call [`Output::finish`]: without it a file never
/// appears.
pub struct Output {
    writer: Option<Box<dyn Writer>>,
    columns: Vec<Column>,
    picks: Vec<usize>,
    limit: Option<u64>,
    report: Report,
}

impl Output {
    fn new(
        format: Format,
        destination: Destination,
        columns: &[Column],
        picks: Vec<usize>,
        options: &Options,
    ) -> Result<Self, OutputError> {
        let picked: Vec<Column> = picks.iter().filter_map(|&at| columns.get(at).cloned()).collect();
        let writer: Box<dyn Writer> = match format {
            Format::Ndjson => Box::new(Ndjson::new(destination, &picked)),
            Format::Json => Box::new(Json::new(destination, &picked)),
            Format::Csv => Box::new(Csv::new(destination, &picked)?),
            Format::Parquet => Box::new(Parquet::new(destination, &picked)?),
            Format::Table => {
                let look = Look::of(&destination, options.color);
                Box::new(Table::new(destination, &picked, look))
            }
        };
        Ok(Self {
            writer: Some(writer),
            columns: columns.to_vec(),
            picks,
            limit: options.limit,
            report: Report { rows: 0, limited: options.limit == Some(0), closed: false },
        })
    }

    /// True when no more rows are wanted.
    pub fn is_done(&self) -> bool {
        self.report.closed || self.report.limited
    }

    /// Ends the output: writes what is held back, gives a file its name.
    ///
    /// # Errors
    /// [`OutputError`] when the destination cannot be written. A reader that has gone is no error.
    pub fn finish(mut self) -> Result<Report, OutputError> {
        let Some(writer) = self.writer.take() else {
            return Ok(self.report);
        };
        let ended = writer.finish(self.report.limited).and_then(Destination::commit);
        self.report.closed |= quiet(ended)?.is_break();
        Ok(self.report)
    }

    /// Takes one record as a finished JSON object in place of a row, keys that no column has included.
    /// Only where [`Options::takes_objects`]; elsewhere it is left out.
    ///
    /// # Errors
    /// As for a row.
    pub fn object(&mut self, json: &str) -> Result<ControlFlow<()>, OutputError> {
        if self.is_done() {
            return Ok(ControlFlow::Break(()));
        }
        let Some(writer) = &mut self.writer else {
            return Ok(ControlFlow::Break(()));
        };
        let written = writer.object(json).map(|_| ());
        self.count(written)
    }

    /// Counts what was written and says whether more is wanted.
    fn count(&mut self, written: Result<(), OutputError>) -> Result<ControlFlow<()>, OutputError> {
        if quiet(written)?.is_break() {
            self.report.closed = true;
            // What is left has nowhere to go; dropping the writer must not try again.
            self.writer = None;
            return Ok(ControlFlow::Break(()));
        }
        self.report.rows += 1;
        self.report.limited = self.limit.is_some_and(|limit| self.report.rows >= limit);
        Ok(if self.report.limited { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn check(&self, cells: &[Cell<'_>]) -> Result<(), OutputError> {
        if cells.len() != self.columns.len() {
            return Err(OutputError::RowShape { cells: cells.len(), columns: self.columns.len() });
        }
        match cells.iter().zip(&self.columns).find(|(cell, column)| !cell.fits(column.kind)) {
            None => Ok(()),
            Some((cell, column)) => Err(OutputError::CellKind {
                column: Cow::clone(&column.name).into_owned(),
                kind: column.kind,
                cell: cell.name(),
            }),
        }
    }
}

impl RowSink for Output {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<ControlFlow<()>, OutputError> {
        if self.is_done() {
            return Ok(ControlFlow::Break(()));
        }
        self.check(cells)?;
        let Some(writer) = &mut self.writer else {
            return Ok(ControlFlow::Break(()));
        };
        let written = writer.row(Row { cells, picks: &self.picks });
        self.count(written)
    }
}

/// A closed pipe means that the reader has what it wants.
fn quiet(result: Result<(), OutputError>) -> Result<ControlFlow<()>, OutputError> {
    match result {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.is_closed_pipe() => Ok(ControlFlow::Break(())),
        Err(error) => Err(error),
    }
}
