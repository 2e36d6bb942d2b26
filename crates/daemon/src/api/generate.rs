//! A document by a model, asked for in the dashboard. What the shell has for it is run: `sm handoff
//! --generate`, with its lock, its writer and its way to schedule, so that there is one of each.
//!
//! It runs beside the session, which is as it was until the document is there. What is not in the
//! daemon's own environment (keys, addresses) its writer does not have; what comes of that is said
//! in the history. Whatever it started ends with it: it is a process group of its own.

use super::handoff::{Answer, refusal, refused, who};
use super::types::{GenerateBody, HandoffAnswer};
use super::{Shared, read};
use crate::caller::Connection;
use crate::hub::lock;
use crate::journal::note;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::{Extension, Json};
use rustix::process::{Pid, Signal, kill_process_group};
use sm_core::SessionId;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// Nobody writes for longer.
const PATIENCE: Duration = Duration::from_secs(20 * 60);
/// How long it may take to leave when it is told to.
const GRACE: Duration = Duration::from_secs(5);
/// Longest focus, and most that is read of what it says.
const FOCUS: usize = 4 * 1024;
const SAID: u64 = 64 * 1024;

/// How it ended.
enum Outcome {
    Done,
    Cancelled,
    Failed(String),
}

pub async fn start(
    State(hub): State<Shared>,
    Path(wanted): Path<String>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let body: GenerateBody = read::body(&body)?;
    let (handle, trigger) = match who(&hub, &wanted, None, true, &headers, connection).await {
        Ok(known) => known,
        Err(error) => return refused(error),
    };
    if body.focus.len() > FOCUS || body.focus.contains('\0') {
        return refused(format!(
            "the focus is longer than {FOCUS} bytes, or no text"
        ));
    }
    let record = Arc::clone(&handle.now().record);
    if record.conversation.is_none() {
        return refused("it has no conversation yet that a document could be about");
    }
    if let Some(why) = refusal(&hub, &record, trigger) {
        return refused(why);
    }
    let stop = CancellationToken::new();
    {
        let mut generating = lock(&hub.generating);
        if generating.contains_key(&handle.id) {
            return refused("a document is being written for this session already");
        }
        generating.insert(handle.id.clone(), stop.clone());
    }
    note(
        &hub,
        &record,
        "handoff",
        "a model is asked to write the document",
    )
    .await;
    tokio::spawn(async move {
        let outcome = run(&hub, &handle.id, &body.focus, &stop).await;
        lock(&hub.generating).remove(&handle.id);
        let record = Arc::clone(&handle.now().record);
        let text = match outcome {
            Outcome::Done => return, // that it is scheduled is said by the session
            Outcome::Cancelled => "the document being written was cancelled".to_owned(),
            Outcome::Failed(why) => format!(
                "no document was handed over, the session goes on as it was: {why}; in a shell with \
                 your keys: sm handoff --generate --session {}",
                record.name
            ),
        };
        note(&hub, &record, "handoff", &text).await;
    });
    Ok(Json(HandoffAnswer {
        status: Some("generating".into()),
        ..HandoffAnswer::default()
    }))
}

/// Whether there was one to cancel.
pub fn cancel(hub: &Shared, session: &SessionId) -> bool {
    let generating = lock(&hub.generating);
    let found = generating.get(session);
    found.iter().for_each(|stop| stop.cancel());
    found.is_some()
}

async fn run(hub: &Shared, session: &SessionId, focus: &str, stop: &CancellationToken) -> Outcome {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let started = Command::new(program)
        .arg("handoff")
        .arg(format!("--generate={focus}"))
        .args(["--session", session.as_str(), "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return Outcome::Failed(format!("sm could not be started: {error}")),
    };
    let stderr = child.stderr.take();
    let ended = async {
        let said = said(stderr).await;
        (child.wait().await, said)
    };
    let outcome = tokio::select! {
        (status, said) = ended => return match status {
            Ok(status) if status.success() => Outcome::Done,
            Ok(_) | Err(_) => Outcome::Failed(why(&said)),
        },
        () = stop.cancelled() => Outcome::Cancelled,
        () = hub.stop.cancelled() => Outcome::Failed("the daemon was stopped meanwhile".into()),
        () = tokio::time::sleep(PATIENCE) => {
            let minutes = PATIENCE.as_secs() / 60;
            Outcome::Failed(format!("it was not written within {minutes} minutes"))
        }
    };
    end(&mut child).await;
    outcome
}

/// All that it says, as far as it is wanted; the rest is taken and dropped.
async fn said(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stderr) = stderr else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let _ = (&mut stderr).take(SAID).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// With everything it started. It is our child and not yet waited for, so its number is its own.
async fn end(child: &mut Child) {
    let group = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(Pid::from_raw);
    for signal in [Signal::TERM, Signal::KILL] {
        if let Some(group) = group {
            let _ = kill_process_group(group, signal);
        }
        if tokio::time::timeout(GRACE, child.wait()).await.is_ok() {
            return;
        }
    }
}

/// What the writer said, else what `sm` made of it.
fn why(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let own = lines().find(|line| !line.starts_with("error: ") && !line.starts_with("hint: "));
    let line = own.or_else(|| lines().next()).unwrap_or("nobody said why");
    let line = line.strip_prefix("error: ").unwrap_or(line);
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writers_own_words_are_told() {
        for (said, told) in [
            ("", "nobody said why"),
            ("error: No document\nhint: try", "No document"),
            (
                "Handoff failed: \x1b[1mno key\n\nerror: No document\n",
                "Handoff failed: [1mno key",
            ),
        ] {
            assert_eq!(why(said), told);
        }
        assert_eq!(why(&"x".repeat(1000)).len(), 300);
    }
}
