//! From arguments to checked settings, and the engines that a run's records name.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{ScrapeArgs, Talk};
use crate::cli::exit::CliError;
use crate::record::{Engine, Record, Stream};
use crate::sglang::{Address, Client, Mode, Selection, Settings};
use crate::telemetry::{DASHBOARD, Damage, TelemetryError, Window, partitions, scan};

/// Shorter than this, rounds would follow each other without a pause.
const SHORTEST_S: f64 = 0.05;
/// Longer than this, a number is a slip of the pen.
const LONGEST_S: f64 = 86_400.0;

/// What the tool runs with.
pub(super) struct Checked {
    pub settings: Settings,
    pub client: Client,
    pub interval: Duration,
    /// With `--topology`.
    pub recorded: Option<Recorded>,
}

/// Checks the arguments; says what is wrong before anything is asked.
pub(super) fn check(args: ScrapeArgs) -> Result<Checked, CliError> {
    let interval = seconds("--interval", args.interval)?;
    let timeout = seconds("--timeout", args.timeout)?;
    let selection = match &args.metrics {
        None => Selection::default(),
        Some(names) => Selection::new(names).map_err(|error| {
            CliError::usage(format!("--metrics: {error}"))
                .with_hint("names as the engine exposes them; a histogram without _bucket")
        })?,
    };
    let router = args.router.as_deref().map(|text| address("--router", text)).transpose()?;
    let mut engines = Vec::new();
    for text in &args.engine {
        engines.push(address("--engine", text)?);
    }
    let mut recorded = args.topology.map(Recorded::open).transpose()?;
    if let Some(recorded) = &mut recorded {
        engines = recorded.read().map_err(|error| CliError::from_error(&error))?;
    }
    let has_engines = !args.engine.is_empty() || recorded.is_some();
    if router.is_none() && !has_engines {
        return Err(
            CliError::usage("nobody to ask").with_hint("say --router URL, --engine URL or --topology DIR")
        );
    }
    let mode = Mode::from(args.mode);
    if mode == Mode::Router && router.is_none() {
        return Err(CliError::usage("--mode router without a router").with_hint("say --router URL"));
    }
    let pem = match &args.ca_file {
        None => None,
        Some(path) => Some(fs::read(path).map_err(|error| {
            CliError::usage(format!("{}: {error}", path.display())).with_hint("--ca-file takes a PEM file")
        })?),
    };
    let client = Client::new(timeout, interval, pem.as_deref()).map_err(|error| {
        let path = args.ca_file.as_deref().unwrap_or(Path::new("--ca-file"));
        CliError::usage(format!("{}: {error}", path.display())).with_hint("--ca-file takes a PEM file")
    })?;
    let settings = Settings {
        mode,
        interval,
        selection,
        engines,
        router,
        discover: args.discover,
        placements: args.gpus,
    };
    Ok(Checked { settings, client, interval, recorded })
}

fn seconds(name: &str, value: f64) -> Result<Duration, CliError> {
    if !(SHORTEST_S..=LONGEST_S).contains(&value) {
        let hint = format!("from {SHORTEST_S} to {LONGEST_S} seconds");
        return Err(CliError::usage(format!("{name} {value} cannot be")).with_hint(hint));
    }
    Ok(Duration::from_secs_f64(value))
}

fn address(name: &str, text: &str) -> Result<Address, CliError> {
    Address::parse(text)
        .map_err(|error| CliError::usage(format!("{name}: {error}")).with_hint("http://HOST:PORT, say"))
}

/// The engines of a run's newest `topology` record.
pub(super) struct Recorded {
    dashboard: PathBuf,
    /// Length and time of each file at the last look.
    seen: Vec<(PathBuf, u64, Option<SystemTime>)>,
}

impl Recorded {
    fn open(run: PathBuf) -> Result<Self, CliError> {
        if !run.is_dir() {
            return Err(CliError::usage(format!("{}: there is no such directory", run.display()))
                .with_hint("--topology takes the directory that the job was given as --dump-details"));
        }
        Ok(Self { dashboard: run.join(DASHBOARD), seen: Vec::new() })
    }

    fn look(&self) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
        let files = partitions(&self.dashboard, Stream::Topology).unwrap_or_default();
        let stat = |path: PathBuf| {
            let data = fs::metadata(&path).ok()?;
            Some((path, data.len(), data.modified().ok()))
        };
        files.into_iter().filter_map(|file| stat(file.path)).collect()
    }

    fn read(&mut self) -> Result<Vec<Address>, TelemetryError> {
        self.seen = self.look();
        let mut newest: Option<(f64, Vec<Engine>)> = None;
        let mut damage = Damage::default();
        scan(&self.dashboard, Stream::Topology, &Window::ALL, &mut damage, |found| {
            if let Record::Topology(topology) = &found.record
                && let Some(ts) = topology.ts
                && newest.as_ref().is_none_or(|(newest, _)| ts >= *newest)
            {
                newest = Some((ts, topology.engines()));
            }
            Ok::<_, TelemetryError>(ControlFlow::Continue(()))
        })?;
        let engines = newest.map(|(_, engines)| engines).unwrap_or_default();
        // What is no address cannot be asked; the record is the job's.
        Ok(engines.iter().filter_map(|engine| Address::recorded(&engine.addr).ok()).collect())
    }

    /// The engines, if the records are others than at the last look. A file that cannot be read now is looked
    /// at again the next time.
    pub fn again(&mut self, talk: &mut Talk) -> Option<Vec<Address>> {
        if self.look() == self.seen {
            return None;
        }
        match self.read() {
            Ok(engines) => Some(engines),
            Err(error) => {
                self.seen.clear();
                talk.warn(&error.to_string());
                None
            }
        }
    }
}
