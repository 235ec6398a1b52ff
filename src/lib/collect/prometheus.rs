//! The latest values as Prometheus text.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::buffer::{STREAMS, Tally};
use super::ingest::Counters;
use super::latest::Values;
use crate::record::Stream;

/// Everything that the page shows.
pub(super) struct Shown<'a> {
    pub values: &'a Values,
    pub tallies: [Tally; STREAMS],
    pub counters: &'a Counters,
    /// Bytes of records that wait.
    pub memory: usize,
}

/// The text of a page.
pub(super) fn page(shown: &Shown<'_>) -> String {
    let mut out = String::new();
    gpus(&mut out, shown.values);
    if let Some(queued) = shown.values.queued {
        family(&mut out, "miles_data_buffer_length", "gauge", "Samples that wait to be trained on.");
        line(&mut out, "miles_data_buffer_length", &[], queued);
    }
    if !shown.values.logged.is_empty() {
        family(&mut out, "miles_logged_metric", "gauge", "Last value that the job logged, by its name.");
        for (name, value) in &shown.values.logged {
            line(&mut out, "miles_logged_metric", &[("name", name)], value);
        }
    }
    engines(&mut out, shown.values);
    collector(&mut out, shown);
    out
}

fn gpus(out: &mut String, values: &Values) {
    type Of = fn(&super::latest::Gpu) -> i64;
    let families: [(&str, &str, Of); 3] = [
        ("miles_gpu_util_percent", "Utilisation of the GPU, percent.", |gpu| gpu.util),
        ("miles_gpu_mem_mib", "Memory of the GPU in use, MiB.", |gpu| gpu.mem_mb),
        ("miles_gpu_power_watts", "Power that the GPU draws, W.", |gpu| gpu.power_w),
    ];
    for (name, help, of) in families.into_iter().filter(|_| !values.gpus.is_empty()) {
        family(out, name, "gauge", help);
        for gpu in &values.gpus {
            line(out, name, &[("node", &gpu.node), ("gpu", &gpu.gpu.to_string())], of(gpu));
        }
    }
}

fn engines(out: &mut String, values: &Values) {
    let mut last = String::new();
    for sample in &values.samples {
        let mut name = name(&sample.metric, true);
        if name.starts_with("miles_") {
            // Ours are not to be mixed with what an engine may call its own.
            name.insert_str(0, "engine_");
        }
        if name != last {
            let counts = ["_total", "_sum", "_count"].iter().any(|end| name.ends_with(end));
            family(out, &name, if counts { "counter" } else { "gauge" }, "As scraped from the engine.");
            last.clone_from(&name);
        }
        let named: Vec<(String, &String)> =
            sample.labels.iter().map(|(label, value)| (self::name(label, false), value)).collect();
        let mut labels = vec![("addr", sample.addr.as_str())];
        for (label, value) in &named {
            if labels.iter().all(|(have, _)| have != label) {
                labels.push((label, value));
            }
        }
        line(out, &name, &labels, sample.value);
    }
}

fn collector(out: &mut String, shown: &Shown<'_>) {
    type Of = fn(&Tally) -> u64;
    let families: [(&str, &str, &str, Of); 4] = [
        ("miles_collect_records_total", "counter", "Good records that came.", |tally| tally.received),
        ("miles_collect_written_total", "counter", "Records on disk.", |tally| tally.written),
        ("miles_collect_dropped_total", "counter", "Records dropped at a bound.", |tally| tally.dropped),
        ("miles_collect_waiting_records", "gauge", "Records that wait for the disk.", |tally| tally.waiting),
    ];
    for (name, kind, help, of) in families {
        family(out, name, kind, help);
        for (stream, tally) in Stream::ALL.iter().zip(&shown.tallies) {
            line(out, name, &[("stream", stream.name())], of(tally));
        }
    }
    let counters = shown.counters;
    let families: [(&str, &str, &str, &AtomicU64); 5] = [
        ("miles_collect_bad_lines_total", "counter", "Lines that were no records.", &counters.bad_lines),
        ("miles_collect_partial_records_total", "counter", "Records that lost a key.", &counters.left_out),
        ("miles_collect_flushes_total", "counter", "Flushes.", &counters.flushes),
        (
            "miles_collect_flush_failures_total",
            "counter",
            "Files a flush could not write.",
            &counters.flush_failures,
        ),
        (
            "miles_collect_producers",
            "gauge",
            "Producers that are connected, stdin included.",
            &counters.producers,
        ),
    ];
    for (name, kind, help, value) in families {
        family(out, name, kind, help);
        line(out, name, &[], value.load(Ordering::Relaxed));
    }
    let name = "miles_collect_waiting_bytes";
    family(out, name, "gauge", "Memory of records that wait for the disk.");
    line(out, name, &[], shown.memory);
    let name = "miles_collect_last_flush_timestamp_seconds";
    family(out, name, "gauge", "When all that waited was last written; 0 for never.");
    line(out, name, &[], f64::from_bits(counters.last_flush.load(Ordering::Relaxed)));
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
    out.push_str(name);
    for (index, (label, text)) in labels.iter().enumerate() {
        let _ = write!(out, "{}{label}=\"", if index == 0 { "{" } else { "," });
        for c in text.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    if !labels.is_empty() {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}

/// A text as a name that Prometheus takes: of letters, digits and underscores, no digit first. Names of
/// metrics may have colons too.
fn name(text: &str, colons: bool) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colons && c == ':');
    let mut name: String = text.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::latest::{Gpu, Sample};

    #[test]
    fn a_page_is_prometheus_text() {
        let sample = |metric: &str, labels: &[(&str, &str)], value| Sample {
            metric: metric.to_owned(),
            addr: "http://a:1".to_owned(),
            labels: labels.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            value,
        };
        let values = Values {
            gpus: vec![Gpu { node: "n\"\\\n".to_owned(), gpu: 3, util: 20, mem_mb: 30000, power_w: 300 }],
            samples: vec![
                sample("miles_x", &[], 1.0),
                sample("sglang_a_total", &[("dp_rank", "0")], 2.5e9),
                sample("sglang_a_total", &[("dp_rank", "1"), ("addr", "x"), ("1 b", "y")], 0.1),
            ],
            queued: Some(7),
            logged: vec![("rollout/reward mean".to_owned(), -0.5)],
        };
        let shown = Shown {
            values: &values,
            tallies: [Tally::default(); STREAMS],
            counters: &Counters::default(),
            memory: 5,
        };
        let page = page(&shown);
        for wanted in [
            "# TYPE miles_gpu_util_percent gauge\nmiles_gpu_util_percent{node=\"n\\\"\\\\\\n\",gpu=\"3\"} 20\n",
            "miles_gpu_power_watts{node=\"n\\\"\\\\\\n\",gpu=\"3\"} 300\n",
            "miles_data_buffer_length 7\n",
            "miles_logged_metric{name=\"rollout/reward mean\"} -0.5\n",
            "# TYPE engine_miles_x gauge\nengine_miles_x{addr=\"http://a:1\"} 1\n",
            "# TYPE sglang_a_total counter\nsglang_a_total{addr=\"http://a:1\",dp_rank=\"0\"} 2500000000\n\
             sglang_a_total{addr=\"http://a:1\",dp_rank=\"1\",_1_b=\"y\"} 0.1\n",
            "miles_collect_records_total{stream=\"gpu_util\"} 0\n",
            "miles_collect_waiting_bytes 5\n",
        ] {
            assert!(page.contains(wanted), "no {wanted} in\n{page}");
        }
    }
}
