//! Reads all GPUs at an even pace, and goes on whatever happens to one of them.
//!
//! One loop waits for the next moment or the next word of a GPU's thread, whichever is first. At a tick it
//! asks every GPU that has answered the last time; what has come back by the end of the tick goes out in one
//! piece. A GPU that owes an answer is left alone until it has given it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::cards::Cards;
use super::pipe::Pipe;
use super::schedule::{Backoff, Schedule};
use super::session::{self, Opening, Request, Session, Word};
use super::{GpuError, Source};

/// A call that takes longer may never come back. The slowest that do, waking a card that nobody holds open,
/// take two or three seconds.
pub(super) const HANGS_AFTER: Duration = Duration::from_secs(5);
/// A driver that takes longer to start is worth a word: eight cards that nobody holds open take ten seconds.
pub(super) const SLOW_START: Duration = Duration::from_secs(30);
/// A tick goes out no later than this, or half the interval: with what there is by then.
const TICK_LASTS: Duration = Duration::from_secs(1);
/// When told to end, answers on their way are waited for this long.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// When ending, the driver has this long to shut down.
const SHUT_DOWN: Duration = Duration::from_secs(1);
/// Without a count of ticks, GPUs that take longer to open join later.
const JOIN_LATER: Duration = Duration::from_secs(2);
/// When ending, what waits for stdout has this long to be read.
const DRAIN: Duration = Duration::from_secs(2);
/// From and to this long between attempts to start a driver that is gone.
const DRIVER_RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// The same for a GPU that is gone while others work: each attempt disturbs the others for a moment.
const GPU_RETRY: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];

/// What to read, how often, and how to call it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Time between two readings.
    pub interval: Duration,
    /// Time between two lists of processes; `None` for no lists.
    pub process_interval: Option<Duration>,
    /// Name of this host in records.
    pub node: String,
    /// Indices of the GPUs to read, in the driver's order; `None` for all.
    pub gpus: Option<Vec<u32>>,
    /// End after so many ticks.
    pub count: Option<u64>,
    /// Make records of `gpu_health` too.
    pub health: bool,
}

/// Something that the user may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Even if nobody asked.
    Warning(String),
    /// For those who asked for detail.
    Detail(String),
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Times that the GPUs were asked.
    pub ticks: u64,
    /// Times that they were not, because the one before took too long.
    pub skipped: u64,
    /// Ticks that stdout had no room for.
    pub dropped: u64,
    /// Answers of a GPU.
    pub readings: u64,
}

/// What [`Sampler::run`] leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Result<Ended, SampleError>,
    /// A call into the driver has not come back. Its thread can be within the library while the process ends,
    /// so nothing of the library should run then: end with `_exit`.
    pub busy: bool,
}

/// Why it cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// There is nothing to read.
    #[error("{0}")]
    NoDevice(GpuError),
    /// GPUs that were asked for are not there.
    #[error("there is no GPU {missing}: the driver has {}", count(*.gpus))]
    NoSuchGpu {
        /// The first that is missing.
        missing: u32,
        /// How many there are.
        gpus: u32,
    },
    /// All ticks are over and no GPU has answered.
    #[error("no GPU has answered: {0}")]
    NothingRead(String),
    /// The records cannot be written.
    #[error("stdout: {0}")]
    Output(#[source] io::Error),
    /// The system has no thread for us.
    #[error("no thread: {0}")]
    System(#[source] io::Error),
}

fn count(gpus: u32) -> String {
    match gpus {
        0 => "none".to_owned(),
        1 => "GPU 0 alone".to_owned(),
        gpus => format!("GPUs 0 to {}", gpus - 1),
    }
}

/// What the loop waits for.
pub(super) enum Event {
    Word(Word),
    Opened(Opening),
    Stop,
    OutputEnded(io::Error),
}

/// Ends a sampler from another thread.
#[derive(Debug, Clone)]
pub struct Control(Sender<Event>);

impl Control {
    /// Asks it to end.
    pub fn stop(&self) {
        // It may have ended already.
        let _ = self.0.send(Event::Stop);
    }
}

/// The state of the driver.
pub(super) enum State {
    /// Somebody opens it.
    Opening {
        since: Instant,
        told: bool,
    },
    Open(Session),
    /// It is gone; what is left of the session, and when to open it again.
    Gone {
        left: Option<Session>,
        until: Instant,
    },
}

/// Reads GPUs. See the module.
pub struct Sampler<'s> {
    pub(super) settings: Settings,
    pub(super) source: Arc<dyn Source>,
    pub(super) say: &'s mut dyn FnMut(Note),
    events: Receiver<Event>,
    pub(super) sender: Sender<Event>,
    pub(super) state: State,
    pub(super) sessions: u64,
    /// Whether the cards of this session were held against those that were known.
    pub(super) counted: bool,
    pub(super) cards: Cards,
    pub(super) driver_backoff: Backoff,
    pub(super) gpu_backoff: Backoff,
    /// When to look for GPUs that are gone.
    pub(super) look_again: Option<Instant>,
    /// Threads of sessions that are over are still in a call.
    pub(super) left_behind: bool,
    /// What the driver said when it failed, until it works again.
    pub(super) last_error: Option<String>,
    /// What went wrong last, for whoever finds nothing read.
    pub(super) last_trouble: Option<String>,
    /// `None` until the first GPUs are open, so that the first tick finds them.
    ticks: Option<Schedule>,
    processes: Option<Schedule>,
    /// Lines of this tick, and when they go out at the latest.
    pub(super) lines: Vec<u8>,
    flush_at: Option<Instant>,
    pub(super) ended: Ended,
}

impl<'s> Sampler<'s> {
    /// A sampler of the GPUs of `source`; `say` is told what happens.
    pub fn new(settings: Settings, source: Arc<dyn Source>, say: &'s mut dyn FnMut(Note)) -> Self {
        let (sender, events) = channel();
        let cards = Cards::new(settings.gpus.clone());
        let now = Instant::now();
        Self {
            settings,
            source,
            say,
            events,
            sender,
            state: State::Gone { left: None, until: now },
            sessions: 0,
            counted: false,
            cards,
            driver_backoff: Backoff::new(DRIVER_RETRY),
            gpu_backoff: Backoff::new(GPU_RETRY),
            look_again: None,
            left_behind: false,
            last_error: None,
            last_trouble: None,
            ticks: None,
            processes: None,
            lines: Vec::new(),
            flush_at: None,
            ended: Ended::default(),
        }
    }

    /// Ends [`Sampler::run`] from elsewhere.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(self.sender.clone())
    }

    /// Reads until the ticks are over, it is told to stop, or nobody reads `out` any more.
    pub fn run(mut self, out: impl Write + Send + 'static) -> Finished {
        let ended = self.run_to_end(out);
        let busy = match self.state {
            State::Opening { .. } => true,
            State::Gone { left: None, .. } => false,
            State::Gone { left: Some(session), .. } | State::Open(session) => {
                !session::end(session, SHUT_DOWN)
            }
        };
        Finished { ended, busy: busy || self.left_behind }
    }

    fn run_to_end(&mut self, out: impl Write + Send + 'static) -> Result<Ended, SampleError> {
        let tell = self.sender.clone();
        let ended = move |error| drop(tell.send(Event::OutputEnded(error)));
        let mut pipe = Pipe::new(out, ended).map_err(SampleError::System)?;
        loop {
            let now = Instant::now();
            if self.step(now, &mut pipe) {
                break;
            }
            match self.next_event(now) {
                Some(Event::Word(word)) => self.hear(word),
                Some(Event::Opened(opened)) => self.opened(opened)?,
                Some(Event::Stop) => return Ok(self.stopped(&mut pipe)),
                Some(Event::OutputEnded(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(self.ended(&pipe));
                }
                Some(Event::OutputEnded(error)) => return Err(SampleError::Output(error)),
                None => {}
            }
        }
        if self.ended.readings == 0 {
            let why = self.last_trouble.take();
            return Err(SampleError::NothingRead(
                why.unwrap_or_else(|| "the driver does not answer".to_owned()),
            ));
        }
        self.flush(Instant::now(), &mut pipe);
        self.drain(&mut pipe)?;
        Ok(self.ended(&pipe))
    }

    /// Does what is due. True when all ticks are over.
    fn step(&mut self, now: Instant, pipe: &mut Pipe) -> bool {
        self.watch(now);
        self.reopen(now);
        if self.ticks.is_none() && self.may_begin(now) {
            self.ticks = Some(Schedule::new(now, self.settings.interval));
            self.processes = self.settings.process_interval.map(|interval| Schedule::new(now, interval));
        }
        let over = self.settings.count.is_some_and(|count| self.ended.ticks >= count);
        if !over && self.ticks.as_ref().is_some_and(|ticks| ticks.is_due(now)) {
            self.tick(now);
        }
        if self.flush_at.is_some_and(|at| at <= now) || (!self.is_awaited() && !self.lines.is_empty()) {
            self.flush(now, pipe);
        }
        let over = self.settings.count.is_some_and(|count| self.ended.ticks >= count);
        over && !self.is_awaited()
    }

    /// Whether the first tick can come: all GPUs have opened or will not, or the driver takes too long.
    fn may_begin(&self, now: Instant) -> bool {
        match &self.state {
            State::Open(session) => {
                let late = self.settings.count.is_none() && now >= session.since + JOIN_LATER;
                !session.is_awaited() || late
            }
            State::Opening { since, .. } => now >= *since + SLOW_START,
            State::Gone { .. } => self.last_error.is_some(),
        }
    }

    fn is_awaited(&self) -> bool {
        matches!(&self.state, State::Open(session) if session.is_awaited())
    }

    /// Asks every GPU that is free.
    fn tick(&mut self, now: Instant) {
        let due = |schedule: &mut Schedule| schedule.is_due(now).then(|| schedule.advance(now)).is_some();
        let processes = self.processes.as_mut().is_some_and(due);
        self.ended.skipped += self.ticks.as_mut().map_or(0, |ticks| ticks.advance(now));
        self.ended.ticks += 1;
        self.flush_at = Some(now + TICK_LASTS.min(self.settings.interval / 2));
        // A clock before 1970 is no clock.
        let ts = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let request = Request { ts, health: self.settings.health, processes };
        if let State::Open(session) = &mut self.state {
            session.workers.iter_mut().filter(|worker| worker.is_free()).for_each(|w| w.ask(request, now));
        }
    }

    /// Sends out the lines of this tick.
    fn flush(&mut self, now: Instant, pipe: &mut Pipe) {
        self.flush_at = None;
        if self.lines.is_empty() {
            return;
        }
        let room = self.lines.len();
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(room));
        if let Some(text) = pipe.send(lines, now) {
            (self.say)(Note::Warning(text));
        }
    }

    /// Waits for the next event, until something is due.
    fn next_event(&self, now: Instant) -> Option<Event> {
        let Some(at) = self.next_due() else { return self.events.recv().ok() };
        self.events.recv_timeout(at.saturating_duration_since(now)).ok()
    }

    fn next_due(&self) -> Option<Instant> {
        let over = self.settings.count.is_some_and(|count| self.ended.ticks >= count);
        let tick = self.ticks.as_ref().filter(|_| !over).and_then(Schedule::next_at);
        let state = match &self.state {
            State::Opening { told: false, since } => Some(*since + SLOW_START),
            State::Opening { .. } => None,
            State::Gone { until, .. } => Some(*until),
            State::Open(session) => {
                let awaited = session.workers.iter().filter(|worker| worker.is_awaited());
                let hang = awaited.filter_map(|worker| worker.busy).min().map(|busy| busy + HANGS_AFTER);
                // A look for lost GPUs waits for answers on their way, which wake us themselves.
                let look = self.look_again.filter(|_| !session.is_awaited());
                let begin = (self.ticks.is_none() && self.settings.count.is_none())
                    .then_some(session.since + JOIN_LATER);
                [hang, look, begin].into_iter().flatten().min()
            }
        };
        [tick, state, self.flush_at].into_iter().flatten().min()
    }

    /// What has been read by now goes out, as far as somebody reads it.
    fn stopped(&mut self, pipe: &mut Pipe) -> Ended {
        let until = Instant::now() + LAST_WORDS;
        while self.is_awaited() {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Word(word)) => self.hear(word),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.flush(Instant::now(), pipe);
        // Whoever asked for the end wants no error about it.
        let _ = self.drain(pipe);
        self.ended(pipe)
    }

    fn drain(&mut self, pipe: &mut Pipe) -> Result<(), SampleError> {
        if pipe.close(DRAIN) {
            return Ok(());
        }
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::OutputEnded(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Event::OutputEnded(error) => return Err(SampleError::Output(error)),
                _ => {}
            }
        }
        (self.say)(Note::Warning("stdout is not read: the last ticks are lost".to_owned()));
        Ok(())
    }

    fn ended(&self, pipe: &Pipe) -> Ended {
        Ended { dropped: pipe.dropped, ..self.ended.clone() }
    }
}
