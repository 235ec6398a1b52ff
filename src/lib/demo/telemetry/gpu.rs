//! `gpu_util` and `gpu_processes`: what a sampler on each node sees of its GPUs.

use std::io::{self, Write};
use std::ops::Range;

use super::Telemetry;
use super::activity::{Activity, DRIVER_MB, Lanes};
use super::clock::{Ms, SECOND};
use super::line::{push_int, push_time};

/// Time between two readings of a GPU, and between two looks at its processes.
const READ_EVERY: Ms = SECOND;
const PROCESSES_EVERY: Ms = 5 * SECOND;
/// Nodes are not sampled at the same time.
const NODE_OFFSETS: [Ms; 4] = [0, 250, 500, 750];
const TRAINER: &str = "ray::MegatronTrainRayActor.train";

/// One round of a mixer, for readings by the billion: a lane's second names the number.
fn noise(key: u64, second: Ms) -> u64 {
    let mut z = key ^ (second as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// From 0 to `spread`, from 16 bits of noise.
fn within(bits: u64, spread: i64) -> i64 {
    ((bits & 0xffff) as i64 * (spread + 1)) >> 16
}

/// Times of a sampler with this interval that begins with the run.
fn ticks(telemetry: &Telemetry, span: &Range<Ms>, every: Ms) -> impl Iterator<Item = Ms> + use<> {
    let start = telemetry.timeline.start;
    // A tick's nodes follow within the second: the tick before may have nodes in the span.
    let first = (span.start - start).div_euclid(every);
    let last = (span.end - start - 1).div_euclid(every);
    (first.max(0)..=last).map(move |tick| start + tick * every)
}

/// Calls `look` for every lane of every tick in the span, in order of time.
fn sample(
    telemetry: &Telemetry,
    span: &Range<Ms>,
    every: Ms,
    out: &mut dyn Write,
    mut look: impl FnMut(&mut Vec<u8>, Ms, usize, Activity, f64),
) -> io::Result<()> {
    let Telemetry { cluster, timeline, work, .. } = telemetry;
    let mut lanes = Lanes::new(timeline, cluster, work, timeline.step_at(span.start));
    let mut buffer = Vec::new();
    for tick in ticks(telemetry, span, every) {
        for offset in NODE_OFFSETS {
            let at = tick + offset;
            if !span.contains(&at) {
                continue;
            }
            lanes.go_to(at);
            let load = lanes.load(at);
            let group = offset / 250;
            for node in (group as usize..cluster.nodes.len()).step_by(NODE_OFFSETS.len()) {
                for lane in node * cluster.gpus..(node + 1) * cluster.gpus {
                    let activity = lanes.activity(lane, &load, at);
                    look(&mut buffer, at, lane, activity, load.level);
                }
            }
        }
        out.write_all(&buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// Writes the readings of a span within one hour.
pub(super) fn write_util(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let cluster = &telemetry.cluster;
    // What is the same in every line of a lane.
    let middles: Vec<Vec<u8>> = (0..cluster.lanes())
        .map(|lane| {
            let (node, gpu) = cluster.place(lane);
            format!(",\"node\":\"{node}\",\"gpu\":{gpu},\"util\":").into_bytes()
        })
        .collect();
    let mut time = (Ms::MIN, Vec::new());
    sample(telemetry, span, READ_EVERY, out, |line, at, lane, activity, level| {
        if time.0 != at {
            time.0 = at;
            time.1.clear();
            time.1.extend_from_slice(b"{\"ts\":");
            push_time(&mut time.1, at);
        }
        let reading = activity.reading(level);
        let bits = noise(telemetry.key ^ lane as u64, at / SECOND);
        line.extend_from_slice(&time.1);
        line.extend_from_slice(&middles[lane]);
        push_int(line, (reading.util + within(bits, reading.util_spread)).min(100));
        line.extend_from_slice(b",\"mem_mb\":");
        // The cache allocates in small steps, and each GPU has its own surroundings.
        let own = (noise(telemetry.key, lane as Ms) & 0xff) as i64;
        push_int(line, reading.trainer_mb + reading.engine_mb + DRIVER_MB + own + within(bits >> 16, 24));
        line.extend_from_slice(b",\"power_w\":");
        push_int(line, reading.power_w + within(bits >> 32, reading.power_spread));
        line.extend_from_slice(b"}\n");
    })
}

/// Writes the processes seen in a span within one hour: a trainer and an engine on each GPU.
pub(super) fn write_processes(
    telemetry: &Telemetry,
    span: &Range<Ms>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Telemetry { cluster, timeline, .. } = telemetry;
    sample(telemetry, span, PROCESSES_EVERY, out, |line, at, lane, activity, level| {
        let (node, gpu) = cluster.place(lane);
        let reading = activity.reading(level);
        let engine = cluster.engine_of(lane);
        let rank = lane - cluster.engines[engine].lanes.start;
        let restarted = engine + 1 == cluster.engines.len() && at >= timeline.restart.gap.end;
        let pid = 41_000 + gpu as i64;
        // After a restart it is another process.
        let engine_pid = 52_000 + gpu as i64 + if restarted { 9_000 } else { 0 };
        let mut process = |pid: i64, name: &dyn Fn(&mut Vec<u8>), mem_mb: i64| {
            line.extend_from_slice(b"{\"ts\":");
            push_time(line, at);
            line.extend_from_slice(b",\"node\":\"");
            line.extend_from_slice(node.as_bytes());
            line.extend_from_slice(b"\",\"gpu\":");
            push_int(line, gpu as i64);
            line.extend_from_slice(b",\"pid\":");
            push_int(line, pid);
            line.extend_from_slice(b",\"name\":\"");
            name(line);
            line.extend_from_slice(b"\",\"mem_mb\":");
            push_int(line, mem_mb);
            line.extend_from_slice(b"}\n");
        };
        process(pid, &|line| line.extend_from_slice(TRAINER.as_bytes()), reading.trainer_mb);
        if reading.engine_mb > 0 {
            let name = |line: &mut Vec<u8>| {
                line.extend_from_slice(b"sglang::scheduler_TP");
                push_int(line, rank as i64);
            };
            process(engine_pid, &name, reading.engine_mb);
        }
    })
}
