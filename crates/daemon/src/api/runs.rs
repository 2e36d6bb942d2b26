//! Agents under `sm run`: the run tells of itself, and the daemon has it as a session like any other.
//!
//! The run owns process, terminal and rotation; here is only written down what it says. It tells
//! everything each time, so that whoever missed something before has it now: the same again changes
//! nothing. While it lives it keeps one request open (`hold`): the end of that is how its death is
//! noticed.

use super::types::{RunBody, SessionView};
use super::{ApiError, Shared, proven, read, sessions};
use crate::actor::Wake;
use crate::caller::Connection;
use crate::hub::{Handle, Hub};
use crate::stored::{Extra, RunHost};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use sm_client::wire;
use sm_core::{
    AgentKind, Author, ConversationId, Event, Generation, Hosted, HostedHandoff, NewSession,
    Opening, Process, SessionId, Timestamp, Trigger,
};
use std::sync::Arc;
use std::time::Duration;

/// A run whose connection is lost is gone by then, or it lives and will tell of itself again.
const MOURNING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);

/// Takes a run for a session, or hears what is new of it.
pub async fn tell(
    State(hub): State<Shared>,
    Path(id): Path<String>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let body: RunBody = read::body(&body)?;
    let id = SessionId::new(id).map_err(|error| {
        ApiError::bad(
            format!("that cannot be a session id: {error}"),
            "run sm doctor",
        )
    })?;
    let known = hub.sessions.get(&id);
    if let Some(handle) = &known {
        // it says by which secret and which socket the session is reached from now on
        proven(&hub, handle, &headers, peer)?;
    }
    if body.ended.is_some() {
        if let Some((handle, event)) = known.and_then(|h| Some((h.clone(), end(&h, &body)?))) {
            sessions::act(&handle, event).await?;
        }
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let (handle, status) = match known {
        Some(handle) => {
            let now = handle.now();
            if now.extra.run.is_none() && now.record.state.is_live() {
                return Err(ApiError::conflict(
                    format!("{} runs in tmux by now", now.record.name),
                    "end one of the two",
                ));
            }
            renew(&handle, &body);
            (handle, StatusCode::OK)
        }
        None => (
            introduce(&hub, &id, &body, &headers, peer).await?,
            StatusCode::CREATED,
        ),
    };
    sessions::act(&handle, Event::Hosted(Box::new(hosted(&body)?))).await?;
    let view: SessionView = sessions::view(&hub, &handle);
    Ok((status, Json(view)).into_response())
}

fn hosted(body: &RunBody) -> Result<Hosted, ApiError> {
    let conversation = body.conversation.clone().map(ConversationId::new);
    let conversation = conversation.transpose().map_err(|error| {
        ApiError::bad(
            format!("that cannot be a conversation: {error}"),
            "run sm doctor",
        )
    })?;
    Ok(Hosted {
        generation: Generation(body.generation.max(1)),
        process: body.process.map(|process| Process {
            pid: process.pid,
            start: process.start,
        }),
        conversation,
        transcript: body.transcript.clone(),
        at: Timestamp(body.at),
        opening: match body.prompted {
            true => Opening::Prompted,
            false => Opening::Open,
        },
        handoff: body.handoff.clone().map(|document| HostedHandoff {
            document,
            trigger: named(&body.handoff_trigger, Trigger::named).unwrap_or(Trigger::Person),
            author: named(&body.handoff_author, Author::named).unwrap_or(Author::Person),
        }),
    })
}

fn named<T>(word: &Option<String>, of: fn(&str) -> Option<T>) -> Option<T> {
    word.as_deref().and_then(of)
}

fn host(body: &RunBody) -> RunHost {
    RunHost {
        pid: body.run.pid,
        start: body.run.start,
        socket: body.socket.clone(),
        tty: body.tty.clone(),
        channel: body.channel.clone(),
        handoff: body.handoff.clone(),
    }
}

/// What may have changed of the run itself.
fn renew(handle: &Handle, body: &RunBody) {
    let new = host(body);
    let (secret_hash, home) = (body.secret_hash.clone(), body.agent_home.clone());
    let compact_window = body.compact_window;
    let now = handle.now();
    let same = now.extra.run.as_ref() == Some(&new)
        && now.extra.secret_hash == secret_hash
        && now.extra.agent_home == home
        && now.extra.compact_window == compact_window;
    if !same {
        handle.send(Wake::Extra(Box::new(move |extra| {
            extra.run = Some(new);
            extra.secret_hash = secret_hash;
            extra.agent_home = home;
            extra.compact_window = compact_window;
        })));
    }
}

/// How a run ended, if it is the one that has this session.
fn end(handle: &Handle, body: &RunBody) -> Option<Event> {
    let ended = body.ended?;
    let now = handle.now();
    let its = now
        .extra
        .run
        .as_ref()
        .is_some_and(|run| run.is(&host(body)));
    if !its || !now.record.state.is_live() {
        return None;
    }
    renew(handle, body);
    Some(Event::Exited {
        launch: now.record.launch,
        code: ended.code,
        signal: ended.signal,
    })
}

/// From the spool: the daemon was not there when it ended.
pub fn spooled_end(handle: &Handle, body: &[u8]) {
    match serde_json::from_slice::<RunBody>(body) {
        Ok(body) => {
            if let Some(event) = end(handle, &body) {
                handle.send(Wake::Event(event));
            }
        }
        Err(error) => tracing::warn!(%error, "the last words of a run were not understood"),
    }
}

async fn introduce(
    hub: &Shared,
    id: &SessionId,
    body: &RunBody,
    headers: &HeaderMap,
    peer: Option<Extension<Connection>>,
) -> Result<Handle, ApiError> {
    sessions::check_id(hub, id)?;
    let agent = AgentKind::parse(&body.agent).ok_or_else(|| {
        ApiError::bad(
            format!("there is no agent called {:?}", body.agent),
            "use the sm that belongs to this daemon",
        )
    })?;
    let wanted = super::types::NewSessionBody {
        cwd: body.cwd.clone(),
        command: body.command.clone(),
        parent: body.parent.clone(),
        ..Default::default()
    };
    // Whoever started it is its parent, if that is a session here.
    let secret = [wire::PARENT_SECRET_HEADER, wire::SECRET_HEADER]
        .into_iter()
        .find_map(|name| headers.get(name)?.to_str().ok());
    let parent = sessions::parent(hub, &wanted, secret, peer).unwrap_or(None);
    let name = sessions::name(hub, &wanted, agent, None)?;
    let new = NewSession {
        id: id.clone(),
        name,
        cwd: body.cwd.clone(),
        parent,
        conversation: None,
        folder: sessions::folder(hub, id),
    };
    let extra = Extra {
        args: body.args.clone(),
        command: body.command.clone(),
        cols: body.cols,
        rows: body.rows,
        secret_hash: body.secret_hash.clone(),
        agent_home: body.agent_home.clone(),
        compact_window: body.compact_window,
        run: Some(host(body)),
        ..Extra::default()
    };
    sessions::introduce(hub, agent, new, extra).await
}

/// Open as long as the run lives; answered when the daemon stops.
pub async fn hold(
    State(hub): State<Shared>,
    Path(id): Path<String>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let handle = read::session(&hub, &id)?;
    proven(&hub, &handle, &headers, peer)?;
    let _held = Held {
        hub: Arc::clone(&hub),
        handle,
    };
    hub.stop.cancelled().await;
    Ok(StatusCode::NO_CONTENT.into_response())
}

struct Held {
    hub: Shared,
    handle: Handle,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.hub.stop.is_cancelled() {
            tokio::spawn(lost(Arc::clone(&self.hub), self.handle.clone()));
        }
    }
}

/// The connection is lost. A run that has ended has said so before; one that was killed is gone in a
/// moment; one that lives comes back.
async fn lost(hub: Arc<Hub>, handle: Handle) {
    let Some(run) = handle.now().extra.run.clone() else {
        return;
    };
    let mut waited = Duration::ZERO;
    while run.is_alive() {
        if waited >= MOURNING || hub.stop.is_cancelled() {
            return;
        }
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
    let now = handle.now();
    if now.extra.run.as_ref().is_some_and(|own| own.is(&run)) && now.record.state.is_live() {
        tracing::warn!(session = %now.record.name, "its sm run is gone");
        let launch = now.record.launch;
        handle.send(Wake::Event(Event::TerminalGone { launch }));
    }
}
