//! `sm-hook <agent> mailbox`: waits in the background of an agent for a message, and wakes the
//! agent with it by its exit code.
//!
//! It never takes a message for an agent that is gone: it first looks whether its ancestors are
//! still those it started with, then tells the daemon that it takes the message, and only when
//! the daemon agrees does it speak. Whatever is unclear ends without a word.

use std::io::Write;
use std::time::{Duration, Instant};

use sm_client::http::{Connection, Head};
use sm_client::{Client, HttpError, Paths, Process, wire};

use crate::caller::{self, Caller};
use crate::input;

/// The agent shows what is on stderr to the model and goes on.
const WAKE: i32 = 2;
const LOOK_EVERY: Duration = Duration::from_secs(5);
const AGAIN_AFTER: Duration = Duration::from_secs(2);
const MAX_TEXT: usize = 16 * 1024 * 1024;

pub fn run(agent: &str) -> i32 {
    let (Some(caller), Ok(paths)) = (Caller::from_env(), Paths::of_session()) else {
        return 0;
    };
    let input = input::read();
    let waiter = Waiter {
        client: Client::new(paths),
        target: format!("/hooks/{agent}/mailbox"),
        body: input.bytes,
        caller,
    };
    waiter.run()
}

struct Waiter {
    client: Client,
    target: String,
    body: Vec<u8>,
    caller: Caller,
}

/// How one try ended.
enum Tried {
    /// Not wanted any more.
    Superseded,
    Taken(Vec<u8>),
    /// No connection, or the daemon did not agree: try again later.
    Lost,
    /// The agent is gone.
    Orphaned,
}

impl Waiter {
    fn run(&self) -> i32 {
        loop {
            match self.wait_for_message() {
                Tried::Superseded | Tried::Orphaned => return 0,
                Tried::Taken(text) => {
                    let _ = std::io::stderr().write_all(&text);
                    return WAKE;
                }
                Tried::Lost => {
                    std::thread::sleep(AGAIN_AFTER);
                    if !self.agent_lives() {
                        return 0;
                    }
                }
            }
        }
    }

    /// Every ancestor, not only the parent: between us and the agent may be a shell that
    /// outlives it.
    fn agent_lives(&self) -> bool {
        self.caller.ancestors.first().copied() == Process::parent()
            && !self.caller.ancestors.is_empty()
            && self.caller.ancestors.iter().all(Process::is_alive)
    }

    fn wait_for_message(&self) -> Tried {
        let (mut connection, head) = match self.ask(&self.target, &self.body) {
            Ok(answered) => answered,
            Err(tried) => return tried,
        };
        match head.status {
            204 => return Tried::Superseded,
            200 => {}
            // A daemon in trouble may recover; one that refuses will refuse again.
            500.. => return Tried::Lost,
            _ => return Tried::Superseded,
        }
        let Ok(text) = connection.body(&head, MAX_TEXT, Instant::now() + LOOK_EVERY) else {
            return Tried::Lost;
        };
        let waiter = head
            .header(wire::WAITER_HEADER)
            .filter(|waiter| wire::is_plain_word(waiter));
        match waiter {
            Some(waiter) if !text.is_empty() => self.take(waiter, text),
            // Nothing to take, or no way to say so.
            _ => Tried::Lost,
        }
    }

    fn take(&self, waiter: &str, text: Vec<u8>) -> Tried {
        if !self.agent_lives() {
            return Tried::Orphaned;
        }
        // As long as the connection holds, the daemon has decided nothing against us: waiting
        // is better than leaving it in doubt.
        match self.ask(&format!("/mailbox/{waiter}/taken"), b"") {
            Ok((_, head)) if head.status == 200 => Tried::Taken(text),
            Ok(_) => Tried::Lost,
            Err(tried) => tried,
        }
    }

    /// Sends a request and waits for its answer as long as the connection and the agent live.
    fn ask(&self, target: &str, body: &[u8]) -> Result<(Connection, Head), Tried> {
        let deadline = Instant::now() + LOOK_EVERY;
        let sent = self.client.connect(deadline).and_then(|mut connection| {
            connection.send(&self.caller.post(target, body), deadline)?;
            Ok(connection)
        });
        let mut connection = sent.map_err(|error| {
            // Nobody else may be there to notice: hooks that came too soon after its start did
            // not start it again, and an idle agent runs no others.
            if error.is_no_daemon() && self.agent_lives() {
                caller::revive(self.client.paths());
            }
            Tried::Lost
        })?;
        loop {
            match connection.head(Instant::now() + LOOK_EVERY) {
                Ok(head) => return Ok((connection, head)),
                Err(HttpError::Timeout) if self.agent_lives() => {}
                Err(HttpError::Timeout) => return Err(Tried::Orphaned),
                Err(_) => return Err(Tried::Lost),
            }
        }
    }
}
