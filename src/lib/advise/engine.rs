//! Alarms about engines: requests that come to nothing, and a KV cache that is full.

use super::facts::{Facts, peak, pooled_mean, span};
use super::finding::{Finding, Level, percent};
use super::{Kind, Options, Rule};
use crate::telemetry::Window;
use crate::timeline::engines::Series;

/// Many requests are aborted.
pub struct AbortStorm;

impl AbortStorm {
    /// How far back of the newest scrape, seconds: long enough for hundreds of requests, short enough
    /// that a storm that is over is forgotten.
    pub const LOOK_BACK_S: f64 = 1_800.0;
    /// Of fewer requests a share means little.
    pub const MIN_REQUESTS: f64 = 100.0;
    /// A few time-outs are normal; one in twenty costs more than one in twenty, see the message.
    pub const MAX_ABORTED: f64 = 0.05;
}

impl Rule for AbortStorm {
    fn id(&self) -> &'static str {
        "engine.abort_storm"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        self.storm(facts).into_iter().collect()
    }
}

impl AbortStorm {
    fn storm(&self, facts: &Facts<'_>) -> Option<Finding> {
        let newest = [&facts.requests, &facts.aborted].into_iter().filter_map(|series| span(series));
        let newest = newest.map(|[_, last]| last).max_by(f64::total_cmp)?;
        let window = [newest - Self::LOOK_BACK_S, newest];
        let recent = Window { t0: Some(window[0]), t1: Some(window[1]) };
        let (requests, aborted) = (growth(&facts.requests, &recent), growth(&facts.aborted, &recent));
        if requests < Self::MIN_REQUESTS || aborted / requests <= Self::MAX_ABORTED {
            return None;
        }
        let (all, all_aborted) =
            (growth(&facts.requests, &Window::ALL), growth(&facts.aborted, &Window::ALL));
        let cost = match facts.settings.samples_per_prompt {
            Some(n) if n > 1 => format!(
                ". An aborted sample costs its whole group of {n}, and what is sent again adds to the load"
            ),
            _ => ". What is sent again adds to the load".to_owned(),
        };
        let message = format!(
            "{} of the engines' requests were aborted in the last 30 min ({aborted:.0} of {requests:.0}; {} over \
             the run){cost}",
            percent(aborted / requests),
            percent(all_aborted / all),
        );
        let hint = "requests most likely time out at the client: raise its timeout, or send fewer at once";
        let finding = Finding::new(self.id(), Level::Warning, message, hint)
            .with("requests", requests)
            .with("aborted", aborted)
            .with("aborted_share", aborted / requests)
            .with("run_requests", all)
            .with("run_aborted", all_aborted);
        Some(finding.over(Some(window)))
    }
}

/// Growth of counters inside the window over all engines.
fn growth(series: &[Series], window: &Window) -> f64 {
    series.iter().map(|one| one.points.growth(window)).sum()
}

/// The memory for keys and values is full while few requests run: it, not the limit of requests, bounds
/// how many do.
pub struct KvPoolBound;

impl KvPoolBound {
    /// Engines start to hold requests back at about nine tenths.
    pub const MIN_USAGE: f64 = 0.90;
    /// Below half of what was allowed the limit cannot be what holds requests back.
    pub const MAX_RUNNING: f64 = 0.50;

    fn bound(&self, facts: &Facts<'_>) -> Option<Finding> {
        let usage = pooled_mean(&facts.engines.token_usage).filter(|usage| *usage > Self::MIN_USAGE)?;
        let limit = facts.settings.max_running_requests?;
        let (running, _) = peak(&facts.engines.running)?;
        if running >= Self::MAX_RUNNING * limit {
            return None;
        }
        let message = format!(
            "the KV pool bounds the engines: it is {} full on average, while at most {running:.0} requests of the \
             {limit:.0} allowed ran on an engine at once",
            percent(usage),
        );
        let hint = match facts.settings.mem_fraction_static {
            Some(fraction) => format!(
                "raise sglang_mem_fraction_static ({fraction}) if memory allows, shorten responses, or add GPUs"
            ),
            None => {
                "raise sglang_mem_fraction_static if memory allows, shorten responses, or add GPUs".to_owned()
            }
        };
        let finding = Finding::new(self.id(), Level::Warning, message, hint)
            .with("token_usage_mean", usage)
            .with("running_requests_peak", running)
            .with("max_running_requests", limit);
        Some(finding.over(span(&facts.engines.token_usage)))
    }
}

impl Rule for KvPoolBound {
    fn id(&self) -> &'static str {
        "engine.kv_pool_bound"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        self.bound(facts).into_iter().collect()
    }
}

/// The memory for keys and values is full, and many requests run.
pub struct KvSaturated;

impl KvSaturated {
    /// Above this engines retract requests that they had begun, and do their work twice.
    pub const MIN_USAGE: f64 = 0.95;
}

impl Rule for KvSaturated {
    fn id(&self) -> &'static str {
        "engine.kv_saturated"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        let usage = pooled_mean(&facts.engines.token_usage).filter(|usage| *usage > Self::MIN_USAGE);
        // The narrower rule says the same and more.
        let Some(usage) = usage.filter(|_| KvPoolBound.bound(facts).is_none()) else { return Vec::new() };
        let message = format!(
            "the engines' KV cache is {} full on average: it is what bounds their throughput",
            percent(usage),
        );
        let hint = "add GPUs for the engines, or send a smaller rollout batch";
        let finding = Finding::new(self.id(), Level::Warning, message, hint).with("token_usage_mean", usage);
        vec![finding.over(span(&facts.engines.token_usage))]
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::testing::series;
    use super::super::facts::{EngineFacts, Settings};
    use super::*;

    fn requests(of: &[f64], aborted: &[f64]) -> Facts<'static> {
        let (requests, aborted) = (vec![series("a", of)], vec![series("a", aborted)]);
        Facts { requests, aborted, ..Facts::default() }
    }

    fn found(rule: &dyn Rule, facts: &Facts<'_>) -> Vec<String> {
        rule.check(facts, &Options::default()).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn one_aborted_request_in_ten_is_a_storm() {
        let mut facts = requests(&[0.0, 500.0, 200.0, 700.0], &[0.0, 60.0, 0.0, 40.0]);
        facts.settings.samples_per_prompt = Some(8);
        let found = found(&AbortStorm, &facts);
        assert!(found[0].contains("100 of 1000") && found[0].contains("group of 8"), "{found:?}");
    }

    #[test]
    fn few_requests_few_aborts_and_a_storm_that_is_over_are_none() {
        let over: Vec<f64> = (0..2_000).map(|at| if at == 0 { 0.0 } else { 500.0 + f64::from(at) }).collect();
        let aborted: Vec<f64> = (0..2_000).map(|at| if at == 0 { 0.0 } else { 400.0 }).collect();
        for (requested, aborted) in [
            (&[0.0, 99.0][..], &[0.0, 50.0][..]),
            (&[0.0, 1000.0], &[0.0, 50.0]),
            (&[0.0, 1000.0], &[]),
            (&over, &aborted),
            (&[], &[]),
        ] {
            assert!(found(&AbortStorm, &requests(requested, aborted)).is_empty());
        }
    }

    fn gauges(usage: f64, running: f64, limit: Option<f64>) -> Facts<'static> {
        let engines = EngineFacts {
            token_usage: vec![series("a", &[usage, usage])],
            running: vec![series("a", &[0.0, running])],
            ..EngineFacts::default()
        };
        let settings = Settings { max_running_requests: limit, ..Settings::default() };
        Facts { engines, settings, ..Facts::default() }
    }

    #[test]
    fn a_full_pool_with_few_requests_bounds_the_engines() {
        let facts = gauges(0.97, 40.0, Some(100.0));
        assert_eq!(found(&KvPoolBound, &facts).len(), 1);
        assert!(found(&KvSaturated, &facts).is_empty(), "said already");
    }

    #[test]
    fn a_full_pool_with_many_requests_or_no_limit_is_saturated() {
        for facts in [gauges(0.96, 50.0, Some(100.0)), gauges(0.96, 1.0, None)] {
            assert!(found(&KvPoolBound, &facts).is_empty());
            assert_eq!(found(&KvSaturated, &facts).len(), 1);
        }
    }

    #[test]
    fn a_pool_with_room_is_neither() {
        for facts in [gauges(0.90, 1.0, Some(100.0)), gauges(0.95, 80.0, Some(100.0)), Facts::default()] {
            assert!(found(&KvPoolBound, &facts).is_empty() && found(&KvSaturated, &facts).is_empty());
        }
    }
}
