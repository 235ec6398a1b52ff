//! `miles-sample` over a stub of NVIDIA's library: what it writes, and how it begins and ends.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/nvml.rs"]
mod nvml;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::time::{Duration, Instant};

use miles::record::{Stream, decode};
use serde_json::{Value, json};

use nvml::{Host, Line, Running, answer, library, tool};

fn keys(line: &Line) -> Vec<&str> {
    line.keys().map(String::as_str).collect()
}

#[test]
fn eight_gpus_are_eight_records_a_tick_with_the_keys_of_the_format_and_one_time() {
    let host = Host::new(8);
    let ran = host.run(&["--count", "3", "--interval", "0.05"]).ok();
    let records = ran.of("gpu_util");
    assert_eq!(records.len(), 24);
    let times: BTreeSet<String> = records.iter().map(|line| line["ts"].to_string()).collect();
    assert_eq!(times.len(), 3);
    for line in &records {
        assert_eq!(keys(line), ["stream", "ts", "node", "gpu", "util", "mem_mb", "power_w"]);
    }
    let first = &records[..8].iter().find(|line| line["gpu"] == 5).unwrap();
    assert_eq!(
        (&first["util"], &first["mem_mb"], &first["power_w"]),
        (&json!(15), &json!(1005), &json!(300))
    );
    assert_eq!(first["node"], "n");
    assert!(ran.of("gpu_health").is_empty());
}

#[test]
fn every_line_is_what_the_reader_of_its_stream_expects() {
    let mut host = Host::new(2);
    host.set("0.procs", "100:1048576").set("1.power", -3).set("1.gpm", 1);
    let ran = host.run(&["--count", "2", "--interval", "0.05", "--health"]).ok();
    assert!(!ran.lines.is_empty());
    for mut line in ran.lines {
        let Some(Value::String(stream)) = line.shift_remove("stream") else { panic!("no stream") };
        let stream: Stream = stream.parse().unwrap();
        let fields: Vec<&str> = stream.fields().iter().map(|field| field.name).collect();
        assert_eq!(keys(&line), fields);
        let text = Value::Object(line).to_string();
        let mut scratch = String::new();
        let decoded = decode(stream, text.as_bytes(), &mut scratch).unwrap().unwrap();
        assert!(decoded.record.extra().is_empty(), "{text}");
        assert_eq!(decoded.text.as_ptr(), text.as_ptr(), "read on the patient path: {text}");
    }
}

#[test]
fn health_is_all_that_a_card_says_and_null_for_the_rest() {
    let mut host = Host::new(2);
    host.set("0.gpm", 1).set("0.xid", 79).set("0.vgpu", 1).set("1.bare", 1);
    let ran = host.run(&["--count", "2", "--interval", "0.05", "--health"]).ok();
    let health = ran.of("gpu_health");
    assert_eq!(health.len(), 4);
    let last = |gpu: u64| *health.iter().rev().find(|line| line["gpu"] == gpu).unwrap();
    let rich = last(0);
    for (key, value) in [
        ("uuid", json!("GPU-0")),
        ("model", json!("Stub H100")),
        ("mig", json!(false)),
        ("vgpu", json!(true)),
        ("temperature_c", json!(40)),
        ("mem_temperature_c", json!(55)),
        ("sm_clock_mhz", json!(1980)),
        ("mem_clock_mhz", json!(2619)),
        ("throttle_reasons", json!(["sw_power_cap", "hw_thermal_slowdown"])),
        ("util", json!(10)),
        ("mem_util", json!(5)),
        ("mem_mb", json!(1000)),
        ("mem_total_mb", json!(81559)),
        ("power_w", json!(300)),
        ("power_limit_w", json!(700)),
        // The stub's metrics have the values of their numbers.
        ("sm_activity", json!(2.0)),
        ("sm_occupancy", json!(3.0)),
        ("tensor_activity", json!(5.0)),
        ("mem_activity", json!(10.0)),
        ("nvlink_tx_mb_s", json!(61.0)),
        ("nvlink_rx_mb_s", json!(60.0)),
        ("pcie_tx_mb_s", json!(20.0)),
        ("pcie_rx_mb_s", json!(21.0)),
        ("ecc_corrected", json!(7)),
        ("ecc_uncorrected", json!(1)),
        ("xid_count", json!(1)),
        ("xid_last", json!(79)),
    ] {
        assert_eq!(rich[key], value, "{key}");
    }
    let bare = last(1);
    let known = ["stream", "ts", "node", "gpu", "uuid", "model", "mig", "vgpu"];
    let read = ["util", "mem_util", "mem_mb", "mem_total_mb", "power_w"];
    for (key, value) in bare {
        assert_eq!(value.is_null(), !known.contains(&key.as_str()) && !read.contains(&key.as_str()), "{key}");
    }
}

#[test]
fn an_older_card_has_traffic_from_counters_and_no_activity() {
    let host = Host::new(1);
    let ran = host.run(&["--count", "2", "--interval", "0.05", "--health"]).ok();
    let health = ran.of("gpu_health");
    assert!(health[0]["nvlink_tx_mb_s"].is_null());
    assert!(health[1]["nvlink_tx_mb_s"].as_f64().unwrap() >= 0.0);
    assert_eq!((&health[1]["pcie_tx_mb_s"], &health[1]["pcie_rx_mb_s"]), (&json!(2.0), &json!(1.0)));
    assert!(health[1]["sm_activity"].is_null());
    assert_eq!((&health[1]["xid_count"], &health[1]["xid_last"]), (&json!(0), &Value::Null));
}

#[test]
fn a_card_without_power_memory_or_utilisation_is_in_gpu_health_alone_and_said_once() {
    let mut host = Host::new(4);
    host.set("1.power", -3).set("2.memory", -3).set("3.util", -3);
    let args = ["--count", "4", "--interval", "0.05", "--health"];
    let ran = host.run(&args).ok();
    assert!(ran.of("gpu_util").iter().all(|line| line["gpu"] == 0));
    assert_eq!(ran.of("gpu_util").len(), 4);
    for (gpu, lacks) in [(1, "power_w"), (2, "mem_mb"), (3, "util")] {
        let lines: Vec<_> = ran.of("gpu_health").into_iter().filter(|line| line["gpu"] == gpu).collect();
        assert_eq!(lines.len(), 4);
        for key in ["power_w", "mem_mb", "util"] {
            assert_eq!(lines[0][key].is_null(), key == lacks, "GPU {gpu}: {key}");
        }
        assert_eq!(ran.stderr.matches(&format!("GPU {gpu} (GPU-{gpu}): no ")).count(), 1, "{}", ran.stderr);
    }
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
    // Without gpu_health the same, with a hint.
    let ran = host.run(&args[..4]).ok();
    assert_eq!(ran.of("gpu_util").len(), 4);
    assert_eq!(ran.stderr.matches("hint: --health").count(), 3, "{}", ran.stderr);
    // And nothing with -q.
    assert_eq!(host.run(&["--count", "1", "-q"]).ok().stderr, "");
}

#[test]
fn a_card_cut_into_instances_has_no_utilisation_whatever_the_driver_says_and_is_labelled() {
    let mut host = Host::new(2);
    host.set("0.mig", 1).set("0.util", -3).set("1.mig", 1).set("1.util", 0);
    let ran = host.run(&["--count", "1", "--health"]).ok();
    assert!(ran.of("gpu_util").is_empty());
    for line in ran.of("gpu_health") {
        assert_eq!(
            (&line["mig"], &line["util"], &line["mem_util"]),
            (&json!(true), &Value::Null, &Value::Null)
        );
        assert!(line["mem_mb"].is_number() && line["power_w"].is_number());
    }
    assert_eq!(ran.stderr.matches("MIG").count(), 2, "{}", ran.stderr);
}

#[test]
fn memory_of_all_ones_is_null_and_a_process_without_a_name_is_its_number() {
    let mut host = Host::new(1);
    // Process 1 is somebody here: a look-up would find a name for it.
    host.set("0.procs", "1:na,4242:1073741824,7:18446744073709551615").set("name.4242", "python train.py");
    let ran = host.run(&["--count", "1"]).ok();
    let processes = ran.of("gpu_processes");
    let got: Vec<_> = processes.iter().map(|line| (&line["pid"], &line["name"], &line["mem_mb"])).collect();
    let null = Value::Null;
    assert_eq!(
        got,
        [
            (&json!(1), &json!("pid 1"), &null),
            (&json!(4242), &json!("python train.py"), &json!(1024)),
            (&json!(7), &json!("pid 7"), &null)
        ]
    );
    assert_eq!(keys(processes[0]), ["stream", "ts", "node", "gpu", "pid", "name", "mem_mb"]);
    let none = host.run(&["--count", "2", "--interval", "0.05", "--process-interval", "0"]).ok();
    assert!(none.of("gpu_processes").is_empty());
}

#[test]
fn processes_come_at_their_own_interval() {
    let mut host = Host::new(1);
    host.set("0.procs", "100:1048576");
    let args = ["--count", "5", "--interval", "0.05", "--process-interval", "3600"];
    assert_eq!(host.run(&args).ok().of("gpu_processes").len(), 1);
    let args = ["--count", "3", "--interval", "0.1", "--process-interval", "0.01"];
    assert_eq!(host.run(&args).ok().of("gpu_processes").len(), 3);
}

#[test]
fn gpus_are_chosen_by_physical_number_whatever_cuda_is_told() {
    let host = Host::new(4);
    let mut command = host.command(&["--gpus", "0,2", "--count", "1", "--health"]);
    command.env("CUDA_VISIBLE_DEVICES", "3");
    let ran = answer(command).ok();
    let gpus: BTreeSet<u64> = ran.of("gpu_util").iter().map(|line| line["gpu"].as_u64().unwrap()).collect();
    assert_eq!(gpus, BTreeSet::from([0, 2]));
    assert!(ran.of("gpu_health").iter().all(|line| line["uuid"] == format!("GPU-{}", line["gpu"])));
    host.run(&["--gpus", "1,9", "--count", "1"]).fails(69, &["no GPU 9", "GPUs 0 to 3"]);
}

#[test]
fn without_a_library_a_driver_or_a_gpu_it_is_one_line_and_status_69() {
    let host = Host::new(1);
    let mut command = tool();
    command.args(["--nvml", "/no/such/libnvidia-ml.so.1", "--count", "1"]);
    answer(command).fails(69, &["/no/such/libnvidia-ml.so.1", "--nvml"]);
    // By the names that the system's loader knows, which find nothing here.
    if !std::path::Path::new("/dev/nvidiactl").exists() {
        let mut command = tool();
        command.args(["--count", "1"]);
        answer(command).fails(69, &["libnvidia-ml.so.1", "libnvidia-ml.so: ", "hint: "]);
    }
    let mut host_without = Host::new(0);
    host_without.run(&["--count", "1"]).fails(69, &["no GPU", "hint: "]);
    host_without.set("init", 9);
    host_without.run(&["--count", "1"]).fails(69, &["driver is not loaded"]);
    host_without.set("init", 4);
    host_without.run(&["--count", "1"]).fails(69, &["permission"]);
    drop(host);
}

#[test]
fn the_library_is_found_by_either_of_its_names() {
    for name in ["libnvidia-ml.so.1", "libnvidia-ml.so"] {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(library(), folder.path().join(name)).unwrap();
        let mut command = tool();
        command.args(["--count", "1", "--interval", "0.05"]).env("LD_LIBRARY_PATH", folder.path());
        let ran = answer(command).ok();
        assert_eq!(ran.of("gpu_util").len(), 1, "{name}");
        let node = ran.lines[0]["node"].as_str().unwrap();
        node.parse::<std::net::IpAddr>().unwrap();
    }
}

#[test]
fn it_ends_in_order_on_sigterm_and_sigint() {
    let host = Host::new(2);
    for signal in ["-TERM", "-INT"] {
        let mut running = host.start(&["--interval", "0.05"]);
        running.goes_on(&[0, 1], &[], 3);
        running.signal(signal);
        assert_eq!(running.wait().code(), Some(0), "{}", running.said());
        assert_eq!(running.stderr(), "");
    }
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    let host = Host::new(1);
    let sample = host.command(&["--interval", "0.05"]);
    let mut command = std::process::Command::new("nohup");
    command.arg(sample.get_program()).args(sample.get_args());
    command.envs(sample.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.stdin(std::process::Stdio::null());
    let running = Running::start(command);
    running.goes_on(&[0], &[], 2);
    running.signal("-HUP");
    running.goes_on(&[0], &[], 5);
    running.stop();
}

#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    let host = Host::new(1);
    let (mut running, stdout) = Running::start_unread(host.command(&["--interval", "0.02"]));
    let mut stdout = stdout;
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    assert_eq!(running.wait().code(), Some(0));
    assert_eq!(running.stderr(), "");
}

#[test]
fn a_reader_that_stalls_costs_ticks_that_are_counted_and_does_not_hold_up_the_end() {
    let host = Host::new(32);
    let (mut running, stdout) = Running::start_unread(host.command(&["--interval", "0.01", "--health"]));
    // The pipe fills, then the queue behind it.
    running.says("stdout is not read fast enough");
    running.signal("-TERM");
    assert_eq!(running.wait().code(), Some(0), "{}", running.said());
    assert!(running.stderr().contains("ticks were dropped"), "{}", running.said());
    drop(stdout);
}

#[test]
fn a_reader_of_both_outputs_that_stalls_does_not_hold_up_the_end_either() {
    let host = Host::new(32);
    let sample = host.command(&["--interval", "0.01", "--health"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(sample.get_program()).args(sample.get_args());
    command.envs(sample.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let (mut running, stdout) = Running::start_unread(command);
    // Long enough for the pipe and the queue to fill; if they do not, the test asks less.
    std::thread::sleep(Duration::from_secs(2));
    running.signal("-TERM");
    assert_eq!(running.wait().code(), Some(0));
    drop(stdout);
}

#[test]
fn ticks_keep_their_distance_from_the_first() {
    let host = Host::new(1);
    let started = Instant::now();
    let ran = host.run(&["--count", "11", "--interval", "0.1"]).ok();
    let times: Vec<f64> = ran.of("gpu_util").iter().map(|line| line["ts"].as_f64().unwrap()).collect();
    // Loosely: a machine under load delays ticks, and skips some, but never makes them early in sum.
    assert!(started.elapsed() >= Duration::from_millis(950));
    assert_eq!(times.len(), 11);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(times[10] - times[0] > 0.9, "{times:?}");
}

#[test]
fn arguments_that_make_no_sense_are_a_usage_error() {
    let host = Host::new(1);
    for args in [
        &["--interval", "0"][..],
        &["--interval", "nan"],
        &["--count", "0"],
        &["--gpus", "x"],
        &["--node", ""],
        &["--process-interval", "-1"],
    ] {
        let ran = host.run(args);
        assert_eq!(ran.status.code(), Some(64), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn records_of_gpu_health_are_read_back_like_those_of_any_stream() {
    let mut host = Host::new(2);
    host.set("0.mig", 1);
    let ran = host.run(&["--count", "1", "--health"]).ok();
    let run = tempfile::tempdir().unwrap();
    let hours = run.path().join("dashboard/gpu_health");
    fs::create_dir_all(&hours).unwrap();
    let lines: Vec<String> = ran
        .of("gpu_health")
        .into_iter()
        .map(|line| {
            let mut line = line.clone();
            line.shift_remove("stream");
            // In the hour that the file says.
            line["ts"] = json!(1_767_225_600.5);
            Value::Object(line).to_string()
        })
        .collect();
    fs::write(hours.join("20260101_00.jsonl"), lines.join("\n") + "\n").unwrap();
    let dump = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_miles-dump"));
        let ran =
            command.arg("-d").arg(run.path()).args(["stream", "gpu_health"]).args(args).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(dump(&[]).replace(r#""stream":"gpu_health","#, ""), lines.join("\n") + "\n");
    let csv = dump(&["--format", "csv", "--columns", "gpu,mig,util,throttle_reasons"]);
    assert!(csv.contains("true,,") && csv.contains("false,11,"), "{csv}");
}
