//! All phases of a run, with every open marker matched against the phase that closes it.

use std::collections::HashSet;
use std::sync::Arc;

use super::Window;
use super::column::{Columns, PhaseBlock, PhaseKey, PhaseRow};

/// The phases that may overlap a window.
///
/// A phase lies in the file of the hour in which it ended and its marker in that in which it began, so
/// both can be far from the window: blocks are chosen by the times they span, not by their file.
#[derive(Debug, Clone)]
pub struct Phases {
    blocks: Vec<Arc<PhaseBlock>>,
    open: Arc<HashSet<PhaseKey>>,
    window: Window,
}

impl Phases {
    /// The phases of the blocks that span a part of the window, in order of arrival, and every marker
    /// that nothing closed. Some can lie outside the window.
    pub fn rows(&self) -> impl Iterator<Item = PhaseRow<'_>> {
        self.blocks().flat_map(|block| block.closed()).chain(self.open())
    }

    /// The markers that nothing closed, whenever they were written.
    pub fn open(&self) -> impl Iterator<Item = PhaseRow<'_>> {
        let open = self.blocks.iter().flat_map(|block| block.open());
        open.filter(|row| self.open.contains(&row.key()))
    }

    /// The blocks that span a part of the window, whole, in order of arrival.
    pub fn blocks(&self) -> impl Iterator<Item = &PhaseBlock> {
        let overlaps = |block: &&Arc<PhaseBlock>| {
            block.span().is_some_and(|(first, last)| {
                self.window.t0.is_none_or(|t0| last >= t0) && self.window.t1.is_none_or(|t1| first <= t1)
            })
        };
        self.blocks.iter().filter(overlaps).map(Arc::as_ref)
    }
}

/// Which markers are open, kept while blocks are added.
#[derive(Debug, Default)]
pub(super) struct Matching {
    blocks: Vec<Arc<PhaseBlock>>,
    /// Markers that nothing closes, and the place of the block that has them.
    open: Vec<(usize, PhaseKey)>,
    keys: Arc<HashSet<PhaseKey>>,
}

impl Matching {
    /// The phases of `blocks`, all there are. Work is proportional to what is new in them.
    pub(super) fn phases(&mut self, blocks: Vec<Arc<PhaseBlock>>, window: Window) -> Phases {
        let same = self.blocks.iter().zip(&blocks).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        if same < blocks.len() || same < self.blocks.len() {
            // A block that is no longer there may have closed markers of those that are. Usually it is
            // the last one, and went into one with more rows.
            let grown = match (self.blocks.get(same), blocks.get(same)) {
                (None, _) => true,
                (Some(old), Some(new)) => same + 1 == self.blocks.len() && new.extends(old),
                (Some(_), None) => false,
            };
            let kept = if grown { same } else { 0 };
            self.renew(blocks, kept);
        }
        Phases { blocks: self.blocks.clone(), open: Arc::clone(&self.keys), window }
    }

    /// Takes over `blocks`, of which the first `kept` are the old ones, and all that the old ones closed
    /// is closed still.
    fn renew(&mut self, blocks: Vec<Arc<PhaseBlock>>, kept: usize) {
        let (old, new) = blocks.split_at(kept.min(blocks.len()));
        let mut waiting: HashSet<PhaseKey> =
            self.open.drain(..).filter(|(place, _)| *place < kept).map(|(_, key)| key).collect();
        for block in new {
            block.close(&mut waiting);
        }
        let mut fresh: HashSet<PhaseKey> =
            new.iter().flat_map(|block| block.open()).map(|row| row.key()).collect();
        for block in old.iter().chain(new) {
            let least = fresh.iter().map(|key| f64::from_bits(key.3)).fold(f64::INFINITY, f64::min);
            if block.span().is_some_and(|(_, last)| last >= least) {
                block.close(&mut fresh);
            }
        }
        waiting.extend(fresh);
        self.open = blocks
            .iter()
            .enumerate()
            .flat_map(|(place, block)| block.open().map(move |row| (place, row.key())))
            .filter(|(_, key)| waiting.contains(key))
            .collect();
        self.keys = Arc::new(waiting);
        self.blocks = blocks;
    }
}
