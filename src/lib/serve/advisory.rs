//! `/api/advisory`: what the rules say of the run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::Content;
use super::query::Query;
use super::steps::hash;
use super::{App, Problem};
use crate::advise::{self, Options, Step};
use crate::record::Stream;
use crate::timeline;

/// The handler.
pub(super) async fn advisory(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let window = timeline::window_of_any_length(query.number("t0")?, query.number("t1")?)?;
    let key = format!("advisory {:?} {:?}", window.t0, window.t1);
    let this = Arc::clone(&app);
    let newest = app.pool.run(move || this.steps.newest()).await?;
    let version = hash((newest.as_ref().map(|s| s.version), app.version(&Stream::ALL)));
    let work = move |app: &App| {
        // Advice about engines must not fail because a dump cannot be read; its own route tells that.
        let summary = newest.as_ref().and_then(|step| match app.steps.summary(step) {
            Ok(summary) => Some(summary),
            Err(e) => {
                app.notes.once(&format!("the newest step is left out of advice: {e}"));
                None
            }
        });
        let step = summary.as_ref().map(|s| Step { rollout_id: s.id.rollout_id, rows: &s.rows });
        let options = Options { low_mfu_threshold: app.settings.low_mfu_threshold };
        Content::json(&advise::report(&app.store, &window, step, &options)?)
    };
    app.reply(&headers, &key, version, work).await
}
