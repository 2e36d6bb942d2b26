//! Ending a session's own processes, and nobody else's: the agent is known by pid and start time,
//! what it started by being its child when it is ended, or by the terminal session it belongs to.

use crate::actor::Wake;
use crate::fault;
use crate::host;
use crate::perform::Seat;
use crate::platform;
use crate::stored::Terminal;
use sm_client::process::Process;
use sm_core::Event;
use std::time::Duration;

const TERM: i32 = 15;
const KILL: i32 = 9;
/// How long an agent may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a launcher may take to tell of its agent's end.
const REPORT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a run may take to end its agent: it gives it 10 s.
const RUN_PATIENCE: Duration = Duration::from_secs(12);
/// How often it is looked for processes that were started while others were ended.
const ROUNDS: u32 = 3;
const LOOK: Duration = Duration::from_millis(50);

pub async fn terminate(seat: Seat) {
    if seat.extra.run.is_some() && ended_by_run(&seat).await {
        return;
    }
    let own: Vec<Process> = seat
        .record
        .process
        .map(|p| Process {
            pid: p.pid,
            start: p.start,
        })
        .into_iter()
        .collect();
    // looked for while it lives: afterwards they are nobody's children
    let alive = own.iter().filter(|p| p.is_alive());
    let children: Vec<Process> = alive
        .flat_map(|p| processes(platform::descendants(p.pid)))
        .collect();
    end(&own).await;
    let mut left = children;
    for _ in 0..ROUNDS {
        left.extend(seat.extra.terminal.iter().flat_map(of_terminal));
        if left.is_empty() {
            break;
        }
        end(&left).await;
        left.clear(); // one may have started another meanwhile
    }
    close(&seat).await;
    let now = seat.handle.now();
    if now.record.launch == seat.record.launch && now.record.state.is_live() {
        let launch = seat.record.launch;
        seat.event(Event::TerminalGone { launch });
    }
}

/// Whether the run has ended its agent, by its own verified way. One that does not answer is not
/// waited for: then the agent is ended as any other.
async fn ended_by_run(seat: &Seat) -> bool {
    if let Err(error) = host::end(&seat.extra).await {
        tracing::warn!(session = %seat.record.id, %error, "sm run does not end its agent");
        return false;
    }
    let mut seen = seat.handle.subscribe();
    let over = seen.wait_for(|p| !p.record.state.is_live());
    tokio::time::timeout(RUN_PATIENCE, over).await.is_ok()
}

/// Ends the agent's own process and what it started. Its terminal and its launcher stay: the agent
/// is started again there.
pub async fn stop_agent(seat: Seat, launch: u32) {
    let Some(own) = seat.record.process.filter(|_| seat.record.launch == launch) else {
        return;
    };
    let own = Process {
        pid: own.pid,
        start: own.start,
    };
    let children = match own.is_alive() {
        true => processes(platform::descendants(own.pid)),
        false => Vec::new(),
    };
    end(&[own]).await;
    end(&children).await;
    fault::after("effect", "stop agent");
    let mut seen = seat.handle.subscribe();
    let heard = seen.wait_for(|p| p.record.launch != launch || p.record.process.is_none());
    if tokio::time::timeout(REPORT_PATIENCE, heard).await.is_err() && !own.is_alive() {
        // its launcher does not tell
        seat.event(Event::Exited {
            launch,
            code: None,
            signal: Some(TERM),
        });
    }
}

/// Removes the session's terminal.
pub async fn close(seat: &Seat) {
    if let Some(terminal) = &seat.extra.terminal {
        close_terminal(seat, terminal).await;
    }
}

/// Removes this terminal, if it still is the one that was made.
pub async fn close_terminal(seat: &Seat, terminal: &Terminal) {
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

/// Returns when a process that has lost its terminal has ended: by itself, or because it has to.
pub async fn outlast(process: sm_core::Process) {
    let process = Process {
        pid: process.pid,
        start: process.start,
    };
    let ended = has_ended(std::slice::from_ref(&process)).await;
    if !ended {
        tracing::warn!(pid = process.pid, "the agent outlives its terminal");
        end(&[process]).await;
    }
}

/// Whether they all end by themselves in time.
async fn has_ended(processes: &[Process]) -> bool {
    let mut waited = Duration::ZERO;
    while processes.iter().any(Process::is_alive) {
        if waited >= PATIENCE {
            return false;
        }
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
    true
}

/// SIGTERM, patience, SIGKILL; each time only if it still is the same process.
async fn end(processes: &[Process]) {
    signal_all(processes, TERM);
    has_ended(processes).await;
    signal_all(processes, KILL);
}

fn signal_all(processes: &[Process], signal: i32) {
    for process in processes.iter().filter(|p| p.is_alive()) {
        if let Err(error) = sm_client::platform::signal_process(process.pid, signal) {
            tracing::debug!(pid = process.pid, %error, "not signalled");
        }
    }
}

/// All processes of the terminal session that the pane's process leads, or led.
fn of_terminal(terminal: &Terminal) -> Vec<Process> {
    if is_anothers(terminal, Process::of(terminal.pane_pid)) {
        return Vec::new();
    }
    processes(platform::terminal_session(terminal.pane_pid))
}

/// Whether the pid of the pane's process belongs to another process by now. As long as anybody is in
/// a terminal session, the system gives its leader's pid to nobody else.
fn is_anothers(terminal: &Terminal, now: Option<Process>) -> bool {
    terminal.pane_start != 0 && now.is_some_and(|p| p.start != terminal.pane_start)
}

fn processes(pids: Vec<u32>) -> Vec<Process> {
    pids.into_iter().filter_map(Process::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_that_went_to_another_process_is_left_alone() {
        let own = Process::this().unwrap();
        let mut terminal = Terminal {
            name: "api".into(),
            session: "$1".into(),
            pane: "%1".into(),
            pane_pid: own.pid,
            pane_start: own.start,
        };
        assert!(!is_anothers(&terminal, Some(own)));
        assert!(
            !is_anothers(&terminal, None),
            "its children may still be there"
        );
        terminal.pane_start += 1;
        assert!(is_anothers(&terminal, Some(own)));
        assert!(of_terminal(&terminal).is_empty());
    }

    #[tokio::test]
    async fn a_process_of_another_start_time_is_not_signalled() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let real = Process::of(child.id()).unwrap();
        let reused = Process {
            start: real.start + 1,
            ..real
        };
        end(&[reused]).await;
        assert!(child.try_wait().unwrap().is_none(), "it lives");
        end(&[real]).await;
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn a_process_without_a_terminal_is_waited_for_and_not_for_ever() {
        let process = |child: &std::process::Child| {
            let own = Process::of(child.id()).unwrap();
            sm_core::Process {
                pid: own.pid,
                start: own.start,
            }
        };
        let sleeps = || {
            let mut sleep = std::process::Command::new("sleep");
            sleep.arg("600").spawn().unwrap()
        };
        let mut ends = sleeps();
        let ended = process(&ends);
        ends.kill().unwrap();
        ends.wait().unwrap();
        let mut stays = sleeps();
        let stayed = process(&stays);
        outlast(ended).await;
        assert!(stays.try_wait().unwrap().is_none(), "it lives");
        outlast(stayed).await;
        stays.wait().unwrap();
    }
}
