//! The lanes of a run and the engines that served on them.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::Lanes;
use crate::record::Engine;
use crate::telemetry::{Snapshot, Store};

/// From one topology snapshot to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct TopologyWindow {
    /// When the snapshot was taken, Unix seconds.
    pub t0: f64,
    /// When the next one was; `None` for the last.
    pub t1: Option<f64>,
    /// The engines that served meanwhile.
    pub engines: Vec<Engine>,
}

/// Lanes and engines of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topology {
    lanes: Vec<LaneName>,
    windows: Vec<TopologyWindow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct LaneName {
    node: String,
    gpu: i64,
    index: usize,
}

/// The lanes of a run and its topology windows.
#[must_use]
pub fn topology(store: &Store, lanes: &Lanes) -> Topology {
    let named = lanes.0.iter().enumerate();
    let snapshots = store.topology();
    let windows = spans(&snapshots);
    Topology {
        lanes: named
            .map(|(index, lane)| LaneName { node: lane.node.clone(), gpu: lane.gpu, index })
            .collect(),
        windows: windows.into_iter().map(TopologyWindow::from).collect(),
    }
}

/// A [`TopologyWindow`] whose engines are those of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span<'s> {
    pub t0: f64,
    /// Infinite for the last.
    pub t1: f64,
    pub engines: &'s [Engine],
}

/// What these snapshots hold for: each one until the next, in order of time.
pub(super) fn spans(snapshots: &[Snapshot]) -> Vec<Span<'_>> {
    let mut spans: Vec<Span<'_>> = snapshots
        .iter()
        .map(|snapshot| Span { t0: snapshot.ts, t1: f64::INFINITY, engines: &snapshot.engines })
        .collect();
    spans.sort_by(|a, b| a.t0.total_cmp(&b.t0));
    let starts: Vec<f64> = spans.iter().skip(1).map(|span| span.t0).collect();
    for (span, next) in spans.iter_mut().zip(starts) {
        span.t1 = next;
    }
    spans
}

impl From<Span<'_>> for TopologyWindow {
    fn from(span: Span<'_>) -> Self {
        let t1 = span.t1.is_finite().then_some(span.t1);
        Self { t0: span.t0, t1, engines: span.engines.to_vec() }
    }
}

impl Serialize for TopologyWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let engines: Vec<_> = self.engines.iter().map(EngineAnswer).collect();
        let mut window = serializer.serialize_struct("TopologyWindow", 3)?;
        window.serialize_field("t0", &self.t0)?;
        window.serialize_field("t1", &self.t1)?;
        window.serialize_field("engines", &engines)?;
        window.end()
    }
}

/// Writes an engine as its record has it.
struct EngineAnswer<'e>(&'e Engine);

impl Serialize for EngineAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Engine { addr, worker_type, engine_rank, gpus, gpu_uuids } = self.0;
        let mut engine = serializer.serialize_struct("Engine", 5)?;
        engine.serialize_field("addr", addr)?;
        engine.serialize_field("worker_type", worker_type)?;
        engine.serialize_field("engine_rank", engine_rank)?;
        engine.serialize_field("gpus", gpus)?;
        engine.serialize_field("gpu_uuids", gpu_uuids)?;
        engine.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_snapshot_holds_until_the_next_in_order_of_time() {
        let snapshot = |ts, addr: &str| Snapshot {
            ts,
            engines: vec![Engine { addr: addr.to_owned(), ..Engine::default() }],
        };
        let snapshots = [snapshot(20.0, "b"), snapshot(10.0, "a")];
        let found = spans(&snapshots);
        let times: Vec<_> =
            found.iter().map(|span| (span.t0, span.t1, span.engines[0].addr.as_str())).collect();
        assert_eq!(times, [(10.0, 20.0, "a"), (20.0, f64::INFINITY, "b")]);
        assert_eq!(TopologyWindow::from(found[1]).t1, None);
        assert_eq!(spans(&[]), []);
    }

    #[test]
    fn an_engine_is_answered_with_every_key() {
        let engine = Engine { addr: "http://a:1".to_owned(), engine_rank: Some(-1), ..Engine::default() };
        let window = TopologyWindow { t0: 1.0, t1: None, engines: vec![engine] };
        assert_eq!(
            serde_json::to_string(&window).unwrap(),
            r#"{"t0":1.0,"t1":null,"engines":[{"addr":"http://a:1","worker_type":null,"engine_rank":-1,"gpus":[],"gpu_uuids":[]}]}"#
        );
    }
}
