//! `/api/events`: what changed, as server-sent events, so that a page need not ask.
//!
//! | event | data |
//! | --- | --- |
//! | (none) | `{"stream": "gpu_util", "version": 7}`: a telemetry stream has grown |
//! | (none) | `{"step": 12, "evaluation": false}`: a step is there, or has changed |
//! | `resync` | `{}`: events were missed, ask for everything again |
//!
//! An event's `id` is `SERVER-NUMBER`. Who reconnects with `Last-Event-ID` gets what was missed where it is
//! still known, else `resync`. Events say that something changed, not what it is now: nobody has to keep up.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

use super::{App, Problem};
use crate::rollout::StepId;

/// Listeners at a time; each holds a connection.
const MOST_LISTENERS: usize = 256;
/// Events that are remembered for who was away.
const REMEMBERED: usize = 256;
/// A comment this often keeps proxies from closing a quiet connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client waits before it connects again.
const RETRY: Duration = Duration::from_secs(2);

/// The events of this server.
#[derive(Debug)]
pub(super) struct Events {
    /// Tells a restarted server's events from this one's.
    server: u128,
    past: Mutex<Past>,
    tell: broadcast::Sender<Arc<Told>>,
    listeners: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Past {
    last: u64,
    events: VecDeque<Arc<Told>>,
}

#[derive(Debug)]
struct Told {
    number: u64,
    data: String,
}

impl Events {
    pub(super) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            server: started.as_millis(),
            past: Mutex::default(),
            tell: broadcast::Sender::new(REMEMBERED),
            listeners: Arc::new(Semaphore::new(MOST_LISTENERS)),
        }
    }

    pub(super) fn stream(&self, name: &str, version: u64) {
        self.send(&json!({ "stream": name, "version": version }));
    }

    pub(super) fn step(&self, id: StepId) {
        self.send(&json!({ "step": id.rollout_id, "evaluation": id.evaluation }));
    }

    fn send(&self, data: &Value) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.last += 1;
        let told = Arc::new(Told { number: past.last, data: data.to_string() });
        past.events.push_back(Arc::clone(&told));
        if past.events.len() > REMEMBERED {
            past.events.pop_front();
        }
        // Under the lock, so that a listener gets each event once. Nobody may be listening.
        let _ = self.tell.send(told);
    }

    /// What a listener missed since `last_id`, and what comes from now on. `None`: more than is known.
    fn since(&self, last_id: Option<&str>) -> (Option<Vec<Arc<Told>>>, broadcast::Receiver<Arc<Told>>) {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let coming = self.tell.subscribe();
        let Some(last_id) = last_id else { return (Some(Vec::new()), coming) };
        let number = last_id
            .split_once('-')
            .filter(|(server, _)| server.parse() == Ok(self.server))
            .and_then(|(_, number)| number.parse::<u64>().ok());
        let oldest = past.events.front().map_or(past.last + 1, |e| e.number);
        let missed = number
            .filter(|n| n + 1 >= oldest && *n <= past.last)
            .map(|n| past.events.iter().filter(|e| e.number > n).cloned().collect());
        (missed, coming)
    }

    fn event(&self, told: &Told) -> Event {
        Event::default().id(format!("{}-{}", self.server, told.number)).data(&told.data)
    }

    fn resync(&self) -> Event {
        let last = self.past.lock().unwrap_or_else(PoisonError::into_inner).last;
        Event::default().event("resync").id(format!("{}-{last}", self.server)).data("{}")
    }
}

/// The handler.
pub(super) async fn events(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let place = Arc::clone(&app.events.listeners).try_acquire_owned();
    let place = place.map_err(|_| Problem::later("too many listen for events already"))?;
    let last_id = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let (missed, coming) = app.events.since(last_id);
    let mut waiting = VecDeque::from([Event::default().retry(RETRY).comment("miles serve")]);
    match missed {
        Some(missed) => waiting.extend(missed.iter().map(|told| app.events.event(told))),
        None => waiting.push_back(app.events.resync()),
    }
    let stopping = app.stopping.subscribe();
    let listener = Listener { app, waiting, coming, stopping, _place: place };
    let mut response =
        Sse::new(listener.into_stream()).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // nginx would keep events back until a buffer is full.
    let header = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(header, HeaderValue::from_static("no"));
    Ok(response)
}

struct Listener {
    app: Arc<App>,
    waiting: VecDeque<Event>,
    coming: broadcast::Receiver<Arc<Told>>,
    stopping: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    fn into_stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(self, async |mut this| {
            let event = this.next().await?;
            Some((Ok(event), this))
        })
    }

    /// The next event; none when the server stops.
    async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        let told = tokio::select! {
            told = self.coming.recv() => told,
            _ = self.stopping.wait_for(|stop| *stop) => return None,
        };
        match told {
            Ok(told) => Some(self.app.events.event(&told)),
            Err(RecvError::Lagged(_)) => Some(self.app.events.resync()),
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(events: &Events, id: Option<String>) -> Option<Vec<u64>> {
        let missed = events.since(id.as_deref()).0;
        missed.map(|events| events.iter().map(|e| e.number).collect())
    }

    #[test]
    fn who_reconnects_gets_what_was_missed_or_is_told_that_it_cannot_be_told() {
        let events = Events::new();
        let id = |n: u64| Some(format!("{}-{n}", events.server));
        assert_eq!(missed(&events, id(0)), Some(vec![]));
        for n in 0..3 {
            events.stream("gpu_util", n);
        }
        assert_eq!(missed(&events, None), Some(vec![]));
        assert_eq!(missed(&events, id(1)), Some(vec![2, 3]));
        assert_eq!(missed(&events, id(3)), Some(vec![]));
        assert_eq!(missed(&events, id(4)), None, "from the future");
        assert_eq!(missed(&events, Some("1-1".into())), None, "another server's");
        assert_eq!(missed(&events, Some("nonsense".into())), None);
        for n in 0..REMEMBERED as u64 {
            events.step(StepId { evaluation: false, rollout_id: n as i64 });
        }
        assert_eq!(missed(&events, id(1)), None, "forgotten");
        assert_eq!(missed(&events, id(3)).map(|m| m.len()), Some(REMEMBERED));
    }
}
