//! What is known of texts and lists, found by where they lie.
//!
//! The rows of a block that are of one kind share the texts of their kind, so that a row's texts have
//! mostly been met before, at the same place. What lies at one address with one length is the same text
//! for as long as it is borrowed; two places can hold equal texts, and are then told apart for nothing.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Where a text or list lies, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(usize, usize);

impl Address {
    /// The bytes of a text are a list too.
    pub(super) fn of<T>(list: &[T]) -> Self {
        Self(list.as_ptr().addr(), list.len())
    }
}

impl Hash for Address {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Few lists at one address have different lengths.
        state.write_usize(self.0);
    }
}

/// Values by keys made of addresses and numbers.
pub(super) type ByAddress<K, T> = HashMap<K, T, BuildHasherDefault<AddressHasher>>;

/// Mixes addresses; they are no secret and nobody chooses them.
#[derive(Debug, Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, number: usize) {
        // A multiplication spreads to the high bits and a rotation brings them to the low ones: the table
        // looks at both ends. The factor is 2^64 over the golden ratio, as Knuth has it.
        let mixed = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed.rotate_left(26);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_usize(number as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_at_two_places_have_two_addresses() {
        let (one, other) = (String::from("ab"), String::from("ab"));
        let mut known: ByAddress<(Address, i64), i32> = ByAddress::default();
        let mut number = |text: &str, rank| {
            let next = known.len() as i32;
            *known.entry((Address::of(text.as_bytes()), rank)).or_insert(next)
        };
        assert_eq!([number(&one, 0), number(&other, 0), number(&one, 0), number(&one, 1)], [0, 1, 0, 2]);
        assert_eq!(number(&one[..1], 0), 3, "a part of a text is another text");
    }
}
