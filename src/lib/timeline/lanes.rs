//! The lanes of a run: from its catalog, or from a scan of its streams where it has none.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::record::{Engine, Record, Stream};
use crate::telemetry::{Damage, LaneCatalog, Store, TelemetryError, Window, scan};

/// One GPU of one node and what used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Host.
    pub node: String,
    /// Index of the GPU on its host.
    pub gpu: i64,
    /// Trainer ranks that ran on it, ascending.
    pub ranks: Vec<i64>,
    /// Addresses of engines that served on it, in order of text.
    pub engine_addrs: Vec<String>,
    /// Of `rollout` and `train`, those it had; none for a GPU that was only sampled.
    pub roles: Vec<String>,
}

/// The lanes of a run, by node and GPU. A lane's place in the list is its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lanes(pub Vec<Lane>);

impl Lanes {
    /// The lanes of the run whose telemetry is under `dashboard`: those of `lane_catalog.json`, or
    /// without one (old runs) those that a scan of the streams finds.
    ///
    /// # Errors
    /// [`TelemetryError`] when the catalog or a stream cannot be read.
    pub fn load(dashboard: &Path) -> Result<Self, TelemetryError> {
        match LaneCatalog::read(dashboard)? {
            Some(catalog) => Ok(Self::from_catalog(&catalog)),
            None => Self::from_scan(dashboard),
        }
    }

    /// As [`Lanes::load`], of an open store.
    ///
    /// # Errors
    /// [`TelemetryError`] when there is no catalog and a stream cannot be read.
    pub fn from_store(store: &Store) -> Result<Self, TelemetryError> {
        if let Some(catalog) = store.catalog() {
            return Ok(Self::from_catalog(&catalog));
        }
        let mut lanes = Found::default();
        for phase in store.phases(&Window::ALL)?.rows() {
            lanes.phase(phase.node, phase.gpus, phase.rank, phase.role);
        }
        for snapshot in store.topology().iter() {
            lanes.engines(&snapshot.engines);
        }
        for block in store.gpu(&Window::ALL)? {
            block.lanes().for_each(|lane| lanes.sampled(Some(lane.node), Some(lane.gpu)));
        }
        for block in store.processes(&Window::ALL)? {
            block.rows().for_each(|process| lanes.sampled(Some(process.node), Some(process.gpu)));
        }
        Ok(lanes.into_lanes())
    }

    fn from_catalog(catalog: &LaneCatalog) -> Self {
        let lanes = catalog.lanes.iter().filter_map(|(name, lane)| {
            // The GPU is behind the last colon: a node can be an IPv6 address.
            let (node, gpu) = name.rsplit_once(':')?;
            let gpu = gpu.parse().ok()?;
            let (ranks, engine_addrs, roles) =
                (lane.ranks.clone(), lane.engine_addrs.clone(), lane.roles.clone());
            Some(Lane { node: node.to_owned(), gpu, ranks, engine_addrs, roles })
        });
        let mut lanes: Vec<_> = lanes.collect();
        lanes.sort_by(|a, b| (&a.node, a.gpu).cmp(&(&b.node, b.gpu)));
        Self(lanes)
    }

    /// What the job would have put into a catalog: lanes from every stream that names one, ranks
    /// from train phases with a rank from 0 on, engine addresses from topology.
    fn from_scan(dashboard: &Path) -> Result<Self, TelemetryError> {
        let mut lanes = Found::default();
        // Damage is the business of whoever reads the records.
        let mut damage = Damage::default();
        for stream in NAMING {
            scan::<TelemetryError>(dashboard, stream, &Window::ALL, &mut damage, |found| {
                match &found.record {
                    Record::Phase(phase) => {
                        if let Some(node) = phase.node.as_deref() {
                            let gpus = phase.gpus.as_deref().unwrap_or_default();
                            let role = phase.role.as_deref().unwrap_or_default();
                            lanes.phase(node, gpus, phase.rank.unwrap_or(-1), role);
                        }
                    }
                    Record::Topology(topology) => lanes.engines(&topology.engines()),
                    Record::GpuUtil(reading) => lanes.sampled(reading.node.as_deref(), reading.gpu),
                    Record::GpuProcess(process) => lanes.sampled(process.node.as_deref(), process.gpu),
                    _ => {}
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(lanes.into_lanes())
    }
}

/// The lanes of a run that is being written, made anew when what they come from has changed.
#[derive(Debug, Default)]
pub struct LaneIndex(Mutex<Option<Indexed>>);

#[derive(Debug)]
struct Indexed {
    catalog: Option<Arc<LaneCatalog>>,
    /// Of the streams that name lanes.
    versions: [u64; 4],
    lanes: Arc<Lanes>,
}

impl LaneIndex {
    /// The lanes as they are now.
    ///
    /// # Errors
    /// As [`Lanes::from_store`].
    pub fn lanes(&self, store: &Store) -> Result<Arc<Lanes>, TelemetryError> {
        // Versions first: what is appended while the lanes are made is then seen by the next call.
        let versions = NAMING.map(|stream| store.version(stream));
        let catalog = store.catalog();
        // Nothing panics while it is held.
        let mut indexed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(indexed) = &*indexed {
            let current = match (&indexed.catalog, &catalog) {
                (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old == new,
                (None, None) => indexed.versions == versions,
                _ => false,
            };
            if current {
                return Ok(Arc::clone(&indexed.lanes));
            }
        }
        let lanes = match &catalog {
            Some(catalog) => Lanes::from_catalog(catalog),
            None => Lanes::from_store(store)?,
        };
        let lanes = Arc::new(lanes);
        *indexed = Some(Indexed { catalog, versions, lanes: Arc::clone(&lanes) });
        Ok(lanes)
    }
}

/// Streams whose records name lanes.
const NAMING: [Stream; 4] = [Stream::Phases, Stream::Topology, Stream::GpuUtil, Stream::GpuProcesses];

/// Lanes as a scan finds them: node, then GPU.
#[derive(Debug, Default)]
struct Found(BTreeMap<Box<str>, BTreeMap<i64, Seen>>);

#[derive(Debug, Default)]
struct Seen {
    ranks: BTreeSet<i64>,
    engine_addrs: BTreeSet<String>,
    roles: BTreeSet<&'static str>,
}

impl Found {
    fn at(&mut self, node: &str, gpu: i64) -> &mut Seen {
        self.0.entry(node.into()).or_default().entry(gpu).or_default()
    }

    fn sampled(&mut self, node: Option<&str>, gpu: Option<i64>) {
        if let Some((node, gpu)) = node.zip(gpu) {
            self.at(node, gpu);
        }
    }

    fn phase(&mut self, node: &str, gpus: &[i32], rank: i64, role: &str) {
        for &gpu in gpus {
            let seen = self.at(node, gpu.into());
            if role == "train" {
                seen.roles.insert("train");
                seen.ranks.extend((rank >= 0).then_some(rank));
            }
        }
    }

    fn engines(&mut self, engines: &[Engine]) {
        for engine in engines {
            for (node, gpu) in &engine.gpus {
                let seen = self.at(node, *gpu);
                seen.roles.insert("rollout");
                if !seen.engine_addrs.contains(&engine.addr) {
                    seen.engine_addrs.insert(engine.addr.clone());
                }
            }
        }
    }

    fn into_lanes(self) -> Lanes {
        let lanes = self.0.into_iter().flat_map(|(node, gpus)| {
            gpus.into_iter().map(move |(gpu, seen)| Lane {
                node: node.to_string(),
                gpu,
                ranks: seen.ranks.into_iter().collect(),
                engine_addrs: seen.engine_addrs.into_iter().collect(),
                roles: seen.roles.into_iter().map(str::to_owned).collect(),
            })
        });
        Lanes(lanes.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lanes_are_sorted_by_node_and_then_by_number() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = r#"{"version": 1, "lanes": {"b:0": {}, "a:10": {"ranks": [3]}, "a:9": {}, "fe80::1:2": {}, "odd": {}}}"#;
        fs::write(folder.path().join("lane_catalog.json"), catalog).unwrap();
        let lanes = Lanes::load(folder.path()).unwrap();
        let names: Vec<_> = lanes.0.iter().map(|lane| (lane.node.as_str(), lane.gpu)).collect();
        assert_eq!(names, [("a", 9), ("a", 10), ("b", 0), ("fe80::1", 2)]);
        assert_eq!(lanes.0[1].ranks, [3]);
    }

    #[test]
    fn a_scan_finds_what_a_catalog_would_say() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "phases.jsonl",
            "{\"name\":\"a\",\"t0\":1,\"t1\":2,\"node\":\"n\",\"gpus\":[1,0],\"rank\":4,\"role\":\"train\"}\n\
             {\"name\":\"a\",\"t0\":1,\"t1\":2,\"node\":\"driver\",\"gpus\":[],\"rank\":-1,\"role\":\"rollout_manager\"}\n",
        );
        write(
            "topology.jsonl",
            "{\"ts\":1,\"engines\":[{\"addr\":\"http://n:1\",\"gpus\":[[\"n\",1]]},{\"addr\":\"http://x:1\",\"gpus\":[]}]}\n",
        );
        write(
            "gpu_util.jsonl",
            "{\"ts\":1,\"node\":\"m\",\"gpu\":7,\"util\":1,\"mem_mb\":1,\"power_w\":1}\n",
        );
        let lane = |node: &str, gpu, ranks: &[i64], addrs: &[&str], roles: &[&str]| Lane {
            node: node.to_owned(),
            gpu,
            ranks: ranks.to_vec(),
            engine_addrs: addrs.iter().map(|&text| text.to_owned()).collect(),
            roles: roles.iter().map(|&text| text.to_owned()).collect(),
        };
        assert_eq!(
            Lanes::load(folder.path()).unwrap().0,
            [
                lane("m", 7, &[], &[], &[]),
                lane("n", 0, &[4], &[], &["train"]),
                lane("n", 1, &[4], &["http://n:1"], &["rollout", "train"]),
            ]
        );
    }
}
