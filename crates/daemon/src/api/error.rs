//! What a refused request is told: what happened, and what to do.

use super::types::ErrorView;
use axum::Json;
use axum::http::StatusCode;
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

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
