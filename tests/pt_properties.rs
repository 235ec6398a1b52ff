//! What holds for every torch file: what was written is read, whatever is damaged is noticed or harmless,
//! and lists of numbers are the same however their opcodes were batched.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use std::process::Command;

use miles::pt::write::save;
use miles::pt::{Error, File, Limits, Number, Ref};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

#[path = "support/archive.rs"]
mod archive;
#[path = "support/tree.rs"]
mod tree;

use tree::{Tree, int, number, number_text};

fn written(tree: &Tree) -> Vec<u8> {
    save(Vec::new(), "archive", |p| tree.write(p)).unwrap()
}

fn open(bytes: Vec<u8>) -> Result<File, Error> {
    let limits =
        Limits { arena_bytes: 16 << 20, elements: 1 << 16, shown_bytes: 1 << 20, ..Limits::default() };
    File::from_bytes("made.pt", bytes, &limits)
}

fn open_pickle(pickle: &[u8]) -> File {
    open(archive::around(pickle, b"little")).unwrap()
}

/// Looks at everything and expects nothing of it.
fn look(file: &File) {
    fn each(r: Ref<'_>, left: &mut u32) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let _ = (r.as_f64(), r.as_str(), r.len(), r.tensor().map(|t| t.elements().is_ok()));
        r.items().into_iter().flatten().for_each(|i| each(i, left));
        r.entries().into_iter().flatten().for_each(|(k, v)| {
            each(k, left);
            each(v, left);
        });
    }
    each(file.root(), &mut 2000);
    assert!(file.root().to_json().len() < 8 << 20);
}

/// The opcode of a number; `width` chooses among those that can hold it.
fn opcode(n: Number, width: u8) -> Vec<u8> {
    match n {
        Number::Bool(b) => vec![0x88 + u8::from(!b)],
        Number::Float(f) => [&b"G"[..], &f.to_be_bytes()].concat(),
        Number::Int(i) => {
            let bytes = i.to_le_bytes();
            let need = (1..=8).find(|&n| fits(i, n)).unwrap_or(8);
            match width % 5 {
                0 if u8::try_from(i).is_ok() => [&b"K"[..], &bytes[..1]].concat(),
                1 if u16::try_from(i).is_ok() => [&b"M"[..], &bytes[..2]].concat(),
                2 if i32::try_from(i).is_ok() => [&b"J"[..], &bytes[..4]].concat(),
                3 if i == 0 => vec![0x8a, 0],
                4 => [&[0x8a, 8], &bytes[..]].concat(),
                _ => [&[0x8a, need as u8], &bytes[..need]].concat(),
            }
        }
    }
}

fn fits(i: i64, bytes: usize) -> bool {
    bytes == 8 || (i >> (8 * bytes - 1)) == 0 || (i >> (8 * bytes - 1)) == -1
}

const FRAME: [u8; 9] = [0x95, 0, 0, 0, 0, 0, 0, 0, 0];

/// How numbers come into a list: in a batch or alone, their opcodes' widths, and where a frame begins.
#[derive(Debug, Clone)]
struct Part {
    numbers: Vec<(Number, u8)>,
    alone: bool,
    frame: Option<u8>,
}

fn part() -> impl Strategy<Value = Part> {
    let numbers = prop_oneof![
        4 => prop::collection::vec((number(), any::<u8>()), 0..12),
        1 => prop::collection::vec((int().prop_map(Number::Int), Just(0u8)), 0..100),
        1 => prop::collection::vec(((0..2i64).prop_map(Number::Int), Just(0u8)), 0..100),
    ];
    (numbers, any::<bool>(), prop::option::of(any::<u8>())).prop_map(|(numbers, alone, frame)| Part {
        numbers,
        alone,
        frame,
    })
}

fn put(pickle: &mut Vec<u8>, part: &Part) {
    let frame_at = part.frame.map(|f| usize::from(f) % (part.numbers.len() + 1));
    if !part.alone {
        pickle.push(b'(');
    }
    for (i, &(n, width)) in part.numbers.iter().enumerate() {
        if frame_at == Some(i) {
            pickle.extend(FRAME);
        }
        pickle.extend(opcode(n, width));
        if part.alone {
            pickle.push(b'a');
        }
    }
    if frame_at == Some(part.numbers.len()) {
        pickle.extend(FRAME);
    }
    if !part.alone {
        pickle.push(b'e');
    }
}

fn naive(n: Number) -> f64 {
    match n {
        Number::Int(i) => i as f64,
        Number::Float(f) => f,
        Number::Bool(b) => f64::from(u8::from(b)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(tree in tree::tree()) {
        let file = open(written(&tree)).unwrap();
        prop_assert_eq!(tree::read(file.root()), tree.text());
        let json = file.root().to_json();
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "{}", json);
    }

    #[test]
    fn a_list_is_the_same_however_it_was_batched(parts in prop::collection::vec(part(), 0..6)) {
        let mut pickle = b"\x80\x04]\x94".to_vec();
        parts.iter().for_each(|p| put(&mut pickle, p));
        pickle.push(b'.');
        let file = open_pickle(&pickle);
        let list: Vec<Number> = parts.iter().flat_map(|p| p.numbers.iter().map(|&(n, _)| n)).collect();
        let want: Vec<String> = list.iter().copied().map(number_text).collect();
        prop_assert_eq!(tree::read(file.root()), format!("[{}]", want.join(",")));

        let Some(numbers) = file.root().numbers() else { panic!("not kept as numbers") };
        prop_assert_eq!(numbers.len(), list.len());
        prop_assert_eq!(numbers.is_empty(), list.is_empty());
        prop_assert_eq!(numbers.has_floats(), list.iter().any(|n| matches!(n, Number::Float(_))));
        prop_assert_eq!(numbers.iter().map(number_text).collect::<Vec<_>>(), want.clone());
        for i in 0..=list.len() {
            prop_assert_eq!(numbers.get(i).map(number_text), want.get(i).cloned());
            prop_assert_eq!(file.root().at(i).map(tree::read), want.get(i).cloned());
        }
        let bits = |v: Vec<f64>| v.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(numbers.to_f64()), bits(list.iter().copied().map(naive).collect()));
        let ints: Option<Vec<i8>> = list.iter().map(|n| match *n {
            Number::Int(i) => i8::try_from(i).ok(),
            Number::Bool(b) => Some(i8::from(b)),
            Number::Float(_) => None,
        }).collect();
        prop_assert_eq!(numbers.to_ints::<i8>(), ints);
    }

    #[test]
    fn a_file_that_was_cut_is_never_read(tree in tree::tree(), at in any::<prop::sample::Index>()) {
        let mut bytes = written(&tree);
        bytes.truncate(at.index(bytes.len()));
        let error = open(bytes).err();
        prop_assert!(error.as_ref().is_some_and(Error::may_be_unfinished), "{:?}", error);
    }

    #[test]
    fn a_byte_that_was_changed_is_no_harm(
        tree in tree::tree(), at in any::<prop::sample::Index>(), bit in 0..8u8, all in any::<Option<u8>>(),
    ) {
        let mut bytes = written(&tree);
        let at = at.index(bytes.len());
        bytes[at] = all.unwrap_or(bytes[at] ^ (1 << bit));
        if let Ok(file) = open(bytes) {
            look(&file);
        }
    }
}

#[test]
fn every_cut_and_every_flip_of_a_small_file_is_noticed_or_harmless() {
    let tree = Tree::Dict(vec![
        ("tokens".into(), Tree::Numbers((0..40).map(|i| Number::Int(i * 99)).collect())),
        ("x".into(), Tree::Tensor(miles::pt::write::Data::f32(&[1.0, f32::NAN, -0.0]))),
    ]);
    let whole = written(&tree);
    for cut in 0..whole.len() {
        assert!(open(whole[..cut].to_vec()).unwrap_err().may_be_unfinished(), "cut at {cut}");
    }
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            if let Ok(file) = open(bytes) {
                look(&file);
            }
        }
    }
}

#[test]
fn a_key_of_the_letters_of_a_class_is_still_a_key() {
    let tree = Tree::List(vec![
        Tree::Dict(vec![("torch\nFloatStorage\n".into(), Tree::None)]),
        Tree::Tensor(miles::pt::write::Data::f32(&[1.5])),
    ]);
    assert_eq!(tree::read(open(written(&tree)).unwrap().root()), tree.text());
}

#[test]
fn a_tensor_of_more_elements_than_can_be_counted_is_refused() {
    let shape = vec![1 << 40, 1 << 40];
    let data = miles::pt::write::Data { dtype: miles::pt::Dtype::F32, shape, bytes: Vec::new() };
    assert!(save(Vec::new(), "archive", |p| p.tensor(data)).is_err());
}

#[test]
fn a_list_that_was_memoised_empty_is_filled_under_both_names() {
    // ([], the same) of which the first is filled by APPENDS, then APPEND, then with a string.
    let pickle = b"\x80\x02]q\x00(K\x01K\x02eh\x00h\x00K\x03a0\x86.";
    let file = open_pickle(pickle);
    assert_eq!(tree::read(file.root()), "([i1,i2,i3],[i1,i2,i3])");
    let pickle = b"\x80\x02]q\x00(K\x01K\x02eh\x00h\x00U\x01xa0\x86.";
    let file = open_pickle(pickle);
    assert_eq!(tree::read(file.root()), "([i1,i2,s78],[i1,i2,s78])");
    let ids = file.root().items().unwrap().into_iter().map(Ref::identity).collect::<Vec<_>>();
    assert_eq!(ids[0], ids[1]);
}

/// Runs a script with real torch; `None` without one.
fn python(script: &str, dir: &std::path::Path) -> Option<Vec<String>> {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        eprintln!("skipped: MILES_TEST_PYTHON names no Python with torch");
        return None;
    };
    let canon = include_str!("support/canon.py");
    let out = Command::new(python).args(["-c", &format!("{canon}\n{script}")]).arg(dir).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn torch_loads_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::deterministic();
    let trees: Vec<Tree> = (0..60).map(|_| tree::tree().new_tree(&mut runner).unwrap().current()).collect();
    for (i, tree) in trees.iter().enumerate() {
        std::fs::write(dir.path().join(format!("{i}.pt")), written(tree)).unwrap();
    }
    let script = "for i in range(60): print(canon(torch.load(f'{dir}/{i}.pt', weights_only=True)))";
    for (tree, got) in trees.iter().zip(python(script, dir.path()).into_iter().flatten()) {
        assert_eq!(got, tree.text());
    }
}

#[test]
fn what_torch_wrote_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let Some(lines) = python("make(80)", dir.path()) else { return };
    assert_eq!(lines.len(), 80);
    for (i, want) in lines.iter().enumerate() {
        let file = File::open(dir.path().join(format!("{i}.pt"))).unwrap();
        assert_eq!(&tree::read(file.root()), want, "{i}.pt");
    }
}
