//! What can be wrong with a run's dumps.

use std::path::{Path, PathBuf};

use crate::pt;

/// Why a question about a run could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A `.pt` file that cannot be read.
    #[error(transparent)]
    Pt(#[from] pt::Error),
    /// A file that is being written right now.
    #[error("{}: still being written ({why})", path.display())]
    StillWriting {
        /// The file.
        path: PathBuf,
        /// How it looks at present.
        why: String,
    },
    /// The run has no such step.
    #[error("{}: no {} step {rollout_id}", dir.display(), if *evaluation { "evaluation" } else { "train" })]
    NoStep {
        /// The run directory.
        dir: PathBuf,
        /// The id that was asked for.
        rollout_id: i64,
        /// Whether an evaluation step was meant.
        evaluation: bool,
        /// Ids there are, lowest and highest.
        range: Option<(i64, i64)>,
    },
    /// The run has no step at all.
    #[error("{}: no {} steps", dir.display(), if *evaluation { "evaluation" } else { "train" })]
    NoSteps {
        /// The run directory.
        dir: PathBuf,
        /// Whether evaluation steps were meant.
        evaluation: bool,
    },
    /// The step has no such sample.
    #[error("{}: no sample with index {index}", path.display())]
    NoSample {
        /// The rollout file.
        path: PathBuf,
        /// The index that was asked for.
        index: i64,
        /// Lowest and highest index there are.
        range: Option<(i64, i64)>,
    },
    /// The sample has no conversation.
    #[error("{}: sample {index} recorded no conversation", path.display())]
    NoConversation {
        /// The conversation file, there or not.
        path: PathBuf,
        /// The sample.
        index: i64,
    },
    /// A window of positions without any.
    #[error("no positions from {start} to {end} in a sequence of {total}")]
    EmptyRange {
        /// First position asked for.
        start: i64,
        /// Position to stop before.
        end: i64,
        /// Length of the sequence.
        total: usize,
    },
    /// A file whose parts contradict each other or another file.
    #[error("{}: {what}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// A file or directory that cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    pub(super) fn inconsistent(path: &Path, what: impl Into<String>) -> Self {
        Self::Inconsistent { path: path.to_owned(), what: what.into() }
    }

    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Pt(e) => e.hint().map(str::to_owned),
            Self::StillWriting { .. } => Some("try again in a few seconds".to_owned()),
            Self::NoStep { range: Some((a, b)), .. } => {
                Some(format!("there are steps {a} to {b}; see miles-dump ids"))
            }
            Self::NoStep { .. } | Self::NoSteps { .. } => {
                Some("a run records them with --dump-details DIR; see miles-dump ids".to_owned())
            }
            Self::NoSample { range: Some((a, b)), .. } => Some(format!("this step has samples {a} to {b}")),
            Self::NoConversation { .. } => {
                Some("only runs with sessions or several turns record conversations".to_owned())
            }
            Self::EmptyRange { total, .. } => Some(format!("positions are 0 to {}", total.saturating_sub(1))),
            _ => None,
        }
    }
}
