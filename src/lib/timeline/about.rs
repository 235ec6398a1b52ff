//! What a run says about itself and what can be asked of it, as far as its telemetry knows.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{TimelineError, engines, metrics};
use crate::telemetry::Store;

/// Where runs are logged when `wandb_host` does not say.
const WANDB: &str = "https://wandb.ai";

/// What the telemetry contributes to `/api/meta`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct About {
    /// Name of the run.
    pub run_name: Option<String>,
    /// Start of the newest attempt, Unix seconds.
    pub start_ts: Option<f64>,
    /// Page of the run at Weights & Biases.
    pub wandb_url: Option<String>,
    /// Samples that waited to be trained on at last count.
    pub data_buffer_length: Option<i64>,
    /// Logged metrics; none for a run without a metrics stream.
    pub metric_keys: Vec<String>,
    /// What `/api/timeline/engine_series` can be asked for.
    pub engine_metric_keys: Vec<String>,
    /// What the x axis of a logged metric can be.
    pub step_keys: Vec<String>,
}

impl About {
    /// Asks the store.
    ///
    /// # Errors
    /// [`TimelineError`] when the streams cannot be read.
    pub fn of(store: &Store) -> Result<Self, TimelineError> {
        let (meta, log) = (store.meta(), store.metrics());
        Ok(Self {
            run_name: meta.run_name.clone(),
            start_ts: meta.start_ts,
            wandb_url: wandb_url(&meta.args),
            data_buffer_length: store.data_buffer().last().map(|(_, length)| *length),
            metric_keys: metrics::metric_keys(&log),
            engine_metric_keys: engines::metric_keys(&*store.engine_metric_names()?),
            step_keys: metrics::step_keys(&log),
        })
    }
}

/// `{host}/{team}/{project}/runs/{id}`; `None` where one of the last three is missing or empty.
#[must_use]
pub fn wandb_url(args: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let host = text("wandb_host").unwrap_or(WANDB).trim_end_matches('/');
    let (team, project, id) = (text("wandb_team")?, text("wandb_project")?, text("wandb_run_id")?);
    Some(format!("{host}/{team}/{project}/runs/{id}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::telemetry::StoreOptions;

    #[test]
    fn a_page_needs_team_project_and_run() {
        let args = |value: Value| value.as_object().cloned().unwrap_or_default();
        let all = json!({"wandb_team": "t", "wandb_project": "p", "wandb_run_id": "r"});
        assert_eq!(wandb_url(&args(all)).as_deref(), Some("https://wandb.ai/t/p/runs/r"));
        let host =
            json!({"wandb_team": "t", "wandb_project": "p", "wandb_run_id": "r", "wandb_host": "http://w/"});
        assert_eq!(wandb_url(&args(host)).as_deref(), Some("http://w/t/p/runs/r"));
        assert_eq!(wandb_url(&args(json!({"wandb_team": "t", "wandb_project": "p"}))), None);
        assert_eq!(
            wandb_url(&args(json!({"wandb_team": "t", "wandb_project": null, "wandb_run_id": "r"}))),
            None
        );
    }

    #[test]
    fn a_run_without_telemetry_says_nothing_of_itself() {
        let folder = tempfile::tempdir().unwrap();
        let about = About::of(&Store::open(folder.path(), StoreOptions::default())).unwrap();
        let want = json!({"run_name": null, "start_ts": null, "wandb_url": null, "data_buffer_length": null,
            "metric_keys": [], "engine_metric_keys": [], "step_keys": []});
        assert_eq!(serde_json::to_value(about).unwrap(), want);
    }

    #[test]
    fn the_newest_length_of_the_queue_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("data_buffer.jsonl"),
            "{\"ts\":1.0,\"length\":9}\n{\"ts\":2.0,\"length\":0}\n",
        )
        .unwrap();
        let about = About::of(&Store::open(folder.path(), StoreOptions::default())).unwrap();
        assert_eq!(about.data_buffer_length, Some(0));
    }
}
