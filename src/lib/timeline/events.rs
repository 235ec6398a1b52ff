//! The events of some samples out of a stream of all samples' events.
//!
//! Four busy hours hold a million events, of which a question shows ten thousand. So the columns of
//! times and samples are looked through first, and an event is made only of a row that is shown.

use std::sync::Arc;

use crate::telemetry::{TrajectoryBlock, TrajectoryRow, Window};

/// The events of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events<'a> {
    blocks: &'a [Arc<TrajectoryBlock>],
    from: f64,
    to: f64,
}

/// Events of one sample in order of time, those of one time in the order of the files.
pub(super) type Sample<'a> = Vec<TrajectoryRow<'a>>;

/// A slot that is not shown.
const HIDDEN: u32 = u32::MAX;

impl<'a> Events<'a> {
    /// The events of the blocks inside the closed window.
    pub fn new(blocks: &'a [Arc<TrajectoryBlock>], window: &Window) -> Self {
        let (from, to) = (window.t0.unwrap_or(f64::NEG_INFINITY), window.t1.unwrap_or(f64::INFINITY));
        Self { blocks, from, to }
    }

    /// Hands block, place, time and sample of every event to `visit`, in the order of the files.
    fn each(self, mut visit: impl FnMut(&'a TrajectoryBlock, usize, f64, i64)) {
        for block in self.blocks {
            for (place, (&ts, &sample)) in block.ts().iter().zip(block.sample_index()).enumerate() {
                if self.from <= ts && ts <= self.to {
                    visit(block, place, ts, sample);
                }
            }
        }
    }

    fn slots(self) -> Slots {
        let mut span = Span::default();
        self.each(|_, _, _, sample| span.add(sample));
        Slots::new(span, || {
            let mut all = Vec::new();
            self.each(|_, _, _, sample| all.push(sample));
            all
        })
    }

    /// The samples that have an event, by their first one; at most `most` of them, and how many there are.
    pub fn first(self, most: usize) -> (Vec<Sample<'a>>, usize) {
        let slots = self.slots();
        let mut first = vec![f64::INFINITY; slots.len()];
        self.each(|_, _, ts, sample| {
            if let Some(first) = slots.slot(sample).and_then(|slot| first.get_mut(slot))
                && ts < *first
            {
                *first = ts;
            }
        });
        let begun = first.iter().enumerate().filter(|(_, ts)| ts.is_finite());
        let mut order: Vec<(f64, usize)> = begun.map(|(slot, ts)| (*ts, slot)).collect();
        let total = order.len();
        let by_time = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if total > most && most > 0 {
            order.select_nth_unstable_by(most - 1, by_time);
        }
        order.truncate(most);
        order.sort_unstable_by(by_time);
        (self.shown(&slots, order.into_iter().map(|(_, slot)| slot)), total)
    }

    /// The events of each of `samples`, of a sample that is named twice once, in no particular order.
    pub fn of(self, samples: impl Iterator<Item = i64> + Clone) -> Vec<Sample<'a>> {
        let mut span = Span::default();
        samples.clone().for_each(|sample| span.add(sample));
        let slots = Slots::new(span, || samples.clone().collect());
        self.shown(&slots, samples.filter_map(|sample| slots.slot(sample)))
    }

    /// The events of the samples in `order`.
    fn shown(self, slots: &Slots, order: impl Iterator<Item = usize>) -> Vec<Sample<'a>> {
        let mut place = vec![HIDDEN; slots.len()];
        let mut shown: Vec<Sample<'a>> = Vec::new();
        for slot in order {
            if let Some(place) = place.get_mut(slot)
                && *place == HIDDEN
            {
                *place = shown.len() as u32;
                shown.push(Vec::new());
            }
        }
        self.each(|block, row, _, sample| {
            let place = slots.slot(sample).and_then(|slot| place.get(slot)).map(|place| *place as usize);
            // Of a hidden slot there is no place.
            if let Some(events) = place.and_then(|place| shown.get_mut(place)) {
                events.extend(block.row(row));
            }
        });
        for events in &mut shown {
            if !events.is_sorted_by(|a, b| a.ts <= b.ts) {
                events.sort_by(|a, b| a.ts.total_cmp(&b.ts));
            }
        }
        shown
    }
}

/// Numbers sample indices, ascending. Those of a run mostly follow each other, and then a number is how
/// far an index is from the lowest; where they are far apart it is a place in a list.
#[derive(Debug)]
struct Slots {
    low: i64,
    len: usize,
    listed: Option<Vec<i64>>,
}

/// Lowest and highest of some indices, and how many there are.
#[derive(Debug, Clone, Copy)]
struct Span {
    low: i64,
    high: i64,
    count: usize,
}

impl Default for Span {
    fn default() -> Self {
        Self { low: i64::MAX, high: i64::MIN, count: 0 }
    }
}

impl Span {
    fn add(&mut self, index: i64) {
        self.low = self.low.min(index);
        self.high = self.high.max(index);
        self.count += 1;
    }
}

impl Slots {
    /// Numbers for the indices of a span, which may repeat; `all` lists them.
    fn new(Span { low, high, count }: Span, all: impl FnOnce() -> Vec<i64>) -> Self {
        let len = i128::from(high) - i128::from(low) + 1;
        let len = if count == 0 { Some(0) } else { usize::try_from(len).ok() };
        // A dozen bytes a slot: the table is not much larger than the rows it is about.
        if let Some(len) = len.filter(|len| *len <= 4 * count + 1024) {
            return Self { low, len, listed: None };
        }
        let mut listed = all();
        listed.sort_unstable();
        listed.dedup();
        Self { low, len: listed.len(), listed: Some(listed) }
    }

    /// Numbers are below this; some may be of no index.
    fn len(&self) -> usize {
        self.len
    }

    /// The number of an index.
    #[inline]
    fn slot(&self, index: i64) -> Option<usize> {
        match &self.listed {
            Some(listed) => listed.binary_search(&index).ok(),
            None => usize::try_from(index.checked_sub(self.low)?).ok().filter(|slot| *slot < self.len),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::telemetry::{Store, StoreOptions};

    fn blocks(events: &[(f64, i64)]) -> Vec<Arc<TrajectoryBlock>> {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = events
            .iter()
            .enumerate()
            .map(|(turn, (ts, sample))| {
                format!(
                    "{{\"ts\":{ts:?},\"kind\":\"gen_start\",\"sample_index\":{sample},\"group_index\":0,\
                     \"turn\":{turn},\"weight_version\":\"\",\"detail\":\"\"}}\n"
                )
            })
            .collect();
        fs::write(folder.path().join("trajectories.jsonl"), lines).unwrap();
        Store::open(folder.path(), StoreOptions::default()).trajectories(&Window::ALL).unwrap()
    }

    /// Samples with the turns of their events, in order.
    fn told(samples: &[Sample<'_>]) -> Vec<(i64, Vec<i64>)> {
        let turns = |events: &Sample<'_>| events.iter().map(|event| event.turn).collect();
        samples.iter().filter(|s| !s.is_empty()).map(|s| (s[0].sample_index, turns(s))).collect()
    }

    #[test]
    fn samples_come_by_their_first_event_and_equal_ones_by_their_index() {
        let blocks = blocks(&[(3.0, 9), (1.0, 7), (1.0, 5), (2.0, 9), (9.0, 1)]);
        let window = Window { t0: Some(1.0), t1: Some(3.0) };
        let (shown, total) = Events::new(&blocks, &window).first(2);
        assert_eq!((told(&shown), total), (vec![(5, vec![2]), (7, vec![1])], 3));
        let (shown, _) = Events::new(&blocks, &window).first(9);
        assert_eq!(told(&shown)[2], (9, vec![3, 0]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn columns_say_what_lists_of_events_say(
            events in prop::collection::vec(
                ((0..9).prop_map(f64::from), prop_oneof![-3..6i64, Just(i64::MIN), Just(1 << 40)]), 0..40),
            wanted in prop::collection::vec(prop_oneof![-5..9i64, Just(1 << 40), Just(i64::MAX)], 0..6),
            most in 0..5usize,
        ) {
            let window = Window { t0: Some(2.0), t1: Some(6.0) };
            let mut all: BTreeMap<i64, Vec<(f64, i64)>> = BTreeMap::new();
            for (turn, (ts, sample)) in events.iter().enumerate() {
                if window.contains(Some(*ts)) {
                    all.entry(*sample).or_default().push((*ts, turn as i64));
                }
            }
            all.values_mut().for_each(|list| list.sort_by(|a, b| a.0.total_cmp(&b.0)));
            let turns = |list: &[(f64, i64)]| list.iter().map(|(_, turn)| *turn).collect::<Vec<_>>();

            let blocks = blocks(&events);
            let mut got = told(&Events::new(&blocks, &window).of(wanted.iter().copied()));
            got.sort();
            let named: HashSet<i64> = wanted.iter().copied().collect();
            let want: Vec<_> =
                all.iter().filter(|(s, _)| named.contains(s)).map(|(s, list)| (*s, turns(list))).collect();
            prop_assert_eq!(got, want);

            let (got, total) = Events::new(&blocks, &window).first(most);
            let mut want: Vec<_> = all.iter().collect();
            want.sort_by(|a, b| a.1[0].0.total_cmp(&b.1[0].0));
            prop_assert_eq!(total, want.len());
            let want: Vec<_> = want.iter().take(most).map(|(s, list)| (**s, turns(list))).collect();
            prop_assert_eq!(told(&got), want);
        }
    }
}
