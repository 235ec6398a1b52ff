//! Lists of numbers as runs of opcodes: found fast, decoded only when asked for.
//!
//! `tokens`, `loss_mask` and `rollout_log_probs` are Python lists, so a step is a hundred megabytes
//! of `BININT`, `BININT1` and `BINFLOAT`. The machine skips such a batch at the speed of memory and
//! keeps a [`Span`] of it: 16 bytes for up to a thousand numbers.

use super::opcode::*;

/// A run of number opcodes without anything between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Where the first opcode is in the pickle.
    pub at: u64,
    /// How many numbers.
    pub count: u32,
    /// Which of [`INT`], [`FLOAT`], [`BOOL`] occur.
    pub kinds: u8,
}

pub(super) const INT: u8 = 1;
pub(super) const FLOAT: u8 = 2;
pub(super) const BOOL: u8 = 4;

/// Bytes of each int and bool opcode with its argument, 0 for everything else.
const SIZE: [u8; 256] = {
    let mut t = [0u8; 256];
    t[BININT as usize] = 5;
    t[BININT1 as usize] = 2;
    t[BININT2 as usize] = 3;
    t[NEWTRUE as usize] = 1;
    t[NEWFALSE as usize] = 1;
    t
};

/// Longest stretch that one skip may count, so that a span's count fits. A pickler's batch has 1,000
/// items; a longer one was made by hand.
const MOST: u32 = 1 << 30;

/// Scans numbers from `at` on and pushes a span for each unbroken run (a `FRAME` breaks one).
/// Returns the position of the first opcode that is no number.
pub(super) fn scan(b: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let mut pos = at;
    let mut run = Span { at: at as u64, count: 0, kinds: 0 };
    loop {
        let (n, kinds) = match b.get(pos) {
            Some(&BINFLOAT) => (skip_floats(b, &mut pos), FLOAT),
            Some(&BININT1) => (skip_bytes(b, &mut pos), INT),
            Some(&(BININT | BININT2 | NEWTRUE | NEWFALSE)) => skip_mixed(b, &mut pos),
            Some(&LONG1) => (skip_long(b, &mut pos), INT),
            Some(&FRAME) if pos + 9 <= b.len() => {
                flush(&mut run, spans);
                pos += 9;
                run.at = pos as u64;
                continue;
            }
            _ => (0, 0),
        };
        if n == 0 {
            flush(&mut run, spans);
            return pos;
        }
        run.kinds |= kinds;
        run.count += n;
        if run.count >= MOST {
            flush(&mut run, spans);
            run.at = pos as u64;
        }
    }
}

fn flush(run: &mut Span, spans: &mut Vec<Span>) {
    if run.count > 0 {
        spans.push(*run);
    }
    (run.count, run.kinds) = (0, 0);
}

/// Floats: the opcode recurs every nine bytes.
fn skip_floats(b: &[u8], pos: &mut usize) -> u32 {
    let mut n = 0;
    while b.get(*pos) == Some(&BINFLOAT) && *pos + 9 <= b.len() && n < MOST {
        *pos += 9;
        n += 1;
    }
    n
}

/// Small ints, as in a loss mask: four opcodes to a word.
fn skip_bytes(b: &[u8], pos: &mut usize) -> u32 {
    const OPS: u64 = 0x00ff_00ff_00ff_00ff;
    const WANT: u64 = 0x004b_004b_004b_004b;
    let mut n = 0;
    while let Some(word) = b.get(*pos..*pos + 8).and_then(|s| s.try_into().ok()).map(u64::from_le_bytes) {
        if word & OPS != WANT || n >= MOST {
            break;
        }
        *pos += 8;
        n += 4;
    }
    while b.get(*pos) == Some(&BININT1) && *pos + 2 <= b.len() && n < MOST {
        *pos += 2;
        n += 1;
    }
    n
}

/// Ints of every width, as in token ids: the next position depends on this opcode, so a table is
/// better than branches that cannot be predicted. A float ends it: its kind is then known without a
/// second look.
fn skip_mixed(b: &[u8], pos: &mut usize) -> (u32, u8) {
    let (mut n, mut bools) = (0u32, 0u32);
    while let Some(&op) = b.get(*pos) {
        let size = usize::from(SIZE[usize::from(op)]);
        if size == 0 || *pos + size > b.len() || n >= MOST {
            break;
        }
        *pos += size;
        n += 1;
        bools += u32::from(op >> 7);
    }
    let kinds = if bools == 0 {
        INT
    } else if bools == n {
        BOOL
    } else {
        INT | BOOL
    };
    (n, kinds)
}

/// An int beyond 32 bits. More than eight bytes is no number for any list here.
fn skip_long(b: &[u8], pos: &mut usize) -> u32 {
    let Some(&len) = b.get(*pos + 1) else { return 0 };
    let end = *pos + 2 + usize::from(len);
    if len > 8 || end > b.len() {
        return 0;
    }
    *pos = end;
    1
}

/// A list of numbers that lies in the pickle as opcodes.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    pub(super) pickle: &'a [u8],
    pub(super) spans: &'a [Span],
}

/// One number of a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An int that fits 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// A bool.
    Bool(bool),
}

impl<'a> Numbers<'a> {
    /// How many numbers the list has.
    pub fn len(&self) -> usize {
        self.spans.iter().map(|s| s.count as usize).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether a float is among them.
    pub fn has_floats(&self) -> bool {
        self.spans.iter().any(|s| s.kinds & FLOAT != 0)
    }

    /// Every number in order.
    pub fn iter(&self) -> impl Iterator<Item = Number> + 'a {
        let pickle = self.pickle;
        self.spans.iter().flat_map(move |span| {
            let mut at = span.at as usize;
            (0..span.count).map_while(move |_| decode(pickle, &mut at))
        })
    }

    /// The numbers as `f64`; ints and bools are converted.
    pub fn to_f64(&self) -> Vec<f64> {
        self.collect(|n| match n {
            Number::Float(f) => f,
            Number::Int(i) => i as f64,
            Number::Bool(b) => f64::from(u8::from(b)),
        })
    }

    /// The numbers as `f32`, rounded to nearest; ints and bools are converted.
    pub fn to_f32(&self) -> Vec<f32> {
        self.collect(|n| match n {
            Number::Float(f) => f as f32,
            Number::Int(i) => i as f32,
            Number::Bool(b) => f32::from(u8::from(b)),
        })
    }

    /// The numbers as integers of a type; `None` when one is a float or does not fit.
    pub fn to_ints<T: TryFrom<i64>>(&self) -> Option<Vec<T>> {
        let mut out = Vec::with_capacity(self.len());
        for n in self.iter() {
            out.push(match n {
                Number::Int(i) => T::try_from(i).ok()?,
                Number::Bool(b) => T::try_from(i64::from(b)).ok()?,
                Number::Float(_) => return None,
            });
        }
        Some(out)
    }

    /// One number by position.
    pub fn get(&self, mut index: usize) -> Option<Number> {
        for span in self.spans {
            let count = span.count as usize;
            if index < count {
                let mut at = span.at as usize;
                if span.kinds == FLOAT {
                    at += 9 * index;
                } else {
                    for _ in 0..index {
                        decode(self.pickle, &mut at)?;
                    }
                }
                return decode(self.pickle, &mut at);
            }
            index -= count;
        }
        None
    }

    fn collect<T>(&self, f: impl Fn(Number) -> T) -> Vec<T> {
        // The count was scanned from bytes that are there, so it can be reserved.
        let mut out = Vec::with_capacity(self.len());
        out.extend(self.iter().map(f));
        out
    }
}

/// Decodes the number opcode at `at` and moves past it. `None` only if the bytes changed after they
/// were scanned, which a mapped file can do.
pub(super) fn decode(b: &[u8], at: &mut usize) -> Option<Number> {
    let op = *b.get(*at)?;
    let arg = b.get(*at + 1..)?;
    let (number, size) = match op {
        BINFLOAT => (Number::Float(f64::from_be_bytes(arg.get(..8)?.try_into().ok()?)), 9),
        BININT1 => (Number::Int(i64::from(*arg.first()?)), 2),
        BININT2 => (Number::Int(i64::from(u16::from_le_bytes(arg.get(..2)?.try_into().ok()?))), 3),
        BININT => (Number::Int(i64::from(i32::from_le_bytes(arg.get(..4)?.try_into().ok()?))), 5),
        NEWTRUE => (Number::Bool(true), 1),
        NEWFALSE => (Number::Bool(false), 1),
        LONG1 => {
            let len = usize::from(*arg.first()?);
            (Number::Int(long_to_i64(arg.get(1..1 + len)?)?), 2 + len)
        }
        _ => return None,
    };
    *at += size;
    Some(number)
}

/// A little-endian two's complement number of up to eight bytes.
pub(super) fn long_to_i64(b: &[u8]) -> Option<i64> {
    if b.len() > 8 {
        return None;
    }
    let fill = if b.last().is_some_and(|&top| top & 0x80 != 0) { 0xff } else { 0 };
    let mut wide = [fill; 8];
    wide[..b.len()].copy_from_slice(b);
    Some(i64::from_le_bytes(wide))
}
