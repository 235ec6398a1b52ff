//! `/api/metrics`: series of what the job logged, and of what its dumps come to (`dump/*`).

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::Content;
use super::query::{Query, shown};
use super::steps::hash;
use super::{App, Problem};
use crate::record::Stream;
use crate::rollout::steps::{self, COLUMNS, Step};
use crate::row::{Cell, Column};
use crate::telemetry::MetricValue;
use crate::timeline;
use crate::timeline::bubbles::ROLLOUT_STEP;
use crate::timeline::metrics::{self, Logged, LoggedSeries};

/// Prefix of the series that are made from dumps.
pub(super) const DUMP: &str = "dump/";

/// Names of the series that are made from dumps.
pub(super) fn dump_keys() -> Vec<&'static str> {
    static COLUMNS: [Column; 10] = steps::COLUMNS;
    COLUMNS.iter().map(|column| &*column.name).filter(|name| name.starts_with(DUMP)).collect()
}

/// `/api/metrics?keys=a,b`.
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let keys = query.text("keys").ok_or_else(|| Problem::unreadable("keys: say which, comma-separated"))?;
    let keys: Vec<String> = metrics::keys(keys)?.into_iter().map(str::to_owned).collect();
    if let Some(unknown) = keys.iter().find(|k| k.starts_with(DUMP) && !dump_keys().contains(&k.as_str())) {
        let known = dump_keys().join(", ");
        return Err(Problem::bad(format!("keys: there is no {}; there are {known}", shown(unknown))));
    }
    let window = timeline::window_of_any_length(query.number("t0")?, query.number("t1")?)?;
    let x = query.text("x").unwrap_or(ROLLOUT_STEP).to_owned();
    let of_dumps = keys.iter().any(|k| k.starts_with(DUMP));
    let this = Arc::clone(&app);
    let steps = if of_dumps { app.pool.run(move || this.steps.version()).await? } else { 0 };
    let version = hash((steps, app.version(&[Stream::Metrics])));
    let key = format!("metrics {x:?} {:?} {:?} {keys:?}", window.t0, window.t1);
    let work = move |app: &App| {
        let steps = if of_dumps { app.steps.series() } else { Vec::new() };
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut answer = metrics::metrics(&app.store.metrics(), &keys, &x, &window);
        for (key, series) in answer.0.iter_mut().filter(|(key, _)| key.starts_with(DUMP)) {
            *series = of_steps(&steps, key);
        }
        Content::json(&answer)
    };
    app.reply(&headers, &key, version, work).await
}

/// A step without the value has no point; a dump has no time.
fn of_steps(steps: &[Arc<Step>], key: &str) -> LoggedSeries {
    let mut series = LoggedSeries::default();
    let Some(at) = COLUMNS.iter().position(|c| c.name == key) else { return series };
    for step in steps {
        if let Some(Cell::F64(y)) = step.cells().get(at)
            && y.is_finite()
        {
            series.x.push(step.rollout_id);
            series.y.push(Logged(MetricValue::Float(*y)));
        }
    }
    series
}
