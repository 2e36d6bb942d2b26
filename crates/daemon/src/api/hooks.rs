//! What agents' hooks send. Whatever comes, the agent is answered quickly and never with an error
//! that could hurt it: an unknown session or a bad payload is answered with nothing.

use super::{ApiError, Shared, asked};
use crate::actor::{Published, Wake};
use crate::ask::Ask;
use crate::caller::{self, Connection};
use crate::hub::{Handle, Hub};
use crate::watch::Changed;
use crate::{clock, fault, limits, origin, proof, recovery, tool_calls};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};
use sm_agents::kind;
use sm_agents::parsed::event as own;
use sm_client::wire;
use sm_core::limit::UsageWindow;
use sm_core::signal::{Fact, HookCall, Origin, Signal, UsageSample, UsageSource};
use sm_core::{
    AgentKind, Answer, ConversationId, Event, EventId, RequestId, SessionId, Timestamp, WaiterId,
};
use std::sync::Arc;
use std::time::Duration;

/// The hook gives up after 250 ms; an answer after that would be nobody's.
const PATIENCE: Duration = Duration::from_millis(220);

/// A conversation that the session has not made its own by then is somebody else's.
const ADOPTION: Duration = Duration::from_secs(5);

/// A hook call as it came by socket or from the spool.
pub struct Incoming {
    pub agent: String,
    pub event: String,
    pub session: String,
    pub id: String,
    pub at: Option<i64>,
    pub ancestors: String,
    pub body: Vec<u8>,
    pub claim: Claim,
}

/// Whether a call is of the session that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    Proven,
    /// Anybody's: it is written down and changes nothing.
    Unproven,
}

impl Claim {
    pub fn of(is_proven: bool) -> Self {
        match is_proven {
            true => Self::Proven,
            false => Self::Unproven,
        }
    }
}

pub async fn hook(
    State(hub): State<Shared>,
    Path((agent, event)): Path<(String, String)>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
            .to_string()
    };
    let mut incoming = Incoming {
        agent,
        event,
        session: header(wire::SESSION_HEADER),
        id: header(wire::EVENT_ID_HEADER),
        at: header(wire::AT_HEADER).parse().ok(),
        ancestors: header(wire::ANCESTORS_HEADER),
        body: body.to_vec(),
        claim: Claim::Unproven,
    };
    let secret = header(wire::SECRET_HEADER);
    let Some(handle) = SessionId::new(incoming.session.clone())
        .ok()
        .and_then(|id| hub.sessions.get(&id))
    else {
        return nothing(); // an agent of another instance, or of a session that was purged
    };
    let peer = peer.map(|Extension(peer)| peer);
    let is_proven = proof::is_of(&hub, &handle, &headers, peer)
        || (is_output(&incoming) && writes_its_log(&handle, &secret, peer));
    incoming.claim = Claim::of(is_proven);
    if !is_proven {
        tracing::warn!(session = %handle.id, event = %incoming.event, ?peer, "nothing proves that a hook is of this session: it changes nothing");
        deliver(&hub, &handle, incoming, None).await;
        return nothing();
    }
    match incoming.event.as_str() {
        own::MAILBOX => mailbox(hub, handle, incoming).await,
        own::STATUS_LINE => status_line(&hub, &handle, incoming).await,
        _ => {
            let event = incoming.event.clone();
            let agent = handle.now().record.agent;
            if headers.contains_key(wire::ANSWERED_HEADER) {
                deliver(&hub, &handle, incoming, None).await;
                return nothing(); // messages wait for the next hook: this one has its answer
            }
            if let Some(ask) = request_in(&handle, &incoming, &secret) {
                let said = asked::by_hook(&hub, &handle, ask).await;
                let said = said.map_or(Answer::Nothing, |text| Answer::Context { text });
                // messages wait for the next hook: this one has its answer
                deliver(&hub, &handle, incoming, None).await;
                return print(agent, &event, &said);
            }
            let (request, answer) = hub.answers.ask();
            deliver(&hub, &handle, incoming, Some(request)).await;
            let answer = match tokio::time::timeout(PATIENCE, answer).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => {
                    hub.answers.forget(request);
                    Answer::Nothing
                }
            };
            let answer = match answer {
                Answer::Recover { handoff } => recovery::text(&hub, &handle, handoff.as_ref())
                    .await
                    .map_or(Answer::Nothing, |text| Answer::Context { text }),
                other => other,
            };
            print(agent, &event, &answer)
        }
    }
}

/// When a call says that it was made. No clock here is ahead of ours.
fn stamped(at: Option<i64>) -> Timestamp {
    let now = clock::now();
    at.map_or(now, |at| Timestamp(at).min(now))
}

/// What tells of a program without hooks whether it writes or is quiet.
fn is_output(incoming: &Incoming) -> bool {
    incoming.agent == AgentKind::Generic.as_str() && incoming.event == own::OUTPUT
}

/// The writer of a terminal's log is no process of the session: tmux has started it.
fn writes_its_log(handle: &Handle, key: &str, peer: Option<Connection>) -> bool {
    proof::is_log_key(handle, key) || proof::writes_its_log(handle, peer)
}

/// What `sm` has asked for in the output of a tool. Only a hook that proves whose it is carries it,
/// and never from the spool: whoever asked is not there any more.
fn request_in(handle: &Handle, incoming: &Incoming, secret: &str) -> Option<Ask> {
    let published = handle.now();
    let printed = kind::tool_output(published.record.agent, &incoming.event, &incoming.body)
        .filter(|printed| !secret.is_empty() && printed.contains(wire::ASK_MARK))?;
    Ask::find(&printed, &published.extra.secret_hash, clock::now().0)
}

fn nothing() -> Response {
    StatusCode::OK.into_response()
}

fn print(agent: AgentKind, event: &str, answer: &Answer) -> Response {
    let shown = match answer {
        Answer::Context { .. } => Some("sm: a message was given to the agent"),
        Answer::Block { .. } => Some("sm: the compaction is held up for a handoff"),
        Answer::Nothing
        | Answer::Show { .. }
        | Answer::Continue { .. }
        | Answer::Recover { .. } => None,
    };
    (StatusCode::OK, kind::answer(agent, event, answer, shown)).into_response()
}

/// Translates a hook call and wakes the session with it.
pub async fn deliver(
    hub: &Arc<Hub>,
    handle: &Handle,
    incoming: Incoming,
    request: Option<RequestId>,
) {
    let published = handle.now();
    let record = &published.record;
    let at = stamped(incoming.at);
    if is_output(&incoming) && incoming.claim == Claim::Proven {
        let active = serde_json::from_slice::<OutputBody>(&incoming.body).is_ok_and(|b| b.active);
        handle.send(Wake::Event(Event::Output { active }));
        if let Some(request) = request {
            hub.answers.give(request, Answer::Nothing);
        }
        return;
    }
    match call(record, &incoming, at, request) {
        Some((call, _)) => {
            let own = matches!(call.origin, Origin::Own | Origin::Unknown);
            let said = kind::reply(record.agent, &incoming.event, &incoming.body);
            if let Some(said) = said.filter(|_| own) {
                hub.replies.told(&handle.id, said.clone());
                handle.send(Wake::Event(Event::Replied(said)));
            } else if own && let Signal::PromptAccepted { text, .. } = &call.signal {
                hub.replies.turn_begins(&handle.id, text.clone());
            }
            hand_on(hub, handle, &published, call).await;
        }
        None => {
            if let Some(request) = request {
                hub.answers.give(request, Answer::Nothing);
            }
        }
    }
}

/// Wakes the session, and sees to it that what the call names is read.
async fn hand_on(hub: &Arc<Hub>, handle: &Handle, published: &Arc<Published>, call: HookCall) {
    if let Signal::ContextStarted { .. } | Signal::CompactionStarting { .. } = call.signal
        && call.origin != Origin::Unproven
    {
        // what the old context proved has to be known before the new one begins, and how full it is
        // before it is said whether that may wait
        published.sources.read(handle).await;
    }
    let transcript = match &call.signal {
        Signal::ContextStarted { transcript, .. } | Signal::PromptAccepted { transcript, .. } => {
            transcript.clone()
        }
        _ => None,
    };
    let conversation = call.conversation.clone();
    let foreign = matches!(
        call.origin,
        Origin::SubAgent | Origin::Nested | Origin::Unproven
    );
    let prompt = matches!(call.signal, Signal::PromptAccepted { .. });
    let sample = matches!(call.signal, Signal::Usage(_));
    handle.send(Wake::Event(Event::Hook(call)));
    if prompt && !foreign && published.extra.begun != conversation {
        let begun = conversation.clone();
        handle.send(Wake::Extra(Box::new(move |extra| extra.begun = begun)));
    }
    if !foreign {
        watch_known(hub, handle, published);
    }
    // (samples come all the time, and say nothing of what was said)
    if !foreign && !sample {
        hub.ledgers.touch(&handle.id);
    }
    if let (Some(path), Some(conversation), false) = (transcript, conversation, foreign) {
        tokio::spawn(follow(
            Arc::clone(hub),
            handle.clone(),
            path.into(),
            conversation,
        ));
    }
}

/// Turns to a transcript once the session has taken its conversation for its own.
async fn follow(
    hub: Arc<Hub>,
    handle: Handle,
    path: std::path::PathBuf,
    conversation: ConversationId,
) {
    let mut seen = handle.subscribe();
    let taken = seen.wait_for(|p| p.record.conversation.as_ref() == Some(&conversation));
    if tokio::time::timeout(ADOPTION, taken).await.is_err() {
        return;
    }
    let sources = Arc::clone(&handle.now().sources);
    sources.follow(&path, &conversation, &handle).await;
    hub.watcher
        .watch(&path, Changed::Transcript(handle.id.clone()));
    sources.read(&handle).await;
}

/// Agents make the folders of their files only when they first write into them: what could not be
/// watched when its path was learned can be now.
fn watch_known(hub: &Arc<Hub>, handle: &Handle, published: &Arc<Published>) {
    let (record, extra) = (&published.record, &published.extra);
    if let (Some(home), Some(process)) = (&extra.agent_home, record.process)
        && let Some(path) = kind::status_path(record.agent, home, process.pid)
        && hub.watcher.watch(&path, Changed::Status(handle.id.clone()))
    {
        crate::dispatch::status(handle);
    }
    let Some(path) = &record.transcript else {
        return;
    };
    let whose = Changed::Transcript(handle.id.clone());
    if hub.watcher.watch(std::path::Path::new(path), whose) {
        let (handle, published) = (handle.clone(), Arc::clone(published));
        tokio::spawn(async move { published.sources.read(&handle).await });
    }
}

#[derive(Deserialize)]
struct OutputBody {
    active: bool,
}

fn call(
    record: &sm_core::Record,
    incoming: &Incoming,
    at: Timestamp,
    request: Option<RequestId>,
) -> Option<(HookCall, Vec<UsageWindow>)> {
    let mut parsed = kind::parse_hook(record.agent, &incoming.event, &incoming.body, at);
    tool_calls::in_signal(&mut parsed.signal);
    limits::in_signal(&mut parsed.signal, at);
    for warning in &parsed.warnings {
        tracing::debug!(session = %record.id, %warning, event = %incoming.event, "odd hook payload");
    }
    let origin = match (incoming.claim, parsed.origin_hint) {
        (Claim::Unproven, _) => Origin::Unproven,
        (Claim::Proven, Some(origin)) => origin,
        (Claim::Proven, None) => origin::of(record.agent, record.process, &incoming.ancestors),
    };
    let id = EventId::new(incoming.id.clone())
        .or_else(|_| EventId::new(clock::random_hex(8)))
        .ok()?;
    let call = HookCall {
        id,
        at,
        conversation: parsed.conversation,
        origin,
        request,
        signal: parsed.signal,
    };
    Some((call, parsed.windows))
}

/// The status line is answered from its own payload; the sample goes on to the session.
async fn status_line(hub: &Arc<Hub>, handle: &Handle, incoming: Incoming) -> Response {
    let published = handle.now();
    let at = stamped(incoming.at);
    let Some((call, windows)) = call(&published.record, &incoming, at, None) else {
        return nothing();
    };
    if !windows.is_empty() && matches!(call.origin, Origin::Own | Origin::Unknown) {
        handle.send(Wake::Event(Event::Facts(vec![Fact::Windows(windows)])));
    }
    let text = match &call.signal {
        Signal::Usage(UsageSample {
            used_percentage: Some(used),
            ..
        }) => format!("{used:.0}% ctx"),
        _ => "–% ctx".to_string(),
    };
    hand_on(hub, handle, &published, call).await;
    (StatusCode::OK, text).into_response()
}

/// Keeps the waiter's request open until there is a text for it, or it is no longer wanted.
async fn mailbox(hub: Shared, handle: Handle, incoming: Incoming) -> Response {
    let (waiter, text) = hub.mailboxes.open(handle.id.clone());
    let record = handle.now().record.clone();
    let at = stamped(incoming.at);
    let Some((mut call, _)) = call(&record, &incoming, at, None) else {
        return StatusCode::NO_CONTENT.into_response();
    };
    call.signal = Signal::MailboxOpen { waiter };
    let mut guard = Leaving {
        hub: Arc::clone(&hub),
        waiter: Some(waiter),
    };
    handle.send(Wake::Event(Event::Hook(call)));
    let text = tokio::select! {
        text = text => text.ok().flatten(),
        () = hub.stop.cancelled() => None,
    };
    guard.waiter = None;
    match text {
        Some(letter) => {
            let headers = [
                (wire::WAITER_HEADER, waiter.0.to_string()),
                (wire::HANDING_HEADER, letter.handing.word().to_string()),
            ];
            (StatusCode::OK, headers, letter.text).into_response()
        }
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// A waiter whose connection closes while it waits is struck off.
struct Leaving {
    hub: Shared,
    waiter: Option<WaiterId>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter
            && let Some(session) = self.hub.mailboxes.gone(waiter)
        {
            self.hub.wake(&session, Event::WaiterGone { waiter });
        }
    }
}

/// Waiters are numbered: whoever knows a number is not yet its agent.
fn of_its_session(
    hub: &Shared,
    waiter: WaiterId,
    headers: &HeaderMap,
    peer: Option<Extension<Connection>>,
) -> Result<(), ApiError> {
    let session = hub.mailboxes.session(waiter);
    let Some(handle) = session.and_then(|id| hub.sessions.get(&id)) else {
        return Ok(()); // nobody's: there is nothing to take
    };
    super::proven(hub, &handle, headers, peer)
}

pub async fn taken(
    State(hub): State<Shared>,
    Path(waiter): Path<u64>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let waiter = WaiterId(waiter);
    of_its_session(&hub, waiter, &headers, peer)?;
    match hub.mailboxes.take(waiter) {
        Some((session, flight)) => {
            // the text goes to the agent only when it is written down that it does
            let handle = hub.sessions.get(&session).ok_or_else(ApiError::gone)?;
            let taken = Event::Mailed {
                flight,
                waiter,
                taken: true,
            };
            fault::before("mailbox", "taken");
            super::sessions::act(&handle, taken).await?;
            fault::after("mailbox", "taken");
            Ok(StatusCode::OK)
        }
        None => Err(ApiError::conflict(
            "this text was taken back",
            "do not hand it on",
        )),
    }
}

/// The agent has read the text that it was offered and will not do it.
pub async fn refused(
    State(hub): State<Shared>,
    Path(waiter): Path<u64>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    let body: RefusedBody = super::read::body(&body)?;
    let waiter = WaiterId(waiter);
    of_its_session(&hub, waiter, &headers, peer)?;
    let Some((session, flight)) = hub.mailboxes.take(waiter) else {
        return Err(ApiError::conflict(
            "this text was taken back",
            "nothing has to be done",
        ));
    };
    let handle = hub.sessions.get(&session).ok_or_else(ApiError::gone)?;
    let reason: String = body.reason.chars().take(REASON).collect();
    let refused = Event::MailRefused {
        flight,
        waiter,
        reason,
    };
    super::sessions::act(&handle, refused).await?;
    Ok(StatusCode::OK)
}

/// Longest reason that is kept.
const REASON: usize = 400;

#[derive(Default, Deserialize)]
#[serde(default)]
struct RefusedBody {
    reason: String,
}

/// What older status-line scripts send: usage, or the notice of a compaction. Whatever is missing or
/// of another kind counts as not said, as it did for them.
struct UsageBody {
    session: Option<SessionId>,
    used: Option<Number>,
    tokens: Option<u64>,
    window: Option<u64>,
    is_compaction: bool,
}

impl UsageBody {
    fn read(body: &[u8]) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let number = |name: &str| match fields.get(name) {
            Some(Value::Number(number)) => Some(number.clone()),
            Some(_) | None => None,
        };
        let count = |name: &str| number(name).and_then(|n| n.as_u64());
        Some(Self {
            session: text("session_id").and_then(|id| SessionId::new(id).ok()),
            used: number("used_percentage"),
            tokens: count("total_input_tokens"),
            window: count("context_window_size"),
            is_compaction: text("event") == Some("compaction"),
        })
    }
}

/// Answered when the session has it, so that whoever looks next sees it. Of a process of the session
/// it is one of the session's sources; anybody else's fills the gauge where there is none, and counts
/// no compaction.
pub async fn context_usage(
    State(hub): State<Shared>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(body) = UsageBody::read(&body) else {
        return ApiError::bad(
            "the body is not a usage report",
            "GET /openapi.json describes it",
        )
        .into_response();
    };
    let Some(handle) = body.session.and_then(|id| hub.sessions.get(&id)) else {
        return axum::Json(json!({"status": "unknown_session"})).into_response();
    };
    let at = clock::now();
    let peer = peer.map(|Extension(peer)| peer);
    let (origin, source) = match caller::is_of(&hub, &handle, &headers, peer).await {
        true => (Origin::Unknown, UsageSource::Api),
        false => (Origin::Unproven, UsageSource::Unproven),
    };
    let (signal, answer) = match (body.is_compaction, origin) {
        (true, Origin::Unproven) => (Signal::CompactionReported, json!({"status": "unproven"})),
        (true, _) => (
            Signal::CompactionReported,
            json!({"status": "compaction_logged"}),
        ),
        (false, _) => (
            Signal::Usage(UsageSample {
                source,
                used_percentage: body.used.as_ref().and_then(Number::as_f64),
                tokens: body.tokens,
                window: body.window,
                at,
            }),
            json!({"status": "ok", "used_percentage": body.used.map_or(json!(0), Value::Number)}),
        ),
    };
    if let Ok(id) = EventId::new(clock::random_hex(8)) {
        let call = HookCall {
            id,
            at,
            conversation: None,
            origin,
            request: None,
            signal,
        };
        let told = super::sessions::act(&handle, Event::Hook(call));
        match tokio::time::timeout(PATIENCE, told).await {
            Ok(Ok(())) | Err(_) => {} // a slow disk is not the script's business
            Ok(Err(error)) => return error.into_response(),
        }
    }
    axum::Json(answer).into_response()
}
