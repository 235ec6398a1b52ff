//! Summaries kept on disk, so that the second question about a step does not read its dumps again.
//!
//! One Parquet file a step, `summary_{step}.parquet`, in `DIR/dashboard/cache` or where `--cache-dir`
//! says. Its footer names what it was made from: the version of this crate, the columns, and each
//! source file's name, size and modification time. Anything that differs makes it worthless. The
//! folder can be deleted at any time, several processes can store at once (a file appears whole or not
//! at all, the last one stays), and no failure here fails a command: [`Cache::load`] answers none, and
//! callers only mention an error of [`Cache::store`].

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::row::parquet::{Field, Reader, WriteError, Writer, WriterOptions};
use crate::row::{Cell, Column, Kind};

/// Raised when what a column means changes without a new version of the crate.
const SCHEMA: u32 = 1;
/// Key in the footer.
const STAMP_KEY: &str = "miles.summary";
/// File systems keep modification times in steps of up to 2 s (FAT; 1 s on ext3 and HFS+): a source
/// that was younger than this when it was looked at can change once more and look the same.
const SETTLED_AFTER: Duration = Duration::from_secs(2);
/// Marks a [`Cell::Text`] in a JSON column. No JSON value begins so.
const TEXT_MARK: char = '\'';

/// Why a summary was not stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The folder or file cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The rows cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the writer said.
        #[source]
        source: WriteError,
    },
    /// A source was written to so recently that a change could go unnoticed.
    #[error("{}: too new to be cached", path.display())]
    TooNew {
        /// The source.
        path: PathBuf,
    },
    /// A source is not what it was when it was looked at.
    #[error("{}: changed while it was read", path.display())]
    Changed {
        /// The source.
        path: PathBuf,
    },
}

/// A file that a summary is made from, as it was when it was looked at: before it was read.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
    settled: bool,
}

impl Source {
    /// Looks at the file at `path`. To be called before the file is read.
    ///
    /// # Errors
    /// The system's.
    pub fn look(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self::new(path, metadata.len(), metadata.modified()?, SystemTime::now()))
    }

    /// The file at `path` as it was at the time `seen`, before it was read.
    pub fn new(path: &Path, size: u64, modified: SystemTime, seen: SystemTime) -> Self {
        // A time in the future (another machine's clock) is not settled either.
        let settled = seen.duration_since(modified).is_ok_and(|age| age > SETTLED_AFTER);
        Self { path: path.to_owned(), size, modified, settled }
    }

    /// Nanoseconds since 1970; negative before.
    fn modified_ns(&self) -> i128 {
        let nanos = |span: Duration| i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
        match self.modified.duration_since(UNIX_EPOCH) {
            Ok(after) => nanos(after),
            Err(before) => -nanos(before.duration()),
        }
    }
}

/// A folder of summaries.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The cache in the folder `dir`, which need not exist.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The cache of the run directory `run`: `dashboard/cache` in it.
    pub fn of_run(run: &Path) -> Self {
        Self::new(run.join("dashboard").join("cache"))
    }

    fn path(&self, step: &str) -> PathBuf {
        self.dir.join(format!("summary_{step}.parquet"))
    }

    /// The stored rows of `step` (`12`, or `eval_12`), if they were made from exactly these sources and
    /// have exactly these columns.
    pub fn load(
        &self,
        step: &str,
        sources: &[Source],
        columns: &[Column],
    ) -> Option<Vec<Vec<Cell<'static>>>> {
        // One read: a summary is small, and a run has thousands of them.
        let path = self.path(step);
        let file = Reader::from_bytes(&path, fs::read(&path).ok()?).ok()?;
        if file.metadata(STAMP_KEY)? != stamp(sources, columns) {
            return None;
        }
        let fields: Option<Vec<Field>> = columns.iter().map(|column| file.field(column).ok()?).collect();
        let rows: Result<Vec<_>, _> = file.rows(&fields?).map(|row| row.map(unmarked)).collect();
        rows.ok()
    }

    /// Stores the rows of `step`.
    ///
    /// # Errors
    /// [`CacheError`]; then nothing was stored, and what was there before still is.
    pub fn store<'c, R: AsRef<[Cell<'c>]>>(
        &self,
        step: &str,
        sources: &[Source],
        columns: &[Column],
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), CacheError> {
        for source in sources {
            let path = source.path.clone();
            if !source.settled {
                return Err(CacheError::TooNew { path });
            }
            let now = Source::look(&path).map_err(|source| CacheError::Io { path: path.clone(), source })?;
            if (now.size, now.modified) != (source.size, source.modified) {
                return Err(CacheError::Changed { path });
            }
        }
        let path = self.path(step);
        let io = |source| CacheError::Io { path: path.clone(), source };
        fs::create_dir_all(&self.dir).map_err(io)?;
        // A summary that a crash leaves half on disk has no footer and is not loaded: no sync.
        let mut file = tempfile::Builder::new()
            .prefix(".summary_")
            .suffix(".tmp")
            // As readable as the run's other files: the umask takes its share.
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(&self.dir)
            .map_err(io)?;
        let options = WriterOptions {
            metadata: vec![(STAMP_KEY.into(), stamp(sources, columns))],
            keep_non_finite: true,
            ..WriterOptions::default()
        };
        write(BufWriter::new(file.as_file_mut()), columns, options, rows)
            .map_err(|source| CacheError::Write { path: path.clone(), source })?;
        file.persist(&path).map_err(|failed| io(failed.error))?;
        Ok(())
    }
}

fn write<'c, R: AsRef<[Cell<'c>]>>(
    to: impl io::Write + Send,
    columns: &[Column],
    options: WriterOptions,
    rows: impl IntoIterator<Item = R>,
) -> Result<(), WriteError> {
    let mut writer = Writer::new(to, columns, options)?;
    for row in rows {
        let cells: Vec<Cell<'_>> =
            row.as_ref().iter().enumerate().map(|(at, cell)| marked(cell, columns.get(at))).collect();
        writer.push(&cells)?;
    }
    writer.finish()?.flush().map_err(WriteError::Io)
}

/// What the rows depend on, as one line of JSON.
fn stamp(sources: &[Source], columns: &[Column]) -> String {
    let columns: Vec<_> = columns.iter().map(|column| (&column.name, format!("{:?}", column.kind))).collect();
    // Names without their folder: a run directory that was moved keeps its cache.
    let sources: Vec<_> = sources
        .iter()
        .map(|source| {
            let name = source.path.file_name().unwrap_or_default().to_string_lossy();
            (name, source.size, source.modified_ns().to_string())
        })
        .collect();
    serde_json::json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "columns": columns,
        "sources": sources,
    })
    .to_string()
}

/// A cell as it is stored: in Parquet a text and JSON are both text.
fn marked<'a>(cell: &Cell<'a>, column: Option<&Column>) -> Cell<'a> {
    match (cell, column.map(|column| column.kind)) {
        (Cell::Text(text), Some(Kind::Json)) => Cell::Json(Cow::Owned(format!("{TEXT_MARK}{text}"))),
        (other, _) => other.clone(),
    }
}

/// A row as it was before it was stored.
fn unmarked(mut row: Vec<Cell<'static>>) -> Vec<Cell<'static>> {
    for cell in &mut row {
        if let Cell::Json(json) = cell
            && let Some(text) = json.strip_prefix(TEXT_MARK)
        {
            *cell = Cell::Text(Cow::Owned(text.to_owned()));
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 6] = [
        Column::new("sample_index", Kind::Int),
        Column::new("status", Kind::Text),
        Column::new("reward", Kind::Json),
        Column::new("raw_reward", Kind::Float32),
        Column::new("truncated", Kind::Bool),
        Column::new("non_generation_time", Kind::Float64),
    ];

    fn rows() -> Vec<Vec<Cell<'static>>> {
        let json = |text| Cell::Json(Cow::Borrowed(text));
        vec![
            vec![
                3.into(),
                "completed".into(),
                json("1.5"),
                f32::INFINITY.into(),
                true.into(),
                0.1_f64.into(),
            ],
            vec![Cell::Null, "".into(), "'5\"".into(), 0.5_f32.into(), false.into(), Cell::Null],
            vec![i64::MIN.into(), "é".into(), json(r#""5""#), Cell::Null, Cell::Null, (-0.0_f64).into()],
        ]
    }

    struct Step {
        dir: tempfile::TempDir,
        cache: Cache,
        paths: [PathBuf; 2],
    }

    impl Step {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let paths = ["12.pt", "12_0.pt"].map(|name| dir.path().join(name));
            for path in &paths {
                fs::write(path, b"dump").unwrap();
                set_age(path, 60);
            }
            Self { cache: Cache::of_run(dir.path()), dir, paths }
        }

        fn sources(&self) -> Vec<Source> {
            self.paths.iter().map(|path| Source::look(path).unwrap()).collect()
        }

        fn store(&self) -> Result<(), CacheError> {
            self.cache.store("12", &self.sources(), &COLUMNS, rows())
        }

        fn load(&self) -> Option<Vec<Vec<Cell<'static>>>> {
            self.cache.load("12", &self.sources(), &COLUMNS)
        }

        fn file(&self) -> PathBuf {
            self.dir.path().join("dashboard/cache/summary_12.parquet")
        }
    }

    fn set_age(path: &Path, seconds: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn rows_come_back_cell_for_cell() {
        let step = Step::new();
        assert_eq!(step.load(), None);
        step.store().unwrap();
        assert_eq!(step.load(), Some(rows()));
        step.store().unwrap();
        let names = fs::read_dir(step.file().parent().unwrap()).unwrap().count();
        assert_eq!(names, 1, "nothing but the summary is left");
    }

    #[test]
    fn nan_stays_nan_and_is_not_missing() {
        let step = Step::new();
        let columns = [Column::new("raw_reward", Kind::Float32)];
        step.cache.store("12", &step.sources(), &columns, [[Cell::F32(f32::NAN)], [Cell::Null]]).unwrap();
        let rows = step.cache.load("12", &step.sources(), &columns).unwrap();
        assert!(matches!(rows[0][0], Cell::F32(value) if value.is_nan()));
        assert_eq!(rows[1][0], Cell::Null);
    }

    #[test]
    fn a_source_of_another_size_or_time_or_name_makes_it_worthless() {
        let step = Step::new();
        step.store().unwrap();
        set_age(&step.paths[1], 59);
        assert_eq!(step.load(), None);
        step.store().unwrap();
        let time = fs::metadata(&step.paths[0]).unwrap().modified().unwrap();
        fs::write(&step.paths[0], b"a longer dump").unwrap();
        fs::File::options().write(true).open(&step.paths[0]).unwrap().set_modified(time).unwrap();
        assert_eq!(step.load(), None);
        step.store().unwrap();
        assert_eq!(step.cache.load("12", &step.sources()[..1], &COLUMNS), None, "a shard is gone");
        assert!(step.load().is_some());
    }

    #[test]
    fn other_columns_or_another_step_find_nothing() {
        let step = Step::new();
        step.store().unwrap();
        let mut columns = COLUMNS;
        columns[2].kind = Kind::Text;
        assert_eq!(step.cache.load("12", &step.sources(), &columns), None);
        assert_eq!(step.cache.load("12", &step.sources(), &COLUMNS[1..]), None);
        assert_eq!(step.cache.load("eval_12", &step.sources(), &COLUMNS), None);
    }

    #[test]
    fn a_moved_run_keeps_its_cache() {
        let mut step = Step::new();
        step.store().unwrap();
        let moved = step.dir.path().join("moved");
        fs::create_dir(&moved).unwrap();
        for path in &mut step.paths {
            let to = moved.join(path.file_name().unwrap());
            fs::rename(&*path, &to).unwrap();
            *path = to;
        }
        assert_eq!(step.load(), Some(rows()));
    }

    #[test]
    fn a_source_as_young_as_a_tick_of_the_clock_is_not_stored() {
        let step = Step::new();
        fs::write(&step.paths[0], b"dump").unwrap();
        assert!(matches!(step.store(), Err(CacheError::TooNew { .. })));
        let ahead = SystemTime::now() + Duration::from_secs(60);
        let source = Source::new(&step.paths[1], 4, ahead, SystemTime::now());
        let stored = step.cache.store("12", &[source], &COLUMNS, rows());
        assert!(matches!(stored, Err(CacheError::TooNew { .. })));
    }

    #[test]
    fn a_source_that_changed_while_it_was_read_is_not_stored() {
        let step = Step::new();
        let sources = step.sources();
        fs::write(&step.paths[0], b"dump").unwrap();
        let stored = step.cache.store("12", &sources, &COLUMNS, rows());
        assert!(matches!(stored, Err(CacheError::Changed { .. })));
        assert!(!step.file().exists());
    }

    #[test]
    fn a_damaged_cache_is_as_good_as_none_and_is_replaced() {
        let step = Step::new();
        step.store().unwrap();
        let whole = fs::read(step.file()).unwrap();
        for cut in [0, 1, 11, whole.len() / 2, whole.len() - 1] {
            fs::write(step.file(), &whole[..cut]).unwrap();
            assert_eq!(step.load(), None);
        }
        step.store().unwrap();
        assert_eq!(step.load(), Some(rows()));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_with_its_name() {
        let step = Step::new();
        fs::write(step.dir.path().join("dashboard"), b"not a folder").unwrap();
        let error = step.store().unwrap_err();
        assert!(error.to_string().contains("summary_12.parquet"), "{error}");
        assert_eq!(step.load(), None);
    }

    #[test]
    fn two_at_once_leave_one_whole_summary() {
        let step = Step::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        step.store().unwrap();
                        assert_eq!(step.load(), Some(rows()));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(step.file().parent().unwrap()).unwrap().count(), 1);
    }
}
