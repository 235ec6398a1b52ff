//! `miles-scrape`: sglang's metrics to NDJSON.

mod pipe;
mod settings;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{ArgAction, Parser, ValueEnum};

use self::pipe::Pipe;
use self::settings::{Checked, Recorded};
use super::context::say;
use super::exit::{CliError, Exit};
use crate::sglang::{Mode, Output, Placement, Scraper};

/// The tool's name in messages.
pub const TOOL: &str = "miles-scrape";

/// The longest that a signal, or a reader that is gone, is not noticed.
const NOTICE: Duration = Duration::from_millis(100);
/// Lines about what is wrong, in [`TALK_PERIOD`]: a rack that goes down is one story, not 64.
const TALK_LINES: u32 = 8;
/// See [`TALK_LINES`].
const TALK_PERIOD: Duration = Duration::from_secs(10);

/// sglang's metrics to NDJSON
///
/// Scrapes engines, or a router's aggregate of them, and writes records of the streams engine_series and
/// topology to stdout, one JSON object a line.
#[derive(Debug, Parser)]
#[command(
    name = "miles-scrape",
    version,
    max_term_width = 100,
    after_help = "\
Who is asked (--mode auto): each engine at /metrics when addresses are known (--engine, --topology or
--discover), else the router at /engine_metrics. A router that fails is replaced by its engines where
their addresses are known (it lists its workers, or was heard of them before), and is tried again every
30 s. An engine that was known and is missing from a router's answer is told as a gap.

One value a scrape for each engine, metric, engine_type and dp_rank. The lowest rank of tensor, pipeline
and expert parallelism speaks for all; a series without a priority is the total of those with one; parts
told apart by anything else (is_streaming, model_name) add up, and shares and durations among the gauges
become their mean. What is missing is a gap, never 0. A histogram is its _sum and _count.

No proxy is taken from the environment. An engine has --timeout seconds and 16 MiB for its answer. A
reader of stdout that stalls loses scrapes, which are counted on stderr.

Exit status: 0 also when interrupted or when the reader goes away; 69 when --once reaches nobody; 2 when
it reaches somebody without a known metric.

Examples:
  miles-scrape --router http://head:30000 --discover | miles-collect -d RUN
  miles-scrape --engine http://node-1:15000 --engine http://node-2:15000 --once
  miles-scrape --topology RUN --interval 5 --metrics num_running_reqs,token_usage
  miles-scrape --router head:30000 --discover --gpus http://node-1:15000=node-1:0-7
  miles-scrape --engine node-1:15000 --once | jq -r '[.addr, .metric, .value] | @tsv'"
)]
pub struct ScrapeArgs {
    /// Router of the engines
    #[arg(long, value_name = "URL")]
    pub router: Option<String>,

    /// An engine; repeatable
    #[arg(long, value_name = "URL", value_delimiter = ',', conflicts_with = "topology")]
    pub engine: Vec<String>,

    /// Run directory whose newest topology record names the engines; read again when it grows
    #[arg(long, value_name = "DIR")]
    pub topology: Option<std::path::PathBuf>,

    /// Who is asked
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub mode: ModeArg,

    /// Seconds from one scrape to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub interval: f64,

    /// Seconds that one request may take, all in all
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub timeout: f64,

    /// These metrics instead of the usual ones, as sglang:x, sglang_x or x; a histogram by its own name
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub metrics: Option<Vec<String>>,

    /// Scrape once and end
    #[arg(long)]
    pub once: bool,

    /// Ask the router for its workers, and write a topology record when they change
    #[arg(long, requires = "router")]
    pub discover: bool,

    /// GPUs of an engine, for topology records; repeatable. An engine without is external
    #[arg(long, value_name = "ADDR=NODE:0-7")]
    pub gpus: Vec<Placement>,

    /// Authorities that https trusts, PEM, instead of the built-in ones of Mozilla
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<std::path::PathBuf>,

    /// No warnings on stderr; errors stay
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more on stderr
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Each engine when addresses are known, else the router
    Auto,
    /// The router; each engine while it fails, where addresses are known
    Router,
    /// Each engine
    Direct,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Auto => Self::Auto,
            ModeArg::Router => Self::Router,
            ModeArg::Direct => Self::Direct,
        }
    }
}

/// Runs the tool.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(args: ScrapeArgs) -> Result<Exit, CliError> {
    let (once, talk) = (args.once, Talk::new(args.quiet, args.verbose));
    let Checked { settings, client, interval, recorded } = settings::check(args)?;
    stop_on_signals();
    let run = Run { scraper: Scraper::new(settings, client), pipe: Pipe::stdout(), talk, dropped: 0 };
    if once { run.once() } else { run.forever(interval, recorded) }
}

/// A scraper with its surroundings.
struct Run {
    scraper: Scraper,
    pipe: Pipe,
    talk: Talk,
    /// Scrapes that nobody read.
    dropped: u64,
}

impl Run {
    fn once(mut self) -> Result<Exit, CliError> {
        self.scraper.begin(unix_now());
        self.pass_on();
        while self.scraper.in_flight() > 0 && !self.is_over() {
            self.scraper.receive(NOTICE);
            self.pass_on();
        }
        let (lines, answers) = (self.scraper.lines(), self.scraper.answers());
        let over = self.is_over();
        self.pipe.finish().map_err(cannot_write)?;
        if lines > 0 || over {
            return Ok(Exit::Ok);
        }
        Err(if answers > 0 {
            CliError::new("nothing was scraped: whoever answered has no known metric")
                .with_hint("the warnings say what each answer had")
        } else {
            CliError::new("nothing was scraped: nobody answered")
                .with_hint("the warnings say why; are the engines up?")
                .with_exit(Exit::Unavailable)
        })
    }

    fn forever(mut self, interval: Duration, mut recorded: Option<Recorded>) -> Result<Exit, CliError> {
        let mut ticks = Ticks::new(Instant::now(), interval);
        while !self.is_over() {
            if ticks.is_due(Instant::now()) {
                if let Some(engines) = recorded.as_mut().and_then(|recorded| recorded.again(&mut self.talk)) {
                    self.scraper.set_engines(engines);
                }
                if self.pipe.is_full() {
                    self.drop_one();
                } else {
                    self.scraper.begin(unix_now());
                }
            }
            self.pass_on();
            let wait = ticks.next.saturating_duration_since(Instant::now()).min(NOTICE);
            if self.scraper.receive(wait) {
                self.pass_on();
            }
        }
        self.pipe.finish().map_err(cannot_write)?;
        self.talk.end(self.dropped, self.scraper.lines());
        Ok(Exit::Ok)
    }

    fn is_over(&self) -> bool {
        STOP.load(Ordering::Relaxed) || self.pipe.is_closed()
    }

    fn pass_on(&mut self) {
        for output in self.scraper.outputs() {
            match output {
                Output::Lines(lines) => {
                    if !self.pipe.send(lines) {
                        self.drop_one();
                    }
                }
                Output::Topology(line) => {
                    if !self.pipe.send(line) {
                        self.scraper.tell_topology_again();
                    }
                }
                Output::Warning(text) => self.talk.warn(&text),
                Output::News(text) => self.talk.news(&text),
                Output::Note(text) => self.talk.note(&text),
            }
        }
    }

    fn drop_one(&mut self) {
        self.dropped += 1;
        // Each time that it doubles: the first is news, the thousandth is not.
        if self.dropped.is_power_of_two() && !self.pipe.is_closed() {
            let count = self.dropped;
            self.talk.warn(&format!(
                "stdout is not read: scrapes dropped, {count} so far; hint: is the reader stuck, or its disk?"
            ));
        }
    }
}

/// When to scrape: at multiples of the interval after the start, so that no delay adds up.
struct Ticks {
    next: Instant,
    interval: Duration,
}

impl Ticks {
    fn new(start: Instant, interval: Duration) -> Self {
        Self { next: start, interval }
    }

    /// Whether a tick is due. One that was slept through is left out, not made up for.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = now >= self.next;
        while self.next <= now {
            let behind = now.duration_since(self.next).as_nanos() / self.interval.as_nanos().max(1);
            let ticks = u32::try_from(behind).unwrap_or(u32::MAX).saturating_add(1);
            self.next += self.interval.saturating_mul(ticks);
        }
        due
    }
}

fn cannot_write(error: std::io::Error) -> CliError {
    CliError::new(format!("stdout: {error}")).with_hint("is the disk full?")
}

fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// What is said on stderr, a bounded number of lines at a time.
struct Talk {
    quiet: bool,
    verbose: u8,
    period: Instant,
    lines: u32,
    held_back: u64,
}

impl Talk {
    fn new(quiet: bool, verbose: u8) -> Self {
        Self { quiet, verbose, period: Instant::now(), lines: 0, held_back: 0 }
    }

    fn warn(&mut self, text: &str) {
        self.tell(&format!("warning: {text}"));
    }

    fn news(&mut self, text: &str) {
        self.tell(text);
    }

    fn tell(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        if self.period.elapsed() >= TALK_PERIOD {
            self.tell_held_back();
            (self.period, self.lines) = (Instant::now(), 0);
        }
        self.lines += 1;
        if self.lines <= TALK_LINES || self.verbose > 0 {
            say(TOOL, text);
        } else {
            self.held_back += 1;
        }
    }

    fn note(&self, text: &str) {
        if self.verbose > 0 {
            say(TOOL, text);
        }
    }

    fn tell_held_back(&mut self) {
        if self.held_back > 0 {
            say(TOOL, &format!("{} more lines like these; hint: -v shows all", self.held_back));
            self.held_back = 0;
        }
    }

    fn end(&mut self, dropped: u64, lines: u64) {
        if !self.quiet {
            self.tell_held_back();
            if dropped > 0 {
                say(TOOL, &format!("warning: {dropped} scrapes dropped in all: stdout was not read"));
            }
        }
        self.note(&format!("{lines} records"));
    }
}

/// Set by a signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// Lets SIGINT and SIGTERM end the tool in order; a second one ends it at once.
fn stop_on_signals() {
    extern "C" fn stop(signal: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
        // SAFETY: plain numbers, and async-signal-safe.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: storing to an atomic and signal(2) are async-signal-safe.
        unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_drift_and_those_slept_through_are_left_out() {
        let (start, interval) = (Instant::now(), Duration::from_millis(200));
        let mut ticks = Ticks::new(start, interval);
        let mut seen = Vec::new();
        for at in [0, 1, 199, 215, 390, 400, 401, 1_399, 1_400, 1_401, 100_000_050, 100_000_200] {
            if ticks.is_due(start + Duration::from_millis(at)) {
                seen.push(at);
            }
            assert_eq!(ticks.next.duration_since(start).as_millis() % 200, 0);
        }
        assert_eq!(seen, [0, 215, 400, 1_399, 1_400, 100_000_050, 100_000_200]);
    }
}
