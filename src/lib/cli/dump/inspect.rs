//! `miles-dump inspect`: the tree of any torch file.
//!
//! A value that several places share is shown once and named where it recurs, so that no file can make
//! the tree larger than itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::args::InspectArgs;
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::{Cell, Column, Kind, RowSink};
use crate::pt::{self, File, Kind as Value, Ref};
use crate::rollout;

const COLUMNS: [Column; 7] = [
    Column::new("path", Kind::Text),
    Column::new("type", Kind::Text),
    Column::new("dtype", Kind::Text),
    // Sizes of a tensor or array, or the number of elements of a container.
    Column::new("shape", Kind::Ints),
    Column::new("bytes", Kind::Int),
    Column::new("device", Kind::Text),
    Column::new("value", Kind::Json),
];

/// Nesting that is followed: paths grow with it.
const DEEPEST: usize = 200;

/// Characters of a string that are shown.
const SHOWN: usize = 80;

/// One row a value, depth first.
pub(super) fn run(args: &InspectArgs, context: &Context) -> Result<Exit, CliError> {
    let path = found(&args.file, context);
    let file = File::open(&path).map_err(rollout::judge)?;
    let mut output = context.open(&COLUMNS)?;
    // An explicit stack: a file decides how deep it is.
    let mut todo = vec![("$".to_owned(), file.root(), 0)];
    let mut seen: HashMap<u32, String> = HashMap::new();
    let mut bad = 0u64;
    while let Some((path, value, depth)) = todo.pop() {
        let mut inner = Vec::new();
        let mut row = Row::new(&path);
        if let Some(first) = value.identity().and_then(|id| seen.get(&id)) {
            row.kind = "shared".into();
            row.value = Cell::Text(format!("same as {first}").into());
        } else {
            match value.kind() {
                Ok(kind) => bad += u64::from(!describe(kind, &mut row, &path, &mut inner)),
                Err(e) => {
                    bad += 1;
                    row.kind = "unreadable".into();
                    row.value = Cell::Text(e.kind.to_string().into());
                }
            }
            if let Some(id) = value.identity() {
                seen.insert(id, path.clone());
            }
        }
        if depth == DEEPEST && !inner.is_empty() {
            inner.clear();
            row.value = Cell::Text("nested deeper than is shown".into());
            bad += 1;
        }
        todo.extend(inner.into_iter().map(|(path, value)| (path, value, depth + 1)));
        if output.row(&row.cells())?.is_break() {
            break;
        }
    }
    if bad > 0 {
        let (s, path) = (if bad == 1 { "" } else { "s" }, path.display());
        let error = CliError::new(format!("{path}: {bad} value{s} cannot be read"));
        context.complain(&error.with_hint("the value column says why"));
    }
    if file.replaced_characters() > 0 {
        let n = file.replaced_characters();
        context.warn(format_args!("{}: {n} lone surrogates replaced by U+FFFD", path.display()));
    }
    context.close(output)?;
    Ok(if bad > 0 { Exit::Error } else { Exit::Ok })
}

/// The file as it is named, or below the run directory when that was given and only there it is.
fn found(file: &Path, context: &Context) -> PathBuf {
    let below = || context.settings().run_dir().ok().map(|dir| dir.join(file)).filter(|path| path.exists());
    if file.exists() { file.to_owned() } else { below().unwrap_or_else(|| file.to_owned()) }
}

struct Row<'a> {
    path: String,
    kind: Cow<'a, str>,
    dtype: Option<String>,
    shape: Option<Vec<i32>>,
    bytes: Option<i64>,
    device: Option<String>,
    value: Cell<'a>,
}

impl<'a> Row<'a> {
    fn new(path: &str) -> Self {
        let (path, kind) = (path.to_owned(), Cow::Borrowed(""));
        Self { path, kind, dtype: None, shape: None, bytes: None, device: None, value: Cell::Null }
    }

    fn count(&mut self, n: usize) {
        self.shape = Some(vec![i32::try_from(n).unwrap_or(i32::MAX)]);
    }

    fn cells(self) -> Vec<Cell<'a>> {
        vec![
            Cell::from(self.path),
            Cell::Text(self.kind),
            Cell::from(self.dtype),
            self.shape.map_or(Cell::Null, |s| Cell::Ints(s.into())),
            Cell::from(self.bytes),
            Cell::from(self.device),
            self.value,
        ]
    }
}

type Todo<'a> = Vec<(String, Ref<'a>)>;

/// Fills a row and adds what is in the value to `todo`; false when the value is damaged.
fn describe<'a>(kind: Value<'a>, row: &mut Row<'a>, path: &str, todo: &mut Todo<'a>) -> bool {
    row.kind = kind.type_name().to_owned().into();
    match kind {
        Value::None => {}
        Value::Bool(b) => row.value = json(b),
        Value::Int(i) => row.value = json(i),
        Value::BigInt(digits) => row.value = Cell::Json(digits.into()),
        Value::Float(f) if f.is_finite() => row.value = json(f),
        Value::Float(f) => row.value = Cell::Text(f.to_string().into()),
        Value::Complex(re, im) => row.value = Cell::Text(format!("{re}{im:+}j").into()),
        Value::Str(s) => {
            row.bytes = Some(s.len() as i64);
            row.value = Cell::Text(short(&s).into());
        }
        Value::Bytes(b) => row.bytes = Some(b.len() as i64),
        Value::Numbers(n) => {
            row.count(n.len());
            row.dtype = Some(if n.has_floats() { "float" } else { "int" }.to_owned());
        }
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            row.count(items.len());
            push_items(items, path, todo);
        }
        Value::Dict(entries) => {
            row.count(entries.len());
            push_entries(entries, path, todo);
        }
        Value::Tensor(t) => {
            row.dtype = Some(t.dtype.name().into_owned());
            row.shape = sizes(&t.shape);
            row.bytes = t.logical_bytes().and_then(|b| i64::try_from(b).ok());
            row.device = Some(t.device.clone().into_owned());
            let stored = t.storage_bytes();
            if t.logical_bytes() != Some(stored) {
                row.value = Cell::Text(format!("view of storage {} of {stored} bytes", t.storage_key).into());
            }
            if let Err(e) = t.check() {
                row.value = Cell::Text(e.kind.to_string().into());
                // A huge expanded view is sound; it is only not worth reading.
                return matches!(e.kind, pt::ErrorKind::Limit(_) | pt::ErrorKind::Unsupported(_));
            }
        }
        Value::Array(a) => {
            row.dtype = Some(a.dtype.name().into_owned());
            row.shape = sizes(&a.shape);
            row.bytes = i64::try_from(a.byte_len()).ok();
        }
        Value::Name(name) | Value::Storage(name) => row.value = Cell::Text(name.into()),
        Value::Object(o) => {
            let fields = o.fields();
            push_entries(o.entries, path, todo);
            push_items(o.items, path, todo);
            match (fields, o.state) {
                (Some(fields), _) => push_entries(fields, path, todo),
                (None, Some(state)) => todo.push((format!("{path}.__state__"), state)),
                (None, None) => {}
            }
            for (i, arg) in o.args.into_iter().enumerate().rev() {
                todo.push((format!("{path}({i})"), arg));
            }
        }
    }
    true
}

fn json(v: impl Into<serde_json::Value>) -> Cell<'static> {
    Cell::Json(v.into().to_string().into())
}

fn sizes(shape: &[u64]) -> Option<Vec<i32>> {
    shape.iter().map(|&n| i32::try_from(n).ok()).collect()
}

fn short(s: &str) -> String {
    match s.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &s[..cut]),
        None => s.to_owned(),
    }
}

fn push_items<'a>(items: Vec<Ref<'a>>, path: &str, todo: &mut Todo<'a>) {
    todo.extend(items.into_iter().enumerate().rev().map(|(i, r)| (format!("{path}[{i}]"), r)));
}

fn push_entries<'a>(entries: Vec<(Ref<'a>, Ref<'a>)>, path: &str, todo: &mut Todo<'a>) {
    for (key, value) in entries.into_iter().rev() {
        let name = match key.as_str() {
            Some(k) if !k.is_empty() && k.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                format!("{path}.{k}")
            }
            Some(k) => format!("{path}[{}]", serde_json::Value::from(k.as_ref())),
            None => format!("{path}[{}]", key.to_json()),
        };
        todo.push((name, value));
    }
}

impl From<pt::Error> for CliError {
    fn from(error: pt::Error) -> Self {
        let made = Self::from_error(&error);
        match error.hint() {
            Some(hint) => made.with_hint(hint),
            None => made,
        }
    }
}
