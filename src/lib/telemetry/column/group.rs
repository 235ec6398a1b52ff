//! Rows sorted by what they are about, in order of arrival within each.

/// Where the rows of each subject go.
#[derive(Debug)]
pub(super) struct Grouping {
    /// New place of each row.
    places: Vec<u32>,
    /// Start of each subject's rows, and the number of rows at the end.
    starts: Vec<u32>,
}

impl Grouping {
    /// Groups rows by `subjects`, which are below `count`.
    pub(super) fn new(subjects: &[u32], count: usize) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for &subject in subjects {
            if let Some(rows) = starts.get_mut(subject as usize + 1) {
                *rows += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let places = subjects.iter().map(|&subject| {
            next.get_mut(subject as usize).map_or(0, |next| {
                *next += 1;
                *next - 1
            })
        });
        Self { places: places.collect(), starts }
    }

    /// Rows of `subject` as a range.
    pub(super) fn range(&self, subject: usize) -> (u32, u32) {
        let at = |index: usize| self.starts.get(index).copied().unwrap_or_default();
        (at(subject), at(subject + 1))
    }

    /// A column in the new order.
    pub(super) fn column<T: Copy + Default>(&self, values: Vec<T>) -> Vec<T> {
        let mut out = vec![T::default(); values.len()];
        for (&place, value) in self.places.iter().zip(values) {
            if let Some(slot) = out.get_mut(place as usize) {
                *slot = value;
            }
        }
        out
    }
}

/// New number of each subject when they are taken in this order.
pub(super) fn order(subjects: impl ExactSizeIterator<Item = u32>) -> Vec<u32> {
    let mut order = vec![0; subjects.len()];
    for (place, subject) in subjects.enumerate() {
        if let Some(slot) = order.get_mut(subject as usize) {
            *slot = place as u32;
        }
    }
    order
}

/// Whether times never fall.
pub(super) fn ascending(ts: &[f64]) -> bool {
    ts.is_sorted()
}

/// Least and greatest of the times.
pub(super) fn span(ts: &[f64]) -> Option<(f64, f64)> {
    ts.iter().copied().fold(None, |span, at| {
        Some(span.map_or((at, at), |(least, greatest): (f64, f64)| (least.min(at), greatest.max(at))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_order_within_a_subject() {
        let grouping = Grouping::new(&[1, 0, 1, 2, 0], 3);
        assert_eq!(grouping.column(vec!['a', 'b', 'c', 'd', 'e']), ['b', 'e', 'a', 'c', 'd']);
        assert_eq!([0, 1, 2].map(|subject| grouping.range(subject)), [(0, 2), (2, 4), (4, 5)]);
        assert!(Grouping::new(&[], 0).column(Vec::<i32>::new()).is_empty());
    }
}
