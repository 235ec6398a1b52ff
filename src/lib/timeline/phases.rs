//! What each lane was busy with: phases as they lie on lanes.
//!
//! A trainer's phase lies on its own GPUs. The rollout manager has none, so its phases lie on the lanes of
//! the engines that served meanwhile, cut where the topology changed. Before a lane's first phase of the
//! run it was being set up: `initialize`, which is not recorded but derived.

use std::collections::HashMap;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::filter::host;
use super::selection::Rows;
use super::topology::{Span, spans};
use super::{Selection, TimelineError};
use crate::record::Engine;
use crate::telemetry::{PhaseRow, Store, Window};

const INITIALIZE: &str = "initialize";
const DERIVED: &str = "derived";
const MANAGER: &str = "rollout_manager";

/// Phases in which a lane does nothing. Where one meets another phase in a picture, the other is shown.
const IDLE: [&str; 3] = [INITIALIZE, "train_wait", "sleep"];

/// Phases of the selected lanes that overlap a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LanePhases {
    names: Vec<String>,
    roles: Vec<String>,
    /// By node and GPU; also lanes without phases.
    lanes: Vec<Lane>,
    /// Those of one lane together, in order of start.
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
struct Lane {
    node: String,
    gpu: i64,
    /// Where its pieces end; they start where those of the lane before end.
    end: usize,
}

/// A phase, or what of it lies in one topology window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub t0: f64,
    pub t1: f64,
    /// Number of its name.
    pub name: u32,
    role: u32,
    rank: i64,
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

/// As [`phases`]. Without `beyond` the lanes are those of the selection, one by one; with it also those that
/// the catalog lacks, where all are selected.
pub(super) fn on_lanes(
    store: &Store,
    selection: &Selection,
    window: &Window,
    beyond: bool,
) -> Result<LanePhases, TimelineError> {
    let found = store.phases(window)?;
    let newest = store.time_range()?.map_or(f64::NEG_INFINITY, |range| range.1);
    let snapshots = store.topology();
    let topology = spans(&snapshots);
    let mut painter = Painter::new(selection, beyond, &topology);
    for row in found.rows() {
        let t1 = row.t1.unwrap_or_else(|| newest.max(row.t0));
        if overlaps(row.t0, t1, window) {
            painter.paint(&row, t1);
        }
    }
    Ok(painter.finish(store.meta().start_ts, window))
}

fn overlaps(t0: f64, t1: f64, window: &Window) -> bool {
    window.t1.is_none_or(|end| t0 < end) && window.t0.is_none_or(|start| t1 > start)
}

/// Lays phases on lanes.
struct Painter<'s> {
    rows: Rows<'s>,
    topology: &'s [Span<'s>],
    /// Rows that each topology window reaches; found when a phase needs them.
    reached: Vec<Option<Vec<u32>>>,
    names: Names<'s>,
    roles: Names<'s>,
    /// Pieces and their rows, in order of arrival.
    pieces: Vec<(u32, Piece)>,
}

impl<'s> Painter<'s> {
    fn new(selection: &'s Selection, beyond: bool, topology: &'s [Span<'s>]) -> Self {
        Self {
            rows: if beyond { Rows::growing(selection) } else { Rows::fixed(selection) },
            topology,
            reached: vec![None; topology.len()],
            names: Names::default(),
            roles: Names::default(),
            pieces: Vec::new(),
        }
    }

    fn paint(&mut self, row: &PhaseRow<'s>, t1: f64) {
        if row.role == MANAGER {
            self.paint_manager(row, t1);
            return;
        }
        for &gpu in row.gpus {
            if let Some(lane) = self.rows.row(row.node, gpu.into()) {
                let piece = self.piece(row, row.t0, t1);
                self.pieces.push((lane, piece));
            }
        }
    }

    /// One piece for each topology window that the phase overlaps; none before the first snapshot.
    fn paint_manager(&mut self, row: &PhaseRow<'s>, t1: f64) {
        let first = self.topology.partition_point(|span| span.t1 <= row.t0);
        let overlapped = self.topology.iter().enumerate().skip(first).take_while(|(_, span)| span.t0 < t1);
        for (at, span) in overlapped {
            let (start, end) = (row.t0.max(span.t0), t1.min(span.t1));
            if start >= end {
                continue;
            }
            let piece = self.piece(row, start, end);
            let Some(reached) = self.reached.get_mut(at) else { continue };
            let lanes = reached.get_or_insert_with(|| lanes_of(span.engines, &mut self.rows));
            self.pieces.extend(lanes.iter().map(|&lane| (lane, piece)));
        }
    }

    fn piece(&mut self, row: &PhaseRow<'s>, t0: f64, t1: f64) -> Piece {
        Piece { t0, t1, name: self.names.id(row.name), role: self.roles.id(row.role), rank: row.rank }
    }

    fn finish(mut self, start_ts: Option<f64>, window: &Window) -> LanePhases {
        let start = start_ts.filter(|start| window.t0.is_none_or(|t0| t0 <= *start));
        let (initialize, derived) = (self.names.id(INITIALIZE), self.roles.id(DERIVED));
        let mut answer = LanePhases {
            names: self.names.names.iter().map(|&name| name.to_owned()).collect(),
            roles: self.roles.names.iter().map(|&role| role.to_owned()).collect(),
            lanes: Vec::with_capacity(self.rows.lanes().len()),
            pieces: Vec::with_capacity(self.pieces.len()),
        };
        let mut by_row = grouped(&self.pieces, self.rows.lanes().len());
        for row in self.rows.in_order() {
            let (Some(&(node, gpu)), Some(pieces)) = (self.rows.lanes().get(row), by_row.get_mut(row)) else {
                continue;
            };
            // Stable: pieces that start together stay in file order.
            pieces.sort_by(|a, b| a.t0.total_cmp(&b.t0));
            if let (Some(start), Some(first)) = (start, pieces.first())
                && start < first.t0
                && overlaps(start, first.t0, window)
            {
                let (t0, t1) = (start, first.t0);
                answer.pieces.push(Piece { t0, t1, name: initialize, role: derived, rank: -1 });
            }
            answer.pieces.append(pieces);
            answer.lanes.push(Lane { node: node.to_owned(), gpu, end: answer.pieces.len() });
        }
        answer
    }
}

/// Pieces by row, each in order of arrival.
fn grouped(pieces: &[(u32, Piece)], rows: usize) -> Vec<Vec<Piece>> {
    let mut counts = vec![0; rows];
    for (row, _) in pieces {
        if let Some(count) = counts.get_mut(*row as usize) {
            *count += 1;
        }
    }
    let mut by_row: Vec<Vec<Piece>> = counts.into_iter().map(Vec::with_capacity).collect();
    for (row, piece) in pieces {
        if let Some(pieces) = by_row.get_mut(*row as usize) {
            pieces.push(*piece);
        }
    }
    by_row
}

/// Rows of the GPUs that these engines name; if none names any, of all lanes on their hosts.
fn lanes_of<'s>(engines: &'s [Engine], rows: &mut Rows<'s>) -> Vec<u32> {
    let named = engines.iter().flat_map(|engine| &engine.gpus);
    let mut lanes: Vec<u32> = named.filter_map(|(node, gpu)| rows.row(node, *gpu)).collect();
    if engines.iter().all(|engine| engine.gpus.is_empty()) {
        let hosts: Vec<&str> = engines.iter().filter_map(|engine| host(&engine.addr)).collect();
        let on_hosts = (0..).zip(rows.lanes()).filter(|(_, (node, _))| hosts.contains(node));
        lanes = on_hosts.map(|(row, _)| row).collect();
    }
    // Two engines may share a GPU.
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// Numbers for names, in order of appearance.
#[derive(Default)]
struct Names<'s> {
    ids: HashMap<&'s str, u32>,
    names: Vec<&'s str>,
}

impl<'s> Names<'s> {
    fn id(&mut self, name: &'s str) -> u32 {
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push(name);
            (self.names.len() - 1) as u32
        })
    }
}

impl LanePhases {
    /// The pieces of each lane, in order of the lanes.
    pub(super) fn by_lane(&self) -> impl Iterator<Item = (&str, i64, &[Piece])> {
        let starts = [0].into_iter().chain(self.lanes.iter().map(|lane| lane.end));
        self.lanes.iter().zip(starts).map(|(lane, start)| {
            (lane.node.as_str(), lane.gpu, self.pieces.get(start..lane.end).unwrap_or_default())
        })
    }

    /// Names by number.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether a phase of that name means that nothing is done.
    pub(super) fn is_idle(name: &str) -> bool {
        IDLE.contains(&name)
    }

    /// The numbers of the names that some piece has.
    pub(super) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.names.len()];
        for piece in &self.pieces {
            if let Some(used) = used.get_mut(piece.name as usize) {
                *used = true;
            }
        }
        used
    }
}

fn text(texts: &[String], number: u32) -> &str {
    texts.get(number as usize).map_or("", String::as_str)
}

#[derive(Serialize)]
struct Answer<'p> {
    name: &'p str,
    t0: f64,
    t1: f64,
    node: &'p str,
    gpu: i64,
    rank: i64,
    role: &'p str,
}

impl Serialize for LanePhases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Pieces<'p>(&'p LanePhases);
        impl Serialize for Pieces<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut pieces = serializer.serialize_seq(Some(self.0.pieces.len()))?;
                for (node, gpu, of_lane) in self.0.by_lane() {
                    for &Piece { t0, t1, name, role, rank } in of_lane {
                        let (name, role) = (text(&self.0.names, name), text(&self.0.roles, role));
                        pieces.serialize_element(&Answer { name, t0, t1, node, gpu, rank, role })?;
                    }
                }
                pieces.end()
            }
        }
        let mut answer = serializer.serialize_map(Some(1))?;
        answer.serialize_entry("phases", &Pieces(self))?;
        answer.end()
    }
}
