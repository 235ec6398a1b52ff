//! One row a sample: what was generated and what the trainer computed from it.
//!
//! The train side is reduced while the rollout file is still being scanned, each on a core of its own;
//! the two meet by sample index.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::batch::{Batch, Sample};
use super::run::StepFiles;
use super::series::{Computed, Series};
use super::stats::{self, Mask, MeanMax};
use super::train::{Train, TrainRow};
use super::{Error, StepId};
use crate::row::{Cell, Column, Kind};

/// What the train side of a sample comes to; statistics are over positions whose mask is above 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs)]
pub struct TrainStats {
    pub normalized_reward: Option<f64>,
    pub truncated: Option<bool>,
    pub dumped_rank: u32,
    pub mean_entropy: Option<f32>,
    pub max_entropy: Option<f32>,
    pub ref_entropy_mean: Option<f32>,
    /// Of |train - rollout|, both as the trainer holds them.
    pub mean_abs_lp_diff: Option<f32>,
    pub max_abs_lp_diff: Option<f32>,
    /// Mean of exp(train - rollout).
    pub mean_imp_ratio: Option<f32>,
    pub adv_mean: Option<f32>,
    pub adv_std: Option<f32>,
    pub return_mean: Option<f32>,
    /// A column was there and could not be placed.
    pub alignment_failed: bool,
}

impl TrainStats {
    /// Reduces one row.
    ///
    /// # Errors
    /// A tensor of the row cannot be read, or its mask does not fit.
    pub fn of(row: TrainRow<'_>) -> Result<Self, Error> {
        let mask = row.mask()?;
        let mask = Mask::new(mask.as_deref());
        let columns = row.columns()?;
        let mut failed = false;
        let mut get = |column| -> Result<Series<'_>, Error> {
            let series = columns.get(column)?;
            failed |= series.is_unplaced();
            Ok(series)
        };
        let (train, rollout) = (get(Computed::LogProbs)?, get(Computed::RolloutLogProbs)?);
        let (entropy, ref_entropy) = (get(Computed::Entropy)?, get(Computed::RefEntropy)?);
        let (advantages, returns) = (get(Computed::Advantages)?, get(Computed::Returns)?);
        // Shown token by token elsewhere; here it only counts whether it can be placed.
        get(Computed::RefLogProbs)?;

        let over = |series: &Series<'_>| match series.values() {
            Some(v) => stats::mean_max(v.len(), mask, |i| v[i]),
            None => MeanMax::default(),
        };
        let (mut diff, mut ratio) = (MeanMax::default(), MeanMax::default());
        if let (Some(t), Some(r)) = (train.values(), rollout.values()) {
            diff = stats::mean_max(t.len(), mask, |i| (t[i] - r[i]).abs());
            ratio = stats::mean_max(t.len(), mask, |i| (t[i] - r[i]).exp());
        }
        let entropy = over(&entropy);
        Ok(Self {
            normalized_reward: row.normalized_reward(),
            truncated: row.truncated(),
            dumped_rank: row.rank(),
            mean_entropy: entropy.mean,
            max_entropy: entropy.max,
            ref_entropy_mean: over(&ref_entropy).mean,
            mean_abs_lp_diff: diff.mean,
            max_abs_lp_diff: diff.max,
            mean_imp_ratio: ratio.mean,
            adv_mean: over(&advantages).mean,
            adv_std: advantages.values().and_then(|v| stats::std(v, mask)),
            return_mean: over(&returns).mean,
            alignment_failed: failed,
        })
    }
}

/// One sample of a step.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Row {
    pub sample_index: Option<i64>,
    pub group_index: Option<i64>,
    pub status: Option<String>,
    pub remove_sample: Option<bool>,
    /// Tokens.
    pub response_length: Option<i64>,
    /// Tokens of prompt and response.
    pub total_length: Option<i64>,
    pub reward: Option<f64>,
    /// The last generation call's.
    pub weight_version: Option<String>,
    /// Smallest numeric one.
    pub weight_version_min: Option<i64>,
    /// More than one distinct version.
    pub mixed_version: Option<bool>,
    /// Rollout id minus `weight_version_min`; negative after a failover.
    pub staleness: Option<i64>,
    /// Generation calls.
    pub turns: Option<i64>,
    /// Messages with the role `tool` in a chat prompt.
    pub tool_calls: Option<i64>,
    /// Seconds.
    pub non_generation_time: Option<f64>,
    /// Fraction of drafted tokens.
    pub spec_accept_rate: Option<f64>,
    /// Fraction of prompt tokens.
    pub prefix_cache_hit_rate: Option<f64>,
    pub raw_reward: Option<f64>,
    /// The train row's flag, else whether `status` is `truncated`.
    pub truncated: bool,
    /// `None` without a train row.
    pub train: Option<TrainStats>,
}

/// Columns of a step with a train side, in the order of the recorded answers.
pub const COLUMNS: [Column; 30] = [
    Column::new("sample_index", Kind::Int),
    Column::new("group_index", Kind::Int),
    Column::new("status", Kind::Text),
    Column::new("remove_sample", Kind::Bool),
    Column::new("response_length", Kind::Int),
    Column::new("total_length", Kind::Int),
    Column::new("reward", Kind::Float64),
    Column::new("weight_version", Kind::Text),
    Column::new("weight_version_min", Kind::Int),
    Column::new("mixed_version", Kind::Bool),
    Column::new("staleness", Kind::Int),
    Column::new("turns", Kind::Int),
    Column::new("tool_calls", Kind::Int),
    Column::new("non_generation_time", Kind::Float64),
    Column::new("spec_accept_rate", Kind::Float64),
    Column::new("prefix_cache_hit_rate", Kind::Float64),
    Column::new("raw_reward", Kind::Float64),
    Column::new("normalized_reward", Kind::Float64),
    Column::new("truncated", Kind::Bool),
    Column::new("dumped_rank", Kind::Int),
    Column::new("mean_entropy", Kind::Float32),
    Column::new("max_entropy", Kind::Float32),
    Column::new("ref_entropy_mean", Kind::Float32),
    Column::new("mean_abs_lp_diff", Kind::Float32),
    Column::new("max_abs_lp_diff", Kind::Float32),
    Column::new("mean_imp_ratio", Kind::Float32),
    Column::new("adv_mean", Kind::Float32),
    Column::new("adv_std", Kind::Float32),
    Column::new("return_mean", Kind::Float32),
    Column::new("alignment_failed", Kind::Bool),
];

impl Row {
    /// Both sides of one sample; `raw_reward` is the batch-global entry at its position.
    pub fn new(
        sample: Sample<'_>,
        rollout_id: i64,
        raw_reward: Option<f64>,
        train: Option<TrainStats>,
    ) -> Self {
        let versions = sample.weight_versions();
        let lowest = versions.iter().filter_map(|v| v.parse::<i64>().ok()).min();
        let distinct: HashSet<&str> = versions.iter().map(String::as_str).collect();
        let status = sample.status();
        Self {
            sample_index: sample.index(),
            group_index: sample.group_index(),
            remove_sample: sample.remove_sample(),
            response_length: sample.response_length(),
            total_length: sample.total_length().map(|n| n as i64),
            reward: sample.reward(),
            weight_version: versions.last().cloned(),
            weight_version_min: lowest,
            mixed_version: (!versions.is_empty()).then_some(distinct.len() > 1),
            staleness: lowest.map(|v| rollout_id.saturating_sub(v)),
            turns: (!versions.is_empty()).then_some(versions.len() as i64),
            tool_calls: sample.tool_calls(),
            non_generation_time: sample.non_generation_time(),
            spec_accept_rate: sample.spec_accept_rate(),
            prefix_cache_hit_rate: sample.prefix_cache_hit_rate(),
            // Known for every sample of the batch, shown for those the trainer got.
            raw_reward: train.as_ref().and(raw_reward),
            truncated: train
                .as_ref()
                .and_then(|t| t.truncated)
                .unwrap_or_else(|| status.as_deref() == Some("truncated")),
            status,
            train,
        }
    }

    /// The row as cells of [`COLUMNS`].
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let t = self.train.as_ref();
        let f = |get: fn(&TrainStats) -> Option<f32>| Cell::from(t.and_then(get));
        vec![
            self.sample_index.into(),
            self.group_index.into(),
            self.status.as_deref().into(),
            self.remove_sample.into(),
            self.response_length.into(),
            self.total_length.into(),
            self.reward.into(),
            self.weight_version.as_deref().into(),
            self.weight_version_min.into(),
            self.mixed_version.into(),
            self.staleness.into(),
            self.turns.into(),
            self.tool_calls.into(),
            self.non_generation_time.into(),
            self.spec_accept_rate.into(),
            self.prefix_cache_hit_rate.into(),
            self.raw_reward.into(),
            t.and_then(|t| t.normalized_reward).into(),
            self.truncated.into(),
            t.map(|t| t.dumped_rank).into(),
            f(|t| t.mean_entropy),
            f(|t| t.max_entropy),
            f(|t| t.ref_entropy_mean),
            f(|t| t.mean_abs_lp_diff),
            f(|t| t.max_abs_lp_diff),
            f(|t| t.mean_imp_ratio),
            f(|t| t.adv_mean),
            f(|t| t.adv_std),
            f(|t| t.return_mean),
            t.is_some_and(|t| t.alignment_failed).into(),
        ]
    }

    /// The row back from cells of [`COLUMNS`]; `None` when they are of other kinds.
    pub fn from_cells(cells: &[Cell<'_>]) -> Option<Self> {
        let int = |i: usize| match cells.get(i) {
            Some(Cell::Int(v)) => Some(*v),
            _ => None,
        };
        let f64 = |i: usize| match cells.get(i) {
            Some(Cell::F64(v)) => Some(*v),
            _ => None,
        };
        let f32 = |i: usize| match cells.get(i) {
            Some(Cell::F32(v)) => Some(*v),
            _ => None,
        };
        let bool = |i: usize| match cells.get(i) {
            Some(Cell::Bool(v)) => Some(*v),
            _ => None,
        };
        let text = |i: usize| match cells.get(i) {
            Some(Cell::Text(v)) => Some(v.clone().into_owned()),
            _ => None,
        };
        if cells.len() != COLUMNS.len() || !cells.iter().zip(&COLUMNS).all(|(c, col)| c.fits(col.kind)) {
            return None;
        }
        let train = int(19).and_then(|rank| u32::try_from(rank).ok()).map(|dumped_rank| TrainStats {
            normalized_reward: f64(17),
            truncated: bool(18),
            dumped_rank,
            mean_entropy: f32(20),
            max_entropy: f32(21),
            ref_entropy_mean: f32(22),
            mean_abs_lp_diff: f32(23),
            max_abs_lp_diff: f32(24),
            mean_imp_ratio: f32(25),
            adv_mean: f32(26),
            adv_std: f32(27),
            return_mean: f32(28),
            alignment_failed: bool(29).unwrap_or(false),
        });
        Some(Self {
            sample_index: int(0),
            group_index: int(1),
            status: text(2),
            remove_sample: bool(3),
            response_length: int(4),
            total_length: int(5),
            reward: f64(6),
            weight_version: text(7),
            weight_version_min: int(8),
            mixed_version: bool(9),
            staleness: int(10),
            turns: int(11),
            tool_calls: int(12),
            non_generation_time: f64(13),
            spec_accept_rate: f64(14),
            prefix_cache_hit_rate: f64(15),
            raw_reward: f64(16),
            truncated: bool(18)?,
            train,
        })
    }
}

/// A step's summary, and how much of it the trainer's files cover.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Which step.
    pub id: StepId,
    /// One row a sample, in the rollout file's order.
    pub rows: Vec<Row>,
    /// Whether there was any train file.
    pub has_train: bool,
    /// Lone surrogates and undecodable bytes replaced in what was read.
    pub replaced_characters: u64,
}

impl Summary {
    /// Reads a step.
    ///
    /// # Errors
    /// [`Error`] when a file cannot be read or files contradict each other.
    pub fn read(files: &StepFiles) -> Result<Self, Error> {
        let (batch, train) = rayon::join(|| Batch::open(&files.rollout), || reduce(files));
        let (batch, (train, mut stats)) = (batch?, train?);
        let known: HashSet<i64> = batch.samples().filter_map(|s| s.index()).collect();
        train.check_indices(&known)?;
        let raw_reward = train.raw_reward(batch.len())?;
        let rows = batch.samples().enumerate().map(|(place, sample)| {
            // Of two samples with one index the first is the trainer's, as in the join.
            let stats = sample.index().and_then(|index| stats.remove(&index));
            let raw = raw_reward.and_then(|r| r.get(place).copied().flatten());
            Row::new(sample, files.id.rollout_id, raw, stats)
        });
        let rows = rows.collect();
        Ok(Self {
            id: files.id,
            rows,
            has_train: !train.is_empty(),
            replaced_characters: batch.file().replaced_characters(),
        })
    }

    /// Rows that a train file holds.
    pub fn joined(&self) -> usize {
        self.rows.iter().filter(|r| r.train.is_some()).count()
    }

    /// Rows with a column that could not be placed.
    pub fn unplaced(&self) -> usize {
        self.rows.iter().filter(|r| r.train.as_ref().is_some_and(|t| t.alignment_failed)).count()
    }
}

/// Rows that are reduced before the pages they were read from are given back: enough work for every
/// core between two such calls, some 25 MB of tensors.
const ROWS_AT_ONCE: usize = 128;

fn reduce(files: &StepFiles) -> Result<(Train, HashMap<i64, TrainStats>), Error> {
    let train = Train::open(files)?;
    let mut stats = HashMap::new();
    for indices in train.indices().chunks(ROWS_AT_ONCE) {
        let rows = indices.par_iter().filter_map(|&index| train.row(index));
        let part = rows.map(|row| Ok((row.index(), TrainStats::of(row)?)));
        stats.extend(part.collect::<Result<Vec<_>, Error>>()?);
        train.release_pages();
    }
    Ok((train, stats))
}
