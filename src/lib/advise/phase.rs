//! Rules about phases: does every rank get on.

use serde_json::json;

use super::facts::{Facts, OpenPhase};
use super::finding::{Finding, Level, counted, duration};
use super::{Kind, Options, Rule};

/// A phase that has begun and will not end.
pub struct Stalled;

impl Stalled {
    /// Fewer closed phases of a name say nothing of how long one takes.
    pub const MIN_CLOSED: usize = 3;
    /// Slow steps take two or three times the median; six times is no longer a step.
    pub const TIMES_MEDIAN: f64 = 6.0;
    /// Short phases vary by more than a factor: a save of 2 s may well take a minute. Also half of the
    /// usual NCCL patience of an hour, so that this speaks before the job dies.
    pub const MIN_AGE_S: f64 = 1_800.0;
}

impl Rule for Stalled {
    fn id(&self) -> &'static str {
        "phase.stalled"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    /// One finding a phase name: a collective that hangs holds up every rank in the same phase.
    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        let Some(now) = facts.newest_ts else { return Vec::new() };
        facts.open_phases.iter().filter_map(|(name, phase)| self.stalled(name, phase, now)).collect()
    }
}

impl Stalled {
    fn stalled(&self, name: &str, phase: &OpenPhase, now: f64) -> Option<Finding> {
        let median = median(&phase.closed_s).filter(|_| phase.closed_s.len() >= Self::MIN_CLOSED)?;
        let limit = (Self::TIMES_MEDIAN * median).max(Self::MIN_AGE_S);
        let mut old: Vec<_> = phase.open.iter().filter(|open| now - open.t0 > limit).collect();
        old.sort_by(|a, b| a.t0.total_cmp(&b.t0).then(a.rank.cmp(&b.rank)));
        let oldest = old.first()?;
        let age = now - oldest.t0;
        let ranks: Vec<i64> = old.iter().map(|open| open.rank).collect();
        let place = match oldest.rank {
            ..0 => format!("on {}", oldest.node),
            rank => format!("on rank {rank} ({})", oldest.node),
        };
        let others = match old.len() - 1 {
            0 => String::new(),
            others => format!(", and on {} more recently", counted(others as u64, "other rank")),
        };
        let message = format!(
            "{name} has been open for {} {place}{others}; it usually takes {} (median of {})",
            duration(age),
            duration(median),
            counted(phase.closed_s.len() as u64, "closed one"),
        );
        let hint = "look at that rank's log and stack (py-spy dump); where all ranks wait, the one that \
                    began last or is in another phase holds them up";
        let finding = Finding::new(self.id(), Level::Critical, message, hint)
            .with("phase", name)
            .with("age_s", age)
            .with("limit_s", limit)
            .with("median_s", median)
            .with("closed", phase.closed_s.len())
            .with("node", oldest.node.as_str())
            .with("ranks", json!(ranks));
        Some(finding.over(Some([oldest.t0, now])))
    }
}

/// The middle value, or the mean of the middle two.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted.get(middle).copied(),
        _ => Some(f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, *sorted.get(middle)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::OpenSince;
    use super::*;

    fn facts(age: f64, closed_s: &[f64]) -> Facts<'static> {
        let open = |rank, t0| OpenSince { node: "n".to_owned(), rank, t0 };
        let open = vec![open(5, 10_000.0 - age), open(2, 9_990.0)];
        let phase = OpenPhase { open, closed_s: closed_s.to_vec() };
        Facts {
            newest_ts: Some(10_000.0),
            open_phases: [("actor_train".to_owned(), phase)].into(),
            ..Facts::default()
        }
    }

    fn check(facts: &Facts<'_>) -> Vec<Finding> {
        Stalled.check(facts, &Options::default())
    }

    #[test]
    fn a_phase_far_beyond_its_median_has_stalled() {
        let found = check(&facts(2_500.0, &[300.0, 400.0, 500.0]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].level, Level::Critical);
        assert!(found[0].message.contains("actor_train") && found[0].message.contains("rank 5"), "{found:?}");
        assert_eq!(found[0].evidence["ranks"], json!([5]));
        assert_eq!(found[0].window, Some([7_500.0, 10_000.0]));
    }

    #[test]
    fn a_phase_that_is_slow_young_or_little_known_has_not() {
        for (age, closed) in [
            (2_400.0, &[300.0, 400.0, 500.0][..]),
            (1_800.0, &[1.0; 9]),
            (9_000.0, &[1.0, 1.0]),
            (9_000.0, &[]),
        ] {
            assert_eq!(check(&facts(age, closed)), [], "{age} {closed:?}");
        }
        assert_eq!(check(&Facts::default()), []);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
        assert_eq!((median(&[5.0]), median(&[])), (Some(5.0), None));
    }
}
