//! Following all that happens: server-sent events, and with `sessions` how the sessions look.
//!
//! A reader that is too slow costs the daemon no memory: events that it missed are read from the
//! store, and of a session only the newest look is sent, when there is room for it.

use super::{ApiError, Shared, read, sessions};
use crate::looks::Following;
use crate::view;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use sm_core::SessionId;
use sm_store::EventRow;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::time::Instant;

/// Events that are read from the store at once.
pub const MOST: usize = 1000;
/// How often looks are sent at most.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
pub struct FollowQuery {
    session: Option<String>,
    after: Option<i64>,
    /// Whether looks of sessions are sent too.
    #[serde(default)]
    sessions: Wanted,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Wanted {
    #[default]
    #[serde(rename = "false")]
    None,
    /// First those that live or need attention.
    #[serde(rename = "true")]
    Live,
    #[serde(rename = "all")]
    All,
}

#[derive(Serialize)]
struct Snapshot {
    /// Everything up to this event is in it.
    seq: i64,
    sessions: Vec<super::types::SessionView>,
}

struct Follower {
    hub: Shared,
    session: Option<String>,
    rx: broadcast::Receiver<EventRow>,
    /// The last number that was sent, or that need not be.
    last: i64,
    backlog: VecDeque<EventRow>,
    /// Events were missed (a slow reader, or a resumed one): the store has them.
    behind: bool,
    looks: Option<Looks>,
}

/// What is to be sent of how sessions look.
struct Looks {
    following: Following,
    wanted: Wanted,
    /// The whole list is still to be sent.
    first: bool,
    changed: Vec<SessionId>,
    children: HashMap<SessionId, Vec<String>>,
    not_before: Instant,
}

/// What comes next.
enum Next {
    Event(EventRow),
    Snapshot,
    Look(SessionId),
}

/// Every event from now on, or from the one after `Last-Event-ID` (or `after`).
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
    // a browser that comes back asks for the same address, and says how far it has come
    let after: Option<i64> = resumed.or(query.after);
    // in this order: what is on disk later than that is heard
    let rx = hub.followers.subscribe();
    let journaled = hub.journaled.load(Ordering::Acquire);
    // a number that was not given yet is of another journal
    let after = after.filter(|after| *after <= journaled);
    let looks = (query.sessions != Wanted::None).then(|| Looks {
        following: hub.sessions.looks.follow(),
        wanted: query.sessions,
        first: true,
        changed: Vec::new(),
        children: HashMap::new(),
        not_before: Instant::now(),
    });
    let follower = Follower {
        rx,
        session,
        last: after.unwrap_or(journaled),
        backlog: VecDeque::new(),
        behind: after.is_some(),
        looks,
        hub,
    };
    let stream = futures_util::stream::unfold(follower, |mut follower| async move {
        let next = follower.next().await?;
        let event = follower.said(next);
        Some((Ok(event), follower))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

impl Follower {
    async fn next(&mut self) -> Option<Next> {
        loop {
            if let Some(looks) = &mut self.looks
                && std::mem::take(&mut looks.first)
            {
                return Some(Next::Snapshot);
            }
            if let Some(row) = self.backlog.pop_front() {
                self.last = self.last.max(row.seq);
                return Some(Next::Event(row));
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
            if let Some(id) = self.looks.as_mut().and_then(|looks| looks.changed.pop()) {
                if self.session.as_ref().is_some_and(|s| s != id.as_str()) {
                    continue;
                }
                return Some(Next::Look(id));
            }
            let received = tokio::select! {
                received = self.rx.recv() => received,
                () = changed(&mut self.looks) => {
                    if let Some(looks) = &mut self.looks {
                        looks.children = sessions::families(&self.hub);
                    }
                    continue;
                }
                () = self.hub.stop.cancelled() => return None,
            };
            match received {
                Ok(row) if row.seq <= self.last => {} // came with the backlog
                Ok(row) if self.session.as_ref().is_some_and(|s| *s != row.session) => {}
                Ok(row) => {
                    self.last = row.seq;
                    return Some(Next::Event(row));
                }
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    fn said(&self, next: Next) -> SseEvent {
        match next {
            Next::Event(row) => {
                let data = serde_json::to_string(&view::event(&row)).unwrap_or_default();
                // who follows looks as well listens for a few names only
                let name = match self.looks {
                    Some(_) => "journal",
                    None => row.kind.as_str(),
                };
                SseEvent::default()
                    .id(row.seq.to_string())
                    .event(name)
                    .data(data)
            }
            Next::Snapshot => self.snapshot(),
            Next::Look(id) => self.look(&id),
        }
    }

    /// Its id is how far the reader has come, not how far the list has: events between the two are
    /// still to be sent.
    fn snapshot(&self) -> SseEvent {
        let seq = self.hub.journaled.load(Ordering::Acquire);
        let all = self.looks.as_ref().map(|looks| looks.wanted) == Some(Wanted::All);
        let mut list = sessions::listed(&self.hub, all || self.session.is_some());
        if let Some(only) = &self.session {
            list.retain(|view| view.id == *only);
        }
        let snapshot = Snapshot {
            seq,
            sessions: list,
        };
        SseEvent::default()
            .id(self.last.to_string())
            .event("snapshot")
            .data(serde_json::to_string(&snapshot).unwrap_or_default())
    }

    fn look(&self, id: &SessionId) -> SseEvent {
        let Some(handle) = self.hub.sessions.get(id) else {
            let gone = serde_json::json!({"id": id.as_str()});
            return SseEvent::default().event("gone").data(gone.to_string());
        };
        let published = handle.now();
        let looks = self.looks.as_ref();
        let children = looks.and_then(|looks| looks.children.get(id).cloned());
        let text =
            self.hub
                .sessions
                .looks
                .written(&published, children.unwrap_or_default(), |children| {
                    let socket = self.hub.tmux_socket();
                    let mut view = view::session(&published, &socket, &self.hub.paths);
                    view.children = children;
                    serde_json::to_string(&view).unwrap_or_default()
                });
        SseEvent::default().event("session").data(&*text)
    }
}

/// Ends when there are looks to be sent again.
async fn changed(looks: &mut Option<Looks>) {
    let Some(looks) = looks else {
        return std::future::pending().await;
    };
    tokio::time::sleep_until(looks.not_before).await;
    looks.changed = looks.following.taken().await.into_iter().collect();
    looks.not_before = Instant::now() + LOOK_EVERY;
}
