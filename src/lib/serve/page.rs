//! The pages that are not the web view: what `/` says while none is built in, and refusals.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::routes::ROUTES;

/// `/` without the web view: how to get it, and which addresses there are.
pub(super) fn index() -> Response {
    let mut rows = String::new();
    for route in ROUTES {
        let path = escaped(route.path);
        // Only an address without parts to fill in can be followed.
        let link = if route.path.contains('{') { path } else { format!("<a href=\"{path}\">{path}</a>") };
        rows.push_str(&format!("<tr><td>{link}</td><td>{}</td></tr>\n", escaped(route.what)));
    }
    let body = format!(
        "<h1>miles serve {}</h1>\n<p>The web view is not in this binary; a warning of cargo's said why when it was built. With Node 20.19 or newer \
         and npm's registry in reach, <code>touch build.rs &amp;&amp; cargo build --release</code> puts it in.</p>\n<p>The API is there; \
         <a href=\"/api/openapi.json\">/api/openapi.json</a> describes it.</p>\n<table>\n{rows}</table>",
        env!("CARGO_PKG_VERSION")
    );
    html(StatusCode::OK, &body)
}

/// A refusal for people.
pub(super) fn refusal(status: StatusCode, detail: &str) -> Response {
    let reload = if status == StatusCode::UNAUTHORIZED {
        // Browsers withhold a strict cookie from a visit that another site's page started.
        "\n<p>If you have just followed that link from another page, <a href=\"\">open this one again</a>.</p>"
    } else {
        ""
    };
    html(status, &format!("<h1>{status}</h1>\n<p>{}</p>{reload}", escaped(detail)))
}

fn html(status: StatusCode, body: &str) -> Response {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>miles serve</title>\n{body}\n</html>\n"
    );
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    (status, [(CONTENT_TYPE, kind)], page).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
