//! What a refused request is told: what happened, and what to do.

use super::types::ErrorView;
use axum::Json;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sm_store::StoreError;

#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    pub status: StatusCode,
    pub body: ErrorView,
}

impl ApiError {
    pub fn new(status: StatusCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            status,
            body: ErrorView {
                error: error.into(),
                hint: hint.into(),
            },
        }
    }
    pub fn bad(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, hint)
    }
    pub fn not_found(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error, hint)
    }
    pub fn conflict(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, error, hint)
    }
    pub fn gone() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the daemon is stopping",
            "repeat it in a moment; repeating is safe",
        )
    }
    pub fn store(error: &StoreError) -> Self {
        Self::new(
            StatusCode::INSUFFICIENT_STORAGE,
            format!("it could not be written down: {error}"),
            "nothing was done; free some disk space and repeat it (the same id is the same request)",
        )
    }
}

const DESCRIBED: &str = "GET /openapi.json describes all paths, and docs/api.md";

pub async fn no_such_path(uri: Uri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    ApiError::not_found(format!("there is no path {path:?}"), DESCRIBED)
}

pub async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    let path: String = uri.path().chars().take(200).collect();
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{method} is not possible at {path:?}"),
        DESCRIBED,
    )
}

/// What was refused before it reached one of us (a path or a query that cannot be read) is told in
/// plain text: whoever asks for JSON is told in JSON.
pub async fn as_json(answer: Response) -> Response {
    let kind = answer.headers().get(CONTENT_TYPE);
    let is_plain = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let status = answer.status();
    if !(status.is_client_error() || status.is_server_error()) || !is_plain {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let said = axum::body::to_bytes(body, MOST_SAID)
        .await
        .unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let error = match said.trim() {
        "" => status
            .canonical_reason()
            .unwrap_or("it was refused")
            .to_owned(),
        said => said.to_owned(),
    };
    for name in [CONTENT_TYPE, CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let told = ApiError::new(status, error, DESCRIBED).into_response();
    parts.headers.extend(told.headers().clone());
    Response::from_parts(parts, told.into_body())
}

/// The most of such a text that is repeated.
const MOST_SAID: usize = 16 * 1024;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
