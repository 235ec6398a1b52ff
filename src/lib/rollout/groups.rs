//! One row a group: the samples of one prompt.

use std::collections::BTreeMap;

use super::stats;
use super::summary::Row;
use crate::row::{Cell, Column, Kind};

/// Spread of rewards up to which a group counts as having none; float64 sums of equal rewards differ by less.
const NO_SPREAD: f64 = 1e-12;

/// A group of a step.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Group {
    pub group_index: i64,
    /// Samples.
    pub n: i64,
    /// Of `raw_reward` in a train step, of `reward` in an evaluation.
    pub reward_mean: Option<f64>,
    /// With n - 1; `None` for one reward.
    pub reward_std: Option<f64>,
    pub response_length_mean: Option<f64>,
    pub truncated_frac: f64,
    /// Rewards without spread: such a group contributes no policy gradient.
    pub zero_std: bool,
}

/// Columns of a group.
pub const COLUMNS: [Column; 7] = [
    Column::new("group_index", Kind::Int),
    Column::new("n", Kind::Int),
    Column::new("reward_mean", Kind::Float64),
    Column::new("reward_std", Kind::Float64),
    Column::new("response_length_mean", Kind::Float64),
    Column::new("truncated_frac", Kind::Float64),
    Column::new("zero_std", Kind::Bool),
];

impl Group {
    /// The group as cells of [`COLUMNS`].
    pub fn cells(&self) -> Vec<Cell<'static>> {
        vec![
            self.group_index.into(),
            self.n.into(),
            self.reward_mean.into(),
            self.reward_std.into(),
            self.response_length_mean.into(),
            self.truncated_frac.into(),
            self.zero_std.into(),
        ]
    }
}

/// The groups of a step by index. Samples without a group are in none.
pub fn groups(rows: &[Row], evaluation: bool) -> Vec<Group> {
    let mut members: BTreeMap<i64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        if let Some(g) = row.group_index {
            members.entry(g).or_default().push(row);
        }
    }
    let group = |(group_index, rows): (i64, Vec<&Row>)| {
        let rewards = rows.iter().filter_map(|r| if evaluation { r.reward } else { r.raw_reward });
        let (reward_mean, reward_std) = (stats::mean(rewards.clone()), stats::std_f64(rewards));
        Group {
            group_index,
            n: rows.len() as i64,
            reward_mean,
            reward_std,
            response_length_mean: stats::mean(
                rows.iter().filter_map(|r| r.response_length).map(|n| n as f64),
            ),
            truncated_frac: rows.iter().filter(|r| r.truncated).count() as f64 / rows.len() as f64,
            zero_std: reward_mean.is_some() && reward_std.unwrap_or(0.0) <= NO_SPREAD,
        }
    };
    members.into_iter().map(group).collect()
}
