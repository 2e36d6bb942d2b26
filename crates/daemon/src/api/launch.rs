//! The launcher's side: it fetches what to run once, and reports what became of it.

use super::{ApiError, Shared, proven, read};
use crate::actor::Wake;
use crate::caller::Connection;
use crate::hub::Handle;
use crate::{fault, proof};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use sm_core::{Event, Process, SessionId};
use sm_runtime::Capture;
use std::time::Duration;

/// A launcher gives up a request after 3 s.
const HOLD: Duration = Duration::from_secs(2);

#[derive(Serialize)]
pub struct LaunchView {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
}

fn session(hub: &Shared, id: &str) -> Result<Handle, ApiError> {
    SessionId::new(id)
        .ok()
        .and_then(|id| hub.sessions.get(&id))
        .ok_or_else(|| ApiError::not_found("there is no such session", "start one with: sm new"))
}

pub async fn fetch(
    State(hub): State<Shared>,
    Path((id, launch)): Path<(String, u32)>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Result<Json<LaunchView>, ApiError> {
    let handle = session(&hub, &id)?;
    // an environment is in it: only the launcher that was started for it has the key
    if !hub.launches.opens(&handle.id, proof::secret(&headers)) {
        proven(&hub, &handle, &headers, peer)?;
    }
    let ticket = hub.launches.fetch(&handle.id, launch).ok_or_else(|| {
        ApiError::conflict(
            "this launch was already fetched, or the daemon was started anew since",
            format!("start it again with: sm restore {}", handle.now().record.id),
        )
    })?;
    Ok(Json(LaunchView {
        argv: ticket.argv,
        env: ticket.env,
        cwd: ticket.cwd,
    }))
}

/// A launcher's report, by socket or from the spool.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    launch: Option<String>,
    pid: u32,
    start: u64,
    error: String,
    code: Option<i32>,
    signal: Option<i32>,
    /// The launcher was told to end: with its terminal, or with the machine.
    from_outside: bool,
}

pub async fn started(
    State(hub): State<Shared>,
    Path((id, _)): Path<(String, u32)>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let handle = session(&hub, &id)?;
    proven(&hub, &handle, &headers, peer)?;
    heard(&hub, &handle, "started", &body).await
}

pub async fn failed(
    State(hub): State<Shared>,
    Path((id, _)): Path<(String, u32)>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let handle = session(&hub, &id)?;
    proven(&hub, &handle, &headers, peer)?;
    heard(&hub, &handle, "failed", &body).await
}

/// The launcher tells it once, so it is written down when it is told that it was heard.
async fn heard(hub: &Shared, handle: &Handle, what: &str, body: &[u8]) -> Result<(), ApiError> {
    match event(hub, handle, what, body)? {
        Some(event) => super::sessions::act(handle, event).await,
        None => Ok(()),
    }
}

/// How long a program's terminal is looked at after its end.
const LOOK_PATIENCE: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Lines of it that may say why it ended.
const LAST_LINES: usize = 6;

/// A program that could not begin has said why, and its terminal is closed next.
async fn last_output(hub: &Shared, handle: &Handle, event: &Event) {
    let &Event::Exited {
        launch,
        code: Some(code),
        ..
    } = event
    else {
        return;
    };
    if code == 0 || handle.now().record.turn.0 > 1 {
        return;
    }
    let looking = shown_last(hub, handle);
    let Ok(text) = tokio::time::timeout(LOOK_PATIENCE, looking).await else {
        return;
    };
    let text = sm_ledger::redact::redact(&text).text.into_owned();
    // Whoever cannot be told goes without it.
    let _ = super::sessions::act(handle, Event::LastOutput { launch, text }).await;
}

/// The last lines of its terminal. One that ends at once does so before its terminal is known, and
/// before tmux has read what it said.
async fn shown_last(hub: &Shared, handle: &Handle) -> String {
    loop {
        let what = Capture {
            colours: false,
            history_lines: 0,
        };
        let terminal = handle.now().extra.terminal.clone();
        if let Some(pane) = terminal.and_then(|terminal| terminal.pane_id())
            && let Ok(screen) = hub.tmux.capture(pane, what).await
        {
            let lines = screen.lines.iter().map(|line| line.trim());
            let mut last: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            if !last.is_empty() {
                let first = last.len().saturating_sub(LAST_LINES);
                return last.split_off(first).join(" ");
            }
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// What a launcher whose agent has ended does next.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum NextView {
    Exit,
    /// Ask again.
    Wait,
    /// Hand over the environment, then ask again.
    Environment,
    Relaunch {
        launch: u32,
        argv: Vec<String>,
    },
}

/// Held open for as long as it is being decided, so that an agent is started again at once.
pub async fn exited(
    State(hub): State<Shared>,
    Path((id, launch)): Path<(String, u32)>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<NextView>, ApiError> {
    let handle = session(&hub, &id)?;
    proven(&hub, &handle, &headers, peer)?;
    if let Some(event) = event(&hub, &handle, "exited", &body)? {
        last_output(&hub, &handle, &event).await;
        super::sessions::act(&handle, event).await?;
    }
    let mut seen = handle.subscribe();
    let decided = async {
        loop {
            seen.borrow_and_update();
            let look = || Some(next(&hub, &handle, launch)).filter(|next| *next != NextView::Wait);
            tokio::select! {
                // what is being prepared changes there, what the session decides here
                next = hub.launches.until(look) => return next,
                changed = seen.changed() => if changed.is_err() { return NextView::Exit },
            }
        }
    };
    let next = tokio::select! {
        next = tokio::time::timeout(HOLD, decided) => next.unwrap_or(NextView::Wait),
        () = hub.stop.cancelled() => NextView::Wait,
    };
    match next {
        NextView::Relaunch { .. } => fault::before("launcher", "relaunch"),
        NextView::Environment => fault::before("launcher", "environment"),
        NextView::Exit | NextView::Wait => {}
    }
    Ok(Json(next))
}

fn next(hub: &Shared, handle: &Handle, ended: u32) -> NextView {
    if !handle.now().record.is_relaunched() {
        return NextView::Exit;
    }
    if let Some(ticket) = hub.launches.relaunch(&handle.id, ended) {
        return NextView::Relaunch {
            launch: ticket.launch,
            argv: ticket.argv,
        };
    }
    match hub.launches.is_wanted(&handle.id) {
        true => NextView::Environment,
        false => NextView::Wait,
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EnvironmentBody {
    env: Vec<(String, String)>,
}

/// Into memory, and only while a launch needs it.
pub async fn environment(
    State(hub): State<Shared>,
    Path((id, _)): Path<(String, u32)>,
    peer: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let handle = session(&hub, &id)?;
    proven(&hub, &handle, &headers, peer)?;
    let body: EnvironmentBody = read::body(&body)?;
    match hub.launches.lend(&handle.id, body.env) {
        true => {
            fault::after("launcher", "environment");
            Ok(())
        }
        false => Err(ApiError::conflict(
            "nobody has asked for it",
            "ask again what to do next",
        )),
    }
}

/// From the spool.
pub fn report(hub: &Shared, handle: &Handle, what: &str, body: &[u8]) -> Result<(), ApiError> {
    if let Some(event) = event(hub, handle, what, body)? {
        handle.send(Wake::Event(event));
    }
    Ok(())
}

fn event(
    hub: &Shared,
    handle: &Handle,
    what: &str,
    body: &[u8],
) -> Result<Option<Event>, ApiError> {
    let report: Report = read::body(body)?;
    let now = handle.now();
    let launch = report
        .launch
        .and_then(|n| n.parse().ok())
        .unwrap_or(now.record.launch);
    let event = match what {
        "started" => {
            let process = Process {
                pid: report.pid,
                start: report.start,
            };
            if let Some(home) = &now.extra.agent_home
                && let Some(path) = sm_agents::kind::status_path(now.record.agent, home, report.pid)
            {
                hub.watcher
                    .watch(&path, crate::watch::Changed::Status(handle.id.clone()));
            }
            Event::Started { launch, process }
        }
        "failed" => Event::LaunchFailed {
            launch,
            reason: report.error,
        },
        "exited" if report.from_outside => Event::TerminalGone { launch },
        "exited" => Event::Exited {
            launch,
            code: report.code,
            signal: report.signal,
        },
        other => {
            tracing::warn!(other, "an unknown report of a launcher");
            return Ok(None);
        }
    };
    Ok(Some(event))
}
