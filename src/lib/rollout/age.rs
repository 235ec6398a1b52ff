//! Which files are still being written, as far as times, sizes and a look at the end can tell.
//!
//! The trainer's file of a step is written after the rollout file is complete. Where there is none, the
//! rollout file's age decides: below 10 s it may still be written. A time that lies in our future says that
//! the writer's clock is ahead of ours, not how old the file is. Then the end record of the archive decides,
//! which is written last; and where that is missing, our own clock: a file that has kept its size and time for
//! 60 s since this process first looked at it is not being written, whatever its time says, and reading it
//! tells what is wrong. So no skew hides a step from a server for ever; a process that looks once says that
//! the time lies in the future.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::Error;
use crate::pt;

/// A rollout file younger than this is hidden, in seconds: `torch.save` may still be at it.
const HIDDEN_S: f64 = 10.0;
/// A file younger than this that cannot be decoded is taken to be unfinished, in seconds.
const UNFINISHED_S: f64 = 60.0;
/// How long to watch an older file that cannot be decoded for growth. A writer whose clock is behind
/// ours makes fresh files look old.
const WATCH: Duration = Duration::from_millis(250);

/// How long a file whose time lies in the future must stay what it is until it is believed to be written.
const UNCHANGED: Duration = Duration::from_secs(60);

/// Files without an end whose time lies in the future. Kept for the process, since a listing is replaced
/// whenever a folder changes.
static SEEN_FROM_THE_FUTURE: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);

/// Size and time of files, and since when they have had them, by our own clock.
#[derive(Debug, Default)]
struct Seen(HashMap<PathBuf, (u64, SystemTime, Instant)>);

impl Seen {
    /// For how long a file has been what it is, as far as it was looked at.
    fn unchanged(&mut self, path: &Path, modified: SystemTime, now: Instant) -> Duration {
        let bytes = fs::metadata(path).map_or(0, |m| m.len());
        let seen = self.0.entry(path.to_owned()).or_insert((bytes, modified, now));
        if (seen.0, seen.1) != (bytes, modified) {
            *seen = (bytes, modified, now);
        }
        now.saturating_duration_since(seen.2)
    }
}

/// Whether a rollout file without a train side may still be written, by when it was `modified`.
pub(super) fn may_be_unfinished(path: &Path, modified: SystemTime) -> bool {
    let age = age_s(modified);
    if age >= 0.0 || ends_like_an_archive(path) {
        return (0.0..HIDDEN_S).contains(&age);
    }
    let mut seen = SEEN_FROM_THE_FUTURE.lock().unwrap_or_else(PoisonError::into_inner);
    seen.unchanged(path, modified, Instant::now()) < UNCHANGED
}

/// Why such a file is taken to be unfinished.
pub(super) fn why_unfinished(modified: SystemTime) -> String {
    match age_s(modified) {
        age if age < 0.0 => format!("its end is missing, and its time lies {:.0} s in the future", -age),
        _ => format!("written less than {HIDDEN_S:.0} s ago"),
    }
}

/// Seconds since a file was written; negative when the writer's clock is ahead of ours.
pub(super) fn age_s(modified: SystemTime) -> f64 {
    match SystemTime::now().duration_since(modified) {
        Ok(age) => age.as_secs_f64(),
        Err(e) => -e.duration().as_secs_f64(),
    }
}

fn ends_like_an_archive(path: &Path) -> bool {
    !matches!(pt::Archive::open(path), Err(e) if e.may_be_unfinished())
}

/// Turns a decoding failure of a file that is still being written into [`Error::StillWriting`].
pub fn judge(error: pt::Error) -> Error {
    if !error.may_be_unfinished() {
        return Error::Pt(error);
    }
    let look = || fs::metadata(&error.path).ok().and_then(|m| Some((m.len(), m.modified().ok()?)));
    let Some(before) = look() else { return Error::Pt(error) };
    let fresh = (0.0..UNFINISHED_S).contains(&age_s(before.1));
    if !fresh {
        std::thread::sleep(WATCH);
    }
    if fresh || look() != Some(before) {
        return Error::StillWriting { path: error.path.clone(), why: error.kind.to_string() };
    }
    Error::Pt(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_from_the_future_is_watched_by_our_own_clock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.pt");
        fs::write(&path, "cut").unwrap();
        let ahead = SystemTime::now() + Duration::from_secs(3600);
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut seen = Seen::default();
        assert_eq!(seen.unchanged(&path, ahead, start), Duration::ZERO);
        assert_eq!(seen.unchanged(&path, ahead, start + 59 * second), 59 * second);
        fs::write(&path, "cut later").unwrap();
        assert_eq!(seen.unchanged(&path, ahead, start + 60 * second), Duration::ZERO);
        assert_eq!(seen.unchanged(&path, ahead + second, start + 61 * second), Duration::ZERO);
        assert_eq!(seen.unchanged(&path, ahead + second, start + 121 * second), UNCHANGED);
    }
}
