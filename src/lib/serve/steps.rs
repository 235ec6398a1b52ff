//! The run's steps as the server holds them: the listing, which of them can be read by now, a few that
//! are held open, and every train step reduced to its `dump/*` values.
//!
//! Nothing is believed for longer than its files stay what they were: a step's version is made of the
//! sizes and times of its files, looked at each time it is asked for.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use rayon::prelude::*;

use super::notes::Notes;
use crate::rollout::cache::{Cache, CacheError};
use crate::rollout::conversation::Index;
use crate::rollout::steps::Step;
use crate::rollout::summary::Summary;
use crate::rollout::{Batch, Error, Run, State, StepFiles, StepId, Train, kept};

/// Train steps whose files are looked at for a change on each round, beside the newest: a resumed job
/// writes over steps that it had done.
const LOOKED_AT: usize = 56;
/// The newest ones, on every round.
const NEWEST: usize = 8;

/// The steps of a run.
#[derive(Debug)]
pub(super) struct Steps {
    run: RwLock<Arc<Run>>,
    listed: Mutex<Listed>,
    /// Steps that could be read once; they are not looked at again for that.
    ready: Mutex<BTreeSet<StepId>>,
    /// Least recently used first.
    open: Mutex<Vec<Arc<OpenStep>>>,
    most_open: usize,
    cache: Option<Cache>,
    cache_told: AtomicBool,
    /// By rollout id: the version and the values.
    series: Mutex<HashMap<i64, (u64, Arc<Step>)>>,
    /// Grows when the listing or a looked-at step changes.
    generation: AtomicU64,
    notes: Notes,
}

/// When the folders had which time, and where the round of looking is.
#[derive(Debug, Default)]
struct Listed {
    folders: [Option<SystemTime>; 2],
    /// Steps that were ready in an earlier round.
    told: BTreeSet<StepId>,
    versions: HashMap<StepId, u64>,
    next: usize,
}

impl Steps {
    pub(super) fn open(
        dir: &Path,
        most_open: usize,
        cache: Option<Cache>,
        notes: Notes,
    ) -> Result<Self, Error> {
        let folders = folder_times(dir);
        let run = Run::open(dir)?;
        let this = Self {
            run: RwLock::new(Arc::new(run)),
            listed: Mutex::new(Listed { folders, ..Listed::default() }),
            ready: Mutex::default(),
            open: Mutex::default(),
            most_open: most_open.max(1),
            cache,
            cache_told: AtomicBool::new(false),
            series: Mutex::default(),
            generation: AtomicU64::new(0),
            notes,
        };
        this.tell_doubles();
        lock(&this.listed).told = this.ready_ids();
        Ok(this)
    }

    pub(super) fn run(&self) -> Arc<Run> {
        Arc::clone(&self.run.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell_doubles(&self) {
        for double in self.run().doubles() {
            self.notes.once(&double.to_string());
        }
    }

    /// Train and evaluation steps that can be read by now.
    pub(super) fn ids(&self) -> (Vec<i64>, Vec<i64>) {
        let run = self.run();
        let mut ready = lock(&self.ready);
        let mut of = |evaluation: bool| -> Vec<i64> {
            let is_ready = |&rollout_id: &i64| {
                let id = StepId { evaluation, rollout_id };
                ready.contains(&id) || run.state(id) == Some(State::Ready) && ready.insert(id)
            };
            run.ids(evaluation).filter(is_ready).collect()
        };
        (of(false), of(true))
    }

    fn ready_ids(&self) -> BTreeSet<StepId> {
        let (train, eval) = self.ids();
        let named = |evaluation, ids: Vec<i64>| {
            ids.into_iter().map(move |rollout_id| StepId { evaluation, rollout_id })
        };
        named(false, train).chain(named(true, eval)).collect()
    }

    /// A number that differs when the answers about all steps can.
    pub(super) fn version(&self) -> u64 {
        let (train, eval) = self.ids();
        hash((self.generation.load(Ordering::Acquire), train.len(), eval.len()))
    }

    /// One step, opened or still open.
    ///
    /// # Errors
    /// There is none, or it is being written.
    pub(super) fn step(&self, rollout_id: i64, evaluation: bool) -> Result<Arc<OpenStep>, Error> {
        let run = self.run();
        let files = run.step(rollout_id, evaluation)?;
        let version = version(&run, &files);
        let mut open = lock(&self.open);
        if let Some(at) = open.iter().position(|step| step.files.id == files.id) {
            let step = open.remove(at);
            if step.version == version {
                open.push(Arc::clone(&step));
                return Ok(step);
            }
        }
        if open.len() >= self.most_open {
            open.remove(0);
        }
        let step = Arc::new(OpenStep::new(&run, files, version));
        open.push(Arc::clone(&step));
        Ok(step)
    }

    /// The newest train step that can be read, if any.
    pub(super) fn newest(&self) -> Option<Arc<OpenStep>> {
        let (train, _) = self.ids();
        train.iter().rev().find_map(|&rollout_id| self.step(rollout_id, false).ok())
    }

    /// A step's summary.
    ///
    /// # Errors
    /// As [`Summary::read`].
    pub(super) fn summary(&self, step: &OpenStep) -> Result<Arc<Summary>, Error> {
        step.summary.get(|| self.read_summary(&step.files))
    }

    fn read_summary(&self, files: &StepFiles) -> Result<Summary, Error> {
        let kept = kept::summary(files, self.cache.as_ref())?;
        match kept.not_stored {
            // Old enough next time.
            None | Some(CacheError::TooNew { .. } | CacheError::Changed { .. }) => {}
            Some(why) if !self.cache_told.swap(true, Ordering::Relaxed) => {
                self.notes.detail(&format!("summaries are not kept on disk: {why}"));
            }
            Some(_) => {}
        }
        Ok(kept.summary)
    }

    /// The `dump/*` values of every train step that can be read, in order. A step that cannot be read is
    /// left out and told once for each state of its files.
    pub(super) fn series(&self) -> Vec<Arc<Step>> {
        let run = self.run();
        let (ids, _) = self.ids();
        let one = |rollout_id: i64| -> Option<Arc<Step>> {
            let files = run.step(rollout_id, false).ok()?;
            let version = version(&run, &files);
            if let Some((have, step)) = lock(&self.series).get(&rollout_id)
                && *have == version
            {
                return Some(Arc::clone(step));
            }
            let open =
                lock(&self.open).iter().find(|s| s.files.id == files.id && s.version == version).cloned();
            // Not through the open step: its lock is held while others of these threads read.
            let summary = match open.and_then(|step| step.summary.peek()) {
                Some(summary) => Ok(summary),
                None => self.read_summary(&files).map(Arc::new),
            };
            match summary {
                Ok(summary) => {
                    let step = Arc::new(Step::of(&summary));
                    lock(&self.series).insert(rollout_id, (version, Arc::clone(&step)));
                    Some(step)
                }
                Err(e) => {
                    self.notes.once(&format!("step {rollout_id} is left out of dump/*: {e}"));
                    None
                }
            }
        };
        ids.into_par_iter().filter_map(one).collect()
    }

    /// Looks for new steps and for changes of known ones.
    pub(super) fn refresh(&self) -> BTreeSet<StepId> {
        let mut changed = BTreeSet::new();
        let mut listed = lock(&self.listed);
        let folders = folder_times(self.run().dir());
        if folders != listed.folders {
            match Run::open(self.run().dir()) {
                Ok(run) => {
                    *self.run.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(run);
                    listed.folders = folders;
                    self.tell_doubles();
                }
                Err(e) => self.notes.once(&format!("steps are not listed anew: {e}")),
            }
            // A folder's time moves in steps of its file system's clock: one listing more makes sure.
            if recent(&folders) {
                listed.folders = Default::default();
            }
        }
        let run = self.run();
        let ids: Vec<StepId> = [false, true]
            .into_iter()
            .flat_map(|evaluation| {
                run.ids(evaluation).map(move |rollout_id| StepId { evaluation, rollout_id })
            })
            .collect();
        let newest = ids.iter().rev().take(NEWEST);
        let from = if listed.next < ids.len() { listed.next } else { 0 };
        let round = ids.iter().skip(from).take(LOOKED_AT);
        for &id in newest.chain(round) {
            let Ok(files) = run.step(id.rollout_id, id.evaluation) else { continue };
            let now = version(&run, &files);
            if listed.versions.insert(id, now).is_some_and(|before| before != now) {
                changed.insert(id);
            }
        }
        listed.next = from + LOOKED_AT;
        let ready = self.ready_ids();
        changed.extend(ready.difference(&listed.told).copied());
        listed.told = ready;
        if !changed.is_empty() {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        changed
    }
}

fn recent(folders: &[Option<SystemTime>; 2]) -> bool {
    let is = |t: &SystemTime| SystemTime::now().duration_since(*t).is_ok_and(|age| age.as_secs() < 3);
    folders.iter().flatten().any(is)
}

fn folder_times(dir: &Path) -> [Option<SystemTime>; 2] {
    ["rollout_data", "train_data"].map(|name| fs::metadata(dir.join(name)).and_then(|m| m.modified()).ok())
}

/// Sizes and times of all that a step's answers are made from.
fn version(run: &Run, files: &StepFiles) -> u64 {
    let tokenizer = run.dir().join("tokenizer").join("tokenizer.json");
    let beside = [run.mirror_path(files.id), run.conversation_path(files.id), tokenizer];
    let train = files.train.iter().map(|f| f.path.as_path());
    let all =
        std::iter::once(files.rollout.as_path()).chain(train).chain(beside.iter().map(PathBuf::as_path));
    let look = |path| fs::metadata(path).ok().map(|m: fs::Metadata| (m.len(), m.modified().ok()));
    hash(all.map(look).collect::<Vec<_>>())
}

pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A step held open: what was decoded of it once is not decoded again.
#[derive(Debug)]
pub(super) struct OpenStep {
    pub(super) files: StepFiles,
    pub(super) version: u64,
    pub(super) mirror: PathBuf,
    pub(super) conversations: PathBuf,
    train: Once<Train>,
    batch: Once<Batch>,
    summary: Once<Summary>,
    index: Once<Index>,
}

impl OpenStep {
    fn new(run: &Run, files: StepFiles, version: u64) -> Self {
        Self {
            mirror: run.mirror_path(files.id),
            conversations: run.conversation_path(files.id),
            files,
            version,
            train: Once::default(),
            batch: Once::default(),
            summary: Once::default(),
            index: Once::default(),
        }
    }

    pub(super) fn train(&self) -> Result<Arc<Train>, Error> {
        self.train.get(|| Train::open(&self.files))
    }

    /// Where its conversations lie.
    pub(super) fn index(&self) -> Result<Arc<Index>, Error> {
        self.index.get(|| Index::read(&self.conversations))
    }

    pub(super) fn batch(&self) -> Result<Arc<Batch>, Error> {
        self.batch.get(|| Batch::open(&self.files.rollout))
    }
}

/// A value that is made when it is first wanted, by whoever comes first; a failure is not kept.
///
/// Making one uses rayon's threads, so those must never wait for one: see [`Once::peek`].
#[derive(Debug)]
struct Once<T>(Mutex<Option<Arc<T>>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Once<T> {
    fn get(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<Arc<T>, Error> {
        let mut value = lock(&self.0);
        if let Some(value) = &*value {
            return Ok(Arc::clone(value));
        }
        let made = Arc::new(make()?);
        *value = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The value if it is there, without waiting.
    fn peek(&self) -> Option<Arc<T>> {
        self.0.try_lock().ok()?.clone()
    }
}

/// A poisoned lock guards something whole all the same: values are replaced, never half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
