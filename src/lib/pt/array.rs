//! NumPy arrays: their bytes lie in the pickle.

use std::borrow::Cow;

use super::dtype::{Dtype, Elements, decode};
use super::error::{ErrorKind, Fault};

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
