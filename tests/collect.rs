//! `miles-collect` as its users see it: what it writes, what it says, how it ends.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "support/collector.rs"]
mod collector;

use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::process::Stdio;

use collector::{Collector, buffered, collect, files, lengths, lines, same, tool, unix};
use miles::telemetry::LaneCatalog;
use miles::timeline::Lanes;
use serde_json::{Value, json};

/// One record of each stream and more where an hour is at stake, as writers send them.
const RECORDS: [&str; 14] = [
    r#"{"stream":"metrics","ts":1769907598.25,"step_key":"rollout/step","step":3,"metrics":{"perf/step_time":95.0,"ok":true,"name":"x"}}"#,
    r#"{"stream":"metrics","ts":1769907598.5,"step_key":null,"step":null,"metrics":{}}"#,
    r#"{"stream":"phases","name":"actor_train","t0":1769907598.0,"t1":-1.0,"node":"10.0.0.1","gpus":[0,1],"rank":4,"role":"train"}"#,
    r#"{"stream":"phases","name":"actor_train","t0":1769907598.0,"t1":1769907603.75,"node":"10.0.0.1","gpus":[0,1],"rank":4,"role":"train"}"#,
    r#"{"stream":"phases","name":"rollout","t0":1769907598.0,"t1":1769907599.75,"node":"10.0.0.9","gpus":[],"rank":-1,"role":"rollout_manager"}"#,
    r#"{"stream":"topology","ts":1769907598.0,"engines":[{"addr":"http://10.0.0.2:15000","worker_type":"regular","engine_rank":0,"gpus":[["10.0.0.2",0],["10.0.0.2",10]],"gpu_uuids":[null,"GPU-1"]}]}"#,
    r#"{"stream":"gpu_util","ts":1769907599.9999,"node":"10.0.0.1","gpu":0,"util":97,"mem_mb":60000,"power_w":640}"#,
    r#"{"stream":"gpu_util","ts":1769907600.0,"node":"10.0.0.3","gpu":7,"util":0,"mem_mb":0,"power_w":70}"#,
    r#"{"stream":"gpu_processes","ts":1769907600.25,"node":"10.0.0.1","gpu":0,"pid":4000,"name":"python3","mem_mb":39000}"#,
    r#"{"stream":"gpu_processes","ts":1769907600.25,"node":"10.0.0.1","gpu":0,"pid":4001,"name":"pid 4001","mem_mb":null}"#,
    r#"{"stream":"engine_series","ts":1769907600.5,"addr":"http://10.0.0.2:15000","metric":"sglang_token_usage","labels":{"engine_type":"regular","dp_rank":"0"},"value":0.30000000000000004}"#,
    r#"{"stream":"trajectories","ts":1769907600.5,"kind":"gen_start","sample_index":9007199254740993,"group_index":-1,"turn":-1,"weight_version":"","detail":"a \"b\" \u00e9"}"#,
    r#"{"stream":"data_buffer","ts":1769907600.5,"length":9}"#,
    r#"{"stream":"gpu_util","ts":951782400,"node":"::1","gpu":0,"util":1,"mem_mb":2,"power_w":3}"#,
];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(records: &[&str]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A record as it must lie on disk: without its stream, else byte for byte.
fn on_disk(record: &str) -> String {
    let (_, rest) = record.split_once(',').unwrap();
    format!("{{{rest}")
}

#[test]
fn every_stream_is_written_as_the_format_says() {
    let run = folder();
    let ended = collect(run.path(), &[], text(&RECORDS));
    assert_eq!(
        (ended.status.code(), ended.stderr.as_str()),
        (Some(0), "miles-collect: 14 records written\n")
    );
    let streams = ["metrics", "phases", "topology", "gpu_util", "gpu_processes", "engine_series"];
    for stream in streams.iter().chain(&["trajectories", "data_buffer"]) {
        let mut want: Vec<String> = RECORDS
            .iter()
            .filter(|r| r.contains(&format!("\"stream\":\"{stream}\"")))
            .map(|r| on_disk(r))
            .collect();
        let mut have = lines(run.path(), stream);
        want.sort();
        have.sort();
        assert_eq!(have, want, "{stream}");
    }
    let names = |stream: &str| -> Vec<String> {
        let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        files(run.path(), stream).iter().map(name).collect()
    };
    assert_eq!(names("phases"), ["20260201_00.jsonl", "20260201_01.jsonl"]);
    assert_eq!(names("gpu_util"), ["20000229_00.jsonl", "20260201_00.jsonl", "20260201_01.jsonl"]);
    for flat in ["metrics", "topology", "data_buffer"] {
        assert_eq!(names(flat), [format!("{flat}.jsonl")]);
    }
}

#[test]
fn other_spellings_of_a_record_become_the_formats() {
    let run = folder();
    let odd = [
        r#"{"ts": 1769907600.50, "length": 3.0, "stream": "data_buffer"}"#,
        r#"{"stream":"trajectory","ts":1769907600.5,"kind":"gen_end","sample_index":1,"group_index":2,"turn":3,"weight_version":"4","detail":""}"#,
        r#"{ "stream" : "gpu_util" , "power_w" : 5, "mem_mb" : 4, "util" : 3, "gpu" : 2, "node" : "n", "ts" : 1769907600.0937245 }"#,
        r#"{"stream":"metrics","ts":1769907600,"step":5,"metrics":{"loss":NaN,"grad":0.10,"lr":-Infinity}}"#,
    ];
    let ended = collect(run.path(), &[], text(&odd));
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(lines(run.path(), "data_buffer"), [r#"{"ts":1769907600.50,"length":3}"#]);
    assert_eq!(lines(run.path(), "trajectories"), [on_disk(odd[1])]);
    assert_eq!(
        lines(run.path(), "gpu_util"),
        [r#"{"ts":1769907600.0937245,"node":"n","gpu":2,"util":3,"mem_mb":4,"power_w":5}"#]
    );
    assert_eq!(
        lines(run.path(), "metrics"),
        [r#"{"ts":1769907600,"step_key":null,"step":5,"metrics":{"grad":0.10}}"#]
    );
    assert!(ended.stderr.contains("stdin line 4: metrics cannot hold loss, lr"), "{}", ended.stderr);
}

#[test]
fn a_key_that_readers_reject_is_left_out_and_told_and_others_stay() {
    let run = folder();
    let extra = [
        r#"{"stream":"gpu_util","ts":1769907600,"node":"n","gpu":2,"util":3,"mem_mb":4,"power_w":5,"temp":70}"#,
        r#"{"stream":"data_buffer","ts":1769907600,"length":3,"why":{"a":[1]}}"#,
    ];
    let ended = collect(run.path(), &[], text(&extra));
    assert!(ended.stderr.contains("line 1: gpu_util cannot hold temp"), "{}", ended.stderr);
    assert!(ended.stderr.contains("2 records written, keys left out of 1 record"), "{}", ended.stderr);
    assert_eq!(lines(run.path(), "gpu_util").len(), 1);
    let buffer = fs::read_to_string(run.path().join("dashboard/data_buffer.jsonl")).unwrap();
    assert_eq!(buffer, "{\"ts\":1769907600,\"length\":3,\"why\":{\"a\":[1]}}\n");
}

#[test]
fn the_catalog_is_what_a_scan_of_the_streams_says() {
    let run = folder();
    let dashboard = run.path().join("dashboard");
    fs::create_dir_all(dashboard.join("phases")).unwrap();
    // What an old run and another writer left, a torn line and a stale catalog among it.
    fs::write(
        dashboard.join("gpu_util.jsonl"),
        "{\"ts\":1,\"node\":\"old\",\"gpu\":3,\"util\":1,\"mem_mb\":1,\"power_w\":1}\n{\"ts\":1,\"no",
    )
    .unwrap();
    fs::write(
        dashboard.join("phases/20260131_23.jsonl"),
        "{\"name\":\"a\",\"t0\":1,\"t1\":2,\"node\":\"old\",\"gpus\":[4],\"rank\":9,\"role\":\"train\"}\n",
    )
    .unwrap();
    fs::write(dashboard.join("lane_catalog.json"), "{\"version\": 1, \"lanes\": {\"gone:0\": {}}}").unwrap();
    let collector = Collector::start(run.path(), &["--flush-interval", "0.05", "-v"]);
    let check = |want: &[&str]| {
        let from_catalog = Lanes::load(&dashboard).unwrap();
        let bare = folder();
        let copy = bare.path().join("copy");
        std::process::Command::new("cp").arg("-r").arg(&dashboard).arg(&copy).status().unwrap();
        fs::remove_file(copy.join("lane_catalog.json")).unwrap();
        assert_eq!(from_catalog, Lanes::load(&copy).unwrap());
        let document = LaneCatalog::read(&dashboard).unwrap().unwrap();
        assert_eq!(document.lanes.keys().map(String::as_str).collect::<Vec<_>>(), want);
        assert_eq!(document.version, Some(1));
    };
    let has = |name: &str| {
        LaneCatalog::read(&dashboard).unwrap().is_some_and(|catalog| catalog.lanes.contains_key(name))
    };
    collector.wait_until("the scan", || has("old:4"));
    check(&["old:3", "old:4"]);
    collector.send(text(&RECORDS));
    collector.wait_until("lanes", || has("::1:0"));
    check(&[
        "10.0.0.1:0",
        "10.0.0.1:1",
        "10.0.0.2:0",
        "10.0.0.2:10",
        "10.0.0.3:7",
        "::1:0",
        "old:3",
        "old:4",
    ]);
    collector.end_well();
    let bytes = fs::read(dashboard.join("lane_catalog.json")).unwrap();
    assert!(String::from_utf8(bytes.clone()).unwrap().contains(
        r#""10.0.0.2:10": {"ranks": [], "engine_addrs": ["http://10.0.0.2:15000"], "roles": ["rollout"]}"#
    ));
    // A second start finds nothing to change.
    collect(run.path(), &[], "");
    assert_eq!(fs::read(dashboard.join("lane_catalog.json")).unwrap(), bytes);
}

fn meta(run: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("dashboard/meta.json")).unwrap()).unwrap()
}

#[test]
fn meta_is_what_the_arguments_and_the_training_process_say() {
    let run = folder();
    let args = [
        "--run-name",
        "r1",
        "--arg",
        "colocate=true",
        "--arg",
        "n_samples_per_prompt=8",
        "--arg",
        "note=a=b",
    ];
    let told = r#"{"stream":"meta","run_name":"job","args":{"colocate":false,"wandb_run_id":"w"}}"#;
    assert_eq!(collect(run.path(), &args, "").status.code(), Some(0));
    let first = meta(run.path());
    assert_eq!(
        (&first["run_name"], &first["args"], &first["schema_version"]),
        (&json!("r1"), &json!({"colocate": true, "n_samples_per_prompt": 8, "note": "a=b"}), &json!(1))
    );
    assert!(first["start_ts"].as_f64().unwrap() > 1.7e9);
    assert_eq!(collect(run.path(), &[], text(&[told])).status.code(), Some(0));
    let second = meta(run.path());
    let args = json!({"colocate": false, "n_samples_per_prompt": 8, "note": "a=b", "wandb_run_id": "w"});
    assert_eq!((&second["run_name"], &second["args"]), (&json!("job"), &args));
    assert_eq!(second["start_ts"], first["start_ts"], "the start of a collector is no attempt's");
    let job = r#"{"stream":"meta","start_ts":1769907000.5,"args":{"seed":12345678901234567890123}}"#;
    assert_eq!(
        collect(run.path(), &["--arg", "f=-98765432109876543210.0"], text(&[job])).status.code(),
        Some(0)
    );
    // Neither an end in order nor a kill changes what the job said.
    Collector::start(run.path(), &[]).kill();
    let third = meta(run.path());
    assert_eq!(third["start_ts"], 1769907000.5);
    let written = fs::read_to_string(run.path().join("dashboard/meta.json")).unwrap();
    assert!(written.contains("\"seed\": 12345678901234567890123"), "{written}");
    Collector::start(run.path(), &[]).end_well();
    assert_eq!(meta(run.path())["start_ts"], third["start_ts"]);
    assert_eq!(fs::read_dir(run.path().join("dashboard")).unwrap().count(), 2, "the lock and meta.json");
}

#[test]
fn bad_lines_are_told_with_source_and_number_and_stop_nothing() {
    let run = folder();
    let collector = Collector::start(run.path(), &[]);
    let mut producer = collector.connect();
    let from = producer.local_addr().unwrap();
    let mut bytes = buffered(1).into_bytes();
    bytes.extend_from_slice(b"\n{\"ts\":1,\"length\":1}\nnonsense\n\xff\xfe\x00\x01\n");
    bytes.extend_from_slice(&vec![b'x'; 3 << 20]);
    bytes.extend_from_slice(b"\n{\"stream\":\"gpu\",\"ts\":1}\n");
    bytes.extend_from_slice(b"{\"stream\":\"gpu_util\",\"ts\":1,\"node\":\"n\",\"gpu\":0,\"util\":null,\"mem_mb\":1,\"power_w\":1}\n");
    bytes.extend_from_slice(buffered(2).as_bytes());
    producer.write_all(&bytes).unwrap();
    producer.write_all(b"{\"stream\":\"data_buffer\",\"ts\":1").unwrap();
    drop(producer);
    // Half a line of one producer is not joined with another's.
    collector.send(buffered(3));
    let said = collector.end_well();
    for (line, reason) in [
        (3, "no \"stream\""),
        (4, "not one JSON object"),
        (5, "not UTF-8"),
        (6, "longer than 1024 KiB"),
        (7, "unknown stream \"gpu\""),
    ] {
        let found = said.lines().any(|l| l.contains(&format!("{from} line {line}: ")) && l.contains(reason));
        assert!(found, "line {line}: {reason}\n{said}");
    }
    // The others are too many at once to be told one by one, but all are counted.
    assert!(said.contains("3 records written, 7 bad lines left out; hint: -v tells each"), "{said}");
    let mut lengths = lengths(run.path());
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 2, 3]);
}

#[test]
fn each_bad_line_is_told_on_demand() {
    let run = folder();
    let ended = collect(run.path(), &["-v"], "x\n".repeat(100));
    assert!((1..=100).all(|n| ended.stderr.contains(&format!("stdin line {n}: "))), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("100 bad lines left out\n"), "{}", ended.stderr);
}

#[test]
fn a_start_that_fails_leaves_no_trace_of_a_kill() {
    let run = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (plain, url) =
        (taken.local_addr().unwrap().to_string(), format!("tcp://{}", taken.local_addr().unwrap()));
    for args in [["--listen", &url], ["--metrics-listen", &plain]] {
        let ended = collect(run.path(), &args, "");
        assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
        let ended = collect(run.path(), &[], "");
        assert_eq!(
            (ended.status.code(), ended.stderr.contains("killed")),
            (Some(0), false),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(collect(run.path(), &["--metrics-listen", "9400"], "").status.code(), Some(64));
    // After a kill a failed start hides nothing.
    Collector::start(run.path(), &[]).kill();
    assert_eq!(collect(run.path(), &["--listen", &url], "").status.code(), Some(2));
    assert!(collect(run.path(), &[], "").stderr.contains("going on where a collector was killed"));
}

#[test]
fn a_whole_record_without_a_newline_counts_at_the_end() {
    let run = folder();
    let ended = collect(run.path(), &[], buffered(1).trim_end());
    assert!(ended.stderr.contains("1 record written"), "{}", ended.stderr);
    assert_eq!(lengths(run.path()), [1]);
}

#[test]
fn many_producers_over_tcp_and_unix_lose_nothing_and_mix_nothing() {
    let run = folder();
    let socket = run.path().join("s");
    let address = format!("unix:{}", socket.display());
    let collector = Collector::start(run.path(), &["--listen", &address, "--flush-interval", "0.05"]);
    collector.wait_for("listening on unix:");
    let (producers, each) = (140, 200);
    std::thread::scope(|scope| {
        for producer in 0..producers {
            let (collector, socket) = (&collector, &socket);
            scope.spawn(move || {
                let mut stream: Box<dyn Write> = match producer % 2 {
                    0 => Box::new(collector.connect()),
                    _ => Box::new(unix(socket)),
                };
                for n in 0..each {
                    // In pieces that end within lines.
                    let line = buffered(producer * each + n);
                    let (a, b) = line.split_at((n * 7) % line.len());
                    stream.write_all(a.as_bytes()).unwrap();
                    stream.write_all(b.as_bytes()).unwrap();
                }
            });
        }
    });
    let said = collector.end_well();
    assert!(said.contains(&format!("{} records written\n", producers * each)), "{said}");
    let lengths = lengths(run.path());
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    same(&sorted, 0..producers * each);
    // Those of one producer stay in their order.
    let of_first: Vec<usize> = lengths.into_iter().filter(|n| n / each == 0).collect();
    assert!(of_first.is_sorted());
    assert!(!socket.exists());
}

#[test]
fn the_end_of_stdin_is_the_end_without_an_address_only() {
    let run = folder();
    let collector = Collector::start(run.path(), &["-v"]);
    collector.wait_for("stdin went");
    collector.send(buffered(1));
    collector.end_well();
    assert_eq!(lengths(run.path()), [1]);
    let ended = collect(run.path(), &["-q"], buffered(2));
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(lengths(run.path()), [1, 2]);
}

#[test]
fn stdin_and_sockets_are_read_at_once() {
    let run = folder();
    let mut command = tool();
    command.arg("-d").arg(run.path()).args(["--listen", &format!("unix:{}", run.path().join("s").display())]);
    let (reader, mut stdin) = std::io::pipe().unwrap();
    let collector = Collector::spawn({
        command.stdin(Stdio::from(reader));
        command
    });
    collector.wait_for("listening");
    stdin.write_all(buffered(1).as_bytes()).unwrap();
    unix(&run.path().join("s")).write_all(buffered(2).as_bytes()).unwrap();
    stdin.write_all(buffered(3).as_bytes()).unwrap();
    drop(stdin);
    assert!(collector.end_well().contains("3 records written"));
}

#[test]
fn a_signal_ends_it_with_all_written() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let run = folder();
        let collector = Collector::start(run.path(), &["--flush-interval", "3600"]);
        let mut producer = collector.connect();
        let records: String = (0..20_000).map(buffered).collect();
        producer.write_all(records.as_bytes()).unwrap();
        producer.shutdown(Shutdown::Write).unwrap();
        collector.signal(signal);
        let ended = collector.wait();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert_eq!(lengths(run.path()).len(), 20_000);
    }
}

#[test]
fn a_flush_comes_within_its_interval() {
    let run = folder();
    let collector = Collector::start(run.path(), &["--flush-interval", "0.05", "-v", "--fsync"]);
    let mut producer = collector.connect();
    for n in 0..3 {
        producer.write_all(buffered(n).as_bytes()).unwrap();
        collector.wait_for(&format!("flushed 1 record ({} in all): data_buffer 1 ({})", n + 1, n + 1));
        assert_eq!(lengths(run.path()).len(), n + 1);
    }
    collector.end_well();
}

#[test]
fn two_collectors_on_one_run_are_refused_and_a_killed_one_is_not_in_the_way() {
    let run = folder();
    let first = Collector::start(run.path(), &["--flush-interval", "0.05", "-v"]);
    let refused = collect(run.path(), &[], buffered(9));
    assert_eq!(refused.status.code(), Some(75), "{}", refused.stderr);
    let holder = format!("process {} on ", first.pid());
    assert!(refused.stderr.contains(&holder) && refused.stderr.contains("; hint: "), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1);
    first.send(buffered(1));
    first.wait_for("flushed 1 record");
    first.kill();
    let second = Collector::start(run.path(), &[]);
    second.wait_for("going on where a collector was killed");
    second.send(buffered(2));
    second.end_well();
    assert_eq!(lengths(run.path()), [1, 2]);
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let run = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = format!("tcp://{}", taken.local_addr().unwrap());
    for (args, status, says) in [
        (&["--listen", "7700"][..], 64, "tcp://HOST:PORT"),
        (&["--listen", &busy], 2, "in use"),
        (&["--listen", "unix:/no/such/folder/s"], 2, "No such file"),
        (&["--metrics-listen", "nowhere"], 64, "nowhere"),
        (&["--flush-interval", "0"], 64, "--flush-interval"),
        (&["--max-buffered", "0"], 64, "--max-buffered"),
        (&["--arg", "novalue"], 64, "KEY=VALUE"),
    ] {
        let ended = collect(run.path(), args, "");
        assert_eq!(ended.status.code(), Some(status), "{args:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(says) && ended.stderr.lines().count() == 1,
            "{args:?}: {}",
            ended.stderr
        );
    }
    let file = run.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(collect(&file, &[], "").status.code(), Some(64));
    let ended = collect(&file.join("below"), &[], "");
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    let mut bare = tool();
    bare.current_dir(run.path().join("dashboard"));
    let ended = Collector::spawn(bare).wait();
    assert_eq!(ended.status.code(), Some(64));
    assert!(ended.stderr.contains("MILES_DUMP_DETAILS"), "{}", ended.stderr);
}
