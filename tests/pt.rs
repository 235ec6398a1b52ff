//! The `.pt` reader against files written by real torch, value for value.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use miles::pt::{Elements, Error, ErrorKind, File, Foreign, Kind, Limits, Ref};
use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pt")
}

fn expected() -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(fixtures().join("expected.json")).unwrap();
    // Python writes the surrogate that it read; every reader here answers U+FFFD.
    serde_json::from_str(&text.replace("label\\udc00", "label\\ufffd")).unwrap()
}

fn number(f: f64) -> Value {
    match f {
        f if f.is_nan() => json!({"$float": "NaN"}),
        f64::INFINITY => json!({"$float": "Infinity"}),
        f64::NEG_INFINITY => json!({"$float": "-Infinity"}),
        f => json!(f),
    }
}

fn flat(e: Elements) -> Vec<Value> {
    let text = |f: f64| match number(f) {
        Value::Object(o) => o["$float"].clone(),
        other => other,
    };
    match e {
        Elements::Bool(v) => v.into_iter().map(Value::from).collect(),
        Elements::Int(v) => v.into_iter().map(Value::from).collect(),
        Elements::U64(v) => v.into_iter().map(Value::from).collect(),
        Elements::F32(v) => v.into_iter().map(|f| text(f64::from(f))).collect(),
        Elements::F64(v) => v.into_iter().map(text).collect(),
        Elements::Complex(v) => v.into_iter().map(|(a, b)| json!({"$complex": [text(a), text(b)]})).collect(),
        Elements::Text(v) => v.into_iter().map(Value::from).collect(),
    }
}

/// The value in the notation of `expected.json`. Tensors are read, so a lie about one is an error.
fn view(r: Ref<'_>, path: &mut Vec<u32>) -> Result<Value, Error> {
    if let Some(id) = r.identity() {
        if path.contains(&id) {
            return Ok(json!({"$cycle": true}));
        }
        if path.len() > 60 {
            return Ok(json!({"$error": "limit"}));
        }
        path.push(id);
    }
    let list = |items: Vec<Ref<'_>>, path: &mut Vec<u32>| -> Result<Vec<Value>, Error> {
        items.into_iter().map(|i| view(i, path)).collect()
    };
    let value = match r.kind()? {
        Kind::None => Value::Null,
        Kind::Bool(b) => json!(b),
        Kind::Int(i) => json!(i),
        Kind::BigInt(digits) => json!({"$int": digits}),
        Kind::Float(f) => number(f),
        Kind::Complex(a, b) => json!({"$complex": [number(a), number(b)]}),
        Kind::Str(s) => json!(s),
        Kind::Bytes(b) => json!({"$bytes": b.iter().map(|c| format!("{c:02x}")).collect::<String>()}),
        Kind::Numbers(n) => n
            .iter()
            .map(|n| match n {
                miles::pt::Number::Int(i) => json!(i),
                miles::pt::Number::Float(f) => number(f),
                miles::pt::Number::Bool(b) => json!(b),
            })
            .collect(),
        Kind::List(items) => list(items, path)?.into(),
        Kind::Tuple(items) => json!({"$tuple": list(items, path)?}),
        Kind::Set(items) => {
            let mut items = list(items, path)?;
            items.sort_by_key(ToString::to_string);
            json!({"$set": items})
        }
        Kind::Dict(entries) => {
            let mut pairs = Vec::new();
            for (k, v) in entries {
                pairs.push(json!([view(k, path)?, view(v, path)?]));
            }
            json!({"$dict": pairs})
        }
        Kind::Tensor(t) => json!({"$tensor": {
            "dtype": t.dtype.name(), "shape": t.shape, "device": t.device,
            "storage_bytes": t.storage_bytes(), "logical_bytes": t.logical_bytes(),
            "values": flat(t.elements()?),
        }}),
        Kind::Array(a) => match a.elements() {
            Ok(e) => json!({"$array": {"dtype": a.dtype.name(), "shape": a.shape, "values": flat(e)}}),
            Err(_) => json!({"$array": {"dtype": a.dtype.name(), "shape": a.shape}}),
        },
        Kind::Name(name) => json!({"$global": name}),
        Kind::Storage(class) => json!({"$storage": class}),
        Kind::Object(o) => {
            let mut out = json!({"class": o.class});
            if !o.args.is_empty() {
                out["args"] = list(o.args, path)?.into();
            }
            if let Some(state) = o.state {
                out["state"] = view(state, path)?;
            }
            if o.class == "builtins.range" { json!({"$range": out["args"]}) } else { json!({"$object": out}) }
        }
        other => panic!("a kind the test does not know: {other:?}"),
    };
    if r.identity().is_some() {
        path.pop();
    }
    Ok(value)
}

/// Where `got` differs from `want`. An object in `want` is a dict with string keys.
fn differs(want: &Value, got: &Value, at: &str) -> Option<String> {
    let no = || Some(format!("{at}: want {want}, got {got}"));
    match want {
        Value::Object(w) if w.contains_key("$any") => None,
        Value::Object(w) if w.contains_key("$cycle") => (got.get("$cycle").is_none()).then(no)?,
        Value::Object(w) if w.contains_key("$set") => {
            let mut items = w["$set"].as_array()?.clone();
            items.sort_by_key(ToString::to_string);
            differs(&items.into(), got.get("$set").unwrap_or(&Value::Null), at)
        }
        Value::Object(w) if w.contains_key("$device") => {
            let name = format!("torch.device({})", w["$device"].as_str()?);
            (got != &json!({"$global": name})).then(no)?
        }
        Value::Object(w) if w.contains_key("$dtype") => {
            let name = format!("torch.{}", w["$dtype"].as_str()?);
            (got != &json!({"$global": name})).then(no)?
        }
        Value::Number(n) if got.get("$int").is_some() => (got["$int"] != json!(n.to_string())).then(no)?,
        Value::Object(w) if w.keys().any(|k| k.starts_with('$')) => {
            let (tag, body) = w.iter().next()?;
            let Some(mine) = got.get(tag) else { return no() };
            match body {
                Value::Object(fields) if tag != "$dict" => fields.iter().find_map(|(k, v)| {
                    let at = format!("{at}.{k}");
                    match mine.get(k) {
                        Some(m) => differs(v, m, &at),
                        None => Some(format!("{at}: missing, want {v}")),
                    }
                }),
                _ => differs(body, mine, at),
            }
        }
        Value::Object(w) => {
            let Some(pairs) = got.get("$dict").and_then(Value::as_array) else { return no() };
            if pairs.len() != w.len() {
                return Some(format!("{at}: {} keys, want {}", pairs.len(), w.len()));
            }
            w.iter().find_map(|(k, v)| match pairs.iter().find(|p| p[0] == json!(k)) {
                Some(p) => differs(v, &p[1], &format!("{at}.{k}")),
                None => Some(format!("{at}: no key {k}")),
            })
        }
        Value::Array(w) => {
            let Some(g) = got.as_array().filter(|g| g.len() == w.len()) else { return no() };
            w.iter().zip(g).enumerate().find_map(|(i, (w, g))| differs(w, g, &format!("{at}[{i}]")))
        }
        // An int and a float are different answers, -0.0 and 0.0 too: their texts differ.
        #[allow(clippy::cmp_owned)]
        _ => (want.to_string() != got.to_string()).then(no)?,
    }
}

fn short(e: &Error) -> &'static str {
    match &e.kind {
        ErrorKind::Foreign(Foreign::LegacyTorch) => "legacy",
        ErrorKind::Foreign(Foreign::TorchScript) => "torchscript",
        ErrorKind::Foreign(Foreign::LfsPointer) => "lfs",
        ErrorKind::Foreign(_) => "not-torch",
        ErrorKind::Truncated(_) => "truncated",
        ErrorKind::Limit(_) => "limit",
        ErrorKind::Unsupported(_) => "unsupported",
        _ => "corrupt",
    }
}

#[test]
fn every_file_of_real_torch_reads_as_torch_reads_it() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (name, want) in &expected() {
        // Loads at once and would be walked for ever: it has a test of its own.
        if name == "hostile_doubling.pt" {
            continue;
        }
        seen += 1;
        let got = File::open(fixtures().join(name)).and_then(|f| view(f.root(), &mut Vec::new()));
        let error = want["error"].as_str();
        let also: Vec<Option<&str>> =
            want["error_also"].as_array().into_iter().flatten().map(Value::as_str).collect();
        let problem = match (&got, error) {
            (Ok(tree), None) => differs(&want["tree"], tree, "root"),
            (Ok(_), Some(e)) if also.contains(&None) || e == "none" => None,
            (Ok(tree), Some(e)) if tree.to_string().contains("$error") => {
                (e != "limit").then(|| e.to_owned())
            }
            (Ok(_), Some(e)) => Some(format!("loads, want {e}")),
            (Err(e), _) if Some(short(e)) == error || also.contains(&Some(short(e))) => None,
            // What is not read by choice says so: that is an answer too.
            (Err(e), Some("corrupt")) if short(e) == "unsupported" => None,
            (Err(e), _) => Some(format!("{} ({e}), want {error:?}", short(e))),
        };
        wrong.extend(problem.map(|p| format!("{name}: {}", &p[..p.len().min(600)])));
    }
    assert!(seen > 100, "only {seen} fixtures");
    assert!(wrong.is_empty(), "{} of {seen} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn errors_name_the_file_and_the_byte() {
    let e = File::open(fixtures().join("cut_in_storage.pt")).unwrap_err();
    assert!(e.to_string().contains("cut_in_storage.pt: truncated: "), "{e}");
    assert!(e.to_string().contains(" at byte 778"), "{e}");
    let e = File::open(fixtures()).unwrap_err();
    assert!(e.to_string().ends_with("a directory, not a torch file"), "{e}");
    let e = File::open(fixtures().join("no-such.pt")).unwrap_err();
    assert!(matches!(e.kind, ErrorKind::Io(_)), "{e}");
}

#[test]
fn a_lone_surrogate_is_replaced_and_counted() {
    let file = File::open(fixtures().join("surrogate.pt")).unwrap();
    let tree = view(file.root(), &mut Vec::new()).unwrap();
    assert!(tree.to_string().contains('\u{fffd}'));
    assert!(file.replaced_characters() > 0);
}

#[test]
fn forty_doublings_cost_nothing_and_are_cut_off_when_shown() {
    let limits = Limits { shown_bytes: 1 << 20, ..Limits::default() };
    let file = File::open_with(fixtures().join("hostile_doubling.pt"), &limits).unwrap();
    let shown = file.root().to_json();
    assert!(shown.contains("$error") && shown.len() < 2 << 20);
}

#[test]
fn a_budget_bounds_what_a_pickle_builds() {
    let limits = Limits { arena_bytes: 10_000, ..Limits::default() };
    let e = File::open_with(fixtures().join("batches_dict.pt"), &limits).unwrap_err();
    assert_eq!(short(&e), "limit", "{e}");
}
