//! One trainer rank's file of a step.

use std::path::Path;

use super::age::judge;
use super::series::Computed;
use super::{Error, list};
use crate::pt::{self, Ref, Tensor};

/// `train_data/{rid}_{rank}.pt`, opened. Tensors stay in the file.
#[derive(Debug)]
pub(super) struct Shard {
    file: pt::File,
    pub rank: u32,
    /// (`cp_rank`, `cp_size`); old dumps do not say.
    pub context: Option<(usize, usize)>,
    /// Rows are padded to `max_seq_lens` before they are cut.
    pub padded: Option<Vec<usize>>,
    pub indices: Vec<i64>,
    pub response_lengths: Vec<usize>,
    pub total_lengths: Vec<usize>,
    /// After group normalisation.
    pub rewards: Vec<Option<f64>>,
    pub truncated: Vec<Option<f64>>,
    /// Batch-global, one a sample of the rollout file.
    pub raw_reward: Option<Vec<Option<f64>>>,
}

impl Shard {
    pub fn open(path: &Path, rank: u32) -> Result<Self, Error> {
        let file = pt::File::open(path).map_err(judge)?;
        let root = file.root();
        let data = root
            .get("rollout_data")
            .ok_or_else(|| Error::inconsistent(path, "no rollout_data: not a train file of miles"))?;
        let required = |name: &str| {
            data.get(name).ok_or_else(|| Error::inconsistent(path, format!("rollout_data has no {name}")))
        };
        let lengths = |name: &str| -> Result<Vec<usize>, Error> {
            Ok(list::ints(required(name)?, name)?.unwrap_or_default())
        };
        let indices = list::ints(required("sample_indices")?, "sample_indices")?.unwrap_or_default();
        let (response_lengths, total_lengths) = (lengths("response_lengths")?, lengths("total_lengths")?);
        let per_row = |name: &str| data.get(name).map(list::optional_floats).unwrap_or_default();
        let (rewards, truncated) = (per_row("rewards"), per_row("truncated"));
        let raw_reward = data.get("raw_reward").filter(|r| !r.is_none()).map(list::optional_floats);
        let count = |name: &str| root.get(name).and_then(Ref::as_i64).and_then(|n| usize::try_from(n).ok());
        let context = count("cp_rank").zip(count("cp_size"));
        let bshd = root.get("qkv_format").and_then(Ref::as_str).as_deref() == Some("bshd");
        let padded = match data.get("max_seq_lens") {
            Some(r) if bshd => list::ints(r, "max_seq_lens")?,
            _ => None,
        };
        if let Some((rank, size)) = context.filter(|&(rank, size)| rank >= size) {
            return Err(Error::inconsistent(path, format!("cp_rank {rank} of cp_size {size}")));
        }
        let rows = indices.len();
        let mut columns =
            vec![("response_lengths", response_lengths.len()), ("total_lengths", total_lengths.len())];
        columns.extend(padded.as_ref().map(|p: &Vec<usize>| ("max_seq_lens", p.len())));
        for (name, len) in columns {
            if len != rows {
                return Err(Error::inconsistent(
                    path,
                    format!("{name} has {len} entries for {rows} sample_indices"),
                ));
            }
        }
        Ok(Self {
            rank,
            context,
            padded,
            indices,
            response_lengths,
            total_lengths,
            rewards,
            truncated,
            raw_reward,
            file,
        })
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn file(&self) -> &pt::File {
        &self.file
    }

    /// One row's loss mask, the whole response on every rank.
    pub fn mask(&self, row: usize) -> Result<Option<Tensor<'_>>, Error> {
        self.entry("loss_masks", row)
    }

    /// One row's slice of a computed column; `None` when this rank does not have it.
    pub fn slice(&self, column: Computed, row: usize) -> Result<Option<Tensor<'_>>, Error> {
        self.entry(column.key(), row)
    }

    fn entry(&self, name: &str, row: usize) -> Result<Option<Tensor<'_>>, Error> {
        let Some(list) = self.file.root().get("rollout_data").and_then(|d| d.get(name)) else {
            return Ok(None);
        };
        if list.is_none() {
            return Ok(None);
        }
        match list.at(row) {
            Some(r) if r.is_none() => Ok(None),
            Some(r) => Ok(Some(r.tensor()?)),
            None => {
                let (have, rows) = (list.len().unwrap_or(0), self.indices.len());
                let what = format!("{name} has {have} entries for {rows} sample_indices");
                Err(Error::inconsistent(self.path(), what))
            }
        }
    }
}
