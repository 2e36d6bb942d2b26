//! The history: lines of a session, and a stream of all that happens.

use super::types::EventView;
use super::{ApiError, Shared, follow, read};
use crate::view;
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct EventsQuery {
    after: Option<i64>,
    limit: Option<usize>,
}

pub async fn of_session(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<Vec<EventView>>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let session = handle.id.to_string();
    let limit = query.limit.unwrap_or(200).min(follow::MOST);
    let rows = read::store(&hub, move |reader| match query.after {
        Some(after) => reader.events(Some(&session), after, limit),
        None => reader.last_events(Some(&session), limit),
    })
    .await?;
    Ok(Json(rows.iter().map(view::event).collect()))
}
