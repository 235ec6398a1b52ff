//! What each lane was busy with: phases as they lie on lanes.
//!
//! A trainer's phase lies on its own GPUs. The rollout manager has none, so its phases lie on the lanes of
//! the engines that served meanwhile, cut where the topology changed. Before a lane's first phase of the
//! run it was being set up: `initialize`, which is not recorded but derived.

use std::collections::HashMap;

use serde::Serialize;
use serde::ser::Serializer;

use super::lay::{INITIALIZE, on_lanes};
use super::{Selection, TimelineError, json};
use crate::telemetry::{Store, Window};

/// Phases in which a lane does nothing. Where one meets another phase in a picture, the other is shown.
const IDLE: [&str; 3] = [INITIALIZE, "train_wait", "sleep"];

/// Phases of the selected lanes that overlap a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LanePhases {
    pub(super) names: Vec<String>,
    pub(super) roles: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    /// By node and GPU; also lanes without phases.
    pub(super) lanes: Vec<Lane>,
    /// Those of one lane together, in order of start.
    pub(super) pieces: Vec<Piece>,
}

/// What many pieces have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub name: u32,
    pub role: u32,
    pub rank: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    pub node: String,
    pub gpu: i64,
    /// Where its pieces end; they start where those of the lane before end.
    pub end: usize,
}

/// A phase, or what of it lies in one topology window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub t0: f64,
    pub t1: f64,
    /// Number of its kind.
    pub kind: u32,
    /// Place in the order of arrival.
    pub order: u32,
}

impl Piece {
    /// By start, then by arrival.
    pub(super) fn in_time(&self, other: &Self) -> std::cmp::Ordering {
        self.t0.total_cmp(&other.t0).then(self.order.cmp(&other.order))
    }
}

/// Phases of the selected lanes that overlap `window`, not clipped to it; one that only touches it does not
/// overlap. An open phase ends at the newest time of the data. Sorted by node, GPU and start.
///
/// `initialize` is there when the window reaches back to the start of the run (its newest attempt), on
/// lanes whose first phase is later than that.
///
/// # Errors
/// [`TimelineError::Telemetry`].
pub fn phases(store: &Store, selection: &Selection, window: &Window) -> Result<LanePhases, TimelineError> {
    on_lanes(store, selection, window, true)
}

impl LanePhases {
    /// The pieces of each lane, in order of the lanes.
    pub(super) fn by_lane(&self) -> impl Iterator<Item = (&str, i64, &[Piece])> {
        let starts = [0].into_iter().chain(self.lanes.iter().map(|lane| lane.end));
        self.lanes.iter().zip(starts).map(|(lane, start)| {
            (lane.node.as_str(), lane.gpu, self.pieces.get(start..lane.end).unwrap_or_default())
        })
    }

    /// Names of phases; more than those of the pieces.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of the name of each kind.
    pub(super) fn kind_names(&self) -> impl Iterator<Item = usize> {
        self.kinds.iter().map(|kind| kind.name as usize)
    }

    /// Whether some piece has each of the names.
    pub(super) fn used(&self) -> Vec<bool> {
        let mut kinds = vec![false; self.kinds.len()];
        for piece in &self.pieces {
            if let Some(used) = kinds.get_mut(piece.kind as usize) {
                *used = true;
            }
        }
        let mut names = vec![false; self.names.len()];
        for (name, _) in self.kind_names().zip(kinds).filter(|(_, used)| *used) {
            if let Some(used) = names.get_mut(name) {
                *used = true;
            }
        }
        names
    }

    /// Whether a phase of that name means that nothing is done.
    pub(super) fn is_idle(name: &str) -> bool {
        IDLE.contains(&name)
    }
}

impl LanePhases {
    /// The answer as JSON text.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let lanes: Vec<_> = self.by_lane().collect();
        json::joined(r#"{"phases":["#, &lanes, "]}", |&(node, gpu, pieces), out| {
            // Of a piece only the times are new: what is around them is written once for each kind.
            // As long as a piece mostly is.
            out.reserve(160 * pieces.len());
            let mut texts: HashMap<u32, (Vec<u8>, Vec<u8>), foldhash::fast::RandomState> = HashMap::default();
            for piece in pieces {
                let (before, after) =
                    texts.entry(piece.kind).or_insert_with(|| self.around(piece.kind, node, gpu));
                out.extend_from_slice(before);
                json::put(piece.t0, out);
                out.extend_from_slice(br#","t1":"#);
                json::put(piece.t1, out);
                out.extend_from_slice(after);
            }
        })
    }

    /// The text in front of the start of a phase of this kind, and behind its end.
    fn around(&self, kind: u32, node: &str, gpu: i64) -> (Vec<u8>, Vec<u8>) {
        let kind = self.kinds.get(kind as usize).copied().unwrap_or(Kind {
            name: u32::MAX,
            role: u32::MAX,
            rank: -1,
        });
        let text = |texts: &[String], number: u32| texts.get(number as usize).cloned().unwrap_or_default();
        let mut before = br#"{"name":"#.to_vec();
        json::put(text(&self.names, kind.name), &mut before);
        before.extend_from_slice(br#","t0":"#);
        let mut after = br#","node":"#.to_vec();
        json::put(node, &mut after);
        after.extend_from_slice(br#","gpu":"#);
        json::put(gpu, &mut after);
        after.extend_from_slice(br#","rank":"#);
        json::put(kind.rank, &mut after);
        after.extend_from_slice(br#","role":"#);
        json::put(text(&self.roles, kind.role), &mut after);
        after.extend_from_slice(b"},");
        (before, after)
    }
}

impl Serialize for LanePhases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json::raw(self.to_json(), serializer)
    }
}
