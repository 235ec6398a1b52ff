//! Which path is whose.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get};

use super::query::shown;
use super::{
    App, Problem, access, advisory, assets, events, guard, meta, metrics, openapi, rollout, timeline,
};

/// A route of the API, as it is listed for people.
pub(super) struct Route {
    pub(super) path: &'static str,
    pub(super) what: &'static str,
}

macro_rules! routes {
    ($($path:literal $what:literal $handler:path;)*) => {
        /// Every route of the API.
        pub(super) const ROUTES: &[Route] = &[$(Route { path: $path, what: $what }),*];

        fn api() -> Router<Arc<App>> {
            Router::new()$(.route($path, only_get($handler)))*
        }
    };
}

routes! {
    "/api/meta" "what the run is and what can be asked of it" meta::meta;
    "/api/metrics" "series of logged metrics and of dump/* (keys=…)" metrics::metrics;
    "/api/advisory" "what the rules say of the run" advisory::advisory;
    "/api/timeline/topology" "lanes, and engines over time" timeline::topology;
    "/api/timeline/phases" "phases on lanes" timeline::phases;
    "/api/timeline/gpu" "readings of each GPU, thinned" timeline::gpu;
    "/api/timeline/gpu_processes" "who held memory on the GPUs" timeline::gpu_processes;
    "/api/timeline/heatmap" "lanes or samples over time, as bytes" timeline::heatmap;
    "/api/timeline/fleet" "all lanes at once" timeline::fleet;
    "/api/timeline/outliers" "lanes that stand out (criterion=…)" timeline::outliers;
    "/api/timeline/engine_series" "scraped engine metrics (metric=…)" timeline::engine_series;
    "/api/timeline/bubbles" "time and waiting of each training step" timeline::bubbles;
    "/api/rollout/{rollout_id}/summary" "one row a sample of a step" rollout::summary;
    "/api/rollout/{rollout_id}/groups" "one row a group of a step" rollout::groups;
    "/api/rollout/{rollout_id}/trajectories" "what a step's samples went through" timeline::trajectories;
    "/api/rollout/{rollout_id}/sample/{sample_index}/messages" "a sample's conversation" rollout::messages;
    "/api/rollout/{rollout_id}/sample/{sample_index}/tokens" "a sample's tokens and their series" rollout::tokens;
    "/api/openapi.json" "this API, described for machines" openapi::openapi;
    "/api/events" "what changes, as server-sent events" events::events;
}

/// The whole server apart from its sockets.
pub fn router(app: Arc<App>) -> Router {
    api()
        .route("/", only_get(assets::index))
        .route("/assets/{name}", only_get(assets::asset))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(guard::time))
        .layer(from_fn_with_state(Arc::clone(&app), access::check))
        .layer(from_fn(guard::size))
        .layer(from_fn_with_state(Arc::clone(&app), guard::outermost))
        .with_state(app)
}

fn only_get<H: Handler<T, Arc<App>>, T: 'static>(handler: H) -> MethodRouter<Arc<App>> {
    get(handler)
}

async fn unknown(uri: Uri) -> Problem {
    Problem::missing(format!("there is no {}; /api/openapi.json lists what there is", shown(uri.path())))
}

async fn wrong_method(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not answered here, only GET and HEAD"))
}
