//! Ticks on their way out: a thread writes them, and nobody waits for it.
//!
//! A pipe whose reader has stopped blocks whoever writes. Readings must not wait for that, so between the two
//! is a queue with an end: when it is full, ticks are dropped and counted.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Ticks that wait for a slow reader: a minute at the usual pace, a few hundred kilobytes for eight GPUs.
const QUEUE: usize = 60;
/// Between two complaints about a reader that has stopped.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// The way out.
pub(super) struct Pipe {
    /// `None` once it is closed.
    queue: Option<SyncSender<Vec<u8>>>,
    /// Speaks when everything is written or nothing more can be.
    done: Receiver<io::Result<()>>,
    /// Ticks that were dropped so far.
    pub(super) dropped: u64,
    complained: Option<Instant>,
}

impl Pipe {
    /// Writes to `out`, one flush a tick. `ended` is called when that fails.
    pub(super) fn new(
        mut out: impl Write + Send + 'static,
        ended: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, ticks) = sync_channel::<Vec<u8>>(QUEUE);
        let (tell, done) = sync_channel(1);
        thread::Builder::new().name("pipe".into()).spawn(move || {
            for tick in ticks {
                if let Err(error) = write(&mut out, &tick) {
                    ended(error);
                    return;
                }
            }
            let _ = tell.send(Ok(()));
        })?;
        Ok(Self { queue: Some(queue), done, dropped: 0, complained: None })
    }

    /// Hands over the lines of a tick, or drops them when too many wait. What comes back is worth saying.
    pub(super) fn send(&mut self, tick: Vec<u8>, now: Instant) -> Option<String> {
        let full = match self.queue.as_ref()?.try_send(tick) {
            Ok(()) => false,
            Err(TrySendError::Full(_)) => true,
            // Whoever writes has told why it ended.
            Err(TrySendError::Disconnected(_)) => return None,
        };
        if !full {
            return None;
        }
        self.dropped += 1;
        if self.complained.is_some_and(|at| now < at + COMPLAIN_EVERY) {
            return None;
        }
        self.complained = Some(now);
        let dropped = self.dropped;
        let ticks = if dropped == 1 { "tick" } else { "ticks" };
        Some(format!("stdout is not read fast enough: {dropped} {ticks} dropped so far"))
    }

    /// Closes it and waits until all is written, but no longer than `patience`. False when it is not.
    pub(super) fn close(&mut self, patience: Duration) -> bool {
        self.queue = None;
        self.done.recv_timeout(patience).is_ok_and(|written| written.is_ok())
    }
}

/// Writes all of it. A pipe that somebody made non-blocking is no error: it is waited for like any other.
fn write(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    /// Between two looks at a full pipe.
    const PAUSE: Duration = Duration::from_millis(10);
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Lets nothing through until it is opened.
    struct Gate(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stops_costs_ticks_and_holds_up_nobody() {
        let (open, gate) = std::sync::mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut pipe = Pipe::new(Gate(gate, written.clone()), |_| ()).unwrap();
        let now = Instant::now();
        let mut said: Vec<String> = Vec::new();
        for _ in 0..QUEUE + 10 {
            said.extend(pipe.send(b"tick\n".to_vec(), now));
        }
        assert!(pipe.dropped >= 9, "{}", pipe.dropped);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(!pipe.close(Duration::from_millis(10)));
        drop(open);
        assert!(pipe.close(Duration::from_secs(20)));
        assert!(written.lock().unwrap().ends_with(b"tick\n"));
    }

    #[test]
    fn a_reader_that_went_away_is_told_once() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (tell, told) = std::sync::mpsc::channel();
        let mut pipe = Pipe::new(Closed, move |error| tell.send(error.kind()).unwrap()).unwrap();
        pipe.send(b"tick\n".to_vec(), Instant::now());
        assert_eq!(told.recv(), Ok(io::ErrorKind::BrokenPipe));
        assert!(!pipe.close(Duration::from_secs(20)));
    }
}
