//! `meta.json`, `lane_catalog.json` and `topology`: what the run is and where its engines are.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use super::Telemetry;
use super::clock::Ms;
use super::cluster::Engine;
use super::engines::concurrency;
use super::line::{push_int, push_time};

/// `meta.json`, as Python's `json` indents it.
pub(super) fn meta(telemetry: &Telemetry) -> String {
    let settings = &telemetry.settings;
    let mut start = Vec::new();
    push_time(&mut start, telemetry.timeline.start);
    let mut text = format!(
        "{{\n \"run_name\": \"miles-demo\",\n \"start_ts\": {},\n \"args\": {{",
        String::from_utf8_lossy(&start)
    );
    // A third more than are ever sent, in steps of 8.
    let most_running = ((concurrency(telemetry) * 4.0 / 3.0 / 8.0).ceil() * 8.0) as u64;
    let args = [
        ("colocate", "true".to_owned()),
        ("partial_rollout", "true".to_owned()),
        ("num_nodes", settings.nodes.to_string()),
        ("num_gpus_per_node", settings.gpus.to_string()),
        ("rollout_batch_size", settings.prompts.to_string()),
        ("n_samples_per_prompt", settings.samples_per_prompt.to_string()),
        ("rollout_max_response_len", settings.max_response.to_string()),
        ("sglang_max_running_requests", most_running.to_string()),
        ("sglang_mem_fraction_static", "0.8".to_owned()),
        ("use_miles_router", "false".to_owned()),
        ("router_dp_aware", "false".to_owned()),
        ("sglang_router_policy", "\"cache_aware\"".to_owned()),
    ];
    for (at, (key, value)) in args.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n  \"{key}\": {value}", if at > 0 { "," } else { "" });
    }
    text + "\n },\n \"schema_version\": 1\n}"
}

/// `lane_catalog.json`, as Python's `json` writes it.
pub(super) fn catalog(telemetry: &Telemetry) -> String {
    let cluster = &telemetry.cluster;
    let mut text = "{\"version\": 1, \"lanes\": {".to_owned();
    for lane in 0..cluster.lanes() {
        let (node, gpu) = cluster.place(lane);
        let engine = cluster.engine_of(lane);
        let Engine { addr, addr_after, .. } = &cluster.engines[engine];
        let after = match engine + 1 == cluster.engines.len() {
            true => format!(", \"{addr_after}\""),
            false => String::new(),
        };
        let _ = write!(
            text,
            "{}\"{node}:{gpu}\": {{\"ranks\": [{lane}], \"engine_addrs\": [\"{addr}\"{after}], \
             \"roles\": [\"rollout\", \"train\"]}}",
            if lane > 0 { ", " } else { "" }
        );
    }
    text + "}}"
}

/// Writes the snapshots of a span: at the start, and when the last engine is back.
pub(super) fn write_topology(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &telemetry.timeline;
    for (at, restarted) in [(timeline.start, false), (timeline.restart.gap.end, true)] {
        if span.contains(&at) {
            out.write_all(&snapshot(telemetry, at, restarted))?;
        }
    }
    Ok(())
}

fn snapshot(telemetry: &Telemetry, at: Ms, restarted: bool) -> Vec<u8> {
    let cluster = &telemetry.cluster;
    let mut line = b"{\"ts\":".to_vec();
    push_time(&mut line, at);
    line.extend_from_slice(b",\"engines\":[");
    for (rank, engine) in cluster.engines.iter().enumerate() {
        let moved = restarted && rank + 1 == cluster.engines.len();
        let addr = if moved { &engine.addr_after } else { &engine.addr };
        let comma = if rank > 0 { "," } else { "" };
        line.extend_from_slice(
            format!("{comma}{{\"addr\":\"{addr}\",\"worker_type\":\"regular\",\"engine_rank\":").as_bytes(),
        );
        push_int(&mut line, rank as i64);
        line.extend_from_slice(b",\"gpus\":[");
        for lane in engine.lanes.clone() {
            let (node, gpu) = cluster.place(lane);
            let comma = if lane > engine.lanes.start { "," } else { "" };
            line.extend_from_slice(format!("{comma}[\"{node}\",{gpu}]").as_bytes());
        }
        line.extend_from_slice(b"],\"gpu_uuids\":[");
        for lane in engine.lanes.clone() {
            line.extend_from_slice(if lane > engine.lanes.start { b",null" } else { b"null" });
        }
        line.extend_from_slice(b"]}");
    }
    line.extend_from_slice(b"]}\n");
    line
}
