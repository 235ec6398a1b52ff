//! A run directory: its steps, their files, and which of them are still being written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::mirror::Mirror;
use super::{Batch, Error};
use crate::pt;

/// A rollout file younger than this is hidden, in seconds: `torch.save` may still be at it.
const HIDDEN_S: f64 = 10.0;
/// A file younger than this that cannot be decoded is taken to be unfinished, in seconds.
const UNFINISHED_S: f64 = 60.0;
/// How long to watch an older file that cannot be decoded for growth. A writer whose clock is behind
/// ours makes fresh files look old.
const WATCH: Duration = Duration::from_millis(250);

/// A step's name: its rollout id and whether it is an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId {
    /// Evaluation rather than train step.
    pub evaluation: bool,
    /// Rollout id.
    pub rollout_id: i64,
}

impl StepId {
    /// How its files are called: `12` or `eval_12`.
    pub fn stem(self) -> String {
        if self.evaluation { format!("eval_{}", self.rollout_id) } else { self.rollout_id.to_string() }
    }
}

/// Whether a step can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Complete, as far as can be told.
    Ready,
    /// Hidden because the job may still be writing it.
    Writing,
}

/// One trainer rank's file.
#[derive(Debug, Clone)]
pub struct TrainFile {
    /// Global rank.
    pub rank: u32,
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// The files of one step.
#[derive(Debug, Clone)]
pub struct StepFiles {
    /// Which step.
    pub id: StepId,
    /// `rollout_data/{rid}.pt`.
    pub rollout: PathBuf,
    /// Size of the rollout file.
    pub rollout_bytes: u64,
    /// When the rollout file was last written.
    pub modified: SystemTime,
    /// The trainer's files in order of rank; none for an evaluation.
    pub train: Vec<TrainFile>,
    /// A train file of the sibling framework slime (`train_data/{rid}.pt`), which is not joined.
    pub sibling: Option<PathBuf>,
    /// Whether it can be read yet.
    pub state: State,
}

impl StepFiles {
    /// Seconds since the rollout file was written; negative when the writer's clock is ahead of ours.
    pub fn age_s(&self) -> f64 {
        age_s(self.modified)
    }
}

/// A run directory, listed once.
#[derive(Debug, Clone)]
pub struct Run {
    dir: PathBuf,
    steps: BTreeMap<StepId, StepFiles>,
}

impl Run {
    /// Lists the dumps of a run directory. A run without dumps has no steps.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let mut steps = BTreeMap::new();
        let mut train: BTreeMap<i64, Vec<TrainFile>> = BTreeMap::new();
        let mut siblings: BTreeMap<i64, PathBuf> = BTreeMap::new();
        fs::metadata(&dir).map_err(|e| Error::io(&dir, e))?;
        for entry in list(&dir.join("train_data"))? {
            match entry.stem.split_once('_') {
                Some((rid, rank)) => {
                    let (Ok(rid), Ok(rank)) = (rid.parse(), rank.parse()) else { continue };
                    let Entry { path, bytes, modified, .. } = entry;
                    train.entry(rid).or_default().push(TrainFile { rank, path, bytes, modified });
                }
                None => {
                    if let Ok(rid) = entry.stem.parse() {
                        siblings.insert(rid, entry.path);
                    }
                }
            }
        }
        for entry in list(&dir.join("rollout_data"))? {
            let (evaluation, stem) = match entry.stem.strip_prefix("eval_") {
                Some(rest) => (true, rest),
                None => (false, entry.stem.as_str()),
            };
            let Ok(rollout_id) = stem.parse() else { continue };
            let id = StepId { evaluation, rollout_id };
            let mut files =
                if evaluation { Vec::new() } else { train.remove(&rollout_id).unwrap_or_default() };
            files.sort_by_key(|f| f.rank);
            // The job writes the train side strictly after the rollout file.
            let companion = files.iter().any(|f| f.rank == 0);
            let state = match age_s(entry.modified) {
                _ if companion => State::Ready,
                age if (0.0..HIDDEN_S).contains(&age) => State::Writing,
                // Written in our future: the clocks differ, so the age says nothing. The end record of the
                // archive is written last.
                age if age < 0.0 && !ends_like_an_archive(&entry.path) => State::Writing,
                _ => State::Ready,
            };
            let step = StepFiles {
                id,
                rollout: entry.path,
                rollout_bytes: entry.bytes,
                modified: entry.modified,
                train: files,
                sibling: if evaluation { None } else { siblings.remove(&rollout_id) },
                state,
            };
            steps.insert(id, step);
        }
        Ok(Self { dir, steps })
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every step, hidden ones too: train steps by id, then evaluations by id.
    pub fn all(&self) -> impl Iterator<Item = &StepFiles> {
        self.steps.values()
    }

    /// The steps that can be read, by id.
    pub fn ready(&self, evaluation: bool) -> impl DoubleEndedIterator<Item = &StepFiles> {
        self.steps.values().filter(move |s| s.id.evaluation == evaluation && s.state == State::Ready)
    }

    /// One step's files.
    ///
    /// # Errors
    /// [`Error::NoStep`], or [`Error::StillWriting`] for a hidden one.
    pub fn step(&self, rollout_id: i64, evaluation: bool) -> Result<&StepFiles, Error> {
        match self.steps.get(&StepId { evaluation, rollout_id }) {
            Some(step) if step.state == State::Writing => Err(Error::StillWriting {
                path: step.rollout.clone(),
                why: format!("written less than {HIDDEN_S:.0} s ago"),
            }),
            Some(step) => Ok(step),
            None => {
                let ids = || self.ready(evaluation).map(|s| s.id.rollout_id);
                let range = ids().next().zip(ids().next_back());
                Err(Error::NoStep { dir: self.dir.clone(), rollout_id, evaluation, range })
            }
        }
    }

    /// The newest step that can be read.
    ///
    /// # Errors
    /// [`Error::NoSteps`]; [`Error::StillWriting`] when the only one is being written.
    pub fn latest(&self, evaluation: bool) -> Result<&StepFiles, Error> {
        if let Some(step) = self.ready(evaluation).next_back() {
            return Ok(step);
        }
        match self.steps.values().find(|s| s.id.evaluation == evaluation) {
            Some(hidden) => self.step(hidden.id.rollout_id, evaluation),
            None => Err(Error::NoSteps { dir: self.dir.clone(), evaluation }),
        }
    }

    /// How many samples a step has: from its mirror when there is one, which takes no time, else from the
    /// rollout file.
    ///
    /// # Errors
    /// As [`Batch::open`].
    pub fn count_samples(&self, files: &StepFiles) -> Result<u64, Error> {
        match Mirror::open(&self.mirror_path(files.id)) {
            Ok(mirror) => {
                // The mirror of a file that is cut short says nothing about the file.
                pt::Archive::open(&files.rollout).map_err(judge)?;
                Ok(mirror.len())
            }
            Err(_) => Ok(Batch::open(&files.rollout)?.len() as u64),
        }
    }

    /// Where the job mirrors a step's per-token columns.
    pub fn mirror_path(&self, id: StepId) -> PathBuf {
        self.dir.join("dashboard_columns").join(format!("rollout_{}.parquet", id.stem()))
    }

    /// Where the job records a step's conversations.
    pub fn conversation_path(&self, id: StepId) -> PathBuf {
        self.dir.join("trajectory").join(format!("{}.jsonl", id.stem()))
    }
}

struct Entry {
    stem: String,
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

/// The `.pt` files of a folder; none when there is no folder. A file that vanishes meanwhile is left out.
fn list(dir: &Path) -> Result<Vec<Entry>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(dir, e)),
    };
    let mut out = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Error::io(dir, e))?.path();
        if path.extension().is_none_or(|e| e != "pt") {
            continue;
        }
        let Some(stem) = path.file_stem().and_then(|s| s.to_str()).map(str::to_owned) else { continue };
        // Links are followed: runs are often spread over file systems.
        // One that leads nowhere, a folder or a pipe is listed too: reading it says what it is, where a step
        // that is left out would only seem never to have been written.
        let Ok(meta) = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path)) else { continue };
        let modified = meta.modified().map_err(|e| Error::io(&path, e))?;
        let bytes = if meta.is_file() { meta.len() } else { 0 };
        out.push(Entry { stem, path, bytes, modified });
    }
    Ok(out)
}

/// Seconds since a file was written; negative when the writer's clock is ahead of ours.
fn age_s(modified: SystemTime) -> f64 {
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
