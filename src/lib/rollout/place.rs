//! Where a context-parallel slice belongs in a response.
//!
//! With `cp_size` N the padded sequence is cut into 2N chunks and rank `c` holds chunks `c` and
//! `2N-1-c`, so that causal attention costs every rank the same (Megatron's zigzag layout). The
//! log-prob at position `i` of the sequence is of token `i + 1`, so response position `r` lies at
//! `r + P - 1` with `P` tokens of prompt.

use std::ops::Range;

/// The response positions that rank `cp_rank` holds, first piece before second. `padded` is the length
/// that was cut: the sequence's own (`thd`) or the row's `max_seq_lens` (`bshd`).
///
/// Both ranges are empty when nothing of the response falls into the rank's chunks, and whatever the
/// lengths are the ranges lie in `0..response`.
pub(super) fn pieces(
    total: usize,
    response: usize,
    padded: usize,
    cp_rank: usize,
    cp_size: usize,
) -> [Range<usize>; 2] {
    let chunk = padded.div_ceil(2 * cp_size.max(1));
    let prompt = total.saturating_sub(response);
    // A response that begins at 0 has no log-prob for its first token: nothing precedes it.
    let shift = prompt.saturating_sub(1);
    let piece = |k: usize| {
        let (a, b) = (chunk.saturating_mul(k), chunk.saturating_mul(k + 1));
        let (a, b) = (a.max(shift), b.min(total.saturating_sub(1)));
        let (a, b) = (a.saturating_sub(shift).min(response), b.saturating_sub(shift).min(response));
        a..b.max(a)
    };
    [piece(cp_rank), piece((2 * cp_size).saturating_sub(1 + cp_rank))]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_ranks_share_a_sequence_in_zigzag() {
        // 57 tokens, 28 of them response: chunks of 15, log-prob positions 28..56.
        assert_eq!(pieces(57, 28, 57, 0, 2), [0..0, 17..28]);
        assert_eq!(pieces(57, 28, 57, 1, 2), [0..2, 2..17]);
    }

    proptest! {
        #[test]
        fn the_ranks_of_a_group_hold_every_position_once(
            prompt in 1usize..200, response in 0usize..200, extra in 0usize..64, cp_size in 1usize..9,
        ) {
            let total = prompt + response;
            let mut held = vec![0; response];
            for cp_rank in 0..cp_size {
                for range in pieces(total, response, total + extra, cp_rank, cp_size) {
                    held[range].iter_mut().for_each(|n| *n += 1);
                }
            }
            prop_assert!(held.iter().all(|&n| n == 1), "{held:?}");
        }

        #[test]
        fn any_lengths_stay_inside_the_response(
            total in 0usize..100, response in 0usize..100, padded in 0usize..300, cp_rank in 0usize..9, cp_size in 0usize..9,
        ) {
            for range in pieces(total, response, padded, cp_rank, cp_size) {
                prop_assert!(range.start <= range.end && range.end <= response);
            }
        }
    }
}
