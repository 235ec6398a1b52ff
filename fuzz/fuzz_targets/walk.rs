//! Looks at everything a file holds, in every way its reader offers. Shared by targets.

use miles::pt::{Elements, Error, File, Kind, Limits, Number, Ref};

/// Small, so that what a file may cost is reached quickly and what goes beyond it shows.
pub fn limits() -> Limits {
    Limits {
        arena_bytes: 4 << 20,
        depth: 100,
        elements: 1 << 14,
        inflated_bytes: 1 << 18,
        shown_bytes: 1 << 16,
    }
}

/// Values visited of one file: shared ones are met again and again.
const VISITS: u32 = 4096;

/// Walks a file from its root.
pub fn all(file: &File) {
    let mut visits = VISITS;
    value(file.root(), 40, &mut visits);
    let json = file.root().to_json();
    assert!(json.len() <= bound(file), "{} bytes of text from {}", json.len(), file.bytes());
    if let Err(e) = serde_json::from_str::<Json>(&json) {
        // serde_json stops at 128 levels, which is deeper than the limits here.
        panic!("{e}: {}", &json[..json.len().min(2000)]);
    }
    let _ = file.replaced_characters();
}

/// The text may pass the limit by what is written without asking again: one string, closing brackets.
fn bound(file: &File) -> usize {
    limits().shown_bytes * 2 + file.bytes() as usize * 8 + 100_000
}

/// Any JSON, numbers of any width.
struct Json;

impl<'de> serde::Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(d).map(|_| Self)
    }
}

fn value(r: Ref<'_>, depth: u32, visits: &mut u32) {
    if depth == 0 || *visits == 0 {
        return;
    }
    *visits -= 1;
    let numbers = r.numbers();
    let _ = (r.identity(), r.is_none(), r.as_i64(), r.as_f64(), r.as_bool(), r.as_str(), r.is_empty());
    let _ = (r.at(0), r.at(usize::MAX), r.get("samples"), r.tensor().is_ok());
    let mut each = |items: &[Ref<'_>]| items.iter().for_each(|i| value(*i, depth - 1, visits));
    match r.kind() {
        Err(e) => said(&e),
        Ok(Kind::Numbers(n)) => {
            let list: Vec<Number> = n.iter().collect();
            assert_eq!(list.len(), n.len());
            assert_eq!(r.len(), Some(n.len()));
            assert_eq!(n.to_f64().len(), n.len());
            assert_eq!(n.to_f32().len(), n.len());
            assert_eq!(n.has_floats(), list.iter().any(|x| matches!(x, Number::Float(_))));
            let ints = n.to_ints::<i64>();
            assert_eq!(ints.is_some(), !n.has_floats());
            for at in [0, 1, n.len() / 2, n.len().saturating_sub(1), n.len()] {
                let (got, want) = (n.get(at), list.get(at).copied());
                assert!(
                    got == want || matches!(got, Some(Number::Float(f)) if f.is_nan()),
                    "{got:?} {want:?}"
                );
            }
            assert!(numbers.is_some());
        }
        Ok(Kind::List(items) | Kind::Tuple(items) | Kind::Set(items)) => {
            assert_eq!(r.len(), Some(items.len()));
            assert_eq!(r.items().map(|i| i.len()), Some(items.len()));
            assert_eq!(r.at(0).is_some(), !items.is_empty());
            each(&items);
        }
        Ok(Kind::Dict(entries)) => {
            for (k, v) in &entries {
                if let Some(key) = k.as_str() {
                    let _ = r.get(&key);
                }
                each(&[*k, *v]);
            }
        }
        Ok(Kind::Object(o)) => {
            each(&o.args);
            each(&o.items);
            if let Some(state) = o.state {
                each(&[state]);
            }
            for (k, v) in o.fields().unwrap_or_default().into_iter().chain(o.entries) {
                each(&[k, v]);
            }
        }
        Ok(Kind::Tensor(t)) => {
            let (check, all) = (t.check(), t.elements());
            if let Ok(elements) = &all {
                assert!(check.is_ok());
                assert_eq!(Some(count(elements)), t.elements_len());
                // What is borrowed from the file is what is decoded from it.
                if let (Elements::F32(want), Ok(got)) = (elements, t.to_f32()) {
                    assert!(want.iter().map(|x| x.to_bits()).eq(got.iter().map(|x| x.to_bits())));
                }
                if let (Elements::Int(want), Ok(got)) = (elements, t.to_i32()) {
                    assert!(want.iter().copied().eq(got.iter().map(|&x| i64::from(x))));
                }
            }
            let _ = (t.to_f32().is_ok(), t.to_i32().is_ok(), t.to_ints::<u8>().is_ok());
            let _ = (t.logical_bytes(), t.storage_bytes(), t.dtype.name());
        }
        Ok(Kind::Array(a)) => {
            if let Ok(elements) = a.elements() {
                assert_eq!(count(&elements), a.elements_len());
            }
        }
        Ok(kind) => {
            let _ = kind.type_name();
        }
    }
}

fn count(e: &Elements) -> u64 {
    let n = match e {
        Elements::Bool(v) => v.len(),
        Elements::Int(v) => v.len(),
        Elements::U64(v) => v.len(),
        Elements::F32(v) => v.len(),
        Elements::F64(v) => v.len(),
        Elements::Complex(v) => v.len(),
        Elements::Text(v) => v.len(),
    };
    n as u64
}

/// An error is one line that names the file.
pub fn said(e: &Error) {
    let text = e.to_string();
    assert!(text.starts_with("fuzz.pt: "), "{text}");
    let _ = (e.hint(), e.may_be_unfinished());
}
