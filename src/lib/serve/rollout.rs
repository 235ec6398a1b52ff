//! Routes about one rollout step: its samples, its groups, one sample's conversation and tokens.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::Content;
use super::query::{Ids, Query};
use super::rows::Table;
use super::steps::OpenStep;
use super::{App, Problem};
use crate::rollout::object::TokensObject;
use crate::rollout::tokens::Sequence;
use crate::rollout::{groups, summary};

/// `/api/rollout/{rollout_id}/summary`: one row a sample.
pub(super) async fn summary(
    State(app): State<Arc<App>>,
    ids: Ids,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let step = open(&app, &ids, &query).await?;
    let key = format!("summary {}", step.files.id.stem());
    let work = |app: &App, step: &OpenStep| {
        let read = app.steps.summary(step).map_err(|e| app.told(e))?;
        let rows = read.rows.iter().map(summary::Row::cells).collect();
        let order = column_order(read.has_train);
        Content::json(&Table { id: read.id, order, columns: &summary::COLUMNS, rows })
    };
    reply(app, step, &headers, &key, work).await
}

/// `/api/rollout/{rollout_id}/groups`: one row a group.
pub(super) async fn groups(
    State(app): State<Arc<App>>,
    ids: Ids,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let step = open(&app, &ids, &query).await?;
    let key = format!("groups {}", step.files.id.stem());
    let work = |app: &App, step: &OpenStep| {
        let read = app.steps.summary(step).map_err(|e| app.told(e))?;
        let groups = groups::groups(&read.rows, read.id.evaluation);
        let rows = groups.iter().map(groups::Group::cells).collect();
        let order = (0..groups::COLUMNS.len()).collect();
        Content::json(&Table { id: read.id, order, columns: &groups::COLUMNS, rows })
    };
    reply(app, step, &headers, &key, work).await
}

/// `/api/rollout/{rollout_id}/sample/{sample_index}/messages`: the conversation's line as recorded.
pub(super) async fn messages(
    State(app): State<Arc<App>>,
    ids: Ids,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let step = open(&app, &ids, &query).await?;
    let index = ids.get("sample_index");
    let key = format!("messages {} {index}", step.files.id.stem());
    let work = move |app: &App, step: &OpenStep| {
        let known = step.index().map_err(|e| app.told(e))?;
        if let Some((offset, what)) = known.damage.first() {
            let (path, n) = (step.conversations.display(), known.damage.len());
            app.notes.once(&format!("{path}: {n} damaged lines skipped (first at byte {offset}): {what}"));
        }
        let line = known.find(&step.conversations, index).map_err(|e| app.told(e))?;
        Ok(Content::json_text(line.json))
    };
    reply(app, step, &headers, &key, work).await
}

/// `/api/rollout/{rollout_id}/sample/{sample_index}/tokens`: ids, text and every series of a window.
pub(super) async fn tokens(
    State(app): State<Arc<App>>,
    ids: Ids,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (start, end) = (query.int("start")?, query.int("end")?);
    let step = open(&app, &ids, &query).await?;
    let index = ids.get("sample_index");
    let key = format!("tokens {} {index} {start:?} {end:?}", step.files.id.stem());
    let work = move |app: &App, step: &OpenStep| {
        let train = step.train().map_err(|e| app.told(e))?;
        let sequence = Sequence::of(step.files.id, &step.mirror, &train, || step.batch(), index);
        let sequence = sequence.map_err(|e| app.told(e))?;
        let window = sequence.window(start, end).map_err(|e| app.told(e))?;
        let decoder = app.decoder();
        Content::json(&TokensObject { sequence: &sequence, window, decoder: decoder.as_deref() })
    };
    reply(app, step, &headers, &key, work).await
}

/// The step that a request is about. Its files are looked at, which can mean a network file system.
async fn open(app: &Arc<App>, ids: &Ids, query: &Query) -> Result<Arc<OpenStep>, Problem> {
    let (rollout_id, evaluation) = (ids.get("rollout_id"), query.flag("eval")?);
    let this = Arc::clone(app);
    let look = move || this.steps.step(rollout_id, evaluation).map_err(|e| this.told(e));
    app.pool.run(look).await?
}

async fn reply(
    app: Arc<App>,
    step: Arc<OpenStep>,
    headers: &HeaderMap,
    key: &str,
    work: impl FnOnce(&App, &OpenStep) -> Result<Content, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let version = step.version;
    app.reply(headers, key, version, move |app| work(app, &step)).await
}

/// Where no trainer saw the step, `truncated` is the last column: it is derived there.
fn column_order(has_train: bool) -> Vec<usize> {
    let (last, mut order): (Vec<usize>, Vec<usize>) =
        (0..summary::COLUMNS.len()).partition(|&i| !has_train && summary::COLUMNS[i].name == "truncated");
    order.extend(last);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_is_the_last_column_where_no_trainer_saw_the_step() {
        let columns = summary::COLUMNS;
        let names = |has_train| -> Vec<&str> {
            column_order(has_train).into_iter().map(|i| &*columns[i].name).collect()
        };
        assert_eq!(names(true)[18], "truncated");
        assert_eq!(names(false).last(), Some(&"truncated"));
        assert_eq!(names(false).len(), 30);
    }
}
