//! How many requests that stay open may be open at once, by kind: streams of events and terminals,
//! those that wait for something, and those that agents and runs keep open. No kind takes the places
//! of another. The rest of our descriptors is for what is answered at once: a hook of an agent and a
//! person's command must get in, whatever else hangs on the socket.

use super::ApiError;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What all places together are measured by where the system does not say how many files we may
/// open, and the most that counts.
const USUAL_FILES: usize = 1024;
const MOST_FILES: usize = 16 * 1024;
/// Each follows everything that happens: more would keep the daemon busy with telling it.
const MOST_STREAMS: usize = 256;

/// How many files this process may open at once.
pub fn files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.unwrap_or(USUAL_FILES).clamp(64, MOST_FILES)
}

/// The places there are.
#[derive(Debug, Clone)]
pub struct Capacity {
    streams: Places,
    waits: Places,
    agents: Places,
}

#[derive(Debug, Clone)]
struct Places {
    free: Arc<Semaphore>,
    all: usize,
}

impl Places {
    fn new(all: usize) -> Self {
        let free = Arc::new(Semaphore::new(all));
        Self { free, all }
    }
}

/// A place that is taken: an extension of the answer, held as long as its connection is busy with it.
#[derive(Debug, Clone)]
pub struct Place(#[expect(dead_code, reason = "held, not used")] Arc<OwnedSemaphorePermit>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Wait,
    /// Kept open by an agent or a run, as long as it lives.
    Agent,
    /// Answered at once.
    Short,
}

fn kind(method: &Method, uri: &Uri) -> Kind {
    let parts: Vec<&str> = uri.path().split('/').skip(1).collect();
    let waits = uri.query().is_some_and(|query| query.contains("wait_ms="));
    match (method.as_str(), parts.as_slice()) {
        ("GET", ["events"] | ["sessions", _, "terminal"]) => Kind::Stream,
        ("GET", ["sessions", _, "wait"] | ["sessions", _, "messages", _, "reply"]) => Kind::Wait,
        ("GET", ["sessions", _, "messages", _]) if waits => Kind::Wait,
        ("POST", ["hooks", _, "mailbox"] | ["runs", _, "hold"]) => Kind::Agent,
        _ => Kind::Short,
    }
}

impl Capacity {
    pub fn new(files: usize) -> Self {
        Self {
            streams: Places::new((files / 8).min(MOST_STREAMS)),
            waits: Places::new(files / 8),
            agents: Places::new(files / 4),
        }
    }

    /// None: it needs no place.
    fn take(&self, kind: Kind) -> Result<Option<Place>, ApiError> {
        let (places, what, hint) = match kind {
            Kind::Short => return Ok(None),
            Kind::Stream => (
                &self.streams,
                "streams of events and terminals are open",
                "close some of them (pages, sm watch, scripts that follow events), then try again",
            ),
            Kind::Wait => (
                &self.waits,
                "requests wait for something",
                "end some of them (sm wait, sm ask, sm send --wait), then try again",
            ),
            Kind::Agent => (
                &self.agents,
                "agents and runs are connected",
                "end some sessions; or allow more open files (ulimit -n), then run: sm stop",
            ),
        };
        match Arc::clone(&places.free).try_acquire_owned() {
            Ok(permit) => Ok(Some(Place(Arc::new(permit)))),
            Err(_) => Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("{} {what}, which is the most", places.all),
                hint,
            )),
        }
    }
}

/// Gives every request that stays open its place, or refuses it.
pub async fn bounded(State(capacity): State<Capacity>, request: Request, next: Next) -> Response {
    let place = match capacity.take(kind(request.method(), request.uri())) {
        Ok(place) => place,
        Err(refused) => {
            tracing::warn!(
                path = request.uri().path(),
                "refused: {}",
                refused.body.error
            );
            let mut answer = refused.into_response();
            // its descriptor is wanted by somebody else
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
            return answer;
        }
    };
    let mut answer = next.run(request).await;
    if let Some(place) = place {
        answer.extensions_mut().insert(place);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_open_takes_a_place() {
        for (method, uri, expected) in [
            (Method::GET, "/events?sessions=true", Kind::Stream),
            (Method::GET, "/sessions/a/terminal", Kind::Stream),
            (Method::GET, "/sessions/a/wait?for=idle", Kind::Wait),
            (Method::GET, "/sessions/a/messages/m?wait_ms=9", Kind::Wait),
            (Method::GET, "/sessions/a/messages/m", Kind::Short),
            (
                Method::GET,
                "/sessions/a/messages/m/reply?timeout_ms=9",
                Kind::Wait,
            ),
            (Method::POST, "/hooks/claude/mailbox", Kind::Agent),
            (Method::POST, "/hooks/claude/Stop", Kind::Short),
            (Method::POST, "/runs/a/hold", Kind::Agent),
            (Method::GET, "/sessions/a/events", Kind::Short),
            (Method::GET, "/sessions", Kind::Short),
        ] {
            assert_eq!(kind(&method, &uri.parse().unwrap()), expected, "{uri}");
        }
    }

    #[test]
    fn a_kind_that_is_full_leaves_the_others_their_places() {
        let kinds = [
            (Kind::Stream, 8, "8 streams"),
            (Kind::Wait, 8, "8 requests"),
            (Kind::Agent, 16, "16 agents"),
        ];
        for (kind, all, said) in kinds {
            let capacity = Capacity::new(64);
            let taken: Vec<_> = (0..all).map(|_| capacity.take(kind).unwrap()).collect();
            let refused = capacity.take(kind).unwrap_err();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
            assert!(refused.body.error.starts_with(said), "{refused:?}");
            for (other, ..) in kinds.iter().filter(|(other, ..)| *other != kind) {
                assert!(capacity.take(*other).is_ok(), "{kind:?} leaves {other:?}");
            }
            assert!(capacity.take(Kind::Short).is_ok());
            drop(taken);
            assert!(capacity.take(kind).is_ok());
        }
    }
}
