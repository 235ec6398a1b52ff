//! The web view's files, built into the binary by `build.rs`: `/` and `/assets/…`.
//!
//! The page keeps its own addresses behind `#`, so there is one path for all of them. Names below `assets/` carry a hash of
//! their content and are kept by browsers for good; the page itself is asked for each time, and answered with 304.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use super::answer::{Encoding, is_known};
use super::query::shown;
use super::{Problem, page};

/// A file of the view.
struct Asset {
    /// Below `/`.
    path: &'static str,
    tag: &'static str,
    body: &'static [u8],
    /// The same, compressed when it was built.
    gzip: Option<&'static [u8]>,
}

/// All of them; none where the view was not built in.
static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// A year, as long as `Cache-Control` is meant to say.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// `/`: the page, or without it what there is instead.
pub(super) async fn index(headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(asset) => asset.response(&headers, "no-cache"),
        None => page::index(),
    }
}

/// `/assets/{name}`.
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = find(&format!("assets/{name}"));
    let asset = asset.ok_or_else(|| Problem::missing(format!("there is no /assets/{}", shown(&name))))?;
    Ok(asset.response(&headers, FOR_GOOD))
}

fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    fn response(&self, headers: &HeaderMap, caching: &'static str) -> Response {
        let mut response = Response::new(Body::empty());
        let head = response.headers_mut();
        head.insert(ETAG, HeaderValue::from_static(self.tag));
        head.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        head.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if is_known(self.tag, headers) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        head.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind()));
        let gzip = self.gzip.filter(|gzip| gzip.len() < self.body.len() && Encoding::takes_gzip(headers));
        if gzip.is_some() {
            head.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        *response.body_mut() = Body::from(gzip.unwrap_or(self.body));
        response
    }

    fn kind(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            Some("woff2") => "font/woff2",
            Some("png") => "image/png",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser loads in all, compressed. A dashboard that is opened over a tunnel during an incident is small.
    const MOST_BYTES: usize = 250_000;

    #[test]
    fn the_view_is_small_and_whole_or_not_there_at_all() {
        let sent: usize = ASSETS.iter().map(|asset| asset.gzip.unwrap_or(asset.body).len()).sum();
        assert!(sent < MOST_BYTES, "{sent} bytes");
        let Some(index) = find("index.html") else { return assert!(ASSETS.is_empty()) };
        let page = std::str::from_utf8(index.body).unwrap();
        let named = page.split("\"./").skip(1).filter_map(|rest| rest.split('"').next());
        // The run is asked for while the script loads; that is a route.
        let mut named = named.filter(|path| !path.starts_with("api/")).peekable();
        assert!(named.peek().is_some(), "{page}");
        for path in named {
            assert!(find(path).is_some(), "{path}");
        }
        assert!(
            !page.contains("http://") || page.matches("http://").all(|_| page.contains("http://www.w3.org"))
        );
        for asset in ASSETS {
            assert_ne!(asset.kind(), "application/octet-stream", "{}", asset.path);
        }
    }
}
