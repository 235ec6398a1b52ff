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

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans of a batch as (position, count, kinds), and where the scan ended.
    fn scanned(b: &[u8]) -> (Vec<(u64, u32, u8)>, usize) {
        let mut spans = Vec::new();
        let end = scan(b, 0, &mut spans);
        (spans.iter().map(|s| (s.at, s.count, s.kinds)).collect(), end)
    }

    fn values(b: &[u8]) -> Vec<Number> {
        let mut spans = Vec::new();
        scan(b, 0, &mut spans);
        let numbers = Numbers { pickle: b, spans: &spans };
        let list: Vec<Number> = numbers.iter().collect();
        assert_eq!((0..numbers.len()).filter_map(|i| numbers.get(i)).collect::<Vec<_>>(), list);
        list
    }

    const FLOAT_1: &[u8] = b"G\x3f\xf0\0\0\0\0\0\0";
    const FRAME_0: &[u8] = b"\x95\0\0\0\0\0\0\0\0";

    #[test]
    fn a_run_of_each_opcode_is_one_span() {
        let each: [(&[u8], u8, Number); 8] = [
            (b"K\xff", INT, Number::Int(255)),
            (b"M\xff\xff", INT, Number::Int(65_535)),
            (b"J\xff\xff\xff\xff", INT, Number::Int(-1)),
            (b"\x8a\x05\0\0\0\0\x01", INT, Number::Int(1 << 32)),
            (b"\x8a\0", INT, Number::Int(0)),
            (FLOAT_1, FLOAT, Number::Float(1.0)),
            (b"\x88", BOOL, Number::Bool(true)),
            (b"\x89", BOOL, Number::Bool(false)),
        ];
        for (op, kind, value) in each {
            // Odd and even, around what is looked at in one word.
            for n in [1usize, 2, 3, 4, 5, 7, 8, 9, 63, 1000] {
                let b = [&op.repeat(n)[..], b"e"].concat();
                assert_eq!(scanned(&b), (vec![(0, n as u32, kind)], b.len() - 1), "{n} of {op:?}");
                assert_eq!(values(&b), vec![value; n]);
            }
        }
    }

    #[test]
    fn kinds_are_known_of_a_mixed_run() {
        let b =
            [b"K\x01\x88".to_vec(), FLOAT_1.to_vec(), b"M\x00\x01J\x02\0\0\0\x8a\x01\x80e".to_vec()].concat();
        assert_eq!(scanned(&b), (vec![(0, 6, INT | BOOL | FLOAT)], b.len() - 1));
        let want = [Number::Int(1), Number::Bool(true), Number::Float(1.0), Number::Int(256), Number::Int(2)];
        assert_eq!(values(&b)[..5], want);
        assert_eq!(values(&b)[5], Number::Int(-128));
        assert_eq!(scanned(b"K\x01\x88e").0, [(0, 2, INT | BOOL)]);
    }

    #[test]
    fn a_frame_breaks_a_run_and_is_no_number() {
        let b = [b"K\x01K\x02", FRAME_0, FLOAT_1, FRAME_0, FRAME_0, b"K\x03", FRAME_0, b"e"].concat();
        assert_eq!(scanned(&b), (vec![(0, 2, INT), (13, 1, FLOAT), (40, 1, INT)], b.len() - 1));
        let want = [Number::Int(1), Number::Int(2), Number::Float(1.0), Number::Int(3)];
        assert_eq!(values(&b), want);
        // A frame that the pickle cuts off is left to the machine.
        assert_eq!(scanned(&b[..8]), (vec![(0, 2, INT)], 4));
    }

    #[test]
    fn the_scan_ends_where_the_bytes_end() {
        // No opcode behind the numbers: words, floats and single opcodes end exactly at the end.
        for n in 0..40 {
            let b = b"K\x07".repeat(n);
            assert_eq!(scanned(&b).1, b.len());
            assert_eq!(values(&b).len(), n);
        }
        for n in 0..4 {
            let b = FLOAT_1.repeat(n);
            assert_eq!((scanned(&b).1, values(&b).len()), (b.len(), n));
        }
    }

    #[test]
    fn a_number_that_is_cut_off_is_none() {
        let each: [&[u8]; 6] =
            [b"K\x01", b"M\x01\x02", b"J\x01\x02\x03\x04", FLOAT_1, b"\x8a\x02\x01\x02", b"\x8a\0"];
        for op in each {
            for cut in 1..op.len() {
                let b = [&b"K\x01".repeat(9), &op[..cut]].concat();
                assert_eq!(scanned(&b), (vec![(0, 9, INT)], 18), "{op:?} cut to {cut}");
                assert_eq!(decode(&op[..cut], &mut 0), None);
            }
        }
    }

    #[test]
    fn a_long_of_up_to_eight_bytes_is_a_number() {
        let full = 0x7f06_0504_0302_01ff_i64.to_le_bytes();
        for len in 0..=8usize {
            let b = [&[LONG1, len as u8], &full[..len], b"e"].concat();
            // What Python's int.from_bytes(…, "little", signed=True) says.
            let wide = full[..len].iter().rev().fold(0i128, |n, &x| n << 8 | i128::from(x));
            let negative = len > 0 && full[len - 1] & 0x80 != 0;
            let want = if negative { wide - (1 << (8 * len)) } else { wide };
            assert_eq!(values(&b), [Number::Int(want as i64)], "{len} bytes");
            assert_eq!(scanned(&b).1, 2 + len);
        }
        let nine = [&[LONG1, 9][..], &[1; 9], b"e"].concat();
        assert_eq!(scanned(&nine), (Vec::new(), 0));
        assert_eq!(decode(&nine, &mut 0), None);
        assert_eq!(long_to_i64(&[0xff; 8]), Some(-1));
        assert_eq!(long_to_i64(&[0; 9]), None);
    }
}
