//! The lanes of a run: from its catalog, or from a scan of its streams where it has none.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use crate::record::{Record, Stream};
use crate::telemetry::{Damage, LaneCatalog, TelemetryError, Window, scan};

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
            Some(catalog) => Ok(Self::from_catalog(catalog)),
            None => Self::from_scan(dashboard),
        }
    }

    fn from_catalog(catalog: LaneCatalog) -> Self {
        let lanes = catalog.lanes.into_iter().filter_map(|(name, lane)| {
            // The GPU is behind the last colon: a node can be an IPv6 address.
            let (node, gpu) = name.rsplit_once(':')?;
            let gpu = gpu.parse().ok()?;
            Some(Lane {
                node: node.to_owned(),
                gpu,
                ranks: lane.ranks,
                engine_addrs: lane.engine_addrs,
                roles: lane.roles,
            })
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
        for stream in [Stream::Phases, Stream::Topology, Stream::GpuUtil, Stream::GpuProcesses] {
            scan::<TelemetryError>(dashboard, stream, &Window::ALL, &mut damage, |found| {
                match &found.record {
                    Record::Phase(phase) => {
                        let train = phase.role.as_deref() == Some("train");
                        for &gpu in phase.gpus.iter().flatten() {
                            if let Some(seen) = lanes.at(phase.node.as_deref(), Some(i64::from(gpu)))
                                && train
                            {
                                seen.roles.insert("train");
                                seen.ranks.extend(phase.rank.filter(|rank| *rank >= 0));
                            }
                        }
                    }
                    Record::Topology(topology) => {
                        for engine in topology.engines() {
                            for (node, gpu) in &engine.gpus {
                                if let Some(seen) = lanes.at(Some(node), Some(*gpu)) {
                                    seen.roles.insert("rollout");
                                    seen.engine_addrs.insert(engine.addr.clone());
                                }
                            }
                        }
                    }
                    Record::GpuUtil(reading) => {
                        lanes.at(reading.node.as_deref(), reading.gpu);
                    }
                    Record::GpuProcess(process) => {
                        lanes.at(process.node.as_deref(), process.gpu);
                    }
                    _ => {}
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(lanes.into_lanes())
    }
}

/// Lanes as a scan finds them: node, then GPU.
#[derive(Debug, Default)]
struct Found(BTreeMap<String, BTreeMap<i64, Seen>>);

#[derive(Debug, Default)]
struct Seen {
    ranks: BTreeSet<i64>,
    engine_addrs: BTreeSet<String>,
    roles: BTreeSet<&'static str>,
}

impl Found {
    /// The lane that a record names; `None` when it names none.
    fn at(&mut self, node: Option<&str>, gpu: Option<i64>) -> Option<&mut Seen> {
        let (node, gpu) = (node?, gpu?);
        // Not `entry`: it wants an owned name for every record.
        if !self.0.contains_key(node) {
            self.0.insert(node.to_owned(), BTreeMap::new());
        }
        Some(self.0.get_mut(node)?.entry(gpu).or_default())
    }

    fn into_lanes(self) -> Lanes {
        let lanes = self.0.into_iter().flat_map(|(node, gpus)| {
            gpus.into_iter().map(move |(gpu, seen)| Lane {
                node: node.clone(),
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
