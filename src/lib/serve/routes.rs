//! Which path is whose.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get};

use super::query::shown;
use super::{App, Problem, access, events, guard, metrics, page, rollout};

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
    "/api/metrics" "series of logged metrics and of dump/* (keys=…)" metrics::metrics;
    "/api/rollout/{rollout_id}/summary" "one row a sample of a step" rollout::summary;
    "/api/rollout/{rollout_id}/groups" "one row a group of a step" rollout::groups;
    "/api/rollout/{rollout_id}/sample/{sample_index}/messages" "a sample's conversation" rollout::messages;
    "/api/rollout/{rollout_id}/sample/{sample_index}/tokens" "a sample's tokens and their series" rollout::tokens;
    "/api/events" "what changes, as server-sent events" events::events;
}

/// The whole server apart from its sockets.
pub fn router(app: Arc<App>) -> Router {
    api()
        .route("/", only_get(page::index))
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
