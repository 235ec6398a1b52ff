//! What is wrong with an answer, or with none, and what to try.

use super::fetch::FetchError;
use super::fold::Answer;

/// Path of an engine's metrics.
pub(super) const METRICS: &str = "/metrics";
/// Path of a router's aggregate.
pub(super) const ENGINE_METRICS: &str = "/engine_metrics";

/// An answer without a single metric that is known.
pub(super) fn nothing_known(url: &str, answer: &Answer) -> (String, &'static str) {
    let (samples, of_sglang) = (answer.samples, answer.of_sglang);
    let hint = match (samples, of_sglang) {
        (0, _) => "start the engine with --enable-metrics",
        (_, 0) => {
            "is this an engine of sglang's? A router has its own metrics on another port, without its engines'"
        }
        _ => "others of sglang's are there: --metrics takes names as the engine exposes them",
    };
    (format!("no known metrics at {url} ({samples} samples, {of_sglang} of sglang's)"), hint)
}

/// What to try when `path` was not answered.
pub(super) fn hint(error: &FetchError, path: &str) -> &'static str {
    match error {
        FetchError::Timeout(_) => "an engine that loads or is stuck answers late; --timeout gives it longer",
        FetchError::Refused => "is it running, and is this its port?",
        FetchError::NoHost => "is the name right, and known on this host?",
        FetchError::Status { status: 401 | 403, .. } => "it wants a key, or somebody in between does",
        FetchError::Status { status: 404, .. } if path == METRICS => "start the engine with --enable-metrics",
        FetchError::Status { .. } if path == ENGINE_METRICS => {
            "name the engines with --engine to scrape them without the router"
        }
        FetchError::Status { .. } => "is this the right port?",
        FetchError::TooLarge => "is this an engine's port?",
        FetchError::Other(text) if text.contains("certificate") => {
            "--ca-file names the authorities of a private cluster"
        }
        FetchError::Other(_) => "curl may show more",
    }
}
