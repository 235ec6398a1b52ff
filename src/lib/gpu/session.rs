//! A driver in use: one thread a GPU, and how all of it is opened and let go.
//!
//! No thread here is ever waited for without an end. A thread that sits in a call which does not return is
//! left behind; it holds on to its driver, so nothing is pulled from under it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::sampler::Event;
use super::{Device, Driver, GpuError, Identity, Process, Reading, Source, Trouble};

/// How long threads of a session that is over may take to let go of the driver. Longer than a slow call.
const LET_GO: Duration = Duration::from_secs(2);

/// What a GPU is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// When the tick was, Unix seconds.
    pub(super) ts: f64,
    pub(super) health: bool,
    pub(super) processes: bool,
}

/// What a thread has to say.
#[derive(Debug)]
pub(super) struct Word {
    /// Of which session.
    pub(super) session: u64,
    /// Of which GPU of the session.
    pub(super) worker: usize,
    pub(super) what: What,
}

/// See [`Word`].
#[derive(Debug)]
pub(super) enum What {
    /// The GPU is open.
    Met(Identity),
    /// An answer.
    Read(Box<Answer>),
    /// The GPU cannot be opened or read; the thread is gone.
    Failed(GpuError),
}

/// A GPU's answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ts: f64,
    pub(super) reading: Reading,
    /// `None` when they were not asked for.
    pub(super) processes: Option<Result<Vec<Process>, GpuError>>,
}

/// A driver that was opened.
pub(super) struct Opened {
    pub(super) driver: Arc<dyn Driver>,
    /// How many GPUs it has.
    pub(super) gpus: u32,
}

/// How opening went.
pub(super) struct Opening {
    pub(super) opened: Result<Opened, GpuError>,
    /// A thread of the session before is still in a call.
    pub(super) left_behind: bool,
}

/// One GPU and its thread.
pub(super) struct Worker {
    /// Index in the driver's order.
    pub(super) gpu: u32,
    pub(super) identity: Option<Identity>,
    /// Which of the [`Cards`](super::cards::Cards) it is.
    pub(super) card: Option<usize>,
    /// Since when it has owed an answer.
    pub(super) busy: Option<Instant>,
    /// It has owed one for so long that it was told.
    pub(super) hangs: bool,
    /// `None` once nothing more is wanted of it.
    requests: Option<Sender<Request>>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Whether it can be asked.
    pub(super) fn is_free(&self) -> bool {
        self.busy.is_none() && self.identity.is_some() && self.requests.is_some()
    }

    /// Whether anything is still wanted of it.
    pub(super) fn is_wanted(&self) -> bool {
        self.requests.is_some()
    }

    /// Whether there is an answer worth waiting for.
    pub(super) fn is_awaited(&self) -> bool {
        self.busy.is_some() && !self.hangs
    }

    /// Asks it.
    pub(super) fn ask(&mut self, request: Request, now: Instant) {
        if let Some(requests) = &self.requests
            && requests.send(request).is_ok()
        {
            self.busy = Some(now);
        }
    }

    /// Wants nothing more of it.
    pub(super) fn dismiss(&mut self) {
        (self.requests, self.busy, self.hangs) = (None, None, false);
    }
}

/// A driver in use.
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) workers: Vec<Worker>,
    pub(super) since: Instant,
    driver: Arc<dyn Driver>,
}

impl Session {
    /// Starts a thread for each of `gpus`. A system without room for a thread loses that GPU.
    pub(super) fn start(
        number: u64,
        driver: Arc<dyn Driver>,
        gpus: impl IntoIterator<Item = u32>,
        events: &Sender<Event>,
    ) -> Self {
        let mut workers: Vec<Worker> = Vec::new();
        for gpu in gpus {
            let (requests, inbox) = channel();
            let tell = Teller { session: number, worker: workers.len(), events: events.clone() };
            let driver = driver.clone();
            let spawned = thread::Builder::new()
                .name(format!("gpu {gpu}"))
                .spawn(move || work(driver, gpu, inbox, &tell));
            if let Ok(thread) = spawned {
                let busy = Some(Instant::now());
                let requests = Some(requests);
                workers.push(Worker {
                    gpu,
                    identity: None,
                    card: None,
                    busy,
                    hangs: false,
                    requests,
                    thread,
                });
            }
        }
        Self { number, workers, since: Instant::now(), driver }
    }

    /// Whether an answer is worth waiting for.
    pub(super) fn is_awaited(&self) -> bool {
        self.workers.iter().any(Worker::is_awaited)
    }

    /// Whether a call has not come back for so long that it may never.
    pub(super) fn hangs(&self) -> bool {
        self.workers.iter().any(|worker| worker.hangs)
    }
}

/// A thread's way of telling.
struct Teller {
    session: u64,
    worker: usize,
    events: Sender<Event>,
}

impl Teller {
    /// Whoever listens may be gone.
    fn tell(&self, what: What) {
        let _ = self.events.send(Event::Word(Word { session: self.session, worker: self.worker, what }));
    }
}

/// The life of a GPU's thread: until nobody asks any more, or the GPU is gone.
fn work(driver: Arc<dyn Driver>, gpu: u32, inbox: Receiver<Request>, tell: &Teller) {
    let served = driver.serve(gpu, &mut |device| {
        if let Err(error) = answer_all(device, &inbox, tell) {
            tell.tell(What::Failed(error));
        }
    });
    if let Err(error) = served {
        tell.tell(What::Failed(error));
    }
}

fn answer_all(device: &mut dyn Device, inbox: &Receiver<Request>, tell: &Teller) -> Result<(), GpuError> {
    tell.tell(What::Met(device.identity()?));
    for request in inbox {
        let reading = device.read(request.health)?;
        let processes = request.processes.then(|| device.processes());
        if let Some(Err(error)) = &processes
            && matches!(error.trouble, Trouble::Driver | Trouble::Gone)
        {
            return Err(error.clone());
        }
        tell.tell(What::Read(Box::new(Answer { ts: request.ts, reading, processes })));
    }
    Ok(())
}

/// Opens a driver on a thread of its own, since that can hang as well. A session that is over is let go first,
/// as far as its threads can: a driver that is still in use would only be counted once more, not started anew.
pub(super) fn open(source: Arc<dyn Source>, fresh: bool, before: Option<Session>, events: Sender<Event>) {
    let done = events.clone();
    let opening = move || {
        let left_behind = before.is_some_and(|session| !let_go(session));
        let opened = source.open(fresh).and_then(|driver| {
            let gpus = driver.count()?;
            Ok(Opened { driver, gpus })
        });
        let _ = done.send(Event::Opened(Opening { opened, left_behind }));
    };
    if let Err(error) = thread::Builder::new().name("open".into()).spawn(opening) {
        // Tried again later, as after any failure.
        let error = GpuError { trouble: Trouble::Other, message: error.to_string() };
        let _ = events.send(Event::Opened(Opening { opened: Err(error), left_behind: true }));
    }
}

/// Lets a session go before the process ends, so that no thread is within the library by then. False when that
/// takes longer than `patience`.
pub(super) fn end(session: Session, patience: Duration) -> bool {
    if session.workers.iter().any(|worker| worker.busy.is_some()) {
        return false;
    }
    let (tell, done) = channel();
    let ending = move || {
        let _ = tell.send(let_go(session));
    };
    thread::Builder::new().name("end".into()).spawn(ending).is_ok() && done.recv_timeout(patience) == Ok(true)
}

/// False when a thread of it is still in a call.
fn let_go(session: Session) -> bool {
    let Session { workers, driver, .. } = session;
    // With the worker goes its way of being asked, which ends the thread.
    let threads: Vec<JoinHandle<()>> = workers.into_iter().map(|worker| worker.thread).collect();
    let until = Instant::now() + LET_GO;
    while Instant::now() < until && threads.iter().any(|thread| !thread.is_finished()) {
        thread::sleep(Duration::from_millis(5));
    }
    drop(driver);
    threads.iter().all(JoinHandle::is_finished)
}
