//! What goes wrong with a request, as it is told: a status and `{"detail": "…"}`.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::rollout;

/// Seconds after which a file that is being written, or a server that is busy, is worth another try.
const TRY_AGAIN_S: u16 = 2;

/// A request that cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// What is wrong and what to do, in one sentence.
    pub detail: String,
}

impl Problem {
    /// A problem with a status and a sentence.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// 400: the request cannot be fulfilled as it was asked.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 422: a value cannot be read.
    pub fn unreadable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// 404.
    pub fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// 503: worth another try.
    pub fn later(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// 500.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}

impl From<rollout::Error> for Problem {
    fn from(error: rollout::Error) -> Self {
        use rollout::Error as E;
        let gone = |e: &std::io::Error| e.kind() == std::io::ErrorKind::NotFound;
        let status = match &error {
            E::NoStep { .. } | E::NoSteps { .. } | E::NoSample { .. } | E::NoConversation { .. } => {
                StatusCode::NOT_FOUND
            }
            E::EmptyRange { .. } => StatusCode::BAD_REQUEST,
            E::StillWriting { .. } => StatusCode::SERVICE_UNAVAILABLE,
            E::Io { source, .. } if gone(source) => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let detail = match error.hint() {
            Some(hint) => format!("{error}; hint: {hint}"),
            None => error.to_string(),
        };
        Self::new(status, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "detail": self.detail }).to_string();
        let json = HeaderValue::from_static("application/json");
        let mut response = (self.status, [(CONTENT_TYPE, json)], body).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(TRY_AGAIN_S));
        }
        response
    }
}
