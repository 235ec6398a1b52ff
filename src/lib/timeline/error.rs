//! What can be wrong with a question about telemetry.

use super::SelectorError;
use crate::telemetry::TelemetryError;

/// Why a question about telemetry has no answer.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// An argument that makes no sense.
    #[error("{name}: {value} will not do; hint: {wanted}")]
    Argument {
        /// The argument.
        name: &'static str,
        /// What it was.
        value: String,
        /// What would be right.
        wanted: String,
    },
    /// A selector of lanes that cannot be understood.
    #[error("lanes: {0}")]
    Lanes(#[from] SelectorError),
    /// The telemetry cannot be read.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
}

impl TimelineError {
    /// Whether the question is wrong, not the data.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        !matches!(self, Self::Telemetry(_))
    }

    pub(super) fn argument(
        name: &'static str,
        value: impl std::fmt::Display,
        wanted: impl Into<String>,
    ) -> Self {
        Self::Argument { name, value: value.to_string(), wanted: wanted.into() }
    }
}
