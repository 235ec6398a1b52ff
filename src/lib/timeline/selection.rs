//! Which lanes a question is about.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Lane, Lanes, Selector, TimelineError};

/// Every lane of a run, or some of them.
#[derive(Debug, Clone)]
pub struct Selection {
    lanes: Arc<Lanes>,
    /// Places of the chosen lanes, ascending; `None` chooses all.
    chosen: Option<Vec<usize>>,
}

impl Selection {
    /// Every lane. Data of a lane that the catalog lacks belongs to it too: the job rewrites the catalog
    /// now and then, and a GPU that was sampled meanwhile is no less real.
    #[must_use]
    pub fn all(lanes: Arc<Lanes>) -> Self {
        Self { lanes, chosen: None }
    }

    /// What `selector` selects of `lanes`; without one, or with a blank one, every lane.
    ///
    /// # Errors
    /// [`TimelineError::Lanes`] when it cannot be understood.
    pub fn new(lanes: Arc<Lanes>, selector: Option<&str>) -> Result<Self, TimelineError> {
        let Some(text) = selector.map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(Self::all(lanes));
        };
        let selector: Selector = text.parse()?;
        if selector.is_all() {
            return Ok(Self::all(lanes));
        }
        let chosen = selector.indices(&lanes).collect();
        Ok(Self { lanes, chosen: Some(chosen) })
    }

    /// The lanes and their indices.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, &Lane)> {
        let all = if self.chosen.is_none() { self.lanes.0.as_slice() } else { &[] };
        let chosen =
            self.chosen.iter().flatten().filter_map(|&index| Some((index, self.lanes.0.get(index)?)));
        all.iter().enumerate().chain(chosen)
    }

    pub(super) fn is_all(&self) -> bool {
        self.chosen.is_none()
    }
}

/// The selected lanes as rows of an answer: a number for each (node, GPU), in order of the lanes.
#[derive(Debug)]
pub(super) struct Rows<'s> {
    lanes: Vec<(&'s str, i64)>,
    rows: HashMap<(&'s str, i64), u32, foldhash::fast::RandomState>,
    grows: bool,
}

impl<'s> Rows<'s> {
    /// The selected lanes and no others.
    pub(super) fn fixed(selection: &'s Selection) -> Self {
        let lanes: Vec<_> = selection.lanes().map(|(_, lane)| (lane.node.as_str(), lane.gpu)).collect();
        let rows = (0..).zip(&lanes).map(|(row, &lane)| (lane, row)).collect();
        Self { lanes, rows, grows: false }
    }

    /// The selected lanes; where all are selected, others get a row when they are met.
    pub(super) fn growing(selection: &'s Selection) -> Self {
        Self { grows: selection.is_all(), ..Self::fixed(selection) }
    }

    /// The row of a lane; `None` when it has none.
    pub(super) fn find(&self, node: &str, gpu: i64) -> Option<u32> {
        self.rows.get(&(node, gpu)).copied()
    }

    /// The row of a lane; `None` when it is not selected.
    pub(super) fn row(&mut self, node: &'s str, gpu: i64) -> Option<u32> {
        if let Some(&row) = self.rows.get(&(node, gpu)) {
            return Some(row);
        }
        if !self.grows {
            return None;
        }
        let row = u32::try_from(self.lanes.len()).ok()?;
        self.lanes.push((node, gpu));
        self.rows.insert((node, gpu), row);
        Some(row)
    }

    /// Node and GPU of each row.
    pub(super) fn lanes(&self) -> &[(&'s str, i64)] {
        &self.lanes
    }

    /// The rows by node and GPU.
    pub(super) fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        order.sort_by_key(|&row| self.lanes.get(row).copied());
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Arc<Lanes> {
        let lane = |node: &str, gpu| Lane {
            node: node.to_owned(),
            gpu,
            ranks: Vec::new(),
            engine_addrs: Vec::new(),
            roles: Vec::new(),
        };
        Arc::new(Lanes(vec![lane("a", 0), lane("a", 1), lane("b", 0)]))
    }

    fn names(selection: &Selection) -> Vec<(usize, &str, i64)> {
        selection.lanes().map(|(index, lane)| (index, lane.node.as_str(), lane.gpu)).collect()
    }

    #[test]
    fn no_selector_and_a_blank_one_select_every_lane() {
        for selector in [None, Some(""), Some(" "), Some("all"), Some("g:0,all")] {
            let selection = Selection::new(lanes(), selector).unwrap();
            assert_eq!(names(&selection), [(0, "a", 0), (1, "a", 1), (2, "b", 0)], "{selector:?}");
            assert!(selection.is_all());
        }
    }

    #[test]
    fn selected_lanes_keep_their_index_and_none_is_an_answer() {
        assert_eq!(names(&Selection::new(lanes(), Some("node:b,g:0")).unwrap()), [(0, "a", 0), (2, "b", 0)]);
        assert_eq!(names(&Selection::new(lanes(), Some("node:c")).unwrap()), []);
        assert!(Selection::new(lanes(), Some("bogus:1")).unwrap_err().is_argument());
    }

    #[test]
    fn a_lane_that_the_catalog_lacks_has_a_row_only_where_all_are_selected() {
        let all = Selection::all(lanes());
        let mut rows = Rows::growing(&all);
        assert_eq!((rows.row("b", 0), rows.row("a", 7), rows.row("a", 7)), (Some(2), Some(3), Some(3)));
        assert_eq!(rows.in_order(), [0, 1, 3, 2]);
        assert_eq!(Rows::fixed(&all).row("a", 7), None);
        let some = Selection::new(lanes(), Some("node:a")).unwrap();
        assert_eq!(Rows::growing(&some).row("a", 7), None);
    }
}
