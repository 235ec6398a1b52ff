//! `/api/metrics`: series of what the job logged, and of what its dumps come to (`dump/*`).

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};

use super::answer::Content;
use super::query::{Query, shown};
use super::steps::hash;
use super::{App, Problem};
use crate::rollout::steps::{self, COLUMNS, Step};
use crate::row::{Cell, Column};

/// Prefix of the series that are made from dumps.
pub(super) const DUMP: &str = "dump/";

/// Names of the series that are made from dumps.
pub(super) fn dump_keys() -> Vec<&'static str> {
    static COLUMNS: [Column; 10] = steps::COLUMNS;
    COLUMNS.iter().map(|column| &*column.name).filter(|name| name.starts_with(DUMP)).collect()
}

/// One series: `y` over `x`, a step or rollout id; `ts` is empty for `dump/*`.
#[derive(Debug, Default, Serialize)]
struct Series {
    x: Vec<Value>,
    y: Vec<Value>,
    ts: Vec<Value>,
}

/// Most series in one question; a page asks for a few dozen.
const MOST_KEYS: usize = 1000;

/// `/api/metrics?keys=a,b`.
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let keys = query.text("keys").ok_or_else(|| Problem::unreadable("keys: say which, comma-separated"))?;
    let keys: Vec<String> = keys.split(',').filter(|k| !k.is_empty()).map(str::to_owned).collect();
    if keys.is_empty() {
        return Err(Problem::bad("keys: names none"));
    }
    if keys.len() > MOST_KEYS {
        return Err(Problem::bad(format!("keys: more than {MOST_KEYS}")));
    }
    if let Some(unknown) = keys.iter().find(|k| k.starts_with(DUMP) && !dump_keys().contains(&k.as_str())) {
        let known = dump_keys().join(", ");
        return Err(Problem::bad(format!("keys: there is no {}; there are {known}", shown(unknown))));
    }
    let window = super::window::optional(&query)?;
    let x = query.text("x").unwrap_or("rollout/step").to_owned();
    let of_dumps = keys.iter().any(|k| k.starts_with(DUMP));
    let this = Arc::clone(&app);
    let steps = if of_dumps { app.pool.run(move || this.steps.version()).await? } else { 0 };
    let key = format!("metrics {x:?} {window:?} {keys:?}");
    let work = move |app: &App| {
        let steps = if of_dumps { app.steps.series() } else { Vec::new() };
        let mut object = Map::new();
        for key in keys {
            let series = if key.starts_with(DUMP) { of_steps(&steps, &key) } else { Series::default() };
            object.insert(key, serde_json::to_value(series).unwrap_or_default());
        }
        Content::json(&object)
    };
    app.reply(&headers, &key, hash(steps), work).await
}

/// A step without the value has no point.
fn of_steps(steps: &[Arc<Step>], key: &str) -> Series {
    let mut series = Series::default();
    let Some(at) = COLUMNS.iter().position(|c| c.name == key) else { return series };
    for step in steps {
        if let Some(Cell::F64(y)) = step.cells().get(at)
            && y.is_finite()
        {
            series.x.push(step.rollout_id.into());
            series.y.push((*y).into());
        }
    }
    series
}
