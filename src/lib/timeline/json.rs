//! Long answers as JSON text, written by all threads.
//!
//! Only answers of megabytes are written so; what a value looks like is serde_json's.

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{Error, Serializer};
use serde_json::value::RawValue;

/// Appends `value`. NaN and infinities are null.
pub(super) fn put(value: impl Serialize, out: &mut Vec<u8>) {
    // Numbers and texts can always be written, and so can a `Vec`.
    let _ = serde_json::to_writer(out, &value);
}

/// `open`, what `each` makes of the items with commas between, `close`. An item may add any number of
/// values, each with a comma behind it.
pub(super) fn joined<T: Sync>(
    open: &str,
    items: &[T],
    close: &str,
    each: impl Fn(&T, &mut Vec<u8>) + Sync,
) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = items
        .par_iter()
        .map(|item| {
            let mut out = Vec::new();
            each(item, &mut out);
            out
        })
        .collect();
    let mut out = Vec::with_capacity(open.len() + parts.iter().map(Vec::len).sum::<usize>() + close.len());
    out.extend_from_slice(open.as_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.extend_from_slice(close.as_bytes());
    out
}

/// Serializes text that is JSON already.
pub(super) fn raw<S: Serializer>(text: Vec<u8>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = String::from_utf8(text).map_err(S::Error::custom)?;
    RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_joined_in_order_whatever_each_adds() {
        let text = |items: &[usize]| {
            let out = joined("[", items, "]", |&count, out| {
                (0..count).for_each(|at| {
                    put(at as f64, out);
                    out.push(b',');
                });
            });
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&[2, 0, 1]), "[0.0,1.0,0.0]");
        assert_eq!(text(&[0]), "[]");
        assert_eq!(text(&[]), "[]");
    }
}
