//! Any value as JSON text: for the columns and files where whatever the user's code left has to be
//! shown. Strict JSON: NaN and infinities are null, what JSON has no form for is a tagged object.
//!
//! | value | JSON |
//! | --- | --- |
//! | tuple, set | array |
//! | dict | object, keys that are no strings as their JSON text |
//! | int beyond 64 bits | its digits |
//! | bytes | `{"$bytes": length}` |
//! | tensor, array | `{"$tensor": {"dtype", "shape"}}`, `{"$array": …}`, up to 64 elements with `"values"` |
//! | class, dtype, function | `{"$name": "torch.float32"}` |
//! | any other object | `{"$object": class, "args": […], "state": …}` |
//! | what cannot be read | `{"$error": why}` |

use std::fmt::Write;

use super::dtype::Elements;
use super::number::{Number, Numbers};
use super::object::{Account, Object};
use super::value::{Kind, Ref};

/// Values shown of a tensor or array; larger ones are named by dtype and shape.
const SHOWN: u64 = 64;

/// Text that an honest pickle makes of each of its bytes, at most: a shared key of thirty letters is two
/// bytes. A kilobyte of nested references could otherwise fill [`super::Limits::shown_bytes`] for every
/// sample of a batch.
const GROWTH: usize = 32;
/// Text that any file may make, so that a tiny one is not cut off.
const LEAST: usize = 64 << 10;

impl Ref<'_> {
    /// The value as one JSON text. What is nested too deep or would grow beyond
    /// [`super::Limits::shown_bytes`], or far beyond the file's own pickle, is cut off with an `$error`.
    pub fn to_json(self) -> String {
        let limits = self.file.limits();
        let _account = Account::open();
        let fair = self.file.pickle().len().saturating_mul(GROWTH).saturating_add(LEAST);
        let longest = limits.shown_bytes.min(fair);
        let mut out = Text { text: String::new(), longest };
        write(self, &mut out, limits.depth);
        out.text
    }
}

/// Text that grows, and where it must stop: forty nested references can stand for more than any disk.
struct Text {
    text: String,
    longest: usize,
}

impl Text {
    fn is_full(&self) -> bool {
        self.text.len() > self.longest
    }

    fn push(&mut self, c: char) {
        self.text.push(c);
    }

    fn push_str(&mut self, s: &str) {
        self.text.push_str(s);
    }
}

fn write(r: Ref<'_>, out: &mut Text, depth: usize) {
    if out.is_full() {
        return tagged(out, "$error", "the value is too large to show");
    }
    let kind = match r.kind() {
        Ok(_) if depth == 0 => return tagged(out, "$error", "the value is nested too deep to show"),
        Ok(kind) => kind,
        Err(e) => return tagged(out, "$error", &e.kind.to_string()),
    };
    match kind {
        Kind::None => out.push_str("null"),
        Kind::Bool(b) => out.push_str(if b { "true" } else { "false" }),
        Kind::Int(i) => show(out, i),
        Kind::BigInt(digits) => out.push_str(&digits),
        Kind::Float(f) => float(out, f),
        Kind::Complex(re, im) => {
            out.push_str("{\"$complex\":[");
            float(out, re);
            out.push(',');
            float(out, im);
            out.push_str("]}");
        }
        Kind::Str(s) => string(out, &s),
        Kind::Bytes(b) => show(out, format_args!("{{\"$bytes\":{}}}", b.len())),
        Kind::Numbers(n) => numbers(out, n),
        Kind::List(items) | Kind::Tuple(items) | Kind::Set(items) => {
            list(out, items, |out, item| write(item, out, depth - 1));
        }
        Kind::Dict(entries) => dict(out, &entries, depth),
        Kind::Tensor(t) => {
            let few = t.elements_len().is_some_and(|n| n <= SHOWN);
            let values = few.then(|| t.elements().ok()).flatten();
            array(out, "$tensor", &t.dtype.name(), &t.shape, values);
        }
        Kind::Array(a) => {
            let few = a.elements_len() <= SHOWN;
            let values = few.then(|| a.elements().ok()).flatten();
            array(out, "$array", &a.dtype.name(), &a.shape, values);
        }
        Kind::Name(name) => tagged(out, "$name", &name),
        Kind::Storage(class) => tagged(out, "$storage", &class),
        Kind::Object(o) => object(out, &o, depth),
    }
}

fn numbers(out: &mut Text, n: Numbers<'_>) {
    list(out, n.iter(), |out, n| match n {
        Number::Int(i) => show(out, i),
        Number::Float(f) => float(out, f),
        Number::Bool(b) => show(out, b),
    });
}

fn show(out: &mut Text, what: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out.text, "{what}");
}

fn float(out: &mut Text, f: f64) {
    if !f.is_finite() {
        out.push_str("null");
        return;
    }
    show(out, format_args!("{f:?}"));
}

fn string(out: &mut Text, s: &str) {
    match serde_json::to_string(s) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => out.push_str("\"\""),
    }
}

fn tagged(out: &mut Text, tag: &str, text: &str) {
    show(out, format_args!("{{\"{tag}\":"));
    string(out, text);
    out.push('}');
}

fn list<T>(out: &mut Text, items: impl IntoIterator<Item = T>, mut f: impl FnMut(&mut Text, T)) {
    out.push('[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if out.is_full() {
            tagged(out, "$error", "the value is too large to show");
            break;
        }
        f(out, item);
    }
    out.push(']');
}

fn dict(out: &mut Text, entries: &[(Ref<'_>, Ref<'_>)], depth: usize) {
    out.push('{');
    let mut first = true;
    for (k, v) in entries {
        if !first {
            out.push(',');
        }
        first = false;
        if out.is_full() {
            // One long key can be set any number of times.
            out.push_str("\"$error\":\"the value is too large to show\"");
            break;
        }
        match k.as_str() {
            Some(key) => string(out, &key),
            None => {
                // Quoting a key that is an object doubles its quotes, and so at each level of keys.
                let mut key = Text { text: String::new(), longest: out.longest - out.text.len() };
                write(*k, &mut key, depth - 1);
                if key.is_full() {
                    // What such a key belongs to is not shown either, or every level would begin anew.
                    key.text = "$error: a key too large to show".to_owned();
                    out.longest = 0;
                }
                string(out, &key.text);
            }
        }
        out.push(':');
        write(*v, out, depth - 1);
    }
    out.push('}');
}

fn object(out: &mut Text, o: &Object<'_>, depth: usize) {
    out.push_str("{\"$object\":");
    string(out, &o.class);
    if !o.args.is_empty() {
        out.push_str(",\"args\":");
        list(out, &o.args, |out, a| write(*a, out, depth - 1));
    }
    if let Some(state) = o.state {
        out.push_str(",\"state\":");
        match o.fields() {
            Some(fields) => dict(out, &fields, depth),
            None => write(state, out, depth - 1),
        }
    }
    if !o.items.is_empty() {
        out.push_str(",\"items\":");
        list(out, &o.items, |out, a| write(*a, out, depth - 1));
    }
    if !o.entries.is_empty() {
        out.push_str(",\"entries\":");
        dict(out, &o.entries, depth);
    }
    out.push('}');
}

fn array(out: &mut Text, tag: &str, dtype: &str, shape: &[u64], values: Option<Elements>) {
    show(out, format_args!("{{\"{tag}\":{{\"dtype\":\"{dtype}\",\"shape\":"));
    list(out, shape, show);
    if let Some(values) = values {
        out.push_str(",\"values\":");
        match values {
            Elements::Bool(v) => list(out, v, show),
            Elements::Int(v) => list(out, v, show),
            Elements::U64(v) => list(out, v, show),
            Elements::F32(v) => list(out, v, |out, x| {
                if x.is_finite() { show(out, format_args!("{x:?}")) } else { out.push_str("null") }
            }),
            Elements::F64(v) => list(out, v, float),
            Elements::Complex(v) => list(out, v, |out, (re, im)| list(out, [re, im], float)),
            Elements::Text(v) => list(out, v, |out, x| string(out, &x)),
        }
    }
    out.push_str("}}");
}
