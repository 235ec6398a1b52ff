//! Why a question about a run's telemetry has no answer.

use crate::telemetry::TelemetryError;

/// Why a question about a run's telemetry has no answer. A run that lacks what is asked for is no
/// error: its answer is empty.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The streams cannot be read.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// An argument that no run could answer; it is the asker's to mend.
    #[error("{name}: {reason}")]
    Argument {
        /// Name of the argument as in the HTTP API.
        name: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
}

impl TimelineError {
    /// Whether the asker is to blame, not the run.
    #[must_use]
    pub const fn is_argument(&self) -> bool {
        matches!(self, Self::Argument { .. })
    }
}
