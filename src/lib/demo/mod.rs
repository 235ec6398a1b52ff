//! Writes a synthetic run whose stories the tools must show, through the project's own writers.
//!
//! The same [`Settings`] give the same bytes on every machine; only modification times differ. A batch
//! of any size is written sample by sample: [`Settings::seed`] and a sample's place decide all of it,
//! so that the rollout side, its mirror and the train side are made apart and agree. Telemetry is
//! written hour by hour from the time alone. The stories and where they lie are listed in `story.rs` and, for
//! telemetry, in `telemetry/timeline.rs`. A run that is [`live`] has the clock as its one other input.

mod conversation_file;
mod folder;
mod language;
mod layout;
mod live;
mod mirror_file;
mod random;
mod rollout_file;
mod sample;
mod settings;
mod story;
mod task;
mod telemetry;
mod tokenizer;
mod train_file;
mod vocabulary;

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use self::folder::Folder;
use self::task::{Source, Split, Task};
use self::telemetry::{Ms, Telemetry};
use self::vocabulary::Vocabulary;

pub use self::live::{Live, live};
pub use self::settings::{LEAST_RESPONSE, MOST_DUMPED_RANKS, MOST_MINUTES, MOST_RESPONSE, Settings};

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Files, the marker left out.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Writes a run to `dir`, which is made, is empty, or holds an earlier demo run, whose files are
/// replaced. `progress` is called once for each of the [`Settings::files`], from several threads.
///
/// # Errors
/// [`Error`]; a run that failed halfway may be written over by the next.
pub fn write(dir: &Path, settings: &Settings, progress: impl Fn() + Sync) -> Result<Report, Error> {
    settings.check()?;
    let telemetry = (settings.minutes > 0).then(|| Telemetry::finished(settings));
    let tasks = plan(settings, telemetry.as_ref(), Ms::MAX);
    let folder = Folder::claim(dir, settings, tasks.iter().map(Task::name).collect(), None)?;
    let vocabulary = Vocabulary::new();
    let source = Source { settings, vocabulary: &vocabulary, telemetry: telemetry.as_ref() };
    run_all(&tasks, &source, &folder, &progress)
}

/// All files of a run up to `now`. Hours of telemetry are the longest tasks, so they are begun first.
fn plan(settings: &Settings, telemetry: Option<&Telemetry>, now: Ms) -> Vec<Task> {
    let streams = telemetry.map(|telemetry| {
        let parts = telemetry.parts(&telemetry.span(now));
        task::streams(telemetry, parts)
    });
    streams.into_iter().flatten().chain(task::dumps(settings)).collect()
}

fn run_all(
    tasks: &[Task],
    source: &Source<'_>,
    folder: &Folder,
    progress: &(impl Fn() + Sync),
) -> Result<Report, Error> {
    let bytes = tasks.par_iter().map(|task| {
        let bytes = task.run(source, folder)?;
        progress();
        Ok(bytes)
    });
    Ok(Report { files: tasks.len(), bytes: bytes.try_reduce(|| 0, |a, b| Ok(a + b))? })
}

/// Why no run was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is out of its bounds.
    #[error("--{name} {bounds}")]
    Setting {
        /// The setting, as the command line has it.
        name: &'static str,
        /// What must hold.
        bounds: String,
    },
    /// The folder has files and was not made by `miles demo`.
    #[error("{}: holds files that no demo run made", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// There is something else than a folder.
    #[error("{}: is not a folder", path.display())]
    NotAFolder {
        /// Where the run should go.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// True when the user asked for something that cannot be, false when writing failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }

    /// What to do about it, in one clause.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Setting { .. } => None,
            Self::NotOurs { .. } | Self::NotAFolder { .. } => Some("name a new or empty folder"),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => Some("name a folder that you may write to"),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
                    "free some space, or ask for fewer --minutes, fewer --steps or a shorter --max-response",
                ),
                _ => None,
            },
        }
    }
}
