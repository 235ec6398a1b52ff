//! What every request passes: limits on the way in, headers on the way out, a line in the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, TRANSFER_ENCODING,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{App, Problem};

/// Longest address. A question about every metric of a run, 500 of them, by name is 15 KB.
const LONGEST_URI: usize = 32 << 10;
/// Longest body. No route reads one; a little is tolerated from clients that send `{}` with everything.
const LARGEST_BODY: u64 = 4 << 10;
/// How long a client waits for the head of an answer. The work goes on, and its answer is kept.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Only our own script, style, images and addresses; no frames, no forms, no base.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    // The address can hold the token for a moment.
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// Adds the headers that every answer has, and tells the log. The query is left out of the log: it can hold the token.
pub(super) async fn outermost(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let what = format!("{} {}", request.method(), request.uri().path());
    let mut response = next.run(request).await;
    response.headers_mut().extend(HEADERS.map(|(name, value)| (Some(name), value)));
    // What has no tag to ask with is not kept: an error can be over in a second, and a redirect sets a cookie.
    let caching = if response.status().is_success() { "no-cache" } else { "no-store" };
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static(caching));
    let millis = started.elapsed().as_secs_f64() * 1e3;
    app.notes.detail(&format!("{what} {} {millis:.1} ms", response.status().as_u16()));
    response
}

/// Refuses what is too large.
pub(super) async fn size(request: Request, next: Next) -> Response {
    let uri = request.uri();
    let long = uri.path().len() + uri.query().map_or(0, str::len);
    if long > LONGEST_URI {
        let what = format!("the address has {long} bytes, and {LONGEST_URI} are read");
        return Problem::new(StatusCode::URI_TOO_LONG, what).into_response();
    }
    let length = request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|n| n > LARGEST_BODY) || request.headers().contains_key(TRANSFER_ENCODING) {
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "no route takes a body").into_response();
    }
    next.run(request).await
}

/// Ends the wait for an answer that takes too long.
pub(super) async fn time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(TIME_LIMIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let what = "the answer takes longer than 30 s; it is still being worked on: ask again";
            Problem::later(what).into_response()
        }
    }
}
