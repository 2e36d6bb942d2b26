//! Ending a session's own processes, and nobody else's: the agent is known by pid and start time,
//! what it left behind by the terminal session it belongs to.

use crate::actor::Wake;
use crate::perform::Seat;
use crate::platform;
use sm_client::process::Process;
use sm_core::Event;
use std::time::Duration;

const TERM: i32 = 15;
const KILL: i32 = 9;
/// How long an agent may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

pub async fn terminate(seat: Seat) {
    let own: Vec<Process> = seat
        .record
        .process
        .map(|p| Process {
            pid: p.pid,
            start: p.start,
        })
        .into_iter()
        .collect();
    end(&own).await;
    if let Some(terminal) = &seat.extra.terminal {
        // what the agent started and left in its terminal session
        end(&of_terminal(terminal.pane_pid)).await;
    }
    close(&seat).await;
    let now = seat.handle.now();
    if now.record.launch == seat.record.launch && now.record.state.is_live() {
        seat.event(Event::TerminalGone);
    }
}

/// Removes the session's terminal.
pub async fn close(seat: &Seat) {
    let Some(terminal) = &seat.extra.terminal else {
        return;
    };
    if let Some(session) = terminal.session_id() {
        let same = seat.hub.tmux.list().await.is_ok_and(|panes| {
            panes
                .iter()
                .any(|p| p.session == session && p.pid == terminal.pane_pid)
        });
        if same && let Err(error) = seat.hub.tmux.kill_session(session).await {
            tracing::debug!(session = %seat.record.id, %error, "terminal not closed");
        }
    }
    seat.handle.send(Wake::TerminalClosed(terminal.clone()));
}

/// SIGTERM, patience, SIGKILL; each time only if it still is the same process.
async fn end(processes: &[Process]) {
    signal_all(processes, TERM);
    let mut waited = Duration::ZERO;
    while waited < PATIENCE && processes.iter().any(Process::is_alive) {
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
    signal_all(processes, KILL);
}

fn signal_all(processes: &[Process], signal: i32) {
    for process in processes.iter().filter(|p| p.is_alive()) {
        if let Err(error) = sm_client::platform::signal_process(process.pid, signal) {
            tracing::debug!(pid = process.pid, %error, "not signalled");
        }
    }
}

/// All processes of the terminal session that the pane's process leads.
fn of_terminal(leader: u32) -> Vec<Process> {
    platform::terminal_session(leader)
        .into_iter()
        .filter_map(Process::of)
        .collect()
}
