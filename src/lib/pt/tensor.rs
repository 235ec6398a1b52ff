//! Tensors: dtype, shape, stride and where the bytes lie. Values are read on demand, in logical
//! order, and every position is checked against the storage before the first is read.

use std::borrow::Cow;

use super::arena::Node;
use super::dtype::{Dtype, Elements, decode};
use super::error::{Error, ErrorKind, Fault, grouped};
use super::object;
use super::value::Ref;

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
        if self.dtype == Dtype::F32
            && let Some(floats) = self.borrow(cast::<f32>)?
        {
            return Ok(Cow::Borrowed(floats));
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
        if self.dtype == Dtype::I32
            && let Some(ints) = self.borrow(cast::<i32>)?
        {
            return Ok(Cow::Borrowed(ints));
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
