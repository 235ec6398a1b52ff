//! What a pickle builds: small copyable handles and the nodes they refer to.
//!
//! A [`Value`] is a 16-byte copyable handle. Strings and bytes are offsets of their opcode in the
//! pickle, containers and records are indices of a [`Node`], so a list that is memoised while empty
//! and filled later is the same list under every name that refers to it.

use std::collections::HashMap;

use super::number::{Number, Span};

/// A handle to one value of a pickle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// An int beyond 64 bits: where its `LONG1`, `LONG4` or `LONG` is.
    Long(u64),
    /// Where the string's opcode is.
    Str(u64),
    /// Where the bytes' opcode is.
    Bytes(u64),
    /// Where a `GLOBAL` opcode is.
    Global(u64),
    Node(u32),
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(i) => Self::Int(i),
            Number::Float(f) => Self::Float(f),
            Number::Bool(b) => Self::Bool(b),
        }
    }
}

/// What a handle of kind [`Value::Node`] refers to.
#[derive(Debug)]
pub(super) enum Node {
    List(Vec<Value>),
    /// A list that holds nothing but numbers so far.
    Numbers(Vec<Span>),
    Dict(Vec<(Value, Value)>),
    Set(Vec<Value>),
    Tuple(Box<[Value]>),
    /// Module and name of a `STACK_GLOBAL`.
    Global(Value, Value),
    /// A persistent id: torch's storages.
    Persistent(Value),
    Record(Box<Record>),
}

/// What `REDUCE`, `NEWOBJ` and `NEWOBJ_EX` would have called, and what was then put into it.
#[derive(Debug)]
pub(super) struct Record {
    pub callable: Value,
    pub args: Value,
    pub kwargs: Option<Value>,
    pub state: Option<Value>,
    pub items: Vec<Value>,
    pub entries: Vec<(Value, Value)>,
}

/// The values of a pickle.
#[derive(Debug)]
pub(super) struct Arena {
    pub nodes: Vec<Node>,
    pub root: Value,
}

/// Values by the number that a pickle gave them.
#[derive(Default)]
pub(super) struct Memo {
    dense: Vec<Option<Value>>,
    sparse: HashMap<u32, Value>,
    /// Entries put so far: the number of the next one that is memoised without a number.
    pub(super) puts: u32,
}

/// How far behind the last memo entry a new one may lie to be kept in the same vector.
const GAP: usize = 1024;

impl Memo {
    /// Bytes that an entry will take.
    pub(super) fn cost(&self, index: u32) -> usize {
        match (index as usize).checked_sub(self.dense.len()) {
            None => 0,
            Some(gap) if gap < GAP => (gap + 1) * size_of::<Option<Value>>(),
            // A hash table keeps room for twice what is in it.
            Some(_) => 2 * size_of::<(u32, Value)>(),
        }
    }

    pub(super) fn put(&mut self, index: u32, value: Value) {
        self.puts = self.puts.wrapping_add(1);
        let at = index as usize;
        // Picklers number from 0 without gaps. An index far beyond that was made up, and must not
        // decide how much is reserved.
        if at < self.dense.len() {
            self.dense[at] = Some(value);
        } else if at < self.dense.len() + GAP {
            self.dense.resize(at + 1, None);
            self.dense[at] = Some(value);
        } else {
            self.sparse.insert(index, value);
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<Value> {
        match self.dense.get(index as usize) {
            Some(Some(v)) => Some(*v),
            _ => self.sparse.get(&index).copied(),
        }
    }
}
