//! A run directory: its steps and their files.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fmt, fs};

use super::mirror::Mirror;
use super::{Batch, Error, age};
use crate::pt;

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

/// Whether a step can be read; `age` says how that is judged.
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
        age::age_s(self.modified)
    }
}

/// A run directory: names are listed once, files are looked at when their step is asked for. On a
/// network file system a long run has more files than anybody wants to wait for.
#[derive(Debug, Clone)]
pub struct Run {
    dir: PathBuf,
    steps: BTreeMap<StepId, Names>,
    doubles: Vec<Double>,
}

/// Two files that claim to be the same, as `7.pt` and `007.pt` do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Double {
    /// The one that is read: named as the job names it, else the first by name.
    pub used: PathBuf,
    /// The one that is not.
    pub ignored: PathBuf,
}

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.used.file_name().unwrap_or_default().display();
        write!(f, "{}: ignored, {name} is the same step", self.ignored.display())
    }
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
        if self.is_complete() || !age::may_be_unfinished(&self.rollout, modified) {
            State::Ready
        } else {
            State::Writing
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
        let mut doubles = Vec::new();
        for (stem, path) in list(&dir.join("rollout_data"))? {
            let (evaluation, id) = match stem.strip_prefix("eval_") {
                Some(rest) => (true, rest),
                None => (false, stem.as_str()),
            };
            let Ok(rollout_id) = id.parse() else { continue };
            let id = StepId { evaluation, rollout_id };
            match steps.entry(id) {
                Entry::Vacant(entry) => drop(entry.insert(Names { rollout: path, ..Names::default() })),
                Entry::Occupied(mut entry) => {
                    doubles.push(choose(&mut entry.get_mut().rollout, path, &id.stem()));
                }
            }
        }
        for (stem, path) in list(&dir.join("train_data"))? {
            let (rid, rank) = match stem.split_once('_') {
                Some((rid, rank)) => (rid, Some(rank)),
                None => (stem.as_str(), None),
            };
            let Ok(rollout_id) = rid.parse() else { continue };
            let Some(names) = steps.get_mut(&StepId { evaluation: false, rollout_id }) else { continue };
            match rank.map(str::parse) {
                Some(Ok(rank)) => match names.train.entry(rank) {
                    Entry::Vacant(entry) => drop(entry.insert(path)),
                    Entry::Occupied(mut entry) => {
                        doubles.push(choose(entry.get_mut(), path, &format!("{rollout_id}_{rank}")));
                    }
                },
                Some(Err(_)) => {}
                None => names.sibling = Some(path),
            }
        }
        Ok(Self { dir, steps, doubles })
    }

    /// Files that are not read because another one is the same step's, or the same rank's of a step.
    pub fn doubles(&self) -> &[Double] {
        &self.doubles
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
            let known = self.ids(evaluation).collect();
            return Err(Error::NoStep { dir: self.dir.clone(), rollout_id, evaluation, known });
        };
        match look(id, names)? {
            step if step.state == State::Writing => {
                let why = age::why_unfinished(step.modified);
                Err(Error::StillWriting { path: step.rollout, why })
            }
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
                pt::Archive::open(&files.rollout).map_err(age::judge)?;
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

/// Leaves in `used` the file that the job would have written, whatever order a folder lists them in.
fn choose(used: &mut PathBuf, other: PathBuf, stem: &str) -> Double {
    let rank = |path: &Path| (path.file_stem().is_none_or(|s| s != stem), path.to_owned());
    let ignored = if rank(&other) < rank(used) { std::mem::replace(used, other) } else { other };
    Double { used: used.clone(), ignored }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_files_of_a_step_the_one_with_its_own_name_is_read() {
        for names in [["7.pt", "007.pt"], ["007.pt", "7.pt"]] {
            let mut used = PathBuf::from(names[0]);
            let double = choose(&mut used, names[1].into(), "7");
            assert_eq!((used.as_path(), double.ignored.as_path()), (Path::new("7.pt"), Path::new("007.pt")));
        }
    }
}
