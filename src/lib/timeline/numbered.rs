//! Numbers for things that many rows name.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Things in order of appearance, each once.
#[derive(Debug, Clone)]
pub(super) struct Numbered<T> {
    numbers: HashMap<T, u32, foldhash::fast::RandomState>,
    items: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { numbers: HashMap::default(), items: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of `item`; a new one when it was not met before.
    pub(super) fn of<Q>(&mut self, item: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(&number) = self.numbers.get(item) {
            return number;
        }
        let number = self.items.len() as u32;
        self.numbers.insert(item.to_owned(), number);
        self.items.push(item.to_owned());
        number
    }

    /// By number.
    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    /// By number.
    pub(super) fn into_items(self) -> Vec<T> {
        self.items
    }
}
