//! Rounds of scrapes: whom to ask, through whom, and what to make of what comes.
//!
//! A round has one time, which all of its records carry, and asks each engine once unless the question of an
//! earlier round is still open. Whoever answers within the interval is of the round; a later answer carries
//! its own time. Nobody waits for anybody: lines go out as answers come.
//!
//! **Router or engines.** A router's `/engine_metrics` is one question for all engines, but it can be missing
//! (404, 501), refuse (500 when engines differ in their labels, when all are dead, or always with `--dp-aware`)
//! or leave a dead engine out of a good answer. On a failure the engines whose addresses are known are asked themselves from that
//! round on, and the router is tried again beside them every [`RETRY_ROUNDS`]. An engine that was known and
//! is not in a good answer has a gap, and that is told.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::address::Address;
use super::advice::{ENGINE_METRICS, METRICS, hint, nothing_known};
use super::ask::{Asked, Desk, Got, Round};
use super::emit::{self, Means};
use super::engines::{Engines, Source};
use super::fetch::{Client, FetchError};
use super::fold::{Answer, Value};
use super::names::Selection;
use super::settings::{Mode, Settings};
use super::topology::Told;
use super::voice::{Output, Voice};
use super::workers::{LISTS, Worker};

/// A router that failed is tried again after this many rounds (30 s of the usual ones): soon enough to notice
/// its return, too seldom to matter to one that fails at some cost.
const RETRY_ROUNDS: u32 = 15;
/// Not oftener than that, however short the rounds: bounds what a failing router is asked.
const SHORTEST_RETRY: Duration = Duration::from_secs(1);
/// Not more seldom than that, however long the rounds.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The list of workers is asked for at most this often.
const RELIST: Duration = Duration::from_secs(1);

/// A router that failed.
#[derive(Debug)]
struct Fallen {
    why: String,
    hint: &'static str,
    told: bool,
    retry_at: Instant,
}

/// Scrapes in rounds.
pub struct Scraper {
    mode: Mode,
    interval: Duration,
    selection: Arc<Selection>,
    desk: Desk,
    router: Option<Address>,
    discover: bool,
    engines: Engines,
    told: Told,
    fallen: Option<Fallen>,
    router_in_flight: bool,
    list_in_flight: bool,
    listed_at: Option<Instant>,
    /// The list of workers has been answered, well or not.
    was_listed: bool,
    /// The round that waits for the list.
    waiting: Option<Round>,
    voice: Voice,
    means: Means,
    answers: u64,
    lines: u64,
}

impl Scraper {
    /// A scraper; nothing is asked before the first [`Scraper::begin`].
    #[must_use]
    pub fn new(settings: Settings, client: Client) -> Self {
        let selection = Arc::new(settings.selection);
        let mut scraper = Self {
            mode: settings.mode,
            interval: settings.interval,
            desk: Desk::new(client, Arc::clone(&selection)),
            selection,
            router: settings.router,
            discover: settings.discover,
            engines: Engines::default(),
            told: Told::new(settings.placements),
            fallen: None,
            router_in_flight: false,
            list_in_flight: false,
            listed_at: None,
            was_listed: false,
            waiting: None,
            voice: Voice::default(),
            means: Means::default(),
            answers: 0,
            lines: 0,
        };
        scraper.set_engines(settings.engines);
        scraper
    }

    /// Replaces the engines that were given. Those that a router named stay.
    pub fn set_engines(&mut self, engines: Vec<Address>) {
        let gone = self.engines.give(engines);
        self.forget(&gone);
    }

    /// Requests that are not answered yet.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.desk.open()
    }

    /// Answers of engines or of the router's metrics so far, useful or not.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Lines of `engine_series` so far.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// What there is to say since the last call.
    pub fn outputs(&mut self) -> Vec<Output> {
        self.voice.take()
    }

    /// A line of `topology` was lost: it comes again with the next round.
    pub fn tell_topology_again(&mut self) {
        self.told.forget();
    }

    /// Begins a round whose records carry `ts`, Unix seconds.
    pub fn begin(&mut self, ts: f64) {
        let round = Round { ts, begun: Instant::now() };
        if self.wants_list() && self.listed_at.is_none_or(|at| at.elapsed() >= RELIST) {
            self.ask_list(round);
        }
        // Before the first list is there nobody knows whom to ask.
        if self.list_in_flight && !self.was_listed && self.mode != Mode::Router {
            self.waiting = Some(round);
        } else {
            self.launch(round);
        }
    }

    /// Takes one answer if it comes within `wait`; answers whether one did.
    pub fn receive(&mut self, wait: Duration) -> bool {
        let Some((round, got)) = self.desk.next(wait) else { return false };
        match got {
            Got::Metrics(asked, answer) => {
                self.answers += u64::from(answer.is_ok());
                match asked {
                    Asked::Engine(key) => self.engine_answered(&key, answer, round),
                    Asked::Router => self.router_answered(answer, round),
                    Asked::Probe => self.probe_answered(answer),
                }
            }
            Got::Workers(workers) => self.list_answered(workers, round),
        }
        true
    }

    fn wants_list(&self) -> bool {
        let unknown = self.mode == Mode::Direct && !self.engines.has(Source::Given);
        self.router.is_some() && (self.discover || unknown || self.fallen.is_some())
    }

    /// Whether the engines are asked themselves.
    fn is_direct(&self) -> bool {
        let known = match self.mode {
            Mode::Direct => true,
            Mode::Auto => {
                let listed = self.discover && self.engines.has(Source::Listed);
                self.router.is_none() || self.engines.has(Source::Given) || listed
            }
            Mode::Router => false,
        };
        known || (self.fallen.is_some() && !self.engines.is_empty())
    }

    fn launch(&mut self, round: Round) {
        self.tell_topology(round.ts);
        if !self.is_direct() {
            self.ask_router(Asked::Router, round);
            return;
        }
        if self.engines.is_empty() {
            let why = match &self.router {
                Some(router) => format!("{}: has no workers", router.text()),
                None => "there are no engines yet".to_owned(),
            };
            self.voice.miss("engines", &why, "engines are scraped as soon as there are some");
        } else {
            self.voice.gaps.forget("engines");
        }
        self.tell_of_fall();
        let engines = self.engines.all().filter(|engine| !engine.in_flight);
        let keys: Vec<String> = engines.map(|engine| engine.address.key().to_owned()).collect();
        for key in keys {
            let Some(engine) = self.engines.get_mut(&key) else { continue };
            engine.in_flight = true;
            let (url, suspect) = (engine.address.url(METRICS), self.voice.gaps.has(engine.address.text()));
            self.desk.metrics(Asked::Engine(key), url, suspect, round);
        }
        if self.fallen.as_ref().is_some_and(|fallen| Instant::now() >= fallen.retry_at) {
            self.ask_router(Asked::Probe, round);
        }
    }

    fn ask_router(&mut self, asked: Asked, round: Round) {
        let Some(router) = self.router.as_ref().filter(|_| !self.router_in_flight) else { return };
        self.router_in_flight = true;
        let suspect = self.fallen.is_some() || self.voice.gaps.has(router.text());
        self.desk.metrics(asked, router.url(ENGINE_METRICS), suspect, round);
    }

    fn ask_list(&mut self, round: Round) {
        let Some(router) = self.router.clone().filter(|_| !self.list_in_flight) else { return };
        self.list_in_flight = true;
        self.listed_at = Some(Instant::now());
        let suspect = self.voice.gaps.has(router.text());
        self.desk.workers(router, suspect, round);
    }

    fn engine_answered(&mut self, key: &str, answer: Result<Answer, FetchError>, round: Round) {
        // One that is gone meanwhile: its records would belong to no topology.
        let Some(engine) = self.engines.get_mut(key) else { return };
        engine.in_flight = false;
        let (addr, url) = (engine.address.text().to_owned(), engine.address.url(METRICS));
        match answer {
            Ok(answer) => {
                self.voice.remark(&url, &answer);
                if answer.values.is_empty() {
                    let (why, hint) = nothing_known(&url, &answer);
                    self.voice.miss(&addr, &why, hint);
                    return;
                }
                self.voice.back(&addr);
                self.emit(vec![(addr, answer.values)], round);
            }
            Err(error) => self.voice.miss(&addr, &format!("{url}: {error}"), hint(&error, METRICS)),
        }
    }

    fn router_answered(&mut self, answer: Result<Answer, FetchError>, round: Round) {
        self.router_in_flight = false;
        let Some(router) = self.router.clone() else { return };
        let url = router.url(ENGINE_METRICS);
        let (why, hint) = match answer {
            Ok(answer) if !answer.values.is_empty() => {
                self.voice.remark(&url, &answer);
                self.fallen = None;
                self.voice.back(router.text());
                self.spread(answer.values, &router, round);
                return;
            }
            Ok(answer) => nothing_known(&url, &answer),
            Err(error) => (format!("{url}: {error}"), hint(&error, ENGINE_METRICS)),
        };
        self.fallen = Some(Fallen { why, hint, told: false, retry_at: self.retry_at() });
        if self.engines.is_empty() {
            // Whom else to ask only the router itself can say.
            self.ask_list(round);
            self.waiting = Some(round);
        } else {
            self.launch(round);
        }
    }

    fn retry_at(&self) -> Instant {
        Instant::now() + self.interval.saturating_mul(RETRY_ROUNDS).clamp(SHORTEST_RETRY, LONGEST_RETRY)
    }

    /// Hands a router's values to the engines that they are of, and finds those that are missing.
    fn spread(&mut self, values: Vec<Value>, router: &Address, round: Round) {
        let mut by_engine: Vec<(String, Vec<Value>)> = Vec::new();
        let mut present: HashSet<String> = HashSet::new();
        for value in values {
            let address = value.worker.as_deref().and_then(|worker| Address::labelled(worker).ok());
            let addr = match address {
                Some(address) => self.engines.know(address, None, Source::Seen),
                // What names no engine is told under the router's address: better than lost.
                None => router.text(),
            };
            match by_engine.last_mut().filter(|(last, _)| last == addr) {
                Some((_, values)) => values.push(value),
                None => {
                    present.insert(addr.to_owned());
                    by_engine.push((addr.to_owned(), vec![value]));
                }
            }
        }
        self.emit(by_engine, round);
        let known: Vec<String> = self.engines.all().map(|engine| engine.address.text().to_owned()).collect();
        for addr in known {
            if present.contains(&addr) {
                self.voice.back(&addr);
            } else {
                let why = format!("{addr}: missing from the answer of {}", router.url(ENGINE_METRICS));
                self.voice.miss(
                    &addr,
                    &why,
                    "a router leaves out who does not answer it: is that engine alive?",
                );
            }
        }
    }

    fn probe_answered(&mut self, answer: Result<Answer, FetchError>) {
        self.router_in_flight = false;
        let retry_at = self.retry_at();
        let Some(router) = &self.router else { return };
        if answer.is_ok_and(|answer| !answer.values.is_empty()) {
            // Its values are those that the engines have told themselves this round.
            if self.fallen.take().is_some() {
                let url = router.url(ENGINE_METRICS);
                self.voice.say(Output::News(format!("{url}: answers again, and is asked from now on")));
            }
        } else if let Some(fallen) = &mut self.fallen {
            fallen.retry_at = retry_at;
        }
    }

    fn list_answered(&mut self, workers: Result<Vec<Worker>, FetchError>, round: Round) {
        self.list_in_flight = false;
        self.was_listed = true;
        let Some(router) = self.router.clone() else { return };
        let name = format!("{}: list of workers", router.text());
        match workers {
            Ok(workers) => {
                self.voice.back(&name);
                let gone = self.engines.list(workers);
                for addr in &gone {
                    self.voice.say(Output::Note(format!("{addr}: no longer listed by the router")));
                }
                self.forget(&gone);
                self.tell_topology(round.ts);
            }
            Err(error) => {
                let why = format!("{}: does not list its workers: {error}", router.text());
                self.voice.miss(&name, &why, hint(&error, LISTS[0]));
            }
        }
        let Some(round) = self.waiting.take() else { return };
        match &self.fallen {
            // With nobody else to ask, a router that has just failed is not asked again at once.
            Some(fallen) if self.engines.is_empty() => {
                self.voice.miss(router.text(), &fallen.why, fallen.hint);
            }
            _ => self.launch(round),
        }
    }

    fn forget(&mut self, gone: &[String]) {
        for addr in gone {
            self.voice.gaps.forget(addr);
            self.means.forget(addr);
        }
    }

    fn tell_topology(&mut self, ts: f64) {
        if !self.discover && !self.told.has_places() {
            return;
        }
        let engines = self.engines.all().filter(|engine| engine.source != Source::Seen);
        let engines = engines.map(|engine| (&engine.address, engine.worker_type.as_deref()));
        if let Some(line) = self.told.line(ts, engines) {
            self.voice.say(Output::Topology(line));
        }
    }

    /// Says once that the engines are asked instead of the router.
    fn tell_of_fall(&mut self) {
        let engines = match self.engines.len() {
            0 => return,
            1 => "its engine is".to_owned(),
            count => format!("its {count} engines are"),
        };
        if let Some(fallen) = self.fallen.as_mut().filter(|fallen| !fallen.told) {
            fallen.told = true;
            let text = format!(
                "{}; {engines} scraped directly while it fails; hint: --mode direct does so from the start",
                fallen.why
            );
            self.voice.say(Output::Warning(text));
        }
    }

    /// Passes on the lines of one answer.
    fn emit(&mut self, engines: Vec<(String, Vec<Value>)>, round: Round) {
        let late = round.begun.elapsed() > self.interval;
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(round.ts, |now| now.as_secs_f64());
        let ts = if late { now() } else { round.ts };
        let mut out = Vec::new();
        for (addr, mut values) in engines {
            self.means.add(&addr, &mut values, &self.selection);
            emit::lines(ts, &addr, &values, &self.selection, &mut out);
            self.lines += values.len() as u64;
        }
        self.voice.say(Output::Lines(out));
    }
}
