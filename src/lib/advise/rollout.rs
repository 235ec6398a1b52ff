//! Rules about the newest training step's samples: do they teach anything.

use super::facts::{Facts, Step};
use super::finding::{Finding, Level, counted, percent};
use super::{Kind, Options, Rule};
use crate::rollout::groups::groups;

/// Many groups whose rewards are all alike.
pub struct DeadGroups;

impl DeadGroups {
    /// Some groups are always too easy or too hard; with half of them the step is half as large.
    pub const MIN_SHARE: f64 = 0.50;

    fn dead(&self, step: &Step<'_>) -> Option<Finding> {
        let groups = groups(step.rows, false);
        let with_reward = groups.iter().filter(|group| group.reward_mean.is_some()).count();
        let dead = groups.iter().filter(|group| group.zero_std).count();
        if with_reward == 0 || (dead as f64) < Self::MIN_SHARE * with_reward as f64 {
            return None;
        }
        let all_zero = step.rows.iter().filter_map(|row| row.raw_reward).all(|reward| reward == 0.0);
        let share = dead as f64 / with_reward as f64;
        let mut message = format!(
            "in {dead} of {with_reward} groups of step {} ({}) all samples have the same reward: no advantage, so \
             no policy gradient from them (a KL term still has one)",
            step.rollout_id,
            percent(share),
        );
        if all_zero {
            message += ". Every reward of the step is 0";
        }
        let hint = if all_zero {
            "check the reward function first: it may fail or never be reached"
        } else {
            "take prompts of other difficulty, filter groups without spread while sampling, or sample more per prompt"
        };
        let finding = Finding::new(self.id(), Level::Warning, message, hint)
            .with("groups", with_reward)
            .with("zero_std_groups", dead)
            .with("zero_std_share", share)
            .with("all_rewards_zero", all_zero);
        Some(finding.of_step(step.rollout_id))
    }
}

impl Rule for DeadGroups {
    fn id(&self) -> &'static str {
        "rollout.dead_groups"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        facts.step.and_then(|step| self.dead(&step)).into_iter().collect()
    }
}

/// Many samples that were cut at the length limit.
pub struct Truncation;

impl Truncation {
    /// A tail of long responses is normal; a quarter means that the limit shapes what is learned.
    pub const MIN_SHARE: f64 = 0.25;
}

impl Rule for Truncation {
    fn id(&self) -> &'static str {
        "rollout.truncation"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        let Some(step) = facts.step.filter(|step| !step.rows.is_empty()) else { return Vec::new() };
        let truncated = step.rows.iter().filter(|row| row.truncated).count();
        let share = truncated as f64 / step.rows.len() as f64;
        if share < Self::MIN_SHARE {
            return Vec::new();
        }
        let limit = facts.settings.max_response_len;
        let shown = limit.map(|limit| format!(" ({limit} tokens)")).unwrap_or_default();
        let message = format!(
            "{truncated} of {} of step {} ({}) were cut at rollout_max_response_len{shown}",
            counted(step.rows.len() as u64, "sample"),
            step.rollout_id,
            percent(share),
        );
        let hint = "raise rollout_max_response_len, or reward shorter answers";
        let finding = Finding::new(self.id(), Level::Warning, message, hint)
            .with("samples", step.rows.len())
            .with("truncated", truncated)
            .with("truncated_share", share)
            .with("rollout_max_response_len", limit);
        vec![finding.of_step(step.rollout_id)]
    }
}

/// Samples whose per-token columns cannot be put together from the ranks' slices.
pub struct UnreadableSlices;

impl Rule for UnreadableSlices {
    fn id(&self) -> &'static str {
        "rollout.unreadable_slices"
    }

    fn kind(&self) -> Kind {
        Kind::Alarm
    }

    fn check(&self, facts: &Facts<'_>, _: &Options) -> Vec<Finding> {
        let Some(step) = facts.step else { return Vec::new() };
        let failed = |row: &&crate::rollout::summary::Row| {
            row.train.as_ref().is_some_and(|train| train.alignment_failed)
        };
        let count = step.rows.iter().filter(failed).count();
        let Some(first) = step.rows.iter().find(failed) else { return Vec::new() };
        let message = format!(
            "{} of step {} have train-side columns that cannot be put together from the ranks' slices; they are \
             shown as missing",
            counted(count as u64, "sample"),
            step.rollout_id,
        );
        let hint = "a rank's file of train_data may be missing or overwritten: miles-dump ids lists them";
        let finding = Finding::new(self.id(), Level::Info, message, hint)
            .with("samples", step.rows.len())
            .with("unreadable", count)
            .with("first_sample_index", first.sample_index);
        vec![finding.of_step(step.rollout_id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::summary::{Row, TrainStats};

    fn row(group: i64, reward: Option<f64>) -> Row {
        Row {
            sample_index: Some(group * 10),
            group_index: Some(group),
            status: None,
            remove_sample: None,
            response_length: None,
            total_length: None,
            reward: None,
            weight_version: None,
            weight_version_min: None,
            mixed_version: None,
            staleness: None,
            turns: None,
            tool_calls: None,
            non_generation_time: None,
            spec_accept_rate: None,
            prefix_cache_hit_rate: None,
            raw_reward: reward,
            truncated: false,
            train: Some(TrainStats::default()),
        }
    }

    fn found(rule: &dyn Rule, rows: &[Row]) -> Vec<Finding> {
        let step = Some(Step { rollout_id: 7, rows });
        rule.check(&Facts { step, ..Facts::default() }, &Options::default())
    }

    #[test]
    fn half_of_the_groups_without_spread_are_too_many() {
        let rows = [(0, 1.0), (0, 1.0), (1, 0.0), (1, 1.0)].map(|(g, r)| row(g, Some(r)));
        let found = found(&DeadGroups, &rows);
        assert!(found[0].message.contains("1 of 2 groups of step 7"), "{found:?}");
        assert!(found[0].message.contains("no policy gradient"));
        assert_eq!((found[0].rollout_id, &found[0].evidence["all_rewards_zero"]), (Some(7), &false.into()));
    }

    #[test]
    fn rewards_that_are_all_zero_point_at_the_reward_function() {
        let rows = [row(0, Some(0.0)), row(0, Some(0.0))];
        let found = found(&DeadGroups, &rows);
        assert!(found[0].message.contains("Every reward") && found[0].hint.contains("reward function"));
    }

    #[test]
    fn a_minority_of_dead_groups_and_groups_without_a_reward_do_not_count() {
        let rows = [(0, 1.0), (0, 1.0), (1, 0.0), (1, 1.0), (2, 0.0), (2, 1.0)].map(|(g, r)| row(g, Some(r)));
        assert_eq!(found(&DeadGroups, &rows), []);
        assert_eq!(found(&DeadGroups, &[row(0, None), row(0, None)]), []);
        assert_eq!(found(&DeadGroups, &[]), []);
    }

    #[test]
    fn a_quarter_of_cut_samples_is_too_many_and_less_is_not() {
        let rows = |truncated: usize| -> Vec<Row> {
            (0..8).map(|at| Row { truncated: at < truncated, ..row(0, None) }).collect()
        };
        let two = found(&Truncation, &rows(2));
        assert!(
            two[0].message.contains("rollout_max_response_len") && two[0].message.contains("2 of 8 samples")
        );
        assert_eq!(found(&Truncation, &rows(1)), []);
        assert_eq!(found(&Truncation, &[]), []);
    }

    #[test]
    fn one_sample_that_cannot_be_put_together_is_worth_knowing() {
        let mut rows = [row(0, None), row(4, None)];
        assert_eq!(found(&UnreadableSlices, &rows), []);
        rows[1].train = Some(TrainStats { alignment_failed: true, ..TrainStats::default() });
        let found = found(&UnreadableSlices, &rows);
        assert_eq!((found[0].level, &found[0].evidence["first_sample_index"]), (Level::Info, &40.into()));
    }
}
