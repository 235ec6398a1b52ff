//! Equal parts of a window, and the greatest reading in each.
//!
//! Which part a time belongs to is a rounded product, so that a time on an edge can go either way:
//! [`Buckets::index`] is the one rule, and everything faster is made to agree with it to the last bit.
//! It never falls as the time grows. So each part has an exact first time, and rows in order of time need
//! one comparison each.

use crate::telemetry::MISSING;

/// A window in equal parts.
#[derive(Debug, Clone)]
pub struct Buckets {
    t0: f64,
    span: f64,
    count: usize,
    /// Smallest time of each part; empty where they cannot be told.
    edges: Vec<f64>,
}

impl Buckets {
    /// `[t0, t1]` in `count` parts; `t1` belongs to the last.
    #[must_use]
    pub fn new(t0: f64, t1: f64, count: usize) -> Self {
        let mut buckets = Self { t0, span: t1 - t0, count, edges: Vec::new() };
        let edges: Option<Vec<f64>> = (0..count).map(|bucket| buckets.edge(bucket)).collect();
        // Without them every row is asked by itself.
        buckets.edges = edges.unwrap_or_default();
        buckets
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The part that holds `time`; times outside the window belong to the nearest one.
    #[must_use]
    #[inline]
    pub fn index(&self, time: f64) -> usize {
        // A cast takes NaN (of an empty window) and what is below to 0.
        let part = ((time - self.t0) / self.span * self.count as f64) as usize;
        part.min(self.count.saturating_sub(1))
    }

    /// Smallest time of part `bucket`; `None` where the window is so odd that it has none.
    fn edge(&self, bucket: usize) -> Option<f64> {
        /// A rounding is that many units in the last place at most, unless times near 0 are about.
        const STEPS: usize = 8;
        if bucket == 0 {
            return Some(f64::NEG_INFINITY);
        }
        let guess = self.t0 + self.span * bucket as f64 / self.count as f64;
        let below = std::iter::successors(Some(guess), |time| Some(time.next_down()));
        let above = below.take(STEPS).find(|time| self.index(*time) < bucket)?;
        let times = std::iter::successors(Some(above), |time| Some(time.next_up()));
        times.take(2 * STEPS).find(|time| self.index(*time) >= bucket)
    }

    /// Raises each cell to the greatest of the values in its part. `ts` never falls and is within the
    /// window; `values` is as long. Missing values raise nothing, and a cell without values stays as it is.
    pub fn maxima(&self, ts: &[f64], values: &[i32], cells: &mut [i32]) {
        let ts = ts.get(..values.len()).unwrap_or(ts);
        if self.edges.is_empty() {
            for (&time, &value) in ts.iter().zip(values) {
                raise(cells, self.index(time), value);
            }
            return;
        }
        let edge = |bucket: usize| self.edges.get(bucket).copied().unwrap_or(f64::INFINITY);
        let (mut start, mut guess) = (0, 1);
        let mut bucket = 0;
        let mut next = f64::NEG_INFINITY;
        while let Some(&time) = ts.get(start) {
            // Mostly the part that follows, which costs no division.
            let after = edge(bucket + 2);
            (bucket, next) = match time < after && time >= next && start > 0 {
                true => (bucket + 1, after),
                false => {
                    let bucket = self.index(time);
                    (bucket, edge(bucket + 1))
                }
            };
            // Readings come at a steady pace: this part has about as many as the one before.
            let end = first_from(ts, start, start + guess, next);
            let part = values.get(start..end).unwrap_or_default();
            raise(cells, bucket, part.iter().fold(MISSING, |greatest, value| greatest.max(*value)));
            guess = end - start;
            start = end;
        }
    }
}

#[inline]
fn raise(cells: &mut [i32], bucket: usize, value: i32) {
    if let Some(cell) = cells.get_mut(bucket) {
        // MISSING is below every reading.
        *cell = (*cell).max(value);
    }
}

/// Place of the first time behind `start` that is not before `edge`, looked for around `guess`.
fn first_from(ts: &[f64], start: usize, guess: usize, edge: f64) -> usize {
    let mut end = guess.clamp(start + 1, ts.len());
    while end > start + 1 && ts.get(end - 1).is_some_and(|time| *time >= edge) {
        end -= 1;
    }
    while ts.get(end).is_some_and(|time| *time < edge) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_end_of_the_window_belongs_to_the_last_part() {
        let buckets = Buckets::new(10.0, 20.0, 4);
        let parts: Vec<_> = [9.0, 10.0, 12.4, 12.5, 19.9, 20.0, 99.0].map(|t| buckets.index(t)).into();
        assert_eq!(parts, [0, 0, 0, 1, 3, 3, 3]);
    }

    #[test]
    fn an_empty_window_has_everything_in_its_first_part() {
        let buckets = Buckets::new(5.0, 5.0, 3);
        let mut cells = [MISSING; 3];
        buckets.maxima(&[5.0, 5.0], &[1, 2], &mut cells);
        assert_eq!(cells, [2, MISSING, MISSING]);
    }

    #[test]
    fn a_missing_reading_raises_nothing() {
        let mut cells = [MISSING; 2];
        Buckets::new(0.0, 4.0, 2).maxima(&[0.0, 1.0, 3.0], &[MISSING, 0, MISSING], &mut cells);
        assert_eq!(cells, [0, MISSING]);
    }

    proptest! {
        #[test]
        fn an_edge_is_the_first_time_of_its_part(
            t0 in prop_oneof![Just(0.0), 1e9..2e9, -5.0..5.0],
            span in prop_oneof![1e-6..1.0, 1.0..14_400.0],
            count in 2_usize..4000,
        ) {
            let buckets = Buckets::new(t0, t0 + span, count);
            for (bucket, &edge) in buckets.edges.iter().enumerate().skip(1) {
                prop_assert!(buckets.index(edge) >= bucket);
                prop_assert!(buckets.index(edge.next_down()) < bucket);
            }
        }

        #[test]
        fn maxima_are_those_of_one_reading_after_the_other(
            t0 in prop_oneof![Just(0.0), Just(1_769_905_950.25)],
            span in prop_oneof![0.01..100.0, 1.0..14_400.0],
            count in 2_usize..300,
            places in prop::collection::vec((0.0..=1.0, prop_oneof![0..=100_i32, Just(MISSING)]), 0..400),
        ) {
            let buckets = Buckets::new(t0, t0 + span, count);
            let mut rows: Vec<(f64, i32)> = places.iter().map(|&(at, value)| (t0 + at * span, value)).collect();
            // Times on edges are where a rounding would show.
            rows.extend(buckets.edges.iter().skip(1).step_by(7).flat_map(|&edge| [(edge, 3), (edge.next_down(), 5)]));
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut wanted = vec![MISSING; count];
            for &(time, value) in &rows {
                let at = (((time - t0) / (t0 + span - t0) * count as f64) as usize).min(count - 1);
                wanted[at] = wanted[at].max(value);
            }
            let (ts, values): (Vec<f64>, Vec<i32>) = rows.into_iter().unzip();
            let mut cells = vec![MISSING; count];
            buckets.maxima(&ts, &values, &mut cells);
            prop_assert_eq!(cells, wanted);
        }
    }
}
