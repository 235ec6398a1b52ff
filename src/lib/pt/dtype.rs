//! Element types of tensors and arrays, and decoding of their elements.

use std::borrow::Cow;

use half::{bf16, f16};

use super::error::{ErrorKind, Fault};
use super::value::Kind;

/// Element type of a tensor or array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Dtype {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
    C64,
    C128,
    F8E4m3fn,
    F8E5m2,
    /// NumPy's fixed-width text, characters an element.
    Str(u32),
    /// NumPy's fixed-width bytes.
    Bytes(u32),
    /// A type that exists and is not decoded here (quantised, packed); its name and bytes an element.
    Other(&'static str, u32),
}

/// The elements of a tensor or array in logical order.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Elements {
    Bool(Vec<bool>),
    Int(Vec<i64>),
    U64(Vec<u64>),
    /// f16 and bf16 widened, which is exact.
    F32(Vec<f32>),
    F64(Vec<f64>),
    Complex(Vec<(f64, f64)>),
    Text(Vec<String>),
}

impl Elements {
    pub(super) fn negate(&mut self) {
        match self {
            Self::Int(v) => v.iter_mut().for_each(|x| *x = x.wrapping_neg()),
            Self::F32(v) => v.iter_mut().for_each(|x| *x = -*x),
            Self::F64(v) => v.iter_mut().for_each(|x| *x = -*x),
            Self::Complex(v) => v.iter_mut().for_each(|(re, im)| (*re, *im) = (-*re, -*im)),
            Self::Bool(_) | Self::U64(_) | Self::Text(_) => {}
        }
    }
}

impl Dtype {
    /// The name torch (or NumPy) prints.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Bool => "bool",
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::I16 => "int16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::U64 => "uint64",
            Self::I64 => "int64",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
            Self::F8E4m3fn => "float8_e4m3fn",
            Self::F8E5m2 => "float8_e5m2",
            Self::Str(n) => return Cow::Owned(format!("<U{n}")),
            Self::Bytes(n) => return Cow::Owned(format!("|S{n}")),
            Self::Other(name, _) => name,
        })
    }

    /// Bytes of one element.
    pub fn size(self) -> u64 {
        match self {
            Self::Bool | Self::U8 | Self::I8 | Self::F8E4m3fn | Self::F8E5m2 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
            Self::Str(n) => 4 * u64::from(n),
            Self::Bytes(n) | Self::Other(_, n) => u64::from(n),
        }
    }

    /// From a storage class (`torch.FloatStorage`) or dtype (`torch.float32`) by its dotted name.
    pub(super) fn from_torch(name: &str) -> Option<Self> {
        let short = name.strip_prefix("torch.")?;
        let short = short.strip_prefix("storage.").unwrap_or(short);
        Some(match short {
            "BoolStorage" | "bool" => Self::Bool,
            "ByteStorage" | "uint8" => Self::U8,
            "CharStorage" | "int8" => Self::I8,
            "uint16" => Self::U16,
            "ShortStorage" | "int16" => Self::I16,
            "uint32" => Self::U32,
            "IntStorage" | "int32" => Self::I32,
            "uint64" => Self::U64,
            "LongStorage" | "int64" => Self::I64,
            "HalfStorage" | "float16" => Self::F16,
            "BFloat16Storage" | "bfloat16" => Self::Bf16,
            "FloatStorage" | "float32" => Self::F32,
            "DoubleStorage" | "float64" => Self::F64,
            "ComplexFloatStorage" | "complex64" => Self::C64,
            "ComplexDoubleStorage" | "complex128" => Self::C128,
            "float8_e4m3fn" => Self::F8E4m3fn,
            "float8_e5m2" => Self::F8E5m2,
            "float8_e4m3fnuz" => Self::Other("float8_e4m3fnuz", 1),
            "float8_e5m2fnuz" => Self::Other("float8_e5m2fnuz", 1),
            "float8_e8m0fnu" => Self::Other("float8_e8m0fnu", 1),
            "float4_e2m1fn_x2" => Self::Other("float4_e2m1fn_x2", 1),
            "complex32" | "ComplexHalfStorage" => Self::Other("complex32", 4),
            "QInt8Storage" | "qint8" => Self::Other("qint8", 1),
            "QUInt8Storage" | "quint8" => Self::Other("quint8", 1),
            "QInt32Storage" | "qint32" => Self::Other("qint32", 4),
            _ => return None,
        })
    }

    /// From NumPy's code: `f8`, `i4`, `U5`.
    pub(super) fn from_numpy(code: &str) -> Option<Self> {
        let code = code.trim_start_matches(['<', '>', '|', '=']);
        let kind = code.chars().next()?;
        let size: u32 = code.get(kind.len_utf8()..)?.parse().ok()?;
        Some(match (kind, size) {
            ('b', 1) => Self::Bool,
            ('u', 1) => Self::U8,
            ('i', 1) => Self::I8,
            ('u', 2) => Self::U16,
            ('i', 2) => Self::I16,
            ('u', 4) => Self::U32,
            ('i', 4) => Self::I32,
            ('u', 8) => Self::U64,
            ('i', 8) => Self::I64,
            ('f', 2) => Self::F16,
            ('f', 4) => Self::F32,
            ('f', 8) => Self::F64,
            ('c', 8) => Self::C64,
            ('c', 16) => Self::C128,
            ('U', n) => Self::Str(n),
            ('S', n) => Self::Bytes(n),
            _ => return None,
        })
    }

    /// One element from its bytes, as a NumPy scalar is pickled.
    pub(super) fn scalar<'a>(self, bytes: &[u8], big: bool) -> Result<Kind<'a>, Fault> {
        if bytes.len() as u64 != self.size() {
            let what = format!("a {} scalar of {} bytes", self.name(), bytes.len());
            return Err(Fault::from(ErrorKind::Corrupt(what)));
        }
        let elements = decode(self, big, bytes, std::iter::once(0))?;
        Ok(match elements {
            Elements::Bool(v) => Kind::Bool(v.first().copied().unwrap_or_default()),
            Elements::Int(v) => Kind::Int(v.first().copied().unwrap_or_default()),
            Elements::U64(v) => {
                let n = v.first().copied().unwrap_or_default();
                i64::try_from(n).map_or_else(|_| Kind::BigInt(n.to_string()), Kind::Int)
            }
            Elements::F32(v) => Kind::Float(v.first().copied().map_or(f64::NAN, f64::from)),
            Elements::F64(v) => Kind::Float(v.first().copied().unwrap_or(f64::NAN)),
            Elements::Complex(v) => {
                let (re, im) = v.first().copied().unwrap_or((f64::NAN, f64::NAN));
                Kind::Complex(re, im)
            }
            Elements::Text(mut v) => Kind::Str(v.pop().unwrap_or_default().into()),
        })
    }
}

/// Decodes the elements at some positions (in elements). Positions outside are left out; callers have
/// checked that there are none.
pub(super) fn decode(
    dtype: Dtype,
    big: bool,
    bytes: &[u8],
    at: impl Iterator<Item = usize>,
) -> Result<Elements, Fault> {
    fn each<const N: usize, T>(
        bytes: &[u8],
        big: bool,
        at: impl Iterator<Item = usize>,
        f: impl Fn([u8; N]) -> T,
    ) -> Vec<T> {
        at.filter_map(|i| {
            let mut b: [u8; N] = bytes.get(i * N..i * N + N)?.try_into().ok()?;
            if big {
                b.reverse();
            }
            Some(f(b))
        })
        .collect()
    }
    fn halves<const N: usize, const H: usize>(b: [u8; N], big: bool) -> ([u8; H], [u8; H]) {
        // Reversing a complex number swaps its parts as well.
        let (mut a, mut c) = ([0; H], [0; H]);
        a.copy_from_slice(&b[..H]);
        c.copy_from_slice(&b[H..]);
        if big { (c, a) } else { (a, c) }
    }
    Ok(match dtype {
        Dtype::Bool => Elements::Bool(each(bytes, big, at, |b: [u8; 1]| b[0] != 0)),
        Dtype::U8 => Elements::Int(each(bytes, big, at, |b: [u8; 1]| i64::from(b[0]))),
        Dtype::I8 => Elements::Int(each(bytes, big, at, |b| i64::from(i8::from_le_bytes(b)))),
        Dtype::U16 => Elements::Int(each(bytes, big, at, |b| i64::from(u16::from_le_bytes(b)))),
        Dtype::I16 => Elements::Int(each(bytes, big, at, |b| i64::from(i16::from_le_bytes(b)))),
        Dtype::U32 => Elements::Int(each(bytes, big, at, |b| i64::from(u32::from_le_bytes(b)))),
        Dtype::I32 => Elements::Int(each(bytes, big, at, |b| i64::from(i32::from_le_bytes(b)))),
        Dtype::U64 => Elements::U64(each(bytes, big, at, u64::from_le_bytes)),
        Dtype::I64 => Elements::Int(each(bytes, big, at, i64::from_le_bytes)),
        Dtype::F16 => Elements::F32(each(bytes, big, at, |b| f16::from_le_bytes(b).to_f32())),
        Dtype::Bf16 => Elements::F32(each(bytes, big, at, |b| bf16::from_le_bytes(b).to_f32())),
        Dtype::F32 => Elements::F32(each(bytes, big, at, f32::from_le_bytes)),
        Dtype::F64 => Elements::F64(each(bytes, big, at, f64::from_le_bytes)),
        Dtype::C64 => Elements::Complex(each(bytes, big, at, |b: [u8; 8]| {
            let (re, im) = halves(b, big);
            (f64::from(f32::from_le_bytes(re)), f64::from(f32::from_le_bytes(im)))
        })),
        Dtype::C128 => Elements::Complex(each(bytes, big, at, |b: [u8; 16]| {
            let (re, im) = halves(b, big);
            (f64::from_le_bytes(re), f64::from_le_bytes(im))
        })),
        Dtype::F8E4m3fn => Elements::F32(each(bytes, big, at, |b: [u8; 1]| f8(b[0], 4, 3))),
        Dtype::F8E5m2 => Elements::F32(each(bytes, big, at, |b: [u8; 1]| f8(b[0], 5, 2))),
        Dtype::Str(n) => {
            let size = 4 * n as usize;
            let texts = at.filter_map(|i| bytes.get(i * size..(i + 1) * size)).map(|s| {
                let chars = s.chunks_exact(4).map(|c| {
                    let code = [c[0], c[1], c[2], c[3]];
                    let code = if big { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) };
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                });
                chars.collect::<String>().trim_end_matches('\0').to_owned()
            });
            Elements::Text(texts.collect())
        }
        Dtype::Bytes(n) => {
            let size = n as usize;
            let texts = at.filter_map(|i| bytes.get(i * size..(i + 1) * size));
            Elements::Text(texts.map(|s| s.trim_ascii_end().escape_ascii().to_string()).collect())
        }
        Dtype::Other(name, _) => {
            return Err(Fault::from(ErrorKind::Unsupported(format!("dtype {name}"))));
        }
    })
}

/// An 8-bit float with a sign, `e` exponent and `m` mantissa bits (OCP 8-bit floating point, 2023):
/// E4M3 has no infinity and one NaN pattern, E5M2 follows IEEE 754.
fn f8(b: u8, e: u32, m: u32) -> f32 {
    let sign = if b & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = u32::from(b & 0x7f) >> m;
    let mantissa = u32::from(b) & ((1 << m) - 1);
    let top = (1 << e) - 1;
    let bias = (1 << (e - 1)) - 1;
    if e == 5 && exponent == top {
        return if mantissa == 0 { sign * f32::INFINITY } else { f32::NAN };
    }
    if e == 4 && b & 0x7f == 0x7f {
        return f32::NAN;
    }
    let fraction = mantissa as f32 / (1 << m) as f32;
    let (significand, power) =
        if exponent == 0 { (fraction, 1 - bias) } else { (1.0 + fraction, exponent as i32 - bias) };
    sign * significand * 2f32.powi(power)
}
