//! What `miles-dump` prints equals what a real server answered about the same runs, number for number.
//!
//! Needs the recorded runs: `../shared`, or where `MILES_SHARED` says.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;

use common::{Answer, Run, differs, golden, token_rows};
use serde_json::{Map, Value, json};

/// A recorded answer to a question about dumps.
struct Recorded {
    path: String,
    status: i64,
    body: Value,
}

/// What a path asks for.
enum Question {
    Rows { command: &'static str, rid: String, eval: bool },
    Tokens { rid: String, sample: String, start: Option<String>, end: Option<String>, eval: bool },
    Messages { rid: String, sample: String, eval: bool },
    Metrics { keys: Vec<String>, x: Option<String> },
}

fn question(path: &str) -> Option<Question> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query: Vec<(&str, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(k, v)| (k, v.replace("%2C", ",")))
        .collect();
    let get = |key: &str| query.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
    let eval = get("eval").as_deref() == Some("1");
    let parts: Vec<&str> = path.trim_start_matches("/api/").split('/').collect();
    Some(match parts[..] {
        ["rollout", rid, "summary"] => Question::Rows { command: "summary", rid: rid.into(), eval },
        ["rollout", rid, "groups"] => Question::Rows { command: "groups", rid: rid.into(), eval },
        ["rollout", rid, "sample", sample, "tokens"] => {
            let (start, end) = (get("start"), get("end"));
            Question::Tokens { rid: rid.into(), sample: sample.into(), start, end, eval }
        }
        ["rollout", rid, "sample", sample, "messages"] => {
            Question::Messages { rid: rid.into(), sample: sample.into(), eval }
        }
        ["metrics"] => {
            let keys = get("keys")?;
            let keys = keys.split(',').filter(|k| !k.is_empty()).map(str::to_owned).collect();
            Question::Metrics { keys, x: get("x") }
        }
        _ => return None,
    })
}

fn recorded(run: &Path) -> Vec<Recorded> {
    let text = fs::read_to_string(run.join("api.jsonl")).unwrap();
    let parse = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let path = record["path"].as_str().unwrap().to_owned();
        Recorded { path, status: record["status"].as_i64().unwrap(), body: record["body"].clone() }
    };
    text.lines().map(parse).filter(|r| question(&r.path).is_some()).collect()
}

/// Arguments that a question becomes.
fn args(question: &Question) -> Vec<String> {
    let mut args: Vec<String> = Vec::new();
    let mut add = |texts: &[&str]| args.extend(texts.iter().map(|t| (*t).to_owned()));
    match question {
        Question::Rows { command, rid, eval } => {
            add(&[command, rid]);
            add(if *eval { &["--eval"] } else { &[] });
        }
        Question::Tokens { rid, sample, start, end, eval } => {
            add(&["tokens", rid, sample]);
            if let Some(start) = start {
                add(&["--start", start]);
            }
            if let Some(end) = end {
                add(&["--end", end]);
            }
            add(if *eval { &["--eval"] } else { &[] });
        }
        Question::Messages { rid, sample, eval } => {
            add(&["messages", rid, sample]);
            add(if *eval { &["--eval"] } else { &[] });
        }
        // A run's own series are columns of `steps`; what the job logged is `metrics`.
        Question::Metrics { keys, .. } if keys.iter().any(|k| k.starts_with("dump/")) => {
            add(&["steps", "--columns", &format!("rollout_id,{}", keys.join(","))]);
        }
        Question::Metrics { keys, x } => {
            add(&["metrics", "--keys", &keys.join(",")]);
            if let Some(x) = x {
                add(&["--x", x]);
            }
        }
    }
    args
}

/// The exit status that a recorded status becomes.
fn exit(recorded: &Recorded) -> i32 {
    match recorded.status {
        200 => 0,
        404 => 2,
        400 | 422 => 64,
        other => panic!("{}: a recorded status {other}", recorded.path),
    }
}

/// What is wrong with our answer to a recorded question.
fn wrong(run: &Run, recorded: &Recorded, more: &[&str]) -> Option<String> {
    let asked = question(&recorded.path)?;
    let args = args(&asked);
    let ask = |extra: &[&str]| {
        let args: Vec<&str> = args.iter().map(String::as_str).chain(extra.iter().copied()).collect();
        run.dump(&args).sane()
    };
    let answer = ask(more);
    if answer.status != Some(exit(recorded)) {
        return Some(format!("exit {:?}: {}", answer.status, answer.stderr));
    }
    if recorded.status != 200 {
        let parser = answer.status == Some(64) && answer.stderr.starts_with("error: ");
        let clean = answer.stdout.is_empty() && (parser || answer.stderr.lines().count() == 1);
        return (!clean).then(|| format!("not one line on stderr: {}", answer.stderr));
    }
    let body = &recorded.body;
    match asked {
        Question::Rows { eval, .. } => rows_differ(body, &answer, eval),
        Question::Tokens { .. } => differs(&token_rows(body), &rows(&answer)).or_else(|| {
            let mut object = more.to_vec();
            object.push("--object");
            differs(body, &ask(&object).json()).map(|d| format!("--object: {d}"))
        }),
        Question::Messages { .. } => differs(&without_nulls(&body["messages"]), &messages(&answer)),
        Question::Metrics { keys, .. } if keys.iter().any(|k| k.starts_with("dump/")) => {
            keys.iter().find_map(|key| differs(&without_ts(&body[key]), &step_series(&answer, key)))
        }
        Question::Metrics { keys, .. } => {
            keys.iter().find_map(|key| differs(&body[key], &logged_series(&answer, key)))
        }
    }
}

fn rows(answer: &Answer) -> Value {
    answer.rows().into_iter().map(Value::Object).collect()
}

fn rows_differ(body: &Value, answer: &Answer, eval: bool) -> Option<String> {
    let rows = answer.rows();
    // The server lists `truncated` last where there is no train side; rows have one order always.
    if let (false, Some(first)) = (eval, rows.first()) {
        let columns: Value = first.keys().cloned().collect();
        if columns != body["columns"] {
            return Some(format!("columns {columns}, want {}", body["columns"]));
        }
    }
    if let Some(first) = rows.first().filter(|r| body["columns"].as_array().map(Vec::len) != Some(r.len())) {
        return Some(format!("{} columns", first.len()));
    }
    differs(&body["rows"], &rows.into_iter().map(Value::Object).collect())
}

/// Rows as the messages that they were made of.
fn messages(answer: &Answer) -> Value {
    let message = |(place, mut row): (usize, Map<String, Value>)| {
        assert_eq!(row.remove("position"), Some(json!(place)));
        if let Some(Value::Object(extra)) = row.remove("extra") {
            row.extend(extra);
        }
        Value::Object(row)
    };
    without_nulls(&answer.rows().into_iter().enumerate().map(message).collect())
}

/// A missing key and a null say the same in a row.
fn without_nulls(messages: &Value) -> Value {
    let mut messages = messages.clone();
    for message in messages.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        message.retain(|_, v| !v.is_null());
    }
    messages
}

fn without_ts(series: &Value) -> Value {
    json!({"x": series["x"], "y": series["y"]})
}

fn step_series(answer: &Answer, key: &str) -> Value {
    let points = answer.rows().into_iter().filter(|row| !row[key].is_null());
    let (x, y): (Vec<Value>, Vec<Value>) =
        points.map(|row| (row["rollout_id"].clone(), row[key].clone())).unzip();
    json!({"x": x, "y": y})
}

fn logged_series(answer: &Answer, key: &str) -> Value {
    let points: Vec<_> = answer.rows().into_iter().filter(|row| row["key"] == key).collect();
    let column = |name: &str| points.iter().map(|row| row[name].clone()).collect::<Value>();
    json!({"x": column("step"), "y": column("value"), "ts": column("ts")})
}

/// Asks everything that was recorded about a run whose path satisfies `which`; all must agree.
fn all_agree(
    name: &str,
    golden: &Path,
    run: &Run,
    how: &str,
    more: &[&str],
    which: impl Fn(&Recorded) -> bool,
) {
    let (mut asked, mut bad) = (0, Vec::new());
    for recorded in recorded(&golden.join(name)).into_iter().filter(which) {
        asked += 1;
        if let Some(problem) = wrong(run, &recorded, more) {
            bad.push(format!("{}: {}", recorded.path, &problem.chars().take(400).collect::<String>()));
        }
    }
    println!("{name}, {how}: {} of {asked} answers agree", asked - bad.len());
    assert!(
        asked > 0 && bad.is_empty(),
        "{name}, {how}: {} of {asked} differ\n{}",
        bad.len(),
        bad.join("\n")
    );
}

fn is_reduced(recorded: &Recorded) -> bool {
    recorded.status == 200 && !recorded.path.contains("/sample/") && !recorded.path.contains("keys=perf")
}

fn conforms(name: &str) {
    let Some(golden) = golden() else { return };
    let run = Run::copy(&golden.join(name).join("dump"));
    all_agree(name, &golden, &run, "first time", &[], |_| true);
    // Only what is made from summaries can have been kept.
    all_agree(name, &golden, &run, "again", &[], is_reduced);
    all_agree(name, &golden, &run, "without the cache", &["--no-cache"], is_reduced);
    run.remove("dashboard_columns");
    let tokens = |r: &Recorded| r.path.contains("/tokens");
    all_agree(name, &golden, &run, "without dashboard_columns", &[], tokens);
}

#[test]
fn basic_is_answered_as_the_server_did() {
    conforms("basic");
}

#[test]
fn dump_only_is_answered_as_the_server_did() {
    conforms("dump_only");
}

#[test]
fn parallel_is_answered_as_the_server_did() {
    conforms("parallel");
}

#[test]
fn every_kind_of_question_is_in_the_recordings() {
    let Some(golden) = golden() else { return };
    for name in ["basic", "dump_only", "parallel"] {
        let recorded = recorded(&golden.join(name));
        for (part, status) in [
            ("/summary", 200),
            ("/groups?eval", 200),
            ("/tokens", 200),
            ("end=7", 200),
            ("/messages", 200),
            ("dump/", 200),
            ("/messages", 404),
            ("/tokens", 400),
            ("abc", 422),
        ] {
            let found = recorded.iter().any(|r| r.path.contains(part) && r.status == status);
            assert!(found, "{name}: no answer {status} to {part}");
        }
    }
}
