//! A row's per-token columns, put together from the slices that ranks hold.

use std::borrow::Cow;

use super::Error;
use super::place::pieces;
use super::shard::Shard;

/// The per-token columns that trainer ranks compute or carry, a float each response position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Computed {
    LogProbs,
    RolloutLogProbs,
    RefLogProbs,
    Entropy,
    RefEntropy,
    Advantages,
    Returns,
}

impl Computed {
    /// Every column.
    pub const ALL: [Self; 7] = [
        Self::LogProbs,
        Self::RolloutLogProbs,
        Self::RefLogProbs,
        Self::Entropy,
        Self::RefEntropy,
        Self::Advantages,
        Self::Returns,
    ];

    /// Its key in a train file.
    pub fn key(self) -> &'static str {
        match self {
            Self::LogProbs => "log_probs",
            Self::RolloutLogProbs => "rollout_log_probs",
            Self::RefLogProbs => "ref_log_probs",
            Self::Entropy => "entropy",
            Self::RefEntropy => "ref_entropy",
            Self::Advantages => "advantages",
            Self::Returns => "returns",
        }
    }
}

/// What became of one column of one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Series<'a> {
    /// No rank has it.
    Absent,
    /// It is there and cannot be placed: slices missing or of the wrong width.
    Unplaced,
    /// One value a response position.
    Values(Cow<'a, [f32]>),
}

impl<'a> Series<'a> {
    /// The values, if there are any.
    pub fn values(&self) -> Option<&[f32]> {
        match self {
            Self::Values(v) => Some(v),
            _ => None,
        }
    }

    /// Whether it is there and could not be placed.
    pub fn is_unplaced(&self) -> bool {
        matches!(self, Self::Unplaced)
    }
}

/// One location of a row: a shard and the row in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Location {
    pub shard: u32,
    pub row: u32,
}

/// A row's lengths, as its first location has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    pub total: usize,
    pub response: usize,
    /// What context parallelism cuts.
    pub padded: usize,
}

/// Which slice each location of a row holds: (`cp_rank`, `cp_size`), or `None` where that cannot be told.
pub(super) type Placement = Vec<Option<(usize, usize)>>;

/// Reads the placement from the shards, or infers it for dumps that do not say.
pub(super) fn placement(shards: &[Shard], at: &[Location], lengths: Lengths) -> Result<Placement, Error> {
    let shard = |l: &Location| &shards[l.shard as usize];
    if at.first().is_some_and(|l| shard(l).context.is_some()) {
        return Ok(at.iter().map(|l| shard(l).context).collect());
    }
    // Ranks with the same slice of the engine's log-probs are copies of one context rank.
    let mut distinct: Vec<Cow<'_, [f32]>> = Vec::new();
    let mut which: Vec<Option<usize>> = Vec::with_capacity(at.len());
    for l in at {
        let Some(tensor) = shard(l).slice(Computed::RolloutLogProbs, l.row as usize)? else {
            which.push(None);
            continue;
        };
        let slice = tensor.to_f32()?;
        let same = |d: &Cow<'_, [f32]>| {
            d.len() == slice.len()
                && d.iter().zip(slice.iter()).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
        };
        which.push(Some(distinct.iter().position(same).unwrap_or_else(|| {
            distinct.push(slice);
            distinct.len() - 1
        })));
    }
    let size = distinct.len();
    if size <= 1 {
        return Ok(vec![Some((0, 1)); at.len()]);
    }
    let width =
        |c| pieces(lengths.total, lengths.response, lengths.padded, c, size).map(|r| r.len()).iter().sum();
    let widths: Vec<usize> = (0..size).map(width).collect();
    let fits = distinct.iter().map(|d| d.len()).eq(widths.iter().copied());
    if !fits || widths.iter().sum::<usize>() != lengths.response {
        return Ok(vec![None; at.len()]);
    }
    // Ranks that hold nothing of the response look like copies of each other. Where more of them would fit
    // as well and place the rest elsewhere, nothing tells which it is.
    let empty = which.iter().flatten().filter(|&&c| distinct[c].is_empty()).count();
    let layout = |size: usize| {
        let held = |c| pieces(lengths.total, lengths.response, lengths.padded, c, size);
        let all = (0..size).map(held).map(|ranges| ranges.into_iter().filter(|r| !r.is_empty()).collect());
        all.filter(|ranges: &Vec<_>| !ranges.is_empty()).collect::<Vec<_>>()
    };
    let sizes = |layout: &[Vec<std::ops::Range<usize>>]| -> Vec<usize> {
        layout.iter().map(|ranges| ranges.iter().map(ExactSizeIterator::len).sum()).collect()
    };
    let mine = layout(size);
    let rivals = (size + 1..size + empty).map(layout);
    if rivals.into_iter().any(|other| sizes(&other) == sizes(&mine) && other != mine) {
        return Ok(vec![None; at.len()]);
    }
    Ok(which.into_iter().map(|w| w.map(|c| (c, size))).collect())
}

/// Puts one column of one row together. Values are borrowed from the file when a single rank has them all.
pub(super) fn assemble<'a>(
    shards: &'a [Shard],
    at: &[Location],
    placement: &Placement,
    lengths: Lengths,
    column: Computed,
) -> Result<Series<'a>, Error> {
    let mut holders = Vec::new();
    for (l, place) in at.iter().zip(placement) {
        if let Some(tensor) = shards[l.shard as usize].slice(column, l.row as usize)? {
            holders.push((*place, tensor));
        }
    }
    if holders.is_empty() {
        return Ok(Series::Absent);
    }
    let Some(size) = holders.iter().find_map(|(place, _)| place.map(|(_, size)| size)) else {
        return Ok(Series::Unplaced);
    };
    let holder = |c| holders.iter().find(|(place, _)| *place == Some((c, size))).map(|(_, t)| t);
    if size == 1 {
        let Some(tensor) = holder(0) else { return Ok(Series::Unplaced) };
        let values = tensor.to_f32()?;
        let fits = values.len() == lengths.response;
        return Ok(if fits { Series::Values(values) } else { Series::Unplaced });
    }
    let mut placed = Vec::new();
    for c in 0..size {
        let Some(tensor) = holder(c) else { return Ok(Series::Unplaced) };
        let slice = tensor.to_f32()?;
        let ranges = pieces(lengths.total, lengths.response, lengths.padded, c, size);
        if slice.len() != ranges[0].len() + ranges[1].len() {
            return Ok(Series::Unplaced);
        }
        placed.push((ranges, slice));
    }
    // Pieces of one size never overlap, so the count tells whether every position is there; a response
    // length that is a lie reserves nothing.
    if placed.iter().map(|(_, slice)| slice.len()).sum::<usize>() != lengths.response {
        return Ok(Series::Unplaced);
    }
    let mut out = vec![0f32; lengths.response];
    for (ranges, slice) in placed {
        let (first, second) = slice.split_at(ranges[0].len());
        for (range, piece) in ranges.into_iter().zip([first, second]) {
            out[range].copy_from_slice(piece);
        }
    }
    Ok(Series::Values(Cow::Owned(out)))
}
