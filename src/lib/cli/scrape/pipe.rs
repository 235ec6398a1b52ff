//! stdout as a scraper needs it: a reader that stalls costs records, never memory and never the pace.
//!
//! A thread of its own writes; what waits for it is bounded in bytes. What does not fit is refused whole, so
//! a line is either there or not.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Most bytes that wait: half a minute of 64 engines' records at the usual interval.
const MOST_WAITING: usize = 4 << 20;
/// How long the end waits for a reader that does not read.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// A writer to stdout.
pub(super) struct Pipe {
    send: Option<Sender<Vec<u8>>>,
    state: Arc<State>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    waiting: AtomicUsize,
    /// Nobody reads any more.
    closed: AtomicBool,
    failed: Mutex<Option<io::Error>>,
}

impl Pipe {
    /// Begins to write to stdout.
    pub fn stdout() -> Self {
        Self::new(io::stdout())
    }

    fn new(mut out: impl Write + Send + 'static) -> Self {
        let state = Arc::new(State::default());
        let (send, receive) = channel::<Vec<u8>>();
        let shared = Arc::clone(&state);
        let writer = thread::spawn(move || {
            for bytes in receive {
                if let Err(error) = out.write_all(&bytes).and_then(|()| out.flush()) {
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        *shared.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                    shared.closed.store(true, Ordering::Release);
                    return;
                }
                shared.waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
            }
        });
        Self { send: Some(send), state, writer: Some(writer) }
    }

    /// Hands lines over; false when too much waits already and they are dropped.
    pub fn send(&self, bytes: Vec<u8>) -> bool {
        if self.is_full() {
            return false;
        }
        self.state.waiting.fetch_add(bytes.len(), Ordering::AcqRel);
        self.send.as_ref().is_some_and(|send| send.send(bytes).is_ok())
    }

    /// Whether what waits is all that may wait.
    pub fn is_full(&self) -> bool {
        self.state.waiting.load(Ordering::Acquire) >= MOST_WAITING
    }

    /// Whether nobody reads any more, or writing failed.
    pub fn is_closed(&self) -> bool {
        self.state.closed.load(Ordering::Acquire) || hung_up()
    }

    /// Writes what waits and ends.
    ///
    /// # Errors
    /// What the system said when writing failed; a closed pipe is no failure.
    pub fn finish(mut self) -> io::Result<()> {
        drop(self.send.take());
        let begun = Instant::now();
        if let Some(writer) = self.writer.take() {
            while !writer.is_finished() && begun.elapsed() < LAST_WAIT {
                thread::sleep(Duration::from_millis(5));
            }
        }
        let failed = self.state.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), Err)
    }
}

/// Whether stdout is a pipe or socket whose reader is gone, though nothing was written to find out.
fn hung_up() -> bool {
    let mut stdout = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: one valid entry, and no waiting.
    let ready = unsafe { libc::poll(&raw mut stdout, 1, 0) };
    ready > 0 && stdout.revents & libc::POLLERR != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, RecvError};

    /// Writes only when it is allowed to.
    struct Stalled(Receiver<()>, Sender<usize>);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(|RecvError| io::ErrorKind::BrokenPipe)?;
            self.1.send(bytes.len()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stalls_costs_records_and_not_memory() {
        let (allow, allowed) = channel();
        let (written, writes) = channel();
        let pipe = Pipe::new(Stalled(allowed, written));
        let taken = (0..1000).filter(|_| pipe.send(vec![b'x'; 64 << 10])).count();
        assert_eq!(taken, MOST_WAITING / (64 << 10));
        (0..2).for_each(|_| allow.send(()).unwrap());
        (0..2).for_each(|_| assert_eq!(writes.recv().unwrap(), 64 << 10));
        while pipe.is_full() {
            thread::yield_now();
        }
        assert!(pipe.send(b"more\n".to_vec()));
        drop(allow);
        pipe.finish().unwrap();
    }
}
