//! Where work is done that takes a processor or a disk: threads apart from the reactor, a bounded
//! number at a time, a bounded number waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use super::Problem;

/// Jobs at a time, a core. More than one, because a job waits for the disk now and then.
const JOBS_PER_CORE: usize = 2;
/// Jobs that may wait. Beyond that a client is better off trying again: they would wait for seconds.
const MOST_WAITING: usize = 512;

/// The threads for work.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Pool {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self { permits: Arc::new(Semaphore::new(cores * JOBS_PER_CORE)), waiting: Arc::default() }
    }

    /// Does a job. It runs to its end even when nobody waits for it any more.
    ///
    /// # Errors
    /// 503 when too many wait; 500 when the job fell over, which the panic hook has told.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let _place = Place::take(&self.waiting)?;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| Problem::later("the server is stopping"))?;
        drop(_place);
        let job = move || {
            let done = job();
            drop(permit);
            done
        };
        let failed = |_| Problem::internal("internal error: the server's log has more");
        tokio::task::spawn_blocking(job).await.map_err(failed)
    }
}

/// A place in the queue, given back however the wait ends.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Result<Self, Problem> {
        let place = Self(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            return Err(Problem::later("too many requests wait for an answer"));
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
