//! `miles-scrape` behind a router: a stub that does what routers do, and the real one of sglang where
//! `MILES_TEST_PYTHON` names an interpreter that has it (`tests/interop/requirements.txt`).

#![allow(clippy::unwrap_used)]

#[path = "common/engine.rs"]
#[allow(dead_code)]
mod engine;
#[path = "common/scraping.rs"]
#[allow(dead_code)]
mod scraping;

use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Answer, Stub};
use scraping::{LONG, Scrape, scrape};

const RUNNING: &str = "sglang:num_running_reqs{engine_type=\"unified\",model_name=\"org/m:v1\"} 3\n";

/// A router that lists these workers and answers for these.
fn router(listed: &[(&str, &str)], answering: &[&str]) -> Stub {
    let stub = Stub::new();
    list(&stub, listed);
    aggregate(&stub, answering);
    stub
}

fn list(stub: &Stub, workers: &[(&str, &str)]) {
    let workers: Vec<_> = workers
        .iter()
        .map(|(url, kind)| serde_json::json!({"url": url, "worker_type": kind, "is_healthy": true, "connection_mode": "HTTP"}))
        .collect();
    stub.answer("/workers", Answer::Text(serde_json::json!({"workers": workers}).to_string()));
}

fn aggregate(stub: &Stub, workers: &[&str]) {
    let lines = workers.iter().map(|url| {
        format!("sglang_num_running_reqs{{engine_type=\"unified\",dp_rank=\"\",model_name=\"org/m_v1\",worker_addr=\"{url}\"}} 42\n")
    });
    stub.answer("/engine_metrics", Answer::Text(lines.collect()));
}

#[test]
fn a_router_alone_answers_for_its_engines() {
    let router =
        router(&[], &["http://10.0.0.1:1", "http://10.0.0.2:1", "http_//10.0.0.3_1", "http://10.0.0.1:1@1"]);
    let url = router.url();
    let ended = scrape(&["--router", &url, "--once"]).ends_with(0);
    let wanted =
        |host: &str| format!("http://10.0.0.{host}:1 sglang_num_running_reqs {{engine_type=unified}} 42.0");
    let mut got = ended.shown(&[]);
    got.sort();
    assert_eq!(got, ["1", "2", "3"].map(wanted));
    assert!(ended.stream("topology").is_empty());
    assert_eq!(router.heads().len(), 1, "{:?}", router.heads());
}

#[test]
fn discovered_engines_are_told_and_scraped_themselves() {
    let (a, b) = (Stub::engine(RUNNING), Stub::engine(RUNNING));
    let (a_url, b_url) = (a.url(), b.url());
    let router = router(&[(&a_url, "prefill")], &[]);
    let url = router.url();
    let place = format!("{b_url}=node:4-5");
    let mut scrape = Scrape::run(&["--router", &url, "--discover", "--gpus", &place, "--interval", "0.05"]);
    let first = scrape.until(|_| true);
    assert_eq!(
        first["engines"].to_string(),
        format!(
            r#"[{{"addr":"{a_url}","worker_type":"prefill","engine_rank":-1,"gpus":[],"gpu_uuids":[]}}]"#
        )
    );
    let record = scrape.until_of(&a_url);
    assert_eq!((&record["metric"], &record["value"]), (&"sglang_num_running_reqs".into(), &3.0.into()));
    list(&router, &[(&b_url, "decode")]);
    let second = scrape.until(|record| record["stream"] == "topology");
    assert_eq!(
        second["engines"].to_string(),
        format!(
            r#"[{{"addr":"{b_url}","worker_type":"decode","engine_rank":0,"gpus":[["node",4],["node",5]],"gpu_uuids":[null,null]}}]"#
        )
    );
    scrape.until_of(&b_url);
    list(&router, &[]);
    let third = scrape.until(|record| record["stream"] == "topology");
    assert_eq!(third["engines"].to_string(), "[]");
    let ended = scrape.stop(libc::SIGTERM).ends_with(0);
    assert_eq!(ended.stream("topology").len(), 3, "only when they change");
}

#[test]
fn the_list_of_an_older_router_is_understood() {
    let engine = Stub::engine(RUNNING);
    let router = Stub::new();
    router.answer("/list_workers", Answer::Text(format!("{{\"urls\": [\"{}\"]}}", engine.url())));
    for more in [["--discover", "--mode=auto"], ["--mode=direct", "-v"]] {
        let ended = scrape(&[&["--router", &router.url(), "--once"], &more[..]].concat()).ends_with(0);
        let series = ended.shown(&[("e", engine.url())]);
        assert_eq!(series, ["e sglang_num_running_reqs {engine_type=unified} 3.0"]);
        assert_eq!(ended.stream("topology").len(), usize::from(more[0] == "--discover"));
    }
}

#[test]
fn a_router_that_cannot_is_replaced_by_its_engines_and_that_is_said_once() {
    let (a, b) = (Stub::engine(RUNNING), Stub::engine(RUNNING));
    let (a_url, b_url) = (a.url(), b.url());
    for answer in [
        Answer::Status(500, "Failed to aggregate metrics: Label names should agree".to_owned()),
        Answer::Status(501, "Not Implemented".to_owned()),
        Answer::Status(404, "Not Found".to_owned()),
        Answer::Text("smg_worker_health 1\n".to_owned()),
        Answer::Raw(b"garbage".to_vec()),
    ] {
        let router = router(&[(&a_url, "regular"), (&b_url, "regular")], &[]);
        router.answer("/engine_metrics", answer.clone());
        let url = router.url();
        let mut scrape = Scrape::run(&["--router", &url, "--interval", "0.05"]);
        for _ in 0..3 {
            scrape.until_of(&a_url);
            scrape.until_of(&b_url);
        }
        let ended = scrape.stop(libc::SIGINT).ends_with(0);
        let said =
            ended.stderr.lines().filter(|line| line.contains("2 engines are scraped directly")).count();
        assert_eq!(said, 1, "{answer:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stream("topology").is_empty());
    }
}

#[test]
fn engines_that_were_given_are_the_fallback_of_a_router_and_it_is_returned_to() {
    let engine = Stub::engine(RUNNING);
    let engine_url = engine.url();
    let router = Stub::new();
    router.answer("/engine_metrics", Answer::Status(500, "All backend requests failed".to_owned()));
    let url = router.url();
    let arguments = ["--router", &url, "--engine", &engine_url, "--mode", "router", "--interval", "0.05"];
    let mut scrape = Scrape::run(&arguments);
    let record = scrape.until_of(&engine_url);
    assert_eq!(record["value"], 3.0);
    scrape.hears("answers 500 (All backend requests failed); its engine is scraped directly while it fails");
    aggregate(&router, &[&engine_url]);
    let record = scrape.until(|record| record["value"] == 42.0);
    assert_eq!(record["addr"], engine_url.as_str());
    scrape.hears("answers again, and is asked from now on");
    let asked = engine.heads().len();
    (0..5).for_each(|_| drop(scrape.until(|record| record["value"] == 42.0)));
    assert!(engine.heads().len() <= asked + 1);
    scrape.stop(libc::SIGINT).ends_with(0);
}

#[test]
fn a_worker_missing_from_a_good_answer_is_told_and_so_is_its_return() {
    let (a, b) = ("http://10.0.0.1:1", "http://10.0.0.2:1");
    let router = router(&[], &[a, b]);
    let url = router.url();
    let mut scrape = Scrape::run(&["--router", &url, "--interval", "0.05"]);
    scrape.until_of(b);
    aggregate(&router, &[a]);
    scrape.hears(&format!("{b}: missing from the answer of {url}/engine_metrics; hint: a router leaves out"));
    aggregate(&router, &[a, b]);
    scrape.hears(&format!("{b}: back after "));
    let ended = scrape.stop(libc::SIGINT).ends_with(0);
    assert!(!ended.stderr.contains(&format!("{a}:")), "{}", ended.stderr);
    // Known from the list alone, and never in an answer.
    list(&router, &[(a, "regular"), (b, "regular")]);
    aggregate(&router, &[a]);
    let scrape = Scrape::run(&["--router", &url, "--discover", "--mode", "router", "--interval", "0.05"]);
    scrape.hears(&format!("{b}: missing from the answer of"));
    scrape.stop(libc::SIGINT).ends_with(0);
}

#[test]
fn a_router_that_is_not_there_is_named_and_is_69() {
    let gone = Stub::new().url();
    for more in [&[][..], &["--discover"], &["--mode", "direct"], &["--mode", "router"]] {
        let ended = scrape(&[&["--router", &gone, "--once"], more].concat()).ends_with(69);
        assert!(ended.records.is_empty());
        ended.says(&["connection refused; hint: is it running"]);
    }
}

/// A process that ends with it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The interpreter, where it has the router.
fn python() -> Option<OsString> {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        println!("skipped: MILES_TEST_PYTHON is not set");
        return None;
    };
    let import = Command::new(&python).args(["-c", "import sglang_router.launch_router"]).output().unwrap();
    if !import.status.success() {
        println!("skipped: no sglang-router: {}", String::from_utf8_lossy(&import.stderr));
        return None;
    }
    Some(python)
}

/// A worker as far as a router looks at one.
fn worker(text: &str) -> Stub {
    let stub = Stub::engine(text);
    stub.answer("/health", Answer::Text("ok".to_owned()));
    let about = r#"{"tp_size": 1, "dp_size": 1, "model_path": "org/m", "served_model_name": "org/m:v1", "is_generation": true}"#;
    for path in ["/server_info", "/get_server_info", "/model_info", "/get_model_info"] {
        stub.answer(path, Answer::Text(about.to_owned()));
    }
    stub
}

#[test]
fn the_real_router_loses_a_worker_then_all_then_has_one_again() {
    let Some(python) = python() else { return };
    let workers = [worker(RUNNING), worker(RUNNING)];
    let urls = workers.each_ref().map(Stub::url);
    // Free a moment ago; the router takes no 0.
    let ports =
        [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap()).map(|l| l.local_addr().unwrap().port());
    let log = tempfile::NamedTempFile::new().unwrap();
    let started = Command::new(python)
        .args([
            "-m",
            "sglang_router.launch_router",
            "--host",
            "127.0.0.1",
            "--worker-urls",
            &urls[0],
            &urls[1],
        ])
        .args(["--port", &ports[0].to_string(), "--prometheus-port", &ports[1].to_string()])
        .stdin(Stdio::null())
        .stdout(log.reopen().unwrap())
        .stderr(log.reopen().unwrap())
        .spawn()
        .unwrap();
    let mut process = Process(started);
    let router = format!("http://127.0.0.1:{}", ports[0]);
    let begun = Instant::now();
    let told = || std::fs::read_to_string(log.path()).unwrap();
    // It starts before its workers are registered.
    loop {
        let ended = scrape(&["--router", &router, "--once", "-q"]);
        if ended.records.len() == 2 {
            break;
        }
        let exited = process.0.try_wait().unwrap();
        assert!(exited.is_none() && begun.elapsed() < LONG, "{exited:?} {}\n{}", ended.stderr, told());
        thread::sleep(Duration::from_millis(100));
    }

    let ended = scrape(&["--router", &router, "--once", "--discover"]).ends_with(0);
    let kinds: Vec<_> = ended.stream("topology")[0]["engines"].as_array().unwrap().clone();
    assert_eq!(kinds.len(), 2);
    assert!(kinds.iter().all(|engine| engine["worker_type"] == "regular"), "{kinds:?}");

    let mut scrape = Scrape::run(&["--router", &router, "--interval", "0.1"]);
    for url in &urls {
        let record = scrape.until_of(url);
        assert_eq!(record["labels"].to_string(), r#"{"engine_type":"unified"}"#);
        assert_eq!((&record["metric"], &record["value"]), (&"sglang_num_running_reqs".into(), &3.0.into()));
    }
    workers[0].down(true);
    scrape.hears(&format!("{}: missing from the answer of {router}/engine_metrics", urls[0]));
    scrape.until_of(&urls[1]);
    workers[1].down(true);
    scrape.hears("its 2 engines are scraped directly while it fails");
    scrape.hears(&format!("{}/metrics: ", urls[1]));
    // Back, and at once scraped without the router, whatever that thinks of its health.
    workers[0].down(false);
    scrape.until_of(&urls[0]);
    scrape.hears(&format!("{}: back after ", urls[0]));
    scrape.stop(libc::SIGTERM).ends_with(0);
}
