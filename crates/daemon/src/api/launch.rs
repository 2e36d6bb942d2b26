//! The launcher's side: it fetches what to run once, and reports what became of it.

use super::{ApiError, Shared, read};
use crate::actor::Wake;
use crate::hub::Handle;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use sm_core::{Event, Process, SessionId};

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
) -> Result<Json<LaunchView>, ApiError> {
    let handle = session(&hub, &id)?;
    let ticket = hub.launches.fetch(&handle.id, launch).ok_or_else(|| {
        ApiError::conflict(
            "this launch was already fetched, or the daemon was started anew since",
            format!(
                "start it again with: sm restore {}",
                handle.now().record.name
            ),
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
    body: Bytes,
) -> Result<(), ApiError> {
    let handle = session(&hub, &id)?;
    report(&hub, &handle, "started", &body)
}

pub async fn failed(
    State(hub): State<Shared>,
    Path((id, _)): Path<(String, u32)>,
    body: Bytes,
) -> Result<(), ApiError> {
    let handle = session(&hub, &id)?;
    report(&hub, &handle, "failed", &body)
}

pub async fn exited(
    State(hub): State<Shared>,
    Path((id, _)): Path<(String, u32)>,
    body: Bytes,
) -> Result<Json<serde_json::Value>, ApiError> {
    let handle = session(&hub, &id)?;
    report(&hub, &handle, "exited", &body)?;
    Ok(Json(serde_json::json!({"action": "exit"})))
}

pub fn report(hub: &Shared, handle: &Handle, what: &str, body: &[u8]) -> Result<(), ApiError> {
    let report: Report = read::body(body)?;
    let now = handle.now();
    let launch = report
        .launch
        .and_then(|n| n.parse().ok())
        .unwrap_or(now.record.launch);
    match what {
        "started" => {
            let process = Process {
                pid: report.pid,
                start: report.start,
            };
            handle.send(Wake::Event(Event::Started { launch, process }));
            if let Some(home) = &now.extra.agent_home
                && let Some(path) = sm_agents::kind::status_path(now.record.agent, home, report.pid)
            {
                hub.watcher
                    .watch(&path, crate::watch::Changed::Status(handle.id.clone()));
            }
        }
        "failed" => handle.send(Wake::Event(Event::LaunchFailed {
            launch,
            reason: report.error,
        })),
        "exited" if report.from_outside && launch == now.record.launch => {
            handle.send(Wake::Event(Event::TerminalGone));
        }
        "exited" => {
            handle.send(Wake::Event(Event::Exited {
                launch,
                code: report.code,
                signal: report.signal,
            }));
        }
        other => tracing::warn!(other, "an unknown report of a launcher"),
    }
    Ok(())
}
