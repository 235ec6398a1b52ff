//! `lane_catalog.json`: which GPUs the run has used and for what, as a scan of its streams would say.
//!
//! Lanes are taken from lines that are on disk, never from what only waits: what is dropped at a bound
//! makes no lane. What is there when the collector starts is read on a thread of its own, and the
//! document is not written before that.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::disk;
use super::shape::{Shape, shapes};
use crate::record::{Record, Stream, decode};
use crate::telemetry::{CatalogLane, LaneCatalog, Lines, TelemetryError, partitions};

/// Streams whose records make lanes. A card that only tells of its health makes none: the job knows nothing
/// of that stream.
pub(super) const NAMING: [Stream; 4] =
    [Stream::Phases, Stream::Topology, Stream::GpuUtil, Stream::GpuProcesses];

/// Its name under `dashboard`.
const NAME: &str = "lane_catalog.json";

/// What is known of one GPU.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Lane {
    ranks: BTreeSet<i64>,
    engine_addrs: BTreeSet<String>,
    roles: BTreeSet<String>,
}

/// Lanes by node and GPU.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Lanes(BTreeMap<(String, i64), Lane>);

impl Lanes {
    fn at(&mut self, node: &str, gpu: i64) -> &mut Lane {
        self.0.entry((node.to_owned(), gpu)).or_default()
    }

    /// Takes in what a record says.
    fn see(&mut self, record: &Record<'_>) {
        match record {
            Record::Phase(phase) => {
                let Some(node) = phase.node.as_deref() else { return };
                for &gpu in phase.gpus.iter().flatten() {
                    let lane = self.at(node, gpu.into());
                    if phase.role.as_deref() == Some("train") {
                        lane.roles.insert("train".to_owned());
                        lane.ranks.extend(phase.rank.filter(|rank| *rank >= 0));
                    }
                }
            }
            Record::Topology(topology) => {
                for engine in topology.engines() {
                    for (node, gpu) in &engine.gpus {
                        let lane = self.at(node, *gpu);
                        lane.roles.insert("rollout".to_owned());
                        lane.engine_addrs.insert(engine.addr.clone());
                    }
                }
            }
            Record::GpuUtil(reading) => self.sampled(reading.node.as_deref(), reading.gpu),
            Record::GpuProcess(process) => self.sampled(process.node.as_deref(), process.gpu),
            _ => {}
        }
    }

    fn sampled(&mut self, node: Option<&str>, gpu: Option<i64>) {
        if let Some((node, gpu)) = node.zip(gpu) {
            self.at(node, gpu);
        }
    }

    fn merge(&mut self, other: Self) {
        for ((node, gpu), found) in other.0 {
            let lane = self.at(&node, gpu);
            lane.ranks.extend(found.ranks);
            lane.engine_addrs.extend(found.engine_addrs);
            lane.roles.extend(found.roles);
        }
    }

    /// What an earlier document says, for when the streams cannot be read.
    fn from_document(document: LaneCatalog) -> Self {
        let mut lanes = Self::default();
        for (name, CatalogLane { ranks, engine_addrs, roles }) in document.lanes {
            // The GPU is behind the last colon: a node can be an IPv6 address.
            let Some((node, gpu)) = name.rsplit_once(':') else { continue };
            let Ok(gpu) = gpu.parse() else { continue };
            let lane = lanes.at(node, gpu);
            lane.ranks.extend(ranks);
            lane.engine_addrs.extend(engine_addrs);
            lane.roles.extend(roles);
        }
        lanes
    }

    /// The document, as Python's `json` writes it.
    fn document(&self) -> Vec<u8> {
        let mut out = b"{\"version\": 1, \"lanes\": {".to_vec();
        for (index, ((node, gpu), lane)) in self.0.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            push_text(&mut out, &format!("{node}:{gpu}"));
            out.extend_from_slice(b": {\"ranks\": [");
            list(&mut out, &lane.ranks, |out, rank| out.extend_from_slice(rank.to_string().as_bytes()));
            out.extend_from_slice(b"], \"engine_addrs\": [");
            list(&mut out, &lane.engine_addrs, |out, addr| push_text(out, addr));
            out.extend_from_slice(b"], \"roles\": [");
            list(&mut out, &lane.roles, |out, role| push_text(out, role));
            out.extend_from_slice(b"]}");
        }
        out.extend_from_slice(b"}}");
        out
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    // Writing text to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

fn list<T>(out: &mut Vec<u8>, items: &BTreeSet<T>, mut push: impl FnMut(&mut Vec<u8>, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        push(out, item);
    }
}

/// Finds lanes in lines as they lie on disk, and remembers which stretches of bytes it knows.
#[derive(Debug)]
pub(super) struct Finder {
    shapes: Vec<Shape>,
    scratch: String,
    known: HashSet<Box<[u8]>, foldhash::fast::RandomState>,
    lanes: Lanes,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self { shapes: shapes(), scratch: String::new(), known: HashSet::default(), lanes: Lanes::default() }
    }

    /// Looks at one line of `stream` without its newline. Lines that say what another said cost a look.
    pub(super) fn line(&mut self, stream: Stream, line: &[u8]) {
        let shape = self.shapes.iter().find(|shape| shape.stream == stream);
        let body = line.get(1..).unwrap_or_default();
        let lane = shape.and_then(|shape| body.get(shape.read(body)?.lane?));
        if lane.is_some_and(|lane| self.known.contains(lane)) {
            return;
        }
        if let Ok(Some(decoded)) = decode(stream, line, &mut self.scratch) {
            self.lanes.see(&decoded.record);
            if let Some(lane) = lane {
                self.known.insert(lane.into());
            }
        }
    }

    /// What was found since the last time: lanes, and the bytes that say so.
    pub(super) fn take(&mut self) -> (Lanes, Vec<Box<[u8]>>) {
        (std::mem::take(&mut self.lanes), self.known.drain().collect())
    }
}

/// What the streams under `dashboard` say. Damaged lines are skipped, as by every reader.
pub(super) fn scan(dashboard: &Path, finder: &mut Finder) -> Result<(), TelemetryError> {
    for stream in NAMING {
        for partition in partitions(dashboard, stream)? {
            let path = partition.path;
            let file = match std::fs::File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(TelemetryError::Open { path, source }),
            };
            let mut lines = Lines::new(file, 0);
            loop {
                let offset = lines.offset();
                let read = lines.next_line();
                let line =
                    read.map_err(|source| TelemetryError::Read { path: path.clone(), offset, source })?;
                let Some(line) = line else { break };
                finder.line(stream, line.bytes.unwrap_or_default());
            }
        }
    }
    Ok(())
}

/// The document and what belongs into it.
#[derive(Debug)]
pub(super) struct Catalog {
    path: PathBuf,
    lanes: Lanes,
    /// What the document holds.
    written: Option<Vec<u8>>,
    sync: bool,
}

impl Catalog {
    pub(super) fn new(dashboard: &Path, sync: bool) -> Self {
        let path = dashboard.join(NAME);
        for left in disk::leftovers(&path) {
            let _ = std::fs::remove_file(left);
        }
        let written = std::fs::read(&path).ok();
        Self { path, lanes: Lanes::default(), written, sync }
    }

    /// Takes in what was found.
    pub(super) fn merge(&mut self, lanes: Lanes) {
        self.lanes.merge(lanes);
    }

    /// Takes in what the document said when this began: better than nothing where streams cannot be read.
    pub(super) fn trust_document(&mut self) {
        if let Some(Ok(document)) = self.written.as_deref().map(serde_json::from_slice) {
            self.lanes.merge(Lanes::from_document(document));
        }
    }

    /// Writes the document if it is another now.
    pub(super) fn write(&mut self) -> Result<(), (PathBuf, io::Error)> {
        if self.written.is_none() && self.lanes.0.is_empty() {
            return Ok(());
        }
        let text = self.lanes.document();
        if self.written.as_ref() == Some(&text) {
            return Ok(());
        }
        disk::replace(&self.path, &text, self.sync).map_err(|error| (self.path.clone(), error))?;
        self.written = Some(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [(Stream, &str); 6] = [
        (Stream::GpuUtil, r#"{"ts":1,"node":"m","gpu":7,"util":1,"mem_mb":1,"power_w":1}"#),
        (Stream::GpuProcesses, r#"{"ts":1,"node":"m","gpu":10,"pid":1,"name":"x","mem_mb":null}"#),
        (Stream::Phases, r#"{"name":"a","t0":1,"t1":2,"node":"n\"","gpus":[1,0],"rank":4,"role":"train"}"#),
        (
            Stream::Phases,
            r#"{"name":"a","t0":1,"t1":2,"node":"d","gpus":[],"rank":-1,"role":"rollout_manager"}"#,
        ),
        (
            Stream::Topology,
            r#"{"ts":1,"engines":[{"addr":"http://n:1","worker_type":"regular","engine_rank":0,"gpus":[["n\"",1]],"gpu_uuids":[null]}]}"#,
        ),
        (Stream::GpuUtil, r#"{"ts":2,"node":"m","gpu":7,"util":1,"mem_mb":1,"power_w":1}"#),
    ];

    const DOCUMENT: &str = concat!(
        r#"{"version": 1, "lanes": {"m:7": {"ranks": [], "engine_addrs": [], "roles": []}, "#,
        r#""m:10": {"ranks": [], "engine_addrs": [], "roles": []}, "#,
        r#""n\":0": {"ranks": [4], "engine_addrs": [], "roles": ["train"]}, "#,
        r#""n\":1": {"ranks": [4], "engine_addrs": ["http://n:1"], "roles": ["rollout", "train"]}}}"#
    );

    #[test]
    fn the_document_says_what_the_lines_say() {
        let mut finder = Finder::new();
        LINES.iter().for_each(|(stream, line)| finder.line(*stream, line.as_bytes()));
        let (lanes, _) = finder.take();
        assert_eq!(String::from_utf8(lanes.document()).unwrap(), DOCUMENT);
        let document: LaneCatalog = serde_json::from_str(DOCUMENT).unwrap();
        assert_eq!(Lanes::from_document(document), lanes);
    }

    #[test]
    fn a_scan_of_files_finds_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for (stream, line) in LINES {
            let path = match stream {
                Stream::GpuUtil => folder.path().join("gpu_util/19700101_00.jsonl"),
                _ => folder.path().join(format!("{stream}.jsonl")),
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::write(&path, format!("{before}{line}\ntorn{{\n")).unwrap();
        }
        let mut finder = Finder::new();
        scan(folder.path(), &mut finder).unwrap();
        assert_eq!(String::from_utf8(finder.take().0.document()).unwrap(), DOCUMENT);
    }

    #[test]
    fn the_document_is_written_when_it_changes_and_not_otherwise() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut catalog = Catalog::new(folder.path(), false);
        catalog.write().unwrap();
        assert!(!path.exists());
        let mut finder = Finder::new();
        finder.line(LINES[0].0, LINES[0].1.as_bytes());
        catalog.merge(finder.take().0);
        catalog.write().unwrap();
        let first = std::fs::metadata(&path).unwrap().ino();
        catalog.write().unwrap();
        Catalog::new(folder.path(), false);
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), first);
        let mut again = Catalog::new(folder.path(), false);
        again.trust_document();
        assert_eq!(again.lanes, catalog.lanes);
    }
}
