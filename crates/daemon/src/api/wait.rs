//! Waiting for a state of a session.

use super::{ApiError, Shared, read, sessions};
use crate::actor::Published;
use crate::hub::Handle;
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

const STATES: [&str; 9] = [
    "starting",
    "working",
    "idle",
    "waiting",
    "compacting",
    "handing_off",
    "limited",
    "exited",
    "lost",
];

/// Whether it is in that state, as somebody who waits for it means it.
fn is_in(published: &Published, state: &str) -> bool {
    // what is about to begin a turn was there before whoever waits
    let lasts = state != "idle" || !published.has_message_due;
    published.record.word() == state && lasts
}

/// Waits until it has that state, or will not have it any more. False: it is gone.
async fn reaches(hub: &Shared, handle: &Handle, state: &str) -> bool {
    let mut seen = handle.subscribe();
    loop {
        // an ended session will not become idle by waiting
        let reached = seen.wait_for(|p| is_in(p, state) || !p.record.state.is_live());
        if reached.await.is_err() {
            return false;
        }
        if state == "idle" {
            // whoever waits for the end of a turn wants to read what it said
            reply::shown(hub, handle).await;
        }
        // the next message may have begun another turn meanwhile
        let now = handle.now();
        if is_in(&now, state) || !now.record.state.is_live() {
            return true;
        }
    }
}

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
    let deadline = tokio::time::Instant::now() + patience;
    let reached = tokio::select! {
        reached = tokio::time::timeout_at(deadline, reaches(&hub, &handle, &query.state)) => {
            matches!(reached, Ok(true))
        }
        () = hub.stop.cancelled() => return Err(ApiError::gone()),
    };
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
    } else if view.state == query.state {
        (
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "{} is {}, but a message is about to begin its next turn, or what it said last cannot be read yet",
                view.name, view.state
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
