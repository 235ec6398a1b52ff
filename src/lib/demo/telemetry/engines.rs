//! `engine_series`: what a scrape of every engine finds.
//!
//! Gauges come from the schedulers, one a data-parallel rank, and are labelled where there are
//! several; counters come from the engine's front end and know no rank.

use std::io::{self, Write};
use std::ops::Range;

use super::Telemetry;
use super::clock::{Ms, SECOND};
use super::line::{push_fixed, push_float, push_time};
use super::load::Load;
use crate::demo::random::{Purpose, Random};

/// Time between two scrapes, and from the full second to the first.
const EVERY: Ms = 2 * SECOND;
const OFFSET: Ms = 500;
/// Requests that are started for each sample of a rollout: turns, and attempts that come to nothing.
const REQUESTS_A_SAMPLE: f64 = 1.6;
/// Share of requests that are aborted: too few for an alarm.
const ABORTED: f64 = 0.02;
const PROMPT_TOKENS: f64 = 180.0;
/// Tokens of a response, as a share of the longest.
const RESPONSE: f64 = 0.55;
/// More samples are started than a step needs.
const OVERSAMPLING: f64 = 1.25;
/// Mean seconds to the first token and to the last; in a saturated engine, where requests queue.
const FIRST_TOKEN_S: (f64, f64) = (0.35, 6.5);
const REQUEST_S: (f64, f64) = (38.0, 61.0);

/// Requests that run at the same time in an engine at most.
pub(super) fn concurrency(telemetry: &Telemetry) -> f64 {
    let samples = f64::from(telemetry.settings.samples());
    (samples * OVERSAMPLING / telemetry.cluster.engines.len() as f64).ceil()
}

/// Gauges of one data-parallel rank.
struct Gauges {
    running: f64,
    queued: f64,
    throughput: f64,
    usage: f64,
    cache_hits: f64,
}

/// Beginning of a line up to the value.
struct Series(Vec<u8>);

impl Series {
    fn new(addr: &str, metric: &str, labels: &str) -> Self {
        let text =
            format!(",\"addr\":\"{addr}\",\"metric\":\"sglang_{metric}\",\"labels\":{{{labels}}},\"value\":");
        Self(text.into_bytes())
    }
}

const GAUGES: [&str; 5] =
    ["num_running_reqs", "num_queue_reqs", "gen_throughput", "token_usage", "cache_hit_rate"];
const COUNTERS: [&str; 8] = [
    "prompt_tokens_total",
    "generation_tokens_total",
    "num_requests_total",
    "num_aborted_requests_total",
    "time_to_first_token_seconds_sum",
    "time_to_first_token_seconds_count",
    "e2e_request_latency_seconds_sum",
    "e2e_request_latency_seconds_count",
];

/// All series of an engine at one address, in the order of a scrape.
fn series(addr: &str, dp: usize) -> (Vec<Series>, Vec<Series>) {
    let gauges = (0..dp).flat_map(|rank| {
        let labels = match dp {
            1 => String::new(),
            _ => format!("\"dp_rank\":\"{rank}\""),
        };
        GAUGES.map(|metric| Series::new(addr, metric, &labels))
    });
    (gauges.collect(), COUNTERS.map(|metric| Series::new(addr, metric, "")).into())
}

/// Writes the scrapes of a span within one hour.
pub(super) fn write(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let Telemetry { cluster, timeline, .. } = telemetry;
    let before: Vec<_> = cluster.engines.iter().map(|engine| series(&engine.addr, engine.dp)).collect();
    let after: Vec<_> = cluster.engines.iter().map(|engine| series(&engine.addr_after, engine.dp)).collect();
    let gap = &timeline.restart.gap;
    let at_restart = telemetry.work.at(&timeline.step(timeline.restart.rid), gap.end);
    let first = (span.start - OFFSET - timeline.start + EVERY - 1).div_euclid(EVERY).max(0);
    let mut time = Vec::new();
    let mut buffer = Vec::new();
    let mut step = timeline.step(timeline.step_at(span.start));
    for tick in first.. {
        let at = timeline.start + OFFSET + tick * EVERY;
        if at >= span.end {
            break;
        }
        if timeline.step_at(at) != step.rid {
            step = timeline.step(timeline.step_at(at));
        }
        let load = telemetry.work.at(&step, at);
        time.clear();
        time.extend_from_slice(b"{\"ts\":");
        push_time(&mut time, at);
        for (at_engine, engine) in cluster.engines.iter().enumerate() {
            let restarts = at_engine + 1 == cluster.engines.len();
            if restarts && gap.contains(&at) {
                continue;
            }
            let restarted = restarts && at >= gap.end;
            let (gauges, counters) = if restarted { &after[at_engine] } else { &before[at_engine] };
            let mut put = |series: &Series, value: f64, decimals: u32| {
                buffer.extend_from_slice(&time);
                buffer.extend_from_slice(&series.0);
                match decimals {
                    0 => push_fixed(&mut buffer, value as i64, 0),
                    _ => push_float(&mut buffer, value, decimals),
                }
                buffer.extend_from_slice(b"}\n");
            };
            let seed = [tick as u64, at_engine as u64 | 1 << 32];
            let mut random = Random::new(telemetry.settings.seed, Purpose::Telemetry, seed);
            for (rank, gauges) in gauges.chunks_exact(GAUGES.len()).enumerate() {
                let values = look(telemetry, at_engine, rank, engine.dp, &load, &mut random);
                put(&gauges[0], values.running, 0);
                put(&gauges[1], values.queued, 0);
                put(&gauges[2], values.throughput, 2);
                put(&gauges[3], values.usage, 3);
                put(&gauges[4], values.cache_hits, 3);
            }
            let begin = if restarted { at_restart } else { Load::default() };
            for (series, (value, decimals)) in counters.iter().zip(count(telemetry, at_engine, &load, &begin))
            {
                put(series, value, decimals);
            }
        }
        out.write_all(&buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// An engine's share of all work, around the mean.
fn share(telemetry: &Telemetry, engine: usize) -> f64 {
    let mut random = Random::new(telemetry.settings.seed, Purpose::Telemetry, [u64::MAX, engine as u64]);
    (0.95 + 0.1 * f64::from(random.unit())) / telemetry.cluster.engines.len() as f64
}

fn look(
    telemetry: &Telemetry,
    engine: usize,
    rank: usize,
    dp: usize,
    load: &Load,
    random: &mut Random,
) -> Gauges {
    if load.level <= 0.0 {
        return Gauges { running: 0.0, queued: 0.0, throughput: 0.0, usage: 0.0, cache_hits: 0.0 };
    }
    let noise = f64::from(random.unit());
    let ranks = dp as f64;
    // The router does not share quite evenly.
    let part = if dp == 1 { 1.0 } else { (1.0 + 0.1 * (0.5 - rank as f64).signum()) / ranks };
    let most = concurrency(telemetry) * part;
    let saturated = load.saturated && engine == 0 && (0.12..0.9).contains(&load.progress);
    // Without room for another request they wait, the more the longer the others' responses get.
    let waiting = if saturated { 0.1 + 0.25 * load.progress } else { 0.0 };
    let wanted = if saturated { most } else { most * load.level };
    let queued = (wanted * waiting).round();
    let running = (wanted - queued + noise - 0.5).round().clamp(1.0, most.max(1.0));
    let tokens = token_rate(telemetry, engine) * load.per_second * part;
    let usage = match saturated {
        true => 0.956 + 0.036 * noise,
        false => load.level * (0.16 + 0.62 * load.progress) + 0.02 * noise,
    };
    Gauges {
        running,
        queued,
        throughput: tokens * (0.96 + 0.08 * noise),
        usage,
        cache_hits: 0.34 + 0.22 * f64::from(random.unit()),
    }
}

/// Tokens that an engine generates in a rollout.
fn token_rate(telemetry: &Telemetry, engine: usize) -> f64 {
    let settings = &telemetry.settings;
    let tokens = f64::from(settings.samples()) * f64::from(settings.max_response) * RESPONSE * OVERSAMPLING;
    tokens * share(telemetry, engine)
}

/// Values of the [`COUNTERS`] and their decimals, counted from `begin` on.
fn count(telemetry: &Telemetry, engine: usize, load: &Load, begin: &Load) -> [(f64, u32); 8] {
    let done = load.done - begin.done;
    let saturated = if engine == 0 { load.done_saturated - begin.done_saturated } else { 0.0 };
    let requests = f64::from(telemetry.settings.samples()) * REQUESTS_A_SAMPLE * share(telemetry, engine);
    let finished = (requests * done).floor();
    let seconds = |(usual, slow): (f64, f64)| requests * (usual * (done - saturated) + slow * saturated);
    [
        ((requests * PROMPT_TOKENS * done).floor(), 0),
        ((token_rate(telemetry, engine) * done).floor(), 0),
        (finished, 0),
        ((requests * ABORTED * done).floor(), 0),
        (seconds(FIRST_TOKEN_S), 3),
        (finished, 0),
        (seconds(REQUEST_S), 3),
        (finished, 0),
    ]
}
