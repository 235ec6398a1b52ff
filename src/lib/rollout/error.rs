//! What can be wrong with a run's dumps.

use std::path::{Path, PathBuf};

use crate::pt;

/// Steps that a hint names one by one; of more it says how many there are.
const MOST_LISTED: usize = 8;

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
        /// Ids there are, in order.
        known: Vec<i64>,
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
            Self::NoStep { known, .. } if !known.is_empty() => {
                Some(format!("{}; see miles-dump ids", listed(known)))
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

/// Which steps there are, in a few words: all of them where they follow each other or are few.
fn listed(ids: &[i64]) -> String {
    match ids {
        [] => "there are no steps".to_owned(),
        [only] => format!("there is step {only} only"),
        [first, .., last] if last.wrapping_sub(*first) == ids.len() as i64 - 1 => {
            format!("there are steps {first} to {last}")
        }
        [some @ .., last] if ids.len() <= MOST_LISTED => {
            let some: Vec<String> = some.iter().map(i64::to_string).collect();
            format!("there are steps {} and {last}", some.join(", "))
        }
        [first, .., last] => format!("there are {} steps from {first} to {last}", ids.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_no_step_that_is_not_there() {
        assert_eq!(listed(&[3]), "there is step 3 only");
        assert_eq!(listed(&[0, 4]), "there are steps 0 and 4");
        assert_eq!(listed(&[0, 2, 4]), "there are steps 0, 2 and 4");
        assert_eq!(listed(&[0, 1, 2, 3]), "there are steps 0 to 3");
        let sparse: Vec<i64> = (0..20).map(|n| n * 5).collect();
        assert_eq!(listed(&sparse), "there are 20 steps from 0 to 95");
    }
}
