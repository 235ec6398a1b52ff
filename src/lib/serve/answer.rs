//! A finished answer: its bytes, how they travel (ETag, compression), and when they need not.

use std::io::Write;
use std::sync::OnceLock;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::Problem;

/// Bodies below this travel as they are: compression saves less than a packet.
const WORTH_COMPRESSING: usize = 1024;
/// The fastest levels: on a local network the level is time and nothing else. Measured on a heatmap
/// and a summary, higher ones save a tenth of the bytes for twice the time.
const GZIP_LEVEL: u32 = 1;
const ZSTD_LEVEL: i32 = 1;

/// How a body travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

impl Encoding {
    /// The cheapest that the client takes: zstd before gzip before nothing.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        match Self::taken(headers) {
            (true, _) => Self::Zstd,
            (_, true) => Self::Gzip,
            _ => Self::Identity,
        }
    }

    /// For what is there in gzip alone.
    pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
        Self::taken(headers).1
    }

    /// Whether the client takes zstd, and gzip.
    fn taken(headers: &HeaderMap) -> (bool, bool) {
        let (mut gzip, mut zstd) = (None, None);
        let mut any = None;
        for value in headers.get_all(ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok()) {
            for part in value.split(',') {
                let (name, parameters) = part.split_once(';').unwrap_or((part, ""));
                let quality = parameters.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
                let takes = Some(quality.unwrap_or(1.0) > 0.0);
                match name.trim() {
                    n if n.eq_ignore_ascii_case("gzip") => gzip = takes,
                    n if n.eq_ignore_ascii_case("zstd") => zstd = takes,
                    "*" => any = takes,
                    _ => {}
                }
            }
        }
        (zstd.or(any) == Some(true), gzip.or(any) == Some(true))
    }
}

/// What a handler made: a body and its type.
#[derive(Debug, Clone)]
pub(super) struct Content {
    kind: &'static str,
    body: Bytes,
}

impl Content {
    /// A JSON body. NaN and infinities are null.
    pub(super) fn json(value: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|e| Problem::internal(format!("answer: {e}")))?;
        Ok(Self { kind: "application/json", body: body.into() })
    }

    /// JSON text that is there already.
    pub(super) fn json_text(body: impl Into<Bytes>) -> Self {
        Self { kind: "application/json", body: body.into() }
    }

    /// Bytes that are no text.
    pub(super) fn binary(body: impl Into<Bytes>) -> Self {
        Self { kind: "application/octet-stream", body: body.into() }
    }
}

/// An answer that can be sent any number of times.
#[derive(Debug)]
pub(super) struct Answer {
    content: Content,
    /// Weak: the same bytes travel in several encodings.
    etag: HeaderValue,
    gzip: OnceLock<Bytes>,
    zstd: OnceLock<Bytes>,
}

impl Answer {
    pub(super) fn new(content: Content) -> Self {
        // Fixed seeds: equal bodies have equal tags also after a restart. The standard library's hasher
        // takes a millisecond a megabyte, which is longer than finding most answers.
        let hasher = ahash::RandomState::with_seeds(1, 2, 3, 4);
        let tag = format!("W/\"{:016x}\"", hasher.hash_one(&content.body[..]));
        let etag = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"0\""));
        Self { content, etag, gzip: OnceLock::new(), zstd: OnceLock::new() }
    }

    /// Bytes that it holds, with the encodings that were made by now.
    pub(super) fn weight(&self) -> usize {
        let made = [&self.gzip, &self.zstd].into_iter().filter_map(OnceLock::get);
        self.content.body.len() + made.map(Bytes::len).sum::<usize>()
    }

    /// Whether sending it so means compressing it first, which is no work for the reactor.
    pub(super) fn must_compress(&self, encoding: Encoding) -> bool {
        let made = match encoding {
            Encoding::Identity => return false,
            Encoding::Gzip => &self.gzip,
            Encoding::Zstd => &self.zstd,
        };
        self.content.body.len() >= WORTH_COMPRESSING && made.get().is_none()
    }

    /// Makes an encoding, once.
    pub(super) fn compress(&self, encoding: Encoding) {
        if self.must_compress(encoding) {
            match encoding {
                Encoding::Identity => {}
                Encoding::Gzip => drop(self.gzip.get_or_init(|| gzip(&self.content.body))),
                Encoding::Zstd => drop(self.zstd.get_or_init(|| zstd(&self.content.body))),
            }
        }
    }

    /// Whether the client has these bytes already.
    pub(super) fn is_known(&self, headers: &HeaderMap) -> bool {
        is_known(self.etag.to_str().unwrap_or_default(), headers)
    }

    /// The response to a client with these request headers.
    pub(super) fn response(&self, headers: &HeaderMap, encoding: Encoding) -> Response {
        let mut response = Response::new(Body::empty());
        let head = response.headers_mut();
        head.insert(ETAG, self.etag.clone());
        // A URL names a run only for as long as this server runs on this port, so nothing may be used
        // without asking; the question costs a 304.
        head.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        head.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if self.is_known(headers) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        head.insert(CONTENT_TYPE, HeaderValue::from_static(self.content.kind));
        let (name, body) = match encoding {
            Encoding::Gzip => ("gzip", self.gzip.get()),
            Encoding::Zstd => ("zstd", self.zstd.get()),
            Encoding::Identity => ("", None),
        };
        // What compression does not make smaller is left as it is.
        match body.filter(|body| body.len() < self.content.body.len()) {
            Some(body) => {
                head.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
                *response.body_mut() = Body::from(body.clone());
            }
            None => *response.body_mut() = Body::from(self.content.body.clone()),
        }
        response
    }
}

/// Whether the client asks with this tag among others.
pub(super) fn is_known(mine: &str, headers: &HeaderMap) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let tags = headers.get_all(IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok());
    tags.flat_map(|v| v.split(',')).any(|tag| tag.trim() == "*" || opaque(tag) == opaque(mine))
}

fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::new(GZIP_LEVEL));
    // Writing to memory cannot fail; an empty body is never smaller and so never sent.
    let made = encoder.write_all(body).and_then(|()| encoder.finish());
    made.map_or_else(|_| Bytes::copy_from_slice(body), Bytes::from)
}

fn zstd(body: &[u8]) -> Bytes {
    let made = zstd::bulk::compress(body, ZSTD_LEVEL);
    made.map_or_else(|_| Bytes::copy_from_slice(body), Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(text))])
    }

    #[test]
    fn the_encoding_is_one_that_the_client_takes() {
        for (accept, encoding) in [
            ("gzip, deflate, br, zstd", Encoding::Zstd),
            ("gzip", Encoding::Gzip),
            ("GZIP;q=0.5, zstd;q=0", Encoding::Gzip),
            ("br", Encoding::Identity),
            ("gzip;q=0, *", Encoding::Zstd),
            ("*;q=0", Encoding::Identity),
            ("", Encoding::Identity),
        ] {
            assert_eq!(Encoding::of(&accepting(accept)), encoding, "{accept}");
        }
        assert_eq!(Encoding::of(&HeaderMap::new()), Encoding::Identity);
    }

    #[test]
    fn equal_bodies_have_equal_tags_and_a_known_one_is_not_sent() {
        let answer = |text: &'static str| Answer::new(Content::json_text(text));
        let (a, b) = (answer("{}"), answer("[]"));
        assert_eq!(a.etag, answer("{}").etag);
        assert_ne!(a.etag, b.etag);
        let mut headers = HeaderMap::from_iter([(IF_NONE_MATCH, a.etag.clone())]);
        assert_eq!(a.response(&headers, Encoding::Identity).status(), 304);
        assert_eq!(b.response(&headers, Encoding::Identity).status(), 200);
        let both = format!("{}, {}", a.etag.to_str().unwrap(), b.etag.to_str().unwrap());
        headers.insert(IF_NONE_MATCH, HeaderValue::try_from(both).unwrap());
        assert_eq!(b.response(&headers, Encoding::Identity).status(), 304);
    }

    #[test]
    fn what_does_not_get_smaller_is_not_sent_compressed() {
        let mut noise = vec![0_u8; 4096];
        getrandom::fill(&mut noise).unwrap();
        let answer = Answer::new(Content::binary(noise));
        answer.compress(Encoding::Gzip);
        let response = answer.response(&accepting("gzip"), Encoding::Gzip);
        assert!(!response.headers().contains_key(CONTENT_ENCODING));
    }
}
