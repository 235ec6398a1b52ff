//! `miles-dump` on small runs of every layout, against answers made by a reference that shares no code
//! with it (`tests/fixtures/reference.py`).

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{Answer, Run, differs, fixtures, token_rows};
use serde_json::{Map, Value, json};

struct Fixture {
    run: Run,
    expected: Value,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let run = Run::fixture(name);
        let text = fs::read_to_string(run.file("expected.json")).unwrap();
        Self { run, expected: serde_json::from_str(&text).unwrap() }
    }

    /// (step, whether evaluation, answers) of the steps that can be read.
    fn steps(&self) -> Vec<(&String, bool, &Value)> {
        let side = |name: &str, eval| {
            let steps = self.expected[name].as_object().unwrap();
            steps.iter().map(move |(rid, answers)| (rid, eval, answers))
        };
        side("train", false).chain(side("eval", true)).collect()
    }

    /// Asks about one step.
    fn ask(&self, command: &str, rid: &str, eval: bool, more: &[&str]) -> Answer {
        let mut args = vec![command, rid];
        args.extend(more);
        args.extend(eval.then_some("--eval"));
        self.run.dump(&args).sane()
    }
}

fn values(rows: Vec<Map<String, Value>>) -> Value {
    rows.into_iter().map(Value::Object).collect()
}

fn check(what: &str, want: &Value, got: &Value) {
    if let Some(difference) = differs(want, got) {
        panic!("{what}: {difference}");
    }
}

/// Every answer of a run that can be read as a whole.
fn answers_as_the_reference(name: &str) {
    let fixture = Fixture::new(name);
    let expected = &fixture.expected;
    check("ids", &expected["ids"], &values(fixture.run.rows(&["ids"])));
    for time in ["first time", "again"] {
        steps_agree(&fixture, &format!("{name}, {time}"));
        for (rid, eval, answers) in fixture.steps() {
            tables_agree(&fixture, rid, eval, answers, &format!("{name} {rid} eval {eval}, {time}"));
        }
    }
    for (rid, eval, answers) in fixture.steps() {
        let what = format!("{name} {rid} eval {eval}");
        tokens_agree(&fixture, rid, eval, answers, &what);
        samples_agree(&fixture, rid, eval, answers, &what);
        if !eval {
            joined_has_the_summary(&fixture, rid, answers, &what);
        }
    }
    if fixture.run.file("dashboard_columns").is_dir() {
        fixture.run.remove("dashboard_columns");
        for (rid, eval, answers) in fixture.steps() {
            tokens_agree(&fixture, rid, eval, answers, &format!("{name} {rid} eval {eval} without mirror"));
        }
    }
}

fn steps_agree(fixture: &Fixture, what: &str) {
    let steps = fixture.run.rows(&["steps"]);
    for (key, series) in fixture.expected["metrics"].as_object().unwrap() {
        let points: Vec<_> = steps.iter().filter(|row| !row[key].is_null()).collect();
        let column = |name: &str| points.iter().map(|row| row[name].clone()).collect::<Value>();
        check(&format!("{what}: {key}"), series, &json!({"x": column("rollout_id"), "y": column(key)}));
    }
    check(&format!("{what}: steps"), &fixture.expected["steps"], &values(steps));
}

fn tables_agree(fixture: &Fixture, rid: &str, eval: bool, answers: &Value, what: &str) {
    for command in ["summary", "groups"] {
        let answer = fixture.ask(command, rid, eval, &[]).ok();
        let rows = answer.rows();
        let columns: Vec<&String> = rows[0].keys().collect();
        let wanted = answers[command]["columns"].as_array().unwrap();
        if eval || answers["coverage"]["ranks"].as_array().is_some_and(Vec::is_empty) {
            // `truncated` stands elsewhere in the reference where there is no train side.
            assert_eq!(columns.len(), wanted.len(), "{what}: {command}");
        } else {
            assert_eq!(json!(columns), json!(wanted), "{what}: {command}");
        }
        check(&format!("{what}: {command}"), &answers[command]["rows"], &values(rows));
        if command == "summary" {
            coverage_is_said(fixture, answers, &answer, what);
        }
    }
}

/// What the trainer's files lack is told, and nothing is told when they lack nothing.
fn coverage_is_said(fixture: &Fixture, answers: &Value, answer: &Answer, what: &str) {
    let coverage = &answers["coverage"];
    let (joined, samples) = (coverage["joined"].as_u64().unwrap(), coverage["samples"].as_u64().unwrap());
    let has_train = !coverage["ranks"].as_array().unwrap().is_empty();
    let said = answer.stderr.contains(&format!("{joined} of {samples} samples have a train row"));
    assert_eq!(said, has_train && joined < samples, "{what}: {}", answer.stderr);
    let unplaced = answers["summary"]["rows"].as_array().unwrap().iter();
    let unplaced = unplaced.filter(|row| row["alignment_failed"] == true).count();
    let said = answer.stderr.contains(&format!("{unplaced} of {samples} samples have train columns"));
    assert_eq!(said, unplaced > 0, "{what}: {}", answer.stderr);
    let said = answer.stderr.contains("slime");
    assert_eq!(said, fixture.expected["layout"] == "slime", "{what}: {}", answer.stderr);
}

fn tokens_agree(fixture: &Fixture, rid: &str, eval: bool, answers: &Value, what: &str) {
    for (asked, object) in answers["tokens"].as_object().unwrap() {
        let parts: Vec<&str> = asked.split(' ').collect();
        let mut args = vec![parts[0]];
        if let [_, start, end] = parts[..] {
            args.extend(["--start", start, "--end", end]);
        }
        let rows = values(fixture.ask("tokens", rid, eval, &args).ok().rows());
        check(&format!("{what}: tokens {asked}"), &token_rows(object), &rows);
        args.push("--object");
        let got = fixture.ask("tokens", rid, eval, &args).ok().json();
        check(&format!("{what}: tokens {asked} --object"), object, &got);
    }
}

/// The keys that a run is about, as dumped.
fn samples_agree(fixture: &Fixture, rid: &str, eval: bool, answers: &Value, what: &str) {
    let rows = fixture.ask("samples", rid, eval, &[]).ok().rows();
    assert_eq!(answers["coverage"]["samples"], rows.len(), "{what}: samples");
    // The samples that a fixture is about are the train step's.
    let about = answers["samples"].as_object().filter(|_| !eval);
    for (index, keys) in about.into_iter().flatten() {
        let row = rows.iter().find(|row| row["index"] == index.parse::<i64>().unwrap()).unwrap();
        check(&format!("{what}: sample {index}"), keys, &untagged(&Value::Object(row.clone())));
    }
}

/// An array says what it is; the reference shows its values alone.
fn untagged(value: &Value) -> Value {
    match value {
        Value::Object(map) => match map.get("$array") {
            Some(array) => array["values"].clone(),
            None => map.iter().map(|(k, v)| (k.clone(), untagged(v))).collect::<Map<_, _>>().into(),
        },
        Value::Array(items) => items.iter().map(untagged).collect(),
        other => other.clone(),
    }
}

/// `joined` begins with the summary's columns; its lists have the response's length or are null.
fn joined_has_the_summary(fixture: &Fixture, rid: &str, answers: &Value, what: &str) {
    let joined = fixture.ask("joined", rid, false, &[]).ok().rows();
    for row in &joined {
        for name in ["loss_mask", "train_log_probs", "ref_log_probs", "entropy", "advantages", "returns"] {
            let fits = row[name].as_array().is_none_or(|list| row["response_length"] == list.len());
            assert!(fits, "{what}: joined {name} of {}", row["sample_index"]);
        }
    }
    check(&format!("{what}: joined"), &answers["summary"]["rows"], &values(joined));
}

macro_rules! runs {
    ($($test:ident: $name:literal;)*) => {
        $(#[test]
        fn $test() {
            answers_as_the_reference($name);
        })*

        const READABLE: &[&str] = &[$($name),*];
    };
}

runs! {
    data_ranks_tensor_copies_and_a_removed_sample: "data_parallel";
    only_the_last_pipeline_stage_has_computed_columns: "pipeline";
    context_slices_of_a_sequence_are_put_together: "cp_thd";
    context_slices_of_a_padded_sequence_are_put_together: "cp_bshd";
    old_dumps_tell_their_context_ranks_by_their_slices: "old_cp";
    old_dumps_without_context_parallelism: "old_plain";
    slices_that_cannot_be_placed_are_null_and_flagged: "broken_slices";
    without_a_usable_mirror_tokens_come_from_the_dump: "no_mirror";
    missing_rank_files_are_said_and_the_rest_is_joined: "partial_ranks";
    half_precision_columns_give_float32_statistics: "bf16";
    the_sibling_layout_is_recognised_and_its_rollout_side_read: "slime";
    odd_values_become_the_right_ones: "odd";
}

/// Runs with steps that must be refused.
const REFUSED: [&str; 3] = ["unknown_index", "disagree", "raw_reward_length"];

/// Every command that joins refuses the step, naming the file and what is wrong with it; the rollout
/// side stays readable.
fn is_refused(name: &str, says: impl Fn(&Value) -> Vec<String>) {
    let fixture = Fixture::new(name);
    let errors = fixture.expected["error"].as_object().unwrap();
    for (rid, error) in errors {
        let says = says(error);
        let mut says: Vec<&str> = says.iter().map(String::as_str).collect();
        says.push(error["file"].as_str().unwrap());
        for command in ["summary", "groups", "joined"] {
            let answer = fixture.ask(command, rid, false, &[]).fails(2, &says);
            assert_eq!(answer.stdout, "", "{name} {rid} {command}");
        }
        assert_eq!(fixture.ask("samples", rid, false, &[]).ok().rows().len(), 8);
    }
    let steps = fixture.run.dump(&["steps"]).sane();
    assert_eq!(steps.status, Some(2), "{name}");
    assert_eq!(steps.stderr.lines().count(), errors.len(), "{name}: {}", steps.stderr);
    check("ids", &fixture.expected["ids"], &values(fixture.run.rows(&["ids"])));
}

#[test]
fn a_train_row_without_its_sample_is_refused_with_file_and_index() {
    is_refused("unknown_index", |error| vec![format!("sample index {}", error["index"])]);
}

#[test]
fn ranks_that_disagree_on_a_length_are_refused_with_file_and_sample() {
    is_refused("disagree", |error| vec!["disagree".into(), format!("sample {}", error["index"])]);
}

#[test]
fn raw_rewards_of_another_number_than_samples_are_refused() {
    is_refused("raw_reward_length", |error| vec![format!("raw_reward has {} entries", error["length"])]);
}

#[test]
fn every_fixture_has_a_test() {
    let mut named: Vec<&str> = READABLE.iter().chain(&REFUSED).copied().collect();
    named.sort_unstable();
    let mut there: Vec<String> = fs::read_dir(fixtures().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort_unstable();
    assert_eq!(named, there);
}

#[test]
fn conversations_have_a_row_a_message() {
    let run = Run::fixture("data_parallel");
    for (args, file) in [(&["messages", "1", "8"][..], "1"), (&["messages", "1", "0", "--eval"], "eval_1")] {
        let text = fs::read_to_string(run.file(&format!("trajectory/{file}.jsonl"))).unwrap();
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let rows = run.rows(args);
        let wanted = line["messages"].as_array().unwrap();
        assert_eq!(rows.len(), wanted.len());
        for (place, (row, message)) in rows.iter().zip(wanted).enumerate() {
            assert_eq!(row["position"], place);
            for (key, value) in message.as_object().unwrap() {
                assert_eq!(row[key], *value, "{key}");
            }
        }
    }
    run.dump(&["messages", "1", "9"])
        .fails(2, &["trajectory/1.jsonl", "sample 9 recorded no conversation", "hint: "]);
}
