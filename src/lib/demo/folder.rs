//! The folder that a demo run lives in: whose it is, and how files get into it.
//!
//! `demo.json` marks a folder as a demo run and lists the files that were written. A demo run may be
//! written over; what others put there is never touched. A file appears under its name when it is
//! whole, with a modification time in the past, as if the run had ended a while ago: readers hide
//! files that could still be growing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::telemetry::Ms;
use super::{Error, Settings};
use crate::record::Stream;
use crate::telemetry::DASHBOARD;

/// The marker's name.
const MARKER: &str = "demo.json";
const MADE_BY: &str = "miles demo";
/// Folders that a demo run has files in.
const PARTS: [&str; 6] =
    ["rollout_data", "train_data", "dashboard_columns", "trajectory", "tokenizer", DASHBOARD];
/// The newest file is this old: more than the minute in which a reader takes damage for growth.
const NEWEST_AGE: Duration = Duration::from_secs(120);
/// Time between steps of a run that is over.
const STEP: Duration = Duration::from_secs(300);
/// Large enough that a write costs nothing beside making the bytes.
const BUFFER: usize = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    made_by: String,
    /// For people; never read.
    #[serde(skip_deserializing)]
    settings: BTreeMap<&'static str, u64>,
    files: Vec<String>,
}

/// When a file was written, as its readers shall believe.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written {
    /// Before the first step.
    AtStart,
    /// When the step's batch was complete.
    Rollout(u32),
    /// When the step was trained.
    Train(u32),
    /// When the run ended.
    AtEnd,
    /// When it really was.
    Now,
}

/// A folder that is ours to write to.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    /// Modification time of the last step's train files.
    end: SystemTime,
    /// One more than the id of the last step.
    steps: u32,
    /// Time between two steps; a third of it is between a step's rollout files and its train files.
    step: Duration,
    marker: Marker,
}

impl Folder {
    /// Makes the folder, or takes over a demo run and removes its files. The last step was trained at
    /// `trained`, Unix ms, or a while ago.
    pub(super) fn claim(
        root: &Path,
        settings: &Settings,
        files: Vec<String>,
        trained: Option<Ms>,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Io { path: root.to_owned(), source };
        if root.exists() && !root.is_dir() {
            return Err(Error::NotAFolder { path: root.to_owned() });
        }
        match read_marker(root) {
            Some(old) => remove_all(root, &old.files)?,
            None if root.exists() && fs::read_dir(root).map_err(failed)?.next().is_some() => {
                return Err(Error::NotOurs { path: root.to_owned() });
            }
            None => fs::create_dir_all(root).map_err(failed)?,
        }
        let minutes = Duration::from_secs(u64::from(settings.minutes) * 60);
        let (end, step) = match trained {
            Some(ms) => (
                UNIX_EPOCH + Duration::from_millis(ms.try_into().unwrap_or_default()),
                minutes / settings.run_steps(),
            ),
            None => (SystemTime::now() - NEWEST_AGE, STEP),
        };
        let marker = Marker { made_by: MADE_BY.into(), settings: settings.listed().into(), files };
        let folder = Self { root: root.to_owned(), end, steps: settings.run_steps(), step, marker };
        // First of all, so that a run that is interrupted is known for what it is.
        folder.mark()?;
        let mut parents: Vec<&Path> =
            folder.marker.files.iter().filter_map(|name| Path::new(name).parent()).collect();
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            let path = root.join(parent);
            fs::create_dir_all(&path).map_err(|source| Error::Io { path, source })?;
        }
        Ok(folder)
    }

    fn mark(&self) -> Result<(), Error> {
        self.write(MARKER, Written::Now, |mut out| {
            serde_json::to_writer_pretty(&mut out, &self.marker)?;
            out.write_all(b"\n")?;
            Ok(out)
        })?;
        Ok(())
    }

    /// Adds files to the marker, before they are there.
    pub(super) fn list(&mut self, names: impl IntoIterator<Item = String>) -> Result<(), Error> {
        self.marker.files.extend(names);
        self.mark()
    }

    /// Appends complete lines to a file, in one write. Answers whether the file is new.
    pub(super) fn append(&mut self, name: &str, lines: &[u8]) -> Result<bool, Error> {
        let path = self.root.join(name);
        let is_new = !path.exists();
        if is_new && !self.marker.files.iter().any(|listed| listed == name) {
            self.list([name.to_owned()])?;
        }
        let opened = File::options().append(true).create(true).open(&path);
        opened.and_then(|mut file| file.write_all(lines)).map_err(|source| Error::Io { path, source })?;
        Ok(is_new)
    }

    /// Writes one file, named by its path in the folder. Answers its size in bytes.
    pub(super) fn write(
        &self,
        name: &str,
        written: Written,
        fill: impl FnOnce(BufWriter<File>) -> io::Result<BufWriter<File>>,
    ) -> Result<u64, Error> {
        let path = self.root.join(name);
        let failed = |source| Error::Io { path: path.clone(), source };
        let unfinished = unfinished(&path);
        let write = || -> io::Result<u64> {
            let out = fill(BufWriter::with_capacity(BUFFER, File::create(&unfinished)?))?;
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            if let Some(time) = self.time(written) {
                file.set_modified(time)?;
            }
            let bytes = file.metadata()?.len();
            fs::rename(&unfinished, &path)?;
            Ok(bytes)
        };
        write().map_err(|source| {
            // The first failure is what counts; the rest may be gone already.
            let _ = fs::remove_file(&unfinished);
            failed(source)
        })
    }

    fn time(&self, written: Written) -> Option<SystemTime> {
        let before_end = |rid: u32| self.step * self.steps.saturating_sub(rid + 1);
        let training = self.step / 3;
        match written {
            Written::AtStart => Some(self.end - self.step * self.steps - training),
            Written::Rollout(rid) => Some(self.end - before_end(rid) - training),
            Written::Train(rid) => Some(self.end - before_end(rid)),
            Written::AtEnd => Some(self.end),
            Written::Now => None,
        }
    }
}

/// Where a file grows until it is whole.
fn unfinished(path: &Path) -> PathBuf {
    let leaf = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{leaf}.tmp"))
}

fn read_marker(root: &Path) -> Option<Marker> {
    let text = fs::read(root.join(MARKER)).ok()?;
    serde_json::from_slice(&text).ok().filter(|marker: &Marker| marker.made_by == MADE_BY)
}

/// Removes an earlier demo run's files. The list is a file's content, so only plain names within our
/// own folders are believed.
fn remove_all(root: &Path, files: &[String]) -> Result<(), Error> {
    let is_ours = |name: &&String| {
        let mut parts = Path::new(name.as_str()).components();
        let folder = parts.next().and_then(|part| part.as_os_str().to_str());
        folder.is_some_and(|folder| PARTS.contains(&folder))
            && matches!(parts.next(), Some(Component::Normal(_)))
            && parts.next().is_none()
            || is_partition(name)
    };
    for name in files.iter().filter(is_ours) {
        let path = root.join(name);
        for path in [unfinished(&path), path] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::Io { path, source });
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether this names a file in the folder of an hourly stream.
fn is_partition(name: &str) -> bool {
    let mut parts = name.split('/');
    parts.next() == Some(DASHBOARD)
        && parts.next().is_some_and(|stream| Stream::OF_JOB.iter().any(|known| known.name() == stream))
        && parts.next().is_some_and(|leaf| leaf.ends_with(".jsonl"))
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_is_taken_over_with_what_it_left_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        let files = vec!["rollout_data/0.pt".to_owned()];
        Folder::claim(dir.path(), &Settings::default(), files.clone(), None).unwrap();
        let left = unfinished(&dir.path().join(&files[0]));
        fs::write(&left, "half").unwrap();
        Folder::claim(dir.path(), &Settings::default(), Vec::new(), None).unwrap();
        assert!(!left.exists());
    }

    #[test]
    fn a_marker_that_points_elsewhere_removes_nothing_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("run");
        fs::create_dir_all(root.join("rollout_data/deep")).unwrap();
        let kept = ["../secret", "notes.txt", "rollout_data/deep/x.pt"];
        for name in kept {
            fs::write(root.join(name), "mine").unwrap();
        }
        let listed: Vec<String> = kept.iter().map(|name| (*name).to_owned()).collect();
        remove_all(&root, &listed).unwrap();
        let absolute = dir.path().join("secret").to_string_lossy().into_owned();
        remove_all(&root, &[absolute, "rollout_data/../../secret".into()]).unwrap();
        for name in kept {
            assert!(root.join(name).exists(), "{name}");
        }
    }
}
