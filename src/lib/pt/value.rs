//! The view of a value: what it is, and cheap access to what a caller asks for.

use std::borrow::Cow;

use super::arena::{Node, Value};
use super::array::Array;
use super::error::{Error, ErrorKind, Fault};
use super::file::File;
use super::number::Numbers;
use super::object::{self, Object};
use super::tensor::Tensor;
use super::text;

/// A value of an opened file. Copyable; borrows the file.
#[derive(Debug, Clone, Copy)]
pub struct Ref<'a> {
    pub(super) file: &'a File,
    pub(super) value: Value,
}

/// What a value is, with the constructors of torch, numpy and the standard library understood.
#[derive(Debug)]
#[non_exhaustive]
pub enum Kind<'a> {
    /// `None`.
    None,
    /// A bool, Python's or NumPy's.
    Bool(bool),
    /// An int within 64 bits.
    Int(i64),
    /// A wider int, in decimal digits.
    BigInt(String),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// A string; lone surrogates are U+FFFD.
    Str(Cow<'a, str>),
    /// Bytes or bytearray.
    Bytes(Cow<'a, [u8]>),
    /// A list of numbers alone.
    Numbers(Numbers<'a>),
    /// Any other list, or a deque.
    List(Vec<Ref<'a>>),
    /// A tuple or `torch.Size`.
    Tuple(Vec<Ref<'a>>),
    /// A set or frozenset.
    Set(Vec<Ref<'a>>),
    /// A dict, OrderedDict, defaultdict or Counter, in insertion order.
    Dict(Vec<(Ref<'a>, Ref<'a>)>),
    /// A torch tensor or parameter.
    Tensor(Tensor<'a>),
    /// A NumPy array.
    Array(Array<'a>),
    /// A class, function or dtype by its dotted name; never resolved, never called.
    Name(String),
    /// A torch storage on its own.
    Storage(String),
    /// Anything else that would have been constructed: its class, arguments and state.
    Object(Object<'a>),
}

impl<'a> Ref<'a> {
    pub(super) fn with(self, value: Value) -> Self {
        Self { file: self.file, value }
    }

    pub(super) fn node(self) -> Option<&'a Node> {
        match self.value {
            Value::Node(id) => self.file.arena.nodes.get(id as usize),
            _ => None,
        }
    }

    fn refs(self, values: &[Value]) -> Vec<Ref<'a>> {
        values.iter().map(|&v| self.with(v)).collect()
    }

    /// A number that tells shared values apart: two references with the same identity are one object.
    /// `None` for values that Python has no identity of use for (numbers, strings).
    pub fn identity(self) -> Option<u32> {
        match self.value {
            Value::Node(id) => Some(id),
            _ => None,
        }
    }

    /// What the value is.
    ///
    /// # Errors
    /// A tensor or array whose parts contradict each other or the file.
    pub fn kind(self) -> Result<Kind<'a>, Error> {
        let pickle = self.file.pickle();
        Ok(match self.value {
            Value::None => Kind::None,
            Value::Bool(b) => Kind::Bool(b),
            Value::Int(i) => Kind::Int(i),
            Value::Float(f) => Kind::Float(f),
            Value::Long(at) => Kind::BigInt(text::long(pickle, at).map_err(|f| self.file.fail(f))?),
            Value::Str(at) => Kind::Str(self.text(at)),
            Value::Bytes(at) => Kind::Bytes(Cow::Borrowed(text::payload(pickle, at))),
            Value::Global(_) => Kind::Name(object::name(self).unwrap_or_default()),
            Value::Node(_) => match self.node() {
                Some(Node::Numbers(spans)) => Kind::Numbers(Numbers { pickle, spans }),
                Some(Node::List(items)) => Kind::List(self.refs(items)),
                Some(Node::Tuple(items)) => Kind::Tuple(self.refs(items)),
                Some(Node::Set(items)) => Kind::Set(self.refs(items)),
                Some(Node::Dict(_)) => Kind::Dict(self.entries().unwrap_or_default()),
                Some(Node::Global(..)) => Kind::Name(object::name(self).unwrap_or_default()),
                Some(Node::Persistent(id)) => {
                    let parts = self.with(*id).items().unwrap_or_default();
                    let class = parts.get(1).and_then(|r| object::name(*r));
                    Kind::Storage(class.unwrap_or_else(|| "persistent id".to_owned()))
                }
                Some(Node::Record(record)) => return object::resolve(self, record),
                None => Kind::None,
            },
        })
    }

    /// Whether it is `None`.
    pub fn is_none(self) -> bool {
        self.value == Value::None
    }

    /// Whether it is a Python string; it is not decoded.
    pub fn is_str(self) -> bool {
        matches!(self.value, Value::Str(_))
    }

    /// An int or bool, Python's or NumPy's.
    pub fn as_i64(self) -> Option<i64> {
        match self.value {
            Value::Int(i) => Some(i),
            Value::Bool(b) => Some(i64::from(b)),
            _ => match self.scalar()? {
                Kind::Int(i) => Some(i),
                Kind::Bool(b) => Some(i64::from(b)),
                _ => None,
            },
        }
    }

    /// A number of any kind. An int above 2^53 is rounded to the nearest `f64`.
    pub fn as_f64(self) -> Option<f64> {
        match self.value {
            Value::Float(f) => Some(f),
            Value::Int(i) => Some(i as f64),
            Value::Bool(b) => Some(f64::from(u8::from(b))),
            _ => match self.scalar()? {
                Kind::Float(f) => Some(f),
                Kind::Int(i) => Some(i as f64),
                Kind::Bool(b) => Some(f64::from(u8::from(b))),
                Kind::BigInt(digits) => digits.parse().ok(),
                _ => None,
            },
        }
    }

    /// A bool, Python's or NumPy's, or an int that is 0 or 1.
    pub fn as_bool(self) -> Option<bool> {
        match self.as_i64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A string, Python's or NumPy's.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        match self.value {
            Value::Str(at) => Some(self.text(at)),
            _ => match self.scalar()? {
                Kind::Str(s) => Some(s),
                _ => None,
            },
        }
    }

    /// The elements of a list, tuple or set that is not made of numbers alone, see [`Ref::numbers`].
    pub fn items(self) -> Option<Vec<Ref<'a>>> {
        match self.node()? {
            Node::List(items) | Node::Set(items) => Some(self.refs(items)),
            Node::Tuple(items) => Some(self.refs(items)),
            Node::Record(_) => match self.kind().ok()? {
                Kind::List(items) | Kind::Tuple(items) | Kind::Set(items) => Some(items),
                _ => None,
            },
            _ => None,
        }
    }

    /// The numbers of a list of numbers; an empty list is one too.
    pub fn numbers(self) -> Option<Numbers<'a>> {
        match self.node()? {
            Node::Numbers(spans) => Some(Numbers { pickle: self.file.pickle(), spans }),
            Node::List(items) if items.is_empty() => Some(Numbers { pickle: &[], spans: &[] }),
            _ => None,
        }
    }

    /// How many elements a list, tuple, set or dict has.
    pub fn len(self) -> Option<usize> {
        match self.node()? {
            Node::Numbers(_) => self.numbers().map(|n| n.len()),
            Node::List(items) | Node::Set(items) => Some(items.len()),
            Node::Tuple(items) => Some(items.len()),
            Node::Dict(_) => self.entries().map(|e| e.len()),
            _ => self.items().map(|i| i.len()),
        }
    }

    /// Whether it is a container without elements.
    pub fn is_empty(self) -> bool {
        self.len() == Some(0)
    }

    /// One element of a list or tuple, a number or anything else.
    pub fn at(self, index: usize) -> Option<Ref<'a>> {
        match self.node()? {
            Node::List(items) => items.get(index).map(|&v| self.with(v)),
            Node::Tuple(items) => items.get(index).map(|&v| self.with(v)),
            Node::Numbers(_) => {
                let number = self.numbers()?.get(index)?;
                Some(self.with(number.into()))
            }
            _ => self.items()?.get(index).copied(),
        }
    }

    /// The value under a string key of a dict (also OrderedDict and its like). Of a key that was set
    /// twice the last one counts.
    pub fn get(self, key: &str) -> Option<Ref<'a>> {
        let pickle = self.file.pickle();
        let find = |entries: &[(Value, Value)]| {
            let is = |k: &Value| matches!(k, Value::Str(at) if text::payload(pickle, *at) == key.as_bytes());
            entries.iter().rev().find(|(k, _)| is(k)).map(|&(_, v)| self.with(v))
        };
        match self.node()? {
            Node::Dict(entries) => find(entries),
            Node::Record(_) => {
                let entries = self.entries()?;
                entries.iter().rev().find(|(k, _)| k.as_str().as_deref() == Some(key)).map(|&(_, v)| v)
            }
            _ => None,
        }
    }

    /// Keys and values of a dict (also OrderedDict and its like) in insertion order.
    pub fn entries(self) -> Option<Vec<(Ref<'a>, Ref<'a>)>> {
        match self.node()? {
            Node::Dict(entries) => Some(entries.iter().map(|&(k, v)| (self.with(k), self.with(v))).collect()),
            Node::Record(_) => match self.kind().ok()? {
                Kind::Dict(entries) => Some(entries),
                _ => None,
            },
            _ => None,
        }
    }

    /// The tensor that this value is.
    ///
    /// # Errors
    /// It is no tensor, or its parts contradict each other or the file.
    pub fn tensor(self) -> Result<Tensor<'a>, Error> {
        match self.kind()? {
            Kind::Tensor(t) => Ok(t),
            other => Err(self.unexpected(format!("a tensor was expected, this is {}", other.type_name()))),
        }
    }

    /// An error about this value, with the file and where the value is known to be.
    pub fn unexpected(self, what: impl Into<String>) -> Error {
        let kind = ErrorKind::Unexpected(what.into());
        self.file.fail(match self.value {
            Value::Str(at) | Value::Bytes(at) | Value::Long(at) | Value::Global(at) => Fault::at(at, kind),
            _ => Fault::from(kind),
        })
    }

    fn scalar(self) -> Option<Kind<'a>> {
        match self.value {
            Value::Long(_) => self.kind().ok(),
            Value::Node(_) => match self.node()? {
                Node::Record(_) => self.kind().ok(),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn text(self, at: u64) -> Cow<'a, str> {
        let (text, replaced) = text::utf8(text::payload(self.file.pickle(), at));
        self.file.count_replaced(replaced);
        text
    }
}

impl Kind<'_> {
    /// The type's name as Python says it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::BigInt(_) => "int",
            Self::Float(_) => "float",
            Self::Complex(..) => "complex",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::Numbers(_) | Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Set(_) => "set",
            Self::Dict(_) => "dict",
            Self::Tensor(_) => "tensor",
            Self::Array(_) => "ndarray",
            Self::Name(_) => "name",
            Self::Storage(_) => "storage",
            Self::Object(o) => o.class.as_str(),
        }
    }
}
