//! Lays recorded phases on lanes.
//!
//! A run has a phase for each rank, step and name, so that a picture of four hours is made of many
//! thousands. They are of few kinds: what a kind is called and where it lies is found out once, and a
//! phase is then two times and a number.

use std::collections::HashMap;

use rayon::prelude::*;

use super::filter::host;
use super::phases::{Kind, Lane, LanePhases, Piece};
use super::selection::Rows;
use super::topology::{Span, spans};
use super::{Selection, TimelineError};
use crate::record::Engine;
use crate::telemetry::{PhaseRow, Store, Window};

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
    let found = store.phases(window)?;
    let newest = store.time_range()?.map_or(f64::NEG_INFINITY, |range| range.1);
    let snapshots = store.topology();
    let topology = spans(&snapshots);
    let mut painter = Painter::new(selection, beyond, &topology);
    for block in found.blocks() {
        let kinds: Vec<u32> = block.kinds().map(|kind| painter.kind(&kind)).collect();
        for (t0, t1, kind) in block.closed_times() {
            if overlaps(t0, t1, window)
                && let Some(&kind) = kinds.get(kind as usize)
            {
                painter.paint(kind, t0, t1);
            }
        }
    }
    for row in found.open() {
        let t1 = newest.max(row.t0);
        if overlaps(row.t0, t1, window) {
            let kind = painter.kind(&row);
            painter.paint(kind, row.t0, t1);
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
    kinds: Vec<Kind>,
    /// Where the phases of each kind lie, side by side with `kinds`.
    places: Vec<Places>,
    /// Pieces and their rows, in order of arrival.
    pieces: Vec<(u32, Piece)>,
}

/// Where the phases of a kind lie.
enum Places {
    /// On these rows.
    Lanes(Vec<u32>),
    /// On whatever lanes have engines at the time.
    Engines,
}

impl<'s> Painter<'s> {
    fn new(selection: &'s Selection, beyond: bool, topology: &'s [Span<'s>]) -> Self {
        Self {
            rows: if beyond { Rows::growing(selection) } else { Rows::fixed(selection) },
            topology,
            reached: vec![None; topology.len()],
            names: Names::default(),
            roles: Names::default(),
            kinds: Vec::new(),
            places: Vec::new(),
            pieces: Vec::new(),
        }
    }

    fn paint(&mut self, kind: u32, t0: f64, t1: f64) {
        match self.places.get(kind as usize) {
            Some(Places::Lanes(lanes)) => {
                let piece = Piece { t0, t1, kind };
                self.pieces.extend(lanes.iter().map(|&lane| (lane, piece)));
            }
            Some(Places::Engines) => self.paint_manager(t0, t1, kind),
            None => {}
        }
    }

    /// A number for what the phases of a kind have in common. Each block has kinds of its own.
    fn kind(&mut self, row: &PhaseRow<'s>) -> u32 {
        let kind = Kind { name: self.names.id(row.name), role: self.roles.id(row.role), rank: row.rank };
        self.kinds.push(kind);
        self.places.push(if row.role == MANAGER {
            Places::Engines
        } else {
            Places::Lanes(row.gpus.iter().filter_map(|&gpu| self.rows.row(row.node, gpu.into())).collect())
        });
        (self.kinds.len() - 1) as u32
    }

    /// One piece for each topology window that the phase overlaps; none before the first snapshot.
    fn paint_manager(&mut self, t0: f64, t1: f64, kind: u32) {
        let first = self.topology.partition_point(|span| span.t1 <= t0);
        let overlapped = self.topology.iter().enumerate().skip(first).take_while(|(_, span)| span.t0 < t1);
        for (at, span) in overlapped {
            let piece = Piece { t0: t0.max(span.t0), t1: t1.min(span.t1), kind };
            if piece.t0 >= piece.t1 {
                continue;
            }
            let Some(reached) = self.reached.get_mut(at) else { continue };
            let lanes = reached.get_or_insert_with(|| lanes_of(span.engines, &mut self.rows));
            self.pieces.extend(lanes.iter().map(|&lane| (lane, piece)));
        }
    }

    fn finish(mut self, start_ts: Option<f64>, window: &Window) -> LanePhases {
        let start = start_ts.filter(|start| window.t0.is_none_or(|t0| t0 <= *start));
        let initialize = self.kinds.len() as u32;
        let (name, role) = (self.names.id(INITIALIZE), self.roles.id(DERIVED));
        self.kinds.push(Kind { name, role, rank: -1 });
        let mut answer = LanePhases {
            names: self.names.names.iter().map(|&name| name.to_owned()).collect(),
            roles: self.roles.names.iter().map(|&role| role.to_owned()).collect(),
            kinds: self.kinds,
            lanes: Vec::with_capacity(self.rows.lanes().len()),
            pieces: Vec::with_capacity(self.pieces.len()),
        };
        let mut by_row = grouped(&self.pieces, self.rows.lanes().len());
        // Stable: pieces that start together stay in file order.
        by_row.par_iter_mut().for_each(|pieces| pieces.sort_by(|a, b| a.t0.total_cmp(&b.t0)));
        for row in self.rows.in_order() {
            let (Some(&(node, gpu)), Some(pieces)) = (self.rows.lanes().get(row), by_row.get_mut(row)) else {
                continue;
            };
            if let (Some(start), Some(first)) = (start, pieces.first())
                && start < first.t0
                && overlaps(start, first.t0, window)
            {
                answer.pieces.push(Piece { t0: start, t1: first.t0, kind: initialize });
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
