//! The pipelines of docs/pipelines.md that one machine can run: each block marked `run` is run as it is
//! written there, over stub GPUs and stub engines, and must leave records and no bad line.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "this test uses a part of it")]
#[path = "common/engine.rs"]
mod engine;
#[path = "support/nvml.rs"]
mod nvml;

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use miles::record::{Layout, Stream};
use serde_json::{Value, json};

use engine::{Answer, Stub};

/// Far longer than any of it takes: what needs this long hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// What nvidia-smi prints for these fields, `csv,noheader,nounits`; a card without a power reading among it.
const NVIDIA_SMI: &str = "0, 97, 60123, 640.12\n1, 3, 1024, 71.50\n2, 12, 2048, [N/A]\n";

/// Blocks marked `run`.
fn blocks() -> Vec<String> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pipelines.md");
    let text = fs::read_to_string(document).unwrap();
    let parts = text.split("```sh run\n").skip(1);
    parts.map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// A machine on which the blocks can run: tools that come to an end, stubs, and a folder with their input.
struct Machine {
    folder: tempfile::TempDir,
    host: nvml::Host,
    router: Stub,
    /// Answers to the router's scrape.
    _engine: Stub,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Stub::engine(
            "# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{tp_rank=\"0\"} 3.0\n",
        );
        let router = Stub::new();
        let worker = json!({"url": engine.url(), "worker_type": "regular", "is_healthy": true, "connection_mode": "HTTP"});
        router.answer("/workers", Answer::Text(json!({"workers": [worker], "total": 1}).to_string()));
        let machine = Self { folder, host: nvml::Host::new(2), router, _engine: engine };
        let log = [(1.5, 0, 128, 0.5), (2.5, 1, 96, 0.25)];
        let log = log.map(|(time, step, buffer, loss)| {
            json!({"time": 1_769_907_600.0 + time, "step": step, "buffer": buffer, "loss": loss}).to_string()
                + "\n"
        });
        fs::write(machine.path("train.log"), log.concat()).unwrap();
        let config =
            json!({"name": "grpo-7", "colocate": true, "n_samples_per_prompt": 8, "api_key": "hush"});
        fs::write(machine.path("config.json"), config.to_string()).unwrap();
        // The tools of the document go on until they are told to end; here they end by themselves.
        machine.program(
            "miles-sample",
            &format!("exec {} --count 3 --interval 0.05 \"$@\"", env!("CARGO_BIN_EXE_miles-sample")),
        );
        machine
            .program("miles-scrape", &format!("exec {} --once \"$@\"", env!("CARGO_BIN_EXE_miles-scrape")));
        machine.program("miles-collect", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_miles-collect")));
        fs::write(machine.path("smi.csv"), NVIDIA_SMI).unwrap();
        machine.program("nvidia-smi", &format!("cat {}", machine.path("smi.csv").display()));
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, does: &str) {
        let path = self.path("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{does}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a block on a run directory of its own; answers that and what it said.
    fn run(&self, block: &str) -> (PathBuf, String) {
        let run = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = block
            .replace("/runs/a", run.to_str().unwrap())
            .replace("http://127.0.0.1:30000", &self.router.url())
            .replace("7700", &port.to_string());
        let said = run.with_extension("err");
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        // What the host adds to the environment of its own tool is what these need.
        let host = self.host.command(&[]);
        let stub = host.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let mut child = Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", &script])
            .current_dir(self.folder.path())
            .envs(stub)
            .env("LD_LIBRARY_PATH", nvml::library().parent().unwrap())
            .env("PATH", path)
            .env_remove("MILES_DUMP_DETAILS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&said).unwrap())
            // Whatever it started is ended with it, should it hang.
            .process_group(0)
            .spawn()
            .unwrap();
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > end {
                let group = i32::try_from(child.id()).unwrap();
                // SAFETY: a plain system call on a group that only this child and its children are in.
                unsafe { libc::kill(-group, libc::SIGKILL) };
                panic!("hangs: {script}\n{}", fs::read_to_string(&said).unwrap());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let said = fs::read_to_string(&said).unwrap();
        assert!(status.success(), "{status}: {script}\n{said}");
        (run, said)
    }
}

/// Records of a run by stream, each a line that its stream reads.
fn records(run: &Path) -> BTreeMap<&'static str, Vec<Value>> {
    let dashboard = run.join("dashboard");
    let mut all = BTreeMap::new();
    for stream in Stream::ALL {
        let mut paths = match stream.layout() {
            Layout::Flat => vec![dashboard.join(format!("{stream}.jsonl"))],
            Layout::Hourly => fs::read_dir(dashboard.join(stream.name()))
                .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
                .unwrap_or_default(),
        };
        paths.retain(|path| path.exists());
        let text: String = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if !lines.is_empty() {
            all.insert(stream.name(), lines);
        }
    }
    all
}

#[test]
fn the_pipelines_that_one_machine_can_run_do_what_the_document_says() {
    if !has("bash") {
        eprintln!("skipped: no bash");
        return;
    }
    let machine = Machine::new();
    let mut seen = BTreeMap::new();
    for block in blocks() {
        let words: Vec<&str> = block.split_whitespace().collect();
        if words.contains(&"jq") && !has("jq") {
            eprintln!("skipped, no jq: {block}");
            continue;
        }
        let (run, said) = machine.run(&block);
        assert!(!said.contains("warning") && !said.contains("bad line"), "{block}\n{said}");
        assert!(run.join("dashboard/meta.json").exists(), "{block}");
        let first = if words.contains(&"nvidia-smi") { "nvidia-smi" } else { block.lines().next().unwrap() };
        seen.insert(first.to_owned(), (run, block.clone()));
    }
    let starts =
        |begin: &str| seen.iter().find(|(first, _)| first.starts_with(begin)).map(|(_, (run, _))| run);
    let count = |run: &Path, stream: &str| records(run).get(stream).map_or(0, Vec::len);

    let one = starts("miles-sample --health").unwrap();
    assert_eq!((count(one, "gpu_util"), count(one, "gpu_health")), (6, 6));
    let several = starts("miles-collect").unwrap();
    assert_eq!((count(several, "gpu_util"), count(several, "topology")), (6, 1));
    assert_eq!(records(several)["engine_series"][0]["value"], 3.0);
    if !has("jq") {
        return;
    }
    let log = records(starts("jq -c '{stream: \"data_buffer\"").unwrap());
    assert_eq!(log["data_buffer"][1], json!({"ts": 1_769_907_602.5, "length": 96}));
    let second =
        json!({"ts": 1_769_907_602.5, "step_key": "train/step", "step": 1, "metrics": {"train/loss": 0.25}});
    assert_eq!(log["metrics"][1], second);
    // The card without a power reading has no record: the stream cannot hold null.
    let smi = &records(starts("nvidia-smi").unwrap())["gpu_util"];
    let read: Vec<_> = smi.iter().map(|r| (&r["gpu"], &r["util"], &r["mem_mb"], &r["power_w"])).collect();
    let want = [[0, 97, 60123, 640], [1, 3, 1024, 72]].map(|row| row.map(Value::from));
    assert_eq!(read, want.iter().map(|[a, b, c, d]| (a, b, c, d)).collect::<Vec<_>>());
    let meta = starts("jq -c '{stream: \"meta\"").unwrap().join("dashboard/meta.json");
    let meta: Value = serde_json::from_str(&fs::read_to_string(meta).unwrap()).unwrap();
    assert_eq!(meta["run_name"], "grpo-7");
    assert_eq!(meta["args"], json!({"colocate": true, "n_samples_per_prompt": 8}));
}
