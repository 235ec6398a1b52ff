//! Writing torch files: dicts, lists, numbers, strings and tensors, streamed.
//!
//! The archive is written front to back, so a batch of any size needs little memory: the pickle goes
//! out as it is made and tensors follow it. What comes out is what `torch.save` writes at protocol 2
//! (same records, alignment and constructors), so `torch.load(weights_only=True)` reads it.

mod zip;

use std::collections::HashMap;
use std::io::{self, Write};

use self::zip::Zip;
use super::dtype::Dtype;
use super::opcode::*;

/// Items a batch of `APPENDS`, as Python's pickler has it.
const BATCH: usize = 1000;

/// A tensor to be written.
#[derive(Debug, Clone)]
pub struct Data {
    /// Element type.
    pub dtype: Dtype,
    /// Size of each dimension.
    pub shape: Vec<u64>,
    /// The elements in row-major order, little-endian.
    pub bytes: Vec<u8>,
}

impl Data {
    /// A one-dimensional float32 tensor.
    pub fn f32(values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { dtype: Dtype::F32, shape: vec![values.len() as u64], bytes }
    }

    /// A one-dimensional int64 tensor.
    pub fn i64(values: impl ExactSizeIterator<Item = i64>) -> Self {
        let shape = vec![values.len() as u64];
        Self { dtype: Dtype::I64, shape, bytes: values.flat_map(i64::to_le_bytes).collect() }
    }

    /// A one-dimensional int32 tensor.
    pub fn i32(values: impl ExactSizeIterator<Item = i32>) -> Self {
        let shape = vec![values.len() as u64];
        Self { dtype: Dtype::I32, shape, bytes: values.flat_map(i32::to_le_bytes).collect() }
    }
}

/// Writes one torch file. `name` is the folder inside the archive (torch uses the file's stem);
/// `value` writes exactly one object.
///
/// # Errors
/// Whatever `out` or `value` answers, and a string or list beyond what the format holds.
pub fn save<W: Write>(
    out: W,
    name: &str,
    value: impl FnOnce(&mut Pickler<'_>) -> io::Result<()>,
) -> io::Result<W> {
    let mut zip = Zip::new(out);
    let mut storages = Vec::new();
    zip.record(&format!("{name}/data.pkl"), |sink| {
        let mut pickler = Pickler {
            sink,
            buffer: Vec::new(),
            keys: HashMap::new(),
            names: HashMap::new(),
            storages: Vec::new(),
        };
        pickler.put(&[PROTO, 2])?;
        value(&mut pickler)?;
        pickler.put(&[STOP])?;
        pickler.flush()?;
        storages = pickler.storages;
        Ok(())
    })?;
    zip.record(&format!("{name}/byteorder"), |sink| sink.write_all(b"little"))?;
    for (key, bytes) in storages.iter().enumerate() {
        zip.record(&format!("{name}/data/{key}"), |sink| sink.write_all(bytes))?;
    }
    zip.record(&format!("{name}/version"), |sink| sink.write_all(b"3\n"))?;
    zip.finish()
}

/// Writes the opcodes of one object.
pub struct Pickler<'w> {
    sink: &'w mut dyn Write,
    buffer: Vec<u8>,
    /// Keys and names of globals that were written before, referred to by number. A key and a name of
    /// the same letters are different objects.
    keys: HashMap<String, u32>,
    names: HashMap<String, u32>,
    storages: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Pickler<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pickler").field("storages", &self.storages.len()).finish_non_exhaustive()
    }
}

impl Pickler<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= 1 << 16 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// `None`.
    ///
    /// # Errors
    /// As the destination's; so for every method here.
    pub fn none(&mut self) -> io::Result<()> {
        self.put(&[NONE])
    }

    /// A bool.
    pub fn bool(&mut self, value: bool) -> io::Result<()> {
        self.put(&[if value { NEWTRUE } else { NEWFALSE }])
    }

    /// An int.
    pub fn int(&mut self, value: i64) -> io::Result<()> {
        let mut op = [0u8; 10];
        let n = encode_int(value, &mut op);
        self.put(&op[..n])
    }

    /// A float.
    pub fn float(&mut self, value: f64) -> io::Result<()> {
        let mut op = [BINFLOAT; 9];
        op[1..].copy_from_slice(&value.to_be_bytes());
        self.put(&op)
    }

    /// A string.
    pub fn str(&mut self, value: &str) -> io::Result<()> {
        let len = u32::try_from(value.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a string of more than 4 GiB"))?;
        self.put(&[BINUNICODE])?;
        self.put(&len.to_le_bytes())?;
        self.put(value.as_bytes())
    }

    /// A string that recurs, such as a dict's key: written once, then referred to.
    pub fn key(&mut self, value: &str) -> io::Result<()> {
        if let Some(&i) = self.keys.get(value) {
            return self.recall(i);
        }
        self.str(value)?;
        let i = self.memoise()?;
        self.keys.insert(value.to_owned(), i);
        Ok(())
    }

    fn recall(&mut self, i: u32) -> io::Result<()> {
        if let Ok(i) = u8::try_from(i) {
            return self.put(&[BINGET, i]);
        }
        self.put(&[LONG_BINGET])?;
        self.put(&i.to_le_bytes())
    }

    /// Gives the value written last the next number.
    fn memoise(&mut self) -> io::Result<u32> {
        let i = (self.keys.len() + self.names.len()) as u32;
        match u8::try_from(i) {
            Ok(i) => self.put(&[BINPUT, i])?,
            Err(_) => {
                self.put(&[LONG_BINPUT])?;
                self.put(&i.to_le_bytes())?;
            }
        }
        Ok(i)
    }

    /// A dict; `fill` writes key, value, key, value.
    pub fn dict(&mut self, fill: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.put(&[EMPTY_DICT, MARK])?;
        fill(self)?;
        self.put(&[SETITEMS])
    }

    /// A list; `write` writes each item.
    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.put(&[EMPTY_LIST])?;
        let mut open = 0;
        for item in items {
            if open == 0 {
                self.put(&[MARK])?;
            }
            write(self, item)?;
            open += 1;
            if open == BATCH {
                self.put(&[APPENDS])?;
                open = 0;
            }
        }
        if open > 0 { self.put(&[APPENDS]) } else { Ok(()) }
    }

    /// A list of ints.
    pub fn ints(&mut self, values: impl IntoIterator<Item = i64>) -> io::Result<()> {
        self.list(values, Self::int)
    }

    /// A list of floats.
    pub fn floats(&mut self, values: impl IntoIterator<Item = f64>) -> io::Result<()> {
        self.list(values, Self::float)
    }

    /// A tensor on the CPU, in a storage of its own.
    pub fn tensor(&mut self, data: Data) -> io::Result<()> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
        let class = storage_class(data.dtype).ok_or_else(|| invalid("a dtype without a storage class"))?;
        let elements = data.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        let bytes = elements.and_then(|n| n.checked_mul(data.dtype.size()));
        let Some(elements) = elements.filter(|_| bytes == Some(data.bytes.len() as u64)) else {
            return Err(invalid("a tensor whose bytes do not match its shape"));
        };
        self.name("torch._utils", "_rebuild_tensor_v2")?;
        self.put(&[MARK, MARK])?;
        self.key("storage")?;
        self.name("torch", class)?;
        self.str(&self.storages.len().to_string())?;
        self.key("cpu")?;
        self.int(elements as i64)?;
        self.put(&[TUPLE, BINPERSID])?;
        self.int(0)?;
        self.sizes(&data.shape)?;
        let mut step = elements;
        let strides: Vec<u64> = data
            .shape
            .iter()
            .map(|&d| {
                step = step.checked_div(d).unwrap_or(1);
                step.max(1)
            })
            .collect();
        self.sizes(&strides)?;
        self.bool(false)?;
        self.name("collections", "OrderedDict")?;
        self.put(&[EMPTY_TUPLE, REDUCE, TUPLE, REDUCE])?;
        self.storages.push(data.bytes);
        Ok(())
    }

    fn sizes(&mut self, sizes: &[u64]) -> io::Result<()> {
        self.put(&[MARK])?;
        for &n in sizes {
            self.int(n as i64)?;
        }
        self.put(&[TUPLE])
    }

    fn name(&mut self, module: &str, name: &str) -> io::Result<()> {
        let line = format!("{module}\n{name}\n");
        if let Some(&i) = self.names.get(&line) {
            return self.recall(i);
        }
        self.put(&[GLOBAL])?;
        self.put(line.as_bytes())?;
        let i = self.memoise()?;
        self.names.insert(line, i);
        Ok(())
    }
}

/// The shortest opcode that Python's pickler would choose. Returns its length.
fn encode_int(value: i64, op: &mut [u8; 10]) -> usize {
    if let Ok(v) = u8::try_from(value) {
        (op[0], op[1]) = (BININT1, v);
        return 2;
    }
    if let Ok(v) = u16::try_from(value) {
        op[0] = BININT2;
        op[1..3].copy_from_slice(&v.to_le_bytes());
        return 3;
    }
    if let Ok(v) = i32::try_from(value) {
        op[0] = BININT;
        op[1..5].copy_from_slice(&v.to_le_bytes());
        return 5;
    }
    let bytes = value.to_le_bytes();
    // Two's complement needs the top bit of the last byte to be the sign.
    let mut n = 8;
    while n > 1 && (bytes[n - 1] == 0 && bytes[n - 2] < 0x80 || bytes[n - 1] == 0xff && bytes[n - 2] >= 0x80)
    {
        n -= 1;
    }
    (op[0], op[1]) = (LONG1, n as u8);
    op[2..2 + n].copy_from_slice(&bytes[..n]);
    2 + n
}

fn storage_class(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::Bool => "BoolStorage",
        Dtype::U8 => "ByteStorage",
        Dtype::I8 => "CharStorage",
        Dtype::I16 => "ShortStorage",
        Dtype::I32 => "IntStorage",
        Dtype::I64 => "LongStorage",
        Dtype::F16 => "HalfStorage",
        Dtype::Bf16 => "BFloat16Storage",
        Dtype::F32 => "FloatStorage",
        Dtype::F64 => "DoubleStorage",
        Dtype::C64 => "ComplexFloatStorage",
        Dtype::C128 => "ComplexDoubleStorage",
        _ => return None,
    })
}
