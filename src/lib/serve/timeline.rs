//! Routes about the run's telemetry: lanes, phases, readings, heatmaps, engines, trajectories.
//!
//! Each reads its arguments, says which streams its answer is made from, and leaves the rest to
//! [`crate::timeline`].

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::Content;
use super::query::{Ids, Query};
use super::steps::hash;
use super::{App, Problem};
use crate::record::Stream;
use crate::telemetry::Window;
use crate::timeline::engines::{self, Question};
use crate::timeline::lifecycle;
use crate::timeline::trajectories::trajectories as lives;
use crate::timeline::{self, Criterion, LaneMetric, Lanes, Selection, TimelineError, X_BUCKETS, bubbles};

/// Streams that lanes are named in, where there is no catalog.
const LANES: [Stream; 4] = [Stream::Phases, Stream::Topology, Stream::GpuUtil, Stream::GpuProcesses];
/// Most lanes that `outliers` answers.
const MOST_OUTLIERS: usize = 256;
/// Name of the heatmap whose rows are samples.
const LIFECYCLE: &str = "lifecycle";

/// What every question about lanes takes.
struct Asked {
    window: Window,
    lanes: Option<String>,
}

impl Asked {
    fn of(query: &Query) -> Result<Self, Problem> {
        let window = timeline::window(query.number("t0")?, query.number("t1")?)?;
        Ok(Self { window, lanes: query.text("lanes").map(str::to_owned) })
    }

    /// Whether the answer can depend on when the data starts or ends.
    fn is_open(&self) -> bool {
        self.window.t0.is_none() || self.window.t1.is_none()
    }

    fn key(&self) -> String {
        format!("{:?} {:?} {:?}", self.window.t0, self.window.t1, self.lanes)
    }

    fn selection(&self, app: &App) -> Result<Selection, Problem> {
        Ok(Selection::new(app.lanes()?, self.lanes.as_deref())?)
    }
}

/// `/api/timeline/topology`
pub(super) async fn topology(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let version = app.version(&LANES);
    let work = |app: &App| {
        let lanes = app.lanes()?;
        Content::json(&timeline::topology(&app.store, &lanes))
    };
    app.reply(&headers, "topology", version, work).await
}

/// `/api/timeline/phases`
pub(super) async fn phases(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = Asked::of(&query)?;
    let key = format!("phases {}", asked.key());
    // An open phase ends at the newest time of the data.
    let version = app.version(&Stream::ALL);
    let work = move |app: &App| {
        let selection = asked.selection(app)?;
        Ok(Content::json_text(timeline::phases(&app.store, &selection, &asked.window)?.to_json()))
    };
    app.reply(&headers, &key, version, work).await
}

/// `/api/timeline/gpu`
pub(super) async fn gpu(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = Asked::of(&query)?;
    let points = query.count("max_points", timeline::MAX_POINTS, 2..=usize::MAX)?;
    let key = format!("gpu {} {points}", asked.key());
    let version = app.version(&LANES);
    let work = move |app: &App| {
        let selection = asked.selection(app)?;
        Ok(Content::json_text(timeline::gpu(&app.store, &selection, &asked.window, points)?.to_json()))
    };
    app.reply(&headers, &key, version, work).await
}

/// `/api/timeline/gpu_processes`
pub(super) async fn gpu_processes(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = Asked::of(&query)?;
    let key = format!("gpu_processes {}", asked.key());
    let version = app.version(&LANES);
    let work = move |app: &App| {
        let selection = asked.selection(app)?;
        Ok(Content::json_text(timeline::processes(&app.store, &selection, &asked.window)?.to_json()))
    };
    app.reply(&headers, &key, version, work).await
}

/// `/api/timeline/heatmap`: bytes, see docs/http.md.
pub(super) async fn heatmap(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let metric = query.text("metric").unwrap_or("util");
    let lane_metric = (metric != LIFECYCLE).then(|| metric.parse::<LaneMetric>()).transpose()?;
    let buckets = query.count("x_buckets", timeline::HEATMAP_X_BUCKETS, X_BUCKETS)?;
    let asked = Asked::of(&query)?;
    let key = format!("heatmap {metric} {buckets} {}", asked.key());
    let version = match lane_metric {
        _ if asked.is_open() => app.version(&Stream::ALL),
        Some(LaneMetric::Phase) => app.version(&Stream::ALL),
        Some(_) => app.version(&LANES),
        None => app.version(&[Stream::Trajectories]),
    };
    let work = move |app: &App| {
        let Some(metric) = lane_metric else { return samples(app, &asked, buckets) };
        let selection = asked.selection(app)?;
        let picture = timeline::heatmap(&app.store, &selection, &asked.window, metric, buckets)?;
        Ok(Content::binary(picture.encode()))
    };
    app.reply(&headers, &key, version, work).await
}

/// The heatmap whose rows are samples. Lanes are understood as in the others, and select nothing.
fn samples(app: &App, asked: &Asked, buckets: usize) -> Result<Content, Problem> {
    asked.selection(app)?;
    let picture = lifecycle(&app.store, &asked.window, buckets)?;
    Ok(Content::binary(picture.encode()))
}

/// `/api/timeline/fleet`
pub(super) async fn fleet(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let window = timeline::window(query.number("t0")?, query.number("t1")?)?;
    let buckets = query.count("x_buckets", timeline::FLEET_X_BUCKETS, X_BUCKETS)?;
    let key = format!("fleet {:?} {:?} {buckets}", window.t0, window.t1);
    let version = app.version(&Stream::ALL);
    let work = move |app: &App| Content::json(&timeline::fleet(&app.store, &app.lanes()?, &window, buckets)?);
    app.reply(&headers, &key, version, work).await
}

/// `/api/timeline/outliers`
pub(super) async fn outliers(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wanted = "criterion: lowest_util, or slowest_phase:NAME such as slowest_phase:actor_train";
    let criterion = query.text("criterion").ok_or_else(|| Problem::unreadable(wanted))?;
    let criterion: Criterion = criterion.parse()?;
    let most = query.count("top_k", timeline::TOP_K, 1..=MOST_OUTLIERS)?;
    let window = timeline::window_of_any_length(query.number("t0")?, query.number("t1")?)?;
    let key = format!("outliers {criterion:?} {:?} {:?} {most}", window.t0, window.t1);
    let version = app.version(&Stream::ALL);
    let work = move |app: &App| {
        Content::json(&timeline::outliers(&app.store, &app.lanes()?, &window, &criterion, most)?)
    };
    app.reply(&headers, &key, version, work).await
}

/// `/api/timeline/engine_series`
pub(super) async fn engine_series(
    State(app): State<Arc<App>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wanted = "metric: one of the engine_metric_keys of /api/meta";
    let metric = query.text("metric").ok_or_else(|| Problem::unreadable(wanted))?.to_owned();
    let max_points = query.count("max_points", engines::DEFAULT_MAX_POINTS, 2..=usize::MAX)?;
    let per_dp_rank = query.flag("per_dp_rank")?;
    let window = timeline::window(query.number("t0")?, query.number("t1")?)?;
    let key = format!("engine_series {metric:?} {:?} {:?} {max_points} {per_dp_rank}", window.t0, window.t1);
    let version = app.version(&[Stream::EngineSeries]);
    let work = move |app: &App| {
        let question = Question { metric: &metric, max_points, per_dp_rank };
        Content::json(&engines::engine_series(&app.store, &window, &question)?)
    };
    app.reply(&headers, &key, version, work).await
}

/// `/api/timeline/bubbles`
pub(super) async fn bubbles(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let version = app.version(&[Stream::Metrics]);
    let work = |app: &App| Content::json(&bubbles::bubbles(&app.store.metrics()));
    app.reply(&headers, "bubbles", version, work).await
}

/// `/api/rollout/{rollout_id}/trajectories`: which samples are the step's comes from its dump.
pub(super) async fn trajectories(
    State(app): State<Arc<App>>,
    ids: Ids,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let only = query.int("sample_index")?;
    let rollout_id = ids.get("rollout_id");
    let this = Arc::clone(&app);
    let look = move || this.steps.step(rollout_id, false).map_err(|e| this.told(e));
    let step = app.pool.run(look).await??;
    let key = format!("trajectories {rollout_id} {only:?}");
    let version = hash((step.version, app.version(&Stream::ALL)));
    let work = move |app: &App| {
        let summary = app.steps.summary(&step).map_err(|e| app.told(e))?;
        let samples: Vec<i64> = summary.rows.iter().filter_map(|row| row.sample_index).collect();
        Content::json(&lives(&app.store, rollout_id, &samples, only)?)
    };
    app.reply(&headers, &key, version, work).await
}

impl App {
    /// The lanes of the run as they are now.
    pub(super) fn lanes(&self) -> Result<Arc<Lanes>, Problem> {
        Ok(self.lane_index.lanes(&self.store).map_err(TimelineError::from)?)
    }

    /// A number that differs when these streams, or the documents beside them, do.
    pub(super) fn version(&self, streams: &[Stream]) -> u64 {
        let streams: Vec<u64> = streams.iter().map(|stream| self.store.version(*stream)).collect();
        hash((streams, self.store.documents_version()))
    }
}

impl From<TimelineError> for Problem {
    fn from(error: TimelineError) -> Self {
        if error.is_argument() { Self::bad(error.to_string()) } else { Self::internal(error.to_string()) }
    }
}
