//! From blocks of bytes of a producer to records in the buffer, and a word about what was wrong.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::Tell;
use super::buffer::{Buffer, STREAMS, State};
use super::latest::Latest;
use super::line::{Bad, Read, Reader};
use super::notice::{Each, Limiter, Notice};
use super::split::{Piece, Splitter};
use crate::record::Stream;

/// What happened so far besides what [`Buffer::tallies`] counts.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub bad_lines: AtomicU64,
    /// Records of which a part was left out.
    pub left_out: AtomicU64,
    pub producers: AtomicU64,
    pub flushes: AtomicU64,
    pub flush_failures: AtomicU64,
    /// Unix seconds, bits of a float.
    pub last_flush: AtomicU64,
}

/// One for all producers.
pub(super) struct Ingest {
    buffer: Arc<Buffer>,
    latest: Option<Arc<Mutex<Latest>>>,
    counters: Arc<Counters>,
    reader: Reader,
    /// Bytes of unfinished lines of all producers.
    waiting: usize,
    quiet: Quiet,
    tell: Tell,
}

/// What is said seldom.
struct Quiet {
    bad: Limiter,
    /// In place of `bad` where every bad line is to be told.
    each_bad: Option<Each>,
    left_out: Limiter,
    dropped: [(u64, Limiter); STREAMS],
}

impl Ingest {
    pub(super) fn new(
        buffer: Arc<Buffer>,
        latest: Option<Arc<Mutex<Latest>>>,
        counters: Arc<Counters>,
        tell: Tell,
        each_bad_line: bool,
    ) -> Self {
        let dropped = std::array::from_fn(|_| (0, Limiter::new()));
        let quiet = Quiet {
            bad: Limiter::new(),
            each_bad: each_bad_line.then(Each::new),
            left_out: Limiter::new(),
            dropped,
        };
        Self { buffer, latest, counters, reader: Reader::new(), waiting: 0, quiet, tell }
    }

    /// Takes bytes of the producer called `name`. With `may_wait` a full buffer waits for a working disk.
    pub(super) fn block(&mut self, name: &str, splitter: &mut Splitter, block: &[u8], may_wait: bool) {
        let buffer = Arc::clone(&self.buffer);
        let latest = self.latest.clone();
        let mut latest = latest.as_ref().map(|latest| latest.lock().unwrap_or_else(PoisonError::into_inner));
        let mut held = Some(buffer.lock());
        let mut waiting = self.waiting;
        splitter.feed(block, &mut waiting, |number, piece| {
            let read = match piece {
                Piece::Line(line) => self.reader.read(line),
                Piece::TooLong => Err(Bad::TooLong),
            };
            match read {
                Ok(Read::Record(ready)) => {
                    if may_wait && held.as_ref().is_some_and(|state| state.is_full(ready.at)) {
                        held = held.take().map(|state| buffer.wait_for_room(state, ready.at));
                    }
                    let Some(state) = held.as_deref_mut() else { return };
                    let dropped = state.push(&ready);
                    if let Some(latest) = &mut latest {
                        latest.see(&ready);
                    }
                    if dropped > 0 {
                        self.quiet.dropped(state, &self.tell);
                    }
                    if !ready.left_out.is_empty() {
                        self.counters.left_out.fetch_add(1, Ordering::Relaxed);
                        self.quiet.left_out(name, number, ready.at, ready.left_out, &self.tell);
                    }
                }
                Ok(Read::Meta(meta)) => {
                    if let Some(state) = held.as_deref_mut() {
                        state.hear(meta);
                    }
                }
                Ok(Read::Blank) => {}
                Err(bad) => {
                    self.counters.bad_lines.fetch_add(1, Ordering::Relaxed);
                    self.quiet.bad(name, number, &bad, &self.tell);
                }
            }
        });
        self.waiting = waiting;
        if let Some(mut state) = held {
            self.buffer.nudge(&mut state);
        }
    }

    /// The producer has ended. What it sent last counts if it is a whole record without a newline.
    pub(super) fn end(&mut self, name: &str, splitter: &mut Splitter) {
        let Some((number, rest)) = splitter.finish(&mut self.waiting) else { return };
        match self.reader.read(&rest) {
            Ok(Read::Record(_) | Read::Meta(_)) => {
                let line = [rest.as_slice(), b"\n"].concat();
                self.block(name, &mut Splitter::default(), &line, false);
            }
            Ok(Read::Blank) => {}
            Err(_) => {
                self.counters.bad_lines.fetch_add(1, Ordering::Relaxed);
                self.quiet.bad(name, number, &Bad::CutOff, &self.tell);
            }
        }
    }

    /// Says what was held back, if it is time or all ends.
    pub(super) fn speak(&mut self) {
        let buffer = Arc::clone(&self.buffer);
        self.quiet.dropped(&buffer.lock(), &self.tell);
    }
}

impl Quiet {
    fn bad(&mut self, source: &str, line: u64, bad: &Bad, tell: &Tell) {
        let now = Instant::now();
        let unsaid = match &mut self.each_bad {
            Some(each) => each.ask(now),
            None => self.bad.ask(now, 1),
        };
        if let Some(unsaid) = unsaid {
            tell(Notice::Bad { source: source.to_owned(), line, reason: bad.to_string(), unsaid });
        }
    }

    fn left_out(&mut self, source: &str, line: u64, at: usize, keys: Vec<String>, tell: &Tell) {
        let Some(&stream) = Stream::ALL.get(at) else { return };
        if let Some(unsaid) = self.left_out.ask(Instant::now(), 1) {
            tell(Notice::LeftOut { source: source.to_owned(), line, stream, keys, unsaid });
        }
    }

    fn dropped(&mut self, state: &State, tell: &Tell) {
        for (at, (told, limiter)) in self.dropped.iter_mut().enumerate() {
            let total = state.tally(at).dropped;
            let count = total.saturating_sub(*told);
            if count > 0 && limiter.ask(Instant::now(), 0).is_some() {
                *told = total;
                if let Some(&stream) = Stream::ALL.get(at) {
                    tell(Notice::Dropped { stream, count, total });
                }
            }
        }
    }
}
