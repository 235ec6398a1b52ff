//! `miles serve` as a client meets it: statuses, headers, what travels and what does not, a run that grows,
//! clients that misbehave, and the end.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use common::Run;
use common::server::{Response, Server, read_chunk};
use serde_json::{Value, json};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

/// A run with conversations, a tokenizer and an evaluation.
fn run() -> Run {
    Run::fixture("data_parallel")
}

/// Appends a line to a stream.
fn append(run: &Run, stream: &str, line: &Value) {
    let path = run.file(&format!("dashboard/{stream}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::options().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[track_caller]
fn has_security_headers(response: &Response) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(response.header(name), Some(value), "{response:?}");
    }
    assert_eq!(response.header("access-control-allow-origin"), None);
}

#[test]
fn every_error_is_told_in_json_with_a_status_that_fits() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    for (path, status, says) in [
        ("/api/rollout/4242/summary", 404, "no train step 4242"),
        ("/api/rollout/0/summary?eval=1", 404, "no evaluation step 0"),
        ("/api/rollout/abc/summary", 422, "\"abc\" is not an integer"),
        ("/api/rollout/0/summary?eval=maybe", 422, "eval"),
        ("/api/rollout/0/sample/999999999/tokens", 404, "no sample with index 999999999"),
        ("/api/rollout/0/sample/0/tokens?start=x", 422, "start"),
        ("/api/rollout/0/sample/0/tokens?start=5&end=5", 400, "no positions"),
        ("/api/metrics", 422, "keys"),
        ("/api/metrics?keys=", 400, "keys"),
        ("/api/metrics?keys=dump/nope", 400, "dump/reward_mean"),
        ("/api/advisory?t0=5&t1=1", 400, "t1"),
        ("/api/timeline/phases?t0=0&t1=99999", 400, "14400"),
        ("/api/timeline/phases?lanes=bogus:1", 400, "bogus"),
        ("/api/timeline/gpu?max_points=1", 400, "max_points"),
        ("/api/timeline/heatmap?metric=nope", 400, "lifecycle"),
        ("/api/timeline/outliers", 422, "criterion"),
        ("/api/timeline/engine_series", 422, "metric"),
        ("/api/nothing", 404, "/api/nothing"),
        ("/api/rollout/0/summary/", 404, "/api/rollout/0/summary/"),
        ("/../../etc/passwd", 404, "openapi"),
        ("/%2e%2e/%2e%2e/etc/passwd", 404, "openapi"),
        ("/api/rollout/..%2f..%2fetc/summary", 422, "not an integer"),
    ] {
        let response = server.get(path);
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(response.header("content-type"), Some("application/json"), "{path}");
        assert!(response.detail().contains(says), "{path}: {}", response.detail());
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
        has_security_headers(&response);
    }
}

#[test]
fn requests_that_no_route_takes_are_refused_and_the_server_goes_on() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    let host = server.address;
    let head = format!("Host: {host}\r\nConnection: close\r\n");
    for (request, status) in [
        (format!("POST /api/meta HTTP/1.1\r\n{head}Content-Length: 2\r\n\r\n{{}}"), 405),
        (format!("DELETE /api/rollout/0/summary HTTP/1.1\r\n{head}\r\n"), 405),
        (format!("OPTIONS /api/meta HTTP/1.1\r\n{head}Origin: http://evil.com\r\n\r\n"), 405),
        (format!("GET /api/meta?x={} HTTP/1.1\r\n{head}\r\n", "a".repeat(40_000)), 414),
        (format!("GET /api/meta HTTP/1.1\r\n{head}Content-Length: 5000000\r\n\r\n"), 413),
        (format!("GET /api/meta HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 413),
        ("GET /api/meta HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), 403),
        (format!("GET /api/meta HTTP/1.1\r\n{head}Host: evil.com\r\n\r\n"), 403),
        ("GET /api/meta HTTP/1.1\r\nHost: evil.com\r\nConnection: close\r\n\r\n".to_owned(), 403),
        (format!("GET http://evil.com/api/meta HTTP/1.1\r\n{head}\r\n"), 403),
    ] {
        let response = server.send(&request);
        let line = request.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
        assert_eq!(response.status, status, "{line}: {}", response.text());
        assert!(!response.detail().is_empty());
        has_security_headers(&response);
        if status == 405 {
            assert_eq!(response.header("allow"), Some("GET,HEAD"), "{line}");
        }
    }
    // What the parser of heads refuses is told by a status alone.
    let lines = "X: y\r\n".repeat(101);
    for (nonsense, status) in [
        ("\0\0\0\r\n\r\n".to_owned(), 400),
        ("GET /api/meta\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{lines}\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(200_000)), 431),
        (format!("GET /{} HTTP/1.1\r\n{head}\r\n", "a".repeat(66_000)), 414),
    ] {
        // It answers before all is written.
        let mut stream = server.connect();
        let _ = stream.write_all(nonsense.as_bytes());
        let response = Response::read(&mut BufReader::new(stream));
        let line = nonsense.chars().take(20).collect::<String>();
        assert_eq!((response.status, response.text().as_str()), (status, ""), "{line}");
    }
    // A small body is not read, whatever it is.
    let with_body = format!("GET /api/meta HTTP/1.1\r\n{head}Content-Length: 2\r\n\r\n{{}}");
    assert_eq!(server.send(&with_body).status, 200);
    assert_eq!(server.get("/api/meta").status, 200);
}

#[test]
fn loopback_needs_no_token_under_any_of_its_names() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    for host in ["localhost", "localhost:1", "a.localhost", "127.0.0.1", "[::1]:9"] {
        let request = format!("GET /api/meta HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(server.send(&request).status, 200, "{host}");
    }
}

#[test]
fn an_answer_that_the_client_has_is_not_sent_again() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    let first = server.get("/api/rollout/0/summary");
    let tag = first.header("etag").unwrap();
    assert!(tag.starts_with("W/\""), "{tag}");
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    for known in [tag, &format!("\"other\", {tag}"), "*"] {
        let again = server.get_with("/api/rollout/0/summary", &[("If-None-Match", known)]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{known}");
        assert_eq!(again.header("etag"), Some(tag));
        has_security_headers(&again);
    }
    let other = server.get_with("/api/rollout/0/summary", &[("If-None-Match", "W/\"other\"")]);
    assert_eq!(other.body, first.body);
    // The step was written anew: another answer under the same address.
    run.write("rollout_data/0.pt", fs::read(run.file("rollout_data/1.pt")).unwrap());
    let changed = server.get_with("/api/rollout/0/summary", &[("If-None-Match", tag)]);
    assert_ne!(changed.status, 304);
}

#[test]
fn answers_travel_compressed_to_who_takes_it() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    let path = "/api/rollout/0/summary";
    let plain = server.get(path);
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    for round in 0..2 {
        let gzip = server.get_with(path, &[("Accept-Encoding", "gzip, deflate")]);
        assert_eq!(gzip.header("content-encoding"), Some("gzip"), "{round}");
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body && gzip.body.len() * 2 < plain.body.len());
        let zstd = server.get_with(path, &[("Accept-Encoding", "gzip, deflate, br, zstd")]);
        assert_eq!(zstd.header("content-encoding"), Some("zstd"), "{round}");
        assert_eq!(zstd::bulk::decompress(&zstd.body, 1 << 24).unwrap(), plain.body);
        assert_eq!(zstd.header("etag"), plain.header("etag"));
    }
    // A short one is not worth it.
    let short = server.get_with("/api/timeline/bubbles", &[("Accept-Encoding", "gzip")]);
    assert_eq!(short.header("content-encoding"), None);
}

#[test]
fn head_tells_the_size_of_what_get_sends() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    let host = server.address;
    let get = server.get("/api/rollout/0/groups");
    let mut stream = server.connect();
    let request = format!("HEAD /api/rollout/0/groups HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let (status, headers) = Response::read_head(&mut stream);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    let head = Response { status, headers, body: rest };
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length").unwrap(), get.body.len().to_string());
    assert_eq!(head.header("etag"), get.header("etag"));
}

#[test]
fn the_first_page_is_the_view_or_says_how_to_get_it_and_lists_the_api() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    has_security_headers(&page);
    // Built without Node there is no view.
    if !page.text().contains("<script") {
        assert!(page.text().contains("/api/timeline/heatmap") && page.text().contains("/api/events"));
        assert!(page.text().contains("Node"), "{}", page.text());
        return;
    }
    let tag = page.header("etag").unwrap();
    assert_eq!(server.get_with("/", &[("If-None-Match", tag)]).status, 304);
    let text = page.text();
    let script = text.split("src=\"./").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let plain = server.get(&format!("/{script}"));
    assert_eq!(plain.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"));
    has_security_headers(&plain);
    let packed = server.get_with(&format!("/{script}"), &[("Accept-Encoding", "gzip, br")]);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.header("vary"), Some("accept-encoding"));
    assert!(packed.body.len() * 2 < plain.body.len());
    for path in ["/assets/none.js", "/assets/..%2fmeta", "/assets/", "/index.html", "/metrics"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_step_that_is_being_written_says_when_to_come_back() {
    let run = run();
    run.age_s("rollout_data/eval_1.pt", 2.0);
    run.cut("rollout_data/1.pt", 1000);
    run.age_s("rollout_data/1.pt", 20.0);
    let server = Server::start(run.path(), &[]);
    for path in ["/api/rollout/1/summary?eval=1", "/api/rollout/1/summary", "/api/rollout/1/groups"] {
        let response = server.get(path);
        assert_eq!(response.status, 503, "{path}: {}", response.text());
        assert!(response.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
        assert!(response.detail().contains("still being written"), "{}", response.detail());
    }
    let ids = &server.json("/api/meta")["rollout_ids"];
    assert_eq!(*ids, json!({"train": [0, 1], "eval": []}), "one is hidden, the other has its train side");
}

#[test]
fn a_step_that_is_written_anew_while_it_is_read_ends_nothing() {
    let run = run();
    let server = Server::start(run.path(), &["--follow"]);
    let file = run.file("rollout_data/0.pt");
    let whole = fs::read(&file).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // As torch does: cut first, then write.
                let mut file = File::create(&file).unwrap();
                for part in whole.chunks(whole.len() / 7 + 1) {
                    file.write_all(part).unwrap();
                }
            }
        });
        for n in 0..300 {
            let path = ["/api/rollout/0/summary", "/api/rollout/0/sample/0/tokens", "/api/advisory"][n % 3];
            let response = server.get(path);
            assert!([200, 500, 503].contains(&response.status), "{path}: {}", response.text());
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    common::age(&file, common::OLD);
    assert_eq!(server.get("/api/rollout/0/summary").status, 200);
}

#[test]
fn a_damaged_step_names_file_and_byte_and_spoils_no_other() {
    let run = run();
    run.cut("rollout_data/1.pt", 1000);
    let server = Server::start(run.path(), &[]);
    let response = server.get("/api/rollout/1/summary");
    assert_eq!(response.status, 500, "{}", response.text());
    let detail = response.detail();
    assert!(detail.starts_with("rollout_data/1.pt: ") && detail.contains("byte 1"), "{detail}");
    assert_eq!(server.get("/api/rollout/0/summary").status, 200);
    let series = server.json("/api/metrics?keys=dump/reward_mean");
    assert_eq!(series["dump/reward_mean"]["x"], json!([0]), "the damaged step has no point");
    let (_, stderr) = server.end(libc::SIGTERM);
    assert!(stderr.contains("step 1 is left out of dump/*"), "{stderr}");
}

#[test]
fn damage_of_streams_is_told_once_on_stderr_and_in_meta() {
    let run = run();
    for (file, text) in [
        ("dashboard/meta.json", "{\"run_name\": "),
        ("dashboard/lane_catalog.json", "[1]"),
        (
            "dashboard/metrics.jsonl",
            "{\"ts\": 1.0, \"step_key\": \"k\", \"step\": 0, \"metrics\": {}}\nbroken\n",
        ),
    ] {
        run.write(file, text);
    }
    let server = Server::start(run.path(), &[]);
    for path in
        ["/api/meta", "/api/metrics?keys=a", "/api/timeline/topology", "/api/timeline/gpu", "/api/meta"]
    {
        server.get(path);
    }
    let damage = server.json("/api/meta")["damage"].clone();
    let (_, stderr) = server.end(libc::SIGTERM);
    for file in ["meta.json", "lane_catalog.json", "metrics.jsonl"] {
        assert_eq!(stderr.matches(&format!("warning: dashboard/{file}: ")).count(), 1, "{file}: {stderr}");
        assert!(damage.to_string().contains(file), "{damage}");
    }
    assert!(stderr.contains("metrics.jsonl: a damaged line skipped (at byte 55)"), "{stderr}");
}

#[test]
fn a_run_without_dumps_answers_empty_series() {
    let run = Run::empty();
    append(&run, "metrics", &json!({"ts": 1.0, "step_key": "rollout/step", "step": 0, "metrics": {"a": 1}}));
    let server = Server::start(run.path(), &[]);
    let empty = json!({"x": [], "y": [], "ts": []});
    assert_eq!(server.json("/api/metrics?keys=dump/reward_mean")["dump/reward_mean"], empty);
    assert_eq!(server.json("/api/metrics?keys=a")["a"], json!({"x": [0], "y": [1], "ts": [1.0]}));
    assert_eq!(server.json("/api/meta")["metric_keys"], json!(["a"]));
}

/// Every file below a folder, with size and time.
fn tree(dir: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::metadata(&path).unwrap();
        if meta.is_dir() {
            all.extend(tree(&path));
        } else {
            all.insert(path.display().to_string(), (meta.len(), meta.modified().unwrap()));
        }
    }
    all
}

#[test]
fn nothing_is_written_but_in_the_cache_folder() {
    let run = run();
    let before = tree(run.path());
    let ask_all = |server: &Server| {
        let advisory = server.get("/api/advisory");
        for path in ["/api/meta", "/api/rollout/0/summary", "/api/metrics?keys=dump/reward_mean", "/"] {
            assert_eq!(server.get(path).status, 200, "{path}");
        }
        assert_eq!(advisory.status, 200);
    };
    let elsewhere = Run::empty();
    ask_all(&Server::start(run.path(), &["--cache-dir", elsewhere.path().to_str().unwrap()]));
    assert_eq!(tree(run.path()), before);
    assert!(elsewhere.file("summary_0.parquet").is_file());
    // A place that cannot be written to: said at the start, served all the same.
    let blocked = run.file("rollout_data/0.pt/cache");
    let server = Server::start(run.path(), &["--cache-dir", blocked.to_str().unwrap()]);
    ask_all(&server);
    ask_all(&server);
    assert_eq!(tree(run.path()), before);
    let (_, stderr) = server.end(libc::SIGTERM);
    assert_eq!(stderr.matches("summaries are not kept on disk").count(), 1, "{stderr}");
    ask_all(&Server::start(run.path(), &[]));
    let mut after = tree(run.path());
    after.retain(|path, _| !before.contains_key(path));
    assert!(!after.is_empty() && after.keys().all(|p| p.contains("dashboard/cache/summary_")), "{after:?}");
}

/// Events of a stream as they come, comments left out.
fn next_event(stream: &mut impl BufRead) -> Option<String> {
    loop {
        let text = String::from_utf8(read_chunk(stream)?).unwrap();
        if text.contains("data:") {
            return Some(text);
        }
    }
}

fn listen(server: &Server, headers: &str) -> BufReader<std::net::TcpStream> {
    let mut stream = server.connect();
    let host = server.address;
    stream
        .write_all(format!("GET /api/events HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n").as_bytes())
        .unwrap();
    let mut stream = BufReader::new(stream);
    let (status, headers) = Response::read_head(&mut stream);
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())), "{headers:?}");
    stream
}

#[test]
fn a_run_that_grows_is_followed_and_told_within_two_seconds() {
    let run = run();
    let server = Server::start(run.path(), &["--follow"]);
    assert_eq!(server.json("/api/meta")["mode"], "follow");
    let mut events = listen(&server, "");
    let within = |events: &mut BufReader<_>, wanted: &str| {
        let start = Instant::now();
        loop {
            let event = next_event(events).unwrap();
            if event.contains(wanted) {
                // It is told within 2 s; a machine that builds beside may need longer.
                assert!(start.elapsed() < Duration::from_secs(10), "{:?}: {event}", start.elapsed());
                return event;
            }
        }
    };
    append(&run, "metrics", &json!({"ts": 5.0, "step_key": "k", "step": 3, "metrics": {"loss": 0.5}}));
    let event = within(&mut events, "\"metrics\"");
    assert!(event.contains("id:"), "{event}");
    assert_eq!(server.json("/api/metrics?keys=loss&x=k")["loss"], json!({"x": [3], "y": [0.5], "ts": [5.0]}));
    // A step whose train side is there is complete, however young.
    fs::copy(run.file("rollout_data/1.pt"), run.file("rollout_data/7.pt")).unwrap();
    fs::copy(run.file("train_data/1_0.pt"), run.file("train_data/7_0.pt")).unwrap();
    let event = within(&mut events, "\"step\":7");
    assert!(event.contains("\"evaluation\":false"), "{event}");
    assert_eq!(server.json("/api/meta")["rollout_ids"]["train"], json!([0, 1, 7]));
    assert_eq!(server.json("/api/metrics?keys=dump/reward_mean")["dump/reward_mean"]["x"], json!([0, 1, 7]));
    // Who comes back gets what was missed, or is told that it is not known any more.
    let id = event.lines().find_map(|l| l.strip_prefix("id:")).unwrap().trim();
    let before = id.rsplit_once('-').map(|(server, n)| format!("{server}-{}", n.parse::<u64>().unwrap() - 1));
    let mut again = listen(&server, &format!("Last-Event-ID: {}\r\n", before.unwrap()));
    assert!(next_event(&mut again).unwrap().contains("\"step\":7"));
    let mut stranger = listen(&server, "Last-Event-ID: 17-3\r\n");
    assert!(next_event(&mut stranger).unwrap().contains("event: resync"));
}

#[test]
fn half_open_connections_and_slow_readers_do_not_hold_others_up() {
    let run = run();
    let server = Server::start(run.path(), &[]);
    let host = server.address;
    let mut idle = Vec::new();
    for n in 0..600 {
        let mut stream = server.connect();
        match n % 3 {
            0 => {}
            1 => stream.write_all(b"GET /api/meta HTTP/1.1\r\nHo").unwrap(),
            _ => {
                let request = format!("GET /api/rollout/0/summary HTTP/1.1\r\nHost: {host}\r\n\r\n");
                stream.write_all(request.repeat(20).as_bytes()).unwrap();
            }
        }
        idle.push(stream);
    }
    for _ in 0..20 {
        let start = Instant::now();
        assert_eq!(server.get("/api/rollout/0/groups").status, 200);
        // Held up it would be until the limits for heads (15 s) and stalls (30 s).
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

#[test]
fn a_signal_ends_it_with_everything_that_is_under_way_answered() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let run = run();
        let server = Server::start(run.path(), &["--follow"]);
        let mut events = listen(&server, "");
        let mut idle = server.connect();
        let start = Instant::now();
        let (status, stderr) = server.end(signal);
        assert_eq!(status, Some(0), "{stderr}");
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        assert!(stderr.contains("stopping"), "{stderr}");
        // Its end is an end, not a break: the last chunk is there.
        assert_eq!(next_event(&mut events), None);
        // Closed; or reset, where it was not accepted yet.
        let closed = idle.read(&mut [0; 8]);
        assert!(matches!(&closed, Ok(0)) || closed.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset));
    }
}

#[test]
fn the_token_is_printed_for_people_and_in_no_log() {
    let run = run();
    let args = ["-d", run.path().to_str().unwrap(), "--host", "0.0.0.0", "--token", "open-sesame", "-v"];
    let server = Server::start_with(&args);
    assert_eq!(server.get("/api/meta?token=open-sesame").status, 200);
    assert_eq!(server.get("/?token=open-sesame&a=1").header("location"), Some("/?a=1"));
    let (_, stderr) = server.end(libc::SIGTERM);
    assert!(stderr.contains("GET /api/meta 200"), "{stderr}");
    let secret: Vec<&str> = stderr.lines().filter(|l| l.contains("open-sesame")).collect();
    assert!(secret.iter().all(|l| l.contains("from elsewhere: ")) && secret.len() == 1, "{stderr}");
}

#[test]
fn wrong_arguments_are_told_on_one_line() {
    let run = run();
    let run = run.path().to_str().unwrap();
    let taken = Server::start(Path::new(run), &[]);
    let port = taken.address.port().to_string();
    for (args, status, says) in [
        (vec!["-d", "/no/such/run"], 64, "there is no such directory"),
        (vec!["-d", run, "--host", "127.0.0.1", "--port", &port], 2, "the port is taken"),
        (vec!["-d", run, "--host", "no.such.host.invalid", "--port", "0"], 64, "--host"),
        (vec!["-d", run, "--port", "70000"], 64, "70000"),
        (vec!["-d", run, "--port", "abc"], 64, "hint: miles serve --help"),
        (vec!["-d", run, "--token", "a b"], 64, "--token is not"),
        (vec!["-d", run, "--token", ""], 64, "--token is not"),
        (vec!["-d", run, "--demo"], 64, "--demo"),
        (vec!["-d", run, "--low-mfu-threshold", "7"], 64, "fraction"),
        (vec!["-d", run, "--low-mfu-threshold", "-1"], 64, "fraction"),
        (vec!["-d", run, "--token", "t", "--no-auth"], 64, "--no-auth"),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_miles"));
        command.arg("serve").args(&args).env_remove("MILES_TOKEN").env_remove("MILES_DUMP_DETAILS");
        let answer = common::answer(command);
        assert_eq!(answer.status, Some(status), "{args:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(says), "{args:?}: {}", answer.stderr);
        assert_eq!((answer.stderr.lines().count(), answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
    }
}

#[test]
fn an_empty_token_in_the_environment_is_a_mistake_not_an_open_door() {
    let run = run();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_miles"));
    command.args(["serve", "--port", "0", "-d"]).arg(run.path()).env("MILES_TOKEN", "");
    let answer = common::answer(command);
    assert_eq!(answer.status, Some(64), "{}", answer.stderr);
    assert!(answer.stderr.contains("MILES_TOKEN is not"), "{}", answer.stderr);
}

#[test]
fn demo_and_no_auth_win_over_the_environment() {
    let env = [("MILES_DUMP_DETAILS", "/no/such/run"), ("MILES_TOKEN", "t")];
    let server = Server::start_in(&["--demo", "--no-auth", "--host", "127.0.0.1"], &env);
    assert_eq!(server.json("/api/meta")["mode"], "static");
    // With no other wish the environment names the run.
    let run = run();
    let env = [("MILES_DUMP_DETAILS", run.path().to_str().unwrap())];
    let server = Server::start_in(&["--host", "127.0.0.1"], &env);
    assert_eq!(server.json("/api/meta")["rollout_ids"]["train"], json!([0, 1]));
}

#[test]
fn the_demo_is_served_and_gone_afterwards() {
    for signal in [libc::SIGINT, libc::SIGHUP] {
        let server = Server::start_with(&["--demo", "--host", "127.0.0.1"]);
        let meta = server.json("/api/meta");
        assert!(!meta["rollout_ids"]["train"].as_array().unwrap().is_empty(), "{meta}");
        let (status, stderr) = server.end(signal);
        assert_eq!(status, Some(0));
        let folder =
            stderr.split_once("miles-demo-").map(|(_, rest)| rest.split(':').next().unwrap()).unwrap();
        assert!(!std::env::temp_dir().join(format!("miles-demo-{folder}")).exists());
    }
}

#[test]
fn a_demo_that_is_ended_while_it_is_written_leaves_nothing_behind() {
    let entries = |dir: &Path| fs::read_dir(dir).unwrap().count();
    for signals in [&[libc::SIGTERM][..], &[libc::SIGHUP], &[libc::SIGINT, libc::SIGINT]] {
        let place = Run::empty();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_miles"));
        command.args(["serve", "--demo", "--host", "127.0.0.1", "--port", "0"]).env("TMPDIR", place.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while entries(place.path()) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        for &signal in signals {
            // SAFETY: a plain system call on a child that has not been waited for.
            unsafe { libc::kill(child.id() as i32, signal) };
            std::thread::sleep(Duration::from_millis(50));
        }
        common::wait(&mut child, "miles serve --demo");
        assert_eq!(entries(place.path()), 0, "{signals:?}");
    }
}
