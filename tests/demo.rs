//! `miles demo`: the run it writes, read back through the library and through the tool.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use miles::demo::{self, Settings};
use miles::pt::{File, Ref};
use tempfile::TempDir;

const SMALL: Settings = Settings {
    steps: 2,
    prompts: 7,
    samples_per_prompt: 3,
    max_response: 512,
    gpus: 2,
    nodes: 2,
    minutes: 3,
    seed: 3,
};

/// The run that `miles demo DIR` writes without options, written once for all tests.
fn default_run() -> &'static Path {
    static RUN: OnceLock<TempDir> = OnceLock::new();
    RUN.get_or_init(|| write(&Settings::default())).path()
}

fn write(settings: &Settings) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    demo::write(dir.path(), settings, || ()).unwrap();
    dir
}

/// Path in the run and content of every file.
fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn open(root: &Path, name: &str) -> File {
    File::open(root.join(name)).unwrap()
}

fn get<'a>(value: Ref<'a>, key: &str) -> Ref<'a> {
    value.get(key).unwrap_or_else(|| panic!("no key {key}"))
}

fn int(value: Ref<'_>, key: &str) -> i64 {
    get(value, key).as_i64().unwrap()
}

fn text(value: Ref<'_>, key: &str) -> String {
    get(value, key).as_str().unwrap().into_owned()
}

fn ints(value: Ref<'_>, key: &str) -> Vec<i64> {
    get(value, key).numbers().unwrap().to_ints().unwrap()
}

fn versions(sample: Ref<'_>) -> Vec<i64> {
    get(sample, "weight_versions")
        .items()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap().parse().unwrap())
        .collect()
}

/// Calls `look` with each sample of a step's rollout file.
fn each_sample(root: &Path, stem: &str, mut look: impl FnMut(Ref<'_>)) {
    let file = open(root, &format!("rollout_data/{stem}.pt"));
    get(file.root(), "samples").items().unwrap().into_iter().for_each(&mut look);
}

/// Mean |log_probs - rollout_log_probs| of each group's tokens, over all ranks of a step.
fn disagreement(root: &Path, rid: u32) -> BTreeMap<i64, f32> {
    let mut group_of = BTreeMap::new();
    each_sample(root, &rid.to_string(), |s| {
        group_of.insert(int(s, "index"), int(s, "group_index"));
    });
    let mut sums: BTreeMap<i64, (f32, f32)> = BTreeMap::new();
    for rank in 0..8 {
        let file = open(root, &format!("train_data/{rid}_{rank}.pt"));
        let columns = get(file.root(), "rollout_data");
        let Some(train) = columns.get("log_probs") else { continue };
        let rollout = get(columns, "rollout_log_probs").items().unwrap();
        let rows = ints(columns, "sample_indices");
        for ((index, train), rollout) in rows.iter().zip(train.items().unwrap()).zip(rollout) {
            let (train, rollout) = (train.tensor().unwrap(), rollout.tensor().unwrap());
            let sum = sums.entry(group_of[index]).or_default();
            for (a, b) in train.to_f32().unwrap().iter().zip(&*rollout.to_f32().unwrap()) {
                sum.0 += (a - b).abs();
                sum.1 += 1.0;
            }
        }
    }
    sums.into_iter().map(|(group, (sum, n))| (group, sum / n)).collect()
}

fn raw_reward(root: &Path, rid: u32) -> Vec<f64> {
    let file = open(root, &format!("train_data/{rid}_0.pt"));
    get(get(file.root(), "rollout_data"), "raw_reward").numbers().unwrap().to_f64()
}

/// Rewards of a step's dead groups.
fn dead_groups(root: &Path, rid: u32) -> Vec<f64> {
    let rewards = raw_reward(root, rid);
    let same = |group: &&[f64]| group.iter().all(|&reward| reward == group[0]);
    rewards.chunks(8).filter(same).map(|group| group[0]).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    let (a, b) = (write(&SMALL), write(&SMALL));
    let (a, b) = (contents(a.path()), contents(b.path()));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(b[name] == *bytes, "{} differs", name.display());
    }
    let other = contents(write(&Settings { seed: 4, ..SMALL }).path());
    assert_ne!(a[Path::new("rollout_data/0.pt")], other[Path::new("rollout_data/0.pt")]);
}

#[test]
fn a_run_has_the_files_that_its_settings_say() {
    let run = write(&SMALL);
    let files = contents(run.path());
    assert_eq!(files.len(), SMALL.files() + 1, "with the marker");
    for name in ["rollout_data/eval_1.pt", "train_data/1_3.pt", "dashboard_columns/rollout_eval_0.parquet"] {
        assert!(files.contains_key(Path::new(name)), "{name}");
    }
    let mut samples = 0;
    each_sample(run.path(), "1", |s| {
        assert_eq!(int(s, "index"), 21 + samples);
        assert_eq!(int(s, "group_index"), samples / 3);
        samples += 1;
    });
    assert_eq!(samples, 21);
}

#[test]
fn files_look_old_enough_to_be_read_and_steps_follow_each_other() {
    let age = |name: &str| {
        let modified = fs::metadata(default_run().join(name)).unwrap().modified().unwrap();
        SystemTime::now().duration_since(modified).unwrap()
    };
    assert!(age("train_data/7_0.pt") > Duration::from_secs(60));
    assert!(age("rollout_data/7.pt") > age("train_data/7_7.pt"));
    assert!(age("train_data/0_0.pt") > age("rollout_data/1.pt"));
}

#[test]
fn every_list_of_a_sample_has_the_length_that_it_must_have() {
    for settings in [SMALL, Settings { max_response: demo::LEAST_RESPONSE, prompts: 4, ..SMALL }] {
        let run = write(&settings);
        for stem in ["0", "1", "eval_0"] {
            each_sample(run.path(), stem, |s| {
                let (length, status) = (int(s, "response_length") as usize, text(s, "status"));
                assert!(length <= settings.max_response as usize);
                assert_eq!(
                    status == "truncated",
                    length == settings.max_response as usize,
                    "{status} {length}"
                );
                assert_eq!(get(s, "rollout_log_probs").len(), Some(length));
                let mask = get(s, "loss_mask");
                assert!(mask.is_none() || mask.len() == Some(length));
                assert!(get(s, "tokens").len().unwrap() > length, "no prompt");
                assert!(get(s, "rollout_log_probs").numbers().unwrap().to_f32().iter().all(|&v| v <= 0.0));
            });
        }
    }
}

#[test]
fn a_response_is_the_text_of_its_tokens() {
    let tokenizer = tokenizers::Tokenizer::from_file(default_run().join("tokenizer/tokenizer.json")).unwrap();
    each_sample(default_run(), "7", |s| {
        let tokens: Vec<u32> = get(s, "tokens").numbers().unwrap().to_ints().unwrap();
        let (prompt, response) = tokens.split_at(tokens.len() - int(s, "response_length") as usize);
        assert_eq!(tokenizer.decode(response, false).unwrap(), text(s, "response"));
        if let Some(asked) = get(s, "prompt").as_str() {
            assert_eq!(tokenizer.decode(prompt, false).unwrap(), asked);
        }
        // Written back, the text gives the same tokens, but where a cut split a character or a word.
        if text(s, "status") == "completed" {
            let encoded = tokenizer.encode(text(s, "response"), false).unwrap();
            assert_eq!(encoded.get_ids(), response, "sample {}", int(s, "index"));
        }
    });
}

#[test]
fn one_group_drifts_and_the_others_do_not() {
    let steps: Vec<BTreeMap<i64, f32>> = (0..8).map(|rid| disagreement(default_run(), rid)).collect();
    for pair in steps.windows(2) {
        assert!(pair[1][&2] > pair[0][&2], "{steps:?}");
    }
    assert!(steps[7][&2] > 10.0 * steps[7][&1]);
    assert!(steps[7][&1] < 2.0 * steps[0][&1]);
}

#[test]
fn dead_groups_of_both_kinds_become_more() {
    let counts: Vec<usize> = (0..8).map(|rid| dead_groups(default_run(), rid).len()).collect();
    assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]), "{counts:?}");
    assert!(counts[0] <= 3 && counts[7] >= 8, "{counts:?}");
    let last: BTreeSet<String> = dead_groups(default_run(), 7).iter().map(f64::to_string).collect();
    assert_eq!(last, BTreeSet::from(["0".to_owned(), "1".to_owned()]));
}

#[test]
fn truncated_samples_become_more_until_a_quarter_is() {
    let truncated = |rid: u32| {
        let mut count = 0;
        each_sample(default_run(), &rid.to_string(), |s| {
            count += usize::from(text(s, "status") == "truncated")
        });
        count
    };
    assert!(truncated(0) * 10 < 128);
    assert!(truncated(7) * 4 >= 128);
}

#[test]
fn tool_users_have_turns_masked_output_and_a_conversation() {
    let lines = fs::read_to_string(default_run().join("trajectory/2.jsonl")).unwrap();
    let lines: BTreeMap<i64, serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .map(|line: serde_json::Value| (line["sample_index"].as_i64().unwrap(), line))
        .collect();
    let mut users = 0;
    each_sample(default_run(), "2", |s| {
        let Some(prompt) = get(s, "prompt").items() else {
            assert!(!lines.contains_key(&int(s, "index")));
            return;
        };
        let line = &lines[&int(s, "index")];
        let said = line["messages"].as_array().unwrap();
        let of_role = |role: &str| said.iter().filter(|m| m["role"] == role).count();
        let asked = prompt.iter().filter(|m| text(**m, "role") == "tool").count();
        if asked == 0 {
            return;
        }
        users += 1;
        let calls = versions(s).len() - 1;
        assert!(calls >= 1);
        assert_eq!(of_role("tool"), asked + calls);
        assert!(said.iter().any(|m| m["reasoning_content"].is_string()));
        assert_eq!(said.iter().filter(|m| m["tool_calls"].is_array()).count(), asked + calls);
        assert!(get(s, "non_generation_time").as_f64().unwrap() > 0.0);
        let mask = ints(s, "loss_mask");
        // A masked stretch lies between two written ones for each call.
        let stretches = mask.windows(2).filter(|pair| pair[0] == 1 && pair[1] == 0).count();
        assert_eq!(stretches, calls);
        assert_eq!(mask.last(), Some(&1));
    });
    assert_eq!(users, 32);
}

#[test]
fn versions_fall_at_the_failover_and_mix_everywhere_after_the_first_step() {
    let failover = Settings::default().failover_step().unwrap();
    for rid in 0..8 {
        let (mut mixed, mut ahead, mut falls) = (0, 0, 0);
        each_sample(default_run(), &rid.to_string(), |s| {
            let versions = versions(s);
            mixed += usize::from(versions.iter().any(|v| *v != versions[0]));
            ahead += usize::from(versions.iter().all(|&v| v > i64::from(rid)));
            falls += usize::from(versions.windows(2).any(|pair| pair[1] < pair[0]));
        });
        assert_eq!(mixed > 0, rid > 0, "step {rid}");
        assert_eq!(ahead > 20, rid == failover, "step {rid}");
        assert_eq!(falls > 0, rid == failover, "step {rid}");
    }
}

#[test]
fn one_token_carries_the_importance_ratio_of_its_sample() {
    let mut found = Vec::new();
    for rank in 0..8 {
        let file = open(default_run(), &format!("train_data/7_{rank}.pt"));
        let columns = get(file.root(), "rollout_data");
        let train = get(columns, "log_probs").items().unwrap();
        let rollout = get(columns, "rollout_log_probs").items().unwrap();
        for ((index, a), b) in ints(columns, "sample_indices").iter().zip(train).zip(rollout) {
            let (a, b) = (a.tensor().unwrap(), b.tensor().unwrap());
            let wild = |(a, b): (&f32, &f32)| (a - b > 5.0).then_some(*index);
            found.extend(a.to_f32().unwrap().iter().zip(&*b.to_f32().unwrap()).filter_map(wild));
        }
    }
    assert_eq!(found, [7 * 128 + 1]);
}

#[test]
fn removed_aborted_and_oddly_rewarded_samples_are_there() {
    let mut statuses = BTreeMap::<String, usize>::new();
    let (mut removed, mut dicts, mut odd) = (Vec::new(), 0, 0);
    each_sample(default_run(), "5", |s| {
        *statuses.entry(text(s, "status")).or_default() += 1;
        if get(s, "remove_sample").as_bool() == Some(true) {
            removed.push(int(s, "index"));
        }
        dicts += usize::from(get(s, "reward").get("score").is_some());
        odd += usize::from(text(s, "response").contains('\u{202e}'));
        assert!(int(get(s, "spec_info"), "spec_draft_token_num") > 0);
        let cache = get(s, "prefix_cache_info");
        assert!(int(cache, "cached_tokens") < int(cache, "total_prompt_tokens"));
    });
    assert_eq!(statuses["aborted"], 1);
    assert_eq!(removed, [5 * 128 + 5 * 8 + 7, 5 * 128 + 6 * 8 + 2]);
    assert_eq!((dicts, odd), (8, 1));
}

#[test]
fn the_middle_step_is_cut_over_context_ranks_and_pipeline_stages() {
    let run = default_run();
    let (mut full, mut slices) = (BTreeMap::new(), BTreeMap::<i64, usize>::new());
    each_sample(run, "4", |s| {
        full.insert(int(s, "index"), int(s, "response_length") as usize);
    });
    for rank in 0..8 {
        let file = open(run, &format!("train_data/4_{rank}.pt"));
        let (root, columns) = (file.root(), get(file.root(), "rollout_data"));
        assert_eq!((int(root, "cp_rank"), int(root, "cp_size")), (rank % 2, 2));
        let computes = columns.get("log_probs").is_some();
        assert_eq!(computes, rank >= 4, "only the last pipeline stage computes");
        if computes {
            for (index, slice) in
                ints(columns, "sample_indices").into_iter().zip(get(columns, "log_probs").items().unwrap())
            {
                *slices.entry(index).or_default() += slice.tensor().unwrap().to_f32().unwrap().len();
            }
        }
    }
    assert_eq!(slices, full);
}

#[test]
fn a_run_too_small_for_its_stories_is_still_a_run() {
    let settings = Settings {
        steps: 1,
        prompts: 1,
        samples_per_prompt: 1,
        gpus: 1,
        nodes: 1,
        minutes: 2,
        ..Settings::default()
    };
    let run = write(&settings);
    assert_eq!(raw_reward(run.path(), 0).len(), 1);
    let three = Settings { steps: 3, prompts: 2, samples_per_prompt: 2, gpus: 3, ..settings };
    write(&three);
}

#[test]
fn settings_out_of_bounds_are_named() {
    for (settings, says) in [
        (Settings { steps: 0, ..SMALL }, "--steps must be at least 1"),
        (Settings { max_response: 100, ..SMALL }, "--max-response must be 256 to 4194304"),
        (Settings { minutes: 2_000_000, ..SMALL }, "--minutes must be 0 to 1054080"),
        (Settings { nodes: 20_000, ..SMALL }, "--nodes must be at most 16384, and 131072 GPUs"),
        (Settings { prompts: u32::MAX, ..SMALL }, "--steps times prompts and samples must stay below 2^31"),
    ] {
        assert_eq!(settings.check().unwrap_err().to_string(), says);
    }
}

fn miles(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_miles")).arg("demo").args(args).output().unwrap()
}

#[test]
fn a_folder_with_files_of_others_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "do not touch").unwrap();
    let before = contents(dir.path());
    let output = miles(&[dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(64));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("holds files that no demo run made; hint: name a new or empty folder"), "{told}");
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn an_earlier_demo_run_is_replaced_and_what_others_added_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let small = ["--prompts", "4", "--samples-per-prompt", "2", "--gpus", "2", "--max-response", "256"];
    let run = |steps: &str| {
        let mut args = vec![path.to_str().unwrap(), "--steps", steps];
        args.extend(small);
        let output = miles(&args);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty(), "stdout is for data");
    };
    run("3");
    fs::write(path.join("rollout_data/notes.txt"), "mine").unwrap();
    run("1");
    assert!(!path.join("rollout_data/2.pt").exists());
    assert!(!path.join("train_data/2_1.pt").exists());
    assert!(path.join("rollout_data/0.pt").exists());
    assert!(path.join("rollout_data/notes.txt").exists());
}

/// Real readers: `MILES_TEST_PYTHON` names a Python with torch and polars.
#[test]
fn torch_and_polars_read_the_same_values() {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        eprintln!("skipped: MILES_TEST_PYTHON names no Python with torch and polars");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/demo_check.py");
    let ran = Command::new(python).arg(script).arg(default_run()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    // One line a rollout file: name, samples, and sums over all of its values as torch has them.
    let told = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(told.lines().count(), 10);
    for line in told.lines() {
        let said: serde_json::Value = serde_json::from_str(line).unwrap();
        let (mut tokens, mut masks, mut log_probs) = (0, 0, 0.0);
        each_sample(default_run(), said["stem"].as_str().unwrap(), |s| {
            tokens += ints(s, "tokens").iter().sum::<i64>();
            masks +=
                get(s, "loss_mask").numbers().map_or(0, |mask| mask.to_ints::<i64>().unwrap().iter().sum());
            log_probs += get(s, "rollout_log_probs").numbers().unwrap().to_f64().iter().sum::<f64>();
        });
        assert_eq!(said["tokens"], tokens, "{line}");
        assert_eq!(said["masks"], masks, "{line}");
        assert!((said["log_probs"].as_f64().unwrap() - log_probs).abs() < 1e-6, "{line}");
    }
}
