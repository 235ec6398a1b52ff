//! The latest values of a run over HTTP, and the Grafana dashboard that asks for them.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/collector.rs"]
mod collector;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use collector::{Collector, buffered, get};
use serde_json::Value;

const ENGINE: [&str; 17] = [
    "sglang_num_running_reqs",
    "sglang_num_queue_reqs",
    "sglang_gen_throughput",
    "sglang_token_usage",
    "sglang_cache_hit_rate",
    "sglang_prompt_tokens_total",
    "sglang_generation_tokens_total",
    "sglang_num_requests_total",
    "sglang_num_aborted_requests_total",
    "sglang_time_to_first_token_seconds_sum",
    "sglang_time_to_first_token_seconds_count",
    "sglang_inter_token_latency_seconds_sum",
    "sglang_inter_token_latency_seconds_count",
    "sglang_time_per_output_token_seconds_sum",
    "sglang_time_per_output_token_seconds_count",
    "sglang_e2e_request_latency_seconds_sum",
    "sglang_e2e_request_latency_seconds_count",
];

fn start(run: &Path) -> (Collector, String) {
    let collector = Collector::start(run, &["--metrics-listen", "127.0.0.1:0", "--flush-interval", "0.05"]);
    collector.wait_for("metrics at http://");
    let url = collector.said().split("metrics at ").nth(1).unwrap().lines().next().unwrap().to_owned();
    (collector, url)
}

/// What the default set of the scraper, a sampler and a training job send.
fn records() -> String {
    let mut text = String::from(concat!(
        "{\"stream\":\"gpu_util\",\"ts\":1769907600.5,\"node\":\"n\",\"gpu\":3,\"util\":97,\"mem_mb\":60000,\"power_w\":640}\n",
        "{\"stream\":\"metrics\",\"ts\":1769907600.5,\"step_key\":\"rollout/step\",\"step\":1,\"metrics\":{\"rollout/reward\":0.25}}\n",
    ));
    for (n, metric) in ENGINE.iter().enumerate() {
        text.push_str(&format!(
            "{{\"stream\":\"engine_series\",\"ts\":1769907600.5,\"addr\":\"http://a:1\",\"metric\":\"{metric}\",\"labels\":{{\"dp_rank\":\"0\"}},\"value\":{n}.5}}\n"
        ));
    }
    text + &buffered(7)
}

#[test]
fn the_latest_values_are_served() {
    let run = tempfile::tempdir().unwrap();
    let (collector, url) = start(run.path());
    let newer = records().replace("\"util\":97", "\"util\":3").replace(".5,\"node\"", ".75,\"node\"");
    collector.send(records() + "nonsense\n" + &newer);
    let all = 2 * records().lines().count();
    let written = |page: &str| -> u64 {
        let counts = page.lines().filter_map(|line| line.strip_prefix("miles_collect_written_total"));
        counts.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    collector.wait_until("all written", || written(&get(&url)) == all as u64);
    let page = get(&url);
    for line in [
        "miles_gpu_util_percent{node=\"n\",gpu=\"3\"} 3",
        "miles_gpu_mem_mib{node=\"n\",gpu=\"3\"} 60000",
        "miles_gpu_power_watts{node=\"n\",gpu=\"3\"} 640",
        "sglang_num_running_reqs{addr=\"http://a:1\",dp_rank=\"0\"} 0.5",
        "miles_data_buffer_length 7",
        "miles_logged_metric{name=\"rollout/reward\"} 0.25",
        "miles_collect_records_total{stream=\"gpu_util\"} 2",
        "miles_collect_dropped_total{stream=\"gpu_util\"} 0",
        "miles_collect_bad_lines_total 1",
        "miles_collect_flush_failures_total 0",
    ] {
        assert!(page.lines().any(|have| have == line), "no {line} in\n{page}");
    }
    collector.wait_until("producers gone", || get(&url).contains("\nmiles_collect_producers 0\n"));
    let open = collector.connect();
    collector.wait_until("a producer", || get(&url).contains("\nmiles_collect_producers 1\n"));
    drop(open);
    // Whoever asks badly, or not at all, holds nothing up.
    let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let _silent: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(host).unwrap()).collect();
    let mut rude = TcpStream::connect(host).unwrap();
    rude.write_all(b"\x00\xff nonsense\r\n\r\n").unwrap();
    let mut answer = String::new();
    rude.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert!(get(&url).contains("miles_gpu_util_percent"));
    collector.end_well();
}

#[test]
fn a_page_is_what_prometheus_can_read() {
    let run = tempfile::tempdir().unwrap();
    let (collector, url) = start(run.path());
    collector.send(records());
    collector.wait_until("records", || get(&url).contains("miles_data_buffer_length 7"));
    let (page, mut families, mut typed) = (get(&url), BTreeSet::new(), String::new());
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            family.split_once(' ').unwrap().0.clone_into(&mut typed);
            assert!(families.insert(typed.clone()), "{typed} is there twice");
        } else if !line.starts_with("# HELP ") {
            assert_eq!(line.split(['{', ' ']).next().unwrap(), typed, "{line}");
            assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
        }
    }
    collector.end_well();
}

/// Every `expr` and variable's query of a dashboard.
fn queries(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if key == "expr" || key == "definition" => out.push(text.clone()),
                    value => queries(value, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, out)),
        _ => {}
    }
}

#[test]
fn the_grafana_dashboard_asks_for_nothing_that_is_not_served() {
    let run = tempfile::tempdir().unwrap();
    let (collector, url) = start(run.path());
    collector.send(records());
    collector.wait_until("records", || get(&url).contains("miles_data_buffer_length 7"));
    let page = get(&url);
    collector.end_well();
    let served: BTreeSet<&str> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/grafana/miles-run.json");
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut asked = Vec::new();
    queries(&dashboard, &mut asked);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let names: BTreeSet<&str> = asked
        .iter()
        .flat_map(|query| query.split(|c| !is_name(c)))
        .filter(|word| word.starts_with("miles_") || word.starts_with("sglang_"))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in &names {
        assert!(served.contains(name), "{name} is asked for and not served");
    }
    // And the other way round: what the collector says of itself is shown.
    for name in served.iter().filter(|name| name.starts_with("miles_")) {
        assert!(names.contains(name), "{name} is served and not shown");
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/grafana/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    for name in served.iter().filter(|name| name.starts_with("miles_")) {
        let short = name.strip_prefix("miles_collect").unwrap_or(name);
        assert!(readme.contains(name) || readme.contains(&format!("`{short}`")), "{name} is not explained");
    }
}
