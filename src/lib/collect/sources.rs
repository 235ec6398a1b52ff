//! All producers on one thread: waits for whoever has something, reads a block of it, hands it on.
//!
//! Nothing here waits for the disk, but for stdin when that is the only producer: a file or a pipe is read
//! no faster than a working disk takes it.

use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Tell;
use super::ingest::{Counters, Ingest};
use super::listen::{Connection, Listener};
use super::notice::{Limiter, Notice};
use super::split::Splitter;

/// Bytes asked of the system at a time.
const BLOCK: usize = 256 * 1024;

/// Between looks at what only time changes.
const TICK: Duration = Duration::from_millis(500);

/// How long records are read on that had been sent when the end came.
const DRAIN: Duration = Duration::from_secs(1);

/// How long nobody is let in when the system has no descriptors left.
const PAUSE: Duration = Duration::from_millis(500);

/// Someone who sends records.
struct Producer {
    from: From,
    name: String,
    splitter: Splitter,
}

enum From {
    /// Not closed: it is not ours.
    Stdin(ManuallyDrop<File>),
    Socket(Connection),
}

/// What a read came to.
#[derive(PartialEq, Eq)]
enum After {
    More,
    Empty,
    Ended,
}

/// The producers, and where they come from.
pub(super) struct Sources {
    listeners: Vec<Listener>,
    producers: Vec<Producer>,
    counters: Arc<Counters>,
    tell: Tell,
    block: Vec<u8>,
    /// When producers are let in again.
    closed_until: Option<Instant>,
    refusals: Limiter,
    /// Producers that came so far.
    came: u64,
}

impl Sources {
    pub(super) fn new(listeners: Vec<Listener>, stdin: bool, counters: Arc<Counters>, tell: Tell) -> Self {
        let mut producers = Vec::new();
        if stdin {
            // SAFETY: the descriptor is open as long as the process (the runtime sees to that), and never
            // closed by us.
            let file = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDIN_FILENO) });
            let name = "stdin".to_owned();
            producers.push(Producer { from: From::Stdin(file), name, splitter: Splitter::default() });
        }
        let block = vec![0; BLOCK];
        let refusals = Limiter::new();
        Self { listeners, producers, counters, tell, block, closed_until: None, refusals, came: 0 }
    }

    /// Reads until `stop` is readable, `ended` says so, or nobody can send any more.
    pub(super) fn run(
        &mut self,
        ingest: &mut Ingest,
        stop: RawFd,
        ended: impl Fn() -> bool,
    ) -> io::Result<()> {
        let mut spoke = Instant::now();
        while !self.is_over() && !ended() {
            let open = self.closed_until.is_none_or(|until| Instant::now() >= until);
            let (ready, stopped) = self.wait(stop, open)?;
            if stopped {
                self.drain(ingest);
                break;
            }
            self.serve(ingest, &ready, open);
            if spoke.elapsed() >= TICK {
                spoke = Instant::now();
                ingest.speak();
            }
        }
        for mut producer in self.producers.drain(..) {
            ingest.end(&producer.name, &mut producer.splitter);
        }
        self.counters.producers.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Whether nobody can send any more.
    fn is_over(&self) -> bool {
        self.producers.is_empty() && self.listeners.is_empty()
    }

    /// Waits until something can be read. Answers which listeners, then which producers can; and whether
    /// all is to end.
    fn wait(&self, stop: RawFd, open: bool) -> io::Result<(Vec<bool>, bool)> {
        let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut watched = vec![watch(stop)];
        // A negative descriptor is passed over.
        watched.extend(self.listeners.iter().map(|l| watch(if open { l.descriptor() } else { -1 })));
        watched.extend(self.producers.iter().map(|producer| watch(producer.descriptor())));
        // SAFETY: the list is ours and its length is given.
        let said = unsafe {
            libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, TICK.as_millis() as libc::c_int)
        };
        if said < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            return Ok((Vec::new(), false));
        }
        let mut ready = watched.iter().map(|watched| watched.revents != 0);
        let stopped = ready.next() == Some(true);
        Ok((ready.collect(), stopped))
    }

    fn serve(&mut self, ingest: &mut Ingest, ready: &[bool], open: bool) {
        let (listeners, producers) = ready.split_at(self.listeners.len().min(ready.len()));
        // In the order in which they came, so that what was sent first is mostly written first.
        let ready = producers.iter().enumerate().filter(|(_, ready)| **ready).map(|(at, _)| at);
        self.read_all(ingest, ready);
        if open {
            for (at, _) in listeners.iter().enumerate().filter(|(_, ready)| **ready) {
                self.accept(at);
            }
        }
    }

    /// Reads one block of each of these producers; answers whether there was any.
    fn read_all(&mut self, ingest: &mut Ingest, which: impl Iterator<Item = usize>) -> bool {
        let (mut some, mut ended) = (false, Vec::new());
        for at in which {
            match self.read(ingest, at) {
                After::More => some = true,
                After::Ended => ended.push(at),
                After::Empty => {}
            }
        }
        for at in ended.into_iter().rev() {
            let mut producer = self.producers.remove(at);
            ingest.end(&producer.name, &mut producer.splitter);
            self.tell_of(producer.name, false);
        }
        some
    }

    /// Reads one block of a producer.
    fn read(&mut self, ingest: &mut Ingest, at: usize) -> After {
        let only = self.listeners.is_empty();
        let Some(producer) = self.producers.get_mut(at) else { return After::Ended };
        match producer.from.read(&mut self.block) {
            Ok(0) => {}
            Ok(count) => {
                let block = self.block.get(..count).unwrap_or_default();
                let may_wait = only && matches!(producer.from, From::Stdin(_));
                ingest.block(&producer.name, &mut producer.splitter, block, may_wait);
                return After::More;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return After::Empty;
            }
            // Gone without a goodbye, as a process that was killed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Err(error) => {
                (self.tell)(Notice::Unreadable { name: producer.name.clone(), error });
            }
        }
        After::Ended
    }

    /// Lets in who waits.
    fn accept(&mut self, at: usize) {
        loop {
            let Some(listener) = self.listeners.get(at) else { return };
            match listener.accept() {
                Ok(Some((connection, name))) => {
                    self.came += 1;
                    // Those of one path have no names of their own.
                    let name = match &connection {
                        Connection::Unix(_) => format!("{name}#{}", self.came),
                        Connection::Tcp(_) => name,
                    };
                    let producer =
                        Producer { from: From::Socket(connection), name, splitter: Splitter::default() };
                    let name = producer.name.clone();
                    self.producers.push(producer);
                    self.tell_of(name, true);
                }
                Ok(None) => return,
                Err(error) => {
                    self.closed_until = Some(Instant::now() + PAUSE);
                    if self.refusals.ask(Instant::now(), 1).is_some() {
                        let address = listener.address().to_string();
                        (self.tell)(Notice::NotAccepted { address, error });
                    }
                    return;
                }
            }
        }
    }

    fn tell_of(&self, name: String, came: bool) {
        let producers = self.producers.len();
        self.counters.producers.store(producers as u64, Ordering::Relaxed);
        (self.tell)(Notice::Producer { name, came, producers });
    }

    /// Takes what had been sent when the end came.
    fn drain(&mut self, ingest: &mut Ingest) {
        let until = Instant::now() + DRAIN;
        for at in 0..self.listeners.len() {
            self.accept(at);
        }
        loop {
            let waits = |(_, producer): &(usize, &Producer)| is_readable(producer.descriptor());
            let ready: Vec<usize> =
                self.producers.iter().enumerate().filter(waits).map(|(at, _)| at).collect();
            if !self.read_all(ingest, ready.into_iter()) || Instant::now() >= until {
                return;
            }
        }
    }
}

impl Producer {
    fn descriptor(&self) -> RawFd {
        match &self.from {
            From::Stdin(file) => file.as_raw_fd(),
            From::Socket(connection) => connection.descriptor(),
        }
    }
}

impl Read for From {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stdin(file) => file.read(out),
            Self::Socket(connection) => connection.read(out),
        }
    }
}

fn is_readable(fd: RawFd) -> bool {
    let mut watched = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which is ours.
    unsafe { libc::poll(&raw mut watched, 1, 0) > 0 }
}
