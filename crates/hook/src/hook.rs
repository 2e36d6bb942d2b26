//! `sm-hook <agent> <event>`: one event to the daemon, its answer to the agent.
//!
//! The plain path of every hook of every agent: one connection, no thread, no process. Exits 0.

use std::io::Write;

use sm_client::{Client, Paths};

use crate::caller::{self, Caller, Outcome};
use crate::input;

pub fn run(agent: &str, event: &str) -> i32 {
    let Some(caller) = Caller::from_env() else {
        return 0;
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

/// To stdout as it is. A reader that has gone is no concern of the hook.
pub fn print(bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}
