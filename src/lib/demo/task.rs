//! The files of a run: which there are, what they are called, and who writes each.

use std::io::{self, Write};
use std::path::Path;

use super::folder::{Folder, Written};
use super::layout::Layout;
use super::story::Step;
use super::telemetry::{Part, Telemetry};
use super::vocabulary::Vocabulary;
use super::{Error, Settings, conversation_file, mirror_file, rollout_file, tokenizer, train_file};

/// What a batch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    Train,
    Eval,
}

/// One file to write.
#[derive(Debug, Clone)]
pub(super) enum Task {
    Tokenizer,
    TokenizerConfig,
    Rollout(u32, Split),
    Mirror(u32, Split),
    Conversations(u32, Split),
    Train(u32, u32),
    /// A document beside the streams, by its place among [`Telemetry::documents`].
    Document(&'static str, String),
    Stream(Part),
}

/// What tasks are made from.
pub(super) struct Source<'s> {
    pub(super) settings: &'s Settings,
    pub(super) vocabulary: &'s Vocabulary,
    /// None in a run of dumps alone.
    pub(super) telemetry: Option<&'s Telemetry>,
}

/// The dumps, in the order in which a run writes them.
pub(super) fn dumps(settings: &Settings) -> Vec<Task> {
    let mut tasks = vec![Task::Tokenizer, Task::TokenizerConfig];
    let first = settings.first_dump();
    for rid in first..first + settings.steps {
        if settings.eval_steps().contains(&rid) {
            tasks.extend(rollout_dumps(rid, Split::Eval));
        }
        tasks.extend(rollout_dumps(rid, Split::Train));
        tasks.extend(train_dumps(settings, rid));
    }
    tasks
}

/// What is written when a batch is complete.
pub(super) fn rollout_dumps(rid: u32, split: Split) -> [Task; 3] {
    [Task::Rollout(rid, split), Task::Mirror(rid, split), Task::Conversations(rid, split)]
}

/// What is written when a step was trained.
pub(super) fn train_dumps(settings: &Settings, rid: u32) -> impl Iterator<Item = Task> + use<> {
    (0..settings.dumped_ranks()).map(move |rank| Task::Train(rid, rank))
}

/// The telemetry of a span.
pub(super) fn streams(telemetry: &Telemetry, parts: Vec<Part>) -> impl Iterator<Item = Task> + use<> {
    let documents = telemetry.documents().map(|(name, text)| Task::Document(name, text));
    documents.into_iter().chain(parts.into_iter().map(Task::Stream))
}

impl Task {
    /// Path in the run directory.
    pub(super) fn name(&self) -> String {
        let stem = |rid: &u32, split: &Split| {
            if *split == Split::Eval { format!("eval_{rid}") } else { rid.to_string() }
        };
        match self {
            Self::Tokenizer => "tokenizer/tokenizer.json".into(),
            Self::TokenizerConfig => "tokenizer/tokenizer_config.json".into(),
            Self::Rollout(rid, split) => format!("rollout_data/{}.pt", stem(rid, split)),
            Self::Mirror(rid, split) => format!("dashboard_columns/rollout_{}.parquet", stem(rid, split)),
            Self::Conversations(rid, split) => format!("trajectory/{}.jsonl", stem(rid, split)),
            Self::Train(rid, rank) => format!("train_data/{rid}_{rank}.pt"),
            Self::Document(name, _) => (*name).into(),
            Self::Stream(part) => part.name(),
        }
    }

    /// When the run wrote the file.
    fn written(&self) -> Written {
        match self {
            Self::Tokenizer | Self::TokenizerConfig => Written::AtStart,
            Self::Rollout(rid, _) | Self::Mirror(rid, _) | Self::Conversations(rid, _) => {
                Written::Rollout(*rid)
            }
            Self::Train(rid, _) => Written::Train(*rid),
            Self::Document(..) | Self::Stream(_) => Written::AtEnd,
        }
    }

    /// Writes the file; answers its size in bytes.
    pub(super) fn run(&self, source: &Source<'_>, folder: &Folder) -> Result<u64, Error> {
        self.run_at(source, folder, self.written())
    }

    /// The same for a file that is written at another time.
    pub(super) fn run_at(
        &self,
        source: &Source<'_>,
        folder: &Folder,
        written: Written,
    ) -> Result<u64, Error> {
        let Source { settings, vocabulary, telemetry } = source;
        let name = self.name();
        // torch calls the folder in the archive after the file.
        let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let step = |rid: &u32, split: &Split| Step::new(settings, *rid, *split);
        folder.write(&name, written, |mut out| match self {
            Self::Tokenizer => out.write_all(tokenizer::json(vocabulary).as_bytes()).map(|()| out),
            Self::TokenizerConfig => out.write_all(tokenizer::config().as_bytes()).map(|()| out),
            Self::Document(_, text) => out.write_all(text.as_bytes()).map(|()| out),
            Self::Rollout(rid, split) => rollout_file::write(out, &stem, &step(rid, split), vocabulary),
            Self::Mirror(rid, split) => {
                mirror_file::write(out, &step(rid, split), vocabulary).map_err(io::Error::other)
            }
            Self::Conversations(rid, split) => conversation_file::write(out, &step(rid, split), vocabulary),
            Self::Train(rid, rank) => {
                let layout = Layout::of(settings, *rid);
                let step = step(rid, &Split::Train);
                train_file::write(out, &stem, &step, &layout, *rank as usize, vocabulary)
            }
            Self::Stream(part) => {
                telemetry.map_or(Ok(()), |telemetry| telemetry.write(part, &mut out)).map(|()| out)
            }
        })
    }
}
