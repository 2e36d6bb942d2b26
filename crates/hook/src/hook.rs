//! `sm-hook <agent> <event>`: one event to the daemon, its answer to the agent.
//!
//! The plain path of every hook of every agent: one connection, no thread, no process. Exits 0. Only
//! where no session of sm is, the start and the compaction of a context are handed to `sm`.

use std::io::Write;
use std::process::{Command, Stdio};

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
        let done = Command::new(sm)
            .args(["channel", "hook", event])
            .stdin(Stdio::inherit())
            .stderr(Stdio::null())
            .output();
        if let Ok(done) = done
            && done.status.success()
        {
            print(&done.stdout);
        }
    }
    0
}

/// To stdout as it is. A reader that has gone is no concern of the hook.
pub fn print(bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}
