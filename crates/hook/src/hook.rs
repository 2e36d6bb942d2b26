//! `sm-hook <agent> <event>`: one event to the daemon, its answer to the agent.
//!
//! The plain path of every hook of every agent: one connection, no thread, no process. Exits 0. Only
//! where no session of sm is, the start and the compaction of a context are handed to `sm`.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use sm_client::{Client, Paths, daemon};

use crate::caller::{self, Caller, Outcome};
use crate::input;

pub fn run(agent: &str, event: &str) -> i32 {
    let Some(caller) = Caller::from_env() else {
        return without_session(agent, event);
    };
    let Ok(paths) = Paths::of_session() else {
        return 0;
    };
    let input = input::read();
    let client = Client::new(paths);
    let keep = || {
        caller.spool(
            client.paths(),
            agent,
            event,
            &input.bytes,
            input.completeness,
        )
    };
    match caller::deliver(&caller, &client, agent, event, &input) {
        Outcome::Answered(answer) => print(&answer),
        Outcome::Refused => {}
        Outcome::Unanswered => keep(),
        Outcome::NoDaemon => {
            keep();
            caller::revive(client.paths());
        }
    }
    0
}

/// An agent that sm has not started: its channel's handoff is for `sm` to find, which reads the
/// payload in our place; what it prints is what the agent hears.
fn without_session(agent: &str, event: &str) -> i32 {
    if agent == "claude"
        && matches!(event, "SessionStart" | "PreCompact")
        && let Ok(sm) = daemon::sm_program()
    {
        // Its exit code must not become the agent's hook's: 2 would keep it from compacting.
        let started = Command::new(sm)
            .args(["channel", "hook", event])
            .stdin(Stdio::inherit())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(started) = started
            && let Some(printed) = done_in_time(started, CHANNEL_PATIENCE)
        {
            print(&printed);
        }
    }
    0
}

/// The agent waits for its hook: whatever keeps `sm`, a lock or a disk, is not its concern. It has
/// 10 s for the channel's lock itself.
const CHANNEL_PATIENCE: Duration = Duration::from_secs(15);

/// What it printed, if it succeeded within that time; else it is ended.
fn done_in_time(mut child: Child, patience: Duration) -> Option<Vec<u8>> {
    let mut stdout = child.stdout.take()?;
    let (told, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut printed = Vec::new();
        let read = stdout.read_to_end(&mut printed);
        let _ = told.send(read.map(|_| printed)); // nobody listens any more
    });
    let until = Instant::now() + patience;
    let printed = heard.recv_timeout(patience).ok().and_then(Result::ok);
    // Its output is at its end, so it is nearly at its own.
    while printed.is_some() && Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return printed.filter(|_| status.success()),
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(_) => break,
        }
    }
    let _ = child.kill(); // it may have ended by now
    let _ = child.wait();
    None
}

/// To stdout as it is. A reader that has gone is no concern of the hook.
pub fn print(bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Child {
        Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn nobody_is_waited_for_without_limit() {
        let long = Duration::from_secs(60);
        assert_eq!(
            done_in_time(sh("printf hello"), long),
            Some(b"hello".into())
        );
        assert_eq!(done_in_time(sh("printf hello; exit 2"), long), None);
        let short = Duration::from_millis(50);
        for stuck in ["exec sleep 100", "exec >&-; exec sleep 100"] {
            let child = sh(stuck);
            let pid = child.id();
            assert_eq!(done_in_time(child, short), None, "{stuck}");
            let there = std::path::Path::new("/proc/self").exists();
            let left = std::path::PathBuf::from(format!("/proc/{pid}")).exists();
            assert!(!there || !left, "it is ended: {stuck}");
        }
    }
}
