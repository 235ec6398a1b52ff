//! What a rule says: which rule, how bad, in words and in numbers, when, and what to try.

use serde::Serialize;
use serde_json::{Map, Value};

/// How bad a finding is; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Worth acting on.
    Warning,
    /// The run does not get on.
    Critical,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Id of the rule.
    pub rule: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What, where and how much, in a sentence or two.
    pub message: String,
    /// The numbers behind it, by names with their units.
    pub evidence: Map<String, Value>,
    /// First and last time of what was looked at, Unix seconds; of a finding about telemetry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<[f64; 2]>,
    /// The training step; of a finding about a step's samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout_id: Option<i64>,
    /// What to try.
    pub hint: String,
}

impl Finding {
    /// A finding without evidence, window or step.
    #[must_use]
    pub fn new(
        rule: &'static str,
        level: Level,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self { rule, level, message, evidence: Map::new(), window: None, rollout_id: None, hint }
    }

    /// Adds a number or a text behind it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// Sets what was looked at; an unknown window stays unknown.
    #[must_use]
    pub fn over(mut self, window: Option<[f64; 2]>) -> Self {
        self.window = window;
        self
    }

    /// Sets the training step.
    #[must_use]
    pub fn of_step(mut self, rollout_id: i64) -> Self {
        self.rollout_id = Some(rollout_id);
        self
    }
}

/// A share in percent, without digits that nobody needs.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // Below 10 % a whole number would hide which side of a threshold it is on.
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A duration as a person would say it.
#[must_use]
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// `1 sample`, `2 samples`.
pub use crate::telemetry::counted;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_finding_lacks_is_not_written() {
        let finding = Finding::new("a.b", Level::Warning, "m", "h").with("n", 3);
        let want = r#"{"rule":"a.b","level":"warning","message":"m","evidence":{"n":3},"hint":"h"}"#;
        assert_eq!(serde_json::to_string(&finding).unwrap(), want);
        let json = serde_json::to_value(finding.over(Some([1.0, 2.0])).of_step(4)).unwrap();
        assert_eq!((&json["window"][1], &json["rollout_id"]), (&2.0.into(), &4.into()));
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0.25, 0.0512].map(percent), ["25 %", "5.1 %"]);
        assert_eq!([59.6, 1800.0, 9000.0].map(duration), ["60 s", "30 min", "2.5 h"]);
        assert!(Level::Critical > Level::Warning && Level::Warning > Level::Info);
    }
}
