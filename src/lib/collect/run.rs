//! A collector from its settings to its end.

use std::collections::HashMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::buffer::{Buffer, STREAMS, Tally};
use super::catalog::{Catalog, Finder, scan};
use super::disk::Files;
use super::ingest::{Counters, Ingest};
use super::latest::Latest;
use super::listen::{Address, Listener};
use super::lock::{BEAT, Lock, LockError};
use super::meta::{Known, Meta, Written};
use super::notice::Notice;
use super::prometheus::{Shown, page};
use super::sources::Sources;
use super::writer::Writer;
use super::{Tell, http, now};

/// What a collector is to do.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of the telemetry in the run directory; made if it is not there.
    pub dashboard: PathBuf,
    /// Where producers connect.
    pub listen: Vec<Address>,
    /// Whether stdin is read.
    pub stdin: bool,
    /// Longest time that a record waits while the disk works.
    pub flush_interval: Duration,
    /// Records of one stream that wait at most.
    pub max_buffered: usize,
    /// Whether a flush waits until the disk itself has it.
    pub fsync: bool,
    /// Name of the run, if one is given.
    pub run_name: Option<String>,
    /// What it is called if nobody says it.
    pub folder_name: String,
    /// Settings of the run that are given.
    pub args: Vec<(String, Written)>,
    /// Whether every bad line is told (up to some hundreds a second), not the first few of many.
    pub each_bad_line: bool,
    /// `HOST:PORT` of the latest values.
    pub metrics_listen: Option<String>,
}

/// Why a collector cannot begin, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A folder cannot be made.
    #[error("{}: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another collector has the run.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// An address cannot be listened on.
    #[error("{address}: {source}")]
    Listen {
        /// Which.
        address: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system gives no thread, pipe or answer.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// The thread that writes is gone, which is a bug of ours.
    #[error("the writer fell over")]
    Writer,
}

/// Ends a collector: from another thread, or from a signal handler, which may write a byte to
/// [`Stop::descriptor`].
#[derive(Debug, Clone)]
pub struct Stop {
    reader: Arc<PipeReader>,
    writer: Arc<PipeWriter>,
}

impl Stop {
    /// Nothing ends yet.
    ///
    /// # Errors
    /// The system gives no pipe.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { reader: Arc::new(reader), writer: Arc::new(writer) })
    }

    /// A byte written here ends the collector.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.writer.as_raw_fd()
    }

    /// Ends the collector.
    pub fn stop(&self) {
        let _ = (&*self.writer).write(b"x");
    }
}

/// What a collector did.
#[derive(Debug)]
pub struct Summary {
    /// By stream, in the order of [`Stream::ALL`](crate::record::Stream::ALL). What still waits is lost.
    pub tallies: [Tally; STREAMS],
    /// Lines that were no records.
    pub bad_lines: u64,
    /// Records of which a part was left out.
    pub left_out: u64,
    /// What the last flush could not write, and why.
    pub failures: Vec<String>,
    /// Who took the run over, if somebody did.
    pub replaced: Option<LockError>,
}

/// A collector that has its run and its addresses.
pub struct Collector {
    settings: Settings,
    lock: Lock,
    listeners: Vec<Listener>,
    metrics: Option<TcpListener>,
    tell: Tell,
}

impl Collector {
    /// Takes the run and binds the addresses. Nothing is read or written yet.
    ///
    /// # Errors
    /// The run is another's, or something cannot be made or bound.
    pub fn start(settings: Settings, tell: Tell) -> Result<Self, CollectError> {
        let path = &settings.dashboard;
        fs::create_dir_all(path).map_err(|source| CollectError::Folder { path: path.clone(), source })?;
        // A file beyond the limit on its size is then an error of a write, not the end of the process.
        // SAFETY: plain numbers; nothing else handles this signal.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        raise_descriptors();
        let lock = Lock::take(path)?;
        match Self::bind(&settings, &tell) {
            Ok((listeners, metrics)) => {
                if !lock.after_order {
                    tell(Notice::Resumed);
                }
                Ok(Self { settings, lock, listeners, metrics, tell })
            }
            Err(error) => {
                lock.give_back();
                Err(error)
            }
        }
    }

    /// Binds the addresses, the lock held: whoever asks for those of a run that is collected already is to
    /// hear that, not that its socket is taken.
    fn bind(settings: &Settings, tell: &Tell) -> Result<(Vec<Listener>, Option<TcpListener>), CollectError> {
        let mut listeners = Vec::new();
        for address in &settings.listen {
            let failed = |source| CollectError::Listen { address: address.to_string(), source };
            let listener = Listener::bind(address).map_err(failed)?;
            tell(Notice::Listening(listener.address().to_string()));
            listeners.push(listener);
        }
        let metrics = match &settings.metrics_listen {
            Some(address) => {
                let failed = |source| CollectError::Listen { address: address.clone(), source };
                let listener = TcpListener::bind(address.as_str()).map_err(failed)?;
                let at = listener.local_addr().map_err(failed)?;
                tell(Notice::MetricsAt(format!("http://{at}/metrics")));
                Some(listener)
            }
            None => None,
        };
        Ok((listeners, metrics))
    }

    /// Collects until `stop` says so or, without addresses, until stdin ends. Flushes at the end.
    ///
    /// # Errors
    /// The system refuses what a collector cannot do without.
    pub fn run(self, stop: &Stop) -> Result<Summary, CollectError> {
        let Self { settings, lock, listeners, metrics, tell } = self;
        let buffer = Arc::new(Buffer::new(settings.max_buffered));
        let counters = Arc::new(Counters::default());
        let latest = metrics.is_some().then(|| Arc::new(Mutex::new(Latest::new())));
        if let Some((listener, latest)) = metrics.zip(latest.clone()) {
            let (buffer, counters) = (Arc::clone(&buffer), Arc::clone(&counters));
            let serving = http::serve(listener, move || {
                let values = latest.lock().unwrap_or_else(PoisonError::into_inner).values();
                let (tallies, memory) = (buffer.tallies(), buffer.memory());
                page(&Shown { values: &values, tallies, counters: &counters, memory })
            });
            if let Err(source) = serving {
                lock.give_back();
                return Err(CollectError::System { what: "no thread for the metrics", source });
            }
        }
        let writer = match open_writer(&settings, &buffer, &counters, &tell) {
            Ok(writer) => writer,
            Err(error) => {
                lock.give_back();
                return Err(error);
            }
        };
        let heart = Heart::start(lock, Arc::clone(&buffer), stop.clone())?;
        let writing = spawn("writer", move || writer.run())?;
        let (each, told) = (settings.each_bad_line, Arc::clone(&tell));
        let mut ingest = Ingest::new(Arc::clone(&buffer), latest, Arc::clone(&counters), told, each);
        let mut sources = Sources::new(listeners, settings.stdin, Arc::clone(&counters), tell);
        let read = sources.run(&mut ingest, stop.reader.as_raw_fd(), || writing.is_finished());
        drop(sources);
        buffer.stop();
        let failures = writing.join().map_err(|_| CollectError::Writer)?.failures;
        ingest.speak();
        let replaced = heart.end();
        read.map_err(|source| CollectError::System { what: "producers cannot be waited for", source })?;
        let load =
            |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
        Ok(Summary {
            tallies: buffer.tallies(),
            bad_lines: load(&counters.bad_lines),
            left_out: load(&counters.left_out),
            failures,
            replaced,
        })
    }
}

fn open_writer(
    settings: &Settings,
    buffer: &Arc<Buffer>,
    counters: &Arc<Counters>,
    tell: &Tell,
) -> Result<Writer, CollectError> {
    let (dashboard, sync) = (settings.dashboard.clone(), settings.fsync);
    let known = Known {
        run_name: settings.run_name.clone(),
        folder_name: settings.folder_name.clone(),
        args: settings.args.clone(),
        now: now(),
    };
    let (meta, wrong) = Meta::open(&dashboard, known, sync);
    if let Some(wrong) = wrong {
        let what = format!("{}: {wrong}", dashboard.join("meta.json").display());
        tell(Notice::Unusable { what, instead: "it is written anew" });
    }
    let (send, scanned) = mpsc::channel();
    let folder = dashboard.clone();
    spawn("scan", move || {
        let mut finder = Finder::new();
        let lanes = scan(&folder, &mut finder).map(|()| finder.take());
        // Nobody waits any more when the collector has ended.
        let _ = send.send(lanes);
    })?;
    Ok(Writer {
        buffer: Arc::clone(buffer),
        counters: Arc::clone(counters),
        disk: Box::new(Files { sync }),
        catalog: Catalog::new(&dashboard, sync),
        dashboard,
        interval: settings.flush_interval,
        sync,
        meta,
        scanned: Some(scanned),
        finder: Finder::new(),
        tails: HashMap::new(),
        tell: Arc::clone(tell),
    })
}

/// Touches the lock until the end.
struct Heart {
    end: mpsc::Sender<()>,
    thread: thread::JoinHandle<Result<Lock, LockError>>,
}

impl Heart {
    fn start(mut lock: Lock, buffer: Arc<Buffer>, stop: Stop) -> Result<Self, CollectError> {
        let (end, ended) = mpsc::channel();
        let thread = spawn("lock", move || {
            while matches!(ended.recv_timeout(BEAT), Err(RecvTimeoutError::Timeout)) {
                if let Err(error @ LockError::Held { .. }) = lock.beat() {
                    buffer.abandon();
                    stop.stop();
                    return Err(error);
                }
            }
            Ok(lock)
        })?;
        Ok(Self { end, thread })
    }

    /// Lets the lock go; answers who took it before, if somebody did.
    fn end(self) -> Option<LockError> {
        drop(self.end);
        match self.thread.join() {
            Ok(Ok(lock)) => {
                lock.release();
                None
            }
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        }
    }
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, CollectError> {
    let spawned = thread::Builder::new().name(name.into()).spawn(run);
    spawned.map_err(|source| CollectError::System { what: "no thread", source })
}

/// Lets as many producers connect as the system allows.
fn raise_descriptors() {
    // SAFETY: the struct is ours; when a call fails, the limit stays as it is.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
