//! Where records wait for the disk: one bounded queue a stream, shared by the reader and the writer.
//!
//! The reader appends, the writer takes batches out and says afterwards what came of them. Neither holds
//! the lock while it waits for anything else. What the writer has out counts against the bounds and
//! cannot be dropped; of the rest the oldest go when a bound is reached.

use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::chunk::Chunk;
use super::line::{Lane, MetaRecord, Ready};
use super::meta::join;
use super::shape::Hour;
use crate::record::Stream;

/// Streams that there are.
pub(super) const STREAMS: usize = Stream::ALL.len();

/// Bytes that wait in all streams together, however few records those are: a record may have up to a
/// megabyte.
pub(super) const MAX_BYTES: usize = 150_000_000;

/// Bytes of one batch. All of it is written again if the system takes it and then says that it has not.
const BATCH: usize = 4 * 1024 * 1024;

/// Bytes that wait before the writer is called ahead of its time.
const EAGER_BYTES: usize = 8 * 1024 * 1024;

/// Chunks that are looked through for the place of a record, and for the rest of a batch.
const LOOK_BACK: usize = 8;
const LOOK_AHEAD: usize = 4096;

/// Places that are remembered as known; beyond it records of other places are read again when written.
const MOST_SETTLED: usize = 200_000;

/// How long a working disk may take before it counts as stalled.
const PATIENCE: Duration = Duration::from_secs(1);

/// What happened to the records of one stream, in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Good records that came.
    pub received: u64,
    /// Records on disk.
    pub written: u64,
    /// Records dropped at a bound.
    pub dropped: u64,
    /// Records that wait.
    pub waiting: u64,
}

/// Lines of one file, out for writing.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The file's hour.
    pub hour: Hour,
    /// Its lines, oldest first.
    pub chunks: Vec<Chunk>,
    /// How many those are.
    pub records: usize,
    memory: usize,
}

#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<Chunk>,
    /// In the queue, and out with the writer.
    records: usize,
    memory: usize,
    out_records: usize,
    tally: Tally,
}

impl Queue {
    const fn all(&self) -> usize {
        self.records + self.out_records
    }
}

/// All that waits.
#[derive(Debug)]
pub(super) struct State {
    queues: [Queue; STREAMS],
    memory: usize,
    max_records: usize,
    settled: HashSet<Box<[u8]>, foldhash::fast::RandomState>,
    /// What training processes said since the writer last looked, in one.
    pub meta: Option<MetaRecord>,
    /// Whether the last attempt to write failed.
    pub failing: bool,
    /// When the disk last took something since the writer began its turn; `None` between turns.
    progress: Option<Instant>,
    eager: bool,
    stopping: bool,
    /// Another collector has the run: nothing may be written any more.
    abandoned: bool,
}

/// The queues and what wakes their two ends.
#[derive(Debug)]
pub(super) struct Buffer {
    state: Mutex<State>,
    /// For the writer: something to do before its time.
    work: Condvar,
    /// For a reader that may wait: something was written.
    room: Condvar,
}

impl Buffer {
    pub(super) fn new(max_records: usize) -> Self {
        let state = State {
            queues: Default::default(),
            memory: 0,
            max_records: max_records.max(1),
            settled: HashSet::default(),
            meta: None,
            failing: false,
            progress: None,
            eager: false,
            stopping: false,
            abandoned: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    /// The queues. Nothing panics while it holds them.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the writer if much waits. To be called after a block of pushes.
    pub(super) fn nudge(&self, state: &mut State) {
        let eager_records = (state.max_records / 4).max(1);
        let many = state.memory >= EAGER_BYTES || state.queues.iter().any(|q| q.records >= eager_records);
        if many && !state.eager {
            state.eager = true;
            self.work.notify_one();
        }
    }

    /// Waits until there is room for a record of stream `at`, while the disk works. For a reader whose
    /// producer may wait, a file or a pipe that nothing else depends on.
    pub(super) fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        at: usize,
    ) -> MutexGuard<'a, State> {
        // A bound on top of that on the disk: whatever happens to the writer, the reader goes on.
        let until = Instant::now() + 10 * PATIENCE;
        while state.is_full(at)
            && !state.failing
            && state.progress.is_none_or(|at| at.elapsed() < PATIENCE)
            && Instant::now() < until
        {
            state.eager = true;
            self.work.notify_one();
            let waited = self.room.wait_timeout(state, PATIENCE / 10);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// Waits for the writer's next turn: `at` the latest, earlier when much waits and the disk works, at once
    /// when all ends. Answers whether it ends.
    pub(super) fn wait_for_work(&self, at: Instant) -> bool {
        let mut state = self.lock();
        state.progress = None;
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if state.stopping || left.is_zero() || (state.eager && !state.failing) {
                state.eager = false;
                state.progress = Some(Instant::now());
                return state.stopping;
            }
            state = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the writer after one more turn.
    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Nothing is written any more.
    pub(super) fn abandon(&self) {
        self.lock().abandoned = true;
    }

    /// Takes the oldest records of stream `at` out that go into one file.
    pub(super) fn take(&self, at: usize) -> Option<Batch> {
        self.lock().take(at)
    }

    /// What came of a batch: `written` records are on disk, `rest` is not and goes back, `held` records
    /// (0 or 1) stay with the writer, half on disk.
    pub(super) fn give_back(&self, at: usize, batch: &Batch, written: usize, held: usize, rest: Vec<Chunk>) {
        let mut state = self.lock();
        if written > 0 {
            state.progress = Some(Instant::now());
        }
        state.give_back(at, batch, written, held, rest);
        self.room.notify_all();
    }

    /// What was held back is on disk now.
    pub(super) fn held_written(&self, at: usize) {
        if let Some(queue) = self.lock().queues.get_mut(at) {
            queue.out_records = queue.out_records.saturating_sub(1);
            queue.tally.written += 1;
        }
    }

    /// Remembers that what these bytes say of lanes is on disk.
    pub(super) fn settle(&self, lanes: impl IntoIterator<Item = Box<[u8]>>) {
        let mut state = self.lock();
        for lane in lanes {
            if state.settled.len() < MOST_SETTLED {
                state.settled.insert(lane);
            }
        }
    }

    /// What happened so far, in the order of [`Stream::ALL`].
    pub(super) fn tallies(&self) -> [Tally; STREAMS] {
        let state = self.lock();
        std::array::from_fn(|at| state.tally(at))
    }

    /// Bytes that wait.
    pub(super) fn memory(&self) -> usize {
        self.lock().memory
    }
}

impl State {
    /// What happened to the records of stream `at`.
    pub(super) fn tally(&self, at: usize) -> Tally {
        self.queues
            .get(at)
            .map_or_else(Tally::default, |queue| Tally { waiting: queue.all() as u64, ..queue.tally })
    }

    /// Whether another record of stream `at` would push an older one out.
    pub(super) fn is_full(&self, at: usize) -> bool {
        self.memory >= MAX_BYTES || self.queues.get(at).is_some_and(|queue| queue.all() >= self.max_records)
    }

    /// Appends a record; answers how many older ones had to go.
    #[inline]
    pub(super) fn push(&mut self, ready: &Ready<'_>) -> u64 {
        let (length, hour) = (ready.body.len() + 2, ready.hour);
        let lanes = match ready.lane {
            Lane::None => false,
            Lane::Known(bytes) => !self.settled.contains(bytes),
            Lane::Unknown => true,
        };
        let Some(queue) = self.queues.get_mut(ready.at) else { return 0 };
        queue.tally.received += 1;
        let fits = |chunk: &Chunk| chunk.hour == hour && chunk.has_room(length);
        // Records of two hours can alternate where hours meet.
        let place = match queue.chunks.back() {
            Some(last) if fits(last) => queue.chunks.len().checked_sub(1),
            // The newest chunk of that hour or none: order within a file is the order of arrival.
            _ => {
                let mut newest = queue.chunks.iter().enumerate().rev().take(LOOK_BACK);
                newest
                    .find(|(_, chunk)| chunk.hour == hour)
                    .filter(|(_, chunk)| fits(chunk))
                    .map(|(at, _)| at)
            }
        };
        let mut grown = length;
        let chunk = match place.and_then(|place| queue.chunks.get_mut(place)) {
            Some(chunk) => chunk,
            None => {
                let chunk = Chunk::new(hour);
                grown += chunk.memory();
                queue.chunks.push_back(chunk);
                let Some(chunk) = queue.chunks.back_mut() else { return 0 };
                chunk
            }
        };
        chunk.push(ready.body);
        chunk.lanes |= lanes;
        queue.records += 1;
        queue.memory += grown;
        self.memory += grown;
        self.keep_bounds(ready.at)
    }

    /// Takes in what a training process says of its run.
    pub(super) fn hear(&mut self, new: MetaRecord) {
        let heard = self.meta.get_or_insert_default();
        heard.run_name = new.run_name.or(heard.run_name.take());
        heard.start_ts = new.start_ts.or(heard.start_ts);
        join(&mut heard.args, new.args);
    }

    /// Drops the oldest until the bounds hold again.
    fn keep_bounds(&mut self, at: usize) -> u64 {
        let mut dropped = 0;
        while self.queues.get(at).is_some_and(|queue| queue.all() > self.max_records) && self.drop_oldest(at)
        {
            dropped += 1;
        }
        while self.memory > MAX_BYTES {
            // Whoever takes most pays.
            let largest = self.queues.iter().enumerate().max_by_key(|(_, queue)| queue.memory);
            let Some(largest) = largest.map(|(at, _)| at) else { break };
            if !self.drop_oldest(largest) {
                break;
            }
            dropped += 1;
        }
        dropped
    }

    fn drop_oldest(&mut self, at: usize) -> bool {
        let Some(queue) = self.queues.get_mut(at) else { return false };
        let Some(oldest) = queue.chunks.front_mut() else { return false };
        let mut freed = 0;
        if oldest.drop_oldest() {
            queue.records = queue.records.saturating_sub(1);
            queue.tally.dropped += 1;
        }
        if oldest.records() == 0 {
            freed = oldest.memory();
            queue.chunks.pop_front();
        }
        // Memory comes back a chunk at a time, as it does in truth.
        queue.memory = queue.memory.saturating_sub(freed);
        self.memory = self.memory.saturating_sub(freed);
        true
    }

    fn take(&mut self, at: usize) -> Option<Batch> {
        if self.abandoned {
            return None;
        }
        let queue = self.queues.get_mut(at)?;
        let hour = queue.chunks.front()?.hour;
        let mut batch = Batch { hour, ..Batch::default() };
        let mut look = 0;
        let mut looked = 0;
        while looked < LOOK_AHEAD && batch.memory < BATCH {
            let Some(chunk) = queue.chunks.get(look) else { break };
            looked += 1;
            if chunk.hour != hour {
                look += 1;
                continue;
            }
            let Some(chunk) = queue.chunks.remove(look) else { break };
            batch.records += chunk.records();
            batch.memory += chunk.memory();
            batch.chunks.push(chunk);
        }
        queue.records = queue.records.saturating_sub(batch.records);
        queue.memory = queue.memory.saturating_sub(batch.memory);
        queue.out_records += batch.records;
        Some(batch)
    }

    fn give_back(&mut self, at: usize, batch: &Batch, written: usize, held: usize, rest: Vec<Chunk>) {
        let Some(queue) = self.queues.get_mut(at) else { return };
        queue.out_records = (queue.out_records + held).saturating_sub(batch.records);
        queue.tally.written += written as u64;
        self.memory = self.memory.saturating_sub(batch.memory);
        for chunk in rest.into_iter().rev() {
            queue.records += chunk.records();
            queue.memory += chunk.memory();
            self.memory += chunk.memory();
            queue.chunks.push_front(chunk);
        }
    }
}

#[cfg(test)]
mod tests;
