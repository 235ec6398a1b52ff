//! Lines that differ from an earlier one in their numbers only, read by comparing bytes.
//!
//! The lines of a telemetry stream come from a few programs that write the same keys in the same
//! order, so almost every line is an earlier one with other numbers in the same places. The *shape* of
//! a line is its bytes with the numbers of chosen fields (the *holes*) cut out. The first line of a
//! shape goes through [`decode`](crate::record::decode), which says what it means; from then on a
//! line is of that shape when the pieces between its numbers are equal byte for byte. Anything that is
//! not, or whose numbers are not plain, goes to `decode` again: this reader never guesses.

use std::collections::HashMap;
use std::marker::PhantomData;

use foldhash::fast::RandomState;

use super::number::{float, integer};

/// Most holes that any stream has.
pub(super) const MOST_HOLES: usize = 4;

/// Shapes kept before new ones are no longer learned: text that differs on every line (`detail`) would
/// otherwise fill memory, and lines of such a stream are better read one by one.
const MOST_SHAPES: usize = 1 << 16;

/// A number that differs from line to line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hole {
    /// Its key with quotes and colon, as compact JSON has it.
    pub key: &'static [u8],
    /// Whether only integers fit.
    pub integer: bool,
}

impl Hole {
    /// A float under `key`, which is written with its quotes and colon.
    pub(super) const fn float(key: &'static str) -> Self {
        Self { key: key.as_bytes(), integer: false }
    }

    /// An integer under `key`, which is written with its quotes and colon.
    pub(super) const fn integer(key: &'static str) -> Self {
        Self { key: key.as_bytes(), integer: true }
    }
}

/// A kind of line with holes. At most [`MOST_HOLES`].
pub(super) trait Holes {
    /// The holes in the order in which they stand in a line.
    const HOLES: &'static [Hole];
}

/// The numbers of a line, in the order of the holes: bits of an `f64`, or an `i64`.
pub(super) type Numbers = [u64; MOST_HOLES];

/// One shape: a piece in front of each hole and one behind the last.
#[derive(Debug)]
struct Shape {
    pieces: Box<[u8]>,
    /// Length of each piece in `pieces`.
    lengths: [u32; MOST_HOLES + 1],
    /// The shape that followed this one last time.
    next: u32,
}

/// The shapes of one stream that were met so far.
#[derive(Debug)]
pub(super) struct Shapes<H> {
    holes: PhantomData<H>,
    shapes: Vec<Shape>,
    by_pieces: HashMap<Box<[u8]>, u32, RandomState>,
    last: u32,
    /// Text of the number in the first hole of the last line, and its value: one reading of all GPUs
    /// has one time.
    first_text: Vec<u8>,
    first_value: u64,
    scratch: Vec<u8>,
}

impl<H: Holes> Shapes<H> {
    pub(super) fn new() -> Self {
        const { assert!(H::HOLES.len() <= MOST_HOLES) }
        Self {
            holes: PhantomData,
            shapes: Vec::new(),
            by_pieces: HashMap::default(),
            last: 0,
            first_text: Vec::new(),
            first_value: 0,
            scratch: Vec::new(),
        }
    }

    /// Reads the line at the front of `text` if it has a known shape. Answers the shape, its numbers and
    /// the length of the line with its newline.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<(u32, Numbers, usize)> {
        let expected = self.shapes.get(self.last as usize)?.next;
        if let Some((numbers, length)) = self.of_shape(text, expected) {
            self.last = expected;
            return Some((expected, numbers, length));
        }
        let line = text.get(..memchr::memchr(b'\n', text)?)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let cut = self.cut(line, &mut scratch);
        let found = cut.and_then(|(_, numbers)| Some((*self.by_pieces.get(scratch.as_slice())?, numbers)));
        self.scratch = scratch;
        let (shape, numbers) = found?;
        if let Some(last) = self.shapes.get_mut(self.last as usize) {
            last.next = shape;
        }
        self.last = shape;
        Some((shape, numbers, line.len() + 1))
    }

    /// Remembers the shape of `line`, which was decoded, had no unknown keys and held these numbers.
    /// Answers the number that lines of this shape will be given, or `None` when it cannot be one.
    pub(super) fn learn(&mut self, line: &[u8], numbers: &Numbers) -> Option<u32> {
        let mut pieces = Vec::new();
        let (lengths, found) = self.cut(line, &mut pieces)?;
        // A key that is there twice may be inside a nested object, and its number not the field's.
        let once = |hole: &Hole| memchr::memmem::find_iter(line, hole.key).count() == 1;
        if found != *numbers || !H::HOLES.iter().all(once) {
            return None;
        }
        if self.shapes.len() >= MOST_SHAPES || self.by_pieces.contains_key(pieces.as_slice()) {
            return None;
        }
        let id = u32::try_from(self.shapes.len()).ok()?;
        let pieces = pieces.into_boxed_slice();
        self.shapes.push(Shape { pieces: pieces.clone(), lengths, next: id });
        self.by_pieces.insert(pieces, id);
        if let Some(last) = self.shapes.get_mut(self.last as usize) {
            last.next = id;
        }
        self.last = id;
        Some(id)
    }

    /// Cuts the numbers out of `line`. Its pieces go to `pieces`, one after the other; answers how long
    /// each is, and the numbers.
    fn cut(&self, line: &[u8], pieces: &mut Vec<u8>) -> Option<([u32; MOST_HOLES + 1], Numbers)> {
        let mut lengths = [0; MOST_HOLES + 1];
        let mut numbers = [0; MOST_HOLES];
        let mut rest = line;
        for ((hole, length), value) in H::HOLES.iter().zip(&mut lengths).zip(&mut numbers) {
            let mut key_end = find(rest, hole.key)? + hole.key.len();
            // Python's default separators have a space here.
            key_end += rest.get(key_end..)?.iter().take_while(|byte| **byte == b' ').count();
            pieces.extend_from_slice(rest.get(..key_end)?);
            *length = u32::try_from(key_end).ok()?;
            (*value, rest) = number(rest.get(key_end..)?, hole.integer)?;
        }
        pieces.extend_from_slice(rest);
        *lengths.get_mut(H::HOLES.len())? = u32::try_from(rest.len()).ok()?;
        Some((lengths, numbers))
    }

    /// The numbers of the line at the front of `text` and its length, if it is of this shape.
    #[inline(always)]
    fn of_shape(&mut self, text: &[u8], shape: u32) -> Option<(Numbers, usize)> {
        let shape = self.shapes.get(shape as usize)?;
        let mut pieces = &*shape.pieces;
        let mut piece = |length: u32| {
            let (piece, rest) = pieces.split_at_checked(length as usize)?;
            pieces = rest;
            Some(piece)
        };
        let mut numbers = [0; MOST_HOLES];
        let mut rest = text;
        for (index, hole) in H::HOLES.iter().enumerate() {
            rest = behind(rest, piece(*shape.lengths.get(index)?)?)?;
            let value = numbers.get_mut(index)?;
            if index == 0 {
                // The byte behind it must not continue the number.
                if let Some(after) = behind(rest, &self.first_text)
                    && matches!(after.first(), Some(b',' | b'}'))
                    && !self.first_text.is_empty()
                {
                    *value = self.first_value;
                    rest = after;
                    continue;
                }
                let (bits, after) = number(rest, hole.integer)?;
                let used = rest.get(..rest.len() - after.len())?;
                self.first_text.clear();
                self.first_text.extend_from_slice(used);
                self.first_value = bits;
                *value = bits;
                rest = after;
            } else {
                (*value, rest) = number(rest, hole.integer)?;
            }
        }
        rest = behind(rest, piece(*shape.lengths.get(H::HOLES.len())?)?)?;
        (rest.first() == Some(&b'\n')).then_some((numbers, text.len() - rest.len() + 1))
    }
}

/// What follows `piece` in `text`. Pieces are short, and a call to compare them costs more than that.
#[inline(always)]
fn behind<'t>(text: &'t [u8], piece: &[u8]) -> Option<&'t [u8]> {
    let (front, rest) = text.split_at_checked(piece.len())?;
    same(front, piece).then_some(rest)
}

/// Whether two slices of equal length are equal: by one word from each end, which may overlap.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    /// The bits in which the first and the last `N` bytes differ, joined.
    macro_rules! ends {
        ($word:ty, $n:literal) => {
            if let (Some(a_start), Some(b_start), Some(a_end), Some(b_end)) =
                (a.first_chunk::<$n>(), b.first_chunk::<$n>(), a.last_chunk::<$n>(), b.last_chunk::<$n>())
            {
                let start = <$word>::from_ne_bytes(*a_start) ^ <$word>::from_ne_bytes(*b_start);
                let end = <$word>::from_ne_bytes(*a_end) ^ <$word>::from_ne_bytes(*b_end);
                return start | end == 0;
            }
        };
    }
    if a.len() > 64 {
        return a == b;
    }
    if let (Some(a_start), Some(b_start), Some(a_end), Some(b_end)) =
        (a.first_chunk::<32>(), b.first_chunk::<32>(), a.last_chunk::<32>(), b.last_chunk::<32>())
    {
        return a_start == b_start && a_end == b_end;
    }
    ends!(u128, 16);
    ends!(u64, 8);
    ends!(u32, 4);
    a.iter().zip(b).all(|(a, b)| a == b)
}

#[inline(always)]
fn number(text: &[u8], is_integer: bool) -> Option<(u64, &[u8])> {
    if is_integer {
        integer(text).map(|(value, rest)| (value.cast_unsigned(), rest))
    } else {
        float(text).map(|(value, rest)| (value.to_bits(), rest))
    }
}

/// Where `key` starts in `text`. Keys are short and near: looking for their quote is fastest.
fn find(text: &[u8], key: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'"', text).find(|&at| text.get(at..).is_some_and(|from| from.starts_with(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Lines;

    impl Holes for Lines {
        const HOLES: &'static [Hole] = &[Hole::float("\"ts\":"), Hole::integer("\"n\":")];
    }

    fn value(numbers: Numbers) -> (f64, i64) {
        (f64::from_bits(numbers[0]), numbers[1].cast_signed())
    }

    #[test]
    fn a_learned_shape_reads_other_numbers_and_nothing_else() {
        let mut shapes = Shapes::<Lines>::new();
        assert!(shapes.read(b"{\"ts\":1,\"n\":2}\n").is_none());
        let numbers = [1.5_f64.to_bits(), 2, 0, 0];
        let first = shapes.learn(br#"{"ts":1.5,"a":"x","n":2}"#, &numbers).unwrap();
        let second = shapes.learn(br#"{"ts":1.5,"a":"y","n":2}"#, &numbers).unwrap();
        let mut read =
            |line: &str| shapes.read(line.as_bytes()).map(|(id, n, length)| (id, value(n), length));
        assert_eq!(read("{\"ts\":7,\"a\":\"x\",\"n\":-9}\n..."), Some((first, (7.0, -9), 24)));
        assert_eq!(read("{\"ts\":7,\"a\":\"y\",\"n\":1}\n"), Some((second, (7.0, 1), 23)));
        assert_eq!(read("{\"ts\":70,\"a\":\"x\",\"n\":1}\n"), Some((first, (70.0, 1), 24)));
        for other in [
            "{\"ts\":7,\"a\":\"z\",\"n\":1}\n",
            "{\"ts\":7,\"a\":\"x\",\"n\":1.5}\n",
            "{\"ts\":7,\"a\":\"x\",\"n\":1} \n",
            "{\"ts\":7,\"a\":\"x\",\"n\":1}",
            "{\"ts\":07,\"a\":\"x\",\"n\":1}\n",
            "{\"ts\":null,\"a\":\"x\",\"n\":1}\n",
            "{\"ts\":7{\"ts\":7,\"a\":\"x\",\"n\":1}\n",
            "",
            "\n",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_that_is_not_plain_has_no_shape() {
        let mut shapes = Shapes::<Lines>::new();
        let numbers = [1.0_f64.to_bits(), 1, 0, 0];
        for line in [
            r#"{"n":1,"ts":1}"#,
            r#"{"ts":1}"#,
            r#"{"ts":NaN,"n":1}"#,
            r#"{"ts":1,"n":2}"#,
            r#"{"ts":1,"x":{"n":1},"n":1}"#,
            "",
        ] {
            assert_eq!(shapes.learn(line.as_bytes(), &numbers), None, "{line}");
        }
        assert_eq!(shapes.learn(br#"{"ts": 1, "n": 1}"#, &numbers), Some(0));
    }
}
