//! Phases as cells: a number for each part of a window that a phase covers.

use rayon::prelude::*;

use super::Buckets;
use super::phases::{LanePhases, Piece};

/// Most names that a byte can tell apart, beside none.
const MOST_NAMES: usize = 255;
/// What the last number stands for where there are more.
const OTHERS: &str = "(others)";

/// Numbers for the names of phases.
#[derive(Debug)]
pub(super) struct Palette {
    /// By number; the first is empty and means none.
    names: Vec<String>,
    /// Number of each kind of phase, and whether it means that nothing is done.
    kinds: Vec<(u8, bool)>,
}

impl Palette {
    /// The names of these phases, sorted, behind an empty one.
    pub(super) fn of(phases: &LanePhases) -> Self {
        let used = phases.used();
        let mut order: Vec<usize> = (0..used.len()).filter(|&name| used.get(name) == Some(&true)).collect();
        order.sort_by_key(|&name| phases.names().get(name));
        let mut names = vec![String::new()];
        let mut numbers = vec![0; used.len()];
        for (&name, number) in order.iter().zip(1..) {
            let number = usize::min(number, MOST_NAMES);
            if let Some(slot) = numbers.get_mut(name) {
                *slot = number as u8;
            }
            if number == names.len() {
                names.extend(phases.names().get(name).cloned());
            } else if let Some(last) = names.last_mut() {
                OTHERS.clone_into(last);
            }
        }
        let kinds = phases.kind_names().map(|name| {
            let idle = phases.names().get(name).is_some_and(|name| LanePhases::is_idle(name));
            (numbers.get(name).copied().unwrap_or_default(), idle)
        });
        let kinds = kinds.collect();
        Self { names, kinds }
    }

    /// By number; the first is empty and means none.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// The lanes' cells, lane after lane: the number of the phase that covers each part, 0 for none. A phase
/// covers the parts it starts and ends in whole. Idle phases lie below the others, and of two others the one
/// that starts later is on top.
pub(super) fn painted(phases: &LanePhases, palette: &Palette, buckets: &Buckets) -> Vec<u8> {
    let lanes: Vec<&[Piece]> = phases.by_lane().map(|(_, _, pieces)| pieces).collect();
    let mut cells = vec![0; lanes.len() * buckets.count()];
    cells.par_chunks_mut(buckets.count()).zip(lanes).for_each(|(row, pieces)| {
        for below in [true, false] {
            for piece in pieces {
                if let Some(&(number, idle)) = palette.kinds.get(piece.kind as usize)
                    && idle == below
                    // An index is that of the nearest part, so that nothing needs clipping.
                    && let Some(cells) = row.get_mut(buckets.index(piece.t0)..=buckets.index(piece.t1))
                {
                    cells.fill(number);
                }
            }
        }
    });
    cells
}
