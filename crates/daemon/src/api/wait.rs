//! Waiting for a state of a session.

use super::{ApiError, Shared, read, sessions};
use crate::reply;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
pub struct WaitQuery {
    #[serde(rename = "for")]
    state: String,
    timeout_ms: Option<u64>,
}

const STATES: [&str; 8] = [
    "starting",
    "working",
    "idle",
    "waiting",
    "compacting",
    "handing_off",
    "exited",
    "lost",
];

pub async fn wait(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Result<Response, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    if !STATES.contains(&query.state.as_str()) {
        return Err(ApiError::bad(
            format!("{:?} is not a state", query.state),
            format!("wait for one of: {}", STATES.join(", ")),
        ));
    }
    let patience = Duration::from_millis(query.timeout_ms.unwrap_or(600_000).min(86_400_000));
    let mut seen = handle.subscribe();
    let target = query.state.clone();
    let reached = seen.wait_for(|p| {
        // an ended session will not become idle by waiting
        p.record.word() == target || !p.record.state.is_live()
    });
    let reached = tokio::select! {
        reached = tokio::time::timeout(patience, reached) => matches!(reached, Ok(Ok(_))),
        () = hub.stop.cancelled() => return Err(ApiError::gone()),
    };
    if reached && query.state == "idle" {
        // whoever waits for the end of a turn wants to read what it said
        let _ = tokio::time::timeout(patience, reply::shown(&hub, &handle)).await;
    }
    let view = sessions::view(&hub, &handle);
    if reached && view.state == query.state {
        return Ok(Json(view).into_response());
    }
    let (status, error) = if reached {
        (
            StatusCode::CONFLICT,
            format!(
                "{} will not become {}: it is {}",
                view.name, query.state, view.state
            ),
        )
    } else {
        (
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "{} is still {} ({})",
                view.name, view.state, view.state_reason
            ),
        )
    };
    let hint = match reached {
        true => format!("start it again: sm restore {}", view.id),
        false => format!("look at it: sm show {}", view.name),
    };
    Ok((
        status,
        Json(serde_json::json!({"error": error, "hint": hint, "session": view})),
    )
        .into_response())
}
