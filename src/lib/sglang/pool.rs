//! A bounded number of threads that do jobs which may hang until their time is up.
//!
//! Threads are made when they are needed. Jobs that are likely to hang get half of them at most, so that a
//! rack of dead engines costs its own scrapes and nobody else's.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// The threads. They end, each with the job it is at, when this is dropped.
pub(super) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    most: usize,
}

#[derive(Default)]
struct State {
    steady: VecDeque<Job>,
    suspect: VecDeque<Job>,
    threads: usize,
    idle: usize,
    busy_suspects: usize,
    closed: bool,
}

impl Pool {
    /// At most `most` threads, two at least.
    pub fn new(most: usize) -> Self {
        let shared = Shared { state: Mutex::default(), work: Condvar::new(), most: most.max(2) };
        Self { shared: Arc::new(shared) }
    }

    /// Does `job` as soon as a thread is free; as a `suspect` when it is likely to hang.
    pub fn submit(&self, suspect: bool, job: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        let queue = if suspect { &mut state.suspect } else { &mut state.steady };
        queue.push_back(Box::new(job));
        let waiting = state.steady.len() + state.suspect.len();
        if state.idle < waiting && state.threads < self.shared.most {
            let shared = Arc::clone(&self.shared);
            let spawned = thread::Builder::new().name("fetch".to_owned()).spawn(move || shared.serve());
            // Where the system has no more threads, those that are there do the job.
            state.threads += usize::from(spawned.is_ok());
        }
        drop(state);
        self.shared.work.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if state.closed {
                return;
            }
            let (job, suspect) = match state.steady.pop_front() {
                Some(job) => (Some(job), false),
                None if state.busy_suspects < self.most / 2 => (state.suspect.pop_front(), true),
                None => (None, false),
            };
            let Some(job) = job else {
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            state.busy_suspects += usize::from(suspect);
            drop(state);
            job();
            state = self.lock();
            state.busy_suspects -= usize::from(suspect);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    /// Nothing here takes a second; who needs this long hangs.
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn jobs_that_hang_leave_half_of_the_threads_to_the_others() {
        let pool = Pool::new(4);
        let (release, wait) = channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let (started, starts) = channel();
        for _ in 0..10 {
            let (wait, started) = (Arc::clone(&wait), started.clone());
            pool.submit(true, move || {
                started.send(()).unwrap();
                let _ = wait.lock().unwrap().recv();
            });
        }
        let next = |from: &Receiver<()>| from.recv_timeout(LONG).unwrap();
        next(&starts);
        next(&starts);
        let (done, dones) = channel();
        for _ in 0..100 {
            let done = done.clone();
            pool.submit(false, move || done.send(()).unwrap());
        }
        (0..100).for_each(|_| next(&dones));
        assert!(starts.try_recv().is_err(), "only two of the ten have begun");
        assert!(pool.shared.lock().threads <= 4);
        drop(release);
        (0..8).for_each(|_| next(&starts));
    }
}
