//! The writer: a thread of its own, so that a disk that stands still stops nothing else.
//!
//! A flush takes what waited when it began, a batch at a time: lines of one file. A batch counts as written
//! when the file took it and was closed without a word. What fails goes back to the front of its queue and
//! is tried again at the next flush, and every attempt that fails is told.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::append::{Appended, Disk, Tail, append};
use super::buffer::{Batch, Buffer, STREAMS};
use super::catalog::{Catalog, Finder, Lanes};
use super::ingest::Counters;
use super::meta::Meta;
use super::notice::Notice;
use super::shape::Hour;
use super::{Tell, now};
use crate::record::Stream;
use crate::telemetry::TelemetryError;

/// Files whose ends are remembered; those of hours long past only cost memory.
const MOST_TAILS: usize = 1024;

/// What a scan of the streams came to: lanes, and the bytes that say so.
pub(super) type Scanned = Result<(Lanes, Vec<Box<[u8]>>), TelemetryError>;

/// Writes what waits in a buffer.
pub(super) struct Writer {
    pub buffer: Arc<Buffer>,
    pub counters: Arc<Counters>,
    pub disk: Box<dyn Disk>,
    pub dashboard: PathBuf,
    pub interval: Duration,
    pub sync: bool,
    pub meta: Meta,
    pub catalog: Catalog,
    /// Lanes that were on disk at the start; `None` when they were taken over.
    pub scanned: Option<Receiver<Scanned>>,
    pub finder: Finder,
    pub tails: HashMap<PathBuf, (usize, Tail)>,
    pub tell: Tell,
}

/// How the last flush went.
#[derive(Debug, Default)]
pub(super) struct LastFlush {
    /// What failed, and why.
    pub failures: Vec<String>,
}

impl Writer {
    /// Flushes until the buffer is stopped, and once more then.
    pub(super) fn run(mut self) -> LastFlush {
        let mut next = Instant::now();
        loop {
            let ends = self.buffer.wait_for_work(next);
            next = Instant::now() + self.interval;
            let last = self.flush(ends);
            if ends {
                return last;
            }
        }
    }

    fn flush(&mut self, ends: bool) -> LastFlush {
        let mut last = LastFlush::default();
        let before = self.buffer.tallies();
        let mut tried = HashSet::new();
        for (at, stream) in Stream::ALL.into_iter().enumerate() {
            let mut left = before.get(at).map_or(0, |tally| tally.waiting);
            while left > 0 {
                let Some(batch) = self.buffer.take(at) else { break };
                let path = path_of(&self.dashboard, stream, batch.hour);
                left = left.saturating_sub(batch.records as u64);
                tried.insert(path.clone());
                if !self.write(at, stream, path, batch, &mut last) {
                    break;
                }
            }
        }
        // Lines that are half on disk and whose file gets no others.
        let torn: Vec<_> = self
            .tails
            .iter()
            .filter(|(path, (_, tail))| !tail.is_clean() && !tried.contains(*path))
            .map(|(path, (at, _))| (path.clone(), *at))
            .collect();
        for (path, at) in torn {
            if let Some(&stream) = Stream::ALL.get(at) {
                self.write(at, stream, path, Batch::default(), &mut last);
            }
        }
        self.forget();
        self.write_documents(ends, &mut last);
        self.end_flush(&before, &last);
        last
    }

    /// Writes a batch; answers whether all of it is on disk.
    fn write(
        &mut self,
        at: usize,
        stream: Stream,
        path: PathBuf,
        mut batch: Batch,
        last: &mut LastFlush,
    ) -> bool {
        let chunks = std::mem::take(&mut batch.chunks);
        let (_, tail) = self.tails.entry(path.clone()).or_insert_with(|| (at, Tail::default()));
        let appended = append(self.disk.as_ref(), &path, tail, &chunks, self.sync);
        let Appended { mut done, held, finished, error } = appended;
        if let Some(line) = finished {
            self.buffer.held_written(at);
            self.finder.line(stream, line.strip_suffix(b"\n").unwrap_or(&line));
        }
        let held = usize::from(held);
        let (mut written, mut rest) = (0, Vec::new());
        for mut chunk in chunks {
            let length = chunk.lines().len().min(done);
            done -= length;
            if chunk.lanes && length > 0 {
                let lines = chunk.lines().get(..length).unwrap_or_default();
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    self.finder.line(stream, line);
                }
            }
            written += chunk.advance(length);
            if chunk.records() > 0 {
                rest.push(chunk);
            }
        }
        self.buffer.give_back(at, &batch, written.saturating_sub(held), held, rest);
        let Some(error) = error else { return true };
        self.fail(path, error, last);
        false
    }

    fn write_documents(&mut self, ends: bool, last: &mut LastFlush) {
        // At the end the scan is waited for: without it the document would lack lanes.
        let scanned = self.scanned.as_ref().and_then(|scanned| match ends {
            true => scanned.recv().ok(),
            false => scanned.try_recv().ok(),
        });
        if let Some(scanned) = scanned {
            self.scanned = None;
            match scanned {
                Ok((lanes, known)) => {
                    self.catalog.merge(lanes);
                    self.buffer.settle(known);
                }
                Err(error) => {
                    self.catalog.trust_document();
                    (self.tell)(Notice::Unusable {
                        what: error.to_string(),
                        instead: "lanes of before are taken from lane_catalog.json alone",
                    });
                }
            }
        }
        let (lanes, known) = self.finder.take();
        self.catalog.merge(lanes);
        self.buffer.settle(known);
        let heard = self.buffer.lock().meta.take();
        if let Some(heard) = heard {
            self.meta.apply(heard);
        }
        let catalog = if self.scanned.is_none() { self.catalog.write() } else { Ok(()) };
        for (path, error) in [self.meta.write(), catalog].into_iter().filter_map(Result::err) {
            self.fail(path, error, last);
        }
    }

    fn end_flush(&mut self, before: &[super::Tally; STREAMS], last: &LastFlush) {
        let after = self.buffer.tallies();
        let mut new = [0; STREAMS];
        for (new, (before, after)) in new.iter_mut().zip(before.iter().zip(&after)) {
            *new = after.written - before.written;
        }
        let failed = !last.failures.is_empty();
        let was_failing = std::mem::replace(&mut self.buffer.lock().failing, failed);
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        if !failed {
            self.counters.last_flush.store(now().to_bits(), Ordering::Relaxed);
        }
        let records: u64 = new.iter().sum();
        if was_failing && !failed {
            (self.tell)(Notice::Recovered { records });
        }
        if records > 0 {
            (self.tell)(Notice::Flushed { new, total: Box::new(after) });
        }
    }

    fn fail(&self, path: PathBuf, error: std::io::Error, last: &mut LastFlush) {
        self.counters.flush_failures.fetch_add(1, Ordering::Relaxed);
        last.failures.push(format!("{}: {error}", path.display()));
        let tallies = self.buffer.tallies();
        let sum = |of: fn(&super::Tally) -> u64| tallies.iter().map(of).sum();
        let (waiting, dropped) = (sum(|tally| tally.waiting), sum(|tally| tally.dropped));
        (self.tell)(Notice::Failed { path, error, waiting, dropped });
    }

    fn forget(&mut self) {
        if self.tails.len() > MOST_TAILS {
            self.tails.retain(|_, (_, tail)| !tail.is_clean());
        }
    }
}

/// The file of `stream` for `hour` under `dashboard`.
pub(super) fn path_of(dashboard: &Path, stream: Stream, hour: Hour) -> PathBuf {
    let Some(hour) = hour else { return dashboard.join(format!("{stream}.jsonl")) };
    // Times are checked when lines are read, and all of those have a date.
    let start = Timestamp::from_second(hour.saturating_mul(3600)).unwrap_or(Timestamp::UNIX_EPOCH);
    let at = TimeZone::UTC.to_datetime(start);
    let name = format!("{:04}{:02}{:02}_{:02}.jsonl", at.year(), at.month(), at.day(), at.hour());
    dashboard.join(stream.name()).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::append::Appendable;
    use crate::collect::disk::Files;
    use crate::collect::line::{Lane, Ready};
    use crate::collect::meta::Known;
    use std::sync::{Condvar, Mutex};

    /// A disk that does not answer while its gate is closed.
    struct Gated(Arc<(Mutex<(bool, usize)>, Condvar)>);

    impl Disk for Gated {
        fn open(&self, path: &Path) -> std::io::Result<Box<dyn Appendable>> {
            let (gate, changed) = &*self.0;
            let mut state = gate.lock().unwrap();
            state.1 += 1;
            changed.notify_all();
            drop(changed.wait_while(state, |(open, _)| !*open).unwrap());
            Files { sync: false }.open(path)
        }
    }

    #[test]
    fn a_disk_that_does_not_answer_keeps_nobody_from_the_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let dashboard = folder.path().to_owned();
        let buffer = Arc::new(Buffer::new(100));
        let gate = Arc::new((Mutex::new((false, 0)), Condvar::new()));
        let (meta, _) = Meta::open(&dashboard, Known::default(), false);
        let writer = Writer {
            buffer: Arc::clone(&buffer),
            counters: Arc::default(),
            disk: Box::new(Gated(Arc::clone(&gate))),
            interval: Duration::from_millis(1),
            sync: false,
            meta,
            catalog: Catalog::new(&dashboard, false),
            scanned: None,
            finder: Finder::new(),
            tails: HashMap::new(),
            tell: Arc::new(|_| ()),
            dashboard: dashboard.clone(),
        };
        let at = Stream::ALL.iter().position(|stream| *stream == Stream::DataBuffer).unwrap();
        let push = |n: usize| {
            let body = format!("\"ts\":1,\"length\":{n}}}");
            let (lane, series) = (Lane::None, None);
            let ready = Ready { at, hour: None, body: body.as_bytes(), lane, series, left_out: Vec::new() };
            buffer.lock().push(&ready)
        };
        push(0);
        let writing = std::thread::spawn(move || writer.run());
        let (state, changed) = &*gate;
        drop(changed.wait_while(state.lock().unwrap(), |(_, opened)| *opened == 0).unwrap());
        // The writer is stuck now, with one record in its hands.
        let dropped: u64 = (1..150).map(push).sum();
        let tally = buffer.tallies()[at];
        assert_eq!((dropped, tally.waiting, tally.written, tally.dropped), (50, 100, 0, 50));
        state.lock().unwrap().0 = true;
        changed.notify_all();
        buffer.stop();
        assert!(writing.join().unwrap().failures.is_empty());
        let text = std::fs::read_to_string(dashboard.join("data_buffer.jsonl")).unwrap();
        let lengths: Vec<&str> = text.lines().map(|l| l.rsplit([':', '}']).nth(1).unwrap()).collect();
        let want: Vec<String> = std::iter::once(0).chain(51..150).map(|n| n.to_string()).collect();
        assert_eq!(lengths, want);
    }

    #[test]
    fn an_hour_has_the_name_that_readers_look_for() {
        let dashboard = Path::new("d");
        let name = |stream, hour| path_of(dashboard, stream, hour).display().to_string();
        assert_eq!(name(Stream::Metrics, None), "d/metrics.jsonl");
        assert_eq!(name(Stream::GpuUtil, Some(0)), "d/gpu_util/19700101_00.jsonl");
        assert_eq!(name(Stream::Phases, Some(1_769_907_600 / 3600)), "d/phases/20260201_01.jsonl");
        assert_eq!(name(Stream::Phases, Some(100_000_000_000 / 3600)), "d/phases/51381116_09.jsonl");
    }
}
