//! Everything that is known of a run's telemetry, shared by all who ask.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::column::{EngineBlock, GpuBlock, PhaseBlock, ProcessBlock, TrajectoryBlock};
use super::documents::Document;
use super::flat::{Flat, MetricsLog, Snapshot};
use super::hourly::Hourly;
use super::names::EngineNames;
use super::phases::{Matching, Phases};
use super::shelf::Shelf;
use super::{DamagedFile, LaneCatalog, Meta, TelemetryError, Window};
use crate::record::Stream;

/// How a [`Store`] is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Bytes of columns above which the hours that were used longest ago are forgotten. One query can
    /// hold more while it runs.
    pub memory: usize,
    /// Folder in which the columns of hours that are over may be kept; `None` writes nothing. What cannot
    /// be written there is not kept, without a word.
    pub cache: Option<PathBuf>,
}

impl Default for StoreOptions {
    /// 320 MiB: four hours of 1,024 GPUs at one reading a second are 300 MB.
    fn default() -> Self {
        Self { memory: 320 << 20, cache: None }
    }
}

/// Files that a question about a whole run takes at a time: of 1,024 GPUs each is 75 MB of columns.
const FILES_AT_ONCE: usize = 2;

/// The telemetry of one run.
///
/// Nothing is read before it is asked for. What was read is kept and stays as it is until
/// [`Store::refresh`] looks at the files again. Methods block, on files and on each other; call them
/// from ordinary threads, not from inside a rayon loop.
#[derive(Debug)]
pub struct Store {
    dashboard: PathBuf,
    options: StoreOptions,
    meta: Document<Meta>,
    catalog: Document<LaneCatalog>,
    gpu: Hourly<GpuBlock>,
    engines: Hourly<EngineBlock>,
    processes: Hourly<ProcessBlock>,
    trajectories: Hourly<TrajectoryBlock>,
    phases: Hourly<PhaseBlock>,
    matching: Mutex<Matching>,
    metrics: Flat<MetricsLog>,
    topology: Flat<Vec<Snapshot>>,
    data_buffer: Flat<Vec<(f64, i64)>>,
    /// Queries so far: the order in which hours were used.
    queries: AtomicU64,
    /// Answers that hold for a state of the files.
    engine_names_of_files: Mutex<EngineNames>,
    time_range: Remembered<u64, Option<(f64, f64)>>,
    engine_names: Remembered<(u64, usize), Arc<BTreeSet<String>>>,
    derived: Mutex<HashMap<TypeId, Derived>>,
}

type Remembered<S, T> = Mutex<Option<Known<S, T>>>;
type Derived = Known<Vec<u64>, Arc<dyn Any + Send + Sync>>;

/// An answer and the state of the files that it holds for.
#[derive(Debug)]
struct Known<S, T> {
    state: S,
    answer: T,
}

/// What [`Store::refresh`] found changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Streams with other records than before.
    pub streams: Vec<Stream>,
    /// Whether `meta.json` or `lane_catalog.json` is another.
    pub documents: bool,
}

impl Changes {
    /// Whether everything is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty() && !self.documents
    }
}

impl Store {
    /// The telemetry under `dashboard`, which need not be there.
    #[must_use]
    pub fn open(dashboard: &Path, options: StoreOptions) -> Self {
        let shelf = options.cache.as_deref().and_then(Shelf::new);
        let shelf = shelf.as_ref();
        Self {
            meta: Document::new(dashboard.join("meta.json")),
            catalog: Document::new(dashboard.join("lane_catalog.json")),
            gpu: Hourly::new(dashboard, shelf),
            engines: Hourly::new(dashboard, shelf),
            processes: Hourly::new(dashboard, shelf),
            trajectories: Hourly::new(dashboard, shelf),
            phases: Hourly::new(dashboard, shelf),
            matching: Mutex::default(),
            metrics: Flat::new(dashboard),
            topology: Flat::new(dashboard),
            data_buffer: Flat::new(dashboard),
            queries: AtomicU64::new(1),
            engine_names_of_files: Mutex::default(),
            time_range: Mutex::default(),
            engine_names: Mutex::default(),
            derived: Mutex::default(),
            dashboard: dashboard.to_owned(),
            options,
        }
    }

    /// The folder of the streams.
    #[must_use]
    pub fn dashboard(&self) -> &Path {
        &self.dashboard
    }

    /// Looks at all files and reads what was appended to those in memory. A file that was cut,
    /// replaced or removed is forgotten and read again when asked for.
    ///
    /// # Errors
    /// [`TelemetryError::Open`] when a folder is there and cannot be listed.
    pub fn refresh(&self) -> Result<Changes, TelemetryError> {
        let mut streams = Vec::new();
        let mut see = |stream, changed: bool| streams.extend(changed.then_some(stream));
        see(Stream::Metrics, self.metrics.refresh());
        see(Stream::Topology, self.topology.refresh());
        see(Stream::DataBuffer, self.data_buffer.refresh());
        see(Stream::Phases, self.phases.refresh()?);
        see(Stream::GpuUtil, self.gpu.refresh()?);
        see(Stream::GpuProcesses, self.processes.refresh()?);
        see(Stream::EngineSeries, self.engines.refresh()?);
        see(Stream::Trajectories, self.trajectories.refresh()?);
        let meta = self.meta.refresh();
        let documents = self.catalog.refresh() || meta;
        Ok(Changes { streams, documents })
    }

    /// Grows with every change of the stream that [`Store::refresh`] noticed. Always 0 for
    /// [`Stream::GpuHealth`], which the store does not hold.
    #[must_use]
    pub fn version(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Metrics => self.metrics.version(),
            Stream::Topology => self.topology.version(),
            Stream::DataBuffer => self.data_buffer.version(),
            Stream::Phases => self.phases.version(),
            Stream::GpuUtil => self.gpu.version(),
            Stream::GpuProcesses => self.processes.version(),
            Stream::EngineSeries => self.engines.version(),
            Stream::Trajectories => self.trajectories.version(),
            Stream::GpuHealth => 0,
        }
    }

    /// Grows with every change of `meta.json` or `lane_catalog.json` that [`Store::refresh`] noticed.
    #[must_use]
    pub fn documents_version(&self) -> u64 {
        self.meta.version() + self.catalog.version()
    }

    /// `meta.json`; an empty one when there is none or it is damaged.
    #[must_use]
    pub fn meta(&self) -> Arc<Meta> {
        self.meta.value().unwrap_or_default()
    }

    /// `lane_catalog.json`; `None` when there is none or it is damaged.
    #[must_use]
    pub fn catalog(&self) -> Option<Arc<LaneCatalog>> {
        self.catalog.value()
    }

    /// Blocks of `gpu_util` that may hold readings of the window, in the order of the files.
    ///
    /// # Errors
    /// [`TelemetryError::Open`] when the stream's folder cannot be listed.
    pub fn gpu(&self, window: &Window) -> Result<Vec<Arc<GpuBlock>>, TelemetryError> {
        self.read(|now| self.gpu.blocks(window, now))
    }

    /// Hands the blocks of [`Store::gpu`] to `visit` some files at a time, so that a question about a whole
    /// run does not need all of it in memory.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn gpu_by_file(
        &self,
        window: &Window,
        mut visit: impl FnMut(&[Arc<GpuBlock>]),
    ) -> Result<(), TelemetryError> {
        // Some files at a time: threads would wait at the end of each.
        for files in self.gpu.hours(window)?.chunks(FILES_AT_ONCE) {
            visit(&self.read(|now| self.gpu.of_files(files, now))?);
        }
        Ok(())
    }

    /// Blocks of `engine_series` that may hold values of the window, in the order of the files.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn engines(&self, window: &Window) -> Result<Vec<Arc<EngineBlock>>, TelemetryError> {
        self.read(|now| self.engines.blocks(window, now))
    }

    /// Blocks of `gpu_processes` that may hold records of the window, in the order of the files.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn processes(&self, window: &Window) -> Result<Vec<Arc<ProcessBlock>>, TelemetryError> {
        self.read(|now| self.processes.blocks(window, now))
    }

    /// Blocks of `trajectories` that may hold events of the window, in the order of the files.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn trajectories(&self, window: &Window) -> Result<Vec<Arc<TrajectoryBlock>>, TelemetryError> {
        self.read(|now| self.trajectories.blocks(window, now))
    }

    /// The phases that may overlap the window and all open markers. Reads the whole stream once, since
    /// any file can hold the end of a phase; its blocks are not forgotten.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn phases(&self, window: &Window) -> Result<Phases, TelemetryError> {
        let blocks = self.phases.blocks(&Window::ALL, u64::MAX)?;
        let mut matching = self.matching.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(matching.phases(blocks, *window))
    }

    /// Every logging call.
    #[must_use]
    pub fn metrics(&self) -> Arc<MetricsLog> {
        self.metrics.records()
    }

    /// Snapshots of the engines in the order of the file.
    #[must_use]
    pub fn topology(&self) -> Arc<Vec<Snapshot>> {
        self.topology.records()
    }

    /// Time (Unix seconds) and length of the data buffer in the order of the file.
    #[must_use]
    pub fn data_buffer(&self) -> Arc<Vec<(f64, i64)>> {
        self.data_buffer.records()
    }

    /// Oldest and newest time of the data, Unix seconds: of flat streams all records, of each hourly
    /// stream the first records of its oldest file and the last of its newest. An open phase counts
    /// with its start. `None` without any record.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn time_range(&self) -> Result<Option<(f64, f64)>, TelemetryError> {
        let version = Stream::ALL.iter().map(|stream| self.version(*stream)).sum();
        let mut known = self.time_range.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.state == version) {
            return Ok(known.answer);
        }
        // The files of each stream are opened and decoded at both ends, which is most of a server's start. Threads
        // of their own, because a stream's lock must not be held by one that may take up other work.
        let (some, others) = thread::scope(|scope| {
            let others = scope.spawn(|| -> Result<_, TelemetryError> {
                Ok([self.engines.span()?, self.trajectories.span()?])
            });
            let some = || -> Result<_, TelemetryError> {
                Ok([
                    self.metrics.span(),
                    self.topology.span(),
                    self.data_buffer.span(),
                    self.phases.span()?,
                    self.gpu.span()?,
                    self.processes.span()?,
                ])
            };
            let some = some();
            (some, others.join())
        });
        let others = others.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let spans = some?.into_iter().chain(others);
        let range = spans.flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        *known = Some(Known { state: version, answer: range });
        Ok(range)
    }

    /// Names of the engines' metrics: those at the beginning and the end of every file, and of all that
    /// is in memory. A scrape holds every metric, so that one which is only elsewhere is unheard of.
    ///
    /// # Errors
    /// As [`Store::gpu`].
    pub fn engine_metric_names(&self) -> Result<Arc<BTreeSet<String>>, TelemetryError> {
        let version = (self.engines.version(), self.engines.bytes());
        let mut known = self.engine_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.state == version) {
            return Ok(Arc::clone(&known.answer));
        }
        let files = self.engines.files()?;
        let mut names = self.engine_names_of_files.lock().unwrap_or_else(PoisonError::into_inner).of(&files);
        for block in &self.engines.loaded() {
            for series in block.series() {
                if !names.contains(series.metric) {
                    names.insert(series.metric.to_owned());
                }
            }
        }
        let names = Arc::new(names);
        *known = Some(Known { state: version, answer: Arc::clone(&names) });
        Ok(names)
    }

    /// What `make` makes of `streams`, made once for each state of them. Each type is one thing that is
    /// kept, and `make` must not ask for another.
    ///
    /// # Errors
    /// What `make` answers; then nothing is kept.
    pub fn derived<T: Any + Send + Sync>(
        &self,
        streams: &[Stream],
        make: impl FnOnce() -> Result<T, TelemetryError>,
    ) -> Result<Arc<T>, TelemetryError> {
        // Versions first: what is appended meanwhile is then seen by the next call.
        let state: Vec<u64> = streams.iter().map(|stream| self.version(*stream)).collect();
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        let known = derived.get(&TypeId::of::<T>()).filter(|known| known.state == state);
        if let Some(Ok(answer)) = known.map(|known| Arc::clone(&known.answer).downcast()) {
            return Ok(answer);
        }
        let answer = Arc::new(make()?);
        derived.insert(TypeId::of::<T>(), Known { state, answer: Arc::clone(&answer) as _ });
        Ok(answer)
    }

    /// Files of which something could not be read, as far as they were read.
    #[must_use]
    pub fn damage(&self) -> Vec<DamagedFile> {
        let mut out = Vec::new();
        self.meta.damage(&mut out);
        self.catalog.damage(&mut out);
        self.metrics.damage(&mut out);
        self.topology.damage(&mut out);
        self.data_buffer.damage(&mut out);
        self.phases.damage(&mut out);
        self.gpu.damage(&mut out);
        self.processes.damage(&mut out);
        self.engines.damage(&mut out);
        self.trajectories.damage(&mut out);
        out
    }

    fn read<T>(&self, read: impl FnOnce(u64) -> Result<T, TelemetryError>) -> Result<T, TelemetryError> {
        let now = self.queries.fetch_add(1, Ordering::Relaxed);
        let answer = read(now);
        self.forget(now);
        answer
    }

    /// Forgets the hours that were used longest ago until the rest fits, but none that the query of
    /// `now` uses.
    fn forget(&self, now: u64) {
        let held = || {
            self.gpu.bytes()
                + self.engines.bytes()
                + self.processes.bytes()
                + self.trajectories.bytes()
                + self.phases.bytes()
        };
        while held() > self.options.memory {
            let oldest = [
                self.gpu.oldest_use(now),
                self.engines.oldest_use(now),
                self.processes.oldest_use(now),
                self.trajectories.oldest_use(now),
            ];
            let Some(oldest) = oldest.into_iter().flatten().min() else { return };
            self.gpu.drop_used(oldest);
            self.engines.drop_used(oldest);
            self.processes.drop_used(oldest);
            self.trajectories.drop_used(oldest);
        }
    }
}
