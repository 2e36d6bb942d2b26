//! Being told: a request to the daemon stays open until there is a text for the agent.
//!
//! A text is handed over in two steps. The daemon offers it, we say that we take it, and only when
//! the daemon has written that down it goes to the agent. Whatever is unclear is not taken: the
//! daemon then finds it in no record, and offers it again. A command that cannot be done is refused
//! instead, and its sender reads why.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sm_client::http::{Connection, Head};
use sm_client::{Client, HttpError, Paths, daemon, wire};
use sm_core::effect::Handing;
use tokio::sync::mpsc::UnboundedSender;

use super::caller::{Caller, stamp};
use super::person;
use crate::host::{Command, Told};

/// A connection is looked at this often; there is nothing else to do.
const LOOK: Duration = Duration::from_secs(5);
/// Nobody answered, or nobody wanted us: not again before this.
const AGAIN: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(2);
const MAX_TEXT: usize = 16 * 1024 * 1024;

/// Where texts arrive.
pub struct Desk {
    pub caller: Caller,
    pub paths: Paths,
    pub commands: UnboundedSender<Command>,
    pub sessions: PathBuf,
    pub cwd: PathBuf,
}

/// How one request ended.
enum Tried {
    Taken(Command),
    /// Another context has begun, or another request of ours is there: it asks again at once.
    Again,
    /// No daemon, or it did not agree.
    Lost,
}

impl Desk {
    /// Until the agent is gone.
    pub fn serve(self) {
        let client = Client::new(self.paths.clone());
        let mut wait = AGAIN;
        while !self.commands.is_closed() {
            let begun = Instant::now();
            match self.wait_for_text(&client) {
                Tried::Taken(command) => {
                    wait = AGAIN;
                    if self.commands.send(command).is_err() {
                        return; // it is gone
                    }
                }
                // Sent away at once: it does not want us now.
                Tried::Again if begun.elapsed() < Duration::from_millis(20) => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Tried::Again => wait = AGAIN,
                Tried::Lost => {
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(LONGEST);
                }
            }
        }
    }

    fn wait_for_text(&self, client: &Client) -> Tried {
        let Ok((mut connection, head)) = self.ask(client, "/hooks/native/mailbox", b"{}") else {
            return Tried::Lost;
        };
        match head.status {
            200 => {}
            204 => return Tried::Again,
            _ => return Tried::Lost,
        }
        let handing = head.header(wire::HANDING_HEADER).and_then(Handing::parse);
        let waiter = head
            .header(wire::WAITER_HEADER)
            .filter(|waiter| wire::is_plain_word(waiter))
            .map(str::to_owned);
        let text = connection
            .body(&head, MAX_TEXT, Instant::now() + LOOK)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let (Some(waiter), Some(handing), Some(text)) = (waiter, handing, text) else {
            return Tried::Lost; // nothing is taken that would not arrive as it is
        };
        match self.meant(text, handing) {
            Ok(command) => match self.ask(client, &format!("/mailbox/{waiter}/taken"), b"{}") {
                Ok((_, head)) if head.status == 200 => Tried::Taken(command),
                Ok(_) | Err(_) => Tried::Lost,
            },
            Err(reason) => {
                let body = serde_json::json!({ "reason": reason }).to_string();
                let target = format!("/mailbox/{waiter}/refused");
                match self.ask(client, &target, body.as_bytes()) {
                    Ok((_, head)) if head.status == 200 => Tried::Again,
                    Ok(_) | Err(_) => Tried::Lost,
                }
            }
        }
    }

    /// Sends a request and waits for its answer as long as the connection and the agent live.
    fn ask(
        &self,
        client: &Client,
        target: &str,
        body: &[u8],
    ) -> Result<(Connection, Head), HttpError> {
        let deadline = Instant::now() + LOOK;
        let (id, at) = stamp();
        let sent = client.connect(deadline).and_then(|mut connection| {
            connection.send(&self.caller.post(target, &id, at, body), deadline)?;
            Ok(connection)
        });
        let mut connection = sent.inspect_err(|error| {
            // An idle agent tells nothing else by which anybody would notice.
            if error.is_no_daemon() {
                let _ = daemon::revive(client.paths());
            }
        })?;
        loop {
            match connection.head(Instant::now() + LOOK) {
                Ok(head) => return Ok((connection, head)),
                Err(HttpError::Timeout) if !self.commands.is_closed() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What the agent is to do; the error says why it cannot.
    fn meant(&self, text: String, handing: Handing) -> Result<Command, String> {
        let how = match handing {
            Handing::Prompt => Told::Prompt,
            Handing::Steer => Told::Steer,
            Handing::Interrupt => Told::Interrupt,
            Handing::Command => return person::typed(&text, &self.sessions, &self.cwd),
        };
        Ok(Command::Told { text, how })
    }
}
