//! Tensors and arrays: dtype, shape, stride and where the bytes lie. Values are read on demand, in
//! logical order, and every position is checked against the storage before the first is read.

use std::borrow::Cow;

use half::{bf16, f16};

use super::error::{Error, ErrorKind, Fault, grouped};
use super::object;
use super::pickle::Node;
use super::value::{Kind, Ref};

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
    fn negate(&mut self) {
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
    fn from_torch(name: &str) -> Option<Self> {
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

/// A view of a storage in the file.
#[derive(Debug)]
pub struct Tensor<'a> {
    r: Ref<'a>,
    /// Element type.
    pub dtype: Dtype,
    /// Size of each dimension; empty for a scalar.
    pub shape: Vec<u64>,
    /// Elements from one index to the next, a dimension each.
    pub stride: Vec<u64>,
    /// First element in the storage.
    pub offset: u64,
    /// Key of the storage's record: views of one storage share it.
    pub storage_key: Cow<'a, str>,
    /// Where it was: `cpu`, `cuda:3`. It always reads from the file.
    pub device: Cow<'a, str>,
    /// Elements the storage claims.
    pub storage_elements: u64,
    /// A lazily conjugated or negated view: torch keeps the storage and sets a bit.
    conjugate: bool,
    negate: bool,
}

impl<'a> Tensor<'a> {
    /// `args` of `_rebuild_tensor_v2`: storage, offset, size, stride, …
    pub(super) fn rebuild(r: Ref<'a>, args: Ref<'a>, dtype_arg: Option<Ref<'a>>) -> Result<Self, Error> {
        let bad = |what: &str| r.unexpected(format!("a tensor whose {what}"));
        let id = match args.at(0).and_then(Ref::node) {
            Some(Node::Persistent(id)) => r.with(*id),
            _ => return Err(bad("storage is no storage")),
        };
        let class = id.at(1).and_then(object::name).ok_or_else(|| bad("storage has no class"))?;
        let dtype_name = dtype_arg.and_then(object::name).unwrap_or_else(|| class.clone());
        let dtype = Dtype::from_torch(&dtype_name)
            .ok_or_else(|| r.file.fail(Fault::from(ErrorKind::Unsupported(format!("dtype {dtype_name}")))))?;
        let count = |v: Option<Ref<'a>>| v.and_then(Ref::as_i64).and_then(|n| u64::try_from(n).ok());
        // An UntypedStorage counts bytes.
        let unit = if class.ends_with("UntypedStorage") { dtype.size() } else { 1 };
        let bits = args.at(if dtype_arg.is_some() { 7 } else { 6 });
        let bit = |name| bits.and_then(|m| m.get(name)).and_then(Ref::as_bool).unwrap_or(false);
        let tensor = Self {
            r,
            dtype,
            shape: args.at(2).and_then(object::shape).ok_or_else(|| bad("size is no tuple of sizes"))?,
            stride: args.at(3).and_then(object::shape).ok_or_else(|| bad("stride is no tuple of strides"))?,
            offset: count(args.at(1)).ok_or_else(|| bad("offset is no count"))?,
            storage_key: id.at(2).and_then(Ref::as_str).ok_or_else(|| bad("storage has no key"))?,
            device: id.at(3).and_then(Ref::as_str).unwrap_or(Cow::Borrowed("cpu")),
            storage_elements: count(id.at(4)).ok_or_else(|| bad("storage has no size"))? / unit,
            conjugate: bit("conj"),
            negate: bit("neg"),
        };
        if tensor.shape.len() != tensor.stride.len() {
            return Err(bad("size and stride have different lengths"));
        }
        Ok(tensor)
    }

    /// Elements of the view. `None` beyond 64 bits.
    pub fn elements_len(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d))
    }

    /// Bytes of the view's elements.
    pub fn logical_bytes(&self) -> Option<u64> {
        self.elements_len()?.checked_mul(self.dtype.size())
    }

    /// Bytes of the storage behind it, shared by every view of it.
    pub fn storage_bytes(&self) -> u64 {
        self.storage_elements.saturating_mul(self.dtype.size())
    }

    fn bytes(&self) -> Result<Cow<'a, [u8]>, Error> {
        let file = self.r.file;
        let name = format!("data/{}", self.storage_key);
        let need = self.storage_bytes();
        let record = file.archive().record(&name, file.limits()).map_err(|f| f.in_file(file.path()))?;
        let record = record.ok_or_else(|| {
            let what = format!("the archive has no storage {name}");
            Fault::from(ErrorKind::Corrupt(what)).in_file(file.path())
        })?;
        if (record.bytes.len() as u64) < need {
            let what = format!(
                "storage {name} claims {} bytes and holds {}",
                grouped(need),
                grouped(record.bytes.len() as u64)
            );
            return Err(Fault { offset: record.at, kind: ErrorKind::Corrupt(what) }.in_file(file.path()));
        }
        Ok(record.bytes)
    }

    /// Number of elements, after checking that the last one lies in the storage.
    fn checked_len(&self) -> Result<usize, Error> {
        let fail = |kind| Err(self.r.file.fail(Fault::from(kind)));
        let Some(n) = self.elements_len() else {
            return fail(ErrorKind::Corrupt("a tensor of more than 2^64 elements".into()));
        };
        if n == 0 {
            return Ok(0);
        }
        let reach = self
            .shape
            .iter()
            .zip(&self.stride)
            .try_fold(self.offset, |at, (&d, &s)| at.checked_add((d - 1).checked_mul(s)?));
        if reach.is_none_or(|last| last >= self.storage_elements) {
            return fail(ErrorKind::Corrupt(format!(
                "a tensor of {} elements reaches beyond its storage of {}",
                grouped(n),
                grouped(self.storage_elements)
            )));
        }
        if n > self.storage_elements && n > self.r.file.limits().elements {
            return fail(ErrorKind::Limit(format!("a tensor expanded to {} elements", grouped(n))));
        }
        Ok(n as usize)
    }

    /// Checks what [`Tensor::elements`] would: that the view lies in its storage and the storage in the file.
    ///
    /// # Errors
    /// As [`Tensor::elements`].
    pub fn check(&self) -> Result<(), Error> {
        self.checked_len()?;
        self.bytes().map(|_| ())
    }

    fn is_contiguous(&self) -> bool {
        let mut want = 1u64;
        self.shape.iter().zip(&self.stride).rev().all(|(&d, &s)| {
            let ok = d == 1 || s == want;
            want = want.saturating_mul(d);
            ok
        })
    }

    /// Storage positions of the elements in logical order.
    fn positions(&self, n: usize) -> impl Iterator<Item = usize> + use<> {
        let (shape, stride) = (self.shape.clone(), self.stride.clone());
        let mut index = vec![0u64; shape.len()];
        let mut at = self.offset;
        (0..n).map(move |_| {
            let here = at as usize;
            for d in (0..shape.len()).rev() {
                index[d] += 1;
                at += stride[d];
                if index[d] < shape[d] {
                    break;
                }
                at -= stride[d] * shape[d];
                index[d] = 0;
            }
            here
        })
    }

    /// Every element in logical order, widened to the nearest of a few types.
    ///
    /// # Errors
    /// The view reaches beyond its storage, the storage beyond the file, or the dtype is not decoded.
    pub fn elements(&self) -> Result<Elements, Error> {
        let n = self.checked_len()?;
        let bytes = self.bytes()?;
        let fail = |f: Fault| self.r.file.fail(f);
        let big = self.r.file.archive().is_big_endian();
        let start = self.offset as usize;
        let mut elements = if self.is_contiguous() {
            decode(self.dtype, big, &bytes, start..start + n).map_err(fail)?
        } else {
            decode(self.dtype, big, &bytes, self.positions(n)).map_err(fail)?
        };
        if self.negate {
            elements.negate();
        }
        if let (true, Elements::Complex(v)) = (self.conjugate, &mut elements) {
            v.iter_mut().for_each(|(_, im)| *im = -*im);
        }
        Ok(elements)
    }

    /// The elements as `f32`, borrowed from the file when they lie there as such.
    ///
    /// # Errors
    /// As [`Tensor::elements`]; also when they are no floats or integers.
    pub fn to_f32(&self) -> Result<Cow<'a, [f32]>, Error> {
        if self.dtype == Dtype::F32 {
            if let Some(floats) = self.borrow(cast::<f32>)? {
                return Ok(Cow::Borrowed(floats));
            }
        }
        Ok(Cow::Owned(match self.elements()? {
            Elements::F32(v) => v,
            Elements::F64(v) => v.into_iter().map(|x| x as f32).collect(),
            Elements::Int(v) => v.into_iter().map(|x| x as f32).collect(),
            Elements::Bool(v) => v.into_iter().map(|x| f32::from(u8::from(x))).collect(),
            _ => {
                return Err(self.r.unexpected(format!("a {} tensor where floats belong", self.dtype.name())));
            }
        }))
    }

    /// The elements as `i32`, borrowed from the file when they lie there as such.
    ///
    /// # Errors
    /// As [`Tensor::to_ints`].
    pub fn to_i32(&self) -> Result<Cow<'a, [i32]>, Error> {
        if self.dtype == Dtype::I32 {
            if let Some(ints) = self.borrow(cast::<i32>)? {
                return Ok(Cow::Borrowed(ints));
            }
        }
        self.to_ints().map(Cow::Owned)
    }

    /// The mapped bytes of a contiguous view as what `cast` makes of them.
    fn borrow<T>(&self, cast: impl Fn(&'a [u8]) -> Option<&'a [T]>) -> Result<Option<&'a [T]>, Error> {
        if !self.is_contiguous() || self.negate || self.r.file.archive().is_big_endian() {
            return Ok(None);
        }
        let size = self.dtype.size() as usize;
        let n = self.checked_len()?;
        if n == 0 {
            return Ok(Some(&[]));
        }
        let Cow::Borrowed(bytes) = self.bytes()? else { return Ok(None) };
        let start = self.offset as usize * size;
        Ok(bytes.get(start..start + n * size).and_then(cast))
    }

    /// The elements as integers of a type, converted from any integer dtype or bool.
    ///
    /// # Errors
    /// As [`Tensor::elements`]; also when they are floats or one does not fit.
    pub fn to_ints<T: TryFrom<i64>>(&self) -> Result<Vec<T>, Error> {
        let wrong =
            || self.r.unexpected(format!("a {} tensor where integers that fit belong", self.dtype.name()));
        let convert = |v: Vec<i64>| v.into_iter().map(|x| T::try_from(x).map_err(|_| wrong())).collect();
        match self.elements()? {
            Elements::Int(v) => convert(v),
            Elements::Bool(v) => convert(v.into_iter().map(i64::from).collect()),
            _ => Err(wrong()),
        }
    }
}

/// Types of which every bit pattern is a value.
trait Plain: Copy {}
impl Plain for f32 {}
impl Plain for i32 {}

/// Bytes of a mapped file as numbers, when they are aligned and the machine is little-endian.
fn cast<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    if cfg!(target_endian = "big") {
        return None;
    }
    // SAFETY: every bit pattern is a value of T; `align_to` gives only what is aligned.
    let (head, values, tail) = unsafe { bytes.align_to::<T>() };
    (head.is_empty() && tail.is_empty()).then_some(values)
}

/// A NumPy array whose bytes lie in the pickle.
#[derive(Debug)]
pub struct Array<'a> {
    /// Element type.
    pub dtype: Dtype,
    /// Size of each dimension.
    pub shape: Vec<u64>,
    big_endian: bool,
    fortran: bool,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Array<'a> {
    pub(super) fn new(
        dtype: Dtype,
        big_endian: bool,
        shape: Vec<u64>,
        fortran: bool,
        bytes: Cow<'a, [u8]>,
    ) -> Result<Self, Fault> {
        let need = shape.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d));
        if need != Some(bytes.len() as u64) {
            let what = format!("an array of shape {shape:?} and {} with {} bytes", dtype.name(), bytes.len());
            return Err(Fault::from(ErrorKind::Corrupt(what)));
        }
        Ok(Self { dtype, shape, big_endian, fortran, bytes })
    }

    /// Bytes of its elements.
    pub fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How many elements it has.
    pub fn elements_len(&self) -> u64 {
        self.byte_len().checked_div(self.dtype.size()).unwrap_or(0)
    }

    /// Every element in logical (row-major) order.
    ///
    /// # Errors
    /// The dtype is not decoded.
    pub fn elements(&self) -> Result<Elements, ErrorKind> {
        let n = self.elements_len() as usize;
        // Without elements the other sizes are anything, and their product too.
        let result = if self.fortran && self.shape.len() > 1 && n > 0 {
            let mut stride = 1usize;
            let strides: Vec<usize> = self
                .shape
                .iter()
                .map(|&d| {
                    let s = stride;
                    stride *= d as usize;
                    s
                })
                .collect();
            let shape: Vec<usize> = self.shape.iter().map(|&d| d as usize).collect();
            let positions = (0..n).map(move |mut i| {
                let mut at = 0;
                for (d, s) in shape.iter().zip(&strides).rev() {
                    at += (i % d) * s;
                    i /= d;
                }
                at
            });
            decode(self.dtype, self.big_endian, &self.bytes, positions)
        } else {
            decode(self.dtype, self.big_endian, &self.bytes, 0..n)
        };
        result.map_err(|f| f.kind)
    }
}

/// Decodes the elements at some positions (in elements). Positions outside are left out; callers have
/// checked that there are none.
fn decode(dtype: Dtype, big: bool, bytes: &[u8], at: impl Iterator<Item = usize>) -> Result<Elements, Fault> {
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
