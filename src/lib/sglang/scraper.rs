//! Rounds of scrapes: whom to ask, through whom, and what to make of what comes.
//!
//! A round has one time, which all of its records carry, and asks each engine once unless the question of an
//! earlier round is still open. Whoever answers within the interval is of the round; a later answer carries
//! its own time. Nobody waits for anybody: lines go out as answers come.
//!
//! **Router or engines.** A router's `/engine_metrics` is one question for all engines, but it can be missing
//! (404, 501), refuse (500 when engines differ in their labels, or when all are dead) or leave a dead engine
//! out of a good answer. On a failure the engines whose addresses are known are asked themselves from that
//! round on, and the router is tried again every [`RETRY_ROUTER`], beside them. An engine that was known and
//! is not in a good answer has a gap, and that is told.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::address::Address;
use super::emit::{self, Means};
use super::fetch::{Client, FetchError};
use super::fold::{Answer, Value, read};
use super::gap::Gaps;
use super::names::Selection;
use super::pool::Pool;
use super::topology::{Placement, Told};
use super::workers::{self, Worker};

/// Most requests at a time. Engines answer in milliseconds, so this is for those that hang.
const MAX_REQUESTS: usize = 32;
/// A router that failed is tried again this often: soon enough to notice its return, too seldom to matter to
/// one that fails at some cost.
const RETRY_ROUTER: Duration = Duration::from_secs(30);
/// The list of workers is asked for at most this often, however short the rounds.
const RELIST: Duration = Duration::from_secs(1);
/// Path of an engine's metrics.
const METRICS: &str = "/metrics";
/// Path of a router's aggregate.
const ENGINE_METRICS: &str = "/engine_metrics";

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each engine when addresses are known, else the router.
    Auto,
    /// The router; each engine while it fails.
    Router,
    /// Each engine.
    Direct,
}

/// What to scrape.
#[derive(Debug)]
pub struct Settings {
    /// Who is asked.
    pub mode: Mode,
    /// From one round to the next.
    pub interval: Duration,
    /// Which metrics.
    pub selection: Selection,
    /// Engines by address.
    pub engines: Vec<Address>,
    /// The router.
    pub router: Option<Address>,
    /// Ask the router for its workers, and tell of them in `topology`.
    pub discover: bool,
    /// The GPUs of engines.
    pub placements: Vec<Placement>,
}

/// What a scraper has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Lines of `engine_series`, of one engine or one router's answer; can be dropped.
    Lines(Vec<u8>),
    /// A line of `topology`; not to be dropped without [`Scraper::tell_topology_again`].
    Topology(Vec<u8>),
    /// Something is wrong, and what to try.
    Warning(String),
    /// Good to know.
    Note(String),
}

/// How an engine became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// By hand or by a run's records.
    Given,
    /// The router lists it.
    Listed,
    /// It was in an answer of the router.
    Seen,
}

#[derive(Debug)]
struct Engine {
    address: Address,
    worker_type: Option<String>,
    source: Source,
    in_flight: bool,
}

/// A router that failed.
#[derive(Debug)]
struct Fallen {
    why: String,
    told: bool,
    retry_at: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    ts: f64,
    begun: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Engine(String),
    Router,
    /// The router, to see whether it works again.
    Probe,
    List,
}

enum Got {
    Metrics(Result<Answer, FetchError>),
    Workers(Result<Vec<Worker>, FetchError>),
}

struct Done {
    asked: Asked,
    round: Round,
    got: Got,
}

/// Scrapes in rounds.
pub struct Scraper {
    mode: Mode,
    interval: Duration,
    selection: Arc<Selection>,
    client: Client,
    pool: Pool,
    router: Option<Address>,
    discover: bool,
    /// By [`Address::key`].
    engines: BTreeMap<String, Engine>,
    told: Told,
    fallen: Option<Fallen>,
    router_in_flight: bool,
    list_in_flight: bool,
    listed_at: Option<Instant>,
    /// The list of workers has been answered, well or not.
    asked_list: bool,
    /// The round that waits for the list.
    waiting: Option<Round>,
    round: Option<Round>,
    gaps: Gaps,
    means: Means,
    in_flight: usize,
    answers: u64,
    lines: u64,
    send: Sender<Done>,
    receive: Receiver<Done>,
    outputs: Vec<Output>,
}

impl Scraper {
    /// A scraper; nothing is asked before the first [`Scraper::begin`].
    #[must_use]
    pub fn new(settings: Settings, client: Client) -> Self {
        let (send, receive) = channel();
        let mut scraper = Self {
            mode: settings.mode,
            interval: settings.interval,
            selection: Arc::new(settings.selection),
            client,
            pool: Pool::new(MAX_REQUESTS),
            router: settings.router,
            discover: settings.discover,
            engines: BTreeMap::new(),
            told: Told::new(settings.placements),
            fallen: None,
            router_in_flight: false,
            list_in_flight: false,
            listed_at: None,
            asked_list: false,
            waiting: None,
            round: None,
            gaps: Gaps::default(),
            means: Means::default(),
            in_flight: 0,
            answers: 0,
            lines: 0,
            send,
            receive,
            outputs: Vec::new(),
        };
        scraper.set_engines(settings.engines);
        scraper
    }

    /// Replaces the engines that were given. Those that a router named stay.
    pub fn set_engines(&mut self, engines: Vec<Address>) {
        let keys: HashSet<&str> = engines.iter().map(Address::key).collect();
        self.forget(|key, engine| engine.source == Source::Given && !keys.contains(key));
        for address in engines {
            self.know(address, None, Source::Given);
        }
    }

    /// Requests that are not answered yet.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
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
        std::mem::take(&mut self.outputs)
    }

    /// A line of `topology` was lost: it comes again with the next round.
    pub fn tell_topology_again(&mut self) {
        self.told.forget();
    }

    /// Begins a round whose records carry `ts`, Unix seconds.
    pub fn begin(&mut self, ts: f64) {
        let round = Round { ts, begun: Instant::now() };
        self.round = Some(round);
        if self.wants_list() && !self.list_in_flight && self.listed_at.is_none_or(|at| at.elapsed() >= RELIST)
        {
            self.ask_list(round);
        }
        // Before the first list is there nobody knows whom to ask.
        if self.list_in_flight && !self.asked_list && self.mode != Mode::Router {
            self.waiting = Some(round);
            return;
        }
        self.launch(round);
    }

    /// Takes one answer if it comes within `wait`; answers whether one did.
    pub fn receive(&mut self, wait: Duration) -> bool {
        // The sender of its own keeps the channel open.
        let Ok(done) = self.receive.recv_timeout(wait) else { return false };
        self.in_flight -= 1;
        match (done.asked, done.got) {
            (Asked::Engine(key), Got::Metrics(answer)) => self.engine_answered(&key, answer, done.round),
            (Asked::Router, Got::Metrics(answer)) => {
                self.router_in_flight = false;
                self.router_answered(answer, done.round);
            }
            (Asked::Probe, Got::Metrics(answer)) => {
                self.router_in_flight = false;
                self.probe_answered(answer);
            }
            (_, Got::Workers(workers)) => {
                self.list_in_flight = false;
                self.list_answered(workers, done.round);
            }
            (Asked::List, Got::Metrics(_)) => {}
        }
        true
    }

    fn wants_list(&self) -> bool {
        let unknown = self.mode == Mode::Direct && !self.has(Source::Given);
        self.router.is_some() && (self.discover || unknown || self.fallen.is_some())
    }

    fn has(&self, source: Source) -> bool {
        self.engines.values().any(|engine| engine.source == source)
    }

    /// Whether the engines are asked themselves.
    fn is_direct(&self) -> bool {
        let known = match self.mode {
            Mode::Direct => true,
            Mode::Auto => {
                self.router.is_none()
                    || self.has(Source::Given)
                    || (self.discover && self.has(Source::Listed))
            }
            Mode::Router => false,
        };
        known || (self.fallen.is_some() && !self.engines.is_empty())
    }

    fn launch(&mut self, round: Round) {
        self.tell_topology(round.ts);
        if !self.is_direct() {
            if !self.router_in_flight {
                self.ask(Asked::Router, round);
            }
            return;
        }
        if self.engines.is_empty() {
            let why = match &self.router {
                Some(router) => format!("{}: lists no workers", router.text()),
                None => "no engine is known yet".to_owned(),
            };
            self.miss("engines", &why, "nothing can be scraped until there are some");
        }
        self.tell_of_fall();
        let keys: Vec<String> = self.engines.keys().cloned().collect();
        for key in keys {
            self.ask(Asked::Engine(key), round);
        }
        let due = self.fallen.as_ref().is_some_and(|fallen| Instant::now() >= fallen.retry_at);
        if due && !self.router_in_flight {
            self.ask(Asked::Probe, round);
        }
    }

    fn ask(&mut self, asked: Asked, round: Round) {
        let (url, suspect, of_router) = match &asked {
            Asked::Engine(key) => {
                let Some(engine) = self.engines.get_mut(key).filter(|engine| !engine.in_flight) else {
                    return;
                };
                engine.in_flight = true;
                (engine.address.url(METRICS), self.gaps.has(engine.address.text()), false)
            }
            Asked::Router | Asked::Probe | Asked::List => {
                let Some(router) = &self.router else { return };
                self.router_in_flight |= asked != Asked::List;
                (router.url(ENGINE_METRICS), false, true)
            }
        };
        let (client, selection, send) = (self.client.clone(), Arc::clone(&self.selection), self.send.clone());
        self.in_flight += 1;
        self.pool.submit(suspect, move || {
            let answer = client.get(&url).map(|text| read(&text, &selection, of_router));
            // Nobody listens any more when the tool ends.
            let _ = send.send(Done { asked, round, got: Got::Metrics(answer) });
        });
    }

    fn ask_list(&mut self, round: Round) {
        let Some(router) = self.router.clone() else { return };
        self.list_in_flight = true;
        self.listed_at = Some(Instant::now());
        self.in_flight += 1;
        let (client, send) = (self.client.clone(), self.send.clone());
        self.pool.submit(self.gaps.has(router.text()), move || {
            let workers = list(&client, &router);
            let _ = send.send(Done { asked: Asked::List, round, got: Got::Workers(workers) });
        });
    }

    fn engine_answered(&mut self, key: &str, answer: Result<Answer, FetchError>, round: Round) {
        self.answers += u64::from(answer.is_ok());
        // One that is gone meanwhile: its records would belong to no topology.
        let Some(engine) = self.engines.get_mut(key) else { return };
        engine.in_flight = false;
        let (addr, url) = (engine.address.text().to_owned(), engine.address.url(METRICS));
        match answer {
            Ok(mut answer) => {
                self.remark(&url, &answer);
                if answer.values.is_empty() {
                    let (why, hint) = nothing_known(&url, &answer);
                    self.miss(&addr, &why, hint);
                    return;
                }
                self.back(&addr);
                self.emit(&[(addr, std::mem::take(&mut answer.values))], round);
            }
            Err(error) => self.miss(&addr, &format!("{url}: {error}"), hint(&error, METRICS)),
        }
    }

    fn router_answered(&mut self, answer: Result<Answer, FetchError>, round: Round) {
        self.answers += u64::from(answer.is_ok());
        let Some(router) = self.router.clone() else { return };
        let url = router.url(ENGINE_METRICS);
        let (why, hint) = match answer {
            Ok(answer) if !answer.values.is_empty() => {
                self.remark(&url, &answer);
                self.fallen = None;
                self.back(router.text());
                self.spread(answer.values, &router, round);
                return;
            }
            Ok(answer) => nothing_known(&url, &answer),
            Err(error) => (format!("{url}: {error}"), hint(&error, ENGINE_METRICS)),
        };
        let retry_at = Instant::now() + RETRY_ROUTER;
        self.fallen = Some(Fallen { why: why.clone(), told: false, retry_at });
        if !self.engines.is_empty() {
            self.launch(round);
            return;
        }
        // Whom else to ask only the router itself can say.
        self.miss(router.text(), &why, hint);
        if !self.list_in_flight {
            self.ask_list(round);
            self.waiting = Some(round);
        }
    }

    /// Hands a router's values to the engines that they are of, and finds those that are missing.
    fn spread(&mut self, values: Vec<Value>, router: &Address, round: Round) {
        let mut by_engine: Vec<(String, Vec<Value>)> = Vec::new();
        let mut present: HashSet<String> = HashSet::new();
        for value in values {
            // What names no engine is the router's own, whatever that may mean: better than lost.
            let address = value.worker.as_deref().and_then(|worker| Address::labelled(worker).ok());
            let addr = match address {
                Some(address) => {
                    let key = address.key().to_owned();
                    present.insert(key.clone());
                    self.know(address, None, Source::Seen);
                    self.engines.get(&key).map(|engine| engine.address.text().to_owned())
                }
                None => Some(router.text().to_owned()),
            };
            let Some(addr) = addr else { continue };
            match by_engine.last_mut().filter(|(last, _)| *last == addr) {
                Some((_, values)) => values.push(value),
                None => by_engine.push((addr, vec![value])),
            }
        }
        self.emit(&by_engine, round);
        let known = self.engines.iter().map(|(key, engine)| (present.contains(key), engine));
        let known: Vec<_> = known.map(|(here, engine)| (here, engine.address.text().to_owned())).collect();
        for (here, addr) in known {
            if here {
                self.back(&addr);
            } else {
                let why = format!("{addr}: missing from the answer of {}", router.url(ENGINE_METRICS));
                self.miss(&addr, &why, "a router leaves out who does not answer: is that engine alive?");
            }
        }
    }

    fn probe_answered(&mut self, answer: Result<Answer, FetchError>) {
        let Some(router) = self.router.clone() else { return };
        let works = matches!(&answer, Ok(answer) if !answer.values.is_empty());
        if works && self.fallen.take().is_some() {
            // Its values are those that the engines have told themselves this round.
            self.outputs.push(Output::Note(format!("{}: works again", router.url(ENGINE_METRICS))));
        } else if let Some(fallen) = &mut self.fallen {
            fallen.retry_at = Instant::now() + RETRY_ROUTER;
        }
    }

    fn list_answered(&mut self, workers: Result<Vec<Worker>, FetchError>, round: Round) {
        self.asked_list = true;
        let Some(router) = self.router.clone() else { return };
        let name = format!("{} (workers)", router.text());
        match workers {
            Ok(workers) => {
                self.back(&name);
                self.relist(workers);
                self.tell_topology(round.ts);
            }
            Err(error) => {
                let why = format!("{}: cannot list its workers: {error}", router.text());
                self.miss(&name, &why, hint(&error, workers::LISTS[0]));
            }
        }
        let Some(round) = self.waiting.take() else { return };
        // With nobody else to ask, a router that has just failed is not asked again at once.
        if self.fallen.is_none() || !self.engines.is_empty() {
            self.launch(round);
        }
    }

    /// Takes over a router's list: new engines come, those that it named before and does not now go.
    fn relist(&mut self, workers: Vec<Worker>) {
        let keys: HashSet<&str> = workers.iter().map(|worker| worker.address.key()).collect();
        let gone = self.forget(|key, engine| engine.source != Source::Given && !keys.contains(key));
        for addr in gone {
            self.outputs.push(Output::Note(format!("{addr}: no longer listed by the router")));
        }
        for Worker { address, worker_type } in workers {
            self.know(address, worker_type, Source::Listed);
        }
    }

    fn know(&mut self, address: Address, worker_type: Option<String>, source: Source) {
        match self.engines.get_mut(address.key()) {
            Some(engine) => {
                engine.worker_type = worker_type.or(engine.worker_type.take());
                if engine.source == Source::Seen || source == Source::Given {
                    engine.source = source;
                }
            }
            None => {
                let key = address.key().to_owned();
                self.engines.insert(key, Engine { address, worker_type, source, in_flight: false });
            }
        }
    }

    /// Forgets the engines that `which` is true of; answers their addresses.
    fn forget(&mut self, which: impl Fn(&str, &Engine) -> bool) -> Vec<String> {
        let gone: Vec<String> = self
            .engines
            .iter()
            .filter(|(key, engine)| which(key, engine))
            .map(|(key, _)| key.clone())
            .collect();
        let gone = gone.into_iter().filter_map(|key| self.engines.remove(&key));
        let gone: Vec<String> = gone.map(|engine| engine.address.text().to_owned()).collect();
        for addr in &gone {
            self.gaps.forget(addr);
            self.means.forget(addr);
        }
        gone
    }

    fn tell_topology(&mut self, ts: f64) {
        if !self.discover && !self.told.has_places() {
            return;
        }
        let engines = self.engines.values().filter(|engine| engine.source != Source::Seen);
        let engines = engines.map(|engine| (&engine.address, engine.worker_type.as_deref()));
        self.outputs.extend(self.told.line(ts, engines).map(Output::Topology));
    }

    /// Says once that the engines are asked instead of the router.
    fn tell_of_fall(&mut self) {
        let count = self.engines.len();
        let Some(fallen) = self.fallen.as_mut().filter(|fallen| !fallen.told && count > 0) else { return };
        fallen.told = true;
        let engines =
            if count == 1 { "its engine is".to_owned() } else { format!("its {count} engines are") };
        let every = RETRY_ROUTER.as_secs();
        let text = format!(
            "{}; {engines} scraped directly from now on, and the router is tried again every {every} s",
            fallen.why
        );
        self.outputs.push(Output::Warning(text));
    }

    /// Passes lines on, of one answer.
    fn emit(&mut self, engines: &[(String, Vec<Value>)], round: Round) {
        let late = round.begun.elapsed() > self.interval;
        let ts = if late { unix_now() } else { round.ts };
        let mut out = Vec::new();
        for (addr, values) in engines {
            let mut values = values.clone();
            self.means.add(addr, &mut values, &self.selection);
            emit::lines(ts, addr, &values, &self.selection, &mut out);
            self.lines += values.len() as u64;
        }
        self.outputs.push(Output::Lines(out));
    }

    /// Says what was odd about an answer.
    fn remark(&mut self, url: &str, answer: &Answer) {
        let name = format!("{url} malformed");
        match answer.first_malformed {
            Some(first) => {
                let lines = if answer.malformed == 1 { "line" } else { "lines" };
                let why = format!("{url}: {} {lines} skipped, not of the format ({first})", answer.malformed);
                self.miss(&name, &why, "the rest is used; does something rewrite that answer?");
            }
            None => self.gaps.forget(&name),
        }
        let name = format!("{url} not finite");
        if answer.not_finite == 0 {
            self.gaps.forget(&name);
        } else if let Some(text) = self.gaps.miss(&name, "left out, being no finite numbers", Instant::now())
        {
            self.outputs.push(Output::Note(format!("{url}: {} values {text}", answer.not_finite)));
        }
    }

    fn miss(&mut self, name: &str, why: &str, hint: &str) {
        if let Some(text) = self.gaps.miss(name, why, Instant::now()) {
            self.outputs.push(Output::Warning(format!("{text}; hint: {hint}")));
        }
    }

    fn back(&mut self, name: &str) {
        if let Some(text) = self.gaps.back(name, Instant::now()) {
            self.outputs.push(Output::Warning(format!("{name}: {text}")));
        }
    }
}

/// The workers of a router, wherever it lists them.
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

/// What is wrong with an answer without a known metric, and what to try.
fn nothing_known(url: &str, answer: &Answer) -> (String, &'static str) {
    let (samples, of_sglang) = (answer.samples, answer.of_sglang);
    let hint = match (samples, of_sglang) {
        (0, _) => "start the engine with --enable-metrics; it exposes nothing before its first request",
        (_, 0) => {
            "is this an sglang engine? A router's own metrics have another port and are not those of its engines"
        }
        _ => "other metrics than these are selected: --metrics takes names as the engine exposes them",
    };
    (format!("no known metrics at {url} ({samples} samples, {of_sglang} of sglang)"), hint)
}

/// What to try.
fn hint(error: &FetchError, path: &str) -> &'static str {
    match error {
        FetchError::Timeout(_) => "an engine that loads or is stuck answers late; --timeout gives it longer",
        FetchError::Refused => "is it running, and is this its port?",
        FetchError::NoHost => "is the name right, and known on this host?",
        FetchError::Status { status: 401 | 403, .. } => "it wants a key, or somebody in between does",
        FetchError::Status { status: 404, .. } if path == METRICS => "start the engine with --enable-metrics",
        FetchError::Status { .. } if path == ENGINE_METRICS => {
            "name the engines with --engine to scrape them without the router"
        }
        FetchError::Status { .. } => "is this the right port?",
        FetchError::TooLarge => "is this an engine's /metrics?",
        FetchError::Other(_) => "curl shows more",
    }
}

fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
