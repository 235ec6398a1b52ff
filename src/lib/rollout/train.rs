//! The train side of a step: every rank's shard, and which of them hold which row.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;

use super::Error;
use super::run::StepFiles;
use super::series::{self, Computed, Lengths, Location, Placement, Series};
use super::shard::Shard;

/// All shards of a step, their rows gathered by sample index.
#[derive(Debug)]
pub struct Train {
    shards: Vec<Shard>,
    rows: HashMap<i64, Vec<Location>>,
    /// Sample indices in order of first appearance, the order of ranks and rows.
    order: Vec<i64>,
}

impl Train {
    /// Opens the train files of a step.
    ///
    /// # Errors
    /// [`Error::StillWriting`], [`Error::Pt`]; [`Error::Inconsistent`] when ranks disagree on a row.
    pub fn open(files: &StepFiles) -> Result<Self, Error> {
        let shards =
            files.train.par_iter().map(|f| Shard::open(&f.path, f.rank)).collect::<Result<Vec<_>, _>>()?;
        let mut rows: HashMap<i64, Vec<Location>> = HashMap::new();
        let mut order = Vec::new();
        for (s, shard) in shards.iter().enumerate() {
            for (row, &index) in shard.indices.iter().enumerate() {
                let at = rows.entry(index).or_insert_with(|| {
                    order.push(index);
                    Vec::new()
                });
                at.push(Location { shard: s as u32, row: row as u32 });
            }
        }
        let train = Self { shards, rows, order };
        for row in train.rows() {
            row.check()?;
        }
        Ok(train)
    }

    /// Whether the step has no train file at all.
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    /// The row of a sample, if any rank holds it.
    pub fn row(&self, index: i64) -> Option<TrainRow<'_>> {
        self.rows.get(&index).map(|at| TrainRow { train: self, index, at })
    }

    /// Every row, in the order of ranks.
    pub fn rows(&self) -> impl Iterator<Item = TrainRow<'_>> {
        self.order.iter().filter_map(|&index| self.row(index))
    }

    /// Sample indices in the order of ranks.
    pub(super) fn indices(&self) -> &[i64] {
        &self.order
    }

    /// Files of the shards, for what is said about them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(Shard::path)
    }

    /// The raw rewards of the whole batch, one a sample in the rollout file's order.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] when their number is not that of the samples.
    pub fn raw_reward(&self, samples: usize) -> Result<Option<&[Option<f64>]>, Error> {
        let Some((shard, raw)) = self.shards.iter().find_map(|s| s.raw_reward.as_ref().map(|r| (s, r)))
        else {
            return Ok(None);
        };
        if raw.len() != samples {
            let what = format!("raw_reward has {} entries for a batch of {samples} samples", raw.len());
            return Err(Error::inconsistent(shard.path(), what));
        }
        Ok(Some(raw))
    }

    /// Checks that every row's sample is among the indices of the rollout file.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] naming the file and the index.
    pub fn check_indices(&self, known: &std::collections::HashSet<i64>) -> Result<(), Error> {
        for shard in &self.shards {
            if let Some(index) = shard.indices.iter().find(|i| !known.contains(i)) {
                let what = format!("sample index {index} is not in the rollout file");
                return Err(Error::inconsistent(shard.path(), what));
            }
        }
        Ok(())
    }

    /// Lets the system take back the pages of every shard.
    pub fn release_pages(&self) {
        self.shards.iter().for_each(|s| s.file().release_pages());
    }
}

/// One sample's row on the train side.
#[derive(Debug, Clone, Copy)]
pub struct TrainRow<'a> {
    train: &'a Train,
    index: i64,
    at: &'a [Location],
}

impl<'a> TrainRow<'a> {
    fn first(self) -> (&'a Shard, usize) {
        let l = self.at[0];
        (&self.train.shards[l.shard as usize], l.row as usize)
    }

    /// All locations must agree on the lengths.
    fn check(self) -> Result<(), Error> {
        let (first, row) = self.first();
        let lengths = |s: &Shard, row: usize| (s.response_lengths[row], s.total_lengths[row]);
        for l in self.at {
            let other = &self.train.shards[l.shard as usize];
            if lengths(other, l.row as usize) != lengths(first, row) {
                let what = format!(
                    "ranks {} and {} disagree on the lengths of sample {}",
                    first.rank, other.rank, self.index
                );
                return Err(Error::inconsistent(other.path(), what));
            }
        }
        Ok(())
    }

    /// The sample's index.
    pub fn index(self) -> i64 {
        self.index
    }

    /// Rank of the first location.
    pub fn rank(self) -> u32 {
        self.first().0.rank
    }

    /// Reward after group normalisation.
    pub fn normalized_reward(self) -> Option<f64> {
        let (shard, row) = self.first();
        shard.rewards.get(row).copied().flatten()
    }

    /// The row's flag.
    pub fn truncated(self) -> Option<bool> {
        let (shard, row) = self.first();
        shard.truncated.get(row).copied().flatten().map(|x| x != 0.0)
    }

    /// Tokens of prompt and response.
    pub fn total_length(self) -> usize {
        let (shard, row) = self.first();
        shard.total_lengths[row]
    }

    /// Tokens of the response.
    pub fn response_length(self) -> usize {
        let (shard, row) = self.first();
        shard.response_lengths[row]
    }

    /// The loss mask, one value a response position. `None` without the column.
    ///
    /// # Errors
    /// It cannot be read, or has not the response's length.
    pub fn mask(self) -> Result<Option<Cow<'a, [i32]>>, Error> {
        let (shard, row) = self.first();
        let Some(tensor) = shard.mask(row)? else { return Ok(None) };
        let mask = tensor.to_i32()?;
        if mask.len() != self.response_length() {
            let what = format!(
                "the loss mask of sample {} has {} values for a response of {}",
                self.index,
                mask.len(),
                self.response_length()
            );
            return Err(Error::inconsistent(shard.path(), what));
        }
        Ok(Some(mask))
    }

    /// The row's per-token columns; reads none of them yet.
    ///
    /// # Errors
    /// A slice that is needed to tell context-parallel ranks apart cannot be read.
    pub fn columns(self) -> Result<Columns<'a>, Error> {
        let (shard, row) = self.first();
        let (total, response) = (self.total_length(), self.response_length());
        let padded = shard.padded.as_ref().map_or(total, |p| p[row]);
        let lengths = Lengths { total, response, padded };
        let placement = series::placement(&self.train.shards, self.at, lengths)?;
        Ok(Columns { row: self, placement, lengths })
    }
}

/// A row's per-token columns.
#[derive(Debug)]
pub struct Columns<'a> {
    row: TrainRow<'a>,
    placement: Placement,
    lengths: Lengths,
}

impl<'a> Columns<'a> {
    /// One column over the whole response.
    ///
    /// # Errors
    /// A slice cannot be read. A slice that is missing or does not fit is [`Series::Unplaced`].
    pub fn get(&self, column: Computed) -> Result<Series<'a>, Error> {
        series::assemble(&self.row.train.shards, self.row.at, &self.placement, self.lengths, column)
    }
}
