//! Sessions: making, listing, changing, ending, bringing back.

use super::types::{AttachView, NewSessionBody, PatchBody, RestoreBody, SessionView};
use super::{ApiError, Shared, messages, read};
use crate::actor::{Actor, Wake};
use crate::archive;
use crate::caller::Connection;
use crate::hub::Handle;
use crate::names;
use crate::stored::Extra;
use crate::{clock, launch, proof, view};
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use sm_agents::kind;
use sm_core::{
    AgentKind, Event, MessageId, Mode, NewMessage, NewSession, Session, SessionId, SessionName,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

#[derive(Deserialize)]
pub struct ListQuery {
    #[serde(default)]
    all: bool,
}

pub async fn list(
    State(hub): State<Shared>,
    Query(query): Query<ListQuery>,
) -> Json<Vec<SessionView>> {
    Json(listed(&hub, query.all))
}

/// Those that live or need attention, or all of them, oldest first.
pub fn listed(hub: &Shared, all: bool) -> Vec<SessionView> {
    let socket = hub.tmux_socket();
    let mut views: Vec<SessionView> = hub
        .sessions
        .all()
        .iter()
        .map(Handle::now)
        .map(|p| {
            (
                p.record.state.is_live(),
                view::session(&p, &socket, &hub.paths),
            )
        })
        .filter(|(live, view)| all || *live || view.attention.is_some())
        .map(|(_, view)| view)
        .collect();
    let mut children: HashMap<String, Vec<String>> = HashMap::new();
    for view in &views {
        if let Some(parent) = &view.parent {
            children
                .entry(parent.clone())
                .or_default()
                .push(view.id.clone());
        }
    }
    for view in &mut views {
        view.children = children.remove(&view.id).unwrap_or_default();
    }
    views.sort_by(|a, b| {
        a.created_at
            .cmp(&b.created_at)
            .then_with(|| a.id.cmp(&b.id))
    });
    views
}

/// The children of every session that has some.
pub fn families(hub: &Shared) -> HashMap<SessionId, Vec<String>> {
    let mut children: HashMap<SessionId, Vec<String>> = HashMap::new();
    for published in hub.sessions.all().iter().map(Handle::now) {
        if let Some(parent) = &published.record.parent {
            let id = published.record.id.to_string();
            children.entry(parent.clone()).or_default().push(id);
        }
    }
    children.values_mut().for_each(|list| list.sort());
    children
}

pub fn view(hub: &Shared, handle: &Handle) -> SessionView {
    let mut view = view::session(&handle.now(), &hub.tmux_socket(), &hub.paths);
    view.children = families(hub).remove(&handle.id).unwrap_or_default();
    view
}

pub async fn show(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
) -> Result<Json<SessionView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    Ok(Json(view(&hub, &handle)))
}

pub async fn create(
    State(hub): State<Shared>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let body: NewSessionBody = read::body(&body)?;
    let id = match &body.id {
        Some(id) => id.clone(),
        None => drawn_id(&hub),
    };
    let id = SessionId::new(id).map_err(|error| {
        ApiError::bad(
            format!("that cannot be a session id: {error}"),
            "leave it out",
        )
    })?;
    if let Some(handle) = hub.sessions.get(&id) {
        // a repeat of the same request; the environment may have been lost with the daemon
        return Ok((StatusCode::OK, Json(view(&hub, &handle))).into_response());
    }
    check_id(&hub, &id)?;
    let agent = AgentKind::parse(&body.agent).ok_or_else(|| {
        ApiError::bad(
            format!("there is no agent called {:?}", body.agent),
            "use claude, codex, native, or any program: sm new -- my-program --its-flags",
        )
    })?;
    if agent == AgentKind::Generic && body.command.is_empty() {
        return Err(ApiError::bad(
            "no program was given",
            "say: sm new -- my-program --its-flags",
        ));
    }
    if let Some(why) = kind::not_a_session(agent, &body.args) {
        return Err(ApiError::bad(
            why,
            "give the prompt to the session: sm new native --prompt \"…\"; or run it headless: sm agent -p \"…\"",
        ));
    }
    if !std::path::Path::new(&body.cwd).is_dir() {
        return Err(ApiError::bad(
            format!("{} is not a folder", body.cwd),
            "give the working folder with --cwd",
        ));
    }
    has_program(&hub, agent, &body.command, &body.env, &body.cwd)?;
    hub.tmux.version().await.map_err(|error| {
        ApiError::new(
            StatusCode::FAILED_DEPENDENCY,
            error.to_string(),
            "install it, then run sm doctor",
        )
    })?;
    let secret = proof::secret(&headers);
    let secret = (!secret.is_empty()).then_some(secret);
    let prompt = prompt(&hub, &id, &body, secret, peer).await?;
    let parent = parent(&hub, &body, secret, peer)?;
    let name = name(&hub, &body, agent, None)?;
    let handle = start(&hub, &body, id, agent, name, parent, prompt).await?;
    Ok((StatusCode::CREATED, Json(view(&hub, &handle))).into_response())
}

/// One that reaches nobody else.
fn drawn_id(hub: &Shared) -> String {
    let published: Vec<_> = hub.sessions.all().iter().map(Handle::now).collect();
    loop {
        let id = clock::random_hex(4);
        let known = published.iter().any(|p| p.record.id.as_str() == id);
        let others = published.iter().map(|p| read::named(p));
        if !known && names::check_id(&id, others).is_ok() {
            return id;
        }
    }
}

/// Refused is an id by which somebody else's name would no longer be reached.
pub(super) fn check_id(hub: &Shared, id: &SessionId) -> Result<(), ApiError> {
    let published: Vec<_> = hub.sessions.all().iter().map(Handle::now).collect();
    let others = published.iter().map(|p| read::named(p));
    names::check_id(id.as_str(), others)
        .map_err(|error| ApiError::conflict(error.to_string(), error.hint()))
}

/// Refused before there is a session, or before one that waits is touched: what is sent to a lost
/// one must not fail because the shell that restores it lacks a program.
fn has_program(
    hub: &Shared,
    agent: AgentKind,
    command: &[String],
    env: &[(String, String)],
    cwd: &str,
) -> Result<(), ApiError> {
    let named = |key: &str, install: &str| {
        let file = hub.paths.config_file();
        format!(
            "install it: {install}; or name it as {key} in {}, then run: sm stop",
            file.display()
        )
    };
    launch::is_there(&hub.config, agent, command, env, cwd).map_err(|why| {
        let hint = match agent {
            AgentKind::Claude => named(
                "agents.claude.program",
                "npm install -g @anthropic-ai/claude-code",
            ),
            AgentKind::Codex => named("agents.codex.program", "npm install -g @openai/codex"),
            AgentKind::Native => named("agents.native.program", "make install"),
            AgentKind::Generic => "give a program that is in PATH, or its path".to_owned(),
        };
        ApiError::new(StatusCode::FAILED_DEPENDENCY, why, hint)
    })
}

/// A person may name any parent; a process inside a session has to be of that session.
pub(super) fn parent(
    hub: &Shared,
    body: &NewSessionBody,
    secret: Option<&str>,
    peer: Option<Extension<Connection>>,
) -> Result<Option<SessionId>, ApiError> {
    let Some(wanted) = &body.parent else {
        return Ok(None);
    };
    let parent = read::session(hub, wanted)?;
    let peer = peer.map(|Extension(peer)| peer);
    let inside = proof::session_of(hub, peer);
    let is_its = match (secret, &inside) {
        (Some(secret), _) if proof::by_secret(&parent, secret) => true,
        (_, Some(inside)) => *inside == parent.id,
        (Some(_), None) => false,
        (None, None) => true, // a person
    };
    if is_its {
        return Ok(Some(parent.id));
    }
    Err(ApiError::new(
        StatusCode::FORBIDDEN,
        format!("this is not a process of the session {wanted}"),
        "leave --parent out, or run it inside that session",
    ))
}

/// The name that was asked for, or one that is made up; free among live sessions.
pub(super) fn name(
    hub: &Shared,
    body: &NewSessionBody,
    agent: AgentKind,
    by: Option<&SessionId>,
) -> Result<SessionName, ApiError> {
    let published: Vec<_> = hub.sessions.all().iter().map(Handle::now).collect();
    let text = match &body.name {
        Some(name) => name.clone(),
        None => {
            let program = body.command.first().map_or(agent.as_str(), String::as_str);
            let program = program.rsplit('/').next().unwrap_or(program);
            let live = published.iter().filter(|p| p.record.state.is_live());
            let taken: Vec<&str> = live.map(|p| p.record.name.as_str()).collect();
            names::default_name(program, &body.cwd, &taken)
        }
    };
    let name = SessionName::new(text.clone()).map_err(|error| {
        ApiError::bad(
            format!("{text:?} cannot be a name: {error}"),
            "choose another name",
        )
    })?;
    names::check_free(
        name.as_str(),
        by.map(SessionId::as_str),
        published.iter().map(|p| read::named(p)),
    )
    .map_err(|error| ApiError::conflict(error.to_string(), error.hint()))?;
    Ok(name)
}

async fn start(
    hub: &Shared,
    body: &NewSessionBody,
    id: SessionId,
    agent: AgentKind,
    name: SessionName,
    parent: Option<SessionId>,
    prompt: Option<NewMessage>,
) -> Result<Handle, ApiError> {
    let new = NewSession {
        id: id.clone(),
        name,
        cwd: body.cwd.clone(),
        parent,
        conversation: launch::new_conversation(agent),
        folder: folder(hub, &id),
    };
    let extra = Extra {
        args: body.args.clone(),
        command: body.command.clone(),
        cols: body.cols.unwrap_or(120),
        rows: body.rows.unwrap_or(40),
        unattended: body.unattended,
        ..Extra::default()
    };
    hub.launches.remember(&id, body.env.clone());
    let handle = introduce(hub, agent, new, extra).await?;
    if let Some(message) = prompt {
        act(&handle, Event::Send(message)).await?;
    }
    act(&handle, Event::LaunchAsked { fresh: false }).await?;
    Ok(handle)
}

/// A new session is written down before anybody hears of it; from here on its actor has it.
pub(super) async fn introduce(
    hub: &Shared,
    agent: AgentKind,
    new: NewSession,
    extra: Extra,
) -> Result<Handle, ApiError> {
    let session = Session::new(new, *kind::profile(agent), clock::now());
    let (mut actor, handle) = Actor::new(Arc::clone(hub), session, extra);
    actor
        .introduce()
        .await
        .map_err(|error| ApiError::store(&error))?;
    hub.sessions.add(handle.clone());
    tokio::spawn(Box::new(actor).run(None));
    Ok(handle)
}

pub(super) fn folder(hub: &Shared, id: &SessionId) -> String {
    let folder = hub.paths.session_dir(id.as_str());
    folder.to_string_lossy().into_owned()
}

/// The first message of a new session: of the session that asks for it, as any other of its messages.
async fn prompt(
    hub: &Shared,
    id: &SessionId,
    body: &NewSessionBody,
    secret: Option<&str>,
    peer: Option<Extension<Connection>>,
) -> Result<Option<NewMessage>, ApiError> {
    let Some(text) = body.prompt.as_ref().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let by_secret = body
        .parent
        .as_ref()
        .zip(secret)
        .and_then(|(parent, secret)| {
            let parent = read::session(hub, parent).ok()?;
            proof::by_secret(&parent, secret).then_some(parent)
        });
    let from = match by_secret {
        Some(own) => messages::as_session(&own),
        None => messages::asker(hub, peer.map(|Extension(peer)| peer)).await?,
    };
    let id = MessageId::new(format!("{id}-prompt")).map_err(|_| ApiError::gone())?;
    Ok(Some(NewMessage {
        id,
        from,
        text: text.clone(),
        mode: Mode::Sequential,
        raw: false,
        notify: false,
        expires_at: None,
    }))
}

/// An event whose outcome is on disk when this returns.
pub async fn act(handle: &Handle, event: Event) -> Result<(), ApiError> {
    let (tx, rx) = oneshot::channel();
    handle.send(Wake::Do { event, done: tx });
    match rx.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ApiError::store(&error)),
        Err(_) => Err(ApiError::gone()),
    }
}

pub async fn patch(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    body: Bytes,
) -> Result<Json<SessionView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let body: PatchBody = read::body(&body)?;
    if let Some(text) = body.name {
        let new = NewSessionBody {
            name: Some(text),
            ..NewSessionBody::default()
        };
        let now = handle.now();
        if new.name.as_deref() != Some(now.record.name.as_str()) {
            let name = name(&hub, &new, now.record.agent, Some(&handle.id))?;
            act(&handle, Event::Rename(name.clone())).await?;
            launch::rename(&hub, &handle, &name).await;
        }
    }
    if let Some(on) = body.watch {
        act(&handle, Event::Watch { on }).await?;
    }
    Ok(Json(view(&hub, &handle)))
}

#[derive(Deserialize)]
pub struct KillQuery {
    #[serde(default)]
    purge: bool,
}

pub async fn kill(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    Query(query): Query<KillQuery>,
) -> Result<Json<SessionView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let mut seen = handle.subscribe();
    act(&handle, Event::KillAsked).await?;
    let ended = tokio::time::timeout(Duration::from_secs(15), async {
        let over = seen.wait_for(|p| !p.record.state.is_live() && p.extra.terminal.is_none());
        let _ = over.await;
        hub.endings.over(Some(&handle.id)).await;
    })
    .await
    .is_ok();
    let view = view(&hub, &handle);
    if !ended && handle.now().record.state.is_live() {
        return Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the agent of {} has not ended yet", view.name),
            "look at it again in a moment with: sm show",
        ));
    }
    if query.purge {
        purge(&hub, &handle).await?;
    }
    Ok(Json(view))
}

/// Removes everything that is known of a session that has ended.
pub async fn purge(hub: &Shared, handle: &Handle) -> Result<(), ApiError> {
    let handoffs = super::handoffs::folders(hub, &handle.id).await?;
    let (tx, rx) = oneshot::channel();
    handle.send(Wake::Remove { done: tx });
    match rx.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(ApiError::store(&error)),
        Err(_) => return Err(ApiError::gone()),
    }
    hub.launches.forget(&handle.id);
    let bases = hub.all_handoffs_dirs();
    for folder in handoffs {
        if let Err(error) = crate::handoff::remove(&folder, &bases, &handle.id) {
            hub.problem(format!(
                "{} could not be removed: {error}",
                folder.display()
            ));
        }
    }
    let folder = hub.paths.session_dir(handle.id.as_str());
    match archive::remove(hub, &handle.id).await {
        Ok(()) => Ok(()),
        Err(error) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("{} could not be removed: {error}", folder.display()),
            "remove the folder by hand",
        )),
    }
}

pub async fn restore(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    body: Bytes,
) -> Result<Json<SessionView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let body: RestoreBody = read::body(&body)?;
    let now = handle.now();
    if now.record.state.is_live() {
        return Err(ApiError::conflict(
            format!(
                "{} is not lost: it is {}",
                now.record.name,
                now.record.word()
            ),
            match &now.extra.run {
                Some(_) => format!(
                    "it runs in a terminal of its own: sm show {}",
                    now.record.name
                ),
                None => format!("attach to it: sm attach {}", now.record.name),
            },
        ));
    }
    let published: Vec<_> = hub.sessions.all().iter().map(Handle::now).collect();
    names::check_free(
        now.record.name.as_str(),
        Some(handle.id.as_str()),
        published.iter().map(|p| read::named(p)),
    )
    .map_err(|error| ApiError::conflict(error.to_string(), error.hint()))?;
    let cwd = &now.record.cwd;
    if !std::path::Path::new(cwd).is_dir() {
        return Err(ApiError::conflict(
            format!("its working folder {cwd} is gone"),
            "make it again, then restore the session",
        ));
    }
    let command = &now.extra.command;
    has_program(&hub, now.record.agent, command, &body.env, cwd)?;
    hub.launches.remember(&handle.id, body.env);
    if now.extra.run.is_some() {
        // it goes on in a terminal of ours
        handle.send(Wake::Extra(Box::new(|extra| extra.run = None)));
    }
    if let (Some(cols), Some(rows)) = (body.cols, body.rows) {
        handle.send(Wake::Extra(Box::new(move |extra| {
            extra.cols = cols;
            extra.rows = rows;
        })));
    }
    act(&handle, Event::LaunchAsked { fresh: body.fresh }).await?;
    Ok(Json(view(&hub, &handle)))
}

pub async fn attach(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
) -> Result<Json<AttachView>, ApiError> {
    let handle = read::session(&hub, &wanted)?;
    let now = handle.now();
    let name = &now.record.name;
    if let Some(run) = now
        .extra
        .run
        .as_ref()
        .filter(|_| now.record.state.is_live())
    {
        let tty = run.tty.as_deref().unwrap_or("another terminal");
        return Err(ApiError::conflict(
            format!(
                "{name} runs in its own terminal ({tty}, sm run with pid {}): there is nothing to attach to",
                run.pid
            ),
            format!("watch it with: sm output {name} --follow"),
        ));
    }
    let Some(terminal) = now
        .extra
        .terminal
        .as_ref()
        .filter(|_| now.record.state.is_live())
    else {
        return Err(ApiError::conflict(
            format!(
                "{name} has no terminal: it is {} ({})",
                now.record.word(),
                now.record.why
            ),
            format!(
                "read its output with: sm output {0}; start it again with: sm restore {0}",
                now.record.id
            ),
        ));
    };
    let argv = hub
        .tmux
        .attach_argv(&terminal.name)
        .map_err(|error| ApiError::conflict(error.to_string(), "run sm doctor"))?;
    Ok(Json(AttachView {
        argv: argv
            .iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect(),
    }))
}
