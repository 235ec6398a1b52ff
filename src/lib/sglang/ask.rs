//! Questions that are under way, and their answers as they come.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::address::Address;
use super::fetch::{Client, FetchError};
use super::fold::{Answer, read};
use super::names::Selection;
use super::pool::Pool;
use super::workers::{self, Worker};

/// Most questions at a time. Engines answer in milliseconds, so this is for those that hang.
const MOST: usize = 32;

/// A round of scrapes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Time that its records carry, Unix seconds.
    pub ts: f64,
    pub begun: Instant,
}

/// Who was asked for metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// By its key.
    Engine(String),
    Router,
    /// The router, to see whether it works again.
    Probe,
}

/// What came.
pub(super) enum Got {
    Metrics(Asked, Result<Answer, FetchError>),
    Workers(Result<Vec<Worker>, FetchError>),
}

/// Asks, each question on a thread of a pool.
pub(super) struct Desk {
    client: Client,
    selection: Arc<Selection>,
    pool: Pool,
    open: usize,
    send: Sender<(Round, Got)>,
    receive: Receiver<(Round, Got)>,
}

impl Desk {
    pub fn new(client: Client, selection: Arc<Selection>) -> Self {
        let (send, receive) = channel();
        Self { client, selection, pool: Pool::new(MOST), open: 0, send, receive }
    }

    /// Questions that are not answered.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Asks for metrics at `url`; a `suspect` is likely to hang.
    pub fn metrics(&mut self, asked: Asked, url: String, suspect: bool, round: Round) {
        let of_router = !matches!(asked, Asked::Engine(_));
        let selection = Arc::clone(&self.selection);
        self.ask(suspect, round, move |client| {
            Got::Metrics(asked, client.get(&url).map(|text| read(&text, &selection, of_router)))
        });
    }

    /// Asks a router for its workers, wherever it lists them.
    pub fn workers(&mut self, router: Address, suspect: bool, round: Round) {
        self.ask(suspect, round, move |client| Got::Workers(list(client, &router)));
    }

    fn ask(&mut self, suspect: bool, round: Round, question: impl FnOnce(&Client) -> Got + Send + 'static) {
        let (client, send) = (self.client.clone(), self.send.clone());
        self.open += 1;
        self.pool.submit(suspect, move || {
            // Nobody listens any more when the tool ends.
            let _ = send.send((round, question(&client)));
        });
    }

    /// The next answer, if one comes within `wait`.
    pub fn next(&mut self, wait: Duration) -> Option<(Round, Got)> {
        // The desk's own sender keeps the channel open.
        let answer = self.receive.recv_timeout(wait).ok()?;
        self.open -= 1;
        Some(answer)
    }
}

fn list(client: &Client, router: &Address) -> Result<Vec<Worker>, FetchError> {
    let mut failed = None;
    for path in workers::LISTS {
        let error = match client.get(&router.url(path)) {
            Ok(text) => match workers::read(&text) {
                Some(workers) => return Ok(workers),
                None => FetchError::Other(format!("{path} is no list of workers")),
            },
            // Another path of a host that does not answer only costs time.
            Err(error @ FetchError::Status { .. }) => error,
            Err(error) => return Err(error),
        };
        failed.get_or_insert(error);
    }
    Err(failed.unwrap_or_else(|| FetchError::Other("no list of workers".to_owned())))
}
