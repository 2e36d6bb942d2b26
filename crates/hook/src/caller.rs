//! Who is speaking to the daemon, and getting one event to it: by the socket, else by the spool.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sm_client::latest::Latest;
use sm_client::process::{self, Process};
use sm_client::spool::{Completeness, Entry};
use sm_client::{Client, HttpError, Paths, Request, Response, Spool, daemon, wire};

use crate::input::Input;

/// A hook takes no longer than this when the daemon does not answer …
const TIMEOUT: Duration = Duration::from_millis(250);
/// … but for one that carries a request: the agent waits for what becomes of it. Codex allows 3 s.
const ASKING: Duration = Duration::from_millis(2_500);
/// … of which this much is kept for the spool.
const FOR_THE_SPOOL: Duration = Duration::from_millis(20);
/// The most that is taken as an answer for an agent.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// One event's sender.
pub struct Caller {
    pub session: String,
    pub secret: Option<String>,
    pub event_id: String,
    pub at: u64,
    pub ancestors: Vec<Process>,
}

impl Caller {
    /// The agent's session, from its environment; `None` outside of one.
    pub fn from_env() -> Option<Self> {
        Some(Self::new(
            wire::variable(wire::SESSION_VAR)?,
            wire::variable(wire::SECRET_VAR),
        ))
    }

    pub fn new(session: String, secret: Option<String>) -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            session,
            secret,
            event_id: format!("{}-{:x}", std::process::id(), now.as_nanos()),
            at: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            ancestors: process::ancestors(process::MAX_ANCESTORS),
        }
    }

    /// A request that says who we are.
    pub fn post<'a>(&self, target: &str, body: &'a [u8]) -> Request<'a> {
        let request = Request::post(target)
            .header(wire::SESSION_HEADER, &self.session)
            .header(wire::EVENT_ID_HEADER, &self.event_id)
            .header(wire::AT_HEADER, &self.at.to_string())
            .header(
                wire::ANCESTORS_HEADER,
                &process::ancestors_header(&self.ancestors),
            );
        let request = match &self.secret {
            Some(secret) => request.header(wire::SECRET_HEADER, secret),
            None => request,
        };
        request.json(body)
    }

    /// Keeps an event for the daemon to find.
    pub fn spool(&self, paths: &Paths, agent: &str, event: &str, body: &[u8], cut: Completeness) {
        let ancestors = process::ancestors_header(&self.ancestors);
        let entry = self.entry(agent, event, &ancestors, body, cut);
        // Nowhere to keep it and no one to tell: the agent goes on.
        let _ = Spool::new(paths.spool_dir()).append(&entry);
    }

    /// Keeps a sample for the daemon to find, in the place of the one before it.
    pub fn keep_sample(&self, paths: &Paths, agent: &str, event: &str, input: &Input) {
        if input.completeness == Completeness::Cut {
            return;
        }
        let ancestors = process::ancestors_header(&self.ancestors);
        let entry = self.entry(agent, event, &ancestors, &input.bytes, input.completeness);
        let _ = Latest::new(paths.spool_dir()).keep(&entry);
    }

    fn entry<'a>(
        &'a self,
        agent: &'a str,
        event: &'a str,
        ancestors: &'a str,
        body: &'a [u8],
        completeness: Completeness,
    ) -> Entry<'a> {
        Entry {
            id: &self.event_id,
            at: self.at,
            agent,
            event,
            session: &self.session,
            ancestors,
            secret: self.secret.as_deref(),
            body,
            completeness,
        }
    }
}

/// How an event went.
pub enum Outcome {
    /// The daemon has it, and says this to the agent.
    Answered(Vec<u8>),
    /// The daemon does not want it.
    Refused,
    /// The daemon did not answer, or could not keep it.
    Unanswered,
    /// Nobody listens.
    NoDaemon,
}

/// Sends a hook's event and waits for the answer as long as a hook may.
pub fn deliver(
    caller: &Caller,
    client: &Client,
    agent: &str,
    event: &str,
    input: &Input,
) -> Outcome {
    let patience = match asks(&input.bytes) {
        true => timeout().max(ASKING),
        false => timeout(),
    };
    let deadline = Instant::now() + patience.saturating_sub(FOR_THE_SPOOL);
    let request = caller.post(&format!("/hooks/{agent}/{event}"), &input.bytes);
    let request = match input.completeness {
        Completeness::Whole => request,
        Completeness::Cut => request.header(wire::CUT_HEADER, "1"),
    };
    let answer = client.connect(deadline).and_then(|mut connection| {
        connection.send(&request, deadline)?;
        connection.response(MAX_ANSWER, deadline)
    });
    outcome(answer)
}

/// Whether a tool has printed a request; the daemon judges whose.
fn asks(body: &[u8]) -> bool {
    let mark = wire::ASK_MARK.as_bytes();
    body.windows(mark.len()).any(|part| part == mark)
}

fn outcome(answer: Result<Response, HttpError>) -> Outcome {
    match answer {
        Ok(response) => match response.status() {
            200 => Outcome::Answered(response.body),
            201..300 => Outcome::Answered(Vec::new()),
            // It is there but cannot take it now, perhaps for a full disk.
            429 | 500.. => Outcome::Unanswered,
            _ => Outcome::Refused,
        },
        Err(HttpError::NoDaemon(_)) => Outcome::NoDaemon,
        Err(
            HttpError::Untrusted(_)
            | HttpError::Forbidden(_)
            | HttpError::BadRequest(_)
            | HttpError::Timeout
            | HttpError::Closed
            | HttpError::TooLarge
            | HttpError::Malformed(_)
            | HttpError::Io(_),
        ) => Outcome::Unanswered,
    }
}

/// The daemon died while sessions live: starts it, not waiting for it. An `sm run` is not started
/// again by anybody.
pub fn revive(paths: &Paths) {
    if Paths::run_folder().is_some() {
        return;
    }
    // Not found, too soon, stopped by a person: the spool keeps what matters.
    let _ = daemon::revive(paths);
}

fn timeout() -> Duration {
    parse_timeout(std::env::var(wire::TIMEOUT_VAR).ok().as_deref())
}

fn parse_timeout(text: Option<&str>) -> Duration {
    text.and_then(|text| text.parse().ok())
        .map_or(TIMEOUT, |ms: u64| {
            Duration::from_millis(ms.clamp(30, 60_000))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_what_it_says_within_reason() {
        for (text, ms) in [
            (None, 250),
            (Some("1000"), 1000),
            (Some("0"), 30),
            (Some("99999999"), 60_000),
            (Some("soon"), 250),
            (Some(""), 250),
        ] {
            assert_eq!(parse_timeout(text), Duration::from_millis(ms), "{text:?}");
        }
    }

    #[test]
    fn a_request_in_what_a_tool_printed_is_seen() {
        assert!(asks(br#"{"tool_response":"x\nsm-ask:7b:00\n"}"#));
        assert!(!asks(br#"{"tool_response":"sm-as"}"#));
        assert!(!asks(b""));
    }

    #[test]
    fn events_have_ids_of_their_own() {
        let one = Caller::new("s".to_owned(), None);
        let two = Caller::new("s".to_owned(), None);
        assert_ne!(one.event_id, two.event_id);
        assert!(
            one.event_id
                .starts_with(&format!("{}-", std::process::id()))
        );
    }
}
