//! `/api/meta`: what a run says about itself, which steps it has, and what can be asked of it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;

use super::answer::Content;
use super::metrics::dump_keys;
use super::steps::hash;
use super::{App, Problem};
use crate::record::Stream;
use crate::telemetry::{DamagedFile, partitions};
use crate::timeline::{About, MAX_WINDOW_S, TimelineError};

#[derive(Serialize)]
struct Meta {
    mode: &'static str,
    #[serde(flatten)]
    about: About,
    time_range: Option<(f64, f64)>,
    rollout_ids: RolloutIds,
    capabilities: Capabilities,
    damage: Vec<Damaged>,
    version: &'static str,
}

#[derive(Serialize)]
struct RolloutIds {
    train: Vec<i64>,
    eval: Vec<i64>,
}

#[derive(Serialize)]
struct Capabilities {
    has_metrics: bool,
    has_tokenizer: bool,
    has_timeline: bool,
    has_engine_series: bool,
    max_window_s: f64,
    use_utilization_overview: bool,
}

/// Lines of one file that were skipped, as far as it was read by now; 0 where all of it is unreadable.
#[derive(Serialize, Hash)]
struct Damaged {
    path: String,
    lines: u64,
    /// Where the first of them starts.
    first_byte: u64,
    reason: String,
}

/// The handler.
pub(super) async fn meta(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let this = Arc::clone(&app);
    // Damage shows as files are read, not as they change.
    let version = move || {
        let damage = this.damage();
        hash((this.version(&Stream::ALL), this.steps.version(), damage, this.has_tokenizer()))
    };
    let version = app.pool.run(version).await?;
    app.reply(&headers, "meta", version, |app| Content::json(&app.meta()?)).await
}

impl App {
    fn meta(&self) -> Result<Meta, Problem> {
        let mut about = About::of(&self.store)?;
        let has_metrics = !self.store.metrics().rows.is_empty();
        if !has_metrics {
            about.metric_keys = dump_keys().into_iter().map(str::to_owned).collect();
        }
        let (train, eval) = self.steps.ids();
        let capabilities = Capabilities {
            has_metrics,
            has_tokenizer: self.has_tokenizer(),
            has_timeline: self.has_any(Stream::Phases)? || self.has_any(Stream::GpuUtil)?,
            has_engine_series: !about.engine_metric_keys.is_empty(),
            max_window_s: MAX_WINDOW_S,
            use_utilization_overview: self.settings.use_utilization_overview,
        };
        Ok(Meta {
            mode: if self.settings.follow { "follow" } else { "static" },
            about,
            time_range: self.store.time_range().map_err(TimelineError::from)?,
            rollout_ids: RolloutIds { train, eval },
            capabilities,
            damage: self.damage(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    fn has_any(&self, stream: Stream) -> Result<bool, Problem> {
        let files = partitions(self.store.dashboard(), stream).map_err(TimelineError::from)?;
        Ok(files.iter().any(|file| std::fs::metadata(&file.path).is_ok_and(|m| m.len() > 0)))
    }

    fn damage(&self) -> Vec<Damaged> {
        let damaged = |DamagedFile { path, lines, first, reason }| Damaged {
            path: self.inside(&path).display().to_string(),
            lines,
            first_byte: first,
            reason,
        };
        self.store.damage().into_iter().map(damaged).collect()
    }
}
