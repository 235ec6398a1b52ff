//! Values of a torch file as trees, and one text that is the same for equal values and different for
//! different ones, NaN's bits and the sign of 0 included.

use std::fmt::Write;
use std::io;

use miles::pt::write::{Data, Pickler};
use miles::pt::{Dtype, Elements, Kind, Number, Ref};
use proptest::prelude::*;

/// What the writer can write.
#[derive(Debug, Clone)]
pub enum Tree {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Tree>),
    Dict(Vec<(String, Tree)>),
    Numbers(Vec<Number>),
    Tensor(Data),
}

/// Dtypes with a storage class.
pub const DTYPES: [Dtype; 12] = [
    Dtype::Bool,
    Dtype::U8,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F32,
    Dtype::F64,
    Dtype::C64,
    Dtype::C128,
];

/// Ints of every width.
pub fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        (0..300i64),
        (-300..70_000i64),
        any::<i32>().prop_map(i64::from),
        any::<i64>(),
        (0..64u32).prop_map(|n| i64::MIN >> n),
        (0..64u32).prop_map(|n| i64::MAX >> n),
    ]
}

/// Floats of every kind, any bits of a NaN.
pub fn float() -> impl Strategy<Value = f64> {
    let odd = prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324]);
    prop_oneof![any::<u64>().prop_map(f64::from_bits), odd, -30.0..0.0f64]
}

pub fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        4 => int().prop_map(Number::Int),
        3 => float().prop_map(Number::Float),
        1 => any::<bool>().prop_map(Number::Bool),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<Number>> {
    let uniform = prop_oneof![
        prop::collection::vec((0..2i64).prop_map(Number::Int), 0..3000),
        prop::collection::vec((0..150_000i64).prop_map(Number::Int), 0..3000),
        prop::collection::vec(float().prop_map(Number::Float), 0..3000),
    ];
    prop_oneof![prop::collection::vec(number(), 0..40), prop::collection::vec(number(), 0..3000), uniform]
}

fn tensor() -> impl Strategy<Value = Tree> {
    let shape = prop::collection::vec(0..5u64, 0..4);
    (prop::sample::select(DTYPES.to_vec()), shape, any::<u64>()).prop_map(|(dtype, shape, seed)| {
        let n = shape.iter().product::<u64>() * dtype.size();
        let mix = |i: u64| (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) as u8;
        let byte = |i: u64| match dtype {
            // A bool is 0 or 1 in every file that torch writes.
            Dtype::Bool => mix(i) & 1,
            // No NaN where reading widens: that keeps a NaN, not its bits.
            Dtype::F16 | Dtype::Bf16 if i % 2 == 1 => mix(i) & !0x40,
            Dtype::C64 if i % 4 == 3 => mix(i) & !0x40,
            _ => mix(i),
        };
        let bytes = (0..n).map(byte).collect();
        Tree::Tensor(Data { dtype, shape, bytes })
    })
}

/// Any tree.
pub fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::None),
        any::<bool>().prop_map(Tree::Bool),
        int().prop_map(Tree::Int),
        float().prop_map(Tree::Float),
        any::<String>().prop_map(Tree::Str),
        numbers().prop_map(Tree::Numbers),
        tensor(),
    ];
    let key = prop_oneof![any::<String>(), "[a-d]{1,2}", Just("torch\nFloatStorage\n".to_owned())];
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Tree::List),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|map| Tree::Dict(map.into_iter().collect())),
        ]
    })
}

impl Tree {
    pub fn write(&self, p: &mut Pickler<'_>) -> io::Result<()> {
        match self {
            Self::None => p.none(),
            Self::Bool(b) => p.bool(*b),
            Self::Int(i) => p.int(*i),
            Self::Float(f) => p.float(*f),
            Self::Str(s) => p.str(s),
            Self::List(items) => p.list(items, |p, item| item.write(p)),
            Self::Dict(entries) => p.dict(|p| {
                entries.iter().try_for_each(|(k, v)| {
                    p.key(k)?;
                    v.write(p)
                })
            }),
            Self::Numbers(n) => p.list(n, |p, n| match *n {
                Number::Int(i) => p.int(i),
                Number::Float(f) => p.float(f),
                Number::Bool(b) => p.bool(b),
            }),
            Self::Tensor(data) => p.tensor(data.clone()),
        }
    }

    /// The text of this value.
    pub fn text(&self) -> String {
        match self {
            Self::None => "n".to_owned(),
            Self::Bool(b) => number_text(Number::Bool(*b)),
            Self::Int(i) => number_text(Number::Int(*i)),
            Self::Float(f) => number_text(Number::Float(*f)),
            Self::Str(s) => str_text(s),
            Self::List(items) => format!("[{}]", joined(items.iter().map(Self::text))),
            Self::Dict(entries) => {
                format!("{{{}}}", joined(entries.iter().map(|(k, v)| str_text(k) + ":" + &v.text())))
            }
            Self::Numbers(n) => format!("[{}]", joined(n.iter().copied().map(number_text))),
            Self::Tensor(d) => format!("T{}{:?}{}", d.dtype.name(), d.shape, hex(&d.bytes)),
        }
    }
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

fn str_text(s: &str) -> String {
    format!("s{}", hex(s.as_bytes()))
}

pub fn number_text(n: Number) -> String {
    match n {
        Number::Int(i) => format!("i{i}"),
        Number::Float(f) => format!("f{:016x}", f.to_bits()),
        Number::Bool(b) => format!("b{}", u8::from(b)),
    }
}

/// The text of what a reader sees.
pub fn read(r: Ref<'_>) -> String {
    let all = |items: Vec<Ref<'_>>| joined(items.into_iter().map(read));
    match r.kind().unwrap() {
        Kind::None => "n".to_owned(),
        Kind::Bool(b) => number_text(Number::Bool(b)),
        Kind::Int(i) => number_text(Number::Int(i)),
        Kind::BigInt(digits) => format!("i{digits}"),
        Kind::Float(f) => number_text(Number::Float(f)),
        Kind::Str(s) => str_text(&s),
        Kind::Bytes(b) => format!("y{}", hex(&b)),
        Kind::Numbers(n) => format!("[{}]", joined(n.iter().map(number_text))),
        Kind::List(items) => format!("[{}]", all(items)),
        Kind::Tuple(items) => format!("({})", all(items)),
        Kind::Dict(entries) => {
            format!("{{{}}}", joined(entries.into_iter().map(|(k, v)| read(k) + ":" + &read(v))))
        }
        Kind::Tensor(t) => {
            format!("T{}{:?}{}", t.dtype.name(), t.shape, hex(&bytes(t.dtype, t.elements().unwrap())))
        }
        other => panic!("a kind that was not written: {other:?}"),
    }
}

/// Decoded elements back as the bytes they came from.
fn bytes(dtype: Dtype, elements: Elements) -> Vec<u8> {
    match elements {
        Elements::Bool(v) => v.into_iter().map(u8::from).collect(),
        Elements::Int(v) => {
            v.into_iter().flat_map(|x| x.to_le_bytes().into_iter().take(dtype.size() as usize)).collect()
        }
        Elements::U64(v) => v.into_iter().flat_map(u64::to_le_bytes).collect(),
        Elements::F32(v) => v.into_iter().flat_map(|x| narrow(dtype, x)).collect(),
        Elements::F64(v) => v.into_iter().flat_map(f64::to_le_bytes).collect(),
        Elements::Complex(v) => v
            .into_iter()
            .flat_map(|(re, im)| [re, im])
            .flat_map(|x| match dtype {
                Dtype::C64 => narrow(Dtype::F32, x as f32),
                _ => x.to_le_bytes().to_vec(),
            })
            .collect(),
        Elements::Text(_) => panic!("torch has no text"),
    }
}

fn narrow(dtype: Dtype, x: f32) -> Vec<u8> {
    match dtype {
        Dtype::F16 => half::f16::from_f32(x).to_le_bytes().to_vec(),
        Dtype::Bf16 => half::bf16::from_f32(x).to_le_bytes().to_vec(),
        _ => x.to_le_bytes().to_vec(),
    }
}
