//! Which records touch a set of lanes.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use super::{Lanes, Selector};
use crate::record::{Engine, Phase, Record, Stream};
use crate::telemetry::{Damage, TelemetryError, Window, scan};

/// Tells records that touch selected lanes from those that do not.
#[derive(Debug, Default)]
pub struct LaneFilter {
    /// Selected GPUs of each node.
    gpus: HashMap<String, HashSet<i64>>,
    /// Engines that served on a selected lane at any time.
    addrs: HashSet<String>,
    /// When the rollout manager's phases reach selected lanes. Loaded for phases only.
    windows: Vec<TopologyWindow>,
}

/// From one topology snapshot to the next.
#[derive(Debug)]
struct TopologyWindow {
    t0: f64,
    t1: f64,
    /// Whether its engines serve on a selected lane.
    selected: bool,
}

impl LaneFilter {
    /// A filter for records of `stream` in the run whose telemetry is under `dashboard`.
    ///
    /// # Errors
    /// [`TelemetryError`] when the lanes or the topology cannot be read.
    pub fn load(dashboard: &Path, selector: &Selector, stream: Stream) -> Result<Self, TelemetryError> {
        let lanes = Lanes::load(dashboard)?;
        let mut filter = Self::default();
        for lane in selector.select(&lanes) {
            filter.gpus.entry(lane.node.clone()).or_default().insert(lane.gpu);
            filter.addrs.extend(lane.engine_addrs.iter().cloned());
        }
        if stream == Stream::Phases {
            filter.load_windows(dashboard)?;
        }
        Ok(filter)
    }

    fn load_windows(&mut self, dashboard: &Path) -> Result<(), TelemetryError> {
        let mut windows = Vec::new();
        // Damage is the business of whoever reads the records.
        scan::<TelemetryError>(dashboard, Stream::Topology, &Window::ALL, &mut Damage::default(), |found| {
            if let Record::Topology(topology) = &found.record
                && let Some(t0) = topology.ts
            {
                let selected = self.serves(&topology.engines());
                windows.push(TopologyWindow { t0, t1: f64::INFINITY, selected });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        windows.sort_by(|a, b| a.t0.total_cmp(&b.t0));
        for at in 1..windows.len() {
            let next = windows.get(at).map_or(f64::INFINITY, |window| window.t0);
            if let Some(window) = windows.get_mut(at - 1) {
                window.t1 = next;
            }
        }
        self.windows = windows;
        Ok(())
    }

    /// Whether a snapshot with these engines reaches a selected lane: by the GPUs they name, or if
    /// none names any by all lanes on their hosts.
    fn serves(&self, engines: &[Engine]) -> bool {
        if engines.iter().any(|engine| !engine.gpus.is_empty()) {
            return engines.iter().any(|engine| self.names(engine));
        }
        engines.iter().filter_map(|engine| host(&engine.addr)).any(|host| self.gpus.contains_key(host))
    }

    fn names(&self, engine: &Engine) -> bool {
        engine.gpus.iter().any(|(node, gpu)| self.lane(Some(node), Some(*gpu)))
    }

    fn lane(&self, node: Option<&str>, gpu: Option<i64>) -> bool {
        let Some((node, gpu)) = node.zip(gpu) else { return false };
        self.gpus.get(node).is_some_and(|gpus| gpus.contains(&gpu))
    }

    /// Whether `record` touches a selected lane. A GPU's reading and process touch its lane, an
    /// engine's sample and a snapshot the lanes it serves on, a trainer's phase the lanes of its
    /// rank, the rollout manager's phase the lanes of the engines that served while it lasted.
    /// Records of the other streams touch none.
    #[must_use]
    pub fn touches(&self, record: &Record<'_>) -> bool {
        match record {
            Record::GpuUtil(reading) => self.lane(reading.node.as_deref(), reading.gpu),
            Record::GpuProcess(process) => self.lane(process.node.as_deref(), process.gpu),
            Record::GpuHealth(health) => self.lane(health.node.as_deref(), health.gpu),
            Record::EngineSample(sample) => {
                sample.addr.as_deref().is_some_and(|addr| self.addrs.contains(addr))
            }
            Record::Topology(topology) => topology
                .engines()
                .iter()
                .any(|engine| self.addrs.contains(&engine.addr) || self.names(engine)),
            Record::Phase(phase) => self.phase(phase),
            Record::Metrics(_) | Record::TrajectoryEvent(_) | Record::DataBuffer(_) => false,
        }
    }

    fn phase(&self, phase: &Phase<'_>) -> bool {
        if phase.role.as_deref() != Some("rollout_manager") {
            let node = phase.node.as_deref();
            return phase.gpus.iter().flatten().any(|&gpu| self.lane(node, Some(i64::from(gpu))));
        }
        let Some(t0) = phase.t0 else { return false };
        let t1 = if phase.is_open() { f64::INFINITY } else { phase.t1.unwrap_or(t0) };
        self.windows.iter().any(|window| window.selected && t0 < window.t1 && window.t0 <= t1)
    }
}

/// The host of `http://host:port`, brackets of an IPv6 address left out.
pub(super) fn host(addr: &str) -> Option<&str> {
    let rest = addr.split_once("://").map_or(addr, |(_, rest)| rest);
    let rest = rest.split('/').next()?;
    match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(host, _)| host),
        None => Some(rest.rsplit_once(':').map_or(rest, |(host, _)| host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decode;
    use std::fs;

    fn filter(selector: &str, stream: Stream) -> (tempfile::TempDir, LaneFilter) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("topology.jsonl"),
            "{\"ts\":100,\"engines\":[{\"addr\":\"http://a:1\",\"gpus\":[[\"a\",0]]},{\"addr\":\"http://x:1\",\"gpus\":[]}]}\n\
             {\"ts\":200,\"engines\":[{\"addr\":\"http://b:1\",\"gpus\":[[\"b\",0]]}]}\n\
             {\"ts\":300,\"engines\":[{\"addr\":\"http://a:2\",\"gpus\":[]}]}\n",
        )
        .unwrap();
        let filter = LaneFilter::load(folder.path(), &selector.parse().unwrap(), stream).unwrap();
        (folder, filter)
    }

    fn touches(filter: &LaneFilter, stream: Stream, line: &str) -> bool {
        let mut scratch = String::new();
        filter.touches(&decode(stream, line.as_bytes(), &mut scratch).unwrap().unwrap().record)
    }

    #[test]
    fn the_managers_phase_touches_the_lanes_of_the_engines_of_its_time() {
        let (_folder, filter) = filter("node:a", Stream::Phases);
        let touched = |t0: f64, t1: f64| {
            let line = format!(
                r#"{{"name":"rollout","t0":{t0:.1},"t1":{t1:.1},"node":"d","gpus":[],"rank":-1,"role":"rollout_manager"}}"#
            );
            touches(&filter, Stream::Phases, &line)
        };
        assert!(touched(110.0, 120.0));
        assert!(!touched(50.0, 99.0));
        assert!(!touched(210.0, 220.0));
        assert!(touched(150.0, 250.0));
        assert!(touched(310.0, 320.0), "engines without GPUs reach their host's lanes");
        assert!(touched(210.0, -1.0), "an open phase lasts");
    }

    #[test]
    fn records_touch_the_lane_or_the_engine_that_they_name() {
        let (_folder, filter) = filter("gpu:a:0", Stream::GpuUtil);
        assert!(touches(&filter, Stream::GpuUtil, r#"{"node":"a","gpu":0}"#));
        assert!(!touches(&filter, Stream::GpuUtil, r#"{"node":"a","gpu":1}"#));
        assert!(!touches(&filter, Stream::GpuProcesses, r#"{"node":"b","gpu":0}"#));
        assert!(touches(&filter, Stream::GpuHealth, r#"{"node":"a","gpu":0}"#));
        assert!(touches(&filter, Stream::EngineSeries, r#"{"addr":"http://a:1"}"#));
        assert!(!touches(&filter, Stream::EngineSeries, r#"{"addr":"http://a:11"}"#));
        assert!(touches(
            &filter,
            Stream::Topology,
            r#"{"engines":[{"addr":"http://b:1"},{"addr":"http://a:1"}]}"#
        ));
        assert!(touches(&filter, Stream::Phases, r#"{"role":"train","node":"a","gpus":[3,0]}"#));
        assert!(!touches(&filter, Stream::Phases, r#"{"role":"train","node":"b","gpus":[0]}"#));
        assert!(!touches(&filter, Stream::DataBuffer, r#"{"ts":1}"#));
    }

    #[test]
    fn a_host_is_read_from_every_form_of_address() {
        for (addr, wanted) in [
            ("http://10.0.0.1:15000", "10.0.0.1"),
            ("https://h/x:1", "h"),
            ("h:1", "h"),
            ("http://[fe80::1]:1/metrics", "fe80::1"),
        ] {
            assert_eq!(host(addr), Some(wanted));
        }
    }
}
