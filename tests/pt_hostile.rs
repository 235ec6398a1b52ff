//! Pickles made to cost more than they are: each was a crash, a hang or an exhausted machine once, found
//! by fuzzing or by reading. What they must come to is little work and an answer.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use miles::pt::{Error, ErrorKind, File, Kind, Limits, Ref};

#[path = "support/archive.rs"]
mod archive;

fn open_with(pickle: &[u8], limits: &Limits) -> Result<File, Error> {
    File::from_bytes("hostile.pt", archive::around(pickle, b"little"), limits)
}

fn open(pickle: &[u8]) -> Result<File, Error> {
    open_with(pickle, &Limits::default())
}

/// Far more than what is asked for takes without optimisation, and nothing against what it took.
const SOON: Duration = Duration::from_secs(20);

fn soon<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = what();
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    result
}

fn strict(json: &str) {
    serde_json::from_str::<serde::de::IgnoredAny>(json).unwrap();
}

fn small() -> Limits {
    Limits { shown_bytes: 1 << 16, ..Limits::default() }
}

fn string(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

#[test]
fn one_long_key_under_which_much_is_set_is_not_shown_each_time() {
    let mut pickle = [string(&"k".repeat(10_000)), b"q\x000}(".to_vec()].concat();
    (0..10_000).for_each(|_| pickle.extend_from_slice(b"h\x00N"));
    pickle.extend_from_slice(b"u.");
    let file = open_with(&pickle, &small()).unwrap();
    let json = file.root().to_json();
    assert!(json.len() < 1 << 18, "{} bytes", json.len());
    strict(&json);
}

#[test]
fn keys_within_keys_do_not_double_their_quotes_without_end() {
    // {{{…: None}: None}: None}: each level quotes the text of the one within.
    let pickle = [b"}".repeat(40), b"K\x01Ns".to_vec(), b"Ns".repeat(39), b".".to_vec()].concat();
    let file = open_with(&pickle, &small()).unwrap();
    let json = file.root().to_json();
    assert!(json.len() < 1 << 19, "{} bytes", json.len());
    strict(&json);
}

#[test]
fn an_int_of_a_million_bytes_is_refused_and_not_written_out() {
    let mut pickle = [b"\x8b", &1_000_000u32.to_le_bytes()[..]].concat();
    pickle.extend(std::iter::repeat_n(0x55, 1_000_000));
    pickle.push(b'.');
    let file = open(&pickle).unwrap();
    soon(|| {
        assert!(matches!(file.root().kind().unwrap_err().kind, ErrorKind::Limit(_)));
        assert_eq!(file.root().as_f64(), None);
        strict(&file.root().to_json());
    });
    let pickle = [b"L", "9".repeat(100_000).as_bytes(), b"L\n."].concat();
    assert!(matches!(open(&pickle).unwrap().root().kind().unwrap_err().kind, ErrorKind::Limit(_)));
}

#[test]
fn a_wide_int_with_leading_zeros_is_shown_without_them() {
    for (text, want) in [
        ("0000123456789012345678901234567890", "123456789012345678901234567890"),
        ("-0000123456789012345678901234567890", "-123456789012345678901234567890"),
    ] {
        let pickle = [b"L", text.as_bytes(), b"L\n."].concat();
        assert_eq!(open(&pickle).unwrap().root().to_json(), want);
    }
}

#[test]
fn constructors_that_share_their_arguments_are_not_built_a_million_times_over() {
    // complex(x, x) of complex(x, x) of …: forty records that stand for 2^40.
    let mut pickle = b"cbuiltins\ncomplex\nq\x00K\x01".to_vec();
    for _ in 0..40 {
        // q1 0 h0 h1 h1 TUPLE2 REDUCE
        pickle.extend_from_slice(b"q\x010h\x00h\x01h\x01\x86R");
    }
    pickle.push(b'.');
    let file = open(&pickle).unwrap();
    soon(|| {
        let _ = file.root().kind();
        let _ = file.root().as_f64();
        strict(&file.root().to_json());
    });
}

#[test]
fn names_whose_parts_are_constructed_are_not_built_a_million_times_over() {
    // numpy.core.multiarray.scalar(dtype(x), b"") whose dtype code is such a scalar again.
    let mut pickle = b"cnumpy.core.multiarray\nscalar\nq\x000cnumpy\ndtype\nq\x020".to_vec();
    pickle.extend_from_slice(&string("U0"));
    for _ in 0..40 {
        // q1 0 | h0 | h2 (h1 h1 h1 TUPLE3) REDUCE (h1 h1 h1 TUPLE3) BUILD | C 0 | TUPLE2 REDUCE
        pickle.extend_from_slice(b"q\x010h\x00h\x02h\x01h\x01h\x01\x87Rh\x01h\x01h\x01\x87bC\x00\x86R");
    }
    pickle.push(b'.');
    let file = open(&pickle).unwrap();
    soon(|| {
        let _ = file.root().kind();
        strict(&file.root().to_json());
    });
}

#[test]
fn gaps_in_the_memo_are_paid_for() {
    let mut pickle = b"N".to_vec();
    for i in 0..10_000u32 {
        pickle.push(b'r');
        pickle.extend_from_slice(&(i * 1024 + 1023).to_le_bytes());
    }
    pickle.push(b'.');
    let limits = Limits { arena_bytes: 1 << 20, ..Limits::default() };
    let e = open_with(&pickle, &limits).unwrap_err();
    assert!(matches!(e.kind, ErrorKind::Limit(_)), "{e}");
}

#[test]
fn the_smallest_dicts_are_charged_what_they_take() {
    // Room for one entry is room for four.
    let mut pickle = Vec::new();
    (0..10_000).for_each(|_| pickle.extend_from_slice(b"}NNs0"));
    pickle.extend_from_slice(b"N.");
    let limits = Limits { arena_bytes: 10_000 * 150, ..Limits::default() };
    let e = open_with(&pickle, &limits).unwrap_err();
    assert!(matches!(e.kind, ErrorKind::Limit(_)), "{e}");
}

#[test]
fn numbers_that_were_appended_one_by_one_are_read_in_one_pass() {
    const N: usize = 300_000;
    let mut pickle = b"ctorch\nSize\n]".to_vec();
    (0..N).for_each(|_| pickle.extend_from_slice(b"K\x07a"));
    pickle.extend_from_slice(b"\x85R.");
    let file = open(&pickle).unwrap();
    let Kind::Tuple(items) = soon(|| file.root().kind()).unwrap() else { panic!("no tuple") };
    assert_eq!((items.len(), items.last().copied().and_then(Ref::as_i64)), (N, Some(7)));
}

#[test]
fn an_empty_array_of_no_width_has_any_shape() {
    // ndarray.__setstate__((1, (2^40, 2^40, 0), dtype("U0"), True, b"")) in Fortran order.
    let wide = b"\x8a\x06\x00\x00\x00\x00\x00\x01";
    let mut pickle = b"cnumpy.core.multiarray\n_reconstruct\n)R(K\x01".to_vec();
    pickle.extend([&b"("[..], wide, wide, b"K\x03t"].concat());
    pickle.extend([&b"cnumpy\ndtype\n"[..], &string("U0"), b"\x85R\x88C\x00tb."].concat());
    let file = open(&pickle).unwrap();
    let Kind::Array(array) = file.root().kind().unwrap() else { panic!("no array") };
    assert_eq!(array.shape, [1 << 40, 1 << 40, 3]);
    assert_eq!(array.elements().map(|_| ()).map_err(|e| e.to_string()), Ok(()));
}

#[test]
fn a_tensor_of_more_dimensions_than_torch_has_is_refused() {
    let mut pickle = b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec();
    pickle.extend([string("storage"), b"ctorch\nByteStorage\n".to_vec()].concat());
    pickle.extend([string("3"), string("cpu"), b"K\x40tQK\x00".to_vec()].concat());
    for _ in 0..2 {
        pickle.extend([b"(".to_vec(), b"K\x01".repeat(65), b"t".to_vec()].concat());
    }
    pickle.extend_from_slice(b"\x89NtR.");
    let file = open(&pickle).unwrap();
    assert!(file.root().tensor().is_err());
}

#[test]
fn the_deepest_value_that_is_shown_fits_the_stack_of_a_thread() {
    for open_close in
        [(&b"]"[..], &b"a"[..]), (b"", b"\x85"), (b"}N", b"s"), (b"}", b"Ns"), (b"cx\ny\n", b"\x85R")]
    {
        let (before, after) = open_close;
        let pickle = [before.repeat(600), b"N".to_vec(), after.repeat(600), b".".to_vec()].concat();
        let file = open(&pickle).unwrap();
        // What a thread has by default.
        let json = std::thread::scope(|s| {
            let show = std::thread::Builder::new().stack_size(2 << 20);
            show.spawn_scoped(s, || file.root().to_json()).unwrap().join().unwrap()
        });
        assert!(json.contains("$error"), "{}", &json[..100]);
    }
}
