//! The history: lines of a session, and a stream of all that happens.

use super::types::EventView;
use super::{ApiError, Shared, read};
use crate::view;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use futures_util::Stream;
use serde::Deserialize;
use sm_store::EventRow;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast;

const MOST: usize = 1000;

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
    let limit = query.limit.unwrap_or(200).min(MOST);
    let rows = read::store(&hub, move |reader| match query.after {
        Some(after) => reader.events(Some(&session), after, limit),
        None => reader.last_events(Some(&session), limit),
    })
    .await?;
    Ok(Json(rows.iter().map(view::event).collect()))
}

#[derive(Deserialize)]
pub struct FollowQuery {
    session: Option<String>,
    after: Option<i64>,
}

struct Follower {
    hub: Shared,
    session: Option<String>,
    rx: broadcast::Receiver<EventRow>,
    /// The last number that was sent.
    last: i64,
    backlog: VecDeque<EventRow>,
    /// Events were missed (a slow reader, or a resumed one): the store has them.
    behind: bool,
}

/// Every event from now on, or from the one after `after` (or `Last-Event-ID`). A reader that is too
/// slow costs the daemon no memory: what it missed is read from the store.
pub async fn follow(
    State(hub): State<Shared>,
    Query(query): Query<FollowQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, ApiError> {
    let session = match &query.session {
        Some(wanted) => Some(read::session(&hub, wanted)?.id.to_string()),
        None => None,
    };
    let resumed = headers
        .get("last-event-id")
        .and_then(|v| v.to_str().ok()?.parse().ok());
    let after: Option<i64> = query.after.or(resumed);
    let follower = Follower {
        rx: hub.followers.subscribe(),
        session,
        last: after.unwrap_or(i64::MIN),
        backlog: VecDeque::new(),
        behind: after.is_some(),
        hub,
    };
    let stream = futures_util::stream::unfold(follower, |mut follower| async move {
        let row = follower.next().await?;
        let data = serde_json::to_string(&view::event(&row)).unwrap_or_default();
        let event = SseEvent::default()
            .id(row.seq.to_string())
            .event(row.kind)
            .data(data);
        Some((Ok(event), follower))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

impl Follower {
    async fn next(&mut self) -> Option<EventRow> {
        loop {
            if let Some(row) = self.backlog.pop_front() {
                self.last = self.last.max(row.seq);
                return Some(row);
            }
            if self.behind {
                let (session, last) = (self.session.clone(), self.last);
                let rows = read::store(&self.hub, move |reader| {
                    reader.events(session.as_deref(), last, MOST)
                })
                .await
                .ok()?;
                self.behind = rows.len() == MOST;
                self.backlog.extend(rows);
                continue;
            }
            let received = tokio::select! {
                received = self.rx.recv() => received,
                () = self.hub.stop.cancelled() => return None,
            };
            match received {
                Ok(row) if row.seq <= self.last => {} // came with the backlog
                Ok(row) if self.session.as_ref().is_some_and(|s| *s != row.session) => {}
                Ok(row) => {
                    self.last = row.seq;
                    return Some(row);
                }
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = self.last != i64::MIN,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
