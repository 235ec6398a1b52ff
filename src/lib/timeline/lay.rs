//! Lays recorded phases on lanes.
//!
//! A run has a phase for each rank, step and name: hundreds of thousands, of which a question wants those of
//! some hours and lanes. Where the trainer's phases lie does not depend on the question, so they are laid
//! once for a state of the stream, each lane's in order of start, and a question copies what overlaps its
//! window. What does depend on more than the stream (the rollout manager's phases on the topology, open
//! phases on the newest time) is little, and is laid for each question.

use std::sync::Arc;

use rayon::prelude::*;

use super::filter::host;
use super::numbered::Numbered;
use super::phases::{Kind, Lane, LanePhases, Piece};
use super::selection::Rows;
use super::topology::{Span, spans};
use super::{Selection, TimelineError};
use crate::record::{Engine, Stream};
use crate::telemetry::{PhaseRow, Store, TelemetryError, Window};

/// From the start of the run to a lane's first phase.
pub(super) const INITIALIZE: &str = "initialize";
/// Role of a phase that is not recorded.
const DERIVED: &str = "derived";
/// Role of phases that have no GPUs of their own.
const MANAGER: &str = "rollout_manager";

/// As [`super::phases()`]. Without `beyond` the lanes are those of the selection, one by one; with it also those that
/// the catalog lacks, where all are selected.
pub(super) fn on_lanes(
    store: &Store,
    selection: &Selection,
    window: &Window,
    beyond: bool,
) -> Result<LanePhases, TimelineError> {
    let laid = store.derived(&[Stream::Phases], || Laid::of(store))?;
    let newest = store.time_range()?.map_or(f64::NEG_INFINITY, |range| range.1);
    let found = store.phases(window)?;
    let snapshots = store.topology();
    let topology = spans(&snapshots);

    let mut rows = if beyond { Rows::growing(selection) } else { Rows::fixed(selection) };
    if beyond {
        let laid = laid.lanes.iter().map(|lane| (lane.node.as_str(), lane.gpu));
        let open = found.open().flat_map(|row| row.gpus.iter().map(move |gpu| (row.node, i64::from(*gpu))));
        let engines = topology.iter().flat_map(|span| span.engines).flat_map(|engine| &engine.gpus);
        let engines = engines.map(|(node, gpu)| (node.as_str(), *gpu));
        for (node, gpu) in laid.chain(open).chain(engines) {
            rows.row(node, gpu);
        }
    }
    let mut kinds = laid.kinds.clone();
    let mut extra =
        Extra { topology: &topology, reached: vec![None; topology.len()], rows, pieces: Vec::new() };
    for &manager in laid.managers.iter().filter(|manager| overlaps(manager.t0, manager.t1, window)) {
        extra.manager(manager);
    }
    for row in found.open() {
        let piece = Piece { t0: row.t0, t1: newest.max(row.t0), kind: kinds.of(&row), order: u32::MAX };
        if !overlaps(piece.t0, piece.t1, window) {
            continue;
        }
        if row.role == MANAGER {
            extra.manager(piece);
        } else {
            extra.on(row.node, row.gpus, piece);
        }
    }

    let start_ts = store.meta().start_ts;
    let start = start_ts.filter(|start| window.t0.is_none_or(|t0| t0 <= *start));
    let initialize = kinds.number(INITIALIZE, DERIVED, -1);
    let Extra { rows, mut pieces, .. } = extra;
    // Stable: what was met first stays first.
    pieces.sort_by_key(|(row, _)| *row);
    let of_row = |row: usize| {
        let at = |row| pieces.partition_point(|(of, _)| (*of as usize) < row);
        pieces.get(at(row)..at(row + 1)).unwrap_or_default()
    };
    let order = rows.in_order();
    let by_lane: Vec<Vec<Piece>> = order
        .par_iter()
        .map(|&row| {
            let Some(&(node, gpu)) = rows.lanes().get(row) else { return Vec::new() };
            let mut lane = laid.overlapping(node, gpu, window);
            let more = of_row(row);
            if !more.is_empty() {
                lane.extend(more.iter().map(|(_, piece)| *piece));
                lane.sort_by(Piece::in_time);
            }
            if let (Some(start), Some(first)) = (start, lane.first())
                && start < first.t0
                && overlaps(start, first.t0, window)
            {
                lane.insert(0, Piece { t0: start, t1: first.t0, kind: initialize, order: 0 });
            }
            lane
        })
        .collect();
    let mut lanes = Vec::with_capacity(order.len());
    let mut pieces = Vec::with_capacity(by_lane.iter().map(Vec::len).sum());
    for (of_lane, &row) in by_lane.iter().zip(&order) {
        let Some(&(node, gpu)) = rows.lanes().get(row) else { continue };
        pieces.extend_from_slice(of_lane);
        lanes.push(Lane { node: node.to_owned(), gpu, end: pieces.len() });
    }
    let Kinds { names, roles, kinds } = kinds;
    let kinds = kinds.into_items();
    Ok(LanePhases { names: names.into_items(), roles: roles.into_items(), kinds, lanes, pieces })
}

fn overlaps(t0: f64, t1: f64, window: &Window) -> bool {
    window.t1.is_none_or(|end| t0 < end) && window.t0.is_none_or(|start| t1 > start)
}

/// The closed phases of a run.
#[derive(Debug, Default)]
struct Laid {
    kinds: Kinds,
    /// By node and GPU.
    lanes: Vec<LaidLane>,
    /// Those of the rollout manager, which lie where the engines are, in order of arrival.
    managers: Vec<Piece>,
}

#[derive(Debug)]
struct LaidLane {
    node: String,
    gpu: i64,
    /// In order of start, those that start together in order of arrival.
    pieces: Vec<Piece>,
}

impl Laid {
    fn of(store: &Store) -> Result<Self, TelemetryError> {
        let found = store.phases(&Window::ALL)?;
        let mut kinds = Kinds::default();
        let mut lanes: Numbered<(String, i64)> = Numbered::default();
        let mut managers = Vec::new();
        // What the kinds of each block are, and on which lanes they lie; `None` for the manager's.
        let of_blocks: Vec<Vec<(u32, Option<Vec<u32>>)>> = found
            .blocks()
            .map(|block| {
                let of_kind = |row: PhaseRow<'_>| {
                    let on = row.gpus.iter().map(|gpu| lanes.of(&(row.node.to_owned(), i64::from(*gpu))));
                    (kinds.of(&row), (row.role != MANAGER).then(|| on.collect()))
                };
                block.kinds().map(of_kind).collect()
            })
            .collect();
        // Counted first: a large run has millions, which must not be there twice.
        let mut counts = vec![0_usize; lanes.items().len()];
        let each = || {
            found.blocks().zip(&of_blocks).flat_map(|(block, kinds)| {
                block.closed_times().filter_map(|(t0, t1, kind)| Some((t0, t1, kinds.get(kind as usize)?)))
            })
        };
        for lane in each().flat_map(|(_, _, (_, on))| on.iter().flatten()) {
            if let Some(count) = counts.get_mut(*lane as usize) {
                *count += 1;
            }
        }
        let mut by_lane: Vec<Vec<Piece>> = counts.into_iter().map(Vec::with_capacity).collect();
        for ((t0, t1, (kind, on)), order) in each().zip(0..) {
            let piece = Piece { t0, t1, kind: *kind, order };
            let Some(on) = on else {
                managers.push(piece);
                continue;
            };
            for lane in on {
                if let Some(pieces) = by_lane.get_mut(*lane as usize) {
                    pieces.push(piece);
                }
            }
        }
        by_lane.par_iter_mut().for_each(|pieces| pieces.sort_by(Piece::in_time));
        let mut lanes: Vec<LaidLane> = lanes
            .into_items()
            .into_iter()
            .zip(by_lane)
            .map(|((node, gpu), pieces)| LaidLane { node, gpu, pieces })
            .collect();
        lanes.sort_by(|a, b| (&a.node, a.gpu).cmp(&(&b.node, b.gpu)));
        Ok(Self { kinds, lanes, managers })
    }

    /// The pieces of a lane that overlap the window, in order.
    fn overlapping(&self, node: &str, gpu: i64, window: &Window) -> Vec<Piece> {
        let found = self.lanes.binary_search_by(|lane| (lane.node.as_str(), lane.gpu).cmp(&(node, gpu)));
        let Some(lane) = found.ok().and_then(|at| self.lanes.get(at)) else { return Vec::new() };
        let end =
            window.t1.map_or(lane.pieces.len(), |t1| lane.pieces.partition_point(|piece| piece.t0 < t1));
        let before = lane.pieces.get(..end).unwrap_or_default();
        before.iter().filter(|piece| overlaps(piece.t0, piece.t1, window)).copied().collect()
    }
}

/// What many phases have in common.
#[derive(Debug, Clone, Default)]
struct Kinds {
    names: Numbered<String>,
    roles: Numbered<String>,
    kinds: Numbered<Kind>,
}

impl Kinds {
    fn of(&mut self, row: &PhaseRow<'_>) -> u32 {
        self.number(row.name, row.role, row.rank)
    }

    fn number(&mut self, name: &str, role: &str, rank: i64) -> u32 {
        let kind = Kind { name: self.names.of(name), role: self.roles.of(role), rank };
        self.kinds.of(&kind)
    }
}

/// Pieces that are laid for a question.
struct Extra<'s> {
    topology: &'s [Span<'s>],
    /// Rows that each topology window reaches; found when a phase needs them.
    reached: Vec<Option<Arc<[u32]>>>,
    rows: Rows<'s>,
    /// Pieces and their rows, in order of arrival.
    pieces: Vec<(u32, Piece)>,
}

impl Extra<'_> {
    /// One piece for each topology window that the phase overlaps; none before the first snapshot.
    fn manager(&mut self, phase: Piece) {
        let first = self.topology.partition_point(|span| span.t1 <= phase.t0);
        let overlapped = self.topology.iter().enumerate().skip(first);
        for (at, span) in overlapped.take_while(|(_, span)| span.t0 < phase.t1) {
            let piece = Piece { t0: phase.t0.max(span.t0), t1: phase.t1.min(span.t1), ..phase };
            if piece.t0 >= piece.t1 {
                continue;
            }
            let Some(reached) = self.reached.get_mut(at) else { continue };
            let lanes = reached.get_or_insert_with(|| lanes_of(span.engines, &self.rows).into());
            self.pieces.extend(lanes.iter().map(|&lane| (lane, piece)));
        }
    }

    fn on(&mut self, node: &str, gpus: &[i32], piece: Piece) {
        let lanes = gpus.iter().filter_map(|&gpu| self.rows.find(node, gpu.into()));
        self.pieces.extend(lanes.map(|lane| (lane, piece)));
    }
}

/// Rows of the GPUs that these engines name; if none names any, of all lanes on their hosts.
fn lanes_of(engines: &[Engine], rows: &Rows<'_>) -> Vec<u32> {
    let named = engines.iter().flat_map(|engine| &engine.gpus);
    let mut lanes: Vec<u32> = named.filter_map(|(node, gpu)| rows.find(node, *gpu)).collect();
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
