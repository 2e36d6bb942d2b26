//! Messages: accepted once written down, shown with what is known of them, withdrawn while they wait.

use super::types::{MessageView, ReplyView, SendBody};
use super::{ApiError, Shared, read, sessions};
use crate::actor::Wake;
use crate::caller::{self, Caller, Connection};
use crate::hub::Handle;
use crate::reply::Answer;
use crate::{clock, view};
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use sm_core::{AgentKind, Event, MessageId, MessageMeta, NewMessage, Sender, SessionName, words};
use sm_store::{MessageRow, Which};
use std::time::Duration;
use tokio::sync::oneshot;

/// Longer ones belong into a file.
const LONGEST: usize = 1 << 20;

pub async fn send(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let body: SendBody = read::body(&body)?;
    let id = MessageId::new(body.id.clone()).map_err(|error| {
        ApiError::bad(
            format!("the message's id is not usable: {error}"),
            "make a random one; the same id is the same message",
        )
    })?;
    if sm_core::comparable::is_blank(&body.text) {
        return Err(ApiError::bad(
            "the message is empty: there is nothing in it to be read",
            "say something, or give it on standard input with -",
        ));
    }
    if body.text.len() > LONGEST {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the message has {} bytes; {LONGEST} are the most",
                body.text.len()
            ),
            "write it into a file and send its path",
        ));
    }
    let mode = match body.mode.as_deref() {
        None => sm_core::Mode::Sequential,
        Some(word) => view::parse_mode(word).ok_or_else(|| {
            ApiError::bad(
                format!("{word:?} is not a mode"),
                "use sequential, important or urgent",
            )
        })?,
    };
    // a repeat of a message that came to its end long ago is still the same message
    if let Some(known) = stored(&hub, &handle, &id).await? {
        return Ok((StatusCode::OK, Json(known)).into_response());
    }
    let from = sender(&hub, &body, connection.map(|c| c.0), &headers).await?;
    if body.raw && matches!(from, Sender::Session { .. }) {
        return Err(raw_refused(&handle.now().record.name));
    }
    let patience = body.expires_ms.or_else(|| {
        hub.config
            .delivery
            .expire_after
            .map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
    });
    let expires_at = patience.map(|ms| clock::now().plus(i64::try_from(ms).unwrap_or(i64::MAX)));
    let message = NewMessage {
        id: id.clone(),
        from,
        text: body.text,
        mode,
        raw: body.raw,
        notify: body.notify,
        expires_at,
    };
    sessions::act(&handle, Event::Send(message)).await?;
    let view = find(&hub, &handle, &id).await?;
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// A sender inside a session is proven by that session's secret or by its process. One that does not
/// say so is known by its process: an agent that leaves its session out does not become a person.
async fn sender(
    hub: &Shared,
    body: &SendBody,
    connection: Option<Connection>,
    headers: &HeaderMap,
) -> Result<Sender, ApiError> {
    let Some(from) = &body.from else {
        return asker(hub, connection).await;
    };
    let from = read::session(hub, from)?;
    match caller::is_of(hub, &from, headers, connection).await {
        true => Ok(as_session(&from)),
        false => Err(not_of(&from)),
    }
}

/// Whoever asks, by its process.
pub(super) async fn asker(
    hub: &Shared,
    connection: Option<Connection>,
) -> Result<Sender, ApiError> {
    match caller::of(hub, connection).await {
        Caller::Session(own) => Ok(as_session(&own)),
        Caller::Unproven(other) => Err(not_of(&other)),
        Caller::Gone => Err(gone()),
        Caller::Outside | Caller::Unknown => Ok(Sender::Person),
    }
}

/// It may have been an agent's: without the line that says so its text would read as a person's.
pub(super) fn gone() -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        "the process that asked had ended before it was known whose it was",
        "ask from a program that waits for the answer",
    )
}

fn not_of(session: &Handle) -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        format!(
            "this is not a process of the session {}",
            session.now().record.name
        ),
        format!(
            "send it from inside that session, or as yourself: without {} in the environment",
            sm_client::wire::SESSION_VAR
        ),
    )
}

pub(super) fn as_session(handle: &Handle) -> Sender {
    Sender::Session {
        id: handle.id.clone(),
        name: handle.now().record.name.to_string(),
    }
}

/// Typed as it is, it would read as a person's words, and a command could drop the context.
fn raw_refused(name: &SessionName) -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        words::RAW_REFUSED,
        format!(
            "send it as a message, without --raw; if {name} should go on in a fresh context, ask it to: it hands itself off with `sm handoff`, and a person does it with `sm handoff --session {name}`"
        ),
    )
}

async fn in_memory(handle: &Handle, id: &MessageId) -> Result<Option<MessageView>, ApiError> {
    let (tx, rx) = oneshot::channel();
    handle.send(Wake::Message {
        id: id.clone(),
        reply: tx,
    });
    rx.await.map_err(|_| ApiError::gone())
}

async fn stored(
    hub: &Shared,
    handle: &Handle,
    id: &MessageId,
) -> Result<Option<MessageView>, ApiError> {
    let known = in_memory(handle, id).await?;
    // the text of one that came to its end is in the store only
    if known.as_ref().is_some_and(|view| !view.text.is_empty()) {
        return Ok(known);
    }
    let (session, message) = (handle.id.to_string(), id.to_string());
    let row = read::store(hub, move |reader| reader.message(&session, &message)).await?;
    Ok(match (known, row) {
        (Some(view), Some(row)) => Some(MessageView {
            text: row.text,
            ..view
        }),
        (Some(view), None) => Some(view),
        (None, row) => row.and_then(|row| from_row(&row)),
    })
}

async fn find(hub: &Shared, handle: &Handle, id: &MessageId) -> Result<MessageView, ApiError> {
    stored(hub, handle, id).await?.ok_or_else(|| {
        ApiError::not_found(
            format!("{} has no message {id}", handle.now().record.name),
            "list them with: sm queue ls",
        )
    })
}

fn message_id(text: String) -> Result<MessageId, ApiError> {
    MessageId::new(text).map_err(|error| {
        ApiError::bad(
            format!("that cannot be a message id: {error}"),
            "list them with: sm queue ls",
        )
    })
}

fn from_row(row: &MessageRow) -> Option<MessageView> {
    let meta: MessageMeta = serde_json::from_str(&row.meta).ok()?;
    Some(view::message_from(&row.session, &meta, row.text.clone()))
}

#[derive(Deserialize)]
pub struct ListQuery {
    #[serde(default)]
    all: bool,
}

pub async fn list(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Vec<MessageView>>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    if query.all {
        let session = handle.id.to_string();
        let rows = read::store(&hub, move |reader| {
            reader.messages(&session, Which::All, 1000)
        })
        .await?;
        return Ok(Json(rows.iter().filter_map(from_row).collect()));
    }
    let (tx, rx) = oneshot::channel();
    handle.send(Wake::Messages { reply: tx });
    Ok(Json(rx.await.map_err(|_| ApiError::gone())?))
}

#[derive(Deserialize)]
pub struct ShowQuery {
    wait_ms: Option<u64>,
    until: Option<String>,
}

const ORDER: [&str; 3] = ["written", "submitted", "consumed"];

pub async fn show(
    State(hub): State<Shared>,
    Path((wanted, message)): Path<(String, String)>,
    Query(query): Query<ShowQuery>,
) -> Result<Json<MessageView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let id = message_id(message)?;
    let until = query.until.as_deref().unwrap_or("submitted");
    let Some(rank) = ORDER.iter().position(|state| *state == until) else {
        return Err(ApiError::bad(
            format!("{until:?} cannot be waited for"),
            format!("use one of: {}", ORDER.join(", ")),
        ));
    };
    let mut seen = handle.subscribe();
    let deadline = tokio::time::Instant::now()
        + Duration::from_millis(query.wait_ms.unwrap_or(0).min(3_600_000));
    loop {
        let known = seen.borrow_and_update().messages;
        let view = find(&hub, &handle, &id).await?;
        let there = ORDER
            .iter()
            .position(|state| *state == view.state)
            .is_some_and(|at| at >= rank);
        let ended = matches!(view.state.as_str(), "failed" | "expired" | "withdrawn");
        if there || ended || tokio::time::Instant::now() >= deadline {
            return Ok(Json(view));
        }
        tokio::select! {
            changed = tokio::time::timeout_at(deadline, seen.wait_for(|p| p.messages != known)) => {
                if matches!(changed, Ok(Err(_))) {
                    return Err(ApiError::gone());
                }
            }
            () = hub.stop.cancelled() => return Err(ApiError::gone()),
        }
    }
}

#[derive(Deserialize)]
pub struct ReplyQuery {
    timeout_ms: Option<u64>,
}

const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What the agent answered to a message, once the turn that took it has ended. Not waited for if
/// somebody has to act first: a dialog, a message that failed, a session that has ended.
pub async fn reply(
    State(hub): State<Shared>,
    Path((wanted, message)): Path<(String, String)>,
    Query(query): Query<ReplyQuery>,
) -> Result<Json<ReplyView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let id = message_id(message)?;
    if handle.now().record.agent == AgentKind::Generic {
        return Err(ApiError::conflict(
            "this program keeps no record of what it answers: no reply can be told from the rest of its screen",
            format!("look at its screen: sm output {}", handle.id),
        ));
    }
    let patience = Duration::from_millis(query.timeout_ms.unwrap_or(600_000).min(3_600_000));
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        let view = find(&hub, &handle, &id).await?;
        let arrived = matches!(view.state.as_str(), "submitted" | "consumed");
        let failed = matches!(view.state.as_str(), "failed" | "expired" | "withdrawn");
        let record = handle.now().record.clone();
        let idle = record.state == sm_core::State::Idle && !record.turn_open;
        let stands = matches!(record.state, sm_core::State::Waiting(_)) || !record.state.is_live();
        let answer = match arrived && idle {
            true => crate::reply::answer(&hub, &handle, &view.text).await,
            false => Answer::NotYet,
        };
        let done = answer != Answer::NotYet;
        if done || failed || stands || tokio::time::Instant::now() >= deadline {
            let reply = match answer {
                Answer::Said(text) => Some(text),
                Answer::Silence | Answer::NotYet => None,
            };
            return Ok(Json(ReplyView {
                done,
                reply,
                message: view,
                session: sessions::view(&hub, &handle),
            }));
        }
        let mut seen = handle.subscribe();
        seen.borrow_and_update();
        // the record grows without the session changing
        let changed = match arrived && idle {
            true => LOOK_AGAIN,
            false => deadline.saturating_duration_since(tokio::time::Instant::now()),
        };
        tokio::select! {
            changed = tokio::time::timeout(changed.min(Duration::from_secs(1)), seen.changed()) => {
                if matches!(changed, Ok(Err(_))) {
                    return Err(ApiError::gone());
                }
            }
            () = hub.stop.cancelled() => return Err(ApiError::gone()),
        }
    }
}

pub async fn withdraw(
    State(hub): State<Shared>,
    Path((wanted, message)): Path<(String, String)>,
) -> Result<Json<MessageView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let id = message_id(message)?;
    find(&hub, &handle, &id).await?;
    sessions::act(&handle, Event::Withdraw(id.clone())).await?;
    let view = find(&hub, &handle, &id).await?;
    if view.state == "withdrawn" {
        return Ok(Json(view));
    }
    Err(ApiError::conflict(
        format!("the message is already {}", view.state),
        "what the agent has been given cannot be taken back; tell it otherwise with another message",
    ))
}
