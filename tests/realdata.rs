//! What must hold for any run, whatever job wrote it.
//!
//! `MILES_REALDATA_DIR=DIR cargo test --release --test realdata -- --nocapture` asks it of a run of your
//! own, which is only read; without the variable it is a run that `miles demo` makes. Every step is read in
//! full, one row at a time.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::{Answer, answer, close, tool};
use serde_json::{Map, Value};
use tempfile::TempDir;

type Row = Map<String, Value>;

/// Samples of a step whose tokens and messages are looked at one by one.
const SAMPLES: usize = 6;

/// The run to be asked. The only place that knows where it comes from.
fn source() -> &'static PathBuf {
    static DEMO: OnceLock<(Option<TempDir>, PathBuf)> = OnceLock::new();
    let (_, dir) = DEMO.get_or_init(|| {
        if let Some(dir) = std::env::var_os("MILES_REALDATA_DIR") {
            let dir = PathBuf::from(dir);
            assert!(dir.is_dir(), "MILES_REALDATA_DIR: no directory {}", dir.display());
            return (None, dir);
        }
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("run");
        let mut demo = Command::new(env!("CARGO_BIN_EXE_miles"));
        let size = ["--steps", "5", "--prompts", "4", "--samples-per-prompt", "4", "--max-response", "256"];
        demo.args(["demo", "--quiet"]).args(size).args(["--gpus", "4"]).arg(&dir);
        answer(demo).ok();
        (Some(folder), dir)
    });
    dir
}

/// Asks about the run; keeps nothing in it.
fn ask(args: &[&str]) -> Command {
    let mut command = tool();
    command.arg("-d").arg(source()).args(args);
    // Only these take it into account; of the others it changes nothing.
    command.arg("--no-cache");
    command
}

/// A step as `ids` lists it.
struct Step {
    id: String,
    eval: bool,
    samples: Option<u64>,
    train_ranks: u64,
    ready: bool,
}

impl Step {
    fn ask(&self, command: &str, more: &[&str]) -> Command {
        let mut args = vec![command, &self.id];
        args.extend(more);
        args.extend(self.eval.then_some("--eval"));
        ask(&args)
    }

    fn name(&self) -> String {
        format!("{}step {}", if self.eval { "evaluation " } else { "" }, self.id)
    }
}

fn steps() -> Vec<Step> {
    let step = |row: Row| Step {
        id: row["rollout_id"].to_string(),
        eval: row["evaluation"] == true,
        samples: row["samples"].as_u64(),
        train_ranks: row["train_ranks"].as_u64().unwrap(),
        ready: row["state"] == "ready",
    };
    let steps: Vec<Step> = said(ask(&["ids"])).rows().into_iter().map(step).collect();
    assert!(!steps.is_empty(), "{}: no steps", source().display());
    steps
}

/// Runs a command that may fail only by saying why.
fn said(command: Command) -> Answer {
    let answer = answer(command).sane();
    assert!(matches!(answer.status, Some(0 | 2 | 75)), "{}\n{}", answer.command, answer.stderr);
    if answer.status != Some(0) {
        let errors = answer.stderr.lines().filter(|line| !line.starts_with("miles-dump: warning: "));
        assert!(errors.count() > 0, "{}\n{}", answer.command, answer.stderr);
        println!("{}", answer.stderr.trim_end());
    }
    answer
}

/// Gives each row as it comes: a step of a large run is gigabytes of text. How the command ended.
fn stream(mut command: Command, mut each: impl FnMut(Row)) -> Option<i32> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let talk = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text).unwrap()
    });
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // Strict: NaN or Infinity is no JSON.
        let line = line.unwrap();
        each(
            serde_json::from_str(&line)
                .unwrap_or_else(|e| panic!("{e}: {}", line.chars().take(200).collect::<String>())),
        );
    }
    let status = child.wait().unwrap().code();
    let talk = talk.join().unwrap();
    assert!(matches!(status, Some(0 | 2 | 75)) && !talk.contains("panicked"), "{status:?}: {talk}");
    assert!(status == Some(0) || !talk.is_empty());
    status
}

fn number(row: &Row, key: &str) -> Option<f64> {
    row[key].as_f64()
}

/// A list as float32, a missing element as NaN.
fn floats(row: &Row, key: &str) -> Option<Vec<f32>> {
    let list = row[key].as_array()?;
    Some(list.iter().map(|v| v.as_f64().map_or(f32::NAN, |f| f as f32)).collect())
}

#[track_caller]
fn same(what: &str, want: Option<f64>, got: Option<f64>) {
    let agree = match (want, got) {
        (None, None) => true,
        (Some(w), Some(g)) => close(w, g),
        _ => false,
    };
    assert!(agree, "{what}: computed {want:?}, printed {got:?}");
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    (n > 0.0).then(|| sum / n).filter(|mean| mean.is_finite())
}

/// With n - 1.
fn std(values: &[f64]) -> Option<f64> {
    let average = mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|v| (v - average).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

#[test]
fn every_command_succeeds_for_every_step_or_says_why() {
    for step in steps() {
        for command in ["summary", "groups", "samples"] {
            let answer = said(step.ask(command, &[]));
            assert!(answer.status != Some(0) || step.ready, "{}: {command} of a hidden step", step.name());
            if let (Some(0), Some(samples), true) = (answer.status, step.samples, command != "groups") {
                assert_eq!(answer.stdout.lines().count() as u64, samples, "{}: {command}", step.name());
            }
            answer.rows();
        }
    }
    for args in [
        &["steps"][..],
        &["metrics", "--limit", "1000"],
        &["stream", "phases", "--limit", "1000"],
        &["summary", "latest"],
    ] {
        said(ask(args)).rows();
    }
}

/// Statistics of the summary and the lists that they are of.
fn statistics_agree(what: &str, row: &Row) {
    let response = row["response_length"].as_u64().unwrap() as usize;
    let selected: Vec<bool> = match row["loss_mask"].as_array() {
        Some(mask) => mask.iter().map(|m| m.as_i64().unwrap() > 0).collect(),
        None => vec![true; response],
    };
    let chosen = |list: &Option<Vec<f32>>| -> Option<Vec<f64>> {
        let values = list.as_ref()?.iter().zip(&selected).filter(|(_, chosen)| **chosen);
        Some(values.map(|(v, _)| f64::from(*v)).collect())
    };
    let list = |key: &str| chosen(&floats(row, key));
    let of = |values: &Option<Vec<f64>>| values.as_ref().and_then(|v| mean(v.iter().copied()));
    let top = |values: &Option<Vec<f64>>| {
        let values = values.as_ref().filter(|v| !v.is_empty() && v.iter().all(|v| v.is_finite()))?;
        values.iter().copied().reduce(f64::max)
    };
    let check = |key: &str, want: Option<f64>| same(&format!("{what}: {key}"), want, number(row, key));

    check("mean_entropy", of(&list("entropy")));
    check("max_entropy", top(&list("entropy")));
    check("ref_entropy_mean", of(&list("ref_entropy")));
    check("adv_mean", of(&list("advantages")));
    check("return_mean", of(&list("returns")));
    check("adv_std", list("advantages").and_then(|v| std(&v)).filter(|std| std.is_finite()));
    // In float32, as the trainer's own columns are.
    let pair = floats(row, "train_log_probs").zip(floats(row, "train_rollout_log_probs"));
    let diff = pair.map(|(t, r)| t.iter().zip(&r).map(|(t, r)| t - r).collect::<Vec<f32>>());
    let apart = diff.as_ref().map(|d| d.iter().map(|x| x.abs()).collect());
    let ratio = diff.as_ref().map(|d| d.iter().map(|x| x.exp()).collect());
    check("mean_abs_lp_diff", of(&chosen(&apart)));
    check("max_abs_lp_diff", top(&chosen(&apart)));
    check("mean_imp_ratio", of(&chosen(&ratio)));
}

fn lengths_agree(what: &str, row: &Row) {
    let (response, total) = (row["response_length"].as_u64().unwrap(), row["total_length"].as_u64().unwrap());
    assert!(response <= total, "{what}");
    assert_eq!(row["tokens"].as_array().map(|t| t.len() as u64), Some(total), "{what}: tokens");
    for key in [
        "rollout_loss_mask",
        "rollout_log_probs",
        "loss_mask",
        "train_rollout_log_probs",
        "train_log_probs",
        "ref_log_probs",
        "entropy",
        "ref_entropy",
        "advantages",
        "returns",
    ] {
        if let Some(list) = row[key].as_array() {
            assert_eq!(list.len() as u64, response, "{what}: {key}");
        }
    }
}

#[test]
fn joined_lists_have_their_lengths_and_the_summary_is_theirs() {
    for step in steps().into_iter().filter(|s| s.ready && !s.eval) {
        let summary = said(step.ask("summary", &[]));
        let mut rows = summary.rows().into_iter();
        let (mut joined, mut unjoined) = (0, 0);
        let status = stream(step.ask("joined", &[]), |row| {
            let what = format!("{}, sample {}", step.name(), row["sample_index"]);
            let wanted = rows.next().unwrap();
            for (key, value) in &wanted {
                assert_eq!(row[key], *value, "{what}: {key}");
            }
            lengths_agree(&what, &row);
            if row["dumped_rank"].is_null() {
                unjoined += 1;
                assert!(row["loss_mask"].is_null() && row["advantages"].is_null(), "{what}");
                assert!(row["normalized_reward"].is_null() && row["raw_reward"].is_null(), "{what}");
            } else {
                joined += 1;
                statistics_agree(&what, &row);
            }
        });
        assert_eq!(status, summary.status, "{}", step.name());
        if status != Some(0) {
            continue;
        }
        assert_eq!(Some(joined + unjoined), step.samples, "{}", step.name());
        let said =
            summary.stderr.contains(&format!("{joined} of {} samples have a train row", joined + unjoined));
        assert_eq!(said, unjoined > 0 && step.train_ranks > 0, "{}: {}", step.name(), summary.stderr);
        assert!(joined == 0 || step.train_ranks > 0, "{}", step.name());
    }
}

#[test]
fn groups_are_those_of_the_summary() {
    for step in steps().into_iter().filter(|s| s.ready) {
        let summary = said(step.ask("summary", &[]));
        let groups = said(step.ask("groups", &[])).rows();
        let mut members: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
        for row in summary.rows() {
            if let Some(group) = row["group_index"].as_i64() {
                members.entry(group).or_default().push(row);
            }
        }
        let order: Vec<i64> = groups.iter().map(|g| g["group_index"].as_i64().unwrap()).collect();
        assert_eq!(order, members.keys().copied().collect::<Vec<_>>(), "{}", step.name());
        for (group, rows) in groups.iter().zip(members.values()) {
            let what = |key: &str| format!("{}, group {}: {key}", step.name(), group["group_index"]);
            assert_eq!(group["n"].as_u64(), Some(rows.len() as u64), "{}", what("n"));
            let reward = if step.eval { "reward" } else { "raw_reward" };
            let rewards: Vec<f64> = rows.iter().filter_map(|row| number(row, reward)).collect();
            same(&what("reward_mean"), mean(rewards.iter().copied()), number(group, "reward_mean"));
            same(&what("reward_std"), std(&rewards), number(group, "reward_std"));
            let zero = !rewards.is_empty() && std(&rewards).unwrap_or(0.0) <= 1e-12;
            assert_eq!(group["zero_std"], zero, "{}", what("zero_std"));
            let lengths = rows.iter().filter_map(|row| number(row, "response_length"));
            same(&what("response_length_mean"), mean(lengths), number(group, "response_length_mean"));
        }
    }
}

#[test]
fn steps_are_means_over_the_summary() {
    let steps_rows = said(ask(&["steps"]));
    for row in steps_rows.rows() {
        let id = row["rollout_id"].to_string();
        let summary = said(ask(&["summary", &id])).rows();
        let what = |key: &str| format!("step {id}: {key}");
        assert_eq!(row["n_samples"].as_u64(), Some(summary.len() as u64), "{}", what("n_samples"));
        let check = |key: &str, want: Option<f64>| {
            let key = format!("dump/{key}");
            same(&what(&key), want, number(&row, &key));
        };
        let numbers = |key: &'static str| summary.iter().filter_map(move |row| number(row, key));
        let fraction = |key: &'static str| {
            let flags = summary.iter().filter_map(move |row| row[key].as_bool());
            mean(flags.map(|flag| f64::from(u8::from(flag))))
        };
        check("reward_mean", mean(numbers("raw_reward")));
        check("reward_std", std(&numbers("raw_reward").collect::<Vec<_>>()));
        check("response_length_mean", mean(numbers("response_length")));
        check("mean_abs_lp_diff", mean(numbers("mean_abs_lp_diff")));
        check("mean_entropy", mean(numbers("mean_entropy")));
        check("truncated_frac", fraction("truncated"));
        check("mixed_version_frac", fraction("mixed_version"));
        let groups = said(ask(&["groups", &id])).rows();
        let dead = groups.iter().map(|group| f64::from(u8::from(group["zero_std"] == true)));
        check("zero_std_group_frac", mean(dead));
    }
}

/// A few of a step's samples, the first and the last among them.
fn some(mut rows: Vec<Row>) -> Vec<Row> {
    let stride = rows.len().div_ceil(SAMPLES - 1).max(1);
    let last = rows.pop();
    rows.into_iter().step_by(stride).chain(last).filter(|row| !row["sample_index"].is_null()).collect()
}

#[test]
fn tokens_are_the_lists_of_joined() {
    for step in steps().into_iter().filter(|s| s.ready) {
        let chosen = some(said(step.ask("summary", &[])).rows());
        let indices: Vec<String> = chosen.iter().map(|row| row["sample_index"].to_string()).collect();
        let mut lists: BTreeMap<String, Row> = BTreeMap::new();
        if !step.eval {
            stream(step.ask("joined", &[]), |row| {
                let index = row["sample_index"].to_string();
                if indices.contains(&index) {
                    lists.entry(index).or_insert(row);
                }
            });
        }
        for (index, row) in indices.iter().zip(&chosen) {
            let tokens = said(step.ask("tokens", &[index]));
            if tokens.status != Some(0) {
                continue;
            }
            let what = format!("{}, sample {index}", step.name());
            let tokens = tokens.rows();
            assert_eq!(Some(tokens.len() as u64), row["total_length"].as_u64(), "{what}");
            let prompt = tokens.iter().filter(|token| token["response_position"].is_null()).count();
            assert_eq!(Some((tokens.len() - prompt) as u64), row["response_length"].as_u64(), "{what}");
            for (position, token) in tokens.iter().enumerate() {
                assert_eq!(token["position"], position, "{what}");
                let response = position.checked_sub(prompt);
                assert_eq!(token["response_position"].as_u64(), response.map(|r| r as u64), "{what}");
            }
            if let Some(joined) = lists.get(index) {
                tokens_agree(&what, &tokens[..], prompt, joined);
            }
            object_agrees(&what, &step, index, &tokens);
        }
    }
}

fn tokens_agree(what: &str, tokens: &[Row], prompt: usize, joined: &Row) {
    let is_joined = !joined["dumped_rank"].is_null();
    // What the engine said stands in where the trainer kept no copy.
    let engine =
        ["train_rollout_log_probs", "rollout_log_probs"].into_iter().find(|key| joined[*key].is_array());
    let columns = [
        ("rollout_log_prob", engine),
        ("train_log_prob", Some("train_log_probs")),
        ("ref_log_prob", Some("ref_log_probs")),
        ("entropy", Some("entropy")),
        ("ref_entropy", Some("ref_entropy")),
        ("advantage", Some("advantages")),
        ("return", Some("returns")),
    ];
    for (position, token) in tokens.iter().enumerate() {
        assert_eq!(token["token_id"], joined["tokens"][position], "{what}: token {position}");
        let Some(response) = position.checked_sub(prompt) else {
            assert!(
                token["loss_mask"].is_null() && columns.iter().all(|(c, _)| token[*c].is_null()),
                "{what}"
            );
            continue;
        };
        let mask = &joined["loss_mask"][response];
        assert_eq!(token["loss_mask"], *mask, "{what}: mask at {response}");
        let scored = !is_joined || mask.as_i64().is_none_or(|mask| mask > 0);
        for (column, list) in columns {
            let want = list.map_or(Value::Null, |list| joined[list][response].clone());
            let want = if scored { want } else { Value::Null };
            assert_eq!(token[column], want, "{what}: {column} at {response}");
        }
    }
}

/// The object holds what the rows hold, also through a window across the start of the response.
fn object_agrees(what: &str, step: &Step, index: &str, tokens: &[Row]) {
    let middle = (tokens.len() / 2).max(1).to_string();
    for window in [&[][..], &["--start", "0", "--end", &middle]] {
        let mut args = vec![index, "--object"];
        args.extend(window);
        let object = said(step.ask("tokens", &args)).json();
        let rows = common::token_rows(&object);
        for (row, token) in rows.as_array().unwrap().iter().zip(tokens) {
            assert_eq!(row, &Value::Object(token.clone()), "{what}");
        }
    }
}

#[test]
fn recorded_conversations_parse_to_messages_with_roles() {
    for step in steps().into_iter().filter(|s| s.ready) {
        let name = if step.eval { format!("eval_{}", step.id) } else { step.id.clone() };
        let path = source().join("trajectory").join(format!("{name}.jsonl"));
        let Ok(text) = fs::read(path) else { continue };
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Row>(line).ok());
        for line in some(lines.filter(|line| line.contains_key("sample_index")).collect()) {
            let index = line["sample_index"].to_string();
            let messages = said(step.ask("messages", &[&index])).rows();
            assert_eq!(messages.len(), line["messages"].as_array().map_or(0, Vec::len), "{name} {index}");
            assert!(messages.iter().all(|message| message["role"].is_string()), "{name} {index}");
        }
    }
}
