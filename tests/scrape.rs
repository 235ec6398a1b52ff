//! `miles-scrape --once`: what answers of engines old and new become, and how failures are told.

#![allow(clippy::unwrap_used)]

#[path = "common/engine.rs"]
#[allow(dead_code)]
mod engine;
#[path = "common/scraping.rs"]
#[allow(dead_code)]
mod scraping;

use std::fs;
use std::io::Write;
use std::path::Path;

use engine::{Answer, Stub};
use scraping::{Ended, Scrape, command, scrape};

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sglang").join(name))
        .unwrap()
}

/// Records of one engine with this answer; each must have exactly the keys of its stream.
fn records(text: &str, more: &[&str]) -> Vec<String> {
    let stub = Stub::engine(text);
    let url = stub.url();
    let ended = scrape(&[&["--engine", &url, "--once"], more].concat()).ends_with(0);
    let times: Vec<_> = ended.records.iter().map(|record| record["ts"].as_f64().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] == pair[1]), "one time a scrape: {times:?}");
    for record in &ended.records {
        let keys: Vec<_> = record.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["stream", "ts", "addr", "metric", "labels", "value"]);
        assert!(record["value"].is_f64(), "{record}");
    }
    let named = |line: String| line.strip_prefix("e sglang_").unwrap().to_owned();
    ended.shown(&[("e", url)]).into_iter().map(named).collect()
}

#[test]
fn an_old_engine_without_kinds_and_ranks() {
    assert_eq!(
        records(&fixture("old_unified.txt"), &[]),
        [
            "num_running_reqs {} 161.0",
            "num_queue_reqs {} 2826.0",
            "gen_throughput {} 2439.5",
            "token_usage {} 0.28",
            "cache_hit_rate {} 0.0075",
            "prompt_tokens_total {} 8128902.0",
            "generation_tokens_total {} 7557572.0",
            "num_requests_total {} 11008.0",
            "time_to_first_token_seconds_sum {} 2.75",
            "time_to_first_token_seconds_count {} 2.0",
            "time_per_output_token_seconds_sum {} 0.09375",
            "time_per_output_token_seconds_count {} 2.0",
            "e2e_request_latency_seconds_sum {} 24.0",
            "e2e_request_latency_seconds_count {} 2.0",
        ]
    );
}

#[test]
fn an_old_prefill_engine_has_gauges_for_its_transfers() {
    assert_eq!(
        records(&fixture("old_prefill.txt"), &[]),
        [
            "num_running_reqs {engine_type=prefill} 3.0",
            "num_queue_reqs {engine_type=prefill} 0.0",
            "token_usage {engine_type=prefill} 0.5",
            "num_prefill_prealloc_queue_reqs {engine_type=prefill} 7.0",
            "num_prefill_inflight_queue_reqs {engine_type=prefill} 2.0",
            "kv_transfer_speed_gb_s {engine_type=prefill} 11.5",
            "kv_transfer_latency_ms {engine_type=prefill} 42.0",
        ]
    );
}

#[test]
fn a_new_engine_with_eight_ranks_priorities_and_streaming_apart() {
    assert_eq!(
        records(&fixture("new_unified.txt"), &[]),
        [
            "num_running_reqs {engine_type=unified} 12.0",
            "num_queue_reqs {engine_type=unified} 5.0",
            "gen_throughput {engine_type=unified} 640.0",
            "token_usage {engine_type=unified} 0.75",
            "cache_hit_rate {engine_type=unified} 0.5",
            "prompt_tokens_total {engine_type=unified} 4000.0",
            "generation_tokens_total {engine_type=unified} 8000.0",
            "num_requests_total {engine_type=unified} 40.0",
            "num_aborted_requests_total {engine_type=unified} 2.0",
            "time_to_first_token_seconds_sum {engine_type=unified} 1.0",
            "time_to_first_token_seconds_count {engine_type=unified} 4.0",
            "inter_token_latency_seconds_sum {engine_type=unified} 0.125",
            "inter_token_latency_seconds_count {engine_type=unified} 8.0",
            "e2e_request_latency_seconds_sum {engine_type=unified} 16.0",
            "e2e_request_latency_seconds_count {engine_type=unified} 4.0",
        ]
    );
}

#[test]
fn a_new_decode_engine_with_data_parallel_attention() {
    let each = |metric: &str, values: [f64; 2]| {
        [0, 1].map(|rank| format!("{metric} {{engine_type=decode,dp_rank={rank}}} {:?}", values[rank]))
    };
    let wanted: Vec<String> = [
        each("num_running_reqs", [20.0, 21.0]),
        each("token_usage", [0.25, 0.5]),
        // The newer name of a queue, under the name that is asked for.
        each("num_prefill_prealloc_queue_reqs", [6.0, 7.0]),
        each("num_decode_prealloc_queue_reqs", [1.0, 1.0]),
        each("num_decode_transfer_queue_reqs", [4.0, 4.0]),
        each("kv_transfer_speed_gb_s_sum", [20.0, 20.0]),
        each("kv_transfer_speed_gb_s_count", [2.0, 2.0]),
        each("kv_transfer_latency_ms_sum", [120.0, 120.0]),
        each("kv_transfer_latency_ms_count", [3.0, 3.0]),
    ]
    .concat();
    assert_eq!(records(&fixture("new_decode.txt"), &[]), wanted);
}

#[test]
fn metrics_replace_the_usual_ones_in_any_spelling() {
    let text = fixture("new_unified.txt");
    let names =
        "sglang:gen_throughput,sglang_realtime_tokens_total,inter_token_latency_seconds,fwd_occupancy";
    assert_eq!(
        records(&text, &["--metrics", names]),
        [
            "gen_throughput {engine_type=unified} 640.0",
            "realtime_tokens_total {engine_type=unified} 10.0",
            "inter_token_latency_seconds_sum {engine_type=unified} 0.125",
            "inter_token_latency_seconds_count {engine_type=unified} 8.0",
        ]
    );
    assert_eq!(
        records(&fixture("new_decode.txt"), &["--metrics", "num_prefill_bootstrap_queue_reqs"]),
        [
            "num_prefill_bootstrap_queue_reqs {engine_type=decode,dp_rank=0} 6.0",
            "num_prefill_bootstrap_queue_reqs {engine_type=decode,dp_rank=1} 7.0",
        ]
    );
}

#[test]
fn what_is_not_finite_is_left_out_and_a_malformed_line_leaves_the_others() {
    let stub = Stub::engine(
        "sglang:token_usage NaN\nsglang:gen_throughput +Inf\nsglang:num_queue_reqs{a=\"b\nsglang:num_running_reqs{m=\"a} {b\"}\t2.4e+01 17\n",
    );
    let url = stub.url();
    let ended = scrape(&["--engine", &url, "--once", "-v"]).ends_with(0);
    assert_eq!(ended.shown(&[("e", url)]), ["e sglang_num_running_reqs {} 24.0"]);
    ended.says(&[
        "1 malformed line skipped (line 3: a quote is not closed)",
        "2 values left out, being no finite numbers",
    ]);
}

#[test]
fn an_answer_without_a_known_metric_is_loud_and_never_zeros() {
    for (text, says) in [
        ("", "(0 samples, 0 of sglang's); hint: start the engine with --enable-metrics"),
        ("smg_worker_health 1\nup 1\n", "(2 samples, 0 of sglang's); hint: is this an engine of sglang's?"),
        ("sglang:other 1\n", "(1 samples, 1 of sglang's); hint: others of sglang's are there: --metrics"),
        ("<html>who are you</html>", "(0 samples, 0 of sglang's)"),
    ] {
        let stub = Stub::engine(text);
        let ended = scrape(&["--engine", &stub.url(), "--once"]).ends_with(2);
        assert!(ended.records.is_empty(), "{text:?}");
        let url = format!("no known metrics at {}/metrics", stub.url());
        ended.says(&[&url, says, "nothing was scraped"]);
    }
}

#[test]
fn failures_are_named_with_what_to_try_and_nobody_answering_is_69() {
    let gone = Stub::new().url();
    let closed = Stub::new();
    closed.down(true);
    let stub = |answer: Answer| {
        let stub = Stub::new();
        stub.answer("/metrics", answer);
        stub
    };
    let raw = |bytes: &[u8]| stub(Answer::Raw(bytes.to_vec()));
    let cases = [
        (
            stub(Answer::Status(404, "Not Found".into())),
            "answers 404 (Not Found); hint: start the engine with",
        ),
        (stub(Answer::Status(401, String::new())), "answers 401; hint: it wants a key"),
        (stub(Answer::Status(503, "x".repeat(9000))), "answers 503 (xxx"),
        (stub(Answer::Hang), "no answer within 0.3 s"),
        (stub(Answer::Drip), "no answer within 0.3 s"),
        (closed, "hint:"),
        (raw(b"\x16\x03\x01\x00garbage\r\n\r\n"), "hint:"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsglang:num_running_reqs 1\n"), "hint:"),
    ];
    for (stub, says) in &cases {
        let url = stub.url();
        let ended = scrape(&["--engine", &url, "--once", "--timeout", "0.3"]).ends_with(69);
        assert!(ended.records.is_empty());
        ended.says(&[&format!("miles-scrape: warning: {url}/metrics: "), says, "nobody answered"]);
    }
    scrape(&["--engine", &gone, "--once"]).ends_with(69).says(&["connection refused; hint: is it running"]);
    let nowhere = "http://no-such-host.invalid:1";
    scrape(&["--engine", nowhere, "--once"]).ends_with(69).says(&["there is no such host"]);
}

#[test]
fn an_answer_that_is_too_large_is_cut_off_packed_or_not() {
    let stub = Stub::new();
    stub.answer("/metrics", Answer::Endless);
    scrape(&["--engine", &stub.url(), "--once", "--timeout", "30"])
        .ends_with(69)
        .says(&["an answer of more than 16 MiB"]);
    // 64 MiB of blank lines in some tens of kilobytes.
    stub.answer("/metrics", Answer::Gzip(packed(&vec![b'\n'; 64 << 20])));
    scrape(&["--engine", &stub.url(), "--once", "--timeout", "30"])
        .ends_with(69)
        .says(&["an answer of more than 16 MiB"]);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn packed_answers_and_a_few_redirects_are_understood() {
    let stub = Stub::new();
    stub.answer("/metrics", Answer::Redirect("/metrics/".to_owned()));
    stub.answer("/metrics/", Answer::Gzip(packed(b"sglang:num_running_reqs 3\n")));
    let url = stub.url();
    let ended = scrape(&["--engine", &url, "--once"]).ends_with(0);
    assert_eq!(ended.shown(&[("e", url.clone())]), ["e sglang_num_running_reqs {} 3.0"]);
    assert!(stub.heads()[0].contains("accept-encoding: gzip"), "{:?}", stub.heads());
    stub.answer("/metrics/", Answer::Redirect("/metrics".to_owned()));
    scrape(&["--engine", &url, "--once"]).ends_with(69);
}

#[test]
fn no_proxy_is_taken_from_the_environment() {
    let (stub, proxy) = (Stub::engine("sglang:num_running_reqs 3\n"), Stub::new());
    let url = stub.url();
    let mut command = command(&["--engine", &url, "--once"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"] {
        command.env(name, proxy.url());
    }
    let ended: Ended = Scrape::start(command).end().ends_with(0);
    assert_eq!(ended.records.len(), 1);
    assert!(proxy.heads().is_empty());
}

#[test]
fn one_of_two_engines_is_enough() {
    let (good, gone) = (Stub::engine("sglang:num_running_reqs 3\n"), Stub::new().url());
    let engines = format!("{gone},{}", good.url());
    let ended = scrape(&["--engine", &engines, "--once"]).ends_with(0).says(&["connection refused"]);
    assert_eq!(ended.shown(&[("e", good.url())]), ["e sglang_num_running_reqs {} 3.0"]);
    let ended = scrape(&["--engine", &engines, "--once", "-q"]).ends_with(0);
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_engines_of_a_runs_newest_topology_are_scraped_under_their_recorded_addresses() {
    let (old, new) =
        (Stub::engine("sglang:num_running_reqs 1\n"), Stub::engine("sglang:num_running_reqs 2\n"));
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(run.path().join("dashboard")).unwrap();
    let bare = new.url().replace("http://", "");
    let line = |ts: u32, addr: &str| {
        format!(
            "{{\"ts\":{ts}.0,\"engines\":[{{\"addr\":\"{addr}\",\"worker_type\":\"regular\",\"engine_rank\":0,\"gpus\":[],\"gpu_uuids\":[]}}]}}\n"
        )
    };
    let lines = line(1, &old.url()) + "{\"ts\":2.0,\"eng\n" + &line(3, &bare);
    fs::write(run.path().join("dashboard/topology.jsonl"), lines).unwrap();
    let ended = scrape(&["--topology", run.path().to_str().unwrap(), "--once"]).ends_with(0);
    assert_eq!(ended.shown(&[("e", bare)]), ["e sglang_num_running_reqs {} 2.0"]);
    // A run without any yet.
    let empty = tempfile::tempdir().unwrap();
    scrape(&["--topology", empty.path().to_str().unwrap(), "--once"])
        .ends_with(69)
        .says(&["there are no engines yet"]);
}

#[test]
fn engines_can_be_placed_by_hand() {
    let (a, b) = (Stub::engine("sglang:num_running_reqs 1\n"), Stub::engine("sglang:num_running_reqs 2\n"));
    let place = format!("{}=node-1:0-1", a.url());
    let ended =
        scrape(&["--engine", &a.url(), "--engine", &b.url(), "--gpus", &place, "--once"]).ends_with(0);
    let topology = ended.stream("topology");
    assert_eq!(topology.len(), 1);
    assert_eq!(ended.records[0], *topology[0], "before the records of its engines");
    let engines = topology[0]["engines"].as_array().unwrap();
    let of = |url: String| engines.iter().find(|engine| engine["addr"] == url).unwrap().to_string();
    assert_eq!(
        of(a.url()),
        format!(
            r#"{{"addr":"{}","worker_type":"regular","engine_rank":0,"gpus":[["node-1",0],["node-1",1]],"gpu_uuids":[null,null]}}"#,
            a.url()
        )
    );
    assert_eq!(
        of(b.url()),
        format!(
            r#"{{"addr":"{}","worker_type":"external","engine_rank":-1,"gpus":[],"gpu_uuids":[]}}"#,
            b.url()
        )
    );
}

#[test]
fn a_command_line_that_cannot_be_is_refused_before_anybody_is_asked() {
    let pem = tempfile::NamedTempFile::new().unwrap();
    let pem = pem.path().to_str().unwrap();
    for (args, says) in [
        (vec!["--once"], "nobody to ask"),
        (vec!["--engine", "ftp://a:1"], "only http and https are known"),
        (vec!["--engine", "http://user:secret@a:1"], "a user name would be recorded"),
        (vec!["--engine", "a:1", "--mode", "router"], "--mode router without a router"),
        (vec!["--engine", "a:1", "--discover"], "--router"),
        (vec!["--engine", "a:1", "--topology", "x"], "cannot be used with"),
        (vec!["--topology", "/no/such/run"], "there is no such directory"),
        (vec!["--engine", "a:1", "--interval", "0"], "--interval 0 cannot be"),
        (vec!["--engine", "a:1", "--timeout", "nan"], "--timeout NaN cannot be"),
        (vec!["--engine", "a:1", "--metrics", ""], "is no name of a metric"),
        (vec!["--engine", "a:1", "--metrics", "x_bucket"], "the label that tells buckets apart is not kept"),
        (vec!["--engine", "a:1", "--gpus", "a:1=n"], "does not place an engine"),
        (vec!["--engine", "a:1", "--ca-file", pem], "there is no certificate in it"),
        (vec!["--engine", "a:1", "--ca-file", "/no/such/file"], "--ca-file takes a PEM file"),
    ] {
        let ended = scrape(&args).ends_with(64).says(&[says, "; hint: "]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}
