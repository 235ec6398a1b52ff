//! Which trainer rank holds what: the parallel layouts that the demo's steps were trained with.
//!
//! Most steps are data parallel only. The context-parallel step also has pipeline stages and
//! tensor-parallel copies where there are ranks enough. Ranks are numbered as Megatron numbers them:
//! tensor fastest, then context, data, pipeline.

use std::ops::Range;

use super::Settings;

/// Sizes of the parallel groups; their product is the number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) tensor: usize,
    pub(super) context: usize,
    pub(super) data: usize,
    pub(super) pipeline: usize,
}

/// A rank's place in each parallel group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) context: usize,
    pub(super) data: usize,
    /// The last stage is the one that computes.
    pub(super) is_last_stage: bool,
}

impl Layout {
    /// The layout of a step.
    pub(super) fn of(settings: &Settings, rid: u32) -> Self {
        let world = settings.dumped_ranks() as usize;
        if settings.context_parallel_step() != Some(rid) {
            return Self { tensor: 1, context: 1, data: world, pipeline: 1 };
        }
        let pipeline = if world.is_multiple_of(4) { 2 } else { 1 };
        let tensor = if world.is_multiple_of(16) { 2 } else { 1 };
        Self { tensor, context: 2, data: world / (2 * pipeline * tensor), pipeline }
    }

    pub(super) fn place(&self, rank: usize) -> Place {
        let rest = rank / self.tensor;
        let (context, rest) = (rest % self.context, rest / self.context);
        let (data, stage) = (rest % self.data, rest / self.data);
        Place { context, data, is_last_stage: stage + 1 == self.pipeline }
    }

    /// Response positions that a context-parallel rank holds, in the order in which it holds them.
    ///
    /// The sequence is padded to `2 * context` chunks; rank `c` has chunks `c` and
    /// `2 * context - 1 - c`. A log-probability at position `i` predicts token `i + 1`.
    pub(super) fn slices(&self, context: usize, prompt: usize, response: usize) -> [Range<usize>; 2] {
        if self.context == 1 {
            return [0..response, response..response];
        }
        let total = prompt + response;
        let chunks = 2 * self.context;
        let size = total.div_ceil(chunks);
        [context, chunks - 1 - context].map(|chunk| {
            let at = |position: usize| position.clamp(prompt - 1, total - 1) - (prompt - 1);
            at(chunk * size)..at((chunk + 1) * size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_of_all_ranks_cover_the_response_once() {
        let layout = Layout { tensor: 1, context: 2, data: 1, pipeline: 1 };
        for (prompt, response) in [(1, 1), (5, 3), (7, 100), (90, 11), (4, 0), (3, 997)] {
            let mut seen = vec![0; response];
            for context in 0..2 {
                for slice in layout.slices(context, prompt, response) {
                    seen[slice].iter_mut().for_each(|count| *count += 1);
                }
            }
            assert!(seen.iter().all(|&count| count == 1), "{prompt} {response}: {seen:?}");
        }
    }

    #[test]
    fn ranks_fill_every_place_once_but_for_tensor_copies() {
        let layout = Layout { tensor: 2, context: 2, data: 2, pipeline: 2 };
        let places: Vec<Place> = (0..16).map(|rank| layout.place(rank)).collect();
        assert_eq!(places[0], places[1]);
        assert_eq!(places[2].context, 1);
        assert_eq!(places[4].data, 1);
        assert!(!places[7].is_last_stage && places[8].is_last_stage);
    }
}
