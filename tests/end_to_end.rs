//! The whole write side at once: stub GPUs under `miles-sample`, a stub router with engines under
//! `miles-scrape`, a training job in Python, all into one `miles-collect`, followed by `miles serve`. The API
//! must tell what happened, and a server that reads the same files afterwards must tell the same.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "this test uses a part of it")]
#[path = "common/engine.rs"]
mod engine;
#[path = "support/nvml.rs"]
mod nvml;
#[allow(dead_code, reason = "this test uses a part of it")]
#[path = "common/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use engine::{Answer, Stub};
use nvml::Host;
use server::Server;

/// As `support/nvml.rs` has it.
const NODE: &str = "n";
const STEPS: usize = 10;
const SAMPLES: usize = 4;
/// Far longer than anything here takes: who needs this long hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// `server.rs` waits for its child through this.
fn wait(child: &mut Child, what: &str) -> ExitStatus {
    let mut status = None;
    until(what, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "still not: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A tool that goes on until it is told to end; killed with a failed test.
struct Tool {
    name: &'static str,
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Tool {
    fn start(name: &'static str, command: &mut Command) -> Self {
        for name in ["MILES_DUMP_DETAILS", "MILES_COLLECT", "RUST_BACKTRACE", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let from = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::new(Mutex::new(String::new()));
        let told = said.clone();
        std::thread::spawn(move || {
            for line in from.lines().map_while(Result::ok) {
                told.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self { name, child, said }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// What it says behind `prefix`.
    fn says(&self, prefix: &str) -> String {
        let mut found = None;
        until(prefix, || {
            found =
                self.said().lines().find_map(|line| line.split_once(prefix).map(|(_, rest)| rest.to_owned()));
            found.is_some()
        });
        found.unwrap()
    }

    /// Ends it with SIGTERM, after which it must have ended well.
    fn end(mut self) -> String {
        // SAFETY: a plain system call on a child that has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let status = wait(&mut self.child, self.name);
        assert_eq!(status.code(), Some(0), "{}: {}", self.name, self.said());
        self.said()
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An engine that has made `tokens` tokens and has `running` requests.
fn metrics(running: u32, tokens: u64) -> String {
    format!(
        "# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{{engine_type=\"unified\",tp_rank=\"0\"}} {running}.0\n\
         # TYPE sglang:token_usage gauge\nsglang:token_usage{{engine_type=\"unified\",tp_rank=\"0\"}} 0.5\n\
         # TYPE sglang:generation_tokens_total counter\nsglang:generation_tokens_total{{engine_type=\"unified\"}} {tokens}.0\n"
    )
}

/// A router that lists the engines, as sglang's does.
fn router(engines: &[Stub]) -> Stub {
    let stub = Stub::new();
    let workers: Vec<Value> = engines
        .iter()
        .map(|e| json!({"id": e.url(), "url": e.url(), "worker_type": "regular", "is_healthy": true, "connection_mode": "HTTP"}))
        .collect();
    stub.answer("/workers", Answer::Text(json!({"workers": workers, "total": workers.len()}).to_string()));
    stub
}

/// What is left when all have ended, and the job's own account.
struct Played {
    run: tempfile::TempDir,
    engines: Vec<Stub>,
    story: Value,
    follow: Server,
}

/// Plays the job while all tools run; they have ended when it returns, and only the server goes on.
fn play(python: &Path) -> Played {
    let run = tempfile::tempdir().unwrap();
    let host = Host::new(4);
    let engines: Vec<Stub> = (0..2).map(|_| Stub::engine(&metrics(3, 0))).collect();
    let router = router(&engines);

    let mut sample = host.command(&["--interval", "0.1", "--process-interval", "0.5", "--health"]);
    let mut sample = Tool::start("miles-sample", sample.stdout(Stdio::piped()));
    let collect = Tool::start(
        "miles-collect",
        Command::new(env!("CARGO_BIN_EXE_miles-collect"))
            .arg("-d")
            .arg(run.path())
            .args(["--listen", "tcp://127.0.0.1:0", "--flush-interval", "0.1", "-v"])
            .stdin(sample.child.stdout.take().unwrap()),
    );
    let address = collect.says("listening on tcp://");
    // What `miles-scrape > /dev/tcp/HOST/PORT` is in bash.
    let socket = OwnedFd::from(TcpStream::connect(&address).unwrap());
    let scrape = Tool::start(
        "miles-scrape",
        Command::new(env!("CARGO_BIN_EXE_miles-scrape"))
            .args(["--router", &router.url(), "--discover", "--interval", "0.1"])
            .args(["--gpus", &format!("{}={NODE}:0", engines[0].url())])
            .args(["--gpus", &format!("{}={NODE}:1", engines[1].url())])
            .stdin(Stdio::null())
            .stdout(socket),
    );
    let dashboard = run.path().join("dashboard");
    until("a topology on disk", || {
        std::fs::read_to_string(dashboard.join("topology.jsonl")).is_ok_and(|t| t.ends_with('\n'))
    });
    let follow = Server::start(run.path(), &["--follow"]);

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut job = Command::new(python)
        .arg(root.join("tests/end_to_end_job.py"))
        .arg(run.path())
        .args([STEPS.to_string(), SAMPLES.to_string()])
        .env("PYTHONPATH", root.join("clients/python/src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MILES_NODE", NODE)
        .env("MILES_COLLECT", format!("tcp://{address}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut tokens = 0;
    until("the job's end", || {
        tokens += 100;
        engines.iter().for_each(|engine| engine.metrics(&metrics(3, tokens)));
        job.try_wait().unwrap().is_some()
    });
    assert!(job.wait().unwrap().success(), "{}", collect.said());
    let mut told = String::new();
    job.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    let story: Value = serde_json::from_str(&told).unwrap();

    sample.end();
    scrape.end();
    let said = collect.end();
    assert!(["warning", "bad line", "dropped"].iter().all(|word| !said.contains(word)), "{said}");
    Played { run, engines, story, follow }
}

impl Played {
    /// The job's phases of a name: (rank, t0, t1).
    fn phases(&self, name: &str) -> Vec<(i64, f64, f64)> {
        let all = self.story["phases"].as_array().unwrap().iter().filter(|phase| phase["name"] == name);
        all.map(|p| (p["rank"].as_i64().unwrap(), p["t0"].as_f64().unwrap(), p["t1"].as_f64().unwrap()))
            .collect()
    }

    fn steps(&self) -> &Vec<Value> {
        self.story["steps"].as_array().unwrap()
    }

    /// One number of each step.
    fn each(&self, key: &str) -> Vec<Value> {
        self.steps().iter().map(|step| step[key].clone()).collect()
    }
}

fn about_the_run(played: &Played, server: &Server) {
    let meta = server.json("/api/meta");
    assert_eq!(meta["run_name"], "end-to-end");
    assert_eq!(meta["damage"], json!([]));
    assert_eq!(meta["data_buffer_length"], played.steps()[STEPS - 1]["buffer"]);
    assert_eq!(meta["rollout_ids"]["train"], Value::from((0..STEPS).collect::<Vec<_>>()));
    let keys = meta["metric_keys"].as_array().unwrap();
    assert!(
        keys.contains(&json!("train/loss"))
            && !keys.contains(&json!("nan"))
            && !keys.contains(&json!("grad"))
    );
    let file = std::fs::read_to_string(played.run.path().join("dashboard/meta.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        file["args"],
        json!({"colocate": false, "n_samples_per_prompt": 2, "wandb_group": "end-to-end"})
    );
    assert_eq!((&played.story["dropped"], &file["schema_version"]), (&json!(0), &json!(1)));
}

fn lanes_and_phases(played: &Played, server: &Server) {
    let topology = server.json("/api/timeline/topology");
    let lanes: Vec<_> =
        topology["lanes"].as_array().unwrap().iter().map(|l| (&l["node"], &l["gpu"])).collect();
    let node = json!(NODE);
    assert_eq!(lanes, [0, 1, 2, 3].map(Value::from).iter().map(|gpu| (&node, gpu)).collect::<Vec<_>>());
    let engines = topology["windows"][0]["engines"].as_array().unwrap();
    let addrs: Vec<String> = played.engines.iter().map(Stub::url).collect();
    let mut told: Vec<&str> = engines.iter().map(|e| e["addr"].as_str().unwrap()).collect();
    told.sort_unstable_by_key(|told| addrs.iter().position(|addr| addr == told));
    assert_eq!(told, addrs);

    let phases = server.json("/api/timeline/phases");
    let on = |gpu: i64, name: &str| -> Vec<(i64, f64, f64)> {
        let all =
            phases["phases"].as_array().unwrap().iter().filter(|p| p["gpu"] == gpu && p["name"] == name);
        all.map(|p| (p["rank"].as_i64().unwrap(), p["t0"].as_f64().unwrap(), p["t1"].as_f64().unwrap()))
            .collect()
    };
    for name in ["actor_train", "update_weights"] {
        let told = played.phases(name);
        for (rank, gpu) in [(0, 2), (1, 3)] {
            let own: Vec<_> = told.iter().copied().filter(|phase| phase.0 == rank).collect();
            assert_eq!(own.len(), STEPS);
            assert_eq!(on(gpu, name), own, "{name} on GPU {gpu}");
        }
    }
    // The rollout manager has no GPU; its phases lie on those of the engines.
    for gpu in [0, 1] {
        assert_eq!(on(gpu, "rollout"), played.phases("rollout"), "rollout on GPU {gpu}");
    }
}

fn gpus_and_engines(played: &Played, server: &Server) {
    let gpus = server.json("/api/timeline/gpu");
    for gpu in 0..4 {
        let lane = &gpus["lanes"][format!("{NODE}:{gpu}")];
        let util = lane["util"].as_array().unwrap();
        assert!(util.len() > 5, "{lane}");
        // The stub's own values.
        assert!(util.iter().all(|util| *util == 10 + gpu), "{lane}");
        assert!(lane["mem_mb"].as_array().unwrap().iter().all(|mem| *mem == 1000 + gpu), "{lane}");
    }
    let of = |metric: &str| -> BTreeMap<String, Vec<f64>> {
        let answer = server.json(&format!("/api/timeline/engine_series?metric={metric}"));
        let series = answer["series"].as_array().unwrap().clone();
        let values = |s: &Value| s["value"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        series.iter().map(|s| (s["addr"].as_str().unwrap().to_owned(), values(s))).collect()
    };
    let (running, tokens) = (of("sglang_num_running_reqs"), of("sglang_generation_tokens_per_s"));
    for engine in &played.engines {
        let running = &running[&engine.url()];
        assert!(running.len() > 5 && running.iter().all(|value| *value == 3.0), "{running:?}");
        let tokens = &tokens[&engine.url()];
        assert!(
            tokens.iter().any(|rate| *rate > 0.0) && tokens.iter().all(|rate| *rate >= 0.0),
            "{tokens:?}"
        );
    }
}

fn steps_and_samples(played: &Played, server: &Server) {
    let numbers = Value::from((0..STEPS).collect::<Vec<_>>());
    let loss = &server.json("/api/metrics?keys=train/loss&x=train/step")["train/loss"];
    assert_eq!((&loss["x"], &loss["y"]), (&numbers, &Value::from(played.each("loss"))));
    let bubbles = server.json("/api/timeline/bubbles");
    for key in ["step", "step_time", "wait_ratio"] {
        let told: Vec<Value> =
            bubbles["bubbles"].as_array().unwrap().iter().map(|b| b[key].clone()).collect();
        assert_eq!(told, played.each(key), "{key}");
    }
    for (step, told) in played.steps().iter().enumerate() {
        let answer = server.json(&format!("/api/rollout/{step}/trajectories"));
        let lanes = answer["lanes"].as_array().unwrap();
        let mut indices: Vec<i64> = lanes.iter().map(|lane| lane["sample_index"].as_i64().unwrap()).collect();
        indices.sort_unstable();
        assert_eq!(Value::from(indices), told["samples"]);
        for lane in lanes {
            let segments = lane["segments"].as_array().unwrap();
            let seen: Vec<_> =
                segments.iter().map(|s| (s["kind"].as_str().unwrap(), s["turn"].as_i64().unwrap())).collect();
            assert_eq!(seen, [("gen", 1), ("tool", 1), ("gen", 2)], "{lane}");
            assert!(
                segments.iter().all(|s| s["t0"].as_f64().unwrap() <= s["t1"].as_f64().unwrap()),
                "{lane}"
            );
            assert_eq!(lane["status"], "completed", "{lane}");
            assert_eq!(lane["attempts"].as_array().unwrap().len(), 1, "{lane}");
        }
        let summary = server.json(&format!("/api/rollout/{step}/summary"));
        assert_eq!(summary["rows"].as_array().unwrap().len(), SAMPLES);
    }
}

/// What two servers of the same files must answer alike.
fn routes() -> Vec<String> {
    let mut all: Vec<String> = [
        "/api/meta",
        "/api/advisory",
        "/api/metrics?keys=train/loss,perf/step_time,rollout/reward&x=rollout/step",
        "/api/metrics?keys=dump/reward_mean,dump/mean_abs_lp_diff",
        "/api/timeline/topology",
        "/api/timeline/phases",
        "/api/timeline/gpu",
        "/api/timeline/gpu_processes",
        "/api/timeline/fleet?x_buckets=100",
        "/api/timeline/heatmap?metric=util&x_buckets=100",
        "/api/timeline/heatmap?metric=lifecycle&x_buckets=100",
        "/api/timeline/outliers?criterion=lowest_util",
        "/api/timeline/outliers?criterion=slowest_phase:actor_train",
        "/api/timeline/engine_series?metric=sglang_num_running_reqs",
        "/api/timeline/engine_series?metric=sglang_generation_tokens_per_s",
        "/api/timeline/bubbles",
    ]
    .map(str::to_owned)
    .into();
    for step in 0..STEPS {
        all.extend(["summary", "groups", "trajectories"].map(|what| format!("/api/rollout/{step}/{what}")));
    }
    all
}

/// An answer's body, without what tells a server that follows from one that does not.
fn body(server: &Server, route: &str) -> Vec<u8> {
    let response = server.get(route);
    assert_eq!(response.status, 200, "{route}: {}", response.text());
    if route != "/api/meta" {
        return response.body;
    }
    let mut meta = response.json();
    meta.as_object_mut().unwrap().remove("mode");
    meta.to_string().into_bytes()
}

#[test]
fn what_the_tools_and_the_job_tell_is_what_the_server_tells_while_it_is_written_and_afterwards() {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        eprintln!("skipped: MILES_TEST_PYTHON names no Python with torch");
        return;
    };
    let played = play(Path::new(&python));
    let cold = Server::start(played.run.path(), &[]);
    for check in [about_the_run, lanes_and_phases, gpus_and_engines, steps_and_samples] {
        check(&played, &cold);
    }
    for route in routes() {
        let read = body(&cold, &route);
        // It looks each second or two; then it must have all of it.
        until(&format!("{route} is alike"), || body(&played.follow, &route) == read);
    }
    for check in [about_the_run, lanes_and_phases, gpus_and_engines, steps_and_samples] {
        check(&played, &played.follow);
    }
}
