//! Writes a synthetic run whose stories the tools must show, through the project's own writers.
//!
//! The same [`Settings`] give the same bytes on every machine; only modification times differ. A batch
//! of any size is written sample by sample: [`Settings::seed`] and a sample's place decide all of it,
//! so that the rollout side, its mirror and the train side are made apart and agree. The stories and
//! where they lie are listed in `story.rs`.

mod conversation_file;
mod folder;
mod language;
mod layout;
mod mirror_file;
mod random;
mod rollout_file;
mod sample;
mod story;
mod tokenizer;
mod train_file;
mod vocabulary;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use self::folder::{Folder, Written};
use self::layout::Layout;
use self::story::Step;
use self::vocabulary::Vocabulary;

/// Response tokens from which on every kind of sample has room.
pub const LEAST_RESPONSE: u32 = 256;
/// Far beyond any model's context, and small enough that no size overflows.
pub const MOST_RESPONSE: u32 = 1 << 22;

/// What run to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Train steps; their ids count from 0.
    pub steps: u32,
    /// Prompts (groups) a train step; an evaluation has a quarter of them.
    pub prompts: u32,
    /// Samples a group in training; at most 4 in an evaluation.
    pub samples_per_prompt: u32,
    /// Tokens of the longest response, from [`LEAST_RESPONSE`] to [`MOST_RESPONSE`].
    pub max_response: u32,
    /// Trainer ranks a node.
    pub gpus: u32,
    /// Nodes.
    pub nodes: u32,
    /// Where the random numbers begin.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { steps: 8, prompts: 16, samples_per_prompt: 8, max_response: 600, gpus: 8, nodes: 1, seed: 0 }
    }
}

impl Settings {
    /// Trainer ranks: one a GPU.
    pub fn ranks(&self) -> u32 {
        self.gpus.saturating_mul(self.nodes)
    }

    /// Samples of a train step.
    pub fn samples(&self) -> u32 {
        self.prompts.saturating_mul(self.samples_per_prompt)
    }

    /// The step that was trained with context parallelism 2: the middle one, given an even number of
    /// ranks.
    pub fn context_parallel_step(&self) -> Option<u32> {
        (self.steps > 1 && self.ranks().is_multiple_of(2)).then_some(self.steps / 2)
    }

    /// The step in whose batch weight versions fall.
    pub fn failover_step(&self) -> Option<u32> {
        (self.steps > 2).then_some((u64::from(self.steps) * 5 / 8) as u32)
    }

    /// Steps with an evaluation: the first and the middle one.
    pub fn eval_steps(&self) -> Vec<u32> {
        if self.steps > 1 { vec![0, self.steps / 2] } else { vec![0] }
    }

    /// Number of files that [`write()`] writes and counts; the marker is not among them.
    pub fn files(&self) -> usize {
        self.plan().len()
    }

    /// Checks that a run like this can be.
    ///
    /// # Errors
    /// [`Error::Setting`] with the setting's name and its bounds.
    pub fn check(&self) -> Result<(), Error> {
        let must = |holds: bool, name: &'static str, bounds: String| {
            if holds { Ok(()) } else { Err(Error::Setting { name, bounds }) }
        };
        let counts = [
            ("steps", self.steps),
            ("prompts", self.prompts),
            ("samples-per-prompt", self.samples_per_prompt),
            ("gpus", self.gpus),
            ("nodes", self.nodes),
        ];
        for (name, count) in counts {
            must(count > 0, name, "must be at least 1".into())?;
        }
        must(
            (LEAST_RESPONSE..=MOST_RESPONSE).contains(&self.max_response),
            "max-response",
            format!("must be {LEAST_RESPONSE} to {MOST_RESPONSE}"),
        )?;
        let indices = u64::from(self.steps) * u64::from(self.prompts) * u64::from(self.samples_per_prompt);
        // The mirror holds a sample's index as int32.
        must(indices <= i32::MAX as u64, "steps", "times prompts and samples must stay below 2^31".into())?;
        must(
            u64::from(self.gpus) * u64::from(self.nodes) <= u64::from(self.samples()),
            "gpus",
            format!("times nodes must not exceed the {} samples of a step", self.samples()),
        )
    }

    fn listed(&self) -> [(&'static str, u64); 7] {
        [
            ("steps", self.steps.into()),
            ("prompts", self.prompts.into()),
            ("samples_per_prompt", self.samples_per_prompt.into()),
            ("max_response", self.max_response.into()),
            ("gpus", self.gpus.into()),
            ("nodes", self.nodes.into()),
            ("seed", self.seed),
        ]
    }

    /// All files, in the order in which a run writes them.
    fn plan(&self) -> Vec<Task> {
        let mut tasks = vec![Task::Tokenizer, Task::TokenizerConfig];
        for rid in 0..self.steps {
            if self.eval_steps().contains(&rid) {
                tasks.extend(
                    [Task::Rollout, Task::Mirror, Task::Conversations].map(|task| task(rid, Split::Eval)),
                );
            }
            tasks.extend(
                [Task::Rollout, Task::Mirror, Task::Conversations].map(|task| task(rid, Split::Train)),
            );
            tasks.extend((0..self.ranks()).map(|rank| Task::Train(rid, rank)));
        }
        tasks
    }
}

/// What a batch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Split {
    Train,
    Eval,
}

/// One file to write.
#[derive(Debug, Clone, Copy)]
enum Task {
    Tokenizer,
    TokenizerConfig,
    Rollout(u32, Split),
    Mirror(u32, Split),
    Conversations(u32, Split),
    Train(u32, u32),
}

impl Task {
    /// Path in the run directory.
    fn name(self) -> String {
        let stem =
            |rid: u32, split| if split == Split::Eval { format!("eval_{rid}") } else { rid.to_string() };
        match self {
            Self::Tokenizer => "tokenizer/tokenizer.json".into(),
            Self::TokenizerConfig => "tokenizer/tokenizer_config.json".into(),
            Self::Rollout(rid, split) => format!("rollout_data/{}.pt", stem(rid, split)),
            Self::Mirror(rid, split) => format!("dashboard_columns/rollout_{}.parquet", stem(rid, split)),
            Self::Conversations(rid, split) => format!("trajectory/{}.jsonl", stem(rid, split)),
            Self::Train(rid, rank) => format!("train_data/{rid}_{rank}.pt"),
        }
    }

    fn run(self, settings: &Settings, vocabulary: &Vocabulary, folder: &Folder) -> Result<u64, Error> {
        let name = self.name();
        // torch calls the folder in the archive after the file.
        let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let step = |rid, split| Step::new(settings, rid, split);
        let text = |text: String| {
            folder.write(&name, Written::AtStart, |mut out| {
                out.write_all(text.as_bytes())?;
                Ok(out)
            })
        };
        match self {
            Self::Tokenizer => text(tokenizer::json(vocabulary)),
            Self::TokenizerConfig => text(tokenizer::config()),
            Self::Rollout(rid, split) => folder.write(&name, Written::Rollout(rid), |out| {
                rollout_file::write(out, &stem, &step(rid, split), vocabulary)
            }),
            Self::Mirror(rid, split) => folder.write(&name, Written::Rollout(rid), |out| {
                mirror_file::write(out, &step(rid, split), vocabulary).map_err(io::Error::other)
            }),
            Self::Conversations(rid, split) => folder.write(&name, Written::Rollout(rid), |out| {
                conversation_file::write(out, &step(rid, split), vocabulary)
            }),
            Self::Train(rid, rank) => folder.write(&name, Written::Train(rid), |out| {
                let layout = Layout::of(settings, rid);
                train_file::write(out, &stem, &step(rid, Split::Train), &layout, rank as usize, vocabulary)
            }),
        }
    }
}

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
    let tasks = settings.plan();
    let folder = Folder::claim(dir, settings, tasks.iter().map(|task| task.name()).collect())?;
    let vocabulary = Vocabulary::new();
    let bytes = tasks.par_iter().map(|task| {
        let bytes = task.run(settings, &vocabulary, &folder)?;
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
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space, or ask for fewer --steps or a shorter --max-response")
                }
                _ => None,
            },
        }
    }
}
