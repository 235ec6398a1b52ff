//! Arithmetic on scraped values: order, fold, derive, thin.
//!
//! Every function takes and gives [`Points`]: times ascending, no time twice, no value missing. So a
//! rate between neighbours needs no second look, and a gap in a series is points that are not there.

use serde::Serialize;

use crate::telemetry::Window;

/// Values of one series in order of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Points {
    /// Unix seconds, ascending, none twice.
    pub ts: Vec<f64>,
    /// The value at each.
    pub value: Vec<f64>,
}

/// Part of a series as it was read; a value that is not finite is missing.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Unix seconds, in the order of the file.
    pub ts: &'a [f64],
    /// The value at each.
    pub value: &'a [f64],
    /// Whether `ts` ascends (equal neighbours allowed).
    pub sorted: bool,
}

impl Points {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }

    /// Time and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.ts.iter().copied().zip(self.value.iter().copied())
    }

    /// Time and value of each beside the next one's.
    fn steps(&self) -> impl Iterator<Item = ((f64, f64), (f64, f64))> + '_ {
        self.iter().zip(self.iter().skip(1))
    }

    /// Mean of the values; `None` for none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.value.iter().sum::<f64>() / self.len() as f64)
    }

    /// How much a counter grew inside the window; what it lost in a restart does not count.
    #[must_use]
    pub fn growth(&self, window: &Window) -> f64 {
        let start = window.t0.map_or(0, |t0| self.ts.partition_point(|ts| *ts < t0));
        let end = window.t1.map_or(self.len(), |t1| self.ts.partition_point(|ts| *ts <= t1));
        let inside = self.value.get(start..end).unwrap_or_default();
        inside.iter().zip(inside.iter().skip(1)).map(|(before, after)| (after - before).max(0.0)).sum()
    }

    /// One series out of its parts, cut to the window. Of two values of the same time the later in the
    /// order of the parts counts: one scrape gives a series one value, so the other is a line that
    /// was written again.
    #[must_use]
    pub fn gather(parts: &[Part<'_>], window: &Window) -> Self {
        let (from, to) = (window.t0.unwrap_or(f64::NEG_INFINITY), window.t1.unwrap_or(f64::INFINITY));
        let mut points = Self::default();
        let ordered = parts.iter().all(|part| {
            if !part.sorted {
                return false;
            }
            let start = part.ts.partition_point(|&ts| ts < from);
            let end = part.ts.partition_point(|&ts| ts <= to).max(start);
            let (ts, value) = (&part.ts[start..end], &part.value[start..end]);
            let follows = points.ts.last().zip(ts.first()).is_none_or(|(last, first)| last <= first);
            points.ts.extend_from_slice(ts);
            points.value.extend_from_slice(value);
            follows
        });
        if !ordered {
            let mut all: Vec<(f64, f64)> = parts
                .iter()
                .flat_map(|part| part.ts.iter().copied().zip(part.value.iter().copied()))
                .filter(|&(ts, _)| from <= ts && ts <= to)
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            (points.ts, points.value) = all.into_iter().unzip();
        }
        points.keep_last_of_each_time();
        points
    }

    fn keep_last_of_each_time(&mut self) {
        let good =
            self.ts.windows(2).all(|pair| pair[0] < pair[1]) && self.value.iter().all(|v| v.is_finite());
        if good {
            return;
        }
        let mut kept = Self::default();
        for (at, (ts, value)) in self.iter().enumerate() {
            if self.ts.get(at + 1) != Some(&ts) && value.is_finite() {
                kept.ts.push(ts);
                kept.value.push(value);
            }
        }
        *self = kept;
    }

    /// Values of the same time as one: their sum, or their mean. A member that lacks a time leaves
    /// that one to the others.
    #[must_use]
    pub fn fold(mut members: Vec<Self>, mean: bool) -> Self {
        let Some(mut folded) = members.pop() else { return Self::default() };
        if members.iter().all(|member| member.ts == folded.ts) {
            for member in &members {
                for (sum, value) in folded.value.iter_mut().zip(&member.value) {
                    *sum += value;
                }
            }
            let count = members.len() as f64 + 1.0;
            if mean && count > 1.0 {
                folded.value.iter_mut().for_each(|sum| *sum /= count);
            }
            return folded;
        }
        members.push(folded);
        let mut all: Vec<(f64, f64)> = members.iter().flat_map(Self::iter).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut folded = Self::default();
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let sum: f64 = same.iter().map(|(_, value)| value).sum();
            folded.ts.extend(same.first().map(|(ts, _)| *ts));
            folded.value.push(if mean { sum / same.len() as f64 } else { sum });
        }
        folded
    }

    /// Growth a second between scrapes, at the later one. A counter that fell was restarted: no point.
    #[must_use]
    pub fn rate(&self) -> Self {
        self.steps()
            .filter(|((_, before), (_, after))| after >= before)
            .map(|((t0, before), (t1, after))| (t1, (after - before) / (t1 - t0)))
            .collect()
    }

    /// Growth of `self`, a sum, over growth of `counts`, at the later of two scrapes that have both. No
    /// point where nothing completed or either was restarted.
    #[must_use]
    pub fn mean_of(&self, counts: &Self) -> Self {
        let mut counted = counts.iter().peekable();
        let mut both = Vec::with_capacity(self.len());
        for (ts, sum) in self.iter() {
            while counted.next_if(|(at, _)| *at < ts).is_some() {}
            if let Some((_, count)) = counted.next_if(|(at, _)| *at == ts) {
                both.push((ts, sum, count));
            }
        }
        both.iter()
            .zip(both.iter().skip(1))
            .filter(|((_, s0, n0), (_, s1, n1))| n1 > n0 && s1 >= s0)
            .map(|((_, s0, n0), (ts, s1, n1))| (*ts, (s1 - s0) / (n1 - n0)))
            .collect()
    }

    /// At most `most` points (at least two) by even stride, the first and the last among them.
    #[must_use]
    pub fn thin(self, most: usize) -> Self {
        let most = most.max(2);
        if self.len() <= most {
            return self;
        }
        let last = self.len() - 1;
        let stride = last as f64 / (most - 1) as f64;
        let places = (0..most).map(|i| if i == most - 1 { last } else { (i as f64 * stride) as usize });
        places.map(|at| (self.ts[at], self.value[at])).collect()
    }
}

impl FromIterator<(f64, f64)> for Points {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(points: I) -> Self {
        let (ts, value) = points.into_iter().unzip();
        Self { ts, value }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn points(of: &[(f64, f64)]) -> Points {
        of.iter().copied().collect()
    }

    #[test]
    fn a_line_that_was_written_again_counts_once_and_the_later_one_does() {
        let part = Part { ts: &[1.0, 2.0, 2.0, 3.0], value: &[5.0, 6.0, 7.0, f64::NAN], sorted: true };
        let again = Part { ts: &[1.0], value: &[8.0], sorted: true };
        assert_eq!(Points::gather(&[part], &Window::ALL), points(&[(1.0, 5.0), (2.0, 7.0)]));
        assert_eq!(Points::gather(&[part, again], &Window::ALL), points(&[(1.0, 8.0), (2.0, 7.0)]));
    }

    #[test]
    fn a_window_holds_both_its_ends() {
        let part = Part { ts: &[1.0, 2.0, 3.0, 4.0], value: &[1.0; 4], sorted: true };
        let window = Window { t0: Some(2.0), t1: Some(3.0) };
        assert_eq!(Points::gather(&[part], &window).ts, [2.0, 3.0]);
        let nothing = Window { t0: Some(2.5), t1: Some(2.6) };
        assert!(Points::gather(&[part], &nothing).is_empty());
    }

    #[test]
    fn a_restarted_counter_leaves_a_gap_and_not_a_negative_rate() {
        let counter = points(&[(0.0, 10.0), (2.0, 14.0), (4.0, 1.0), (6.0, 1.0)]);
        assert_eq!(counter.rate(), points(&[(2.0, 2.0), (6.0, 0.0)]));
        assert_eq!(counter.growth(&Window::ALL), 4.0);
        assert_eq!(counter.growth(&Window { t0: Some(1.0), t1: Some(9.0) }), 0.0);
    }

    #[test]
    fn a_mean_needs_a_completion_and_both_counters() {
        let sums = points(&[(0.0, 0.0), (2.0, 3.0), (4.0, 3.0), (6.0, 9.0), (8.0, 9.0), (10.0, 1.0)]);
        let counts = points(&[(0.0, 0.0), (2.0, 2.0), (4.0, 2.0), (8.0, 5.0), (10.0, 6.0)]);
        assert_eq!(sums.mean_of(&counts), points(&[(2.0, 1.5), (8.0, 2.0)]));
    }

    #[test]
    fn ranks_fold_where_both_were_scraped_and_stand_alone_where_one_was() {
        let members = vec![points(&[(1.0, 2.0), (2.0, 4.0)]), points(&[(2.0, 8.0), (3.0, 1.0)])];
        assert_eq!(Points::fold(members.clone(), false), points(&[(1.0, 2.0), (2.0, 12.0), (3.0, 1.0)]));
        assert_eq!(Points::fold(members, true), points(&[(1.0, 2.0), (2.0, 6.0), (3.0, 1.0)]));
    }

    /// Parts of one series: small whole times so that they collide.
    fn parts() -> impl Strategy<Value = Vec<Vec<(f64, f64)>>> {
        let value = prop_oneof![9 => (-4..20).prop_map(f64::from), 1 => Just(f64::NAN)];
        let row = ((0..12).prop_map(f64::from), value);
        prop::collection::vec(prop::collection::vec(row, 0..8), 0..4)
    }

    fn naive(parts: &[Vec<(f64, f64)>], from: f64, to: f64) -> Points {
        let mut at = BTreeMap::new();
        for (ts, value) in parts.iter().flatten() {
            at.insert(*ts as i64, *value);
        }
        let inside = at.into_iter().map(|(ts, v)| (ts as f64, v));
        inside.filter(|(ts, v)| v.is_finite() && from <= *ts && *ts <= to).collect()
    }

    fn gathered(parts: &[Vec<(f64, f64)>], window: &Window) -> Points {
        let columns: Vec<(Vec<f64>, Vec<f64>)> = parts.iter().map(|p| p.iter().copied().unzip()).collect();
        let parts: Vec<Part<'_>> =
            columns.iter().map(|(ts, value)| Part { ts, value, sorted: ts.is_sorted() }).collect();
        Points::gather(&parts, window)
    }

    proptest! {
        #[test]
        fn gathering_is_what_a_map_by_time_does(parts in parts(), from in 0..12, long in 0..12) {
            let window = Window { t0: Some(f64::from(from)), t1: Some(f64::from(from + long)) };
            prop_assert_eq!(
                gathered(&parts, &window),
                naive(&parts, f64::from(from), f64::from(from + long))
            );
            let mut sorted = parts;
            sorted.iter_mut().for_each(|p| p.sort_by(|a, b| a.0.total_cmp(&b.0)));
            prop_assert_eq!(gathered(&sorted, &Window::ALL), naive(&sorted, 0.0, 99.0));
        }

        #[test]
        fn folding_is_what_a_map_of_lists_does(parts in parts(), mean: bool) {
            let members: Vec<Points> = parts.iter().map(|p| naive(std::slice::from_ref(p), 0.0, 99.0)).collect();
            let mut at: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
            for (ts, value) in members.iter().flat_map(Points::iter) {
                at.entry(ts as i64).or_default().push(value);
            }
            let folded = Points::fold(members, mean);
            let want: Points = at.iter().map(|(ts, v)| {
                let sum: f64 = v.iter().sum();
                (*ts as f64, if mean { sum / v.len() as f64 } else { sum })
            }).collect();
            prop_assert_eq!(&folded.ts, &want.ts);
            for (a, b) in folded.value.iter().zip(&want.value) {
                prop_assert!((a - b).abs() < 1e-9);
            }
        }

        #[test]
        fn no_rate_is_negative_and_none_is_made_up(parts in parts()) {
            let counter = naive(&parts, 0.0, 99.0);
            let rate = counter.rate();
            let mut want = Vec::new();
            for at in 1..counter.len() {
                let (grown, seconds) =
                    (counter.value[at] - counter.value[at - 1], counter.ts[at] - counter.ts[at - 1]);
                if grown >= 0.0 {
                    want.push((counter.ts[at], grown / seconds));
                }
            }
            prop_assert_eq!(rate, points(&want));
        }

        #[test]
        fn a_mean_looks_at_scrapes_that_have_both(sums in parts(), counts in parts()) {
            let (sums, counts) = (naive(&sums, 0.0, 99.0), naive(&counts, 0.0, 99.0));
            let mut both = Vec::new();
            for (ts, sum) in sums.iter() {
                both.extend(counts.iter().find(|(at, _)| *at == ts).map(|(_, count)| (ts, sum, count)));
            }
            let want: Points = both.windows(2).filter_map(|w| {
                let (sum, count) = (w[1].1 - w[0].1, w[1].2 - w[0].2);
                (count > 0.0 && sum >= 0.0).then(|| (w[1].0, sum / count))
            }).collect();
            prop_assert_eq!(sums.mean_of(&counts), want);
        }

        #[test]
        fn thinning_keeps_both_ends_and_never_gives_more(n in 0usize..300, most in 2usize..40) {
            let all: Points = (0..n).map(|i| (i as f64, i as f64 * 2.0)).collect();
            let thin = all.clone().thin(most);
            prop_assert_eq!(thin.len(), n.min(most));
            prop_assert_eq!(thin.ts.first(), all.ts.first());
            prop_assert_eq!(thin.ts.last(), all.ts.last());
            prop_assert!(thin.ts.is_sorted());
            prop_assert!(thin.iter().all(|(ts, value)| value == ts * 2.0));
        }
    }
}
