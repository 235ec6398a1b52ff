//! Advice about how engines are set up: room that is not used, work that is not shared.

use std::collections::BTreeMap;

use serde_json::json;

use super::facts::{Facts, dp_rank, peak, pooled_mean, span};
use super::finding::{Finding, Level, percent};
use super::{Kind, Options, Rule};
use crate::telemetry::Window;
use crate::timeline::engines::Series;

/// Engines could take many more requests than they ever ran.
pub struct LowConcurrency;

impl LowConcurrency {
    /// Below this the limit, and the memory that is set aside for it, is far too large.
    pub const MAX_SHARE: f64 = 0.30;
}

impl Rule for LowConcurrency {
    fn id(&self) -> &'static str {
        "engine.low_concurrency"
    }

    fn kind(&self) -> Kind {
        Kind::Tuning
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        let limit = facts.settings.max_running_requests;
        let Some((limit, (running, addr))) = limit.zip(peak(&facts.engines.running)) else {
            return Vec::new();
        };
        if running >= Self::MAX_SHARE * limit {
            return Vec::new();
        }
        let gain = if facts.settings.colocate { ", which frees memory for training" } else { "" };
        let message = format!(
            "no engine ever ran more than {running:.0} requests at once, {} of sglang_max_running_requests \
             ({limit:.0})",
            percent(running / limit),
        );
        let hint = format!("lower sglang_max_running_requests{gain}, or send more requests at once");
        let finding = Finding::new(self.id(), Level::Info, message, hint)
            .with("running_requests_peak", running)
            .with("addr", addr)
            .with("max_running_requests", limit)
            .with("colocate", facts.settings.colocate);
        vec![finding.over(span(&facts.engines.running))]
    }
}

/// Prompts are computed again that were computed before.
pub struct LowPrefixCacheHits;

impl LowPrefixCacheHits {
    /// Samples of a group share their prompt, so that a cache that works hits far more often.
    pub const MAX_RATE: f64 = 0.10;

    /// Share of prompt tokens that were found in the cache, and how it is known. Counters see every
    /// prompt; the gauge is that of the last prefill batch, and 0 whenever that was a new prompt.
    fn rate(facts: &Facts<'_>) -> Option<(f64, &'static str)> {
        let growth =
            |series: &[Series]| series.iter().map(|one| one.points.growth(&Window::ALL)).sum::<f64>();
        let prompts = growth(&facts.engines.prompt_tokens);
        if !facts.engines.cached_tokens.is_empty() && prompts > 0.0 {
            return Some((growth(&facts.engines.cached_tokens) / prompts, "token counters"));
        }
        pooled_mean(&facts.engines.cache_hit_rate).map(|rate| (rate, "sglang_cache_hit_rate"))
    }
}

impl Rule for LowPrefixCacheHits {
    fn id(&self) -> &'static str {
        "engine.low_prefix_cache_hits"
    }

    fn kind(&self) -> Kind {
        Kind::Tuning
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        // Engines that make room for training lose their cache every step.
        if facts.settings.colocate {
            return Vec::new();
        }
        let Some((rate, source)) = Self::rate(facts).filter(|(rate, _)| *rate < Self::MAX_RATE) else {
            return Vec::new();
        };
        let now = facts.settings.mem_fraction_static;
        let shown = now.map(|fraction| format!(" ({fraction})")).unwrap_or_default();
        let message = format!("{} of prompt tokens came from the prefix cache (by {source})", percent(rate));
        let hint = format!(
            "raise sglang_mem_fraction_static{shown} for a larger KV cache, or keep a group's samples on one engine"
        );
        let finding = Finding::new(self.id(), Level::Info, message, hint)
            .with("hit_rate", rate)
            .with("source", source)
            .with("sglang_mem_fraction_static", now);
        vec![finding.over(span(&facts.engines.cache_hit_rate))]
    }
}

/// Ranks of one engine of which some work and others wait.
pub struct DpImbalance;

impl DpImbalance {
    /// Requests on the busiest rank on average; an engine with less to do cannot share it evenly.
    pub const MIN_BUSIEST: f64 = 1.0;
    /// Chance alone makes ranks differ by a half, not by a factor of four.
    pub const MAX_IDLEST: f64 = 0.25;
}

/// Mean number of running requests on the busiest and the idlest rank of an engine.
#[derive(Clone, Copy)]
struct Spread<'a> {
    addr: &'a str,
    busiest: (f64, &'a str),
    idlest: (f64, &'a str),
}

impl Rule for DpImbalance {
    fn id(&self) -> &'static str {
        "engine.dp_imbalance"
    }

    fn kind(&self) -> Kind {
        Kind::Tuning
    }

    /// One finding for all engines, about the worst: the cause is a router's, not an engine's.
    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        let mut spread: BTreeMap<&str, Spread<'_>> = BTreeMap::new();
        for one in &facts.engines.running_by_rank {
            let Some(mean) = dp_rank(one).zip(one.points.mean()).map(|(rank, mean)| (mean, rank)) else {
                continue;
            };
            let addr = one.addr.as_str();
            let spread = spread.entry(addr).or_insert(Spread { addr, busiest: mean, idlest: mean });
            if mean.0 > spread.busiest.0 {
                spread.busiest = mean;
            }
            if mean.0 < spread.idlest.0 {
                spread.idlest = mean;
            }
        }
        let share = |spread: &Spread<'_>| spread.idlest.0 / spread.busiest.0;
        let mut uneven: Vec<_> = spread
            .into_values()
            .filter(|spread| spread.busiest.0 >= Self::MIN_BUSIEST && share(spread) < Self::MAX_IDLEST)
            .collect();
        uneven.sort_by(|a, b| share(a).total_cmp(&share(b)));
        let Some(worst) = uneven.first() else { return Vec::new() };
        let others = match uneven.len() - 1 {
            0 => String::new(),
            others => format!("; so do {others} other engines to some extent"),
        };
        let message = format!(
            "{} shares its work unevenly: data-parallel rank {} ran {:.1} requests on average and rank {} only \
             {:.1}{others}",
            worst.addr, worst.busiest.1, worst.busiest.0, worst.idlest.1, worst.idlest.0,
        );
        let hint = "let the router know the ranks (router_dp_aware), or choose another router policy";
        let addrs: Vec<&str> = uneven.iter().map(|spread| spread.addr).collect();
        let finding = Finding::new(self.id(), Level::Warning, message, hint)
            .with("addr", worst.addr)
            .with("busiest_dp_rank", worst.busiest.1)
            .with("busiest_running_mean", worst.busiest.0)
            .with("idlest_dp_rank", worst.idlest.1)
            .with("idlest_running_mean", worst.idlest.0)
            .with("engines", json!(addrs));
        vec![finding.over(span(&facts.engines.running_by_rank))]
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::testing::{rank, series};
    use super::super::facts::{EngineFacts, Settings};
    use super::*;

    fn found(rule: &dyn Rule, engines: EngineFacts, settings: Settings) -> Vec<Finding> {
        rule.check(&Facts { engines, settings, ..Facts::default() }, &Options::default())
    }

    #[test]
    fn a_limit_that_is_never_near_can_be_lowered() {
        let running = |peak: f64| EngineFacts {
            running: vec![series("a", &[1.0, peak]), series("b", &[2.0])],
            ..EngineFacts::default()
        };
        let settings = Settings { max_running_requests: Some(100.0), colocate: true, ..Settings::default() };
        let low = found(&LowConcurrency, running(29.0), settings);
        assert!(low[0].message.contains("29 requests") && low[0].hint.contains("frees memory"), "{low:?}");
        assert_eq!(found(&LowConcurrency, running(30.0), settings), []);
        assert_eq!(found(&LowConcurrency, running(1.0), Settings::default()), [], "no limit recorded");
        assert_eq!(found(&LowConcurrency, EngineFacts::default(), settings), []);
    }

    #[test]
    fn a_cache_that_hardly_hits_is_too_small_unless_training_takes_its_room() {
        let gauge = |rate: f64| EngineFacts {
            cache_hit_rate: vec![series("a", &[rate, rate])],
            ..EngineFacts::default()
        };
        let settings = Settings { mem_fraction_static: Some(0.75), ..Settings::default() };
        let low = found(&LowPrefixCacheHits, gauge(0.03), settings);
        assert!(low[0].hint.contains("sglang_mem_fraction_static (0.75)"), "{low:?}");
        assert_eq!(found(&LowPrefixCacheHits, gauge(0.10), settings), []);
        assert_eq!(found(&LowPrefixCacheHits, gauge(0.0), Settings { colocate: true, ..settings }), []);
    }

    #[test]
    fn token_counters_are_believed_before_the_gauge() {
        let counters = |cached: f64| EngineFacts {
            cache_hit_rate: vec![series("a", &[0.0, 0.0])],
            prompt_tokens: vec![series("a", &[0.0, 1000.0])],
            cached_tokens: vec![series("a", &[0.0, cached])],
            ..EngineFacts::default()
        };
        assert_eq!(found(&LowPrefixCacheHits, counters(700.0), Settings::default()), []);
        let low = found(&LowPrefixCacheHits, counters(50.0), Settings::default());
        assert!(low[0].message.contains("5.0 %") && low[0].message.contains("token counters"), "{low:?}");
    }

    #[test]
    fn a_rank_that_waits_while_another_works_is_named() {
        let ranks = |busy: f64, idle: f64| EngineFacts {
            running_by_rank: vec![
                rank("a", "0", &[busy, busy]),
                rank("a", "1", &[idle, idle]),
                rank("b", "0", &[8.0]),
                rank("b", "1", &[8.0]),
                series("c", &[50.0]),
            ],
            ..EngineFacts::default()
        };
        let uneven = found(&DpImbalance, ranks(20.0, 4.9), Settings::default());
        assert!(uneven[0].message.contains("rank 1 only 4.9"), "{uneven:?}");
        assert_eq!(uneven[0].evidence["engines"], json!(["a"]));
        assert_eq!(found(&DpImbalance, ranks(20.0, 5.0), Settings::default()), []);
        assert_eq!(found(&DpImbalance, ranks(0.9, 0.0), Settings::default()), [], "hardly any work");
        assert_eq!(found(&DpImbalance, EngineFacts::default(), Settings::default()), []);
    }
}
