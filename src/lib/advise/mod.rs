//! Is the run healthy, and if so, could it be faster.
//!
//! A rule is a type with a stable id, thresholds that carry their reasons, and a check on [`Facts`],
//! which are gathered once. [`TABLE`] lists those whose findings are *advisories*, in the order in
//! which they are reported; rules that come later report findings only and never change what the
//! table's rules say.
//!
//! Alarms come first. Tuning advice is given only while no alarm is active, for low utilisation means
//! opposite things on a healthy run and on a starved one. An alarm rule's finding that is only worth
//! knowing (level info) is no active alarm.

mod engine;
mod facts;
mod finding;
mod phase;
mod rollout;
mod serving;
mod train;

use serde::Serialize;

pub use engine::{AbortStorm, KvPoolBound, KvSaturated};
pub use facts::{EngineFacts, Facts, Mfu, OpenPhase, OpenSince, Settings, Step};
pub use finding::{Finding, Level};
pub use phase::Stalled;
pub use rollout::{DeadGroups, Truncation, UnreadableSlices};
pub use serving::{DpImbalance, LowConcurrency, LowPrefixCacheHits};
pub use train::LowMfu;

use crate::telemetry::{Store, Window};
use crate::timeline::TimelineError;

/// A question that is asked of every run.
pub trait Rule: Sync {
    /// Stable dotted id.
    fn id(&self) -> &'static str;
    /// Whether its findings are about health or about speed.
    fn kind(&self) -> Kind;
    /// What there is to say; nothing when all is well or what it needs is not known.
    fn check(&self, facts: &Facts<'_>, options: &Options) -> Vec<Finding>;
}

/// What a rule's findings are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Health.
    Alarm,
    /// Speed.
    Tuning,
}

/// What a user can set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Model FLOPs utilisation below which [`LowMfu`] speaks; 0 for never.
    pub low_mfu_threshold: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { low_mfu_threshold: LowMfu::THRESHOLD }
    }
}

/// The rules whose findings are advisories, in their order.
pub const TABLE: [&dyn Rule; 11] = [
    &Stalled,
    &AbortStorm,
    &KvPoolBound,
    &KvSaturated,
    &DeadGroups,
    &Truncation,
    &UnreadableSlices,
    &LowMfu,
    &LowConcurrency,
    &LowPrefixCacheHits,
    &DpImbalance,
];

/// What all rules say of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Findings of the rules of [`TABLE`].
    pub advisories: Vec<Finding>,
    /// The same, and those of every later rule.
    pub findings: Vec<Finding>,
    /// Model FLOPs utilisation; null when it was never logged.
    pub mfu: Option<Mfu>,
}

/// Asks every rule. Gauges of engines are looked at inside `window`, all else over the whole run;
/// `step` is the newest training step, whose rows the caller has.
///
/// # Errors
/// [`TimelineError`] when the streams cannot be read.
pub fn report(
    store: &Store,
    window: &Window,
    step: Option<Step<'_>>,
    options: &Options,
) -> Result<Report, TimelineError> {
    if let (Some(t0), Some(t1)) = (window.t0, window.t1)
        && t0 >= t1
    {
        let wanted = format!("a time before t1, {t1}");
        return Err(TimelineError::Argument { name: "t0", value: t0.to_string(), wanted });
    }
    Ok(judge(&Facts::gather(store, window, step)?, options))
}

/// Asks every rule about facts.
#[must_use]
pub fn judge(facts: &Facts<'_>, options: &Options) -> Report {
    let ask = |kind: Kind| {
        let rules = TABLE.iter().filter(move |rule| rule.kind() == kind);
        rules.flat_map(|rule| rule.check(facts, options)).collect::<Vec<_>>()
    };
    let mut advisories = ask(Kind::Alarm);
    if advisories.iter().all(|finding| finding.level == Level::Info) {
        advisories.extend(ask(Kind::Tuning));
    }
    Report { findings: advisories.clone(), advisories, mfu: facts.mfu }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use super::facts::testing::series;
    use super::*;
    use crate::telemetry::StoreOptions;

    fn starved() -> Facts<'static> {
        let settings = Settings { max_running_requests: Some(100.0), ..Settings::default() };
        let engines = EngineFacts { running: vec![series("a", &[3.0])], ..EngineFacts::default() };
        Facts { settings, engines, ..Facts::default() }
    }

    fn rules(facts: &Facts<'_>) -> Vec<&'static str> {
        judge(facts, &Options::default()).advisories.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn tuning_advice_waits_until_no_alarm_is_active() {
        let mut facts = starved();
        assert_eq!(rules(&facts), ["engine.low_concurrency"]);
        facts.requests = vec![series("a", &[0.0, 1000.0])];
        facts.aborted = vec![series("a", &[0.0, 500.0])];
        assert_eq!(rules(&facts), ["engine.abort_storm"]);
    }

    /// A run of one engine that is full until second 100 and idle afterwards.
    fn run() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let scrape = |ts: u32| {
            let usage = if ts < 100 { 0.99 } else { 0.1 };
            format!(
                "{{\"ts\":{ts}.0,\"addr\":\"e\",\"metric\":\"sglang_token_usage\",\"labels\":{{}},\"value\":{usage}}}\n"
            )
        };
        let lines: String = (0..400).step_by(2).map(scrape).collect();
        fs::write(folder.path().join("engine_series.jsonl"), lines).unwrap();
        let store = Store::open(folder.path(), StoreOptions::default());
        (folder, store)
    }

    #[test]
    fn gauges_count_inside_the_window_that_is_asked_for() {
        let (_folder, store) = run();
        let report = |window: Window| report(&store, &window, None, &Options::default());
        let busy = report(Window { t0: Some(10.0), t1: Some(90.0) }).unwrap();
        assert_eq!(busy.advisories.len(), 1);
        assert_eq!(
            (busy.advisories[0].rule, busy.advisories[0].window),
            ("engine.kv_saturated", Some([10.0, 90.0]))
        );
        assert_eq!(busy.findings, busy.advisories);
        assert_eq!(report(Window::ALL).unwrap().advisories, []);
        assert!(report(Window { t0: Some(5.0), t1: Some(1.0) }).unwrap_err().is_argument());
    }

    #[test]
    fn nothing_is_known_of_an_empty_run_and_nothing_is_said() {
        let report = judge(&Facts::default(), &Options::default());
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(json, r#"{"advisories":[],"findings":[],"mfu":null}"#);
    }

    #[test]
    fn every_rule_has_an_id_of_its_own_that_stands_in_the_documentation() {
        let text = include_str!("../../../docs/rules.md");
        let ids: HashSet<_> = TABLE.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), TABLE.len());
        for id in ids {
            assert!(text.contains(&format!("`{id}`")), "{id}");
        }
    }
}
