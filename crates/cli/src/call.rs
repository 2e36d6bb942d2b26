//! How the daemon is asked: found or started, asked again when that is safe, and its refusals
//! turned into what a person should know.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sm_client::daemon::{self, DaemonError};
use sm_client::http::{HttpError, Lines, Request, Response};
use sm_client::{Client, Paths, wire};

use crate::environment::Own;
use crate::error::{CommandError, Kind, Result};

/// How long the daemon may take for an ordinary answer.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long a daemon may take to start.
const START_PATIENCE: Duration = Duration::from_secs(15);
/// A look that must not make anyone wait.
pub const LOOK_PATIENCE: Duration = Duration::from_secs(2);
/// An answer that may take longer than this is asked for only where somebody is awake.
const LONG: Duration = Duration::from_secs(60);
const TRIES: u32 = 4;
/// A daemon that is stopping says so; it takes a moment.
const WHILE_STOPPING: Duration = Duration::from_millis(50);
const TRIES_WHILE_STOPPING: u32 = 60;

/// An answer: as the API gave it, and as we understand it.
#[derive(Debug)]
pub struct Answer<T> {
    pub json: Value,
    pub value: T,
}

/// Whether a request may be sent again when it is not known if it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Safe,
    Never,
}

/// What a daemon that was stopped on purpose means for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// A person or an agent asks for something now: it is started.
    Start,
    /// Somebody stopped it while we waited: waiting is over.
    GiveUp,
}

pub struct Call<'a> {
    pub request: Request<'a>,
    pub patience: Duration,
    pub repeat: Repeat,
    pub stopped: Stopped,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    Daemon,
    /// The `sm run` that this program's agent was started by.
    Run,
}

/// The way to the daemon of this instance, or to our own `sm run`.
pub struct Door {
    pub client: Client,
    pub listens: Listens,
    /// The session this program runs in.
    pub own: Option<Own>,
    /// What is done about a daemon that somebody stopped.
    pub stopped: Stopped,
    /// How long a person said to wait, and when that is over.
    pub deadline: Option<(Duration, Instant)>,
}

/// Beyond a person's own deadline, for the daemon to say that it is over.
const ANSWERING: Duration = Duration::from_millis(500);
/// A daemon that lives says so at once, whatever else it does.
const AWAKE: Duration = Duration::from_secs(10);

/// Whose end of the waiting comes first: the message and the exit code say which it was.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// The one that a person gave.
    Person { wait: Duration, until: Instant },
    /// Ours: by then a daemon that lives has answered.
    Patience { patience: Duration, until: Instant },
}

impl Limit {
    fn until(self) -> Instant {
        match self {
            Self::Person { until, .. } | Self::Patience { until, .. } => until,
        }
    }

    fn passed(self) -> CommandError {
        let (error, waited): (fn(String) -> CommandError, _) = match self {
            Self::Person { wait, .. } => (CommandError::not_in_time, wait),
            Self::Patience { patience, .. } => (CommandError::not_usable, patience),
        };
        error(format!(
            "the daemon did not answer within {} s",
            waited.as_secs_f64()
        ))
    }
}

impl Door {
    /// How long an answer is waited for: a person's own deadline is the deadline.
    fn limit(&self, patience: Duration) -> Limit {
        let until = Instant::now() + patience;
        match self.deadline {
            Some((wait, deadline)) if deadline + ANSWERING <= until => Limit::Person {
                wait,
                until: deadline + ANSWERING,
            },
            Some(_) | None => Limit::Patience { patience, until },
        }
    }

    fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|(_, deadline)| Instant::now() >= deadline)
    }

    /// Before an answer that may take long: whether anybody is there to give it.
    fn awake(&self) -> Result<()> {
        let limit = self.limit(AWAKE);
        match self.client.request(&Request::get("/health"), limit.until()) {
            Err(error @ HttpError::Timeout) => Err(self.unreachable(&error, limit)),
            // whoever asks for more finds it out, and what to do about it
            Ok(_) | Err(_) => Ok(()),
        }
    }

    pub fn paths(&self) -> &Paths {
        self.client.paths()
    }

    pub fn get<T: DeserializeOwned>(&self, target: &str) -> Result<Answer<T>> {
        self.ask(Request::get(target), Repeat::Safe)
    }

    pub fn ask<T: DeserializeOwned>(
        &self,
        request: Request<'_>,
        repeat: Repeat,
    ) -> Result<Answer<T>> {
        parse(&self.call(&Call {
            request,
            patience: PATIENCE,
            repeat,
            stopped: self.stopped,
        })?)
    }

    pub fn once<T: DeserializeOwned>(&self, request: Request<'_>) -> Result<Option<Answer<T>>> {
        let limit = self.limit(PATIENCE);
        match self.client.request(&self.signed(request), limit.until()) {
            Ok(response) => parse(&response).map(Some),
            Err(error) if error.is_no_daemon() => Ok(None),
            Err(error) => Err(self.unreachable(&error, limit)),
        }
    }

    /// What the daemon answered, whatever that is.
    pub fn call(&self, call: &Call<'_>) -> Result<Response> {
        let request = self.signed(call.request.clone());
        if call.patience > LONG {
            self.awake()?;
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let limit = self.limit(call.patience);
            match self.client.request(&request, limit.until()) {
                // It is stopping: the next one has the answer.
                Ok(response)
                    if response.status() == 503
                        && call.repeat == Repeat::Safe
                        && tries < TRIES_WHILE_STOPPING
                        && !self.is_over() =>
                {
                    std::thread::sleep(WHILE_STOPPING);
                    self.give_up_if_stopped(call.stopped)?;
                }
                Ok(response) => return Ok(response),
                Err(error) => self.recover(&error, limit, call.repeat, call.stopped, tries)?,
            }
        }
    }

    /// Starts the daemon if there is none. An `sm run` that is gone is gone.
    pub fn ensure(&self) -> Result<()> {
        if self.listens == Listens::Run {
            return Err(
                CommandError::not_usable("the sm run that this was started in has ended").hint(
                    "a new one: sm run claude; with the channel's handoff: sm run --handoff claude",
                ),
            );
        }
        daemon::ensure(&self.client, self.limit(START_PATIENCE).until())
            .map_err(|error| self.no_daemon(&error))
    }

    /// An answer that goes on, line by line.
    pub fn stream(&self, request: Request<'_>) -> Result<Lines> {
        self.stream_after(request, PATIENCE)
    }

    /// The same, where the answer's beginning may take its time.
    pub fn stream_after(&self, request: Request<'_>, patience: Duration) -> Result<Lines> {
        let request = self.signed(request);
        if patience > LONG {
            self.awake()?;
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let limit = self.limit(patience);
            match self.client.stream(&request, limit.until()) {
                Ok(Ok(lines)) => return Ok(lines),
                Ok(Err(response)) => return Err(refusal(&response)),
                Err(error) => self.recover(&error, limit, Repeat::Safe, self.stopped, tries)?,
            }
        }
    }

    /// Who we are, if we are inside a session; the daemon checks it where it matters.
    fn signed<'a>(&self, request: Request<'a>) -> Request<'a> {
        match &self.own {
            Some(Own {
                id,
                secret: Some(secret),
            }) => request
                .header(wire::SESSION_HEADER, id)
                .header(wire::SECRET_HEADER, secret),
            Some(Own { secret: None, .. }) | None => request,
        }
    }

    /// Makes another try possible, or says why there is none.
    fn recover(
        &self,
        error: &HttpError,
        limit: Limit,
        repeat: Repeat,
        stopped: Stopped,
        tries: u32,
    ) -> Result<()> {
        if self.is_over() {
            return Err(self.unreachable(error, limit));
        }
        match error {
            HttpError::NoDaemon(_) if tries < TRIES_WHILE_STOPPING + TRIES => {
                self.give_up_if_stopped(stopped)?;
                self.ensure()
            }
            HttpError::Closed | HttpError::Io(_) if tries < TRIES && repeat == Repeat::Safe => {
                self.give_up_if_stopped(stopped)?;
                self.ensure()
            }
            HttpError::NoDaemon(_)
            | HttpError::Closed
            | HttpError::Io(_)
            | HttpError::Untrusted(_)
            | HttpError::Forbidden(_)
            | HttpError::BadRequest(_)
            | HttpError::Timeout
            | HttpError::TooLarge
            | HttpError::Malformed(_) => Err(self.unreachable(error, limit)),
        }
    }

    fn give_up_if_stopped(&self, stopped: Stopped) -> Result<()> {
        match stopped {
            Stopped::GiveUp if self.paths().stopped_marker().exists() => {
                Err(CommandError::not_usable(
                    "the daemon was stopped, so there is nothing more to wait for",
                )
                .hint("sessions go on and messages stay queued; any command starts it again"))
            }
            Stopped::GiveUp | Stopped::Start => Ok(()),
        }
    }

    fn unreachable(&self, error: &HttpError, limit: Limit) -> CommandError {
        let plain = CommandError::not_usable(error.to_string());
        match error {
            HttpError::Untrusted(_) => plain
                .hint("somebody else could listen there: remove that directory, then try again"),
            HttpError::Forbidden(_) => CommandError::new(Kind::Sandboxed, error.to_string())
                .hint("a sandbox forbids it: run this command outside of it")
                .hint("in Codex: with escalated permissions, or with sandbox_workspace_write.network_access = true in its config"),
            HttpError::BadRequest(_) => CommandError::usage(error.to_string()),
            HttpError::Timeout => limit
                .passed()
                .hint("it is running but stuck or stopped; it may still do what was asked")
                .hint("look with `sm doctor`"),
            HttpError::Closed | HttpError::Io(_) => plain
                .hint("it may or may not have done what was asked: look with `sm ls`, then repeat")
                .hint(self.log_hint()),
            HttpError::NoDaemon(_) => plain.hint("it starts and ends again; look with `sm doctor`"),
            HttpError::TooLarge | HttpError::Malformed(_) => {
                plain.hint("something else may listen on the socket; look with `sm doctor`")
            }
        }
    }

    fn no_daemon(&self, error: &DaemonError) -> CommandError {
        let plain = CommandError::not_usable(error.to_string());
        match error {
            DaemonError::Paths(_) | DaemonError::Io { .. } => {
                plain.hint("sm needs to write there; `sm doctor` says more")
            }
            DaemonError::NoProgram => {
                plain.hint("install sm and sm-hook into the same directory, or set SM_BIN")
            }
            DaemonError::Failed { said } => own_words(said).unwrap_or_else(|| {
                plain
                    .hint(self.log_hint())
                    .hint("`sm doctor` looks for the cause")
            }),
            DaemonError::NotReady(_) => plain
                .hint(self.log_hint())
                .hint("`sm doctor` looks for the cause"),
        }
    }

    fn log_hint(&self) -> String {
        format!(
            "the daemon's log is {}",
            self.paths().daemon_log().display()
        )
    }
}

/// A daemon that could not start has said why in the way of all commands: its last error with its
/// hints is what there is to say.
fn own_words(said: &str) -> Option<CommandError> {
    let mut lines = said.lines().rev();
    let mut hints: Vec<&str> = Vec::new();
    let message = loop {
        let line = lines.next()?;
        match (line.strip_prefix("error: "), line.strip_prefix("hint: ")) {
            (Some(message), _) => break message,
            (None, Some(hint)) => hints.push(hint),
            (None, None) => return None,
        }
    };
    let error = CommandError::not_usable(format!("the daemon cannot start: {message}"));
    Some(hints.into_iter().rev().fold(error, CommandError::hint))
}

pub fn encode(body: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(body)
        .map_err(|error| CommandError::refused(format!("cannot write the request: {error}")))
}

pub fn parse<T: DeserializeOwned>(response: &Response) -> Result<Answer<T>> {
    if !response.is_success() {
        return Err(refusal(response));
    }
    let body: &[u8] = if response.body.is_empty() {
        b"null"
    } else {
        &response.body
    };
    let strange = |error: serde_json::Error| {
        CommandError::not_usable(format!("the daemon's answer is not understood: {error}")).hint(
            "it may be another version of sm: `sm stop`, and the next command starts this one",
        )
    };
    let json: Value = serde_json::from_slice(body).map_err(strange)?;
    let value = serde_json::from_slice(body).map_err(strange)?;
    Ok(Answer { json, value })
}

/// An error answer, in the daemon's own words.
fn refusal(response: &Response) -> CommandError {
    let kind = match response.status() {
        408 => Kind::NotInTime,
        // A program is missing, or the daemon is going.
        424 | 501 | 503 => Kind::NotUsable,
        _ => Kind::Refused,
    };
    let (message, hint) = response.error();
    let error = CommandError::new(kind, message);
    match hint.filter(|hint| !hint.is_empty()) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_cannot_start_says_why_itself() {
        for (said, expected) in [
            (
                "error: line 2: unknown key\nhint: write `program`\nhint: or remove it",
                Some(("the daemon cannot start: line 2: unknown key", 2)),
            ),
            (
                "error: of before\nhint: x\nerror: no room",
                Some(("the daemon cannot start: no room", 0)),
            ),
            ("2026-03-01T11:57:00Z  INFO the daemon serves", None),
            ("thread 'main' panicked\nnote: run with", None),
            ("", None),
        ] {
            let found = own_words(said);
            let found = found.as_ref().map(|e| (e.message.as_str(), e.hints.len()));
            assert_eq!(found, expected, "{said}");
        }
    }
}
