//! Telling a person outside the terminal: `notify.command` is run for each notice.
//!
//! Best effort, and never more: nothing waits for it, a failure goes to the log, a command that does
//! not end is ended with the processes it started, and no more than a few run at once.

use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sm_core::{Notice, NoticeKind, words};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::config::Config;

/// How long the command may take.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// Commands at once. Five hundred sessions lost together must not become five hundred processes.
const AT_ONCE: usize = 4;
/// Notices that wait for their turn at most.
const WAITING: usize = 64;
/// Longest text handed over: the system's limit on an argument is far above, a person's far below.
const LONGEST_TEXT: usize = 2000;
/// How much of what the command says goes to the log.
const LONGEST_SAID: usize = 2000;

static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);
static PRESENT: AtomicUsize = AtomicUsize::new(0);

/// What became of a notice. For tests and the log; there is nothing to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No command is configured.
    Off,
    Told,
    /// Too many are waiting already.
    Dropped,
    /// What went wrong.
    Failed(String),
}

/// Runs the command to its end or to its deadline; to be spawned, not awaited by a session.
pub async fn notify(config: &Config, session: &str, name: &str, notice: &Notice) -> Outcome {
    notify_within(DEADLINE, config, session, name, notice).await
}

/// [`notify`] with a deadline of one's own.
pub async fn notify_within(
    deadline: Duration,
    config: &Config,
    session: &str,
    name: &str,
    notice: &Notice,
) -> Outcome {
    let Some((program, args)) = config.notify.command.split_first() else {
        return Outcome::Off;
    };
    let present = Present::enter();
    let outcome = if present.number > WAITING {
        Outcome::Dropped
    } else {
        // Closing it is not possible; without a turn nothing is run.
        let Ok(_turn) = TURNS.acquire().await else {
            return Outcome::Dropped;
        };
        let mut command = command(program, args, session, name, notice);
        match run(&mut command, deadline).await {
            Ok(()) => Outcome::Told,
            Err(failure) => Outcome::Failed(failure),
        }
    };
    match &outcome {
        Outcome::Off | Outcome::Told => {}
        Outcome::Dropped => {
            tracing::warn!(
                session,
                "notify.command: too many notices at once, one is not told"
            );
        }
        Outcome::Failed(failure) => {
            tracing::warn!(
                session,
                program = program.as_str(),
                "notify.command: {failure}"
            );
        }
    }
    outcome
}

fn command(program: &str, args: &[String], session: &str, name: &str, notice: &Notice) -> Command {
    let text = words::sanitize(&notice.text);
    let text: String = text.chars().take(LONGEST_TEXT).collect();
    let mut command = Command::new(program);
    command
        .args(args)
        .arg(&text)
        .env("SM_NOTICE_KIND", kind(notice.kind))
        .env("SM_NOTICE_TEXT", &text)
        .env("SM_SESSION_ID", session)
        .env("SM_SESSION_NAME", name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // Its own group, so that it can be ended with what it started, and nothing else.
        .process_group(0)
        .kill_on_drop(true);
    command
}

async fn run(command: &mut Command, deadline: Duration) -> Result<(), String> {
    let mut child = command
        .spawn()
        .map_err(|e| format!("it cannot be started: {e}"))?;
    let mut said = Vec::new();
    match tokio::time::timeout(deadline, watch(&mut child, &mut said)).await {
        Ok(Ok(status)) if status.success() => {
            tracing::debug!(said = %shown(&said), "notify.command has run");
            Ok(())
        }
        Ok(Ok(status)) => Err(format!("{status}; it said: {}", shown(&said))),
        Ok(Err(e)) => Err(format!("it cannot be waited for: {e}")),
        Err(_) => {
            end(&mut child).await;
            Err(format!("it was ended after {deadline:?}"))
        }
    }
}

/// Until it ends. What it says is read meanwhile, so that a full pipe does not stop it; what it left
/// in the background may hold the pipe open, and is not waited for.
async fn watch(child: &mut Child, said: &mut Vec<u8>) -> std::io::Result<ExitStatus> {
    let Some(mut pipe) = child.stderr.take() else {
        return child.wait().await;
    };
    let mut chunk = [0u8; 1024];
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            read = pipe.read(&mut chunk), if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(length) => {
                    let room = LONGEST_SAID.saturating_sub(said.len()).min(length);
                    said.extend_from_slice(chunk.get(..room).unwrap_or_default());
                }
            },
            status = child.wait() => return status,
        }
    }
}

/// The child is not reaped yet, so that its pid, the group's, is certainly still its own.
async fn end(child: &mut Child) {
    let group = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill().await;
}

fn shown(said: &[u8]) -> String {
    words::sanitize(&String::from_utf8_lossy(said))
        .trim()
        .to_string()
}

/// What `SM_NOTICE_KIND` is.
fn kind(kind: NoticeKind) -> &'static str {
    match kind {
        NoticeKind::PersonNeeded => "person_needed",
        NoticeKind::MessageHeld => "message_held",
        NoticeKind::MessageFailed => "message_failed",
        NoticeKind::SessionLost => "session_lost",
        NoticeKind::SessionExited => "session_exited",
        NoticeKind::TurnEnded => "turn_ended",
        NoticeKind::TurnFailed => "turn_failed",
        NoticeKind::HandoffFailed => "handoff_failed",
        NoticeKind::HandoffHeld => "handoff_held",
        NoticeKind::ContextHigh => "context_high",
        NoticeKind::Compacted => "compacted",
        NoticeKind::Limited => "limited",
    }
}

/// Counts who is inside, also when cancelled.
struct Present {
    number: usize,
}

impl Present {
    fn enter() -> Self {
        Self {
            number: PRESENT.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        PRESENT.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_in_the_guide_and_no_other() {
        let guide = include_str!("../../../docs/guide.md");
        let (_, table) = guide.split_once("| `SM_NOTICE_KIND` |").unwrap();
        let mut told: Vec<&str> = table
            .lines()
            .skip(2)
            .map_while(|line| line.strip_prefix("| `"))
            .filter_map(|line| line.split_once('`'))
            .map(|(kind, _)| kind)
            .collect();
        let mut fired: Vec<&str> = NoticeKind::ALL.into_iter().map(kind).collect();
        told.sort_unstable();
        fired.sort_unstable();
        assert_eq!(told, fired);
    }
}
