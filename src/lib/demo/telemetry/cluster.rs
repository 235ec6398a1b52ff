//! Where the run runs: nodes, lanes (one GPU each) and engines.
//!
//! The run is colocated: every lane has a trainer rank, and an engine serves on it while nobody
//! trains. There is an engine for every 16 lanes, but at least 4 and at most 16, as far as there are
//! lanes: a large cluster has engines that span nodes.

use std::ops::Range;

use crate::demo::Settings;

/// Lanes an engine, where neither of the limits on their number counts.
const LANES_AN_ENGINE: usize = 16;
const ENGINES: Range<usize> = 4..17;
const FIRST_PORT: u32 = 15_000;

/// Nodes, lanes and engines.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    /// Address of each node.
    pub(super) nodes: Vec<String>,
    /// GPUs a node.
    pub(super) gpus: usize,
    pub(super) engines: Vec<Engine>,
}

/// An engine.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) lanes: Range<usize>,
    pub(super) addr: String,
    /// Where it serves after a restart.
    pub(super) addr_after: String,
    /// Data-parallel ranks; one has several, and its schedulers' metrics say which is meant.
    pub(super) dp: usize,
}

impl Cluster {
    pub(super) fn new(settings: &Settings) -> Self {
        let gpus = settings.gpus as usize;
        let nodes: Vec<String> = (0..settings.nodes as usize).map(address).collect();
        let lanes = nodes.len() * gpus;
        let count = (lanes / LANES_AN_ENGINE).clamp(ENGINES.start, ENGINES.end - 1).min(lanes);
        let mut engines: Vec<Engine> = Vec::with_capacity(count);
        for at in 0..count {
            let lanes = at * lanes / count..(at + 1) * lanes / count;
            let node = lanes.start / gpus;
            let before = engines.iter().filter(|other| other.lanes.start / gpus == node).count() as u32;
            let port = FIRST_PORT + 4 * before;
            let url = |port: u32| format!("http://{}:{port}", nodes[node]);
            // Two ports further: no other engine of the node has that one.
            engines.push(Engine {
                lanes,
                addr: url(port),
                addr_after: url(port + 2),
                dp: if at == 1 { 2 } else { 1 },
            });
        }
        Self { nodes, gpus, engines }
    }

    pub(super) fn lanes(&self) -> usize {
        self.nodes.len() * self.gpus
    }

    /// Address of the node and number of the GPU on it.
    pub(super) fn place(&self, lane: usize) -> (&str, usize) {
        (&self.nodes[lane / self.gpus], lane % self.gpus)
    }

    /// The engine that serves on a lane.
    pub(super) fn engine_of(&self, lane: usize) -> usize {
        self.engines.partition_point(|engine| engine.lanes.end <= lane)
    }
}

/// Addresses in counting order sort as texts: three digits from 1 to 9, the first of which may grow.
fn address(node: usize) -> String {
    format!("10.{}.{}.{}", node / 81 + 1, node / 9 % 9 + 1, node % 9 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(nodes: u32, gpus: u32) -> Cluster {
        Cluster::new(&Settings { nodes, gpus, ..Settings::default() })
    }

    #[test]
    fn engines_share_all_lanes_among_them() {
        for (nodes, gpus, engines) in [(1, 1, 1), (1, 3, 3), (1, 8, 4), (2, 2, 4), (8, 8, 4), (128, 8, 16)] {
            let cluster = cluster(nodes, gpus);
            assert_eq!(cluster.engines.len(), engines, "{nodes} x {gpus}");
            let mut next = 0;
            for (at, engine) in cluster.engines.iter().enumerate() {
                assert_eq!(engine.lanes.start, next);
                next = engine.lanes.end;
                assert!(engine.lanes.clone().all(|lane| cluster.engine_of(lane) == at));
            }
            assert_eq!(next, cluster.lanes());
            let mut addrs: Vec<&str> =
                cluster.engines.iter().flat_map(|e| [e.addr.as_str(), &e.addr_after]).collect();
            addrs.sort_unstable();
            addrs.dedup();
            assert_eq!(addrs.len(), 2 * engines);
        }
    }

    #[test]
    fn addresses_sort_as_their_nodes() {
        let nodes = cluster(700, 1).nodes;
        assert!(nodes.is_sorted());
        assert_eq!((nodes[0].as_str(), nodes[9].as_str()), ("10.1.1.1", "10.1.2.1"));
    }
}
