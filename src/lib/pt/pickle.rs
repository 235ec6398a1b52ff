//! The pickle machine: runs the opcodes of protocols 2 to 5 into an arena, executes nothing.

use super::Limits;
use super::arena::{Arena, Memo, Node, Record, Value};
use super::error::{ErrorKind, Fault};
use super::number::{self, Span};
use super::opcode::*;
use super::text::{length_width, read_length};

/// Runs a whole pickle. `progress` hears the position from time to time.
pub(super) fn run(pickle: &[u8], limits: &Limits, progress: &mut dyn FnMut(usize)) -> Result<Arena, Fault> {
    let mut m = Machine {
        b: pickle,
        pos: 0,
        op_at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Memo::default(),
        nodes: Vec::new(),
        spent: 0,
        budget: limits.arena_bytes,
        last_number: (usize::MAX, 0),
        reported: 0,
        progress,
    };
    let root = m.run()?;
    Ok(Arena { nodes: m.nodes, root })
}

struct Machine<'a> {
    b: &'a [u8],
    pos: usize,
    /// Where the current opcode is, for errors.
    op_at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: Memo,
    nodes: Vec<Node>,
    spent: usize,
    budget: usize,
    /// Where the last number opcode began and ended: an `APPEND` right behind it extends a span.
    last_number: (usize, usize),
    reported: usize,
    progress: &'a mut dyn FnMut(usize),
}

/// How often [`run`]'s `progress` is called, in bytes.
const REPORT: usize = 8 << 20;

impl<'a> Machine<'a> {
    fn run(&mut self) -> Result<Value, Fault> {
        loop {
            self.op_at = self.pos;
            if self.pos - self.reported >= REPORT {
                self.reported = self.pos;
                (self.progress)(self.pos);
            }
            let op = self.u8()?;
            match op {
                BINGET => {
                    let i = self.u8()?;
                    self.recall(u32::from(i))?;
                }
                LONG_BINGET => {
                    let i = self.u32()?;
                    self.recall(i)?;
                }
                BINPUT => {
                    let i = self.u8()?;
                    self.memoise(u32::from(i))?;
                }
                LONG_BINPUT => {
                    let i = self.u32()?;
                    self.memoise(i)?;
                }
                MEMOIZE => self.memoise(self.memo.puts)?,
                BININT | BININT1 | BININT2 | BINFLOAT | NEWTRUE | NEWFALSE => self.number()?,
                LONG1 => self.long1()?,
                LONG4 => {
                    let n = self.u32()? as usize;
                    let body = self.take(n)?;
                    let value = number::long_to_i64(body).map_or(Value::Long(self.op_at as u64), Value::Int);
                    self.push(value)?;
                }
                INT | LONG | FLOAT => {
                    let value = self.text_number(op)?;
                    self.push(value)?;
                }
                NONE => self.push(Value::None)?,
                BINUNICODE | SHORT_BINUNICODE | BINUNICODE8 | BINSTRING | SHORT_BINSTRING => {
                    self.skip_text(op)?;
                    self.push(Value::Str(self.op_at as u64))?;
                }
                BINBYTES | SHORT_BINBYTES | BINBYTES8 | BYTEARRAY8 => {
                    self.skip_text(op)?;
                    self.push(Value::Bytes(self.op_at as u64))?;
                }
                MARK => {
                    if !self.numbers()? {
                        self.charge(8)?;
                        self.marks.push(self.stack.len());
                    }
                }
                EMPTY_LIST => self.node(Node::List(Vec::new()))?,
                EMPTY_DICT => self.node(Node::Dict(Vec::new()))?,
                EMPTY_SET => self.node(Node::Set(Vec::new()))?,
                EMPTY_TUPLE => self.node(Node::Tuple(Box::default()))?,
                TUPLE1 => self.tuple(1)?,
                TUPLE2 => self.tuple(2)?,
                TUPLE3 => self.tuple(3)?,
                TUPLE => {
                    let items = self.popped_to_mark()?;
                    self.charge(items.len() * 16)?;
                    self.node(Node::Tuple(items.into()))?;
                }
                FROZENSET => {
                    let items = self.popped_to_mark()?;
                    self.charge(items.len() * 16)?;
                    self.node(Node::Set(items))?;
                }
                APPEND => self.append()?,
                APPENDS | ADDITEMS => {
                    let items = self.popped_to_mark()?;
                    let target = self.top()?;
                    self.extend(target, &items)?;
                }
                SETITEM => {
                    let (v, k) = (self.pop()?, self.pop()?);
                    let target = self.top()?;
                    self.set(target, &[k, v])?;
                }
                SETITEMS => {
                    let items = self.popped_to_mark()?;
                    let target = self.top()?;
                    self.set(target, &items)?;
                }
                GLOBAL => {
                    self.line()?;
                    self.line()?;
                    self.push(Value::Global(self.op_at as u64))?;
                }
                STACK_GLOBAL => {
                    let (name, module) = (self.pop()?, self.pop()?);
                    self.node(Node::Global(module, name))?;
                }
                BINPERSID => {
                    let id = self.pop()?;
                    self.node(Node::Persistent(id))?;
                }
                REDUCE | NEWOBJ => {
                    let (args, callable) = (self.pop()?, self.pop()?);
                    self.record(callable, args, None)?;
                }
                NEWOBJ_EX => {
                    let (kwargs, args, callable) = (self.pop()?, self.pop()?, self.pop()?);
                    self.record(callable, args, Some(kwargs))?;
                }
                BUILD => {
                    let state = self.pop()?;
                    let target = self.top()?;
                    match self.node_mut(target) {
                        Some(Node::Record(r)) => r.state = Some(state),
                        // A plain container cannot carry state in Python either.
                        _ => return Err(self.bad("BUILD on something that is no object")),
                    }
                }
                PROTO => {
                    let version = self.u8()?;
                    if version > 5 {
                        let what = format!("pickle protocol {version}");
                        return Err(Fault::at(self.op_at as u64, ErrorKind::Unsupported(what)));
                    }
                }
                FRAME => {
                    self.take(8)?;
                }
                POP => {
                    if self.marks.last() == Some(&self.stack.len()) {
                        self.marks.pop();
                    } else {
                        self.pop()?;
                    }
                }
                POP_MARK => {
                    self.popped_to_mark()?;
                }
                DUP => {
                    let v = self.top()?;
                    self.push(v)?;
                }
                STOP => {
                    let root = self.pop()?;
                    return Ok(root);
                }
                other => {
                    let shown = other.escape_ascii();
                    return Err(self.bad(&format!("'{shown}' is no opcode of protocols 2 to 5")));
                }
            }
        }
    }

    fn bad(&self, what: &str) -> Fault {
        Fault::corrupt(self.op_at as u64, format!("pickle: {what}"))
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let b = self.b;
        match self.pos.checked_add(n).and_then(|end| b.get(self.pos..end)) {
            Some(body) => {
                self.pos += n;
                Ok(body)
            }
            None => Err(Fault::truncated(self.b.len() as u64, "the pickle ends inside an opcode")),
        }
    }

    fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let body = self.take(4)?;
        Ok(u32::from_le_bytes([body[0], body[1], body[2], body[3]]))
    }

    fn line(&mut self) -> Result<&'a [u8], Fault> {
        let b = self.b;
        let rest = b.get(self.pos..).unwrap_or_default();
        match rest.iter().position(|&c| c == b'\n') {
            Some(n) => {
                self.pos += n + 1;
                Ok(&rest[..n])
            }
            None => Err(Fault::truncated(self.b.len() as u64, "the pickle ends inside a name")),
        }
    }

    /// Accounts for memory before it is used.
    fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.spent += bytes;
        if self.spent > self.budget {
            let what = format!("the pickle builds more than {} MB of objects", self.budget >> 20);
            return Err(Fault::limit(self.op_at as u64, what));
        }
        Ok(())
    }

    fn push(&mut self, v: Value) -> Result<(), Fault> {
        // A stack that only grows is a hostile pickle; what it holds is charged where it ends up.
        if self.stack.len() == self.stack.capacity() {
            self.charge(16 * self.stack.len().max(64))?;
        }
        self.stack.push(v);
        Ok(())
    }

    /// Pops a value of the innermost mark's stretch; the mark itself stays where it is.
    fn pop(&mut self) -> Result<Value, Fault> {
        if self.stack.len() <= self.marks.last().copied().unwrap_or(0) {
            return Err(self.bad("stack underflow"));
        }
        self.stack.pop().ok_or_else(|| self.bad("stack underflow"))
    }

    fn top(&self) -> Result<Value, Fault> {
        self.stack.last().copied().ok_or_else(|| self.bad("empty stack"))
    }

    fn popped_to_mark(&mut self) -> Result<Vec<Value>, Fault> {
        let mark = self.marks.pop().ok_or_else(|| self.bad("no mark"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn node(&mut self, node: Node) -> Result<(), Fault> {
        // The vector of nodes grows by half as much again as it needs.
        self.charge(size_of::<Node>() * 3 / 2)?;
        let id = u32::try_from(self.nodes.len()).map_err(|_| self.bad("too many objects"))?;
        self.nodes.push(node);
        self.push(Value::Node(id))
    }

    fn tuple(&mut self, n: usize) -> Result<(), Fault> {
        let from = self.stack.len().checked_sub(n).ok_or_else(|| self.bad("stack underflow"))?;
        if from < self.marks.last().copied().unwrap_or(0) {
            return Err(self.bad("stack underflow"));
        }
        let items: Box<[Value]> = self.stack.drain(from..).collect();
        self.charge(16 * n)?;
        self.node(Node::Tuple(items))
    }

    fn record(&mut self, callable: Value, args: Value, kwargs: Option<Value>) -> Result<(), Fault> {
        self.charge(size_of::<Record>())?;
        let (items, entries) = (Vec::new(), Vec::new());
        self.node(Node::Record(Box::new(Record { callable, args, kwargs, state: None, items, entries })))
    }

    fn node_mut(&mut self, v: Value) -> Option<&mut Node> {
        match v {
            Value::Node(id) => self.nodes.get_mut(id as usize),
            _ => None,
        }
    }

    fn memoise(&mut self, index: u32) -> Result<(), Fault> {
        let v = self.top()?;
        self.charge(self.memo.cost(index))?;
        self.memo.put(index, v);
        Ok(())
    }

    fn recall(&mut self, index: u32) -> Result<(), Fault> {
        let v = self.memo.get(index).ok_or_else(|| self.bad("memo entry that was never set"))?;
        self.push(v)
    }

    fn number(&mut self) -> Result<(), Fault> {
        let mut at = self.op_at;
        let value = match number::decode(self.b, &mut at) {
            Some(number) => Value::from(number),
            None => return Err(Fault::truncated(self.b.len() as u64, "the pickle ends inside a number")),
        };
        self.pos = at;
        self.last_number = (self.op_at, at);
        self.push(value)
    }

    fn text_number(&mut self, op: u8) -> Result<Value, Fault> {
        let line = self.line()?;
        let text = str::from_utf8(line).unwrap_or_default().trim_end_matches('L');
        match (op, text) {
            (INT, "00") => Ok(Value::Bool(false)),
            (INT, "01") => Ok(Value::Bool(true)),
            (FLOAT, text) => text.parse().map(Value::Float).map_err(|_| self.bad("a float that is none")),
            (_, text) => match text.parse() {
                Ok(i) => Ok(Value::Int(i)),
                Err(_) if super::text::is_decimal(text) => Ok(Value::Long(self.op_at as u64)),
                Err(_) => Err(self.bad("an int that is none")),
            },
        }
    }

    fn long1(&mut self) -> Result<(), Fault> {
        let n = usize::from(self.u8()?);
        let at = self.op_at;
        let small = number::long_to_i64(self.take(n)?);
        if small.is_some() {
            self.last_number = (at, self.pos);
        }
        self.push(small.map_or(Value::Long(at as u64), Value::Int))
    }

    fn skip_text(&mut self, op: u8) -> Result<(), Fault> {
        let width = length_width(op);
        let len = read_length(self.take(width)?);
        let left = (self.b.len() - self.pos) as u64;
        if len > left {
            let what = format!("a string of {len} bytes where {left} are left");
            return Err(Fault::truncated(self.op_at as u64, what));
        }
        self.pos += len as usize;
        Ok(())
    }

    /// The batch after a `MARK` when it is numbers alone for the list on top: notes where they lie.
    /// Anything else is left to the opcodes one by one.
    fn numbers(&mut self) -> Result<bool, Fault> {
        match self.b.get(self.pos) {
            Some(&(BINFLOAT | BININT | BININT1 | BININT2 | NEWTRUE | NEWFALSE | LONG1 | FRAME)) => {}
            _ => return Ok(false),
        }
        let Some(&Value::Node(id)) = self.stack.last() else { return Ok(false) };
        let fresh = match self.nodes.get(id as usize) {
            Some(Node::Numbers(_)) => false,
            Some(Node::List(items)) if items.is_empty() => true,
            _ => return Ok(false),
        };
        let mut spans = Vec::new();
        let end = number::scan(self.b, self.pos, &mut spans);
        if self.b.get(end) != Some(&APPENDS) || spans.is_empty() {
            return Ok(false);
        }
        self.charge(spans.len() * size_of::<Span>())?;
        match self.nodes.get_mut(id as usize) {
            Some(node) if fresh => *node = Node::Numbers(spans),
            Some(Node::Numbers(all)) => all.append(&mut spans),
            _ => return Ok(false),
        }
        self.pos = end + 1;
        Ok(true)
    }

    fn append(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        let target = self.top()?;
        let span = match item {
            Value::Int(_) => Some(number::INT),
            Value::Float(_) => Some(number::FLOAT),
            Value::Bool(_) => Some(number::BOOL),
            _ => None,
        };
        let (start, end) = self.last_number;
        if let (Some(kinds), true) = (span, end == self.op_at) {
            let span = Span { at: start as u64, count: 1, kinds };
            self.charge(size_of::<Span>())?;
            match self.node_mut(target) {
                Some(Node::Numbers(spans)) => {
                    spans.push(span);
                    return Ok(());
                }
                Some(node) if matches!(&*node, Node::List(v) if v.is_empty()) => {
                    *node = Node::Numbers(vec![span]);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.extend(target, &[item])
    }

    fn extend(&mut self, target: Value, items: &[Value]) -> Result<(), Fault> {
        if items.is_empty() && matches!(self.node_mut(target), Some(Node::Numbers(_))) {
            return Ok(());
        }
        self.unpack(target)?;
        let growth = match self.node_mut(target) {
            Some(Node::List(list) | Node::Set(list)) => growth(list, items.len()),
            Some(Node::Record(r)) => growth(&r.items, items.len()),
            _ => 0,
        };
        self.charge(growth)?;
        match self.node_mut(target) {
            Some(Node::List(list) | Node::Set(list)) => list.extend_from_slice(items),
            Some(Node::Record(r)) => r.items.extend_from_slice(items),
            _ => return Err(self.bad("items for something that is no list")),
        }
        Ok(())
    }

    /// Turns a list of numbers back into handles because something else joins it.
    fn unpack(&mut self, target: Value) -> Result<(), Fault> {
        let b = self.b;
        let Some(Node::Numbers(spans)) = self.node_mut(target) else { return Ok(()) };
        let spans = std::mem::take(spans);
        let numbers = number::Numbers { pickle: b, spans: &spans };
        self.charge(numbers.len() * 16)?;
        let values = numbers.iter().map(Value::from).collect();
        if let Some(node) = self.node_mut(target) {
            *node = Node::List(values);
        }
        Ok(())
    }

    fn set(&mut self, target: Value, flat: &[Value]) -> Result<(), Fault> {
        if !flat.len().is_multiple_of(2) {
            return Err(self.bad("a key without a value"));
        }
        let growth = match self.node_mut(target) {
            Some(Node::Dict(entries)) => growth(entries, flat.len() / 2),
            Some(Node::Record(r)) => growth(&r.entries, flat.len() / 2),
            _ => 0,
        };
        self.charge(growth)?;
        let pairs = flat.chunks_exact(2).map(|kv| (kv[0], kv[1]));
        match self.node_mut(target) {
            Some(Node::Dict(entries)) => entries.extend(pairs),
            Some(Node::Record(r)) => r.entries.extend(pairs),
            _ => return Err(self.bad("keys for something that is no dict")),
        }
        Ok(())
    }
}

/// Bytes that a vector will take more when `n` items are added. It doubles, and begins with four.
fn growth<T>(v: &Vec<T>, n: usize) -> usize {
    if v.capacity() - v.len() >= n {
        return 0;
    }
    let capacity = (v.len() + n).max(2 * v.capacity()).max(4);
    (capacity - v.capacity()) * size_of::<T>()
}
