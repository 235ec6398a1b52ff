//! Phases as cells: a number for each part of a window that a phase covers.

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
    /// Number of each name of the phases.
    numbers: Vec<u8>,
    /// Whether each name of the phases means that nothing is done.
    idle: Vec<bool>,
}

impl Palette {
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// The names of these phases, sorted, behind an empty one.
pub(super) fn palette(phases: &LanePhases) -> Palette {
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
    let idle = phases.names().iter().map(|name| LanePhases::is_idle(name)).collect();
    Palette { names, numbers, idle }
}

/// The lanes' cells, lane after lane: the number of the phase that covers each part, 0 for none. A phase
/// covers the parts it starts and ends in whole. Idle phases lie below the others, and among these the one
/// that starts last is on top.
pub(super) fn painted(phases: &LanePhases, palette: &Palette, buckets: &Buckets) -> Vec<u8> {
    let lanes = phases.by_lane().count();
    let mut cells = vec![0; lanes * buckets.count()];
    for ((_, _, pieces), row) in phases.by_lane().zip(cells.chunks_mut(buckets.count())) {
        for idle in [true, false] {
            for piece in pieces {
                if palette.idle.get(piece.name as usize) == Some(&idle) {
                    paint(piece, palette, buckets, row);
                }
            }
        }
    }
    cells
}

fn paint(piece: &Piece, palette: &Palette, buckets: &Buckets, row: &mut [u8]) {
    let number = palette.numbers.get(piece.name as usize).copied().unwrap_or_default();
    // An index is that of the nearest part, so that nothing needs clipping.
    if let Some(cells) = row.get_mut(buckets.index(piece.t0)..=buckets.index(piece.t1)) {
        cells.fill(number);
    }
}
