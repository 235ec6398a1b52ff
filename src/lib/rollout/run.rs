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

/// A run directory: names are listed once, files are looked at when their step is asked for. On a
/// network file system a long run has more files than anybody wants to wait for.
#[derive(Debug, Clone)]
pub struct Run {
    dir: PathBuf,
    steps: BTreeMap<StepId, Names>,
}

/// What the listing says of one step.
#[derive(Debug, Clone, Default)]
struct Names {
    rollout: PathBuf,
    /// By rank.
    train: BTreeMap<u32, PathBuf>,
    sibling: Option<PathBuf>,
}

impl Names {
    /// The job writes the train side strictly after the rollout file.
    fn is_complete(&self) -> bool {
        self.train.contains_key(&0)
    }

    /// Whether it can be read, by when the rollout file was written.
    fn state(&self, modified: SystemTime) -> State {
        match age_s(modified) {
            _ if self.is_complete() => State::Ready,
            age if (0.0..HIDDEN_S).contains(&age) => State::Writing,
            // Written in our future: the clocks differ, so the age says nothing. The end record of the
            // archive is written last.
            age if age < 0.0 && !ends_like_an_archive(&self.rollout) => State::Writing,
            _ => State::Ready,
        }
    }
}

impl Run {
    /// Lists the dumps of a run directory. A run without dumps has no steps.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        fs::metadata(&dir).map_err(|e| Error::io(&dir, e))?;
        let mut steps: BTreeMap<StepId, Names> = BTreeMap::new();
        for (stem, path) in list(&dir.join("rollout_data"))? {
            let (evaluation, id) = match stem.strip_prefix("eval_") {
                Some(rest) => (true, rest),
                None => (false, stem.as_str()),
            };
            let Ok(rollout_id) = id.parse() else { continue };
            steps.insert(StepId { evaluation, rollout_id }, Names { rollout: path, ..Names::default() });
        }
        for (stem, path) in list(&dir.join("train_data"))? {
            let (rid, rank) = match stem.split_once('_') {
                Some((rid, rank)) => (rid, Some(rank)),
                None => (stem.as_str(), None),
            };
            let Ok(rollout_id) = rid.parse() else { continue };
            let Some(names) = steps.get_mut(&StepId { evaluation: false, rollout_id }) else { continue };
            match rank.map(str::parse) {
                Some(Ok(rank)) => drop(names.train.insert(rank, path)),
                Some(Err(_)) => {}
                None => names.sibling = Some(path),
            }
        }
        Ok(Self { dir, steps })
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Ids of the train or evaluation steps there are, hidden ones too.
    pub fn ids(&self, evaluation: bool) -> impl DoubleEndedIterator<Item = i64> {
        self.steps.keys().filter(move |id| id.evaluation == evaluation).map(|id| id.rollout_id)
    }

    /// Whether a step can be read yet; `None` when there is none or its file is gone. Looks at one file
    /// at most, and at none where the trainer has dumped its side.
    pub fn state(&self, id: StepId) -> Option<State> {
        let names = self.steps.get(&id)?;
        if names.is_complete() {
            return Some(State::Ready);
        }
        size_and_time(&names.rollout).ok().map(|(_, modified)| names.state(modified))
    }

    /// Every step, hidden ones too: train steps by id, then evaluations by id.
    pub fn all(&self) -> impl ExactSizeIterator<Item = Result<StepFiles, Error>> {
        self.steps.iter().map(|(id, names)| look(*id, names))
    }

    /// One step's files.
    ///
    /// # Errors
    /// [`Error::NoStep`], or [`Error::StillWriting`] for a hidden one.
    pub fn step(&self, rollout_id: i64, evaluation: bool) -> Result<StepFiles, Error> {
        let id = StepId { evaluation, rollout_id };
        let Some(names) = self.steps.get(&id) else {
            let range = self.ids(evaluation).next().zip(self.ids(evaluation).next_back());
            return Err(Error::NoStep { dir: self.dir.clone(), rollout_id, evaluation, range });
        };
        match look(id, names)? {
            step if step.state == State::Writing => Err(Error::StillWriting {
                path: step.rollout,
                why: format!("written less than {HIDDEN_S:.0} s ago"),
            }),
            step => Ok(step),
        }
    }

    /// The newest step that can be read.
    ///
    /// # Errors
    /// [`Error::NoSteps`]; [`Error::StillWriting`] when all of them are being written.
    pub fn latest(&self, evaluation: bool) -> Result<StepFiles, Error> {
        let mut hidden = None;
        for rollout_id in self.ids(evaluation).rev() {
            match self.step(rollout_id, evaluation) {
                Err(e @ Error::StillWriting { .. }) => hidden = Some(e),
                other => return other,
            }
        }
        Err(hidden.unwrap_or(Error::NoSteps { dir: self.dir.clone(), evaluation }))
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

/// Stem and path of the `.pt` files of a folder; none when there is no folder.
fn list(dir: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(dir, e)),
    };
    let mut out = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Error::io(dir, e))?.path();
        if path.extension().is_some_and(|e| e == "pt") {
            // A name that is not UTF-8 is no step's.
            out.extend(path.file_stem().and_then(|s| s.to_str()).map(str::to_owned).map(|stem| (stem, path)));
        }
    }
    Ok(out)
}

/// Looks at the files of one step.
fn look(id: StepId, names: &Names) -> Result<StepFiles, Error> {
    let (rollout_bytes, modified) = size_and_time(&names.rollout)?;
    // A rank's file that vanishes meanwhile is told by the command that reads it.
    let file = |(&rank, path): (&u32, &PathBuf)| {
        let bytes = size_and_time(path).map_or(0, |(bytes, _)| bytes);
        TrainFile { rank, path: path.clone(), bytes }
    };
    Ok(StepFiles {
        id,
        rollout: names.rollout.clone(),
        rollout_bytes,
        modified,
        train: names.train.iter().map(file).collect(),
        sibling: names.sibling.clone(),
        state: names.state(modified),
    })
}

/// Links are followed: runs are often spread over file systems. One that leads nowhere, a folder or a
/// pipe has a size of 0: reading it says what it is, where a step that is left out would only seem never
/// to have been written.
fn size_and_time(path: &Path) -> Result<(u64, SystemTime), Error> {
    let io = |e| Error::io(path, e);
    let meta = fs::metadata(path).or_else(|_| fs::symlink_metadata(path)).map_err(io)?;
    Ok((if meta.is_file() { meta.len() } else { 0 }, meta.modified().map_err(io)?))
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
