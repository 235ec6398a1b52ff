//! Cases from the field, as somebody at a shell meets them: the exit status, the one line on stderr, and
//! whether the good data next to the bad can still be read. Numbers in headings are those of the list of
//! cases; what the reader does with each value is in tests/pt.rs.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use common::torch::{self, Pickle};
use common::{Answer, Run, answer, fixtures, several, tool, tool_within};
use miles::pt::Dtype;
use miles::pt::write::{Data, save};
use serde_json::{Map, Value, json};

type Row = Map<String, Value>;

/// Address space that is far more than any fixture needs.
const TWO_GIB: u64 = 2 << 20;
/// More than the fixtures hold by far; what their references stand for is beyond any disk.
const SHOWN: usize = 16 << 20;

/// `miles-dump inspect` of a fixture.
fn inspect(pt: &str) -> Answer {
    let mut command = tool();
    command.arg("inspect").arg(fixtures().join("pt").join(pt));
    answer(command).sane()
}

/// Rows of `inspect` by path.
fn tree(pt: &str) -> Map<String, Value> {
    let row = |row: Row| (row["path"].as_str().unwrap().to_owned(), Value::Object(row));
    inspect(pt).ok().rows().into_iter().map(row).collect()
}

/// A run of three good steps.
fn three_steps() -> Run {
    let run = Run::fixture("data_parallel");
    for file in [
        "rollout_data/1.pt",
        "train_data/1_0.pt",
        "train_data/1_1.pt",
        "train_data/1_2.pt",
        "train_data/1_3.pt",
    ] {
        run.write(&file.replace("/1", "/2"), fs::read(run.file(file)).unwrap());
    }
    run.remove("dashboard_columns");
    run
}

fn states(run: &Run) -> Vec<(i64, bool, String)> {
    let state = |row: Row| {
        let text = row["state"].as_str().unwrap().to_owned();
        (row["rollout_id"].as_i64().unwrap(), row["evaluation"].as_bool().unwrap(), text)
    };
    run.dump(&["ids"]).sane().rows().into_iter().map(state).collect()
}

fn ids_of(answer: &Answer) -> Vec<i64> {
    let mut ids: Vec<i64> = answer.rows().iter().map(|row| row["rollout_id"].as_i64().unwrap()).collect();
    ids.dedup();
    ids
}

// 1 ---------------------------------------------------------------------------------------------------

#[test]
fn an_array_inside_the_pickle_is_shown_by_dtype_and_shape() {
    for pt in ["numpy_arrays.pt", "numpy_arrays_core.pt", "numpy_arrays_4.pt", "numpy_arrays_5.pt"] {
        let arrays = tree(pt).into_iter().filter(|(_, row)| row["type"] == "ndarray").collect::<Vec<_>>();
        assert!(arrays.len() > 3, "{pt}");
        assert!(arrays.iter().all(|(_, row)| row["dtype"].is_string() && row["shape"].is_array()), "{pt}");
    }
}

#[test]
fn bytes_that_no_latin1_can_encode_are_an_error() {
    let answer = inspect("latin1_too_high.pt").fails(2, &["latin1_too_high.pt"]);
    assert!(answer.stdout.contains("a character above U+00FF"), "{}", answer.stdout);
}

/// An int8 array of `n` bytes of 0xE9, pickled at protocol 2 as NumPy does it: text to be encoded.
fn routed_experts(n: usize) -> Pickle {
    let dtype = Pickle::default().raw("cnumpy\ndtype\n").str("i1").raw(b"K\0K\x01\x87R(K\x03").str("|");
    let dtype = dtype.raw(b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb");
    let array = Pickle::default().raw(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85");
    let array = array.raw("c_codecs\nencode\n").str("b").str("latin1").raw(b"\x86R\x87R");
    let array = array.raw(b"(K\x01").int(i32::try_from(n).unwrap()).raw(b"\x85").raw(&dtype.0).raw(b"\x89");
    array.raw("c_codecs\nencode\n").str(&"é".repeat(n)).str("latin1").raw(b"\x86Rtb")
}

#[test]
fn hundreds_of_megabytes_of_routed_experts_are_skipped_cheaply() {
    let run = Run::empty();
    let experts = Pickle::default().str("rollout_routed_experts").raw(&routed_experts(64 << 20).0);
    run.write("rollout_data/0.pt", torch::rollout(0, &[experts, Pickle::default()]));
    for args in [&["summary", "0"][..], &["tokens", "0", "0"], &["samples", "0"], &["groups", "0"]] {
        // The file is mapped: 128 MB of it count as address space too.
        let mut command = tool_within(768 << 10);
        command.arg("-d").arg(run.path()).args(args);
        let answer = answer(command).sane().ok();
        assert!(!answer.stdout.is_empty() && answer.stdout.len() < 10_000, "{args:?}");
    }
    let rows = run.rows(&["samples", "0"]);
    assert_eq!(rows[0]["rollout_routed_experts"]["$array"]["shape"], json!([64 << 20]));
}

// 2, 3, 10 --------------------------------------------------------------------------------------------

#[test]
fn numpy_scalars_are_plain_values_under_every_module_path() {
    let values = |pt: &str| -> Vec<Value> {
        tree(pt).into_iter().map(|(path, row)| json!([path, row["type"], row["value"]])).collect()
    };
    let wanted = values("numpy_scalars.pt");
    assert!(!Value::from(wanted.clone()).to_string().contains("numpy."), "{wanted:?}");
    for pt in ["numpy_scalars_core.pt", "numpy_scalars_4.pt", "numpy_scalars_5.pt"] {
        assert_eq!(values(pt), wanted, "{pt}");
    }
}

#[test]
fn a_numpy_reward_is_a_number_and_its_nan_is_null() {
    let rows = Run::fixture("odd").rows(&["summary", "5"]);
    let rewards: Vec<&Value> = rows[..7].iter().map(|row| &row["reward"]).collect();
    assert_eq!(json!(rewards), json!([null, 0.25, 0.5, null, 1.0, null, -2.0]));
}

#[test]
fn python_2_names_are_understood() {
    let tree = tree("python2_names.pt");
    for (path, kind) in [
        ("$.set", "set"),
        ("$.frozenset", "set"),
        ("$.bytearray", "bytes"),
        ("$.complex", "complex"),
        ("$.range", "builtins.range"),
    ] {
        assert_eq!(tree[path]["type"], kind, "{path}");
    }
    assert!(tree.values().all(|row| !row["type"].as_str().unwrap().contains("__builtin__")));
}

#[test]
fn enums_and_dataclasses_are_resolved_by_name() {
    let rows = Run::fixture("odd").rows(&["summary", "5"]);
    assert_eq!((&rows[0]["status"], &rows[1]["status"]), (&json!("completed"), &json!("truncated")));
    let adapter = &Run::fixture("odd").rows(&["samples", "5"])[14]["adapter"];
    assert!(
        adapter.to_string().contains("FrozenSlotsData") && adapter.to_string().contains("lora"),
        "{adapter}"
    );
    for pt in [
        "enum_getattr.pt",
        "enum_module.pt",
        "enum_nested.pt",
        "enum_nested_4.pt",
        "dataclasses.pt",
        "objects.pt",
    ] {
        assert!(tree(pt).values().all(|row| row["type"] != "unreadable"), "{pt}");
    }
}

// 4, 5, 9, 12 -----------------------------------------------------------------------------------------

#[test]
fn views_of_one_storage_show_logical_and_stored_bytes() {
    let tree = tree("views.pt");
    assert_eq!((&tree["$.at_10"]["bytes"], &tree["$.at_50"]["bytes"]), (&json!(16), &json!(12)));
    assert_eq!(tree["$.at_50"]["value"], "view of storage 0 of 400 bytes");
}

#[test]
fn a_tensor_beyond_its_storage_is_said_and_its_neighbours_are_shown() {
    for pt in [
        "hostile_offset.pt",
        "hostile_storage_claim.pt",
        "hostile_stride_overflow.pt",
        "hostile_negative_shape.pt",
    ] {
        let answer = inspect(pt).fails(2, &[pt, "cannot be read"]);
        let told = answer.stdout.contains("corrupt: ") || answer.stdout.contains("unreadable");
        assert!(told, "{pt}: {}", answer.stdout);
    }
    let answer = inspect("zip_missing_storage.pt").fails(2, &["zip_missing_storage.pt"]);
    assert_eq!(answer.rows().len(), 3);
}

#[test]
fn tensors_of_a_gpu_are_read_without_one() {
    assert_eq!(tree("devices.pt")["$.gpu"]["device"], "cuda:3");
    assert_eq!(tree("cuda.pt").values().filter(|row| row["device"] == "cuda:3").count(), 1);
}

#[test]
fn every_dtype_is_named() {
    for pt in ["dtypes.pt", "dtypes_complex.pt", "dtypes_float8.pt", "dtypes_unsigned.pt", "shapes.pt"] {
        let tensors: Vec<_> = tree(pt).into_iter().filter(|(_, row)| row["type"] == "tensor").collect();
        assert!(!tensors.is_empty() && tensors.iter().all(|(_, row)| row["dtype"].is_string()), "{pt}");
    }
}

/// A train file of one row, sample 0 with two response tokens, whose `advantages` are `data`.
fn train_with(advantages: Data) -> Vec<u8> {
    save(Vec::new(), "0_0", |p| {
        p.dict(|p| {
            for (key, value) in [("rollout_id", 0), ("rank", 0), ("cp_rank", 0), ("cp_size", 1)] {
                p.key(key)?;
                p.int(value)?;
            }
            p.key("qkv_format")?;
            p.str("thd")?;
            p.key("rollout_data")?;
            p.dict(|p| {
                for (key, value) in [("sample_indices", 0), ("response_lengths", 2), ("total_lengths", 3)] {
                    p.key(key)?;
                    p.ints([value])?;
                }
                p.key("loss_masks")?;
                p.list([Data::i32([1, 1].into_iter())], |p, mask| p.tensor(mask))?;
                p.key("advantages")?;
                p.list([advantages], |p, data| p.tensor(data))
            })
        })
    })
    .unwrap()
}

#[test]
fn trainer_columns_of_any_real_dtype_give_their_values_and_others_are_named() {
    let run = Run::empty();
    run.write("rollout_data/0.pt", torch::rollout(0, &[Pickle::default()]));
    let column = |dtype, bytes: &[u8]| train_with(Data { dtype, shape: vec![2], bytes: bytes.to_vec() });
    let f64s: Vec<u8> = [1.5f64, 2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    for (dtype, bytes) in [
        (Dtype::F64, f64s.as_slice()),
        (Dtype::F16, &[0x00, 0x3e, 0x00, 0x41]),
        (Dtype::Bf16, &[0xc0, 0x3f, 0x20, 0x40]),
    ] {
        run.write("train_data/0_0.pt", column(dtype, bytes));
        let row = &run.rows(&["summary", "0"])[0];
        assert_eq!((&row["adv_mean"], &row["dumped_rank"]), (&json!(2.0), &json!(0)), "{dtype:?}");
    }
    run.write("train_data/0_0.pt", column(Dtype::C64, &[0; 16]));
    run.dump(&["summary", "0"]).fails(2, &["train_data/0_0.pt: ", "complex64"]);
    assert_eq!(run.rows(&["samples", "0"]).len(), 1);
}

// 6, 8 ------------------------------------------------------------------------------------------------

#[test]
fn archives_of_every_make_are_read() {
    for pt in [
        "zip_torch.pt",
        "zip_comment.pt",
        "zip_deflated.pt",
        "zip_descriptor.pt",
        "zip_force64.pt",
        "zip_no_extra_records.pt",
        "zip_unaligned.pt",
        "zip_zip64_extras.pt",
        "archive_prefix.pt",
    ] {
        assert!(inspect(pt).ok().quiet().rows().len() > 1, "{pt}");
    }
}

#[test]
fn two_thousand_and_one_samples_come_out_in_order() {
    let run = Run::empty();
    run.write("rollout_data/7.pt", torch::rollout(7, &vec![Pickle::default(); 2001]));
    for command in ["summary", "samples"] {
        let rows = run.rows(&[command, "7"]);
        let index = if command == "summary" { "sample_index" } else { "index" };
        let found: Vec<i64> = rows.iter().map(|row| row[index].as_i64().unwrap()).collect();
        assert_eq!(found, (0..2001).collect::<Vec<_>>(), "{command}");
    }
    let dict = inspect("batches_dict.pt").ok().rows();
    assert!(dict.len() > 2000, "{}", dict.len());
}

// 7 ---------------------------------------------------------------------------------------------------

/// Places where a writer can have been stopped: after a byte, in the pickle, in the directory, before the end.
fn cuts(run: &Run, file: &str) -> Vec<usize> {
    let bytes = fs::metadata(run.file(file)).unwrap().len() as usize;
    vec![0, 1, 70, bytes / 2, bytes - 22 - 40, bytes - 22, bytes - 1]
}

#[test]
fn a_rollout_file_cut_long_ago_is_truncated_and_gives_no_rows() {
    let file = "rollout_data/0.pt";
    several(&cuts(&three_steps(), file), |&keep| {
        let run = three_steps();
        run.cut(file, keep);
        for args in [
            &["summary", "0"][..],
            &["joined", "0"],
            &["samples", "0"],
            &["tokens", "0", "0"],
            &["groups", "0"],
        ] {
            let answer = run.dump(args);
            assert_eq!(answer.stdout, "", "{keep} {args:?}");
            // Nothing at all, or one byte, is no archive of any kind.
            let says = if keep == 0 { "an empty file" } else { "truncated: " };
            let answer = answer.fails(2, &[file, says]);
            if keep > 0 {
                answer.says(&[" at byte ", "; hint: "]);
            }
        }
    });
}

#[test]
fn a_rollout_file_cut_just_now_is_still_being_written() {
    let file = "rollout_data/0.pt";
    several(&cuts(&three_steps(), file), |&keep| {
        let run = three_steps();
        run.cut(file, keep);
        run.age_s(file, 30.0);
        for args in [&["summary", "0"][..], &["tokens", "0", "0"], &["samples", "0"], &["joined", "0"]] {
            let answer = run.dump(args).fails(75, &[file, "still being written", "hint: try again"]);
            assert_eq!(answer.stdout, "", "{keep} {args:?}");
        }
        let path = run.file(file);
        run.dump(&["inspect", path.to_str().unwrap()]).fails(75, &[file, "still being written"]);
    });
}

#[test]
fn a_train_file_cut_long_ago_is_truncated_and_the_rollout_side_is_still_there() {
    let file = "train_data/0_3.pt";
    several(&cuts(&three_steps(), file), |&keep| {
        let run = three_steps();
        run.cut(file, keep);
        for args in [&["summary", "0"][..], &["joined", "0"], &["tokens", "0", "0"]] {
            let answer = run.dump(args).fails(2, &[file]);
            assert_eq!(answer.stdout, "", "{keep} {args:?}");
        }
        assert_eq!(run.rows(&["samples", "0"]).len(), 8);
        assert_eq!(run.rows(&["summary", "1"]).len(), 8);
    });
}

#[test]
fn a_train_file_cut_just_now_is_still_being_written() {
    let file = "train_data/0_3.pt";
    let run = three_steps();
    run.cut(file, 300);
    run.age_s(file, 5.0);
    for args in [&["summary", "0"][..], &["joined", "0"], &["tokens", "0", "0"], &["groups", "0"]] {
        run.dump(args).fails(75, &[file, "still being written"]);
    }
}

#[test]
fn a_damaged_step_in_a_range_is_told_and_the_others_are_printed() {
    let run = three_steps();
    run.cut("rollout_data/1.pt", 500);
    for command in ["summary", "groups", "samples", "joined"] {
        let answer = run.dump(&[command, "0-2"]).fails(2, &["rollout_data/1.pt", "truncated"]);
        assert_eq!(ids_of(&answer), [0, 2], "{command}");
    }
    let answer = run.dump(&["steps"]).fails(2, &["rollout_data/1.pt"]);
    assert_eq!(ids_of(&answer), [0, 2]);
    // Its bytes and ranks are known all the same.
    let answer = run.dump(&["ids"]).fails(2, &["rollout_data/1.pt"]);
    assert_eq!(answer.rows().len(), 4);
    assert!(answer.rows().iter().any(|row| row["rollout_id"] == 1 && row["samples"].is_null()));
}

#[test]
fn a_range_whose_newest_step_is_being_written_is_worth_a_retry() {
    let run = three_steps();
    run.cut("rollout_data/2.pt", 500);
    run.age_s("rollout_data/2.pt", 20.0);
    let answer = run.dump(&["summary", "0-2"]).fails(75, &["rollout_data/2.pt", "still being written"]);
    assert_eq!(ids_of(&answer), [0, 1]);
}

// 38: what is fresh -----------------------------------------------------------------------------------

#[test]
fn a_step_younger_than_ten_seconds_is_hidden_until_its_train_file_is_there() {
    let run = three_steps();
    run.write("rollout_data/5.pt", fs::read(run.file("rollout_data/1.pt")).unwrap());
    run.age_s("rollout_data/5.pt", 3.0);
    assert!(states(&run).contains(&(5, false, "writing".into())));
    let hidden = run.rows(&["ids"]).into_iter().find(|row| row["rollout_id"] == 5).unwrap();
    assert_eq!(hidden["samples"], Value::Null);
    run.dump(&["summary", "5"]).fails(75, &["rollout_data/5.pt", "still being written"]);
    assert_eq!(run.rows(&["summary", "latest"])[0]["rollout_id"], 2);
    assert_eq!(run.rows(&["steps"]).len(), 3);
    // Written strictly after the rollout file.
    run.write("train_data/5_0.pt", fs::read(run.file("train_data/1_0.pt")).unwrap());
    assert!(states(&run).contains(&(5, false, "ready".into())));
    assert_eq!(run.rows(&["summary", "latest"])[0]["rollout_id"], 5);
}

#[test]
fn an_evaluation_younger_than_ten_seconds_is_hidden_whatever_the_train_side_has() {
    let run = three_steps();
    run.age_s("rollout_data/eval_1.pt", 3.0);
    assert!(states(&run).contains(&(1, true, "writing".into())));
    run.dump(&["summary", "1", "--eval"]).fails(75, &["eval_1.pt", "still being written"]);
    run.dump(&["summary", "latest", "--eval"]).fails(75, &["eval_1.pt", "still being written"]);
}

#[test]
fn a_clock_an_hour_ahead_hides_no_run() {
    let run = three_steps();
    for file in ["rollout_data/2.pt", "rollout_data/eval_1.pt", "train_data/2_0.pt"] {
        run.age_s(file, -3600.0);
    }
    assert!(states(&run).iter().all(|(_, _, state)| state == "ready"));
    assert_eq!(run.rows(&["summary", "2"]).len(), 8);
    assert_eq!(run.rows(&["summary", "1", "--eval"]).len(), 8);
    let age = &run.rows(&["ids"])[2]["age_s"];
    assert!(age.as_f64().unwrap() < -3000.0, "{age}");
}

#[test]
fn a_file_from_the_future_without_an_end_is_still_being_written() {
    let run = three_steps();
    run.cut("rollout_data/eval_1.pt", 900);
    run.age_s("rollout_data/eval_1.pt", -3600.0);
    assert!(states(&run).contains(&(1, true, "writing".into())));
    run.dump(&["summary", "1", "--eval"]).fails(75, &["eval_1.pt", "still being written", "in the future"]);
}

#[test]
fn a_second_file_of_a_step_under_an_odd_name_is_told_and_not_read() {
    let run = three_steps();
    run.write("rollout_data/001.pt", "not a dump");
    run.write("train_data/+1_0.pt", "not a dump");
    let answer =
        run.dump(&["summary", "1"]).ok().says(&["001.pt: ignored, 1.pt", "+1_0.pt: ignored, 1_0.pt"]);
    assert_eq!(answer.rows().len(), 8);
}

#[test]
fn a_file_that_looks_old_and_grows_is_still_being_written() {
    let run = three_steps();
    let file = run.file("rollout_data/2.pt");
    run.cut("rollout_data/2.pt", 900);
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        while stopped.try_recv().is_err() {
            let mut open = fs::OpenOptions::new().append(true).open(&file).unwrap();
            open.write_all(b"x").unwrap();
            drop(open);
            // As a writer whose clock is behind would leave it.
            common::age(&file, Duration::from_secs(3600));
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let answer = run.dump(&["summary", "2"]);
    stop.send(()).unwrap();
    writer.join().unwrap();
    answer.fails(75, &["rollout_data/2.pt", "still being written"]);
}

// 11 --------------------------------------------------------------------------------------------------

#[test]
fn a_lone_surrogate_in_a_dump_becomes_u_fffd_and_is_counted() {
    let answer = Run::fixture("odd").dump(&["samples", "5"]).ok().says(&["1 lone surrogate", "U+FFFD"]);
    assert_eq!(answer.rows()[12]["response"], "ok \u{fffd} end");
    assert_eq!(answer.rows().len(), 16);
}

#[test]
fn a_lone_surrogate_in_a_conversation_becomes_u_fffd_and_is_counted() {
    let run = three_steps();
    let line = r#"{"sample_index": 0, "messages": [{"role": "user", "content": "a\ud83d b\ud83d\ude00"}]}"#;
    run.write("trajectory/0.jsonl", format!("{line}\n"));
    let answer = run.dump(&["messages", "0", "0"]).ok().says(&["trajectory/0.jsonl", "lone surrogate"]);
    assert_eq!(answer.rows()[0]["content"], "a\u{fffd} b😀");
}

// 13 --------------------------------------------------------------------------------------------------

#[test]
fn a_file_of_another_kind_is_named_for_what_it_is() {
    let kinds = [
        ("kind_legacy.pt", "legacy torch format"),
        ("kind_torchscript.pt", "TorchScript"),
        ("kind_lfs.pt", "Git-LFS pointer"),
        ("kind_three_bytes.pt", "not a torch file"),
        ("kind_empty.pt", "an empty file"),
        ("kind_zeros.pt", "not a torch file"),
        ("kind_npz.pt", ".npz"),
        ("kind_gzip.pt", "gzip"),
        ("kind_pickle.pt", "bare pickle"),
        ("kind_safetensors.pt", "safetensors"),
        ("kind_text.pt", "text file"),
    ];
    several(&kinds, |&(pt, says)| {
        let run = three_steps();
        run.place_pt(pt, "rollout_data/1.pt");
        for command in ["summary", "joined", "samples"] {
            run.dump(&[command, "1"]).fails(2, &["rollout_data/1.pt: ", says]);
        }
        let answer = run.dump(&["summary", "0-2"]).fails(2, &[says]);
        assert_eq!(ids_of(&answer), [0, 2], "{pt}");
        run.write("rollout_data/1.pt", fs::read(run.file("rollout_data/0.pt")).unwrap());
        run.place_pt(pt, "train_data/0_1.pt");
        run.dump(&["summary", "0"]).fails(2, &["train_data/0_1.pt: ", says]);
        assert_eq!(run.rows(&["samples", "0"]).len(), 8);
    });
}

#[test]
fn a_pointer_of_git_lfs_says_how_to_get_the_file() {
    let run = three_steps();
    run.place_pt("kind_lfs.pt", "rollout_data/1.pt");
    run.dump(&["summary", "1"]).fails(2, &["hint: git lfs pull"]);
}

#[test]
fn a_torch_file_that_is_no_dump_is_said_to_be_none() {
    let run = three_steps();
    run.place_pt("state_dict.pt", "rollout_data/1.pt");
    run.dump(&["summary", "1"]).fails(2, &["rollout_data/1.pt: ", "not a rollout file"]);
    run.place_pt("state_dict.pt", "train_data/0_1.pt");
    run.dump(&["summary", "0"]).fails(2, &["train_data/0_1.pt: ", "not a train file"]);
    run.place_pt("top_none.pt", "train_data/0_1.pt");
    run.dump(&["summary", "0"]).fails(2, &["train_data/0_1.pt: "]);
}

#[test]
fn a_folder_in_place_of_a_file_is_named_for_what_it_is() {
    let run = three_steps();
    fs::create_dir(run.file("rollout_data/3.pt")).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    fs::File::open(run.file("rollout_data/3.pt"))
        .unwrap()
        .set_modified(std::time::SystemTime::now() - common::OLD)
        .unwrap();
    run.dump(&["summary", "3"]).fails(2, &["rollout_data/3.pt: a directory"]);
    let answer = run.dump(&["summary", "0-3"]).fails(2, &["rollout_data/3.pt"]);
    assert_eq!(ids_of(&answer), [0, 1, 2]);
    let path = run.file("rollout_data");
    run.dump(&["inspect", path.to_str().unwrap()]).fails(2, &["a directory, not a torch file"]);
}

#[test]
fn a_named_pipe_is_refused_and_never_waited_for() {
    let run = three_steps();
    let pipe = run.file("rollout_data/3.pt");
    let status = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(status.success());
    // Not through `age`: opening a pipe waits for its other end.
    let touched = std::process::Command::new("touch").args(["-d", "1 hour ago"]).arg(&pipe).status().unwrap();
    assert!(touched.success());
    run.dump(&["inspect", pipe.to_str().unwrap()]).fails(2, &["rollout_data/3.pt", "not a regular file"]);
    let answer = run.dump(&["summary", "0-3"]).fails(2, &["rollout_data/3.pt", "not a regular file"]);
    assert_eq!(ids_of(&answer), [0, 1, 2]);
}

#[test]
fn files_behind_symlinks_are_read() {
    let run = three_steps();
    let elsewhere = Run::fixture("data_parallel");
    run.remove("rollout_data/1.pt");
    symlink(elsewhere.file("rollout_data/1.pt"), run.file("rollout_data/1.pt")).unwrap();
    run.remove("train_data");
    symlink(elsewhere.file("train_data"), run.file("train_data")).unwrap();
    let linked = run.dump(&["summary", "1"]).ok();
    assert_eq!(linked.stdout, elsewhere.dump(&["summary", "1"]).ok().stdout);
}

#[test]
fn a_symlink_that_leads_nowhere_is_told() {
    let run = three_steps();
    run.remove("rollout_data/1.pt");
    symlink("/no/such/file.pt", run.file("rollout_data/1.pt")).unwrap();
    symlink("4.pt", run.file("rollout_data/4.pt")).unwrap();
    // A new link is as a new file: hidden at first unless the train side is there.
    run.dump(&["summary", "1"]).fails(2, &["rollout_data/1.pt: "]);
    assert_eq!(run.dump(&["summary", "4"]).sane().stdout, "");
    assert_eq!(run.rows(&["summary", "0"]).len(), 8);
}

#[test]
fn a_file_that_may_not_be_read_is_told_and_the_others_are_printed() {
    let run = three_steps();
    let file = run.file("rollout_data/1.pt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&file).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    run.dump(&["summary", "1"]).fails(2, &["rollout_data/1.pt: Permission denied"]);
    let answer = run.dump(&["summary", "0-2"]).fails(2, &["rollout_data/1.pt"]);
    assert_eq!(ids_of(&answer), [0, 2]);
}

// 14 --------------------------------------------------------------------------------------------------

/// Every command that can be given a step.
const EVERY: [&[&str]; 8] = [
    &["ids"],
    &["steps"],
    &["summary", "0"],
    &["groups", "0"],
    &["samples", "0"],
    &["joined", "0"],
    &["tokens", "0", "0"],
    &["summary", "0-9"],
];

#[test]
fn no_hostile_file_can_crash_hang_or_take_the_memory() {
    let files =
        fs::read_dir(fixtures().join("pt")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let hostile: Vec<String> = files
        .filter(|name| {
            ["hostile_", "pickle_", "zip_"].iter().any(|p| name.starts_with(p)) && name.ends_with(".pt")
        })
        .collect();
    assert!(hostile.len() > 40);
    let limited = |run: &Run, args: &[&str]| {
        let mut command = tool_within(TWO_GIB);
        command.arg("-d").arg(run.path()).args(args);
        let answer = answer(command).sane();
        assert!(answer.stdout.len() < SHOWN, "{} bytes: {}", answer.stdout.len(), answer.command);
        answer
    };
    several(&hostile, |pt| {
        let run = Run::fixture("old_plain");
        let file = fixtures().join("pt").join(pt);
        limited(&run, &["inspect", file.to_str().unwrap()]);
        run.place_pt(pt, "train_data/0_2.pt");
        assert_eq!(limited(&run, &["summary", "0"]).status, Some(2), "{pt}");
        run.place_pt(pt, "rollout_data/0.pt");
        assert_eq!(limited(&run, &["samples", "0"]).status, Some(2), "{pt}");
    });
}

/// A rollout of three samples, the first of which has `hostile` under a key.
fn run_with(key: &str, hostile: &Pickle) -> Run {
    let run = Run::empty();
    let more = Pickle::default().str(key).raw(&hostile.0);
    run.write("rollout_data/0.pt", torch::rollout(0, &[more, Pickle::default(), Pickle::default()]));
    run
}

/// Forty levels of `[x, x]`.
fn doubling() -> Pickle {
    let mut p = Pickle::default().raw(b"]q\xff");
    for level in 0..40u8 {
        // The list so far, twice, in a new one that is remembered in its place.
        let get = if level == 0 { 0xff } else { level + 100 };
        p = p.raw(b"0](h").raw([get]).raw(b"h").raw([get]).raw(b"eq").raw([level + 101]);
    }
    p
}

#[test]
fn a_hostile_value_in_one_sample_costs_nothing_and_leaves_the_others() {
    let deep = |n: usize| Pickle::default().raw(vec![b']'; n]).raw(vec![b'a'; n - 1]);
    let keys = [
        "metadata",
        "prompt",
        "reward",
        "tokens",
        "weight_versions",
        "spec_info",
        "status",
        "index",
        "group_index",
        "loss_mask",
        "rollout_log_probs",
    ];
    several(&keys, |&key| {
        for (what, hostile) in [("doubling", doubling()), ("a deep list", deep(100_000))] {
            let run = run_with(key, &hostile);
            for args in EVERY {
                let mut command = tool_within(TWO_GIB);
                command.arg("-d").arg(run.path()).args(args);
                let answer = answer(command).sane();
                assert!(answer.stdout.len() < SHOWN, "{what} as {key}: {} bytes", answer.stdout.len());
            }
        }
    });
    let run = run_with("metadata", &doubling());
    assert_eq!(run.dump(&["summary", "0"]).ok().rows().len(), 3);
    assert_eq!(run.dump(&["samples", "0"]).ok().rows().len(), 3);
}

#[test]
fn a_list_that_claims_a_billion_elements_is_an_error() {
    let tensor = Pickle::default()
        .raw("ctorch._utils\n_rebuild_tensor_v2\n((")
        .str("storage")
        .raw("ctorch\nLongStorage\n");
    let tensor = tensor
        .str("0")
        .str("cpu")
        .int(1_000_000_000)
        .raw(b"tQK\0")
        .int(1_000_000_000)
        .raw(b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR");
    let run = run_with("tokens", &tensor);
    for args in EVERY {
        let mut command = tool_within(TWO_GIB);
        command.arg("-d").arg(run.path()).args(args);
        answer(command).sane();
    }
    run.dump(&["tokens", "0", "0"]).fails(2, &["rollout_data/0.pt"]);
    assert_eq!(run.dump(&["tokens", "0", "1"]).sane().rows().len(), 3);
}

#[test]
fn nothing_in_a_file_is_executed() {
    let mark = Run::empty();
    let path = mark.file("executed");
    let command = format!("touch {}", path.display());
    let calls = [
        Pickle::default().raw("cos\nsystem\n").str(&command).raw(b"\x85R"),
        Pickle::default().raw("c__builtin__\neval\n").str("1/0").raw(b"\x85R"),
        Pickle::default().raw("csubprocess\nPopen\n").str(&command).raw(b"\x85\x81"),
        Pickle::default().raw(b"cposix\nsystem\n)\x81").str(&command).raw(b"b"),
    ];
    for call in calls {
        for key in ["metadata", "reward", "tokens", "status"] {
            let run = run_with(key, &call);
            for args in EVERY {
                run.dump(args).sane();
            }
            let summary = run.dump(&["summary", "0"]).ok().rows();
            assert_eq!(summary.len(), 3);
        }
    }
    let shown = run_with("metadata", &Pickle::default().raw("cos\nsystem\n").str(&command).raw(b"\x85R"));
    let rows = shown.rows(&["samples", "0"]);
    assert!(rows[0]["metadata"]["$object"].as_str().is_some_and(|name| name.contains("system")), "{rows:?}");
    assert!(!path.exists());
}

#[test]
fn control_characters_of_a_file_never_reach_the_terminal() {
    let run = three_steps();
    run.write("rollout_data/\x1b[2J.pt", b"x");
    run.write("train_data/0_9.pt", torch::file(&Pickle::default().raw("cos\n\x1b[31mred\n").finish(), &[]));
    for args in EVERY {
        let answer = run.dump(args).sane();
        assert!(!answer.stderr.contains('\x1b'), "{:?}", answer.stderr);
    }
}

// 15, 16 ----------------------------------------------------------------------------------------------

#[test]
fn the_layout_of_slime_is_said_by_every_command_that_joins() {
    let run = Run::fixture("slime");
    for args in [&["summary", "0"][..], &["groups", "0"], &["steps"], &["joined", "0"], &["tokens", "0", "0"]]
    {
        let answer = run.dump(args).ok().says(&["train_data/0.pt", "slime"]);
        assert!(!answer.rows().is_empty(), "{args:?}");
    }
    assert!(run.rows(&["joined", "0"]).iter().all(|row| row["dumped_rank"].is_null()));
}

#[test]
fn missing_rank_files_are_said_with_the_numbers() {
    let run = Run::fixture("partial_ranks");
    for command in ["summary", "groups", "joined"] {
        run.dump(&[command, "0"]).ok().says(&["4 of 8 samples have a train row"]);
    }
    let unjoined = run.rows(&["summary", "0"]).into_iter().find(|row| row["dumped_rank"].is_null()).unwrap();
    let index = unjoined["sample_index"].to_string();
    run.dump(&["tokens", "0", &index]).ok().says(&["no train row"]);
    // No train file at all is a step that was never trained on.
    run.dump(&["summary", "1", "-q"]).ok().quiet();
}

#[test]
fn the_file_of_rank_0_can_be_the_missing_one() {
    let run = three_steps();
    run.remove("train_data/0_0.pt");
    run.remove("train_data/0_1.pt");
    let rows = run.dump(&["summary", "0"]).ok().says(&["4 of 8 samples have a train row"]).rows();
    assert!(rows.iter().all(|row| row["dumped_rank"].is_null() || row["dumped_rank"] == 2));
}

#[test]
fn a_rank_file_overwritten_by_another_step_is_refused_with_its_name() {
    let run = three_steps();
    run.write("train_data/0_1.pt", fs::read(run.file("train_data/1_1.pt")).unwrap());
    for command in ["summary", "joined"] {
        run.dump(&[command, "0"]).fails(2, &["train_data/0_1.pt: ", "is not in the rollout file"]);
    }
}

// 31, 32, 36 ------------------------------------------------------------------------------------------

#[test]
fn a_line_torn_by_a_restart_costs_itself_and_is_told_with_its_byte() {
    let run = three_steps();
    let good = |index: i64| {
        format!(r#"{{"sample_index": {index}, "messages": [{{"role": "user", "content": "{index}"}}]}}"#)
    };
    let text = format!("{}\n{{\"sample_index\": 5, \"mess{}\n{}\n", good(0), good(6), good(7));
    run.write("trajectory/0.jsonl", &text);
    let at = good(0).len() + 1;
    run.dump(&["messages", "0", "0"]).ok().quiet();
    let answer = run.dump(&["messages", "0", "7"]).ok();
    assert_eq!(answer.rows()[0]["content"], "7");
    answer.says(&["trajectory/0.jsonl", "1 damaged line", &format!("byte {at}")]);

    let point = |step: i64| {
        format!(r#"{{"ts": {step}.5, "step_key": "train/step", "step": {step}, "metrics": {{"a": {step}}}}}"#)
    };
    run.write(
        "dashboard/metrics.jsonl",
        format!("{}\n{{\"ts\": 2.5, \"st{}\n{}\n", point(1), point(2), point(3)),
    );
    let answer = run.dump(&["metrics"]).ok().says(&["metrics.jsonl", &format!("{}", point(1).len() + 1)]);
    assert_eq!(answer.rows().iter().map(|row| row["step"].clone()).collect::<Value>(), json!([1, 3]));
    let answer = run.dump(&["stream", "metrics"]).ok().says(&["metrics.jsonl"]);
    assert_eq!(answer.rows().len(), 2);
}

#[test]
fn nan_and_infinity_are_missing_and_never_written() {
    let run = three_steps();
    run.write(
        "dashboard/metrics.jsonl",
        "{\"ts\": 1.0, \"step_key\": \"k\", \"step\": 1, \"metrics\": {\"a\": NaN, \"b\": Infinity, \"c\": -Infinity, \"d\": 2}}\n",
    );
    for command in [&["metrics"][..], &["stream", "metrics"]] {
        let answer = run.dump(command).ok();
        assert!(!answer.stdout.contains("NaN") && !answer.stdout.contains("Infinity"), "{}", answer.stdout);
        assert!(!answer.rows().is_empty());
    }
    let values: Value = run.rows(&["metrics"]).into_iter().map(|row| row["value"].clone()).collect();
    assert_eq!(values, json!([null, null, null, 2.0]));
    let line =
        r#"{"sample_index": 0, "reward": NaN, "messages": [{"role": "user", "content": "x", "score": NaN}]}"#;
    run.write("trajectory/0.jsonl", format!("{line}\n"));
    assert_eq!(run.rows(&["messages", "0", "0"])[0]["content"], "x");
}

#[test]
fn large_numbers_are_exact() {
    let run = three_steps();
    run.write(
        "dashboard/metrics.jsonl",
        "{\"ts\": 1.0, \"step_key\": \"k\", \"step\": 9007199254740993, \"metrics\": {\"tokens\": 9007199254740993}}\n",
    );
    let answer = run.dump(&["metrics"]).ok();
    assert_eq!(answer.rows()[0]["step"], 9_007_199_254_740_993_i64);
    assert!(answer.stdout.contains("9007199254740993"));
    let big = Pickle::default().raw(b"\x8a\x0a").raw([0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    let answer = run_with("label", &big).dump(&["samples", "0"]).ok();
    assert!(answer.stdout.contains(r#""label":18446744073709551616}"#), "{}", answer.stdout);
    let odd = Pickle::default().raw(b"\x8a\x08").raw(9_007_199_254_740_993_i64.to_le_bytes());
    assert_eq!(run_with("label", &odd).rows(&["samples", "0"])[0]["label"], 9_007_199_254_740_993_i64);
}

#[test]
fn a_token_id_beyond_32_bits_is_an_error_and_never_another_id() {
    let big = Pickle::default().raw(b"](K\x01\x8a\x06").raw([1, 0, 0, 0, 1, 0]).raw(b"K\x03e");
    let run = run_with("tokens", &big);
    run.dump(&["tokens", "0", "0"]).fails(2, &["rollout_data/0.pt", "tokens"]);
    assert_eq!(run.rows(&["tokens", "0", "1"]).len(), 3);
    assert_eq!(run.rows(&["summary", "0"])[0]["total_length"], 3);
}

// 39 --------------------------------------------------------------------------------------------------

#[test]
fn a_falling_weight_version_shows_and_flags_a_negative_staleness() {
    let answer = Run::fixture("odd").dump(&["summary", "5"]).ok().says(&["staleness falls to -52"]);
    let rows = answer.rows();
    assert_eq!((&rows[8]["weight_version"], &rows[8]["weight_version_min"]), (&json!("1"), &json!(1)));
    assert_eq!((&rows[9]["staleness"], &rows[9]["mixed_version"]), (&json!(-52), &json!(false)));
}

// The command itself ----------------------------------------------------------------------------------

#[test]
fn a_closed_pipe_ends_every_command_quietly_with_0() {
    let run = three_steps();
    let big = Run::empty();
    big.write("rollout_data/0.pt", torch::rollout(0, &vec![Pickle::default(); 3000]));
    let bin = env!("CARGO_BIN_EXE_miles-dump");
    for (run, args) in [
        (&big, "summary 0"),
        (&big, "samples 0"),
        (&big, "joined 0"),
        (&run, "steps"),
        (&run, "tokens 0 0"),
        (&run, "ids"),
    ] {
        let script =
            format!("{bin} -q -d '{}' {args} | head -n 1; exit ${{PIPESTATUS[0]}}", run.path().display());
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &script]);
        let answer = answer(command).ok().quiet();
        assert_eq!(answer.rows().len(), 1, "{args}");
    }
}

#[test]
fn an_unknown_column_is_a_usage_error_told_once() {
    let run = three_steps();
    for args in [
        &["summary", "0"][..],
        &["summary", "0-2"],
        &["steps"],
        &["ids"],
        &["groups", "0-2"],
        &["joined", "0-2"],
        &["samples", "0-2"],
        &["tokens", "0-2", "0"],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--columns", "no_such"]).collect();
        let answer = run.dump(&args).fails(64, &["no_such", "hint: the columns are "]);
        assert_eq!(answer.stdout, "");
    }
    run.dump(&["samples", "0", "--with", "no_such"]).fails(64, &["no_such", "hint: "]);
}

#[test]
fn a_limit_of_0_is_no_rows_and_no_error() {
    let run = three_steps();
    for args in EVERY {
        let args: Vec<&str> = args.iter().copied().chain(["--limit", "0"]).collect();
        assert_eq!(run.dump(&args).sane().ok().stdout, "", "{args:?}");
    }
    assert_eq!(run.rows(&["summary", "0-2", "--limit", "9"]).len(), 9);
}

#[test]
fn a_step_that_is_not_there_is_answered_with_those_that_are() {
    let run = three_steps();
    for id in ["3", "999999", "9223372036854775808", "18446744073709551615"] {
        run.dump(&["summary", id]).fails(2, &["no train step", "hint: there are steps 0 to 2"]);
    }
    run.dump(&["summary", "0", "--eval"]).fails(2, &["no evaluation step 0"]);
    run.dump(&["summary", "7-9"]).fails(2, &["hint: "]);
    run.dump(&["summary", "0,7"]).fails(2, &["7", "hint: "]);
    for wrong in ["18446744073709551616", "-1", "1.5", "0-", ""] {
        let answer = run.dump(&["summary", "--", wrong]);
        assert_eq!((answer.status, answer.stdout.as_str()), (Some(64), ""), "{wrong}");
    }
}

#[test]
fn a_sample_or_a_position_that_is_not_there_is_answered_with_those_that_are() {
    let run = three_steps();
    run.dump(&["tokens", "0", "99"]).fails(2, &["no sample with index 99", "samples 0 to 7"]);
    run.dump(&["tokens", "0", "-1"]).fails(2, &["no sample with index -1"]);
    run.dump(&["tokens", "0", "0", "--start", "5", "--end", "5"]).fails(64, &["hint: positions are 0 to "]);
    run.dump(&["tokens", "0", "0", "--start", "9999"]).fails(64, &["hint: "]);
    let whole = run.dump(&["tokens", "0", "0"]).ok();
    assert_eq!(run.dump(&["tokens", "0", "0", "--start", "-5", "--end", "9999"]).ok().stdout, whole.stdout);
}

#[test]
fn a_run_without_steps_is_empty_and_says_so() {
    let run = Run::empty();
    fs::create_dir(run.file("rollout_data")).unwrap();
    assert_eq!(run.dump(&["ids"]).ok().stdout, "");
    for args in [
        &["summary", "latest"][..],
        &["groups", "0-3"],
        &["joined", "latest"],
        &["samples", "0"],
        &["steps"],
        &["summary", "latest", "--eval"],
    ] {
        let answer = run.dump(args).fails(2, &["steps"; 1][..0]);
        assert!(
            answer.stderr.contains("no train step")
                || answer.stderr.contains("no steps")
                || answer.stderr.contains("no evaluation step"),
            "{}",
            answer.stderr
        );
    }
    run.write("rollout_data/0.pt", torch::rollout(0, &[]));
    assert_eq!(run.dump(&["summary", "0"]).ok().stdout, "");
    assert_eq!(run.rows(&["steps"])[0]["n_samples"], 0);
}

#[test]
fn files_with_other_names_are_passed_over() {
    let run = three_steps();
    for name in [
        "rollout_data/x.pt",
        "rollout_data/1.pt.tmp",
        "rollout_data/1_2.pt",
        "rollout_data/eval_.pt",
        "train_data/0_x.pt",
        "train_data/_.pt",
        "rollout_data/.nfs0001.pt",
    ] {
        run.write(name, b"x");
    }
    assert_eq!(states(&run).len(), 4);
    assert_eq!(run.rows(&["summary", "0"]).len(), 8);
}

#[test]
fn a_run_that_cannot_be_written_to_is_read_all_the_same() {
    let run = Run::fixture("data_parallel");
    let wanted = run.dump(&["steps", "--no-cache"]).ok().stdout;
    // A file where the folder of the cache would be: no user, root neither, can make one there.
    run.write("dashboard", b"");
    for command in [&["steps"][..], &["steps", "--cache-dir", "/dev/null/cache"]] {
        let answer = run.dump(command).ok();
        assert_eq!(answer.stdout, wanted, "{command:?}");
    }
    let readonly = fs::Permissions::from_mode(0o555);
    fs::set_permissions(run.path(), readonly).unwrap();
    assert_eq!(run.dump(&["steps"]).ok().stdout, wanted);
    fs::set_permissions(run.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_kept_never_outlives_the_files_it_was_made_from() {
    let run = three_steps();
    let before = run.dump(&["summary", "0"]).ok().stdout;
    assert_eq!(run.dump(&["summary", "0"]).ok().stdout, before);
    // Another attempt at the step overwrites it.
    run.write("rollout_data/0.pt", fs::read(run.file("rollout_data/1.pt")).unwrap());
    for rank in 0..4 {
        run.write(
            &format!("train_data/0_{rank}.pt"),
            fs::read(run.file(&format!("train_data/1_{rank}.pt"))).unwrap(),
        );
    }
    let after = run.rows(&["summary", "0"]);
    assert_eq!(after[0]["sample_index"], 8);
    // A rank's file that comes late, or goes, counts too.
    run.remove("train_data/0_2.pt");
    run.remove("train_data/0_3.pt");
    run.dump(&["summary", "0"]).ok().says(&["4 of 8 samples"]);
}

#[test]
fn a_damaged_cache_or_mirror_is_passed_over() {
    let run = Run::fixture("data_parallel");
    let (summary, tokens) =
        (run.dump(&["summary", "1"]).ok().stdout, run.dump(&["tokens", "1", "8"]).ok().stdout);
    let mut damaged = 0;
    for folder in ["dashboard/cache", "dashboard_columns"] {
        let Ok(entries) = fs::read_dir(run.file(folder)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0);
    assert_eq!(run.dump(&["summary", "1"]).sane().ok().stdout, summary);
    assert_eq!(run.dump(&["tokens", "1", "8"]).sane().ok().stdout, tokens);
}

#[test]
fn a_command_in_the_run_directory_needs_no_option() {
    let run = three_steps();
    let mut command = tool();
    command.args(["summary", "0"]).current_dir(run.path());
    assert_eq!(answer(command).ok().stdout, run.dump(&["summary", "0"]).ok().stdout);
    let mut command = tool();
    command.args(["summary", "0"]).current_dir(run.file("train_data"));
    answer(command).fails(64, &["no run directory", "hint: say -d DIR"]);
    common::dump_in(Path::new("/no/such/run"), &["ids"]).fails(64, &["/no/such/run", "hint: "]);
}

#[test]
fn rows_of_several_steps_say_which_step_though_samples_have_a_rollout_id_of_their_own() {
    let run = three_steps();
    let one = run.rows(&["samples", "1"]);
    assert_eq!(one[0]["rollout_id"], Value::Null);
    let several = run.rows(&["samples", "0-1"]);
    assert_eq!((&several[15]["rollout_id"], &several[15]["sample_rollout_id"]), (&json!(1), &Value::Null));
}
