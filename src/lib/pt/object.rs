//! What a record would have constructed, by name: torch, numpy and the standard library are
//! understood, everything else is kept as it is. Nothing is looked up or called.

use std::borrow::Cow;
use std::cell::Cell;

use super::arena::{Node, Record, Value};
use super::array::Array;
use super::dtype::Dtype;
use super::error::{Error, ErrorKind, Fault};
use super::tensor::Tensor;
use super::text;
use super::value::{Kind, Ref};

/// Something whose construction is not known here: a class or function, its arguments and state.
#[derive(Debug)]
pub struct Object<'a> {
    /// Dotted name of the class or function, Python 2 module names as Python 3 has them.
    pub class: String,
    /// Positional arguments.
    pub args: Vec<Ref<'a>>,
    /// What `__setstate__` or the instance's `__dict__` would have received.
    pub state: Option<Ref<'a>>,
    /// Elements appended to it (a list subclass).
    pub items: Vec<Ref<'a>>,
    /// Keys set on it (a dict subclass).
    pub entries: Vec<(Ref<'a>, Ref<'a>)>,
}

impl<'a> Object<'a> {
    /// The fields of an instance: its state when that is a dict, or the dict of slots of a
    /// `(None, slots)` pair. `None` when the state is of another form.
    pub fn fields(&self) -> Option<Vec<(Ref<'a>, Ref<'a>)>> {
        let state = self.state?;
        state.entries().or_else(|| match state.items()?.as_slice() {
            [dict, slots] => {
                let mut all = dict.entries().unwrap_or_default();
                all.extend(slots.entries()?);
                Some(all)
            }
            _ => None,
        })
    }
}

/// The dotted name that a value refers to: a global, or an attribute of one that protocol 2 spells as
/// `getattr(Outer, "Inner")`.
pub(super) fn name(r: Ref<'_>) -> Option<String> {
    // Each level of a nested class is one record; deeper than this is no class.
    dotted(r, 16)
}

fn dotted(r: Ref<'_>, depth: usize) -> Option<String> {
    match (r.value, r.node()) {
        (Value::Global(at), _) => {
            let (module, name) = text::global(r.file.pickle(), at);
            Some(python3(&String::from_utf8_lossy(module), &String::from_utf8_lossy(name)))
        }
        (_, Some(Node::Global(module, name))) => {
            Some(python3(&r.with(*module).as_str()?, &r.with(*name).as_str()?))
        }
        (_, Some(Node::Record(record))) if depth > 0 => {
            let args = r.with(record.args);
            if dotted(r.with(record.callable), 0)? != "builtins.getattr" {
                return None;
            }
            Some(format!("{}.{}", dotted(args.at(0)?, depth - 1)?, args.at(1)?.as_str()?))
        }
        _ => None,
    }
}

/// Protocol 2 writes Python 2's names; NumPy 2 renamed its core.
fn python3(module: &str, name: &str) -> String {
    let (module, name): (Cow<'_, str>, &str) = match (module, name) {
        ("__builtin__", "xrange") => ("builtins".into(), "range"),
        ("__builtin__", "unicode") => ("builtins".into(), "str"),
        ("__builtin__", "long") => ("builtins".into(), "int"),
        ("exceptions", "StandardError") => ("builtins".into(), "Exception"),
        ("__builtin__" | "exceptions", name) => ("builtins".into(), name),
        ("copy_reg", name) => ("copyreg".into(), name),
        (module, name) => match module.strip_prefix("numpy._core") {
            Some(tail) => (format!("numpy.core{tail}").into(), name),
            None => (module.into(), name),
        },
    };
    format!("{module}.{name}")
}

/// Constructors within constructors' arguments that are followed. Real ones nest three deep; a record
/// that is its own argument never ends.
const NESTED: u32 = 24;
/// What the constructors within one value may cost, in elements of their arguments: twenty-four levels
/// that use the level below twice stand for millions.
const WORK: usize = 1 << 20;
/// What a constructor costs besides.
const CONSTRUCTOR: usize = 1000;
/// What all constructors of a value that is shown as a whole may cost.
const SHOWN_WORK: usize = 16 << 20;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static SPENT: Cell<usize> = const { Cell::new(0) };
    static ACCOUNT: Cell<bool> = const { Cell::new(false) };
}

/// While it is held, whatever this thread looks at is on one account.
pub(super) struct Account;

impl Account {
    pub fn open() -> Self {
        ACCOUNT.set(true);
        SPENT.set(0);
        Self
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        ACCOUNT.set(false);
    }
}

struct Nested;

impl Nested {
    /// Goes one level down, at a cost. Without an [`Account`] the outermost level is free and starts one.
    fn enter(elements: usize) -> Result<Self, ErrorKind> {
        let (depth, shown) = (DEPTH.get(), ACCOUNT.get());
        let (most, cost) = match (depth, shown) {
            (0, false) => {
                SPENT.set(0);
                (WORK, 0)
            }
            (0, true) => (SHOWN_WORK, elements),
            _ => (if shown { SHOWN_WORK } else { WORK }, CONSTRUCTOR + elements),
        };
        let spent = SPENT.get().saturating_add(cost);
        if spent > most {
            return Err(ErrorKind::Limit("constructors that use each other too often".to_owned()));
        }
        SPENT.set(spent);
        if depth >= NESTED {
            return Err(ErrorKind::Limit(format!("constructors nested more than {NESTED} deep")));
        }
        DEPTH.set(depth + 1);
        Ok(Self)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

pub(super) fn resolve<'a>(r: Ref<'a>, record: &'a Record) -> Result<Kind<'a>, Error> {
    let own = |r: Ref<'_>| match r.node() {
        Some(Node::List(items) | Node::Set(items)) => items.len(),
        Some(Node::Tuple(items)) => items.len(),
        Some(Node::Numbers(spans)) => spans.iter().map(|s| s.count as usize).sum(),
        Some(Node::Dict(entries)) => entries.len(),
        _ => 0,
    };
    let args = r.with(record.args);
    let first = match args.node() {
        Some(Node::Tuple(items)) => items.first().map_or(0, |&v| own(r.with(v))),
        _ => 0,
    };
    let elements = own(args) + first + record.items.len() + record.entries.len();
    let _guard = Nested::enter(elements).map_err(|kind| r.file.fail(Fault::from(kind)))?;
    // `_rebuild_parameter` and `_rebuild_from_type_v2` wrap another record; deeper is hostile.
    rebuild(r, r.with(record.callable), r.with(record.args), Some(record), 8)
}

fn rebuild<'a>(
    r: Ref<'a>,
    callable: Ref<'a>,
    args: Ref<'a>,
    record: Option<&'a Record>,
    depth: usize,
) -> Result<Kind<'a>, Error> {
    let class = name(callable).unwrap_or_else(|| "unnamed".to_owned());
    let arg = |i| args.at(i);
    let state = record.and_then(|x| x.state).map(|v| r.with(v));
    let list = |own: &'a [Value]| {
        let mut all = arg(0).and_then(elements).unwrap_or_default();
        all.extend(own.iter().map(|&v| r.with(v)));
        all
    };
    let (items, entries): (&[Value], &[(Value, Value)]) =
        record.map_or((&[], &[]), |x| (x.items.as_slice(), x.entries.as_slice()));

    let known = match class.as_str() {
        "torch._utils._rebuild_tensor_v2" | "torch._utils._rebuild_tensor" => {
            Some(Kind::Tensor(Tensor::rebuild(r, args, None)?))
        }
        "torch._utils._rebuild_tensor_v3" => Some(Kind::Tensor(Tensor::rebuild(r, args, arg(6))?)),
        "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state" if depth > 0 => {
            arg(0).map(|inner| nested(inner, depth)).transpose()?
        }
        "torch._tensor._rebuild_from_type_v2" if depth > 0 => match (arg(0), arg(2)) {
            (Some(function), Some(inner)) => Some(rebuild(r, function, inner, None, depth - 1)?),
            _ => None,
        },
        "torch._utils._rebuild_device_tensor_from_cpu_tensor" if depth > 0 => {
            arg(0).map(|inner| nested(inner, depth)).transpose()?
        }
        "torch.Size" => arg(0).and_then(elements).map(Kind::Tuple),
        "torch.device" => {
            let kind = arg(0).and_then(|k| k.as_str());
            kind.map(|k| match arg(1).and_then(|i| i.as_i64()) {
                Some(index) => Kind::Name(format!("torch.device({k}:{index})")),
                None => Kind::Name(format!("torch.device({k})")),
            })
        }
        "collections.OrderedDict" | "collections.Counter" | "collections.defaultdict" => {
            let mut all = initial_entries(args);
            all.extend(entries.iter().map(|&(k, v)| (r.with(k), r.with(v))));
            Some(Kind::Dict(all))
        }
        "collections.deque" => Some(Kind::List(list(items))),
        "builtins.set" | "builtins.frozenset" => Some(Kind::Set(list(items))),
        "builtins.list" => Some(Kind::List(list(items))),
        "builtins.tuple" => Some(Kind::Tuple(list(items))),
        "builtins.bytes" | "builtins.bytearray" | "_codecs.encode" => bytes(r, args)?.map(Kind::Bytes),
        "builtins.complex" => match (arg(0).and_then(Ref::as_f64), arg(1).and_then(Ref::as_f64)) {
            (Some(re), Some(im)) => Some(Kind::Complex(re, im)),
            _ => None,
        },
        "builtins.getattr" => name(r).map(Kind::Name),
        "numpy.core.multiarray.scalar" => scalar(r, args)?,
        "numpy.core.multiarray._reconstruct" => state.map(|s| array_state(r, s)).transpose()?.flatten(),
        "numpy.core.numeric._frombuffer" => array_buffer(r, args)?,
        _ => None,
    };
    if let Some(kind) = known {
        return Ok(kind);
    }
    let mut class = class;
    let mut all = args.items().unwrap_or_else(|| elements(args).unwrap_or_default());
    if (class == "copyreg._reconstructor" || class == "copyreg.__newobj__")
        && let Some(real) = all.first().and_then(|&c| name(c))
    {
        class = real;
        all.clear();
    }
    if let Some(kwargs) = record.and_then(|x| x.kwargs).map(|v| r.with(v)).filter(|k| !k.is_empty()) {
        all.push(kwargs);
    }
    Ok(Kind::Object(Object {
        class,
        args: all,
        state,
        items: items.iter().map(|&v| r.with(v)).collect(),
        entries: entries.iter().map(|&(k, v)| (r.with(k), r.with(v))).collect(),
    }))
}

fn nested<'a>(inner: Ref<'a>, depth: usize) -> Result<Kind<'a>, Error> {
    match inner.node() {
        Some(Node::Record(record)) => {
            rebuild(inner, inner.with(record.callable), inner.with(record.args), Some(record), depth - 1)
        }
        _ => inner.kind(),
    }
}

/// Elements of any list or tuple, numbers included.
fn elements(r: Ref<'_>) -> Option<Vec<Ref<'_>>> {
    match r.node()? {
        Node::Numbers(_) => Some(r.numbers()?.iter().map(|n| r.with(n.into())).collect()),
        Node::List(items) | Node::Set(items) => Some(items.iter().map(|&v| r.with(v)).collect()),
        Node::Tuple(items) => Some(items.iter().map(|&v| r.with(v)).collect()),
        _ => None,
    }
}

/// What a dict-like constructor got: a dict, or Python 2's list of pairs.
fn initial_entries(args: Ref<'_>) -> Vec<(Ref<'_>, Ref<'_>)> {
    let Some(first) = args.at(0) else { return Vec::new() };
    first.entries().unwrap_or_else(|| {
        let pairs = elements(first).unwrap_or_default();
        pairs.into_iter().filter_map(|p| Some((p.at(0)?, p.at(1)?))).collect()
    })
}

/// Bytes from `bytes()`, `bytearray(b"…")`, `bytearray(text, "latin-1")` or `encode(text, "latin1")`.
fn bytes<'a>(r: Ref<'a>, args: Ref<'a>) -> Result<Option<Cow<'a, [u8]>>, Error> {
    let pickle = r.file.pickle();
    let Some(first) = args.at(0) else { return Ok(Some(Cow::Borrowed(&[]))) };
    match first.value {
        Value::Bytes(at) => Ok(Some(Cow::Borrowed(text::payload(pickle, at)))),
        Value::Str(at) => {
            let encoding = args.at(1).and_then(|e| e.as_str()).unwrap_or_default();
            match encoding.as_ref() {
                "latin1" | "latin-1" => {
                    text::latin1(text::payload(pickle, at), at).map(Some).map_err(|f| r.file.fail(f))
                }
                "utf-8" | "utf8" | "ascii" => Ok(Some(Cow::Borrowed(text::payload(pickle, at)))),
                _ => Ok(None),
            }
        }
        _ => match first.kind()? {
            Kind::Bytes(b) => Ok(Some(b)),
            Kind::Numbers(n) => Ok(n.to_ints::<u8>().map(Cow::Owned)),
            _ => Ok(None),
        },
    }
}

/// Bytes of a value that is bytes in one of its forms.
fn raw<'a>(r: Ref<'a>) -> Result<Option<Cow<'a, [u8]>>, Error> {
    Ok(match r.kind()? {
        Kind::Bytes(b) => Some(b),
        _ => None,
    })
}

/// A numpy dtype: `dtype("f8", …)` with the byte order in its state.
fn dtype(r: Ref<'_>) -> Option<(Dtype, bool)> {
    let Some(Node::Record(record)) = r.node() else { return None };
    if name(r.with(record.callable))? != "numpy.dtype" {
        return None;
    }
    let code = r.with(record.args).at(0)?.as_str()?;
    let order = record.state.and_then(|s| r.with(s).at(1)).and_then(|o| o.as_str());
    Some((Dtype::from_numpy(&code)?, order.as_deref() == Some(">")))
}

fn scalar<'a>(r: Ref<'a>, args: Ref<'a>) -> Result<Option<Kind<'a>>, Error> {
    let (Some((dtype, big)), Some(data)) = (args.at(0).and_then(dtype), args.at(1)) else { return Ok(None) };
    let Some(bytes) = raw(data)? else { return Ok(None) };
    dtype.scalar(&bytes, big).map_err(|f| r.file.fail(f)).map(Some)
}

/// `(version, shape, dtype, fortran order, data)` as `ndarray.__setstate__` receives it.
fn array_state<'a>(r: Ref<'a>, state: Ref<'a>) -> Result<Option<Kind<'a>>, Error> {
    let Some(shape) = state.at(1).and_then(shape) else { return Ok(None) };
    let Some((dtype, big)) = state.at(2).and_then(dtype) else { return Ok(None) };
    let fortran = state.at(3).and_then(Ref::as_bool).unwrap_or(false);
    let Some(data) = state.at(4) else { return Ok(None) };
    match raw(data)? {
        Some(bytes) => Array::new(dtype, big, shape, fortran, bytes)
            .map(|a| Some(Kind::Array(a)))
            .map_err(|f| r.file.fail(f)),
        None => Ok(None),
    }
}

/// `(buffer, dtype, shape, order)`, NumPy's form at protocol 5.
fn array_buffer<'a>(r: Ref<'a>, args: Ref<'a>) -> Result<Option<Kind<'a>>, Error> {
    let parts = (args.at(0), args.at(1).and_then(dtype), args.at(2).and_then(shape));
    let (Some(buffer), Some((dtype, big)), Some(shape)) = parts else { return Ok(None) };
    let fortran = args.at(3).and_then(|o| o.as_str()).as_deref() == Some("F");
    match raw(buffer)? {
        Some(bytes) => Array::new(dtype, big, shape, fortran, bytes)
            .map(|a| Some(Kind::Array(a)))
            .map_err(|f: Fault| r.file.fail(f)),
        None => Ok(None),
    }
}

/// Dimensions of the largest tensor or array that torch and NumPy make.
const DIMENSIONS: usize = 64;

/// Sizes: a tuple of ints, a lone int, or `torch.Size`.
pub(super) fn shape(r: Ref<'_>) -> Option<Vec<u64>> {
    if let Some(n) = r.as_i64() {
        return Some(vec![u64::try_from(n).ok()?]);
    }
    let items = elements(r).or_else(|| r.items())?;
    if items.len() > DIMENSIONS {
        return None;
    }
    items.into_iter().map(|i| u64::try_from(i.as_i64()?).ok()).collect()
}
