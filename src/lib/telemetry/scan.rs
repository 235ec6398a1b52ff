//! The records of a stream, file by file and line by line, and a tally of what was damaged.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::tail::Opened;
use super::{Lines, Partition, TelemetryError, Window, partitions, shown};
use crate::record::{Record, Stream, decode};

/// One record that a scan came upon.
#[derive(Debug)]
pub struct Found<'a> {
    /// The record.
    pub record: Record<'a>,
    /// Its line as strict JSON.
    pub text: &'a str,
}

/// What a scan could not read or had to leave out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// Files with damaged lines, in the order of the scan.
    pub files: Vec<DamagedFile>,
    /// Escaped lone surrogates that were read as U+FFFD.
    pub surrogates: u64,
    /// Records without a time, left out because a window was asked for.
    pub untimed: u64,
}

/// Damaged lines of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// The file.
    pub path: PathBuf,
    /// How many lines were skipped.
    pub lines: u64,
    /// Byte at which the first of them starts.
    pub first: u64,
    /// What is wrong with that one.
    pub reason: String,
}

impl Damage {
    fn line(&mut self, path: &Path, offset: u64, reason: impl ToString) {
        match self.files.last_mut() {
            Some(file) if file.path == path => file.lines += 1,
            _ => {
                self.files.push(DamagedFile {
                    path: path.to_owned(),
                    lines: 1,
                    first: offset,
                    reason: reason.to_string(),
                });
            }
        }
    }

    /// What a person should be told, a sentence each; nothing when all was well. At most `most`
    /// files are named, the rest are summed up.
    #[must_use]
    pub fn notes(&self, most: usize) -> Vec<String> {
        let mut notes: Vec<String> = self
            .files
            .iter()
            .take(most)
            .map(|DamagedFile { path, lines, first, reason }| {
                let lines = counted(*lines, "damaged line");
                format!("{}: {lines} skipped (first at byte {first}): {reason}", shown(path))
            })
            .collect();
        let rest = self.files.get(most..).unwrap_or_default();
        if !rest.is_empty() {
            let lines = rest.iter().map(|file| file.lines).sum();
            let files = counted(rest.len() as u64, "more file");
            notes.push(format!("{} skipped in {files}", counted(lines, "damaged line")));
        }
        if self.surrogates > 0 {
            notes.push(format!("{} read as U+FFFD", counted(self.surrogates, "lone surrogate escape")));
        }
        if self.untimed > 0 {
            let records = counted(self.untimed, "record");
            notes.push(format!("{records} without a time left out, being in no time window"));
        }
        notes
    }
}

/// `1 line`, `2 lines`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Hands every record of `stream` inside `window` to `visit`, oldest file first and in the order of
/// the lines, until it answers [`ControlFlow::Break`]. One pass, constant memory. Damaged lines are
/// counted in `damage` and the good ones before and after them delivered; files of hours outside
/// the window are not opened.
///
/// # Errors
/// [`TelemetryError`] (as `E`) when a file cannot be read, and what `visit` answers.
pub fn scan<E: From<TelemetryError>>(
    dashboard: &Path,
    stream: Stream,
    window: &Window,
    damage: &mut Damage,
    mut visit: impl FnMut(Found<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    for partition in partitions(dashboard, stream)? {
        if partition.overlaps(window) && scan_file(&partition, stream, window, damage, &mut visit)?.is_break()
        {
            break;
        }
    }
    Ok(())
}

fn scan_file<E: From<TelemetryError>>(
    partition: &Partition,
    stream: Stream,
    window: &Window,
    damage: &mut Damage,
    visit: &mut impl FnMut(Found<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<ControlFlow<()>, E> {
    let path = &partition.path;
    let opened = Opened::open(path).map_err(|source| TelemetryError::Open { path: path.clone(), source })?;
    // One that was there a moment ago, when the files were listed.
    let Some(opened) = opened else { return Ok(ControlFlow::Continue(())) };
    let mut lines = Lines::new(opened.range(0, u64::MAX), 0);
    let mut scratch = String::new();
    loop {
        let offset = lines.offset();
        let line = lines.next_line().map_err(|source| TelemetryError::Read {
            path: path.clone(),
            offset,
            source,
        })?;
        let Some(line) = line else { return Ok(ControlFlow::Continue(())) };
        let Some(bytes) = line.bytes else {
            damage.line(path, line.offset, "longer than 64 MiB");
            continue;
        };
        let decoded = match decode(stream, bytes, &mut scratch) {
            Ok(Some(decoded)) => decoded,
            Ok(None) => continue,
            Err(reason) => {
                damage.line(path, line.offset, reason);
                continue;
            }
        };
        let time = decoded.record.time();
        if !window.contains(time) {
            damage.untimed += u64::from(time.is_none());
            continue;
        }
        damage.surrogates += decoded.surrogates;
        if visit(Found { record: decoded.record, text: decoded.text })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// The newest time of the run's data over all its streams: what relative times count back from.
/// `None` when there is no record with a time. Reads a flat file whole, of hours the newest only.
///
/// # Errors
/// [`TelemetryError`] when a file cannot be read.
pub fn newest(dashboard: &Path) -> Result<Option<f64>, TelemetryError> {
    let mut newest: Option<f64> = None;
    for stream in Stream::ALL {
        // Newest hour first and the flat file, which can hold any time, last.
        for partition in partitions(dashboard, stream)?.iter().rev() {
            if partition
                .hour
                .is_some_and(|hour| newest.is_some_and(|newest| ((hour + 3600) as f64) <= newest))
            {
                continue;
            }
            let mut see = |found: Found<'_>| -> Result<_, TelemetryError> {
                if let Some(time) = found.record.time() {
                    newest = Some(newest.map_or(time, |newest| newest.max(time)));
                }
                Ok(ControlFlow::Continue(()))
            };
            // Damage is the business of whoever reads the records; the visitor never breaks off.
            let _ = scan_file(partition, stream, &Window::ALL, &mut Damage::default(), &mut see)?;
        }
    }
    Ok(newest)
}
