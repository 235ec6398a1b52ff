//! Answers that were given, kept by what was asked and by the version of the data they were made from.
//!
//! Bounded by bytes, least recently used first out. Identical questions that arrive while one of them is
//! being answered wait for it: a page that opens in twenty tabs costs one computation. The computation is
//! a task of its own, so a client that hangs up does not take the answer away from the others.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::Problem;
use super::answer::{Answer, Content};
use super::pool::Pool;

type Outcome = Result<Arc<Answer>, Problem>;
type Flight = watch::Receiver<Option<Outcome>>;

/// What an entry takes beside its body: key, tables, ETag.
const OVERHEAD: usize = 512;

/// The answers.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    shared: Arc<Mutex<Shared>>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Shared {
    kept: HashMap<Arc<str>, Kept>,
    /// Keys by when they were last used.
    order: BTreeMap<u64, Arc<str>>,
    flying: HashMap<(Arc<str>, u64), Flight>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    version: u64,
    answer: Arc<Answer>,
    used: u64,
    weight: usize,
}

enum Turn {
    Kept(Arc<Answer>),
    Wait(Flight),
    Lead(watch::Sender<Option<Outcome>>, Flight),
}

impl Answers {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { shared: Arc::default(), most_bytes }
    }

    /// The answer to the question `key` from data of this `version`, made by `work` where it is not kept.
    ///
    /// # Errors
    /// What `work` answers, or that there is no room for more work. Neither is kept.
    pub(super) async fn get(
        &self,
        pool: &Pool,
        key: &str,
        version: u64,
        work: impl FnOnce() -> Result<Content, Problem> + Send + 'static,
    ) -> Outcome {
        let key: Arc<str> = Arc::from(key);
        let mut flight = match self.enter(&key, version) {
            Turn::Kept(answer) => return Ok(answer),
            Turn::Wait(flight) => flight,
            Turn::Lead(tell, flight) => {
                let (this, pool) = (self.clone(), pool.clone());
                tokio::spawn(async move {
                    let made = pool.run(|| work().map(|content| Arc::new(Answer::new(content)))).await;
                    let outcome = made.and_then(|made| made);
                    this.leave(&key, version, &outcome);
                    // Nobody may be waiting any more.
                    let _ = tell.send(Some(outcome));
                });
                flight
            }
        };
        match flight.wait_for(Option::is_some).await.map(|outcome| outcome.clone()) {
            Ok(Some(outcome)) => outcome,
            _ => Err(Problem::later("the server is stopping")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing panics while it is held.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, key: &Arc<str>, version: u64) -> Turn {
        let mut shared = self.lock();
        let shared = &mut *shared;
        if let Some(kept) = shared.kept.get_mut(key)
            && kept.version == version
        {
            shared.clock += 1;
            shared.order.remove(&kept.used);
            shared.order.insert(shared.clock, Arc::clone(key));
            kept.used = shared.clock;
            return Turn::Kept(Arc::clone(&kept.answer));
        }
        let flight = (Arc::clone(key), version);
        if let Some(flight) = shared.flying.get(&flight) {
            return Turn::Wait(flight.clone());
        }
        let (tell, wait) = watch::channel(None);
        shared.flying.insert(flight, wait.clone());
        Turn::Lead(tell, wait)
    }

    fn leave(&self, key: &Arc<str>, version: u64, outcome: &Outcome) {
        let mut shared = self.lock();
        shared.flying.remove(&(Arc::clone(key), version));
        let Ok(answer) = outcome else { return };
        let weight = weight(answer, key);
        // One answer must not empty the house for all others.
        if weight > self.most_bytes / 2 {
            return;
        }
        shared.forget(key);
        shared.clock += 1;
        let used = shared.clock;
        shared.bytes += weight;
        shared.order.insert(used, Arc::clone(key));
        shared.kept.insert(Arc::clone(key), Kept { version, answer: Arc::clone(answer), used, weight });
        shared.shrink(self.most_bytes);
    }

    /// Weighs an answer again that holds more than when it was kept: an encoding was made.
    pub(super) fn weigh(&self, key: &str, answer: &Arc<Answer>) {
        let mut shared = self.lock();
        let shared = &mut *shared;
        if let Some(kept) = shared.kept.get_mut(key)
            && Arc::ptr_eq(&kept.answer, answer)
        {
            let now = weight(answer, key);
            shared.bytes = shared.bytes + now - kept.weight;
            kept.weight = now;
            shared.shrink(self.most_bytes);
        }
    }
}

fn weight(answer: &Answer, key: &str) -> usize {
    answer.weight() + 2 * key.len() + OVERHEAD
}

impl Shared {
    fn shrink(&mut self, most_bytes: usize) {
        while self.bytes > most_bytes
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &Arc<str>) {
        if let Some(old) = self.kept.remove(key) {
            self.bytes -= old.weight;
            self.order.remove(&old.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::serve::answer::Encoding;

    fn content(bytes: usize) -> Content {
        Content::binary(vec![b'x'; bytes])
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn identical_questions_at_once_are_worked_out_once() {
        let (answers, pool, made) = (Answers::new(1 << 20), Pool::new(), Arc::new(AtomicUsize::new(0)));
        let ask = |version| {
            let (answers, pool, made) = (answers.clone(), pool.clone(), Arc::clone(&made));
            tokio::spawn(async move {
                let work = move || {
                    made.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(20));
                    Ok(content(10))
                };
                answers.get(&pool, "q", version, work).await.unwrap();
            })
        };
        for task in (0..20).map(|_| ask(1)).collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(made.load(Ordering::Relaxed), 1);
        ask(1).await.unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 1, "it is kept");
        ask(2).await.unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 2, "other data is another answer");
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_the_least_recently_used_goes_first() {
        let (answers, pool) = (Answers::new(15_000), Pool::new());
        let has = |key: &str| answers.lock().kept.contains_key(key);
        for key in ["a", "b", "a", "c", "a", "d", "e"] {
            answers.get(&pool, key, 0, || Ok(content(3000))).await.unwrap();
        }
        assert!(has("a") && has("e") && !has("b"), "{:?}", answers.lock().order);
        {
            let shared = answers.lock();
            assert!(shared.bytes <= 15_000 && shared.kept.len() == shared.order.len());
        }
        answers.get(&pool, "huge", 0, || Ok(content(9_000))).await.unwrap();
        assert!(!has("huge") && has("a"));
        // An encoding that is made later counts from then on.
        let grown = answers.get(&pool, "f", 0, || Ok(content(3000))).await.unwrap();
        let before = answers.lock().bytes;
        grown.compress(Encoding::Zstd);
        answers.weigh("f", &grown);
        assert!(answers.lock().bytes > before);
    }

    #[tokio::test]
    async fn a_failure_and_a_panic_are_told_and_not_kept() {
        let (answers, pool) = (Answers::new(1 << 20), Pool::new());
        let failed = answers.get(&pool, "q", 0, || Err(Problem::bad("no"))).await;
        assert_eq!(failed.unwrap_err(), Problem::bad("no"));
        let fell = answers.get(&pool, "q", 0, || panic!("a bug")).await;
        assert_eq!(fell.unwrap_err().status, 500);
        assert!(answers.get(&pool, "q", 0, || Ok(content(1))).await.is_ok());
    }
}
