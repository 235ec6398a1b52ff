//! The HTTP server: everything that a page or a script asks of a run.
//!
//! | file | job |
//! | --- | --- |
//! | [`router`] (`routes`) | which path is whose |
//! | `rollout`, `metrics`, `meta`, `timeline`, `advisory` | a handler a route: arguments, version, work |
//! | `query` | arguments |
//! | `answer`, `answers` | a finished answer; those that are kept |
//! | `pool` | threads for work, so that no answer holds the reactor up |
//! | `steps` | steps held open |
//! | `events`, `follow` | what changed, told while a run is being written |
//! | [`access`] | who may ask |
//! | [`shrunk`] | files that are cut while they are read |
//! | `assets`, `page` | the web view's files; pages without it |
//! | `guard` | limits, security headers, the log line |
//! | [`listen`] | sockets |
//!
//! A handler reads its arguments, names the question (`key`) and the version of the data that the answer
//! is made from, and leaves the work to `App::reply`: that looks among the kept answers, lets one of
//! several identical questions do the work, and sends what the client's headers ask for. Nothing here
//! prints; what is worth saying goes to [`Notes`].

pub mod access;
mod advisory;
mod answer;
mod answers;
mod assets;
mod events;
mod follow;
mod guard;
pub mod listen;
mod meta;
mod metrics;
mod notes;
mod openapi;
mod page;
mod pool;
mod problem;
mod query;
mod rollout;
mod routes;
mod rows;
pub mod shrunk;
mod steps;
mod timeline;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::response::Response;
use tokio::sync::watch;

pub use self::access::Access;
use self::answer::{Content, Encoding};
use self::answers::Answers;
use self::events::Events;
pub use self::notes::{Level, Notes};
use self::pool::Pool;
pub use self::problem::Problem;
pub use self::routes::router;
use self::steps::Steps;
use crate::rollout::Error;
use crate::rollout::cache::Cache;
use crate::rollout::text::Decoder;
use crate::telemetry::{DASHBOARD, DamagedFile, Store, StoreOptions};
use crate::timeline::LaneIndex;

/// Bytes of answers that are kept. A page asks for some ten megabytes of them; who held memory on 64 GPUs for
/// four hours is 40 MB.
const ANSWER_BYTES: usize = 96 << 20;

/// Makes a folder unless it is there, and tries to write to it.
fn writable(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    tempfile::tempfile_in(dir).map(drop)
}

/// What to serve and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The run directory.
    pub run: PathBuf,
    /// Whether the run is being written, and changes are looked for.
    pub follow: bool,
    /// Steps held open.
    pub tensor_lru: usize,
    /// Where summaries are kept; else `dashboard/cache` in the run directory.
    pub cache_dir: Option<PathBuf>,
    /// A wish for the page, passed on in `/api/meta`.
    pub use_utilization_overview: bool,
    /// The mean MFU below which advice is given; 0 gives none.
    pub low_mfu_threshold: f64,
    /// Who may ask.
    pub access: Access,
}

/// The server's state.
#[derive(Debug)]
pub struct App {
    settings: Settings,
    notes: Notes,
    steps: Steps,
    store: Store,
    lane_index: LaneIndex,
    answers: Answers,
    pool: Pool,
    events: Events,
    /// Inner `None`: it was found to be unusable.
    decoder: Mutex<Option<Option<Arc<Decoder>>>>,
    stopping: watch::Sender<bool>,
}

impl App {
    /// Opens a run. Reads names only, so that the first answer is there at once.
    ///
    /// # Errors
    /// The run directory cannot be read.
    pub fn open(settings: Settings, notes: Notes) -> Result<Arc<Self>, Error> {
        let dashboard = settings.run.join(DASHBOARD);
        let cache_dir = settings.cache_dir.clone().unwrap_or_else(|| dashboard.join("cache"));
        // Who named a folder wants to know that nothing is kept there; a run is often read-only, and that
        // nothing is kept in it is a detail.
        let unusable = settings.cache_dir.as_deref().and_then(|dir| writable(dir).err());
        if let Some(why) = &unusable {
            notes.warn(&format!("{}: {why}; summaries are not kept on disk", cache_dir.display()));
        }
        let cache = unusable.is_none().then(|| Cache::new(cache_dir.clone()));
        let options =
            StoreOptions { cache: unusable.is_none().then_some(cache_dir), ..StoreOptions::default() };
        let steps = Steps::open(&settings.run, settings.tensor_lru, cache, notes.clone())?;
        Ok(Arc::new(Self {
            steps,
            store: Store::open(&dashboard, options),
            lane_index: LaneIndex::default(),
            answers: Answers::new(ANSWER_BYTES),
            pool: Pool::new(),
            events: Events::new(),
            decoder: Mutex::default(),
            stopping: watch::Sender::new(false),
            settings,
            notes,
        }))
    }

    /// Starts to look for what the run adds, on a thread that ends with [`App::stop`]. Does nothing unless
    /// the settings say so. To be called before anybody is answered.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn follow(self: &Arc<Self>) -> std::io::Result<()> {
        if !self.settings.follow {
            return Ok(());
        }
        // What is there at the start is no change.
        self.steps.refresh();
        if let Err(e) = self.store.refresh() {
            self.notes.once(&e.to_string());
        }
        self.tell_damage();
        follow::start(Arc::clone(self))
    }

    /// Tells everything that waits, event streams above all, that the server ends.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Answers the question `key` from data of a `version`.
    async fn reply(
        self: &Arc<Self>,
        headers: &HeaderMap,
        key: &str,
        version: u64,
        work: impl FnOnce(&Self) -> Result<Content, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let encoding = Encoding::of(headers);
        let this = Arc::clone(self);
        let work = move || {
            let before = shrunk::faults();
            let made = work(&this);
            this.tell_damage();
            if shrunk::faults() == before {
                made
            } else {
                Err(Problem::later("a file was cut while it was read"))
            }
        };
        let answer = self.answers.get(&self.pool, key, version, work).await?;
        if answer.must_compress(encoding) && !answer.is_known(headers) {
            let made = Arc::clone(&answer);
            self.pool.run(move || made.compress(encoding)).await?;
            self.answers.weigh(key, &answer);
        }
        Ok(answer.response(headers, encoding))
    }

    /// Tells what was found damaged since the last time: once for a file and reason, as the number of lines
    /// grows while the run is written.
    fn tell_damage(&self) {
        for DamagedFile { path, lines, first, reason } in self.store.damage() {
            let path = self.inside(&path).display();
            let line = match lines {
                // The file as a whole.
                0 => format!("{path}: {reason}"),
                1 => format!("{path}: a damaged line skipped (at byte {first}): {reason}"),
                _ => format!("{path}: {lines} damaged lines skipped (first at byte {first}): {reason}"),
            };
            self.notes.once_for(&format!("{path}: {reason}"), &line);
        }
    }

    /// A file as it is called inside the run.
    fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.settings.run).unwrap_or(path)
    }

    /// An error as a client is told it: the file that it begins with as it is called inside the run.
    fn told(&self, error: impl Into<Problem>) -> Problem {
        let mut problem = error.into();
        let run = format!("{}/", self.settings.run.display());
        if let Some(rest) = problem.detail.strip_prefix(&run) {
            problem.detail = rest.to_owned();
        }
        problem
    }

    fn has_tokenizer(&self) -> bool {
        self.settings.run.join("tokenizer").join("tokenizer.json").is_file()
    }

    /// The run's tokenizer, with all of its tokens looked up: half a second of work, once.
    fn decoder(&self) -> Option<Arc<Decoder>> {
        let mut decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*decoder {
            return known.clone();
        }
        // One that is not there can appear while the run is followed.
        if !self.has_tokenizer() {
            return None;
        }
        let learned = Decoder::load(&self.settings.run).and_then(|mut loaded| {
            loaded.learn_all()?;
            Ok(Arc::new(loaded))
        });
        let learned = learned.map_err(|why| self.notes.once(&format!("token_text is null: {why}"))).ok();
        decoder.insert(learned).clone()
    }
}
