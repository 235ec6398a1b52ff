//! The files of a stream, in order of time.

use std::fs;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{TelemetryError, Window};
use crate::record::Stream;

/// One file of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The file.
    pub path: PathBuf,
    /// Unix second at which its hour starts; `None` for a flat file, which can hold any time.
    pub hour: Option<i64>,
}

/// Times that a record can have at all, Unix seconds: from 1970 to the year 5138. A clock that was never set is
/// inside; what is outside is no time.
pub(super) const TIMES: RangeInclusive<f64> = 0.0..=1e11;

/// How far outside its file's hour a record may lie. A writer goes by the record's own time, or by its
/// clock when it writes; a record that is further off has a time that nobody should believe.
const SLACK_S: f64 = 3600.0;

impl Partition {
    /// Times that a record of this file can have, Unix seconds.
    pub(super) fn times(&self) -> RangeInclusive<f64> {
        self.hour.map_or(TIMES, |hour| hour as f64 - SLACK_S..=(hour + 3600) as f64 + SLACK_S)
    }

    /// Whether the file can hold a record inside `window`.
    #[must_use]
    pub fn overlaps(&self, window: &Window) -> bool {
        // An hour is far below 2^53, where floats stop being exact.
        self.hour.is_none_or(|hour| {
            window.t1.is_none_or(|t1| hour as f64 <= t1)
                && window.t0.is_none_or(|t0| t0 < (hour + 3600) as f64)
        })
    }
}

/// The files of `stream` under `dashboard`: the flat file of an old run if there is one, then the
/// hours in ascending order. A run can have both. Files with other names are not the stream's.
///
/// # Errors
/// [`TelemetryError::Open`] when the folder is there and cannot be listed.
pub fn partitions(dashboard: &Path, stream: Stream) -> Result<Vec<Partition>, TelemetryError> {
    let mut found = Vec::new();
    let flat = dashboard.join(format!("{stream}.jsonl"));
    if flat.is_file() {
        found.push(Partition { path: flat, hour: None });
    }
    let folder = dashboard.join(stream.name());
    let failed = |source| TelemetryError::Open { path: folder.clone(), source };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(found);
        }
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if let Some(hour) = path.file_name().and_then(|name| hour_of(name.to_str()?)) {
            found.push(Partition { path, hour: Some(hour) });
        }
    }
    found.sort_by_key(|partition| partition.hour);
    Ok(found)
}

/// Unix second of the hour that `YYYYMMDD_HH.jsonl` names.
fn hour_of(name: &str) -> Option<i64> {
    let stem = name.strip_suffix(".jsonl")?;
    let (date, hour) = stem.split_once('_')?;
    if date.len() != 8 || hour.len() != 2 || !stem.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        return None;
    }
    let at = DateTime::new(
        date.get(..4)?.parse().ok()?,
        date.get(4..6)?.parse().ok()?,
        date.get(6..)?.parse().ok()?,
        hour.parse().ok()?,
        0,
        0,
        0,
    );
    TimeZone::UTC.to_timestamp(at.ok()?).ok().map(|timestamp| timestamp.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_read_from_its_name_only() {
        assert_eq!(hour_of("19700101_00.jsonl"), Some(0));
        assert_eq!(hour_of("20260201_01.jsonl"), Some(1_769_907_600));
        for name in [
            "20260201_24.jsonl",
            "20260231_00.jsonl",
            "20260201_01.jsonl.tmp",
            "2026020101.jsonl",
            "+2602010_1.jsonl",
            "x.jsonl",
        ] {
            assert_eq!(hour_of(name), None, "{name}");
        }
    }

    #[test]
    fn hours_outside_the_window_are_skipped_and_a_flat_file_never_is() {
        let hour = |hour| Partition { path: PathBuf::new(), hour };
        let window = Window { t0: Some(7200.0), t1: Some(10_800.0) };
        assert!(!hour(Some(3600)).overlaps(&window));
        assert!(hour(Some(7200)).overlaps(&window));
        assert!(hour(Some(10_800)).overlaps(&window));
        assert!(!hour(Some(14_400)).overlaps(&window));
        assert!(hour(None).overlaps(&window) && hour(Some(0)).overlaps(&Window::ALL));
    }

    #[test]
    fn the_flat_file_comes_first_then_the_hours() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("phases")).unwrap();
        for name in
            ["phases/20260201_01.jsonl", "phases/20260131_23.jsonl", "phases/notes.txt", "phases.jsonl"]
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> = partitions(folder.path(), Stream::Phases)
            .unwrap()
            .into_iter()
            .map(|partition| partition.path.strip_prefix(folder.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["phases.jsonl", "phases/20260131_23.jsonl", "phases/20260201_01.jsonl"]);
        assert!(partitions(folder.path(), Stream::Metrics).unwrap().is_empty());
    }
}
