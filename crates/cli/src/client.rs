//! The daemon's API as typed calls.
//!
//! A call that finds no daemon starts one; a call whose connection broke is repeated when doing
//! it twice is the same as doing it once. Nothing here prints.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sm_client::daemon::{self, DaemonError};
use sm_client::http::{HttpError, Lines, Request, Response};
use sm_client::{Client, Paths, wire};
use sm_daemon::api::types::{
    AttachView, EventView, HealthView, MessageView, NewSessionBody, OutputView, PatchBody,
    RestoreBody, SendBody, SessionView, StatusView,
};

use crate::environment::Own;
use crate::error::{CommandError, Kind, Result};

/// How long the daemon may take for an ordinary answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a daemon may take to start.
const START_PATIENCE: Duration = Duration::from_secs(15);
/// A look that must not make anyone wait.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);
/// One request of a long wait: short enough to notice that the daemon was replaced.
pub const WAIT_SLICE: Duration = Duration::from_secs(20);
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
enum Repeat {
    Safe,
    Never,
}

/// What a daemon that was stopped on purpose means for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// A person or an agent asks for something now: it is started.
    Start,
    /// Somebody stopped it while we waited: waiting is over.
    GiveUp,
}

struct Call<'a> {
    request: Request<'a>,
    patience: Duration,
    repeat: Repeat,
    stopped: Stopped,
}

/// What `POST /gc` takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcBody {
    pub dry_run: bool,
}

/// What was (or would be) removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcView {
    pub items: Vec<GcItem>,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcItem {
    pub session: String,
    pub path: String,
    pub bytes: u64,
    pub reason: String,
}

/// What came of a wait for a state.
#[derive(Debug)]
pub enum Waited {
    Reached(Answer<SessionView>),
    /// Not yet; the session as it is, if the daemon said so.
    NotYet(Option<SessionView>),
}

/// The daemon of this instance.
pub struct Daemon {
    client: Client,
    own: Option<Own>,
}

impl Daemon {
    /// Nothing is sent yet, nothing is started yet.
    pub fn open() -> Result<Self> {
        let paths = Paths::from_env().map_err(|error| {
            CommandError::not_usable(format!("there is no place for sm: {error}"))
                .hint("set HOME, or SM_HOME to a directory of yours")
        })?;
        Ok(Self {
            client: Client::new(paths),
            own: Own::from_env(),
        })
    }

    pub fn paths(&self) -> &Paths {
        self.client.paths()
    }

    /// The session this program runs in.
    pub fn own(&self) -> Option<&Own> {
        self.own.as_ref()
    }

    /// The session that was named, or the one we are in.
    pub fn session_or_own(&self, named: Option<&str>, usage: &str) -> Result<String> {
        match (named, &self.own) {
            (Some(named), _) => Ok(named.to_owned()),
            (None, Some(own)) => Ok(own.id.clone()),
            (None, None) => Err(CommandError::not_usable(
                "this is not inside a session of sm, so a session has to be named",
            )
            .hint(usage)),
        }
    }

    // ── sessions

    pub fn sessions(&self, which: Which) -> Result<Answer<Vec<SessionView>>> {
        self.get(match which {
            Which::Live => "/sessions",
            Which::All => "/sessions?all=true",
        })
    }

    pub fn session(&self, session: &str) -> Result<Answer<SessionView>> {
        self.get(&path(session, ""))
    }

    pub fn create(&self, body: &NewSessionBody) -> Result<Answer<SessionView>> {
        let bytes = encode(body)?;
        // The id was made here: again is the same session.
        self.ask(Request::post("/sessions").json(&bytes), Repeat::Safe)
    }

    pub fn rename(&self, session: &str, name: &str) -> Result<Answer<SessionView>> {
        let bytes = encode(&PatchBody {
            name: Some(name.to_owned()),
        })?;
        self.ask(
            Request::new("PATCH", &path(session, "")).json(&bytes),
            Repeat::Safe,
        )
    }

    pub fn kill(&self, session: &str, purge: bool) -> Result<Answer<SessionView>> {
        let query = if purge { "?purge=true" } else { "" };
        // Purged, its name is gone: the second time would be "not found".
        let repeat = if purge { Repeat::Never } else { Repeat::Safe };
        self.ask(Request::new("DELETE", &path(session, query)), repeat)
    }

    pub fn restore(&self, session: &str, body: &RestoreBody) -> Result<Answer<SessionView>> {
        let bytes = encode(body)?;
        // Restoring a session that lives is refused, so a repeat would look like a failure.
        self.ask(
            Request::post(&path(session, "/restore")).json(&bytes),
            Repeat::Never,
        )
    }

    pub fn attach(&self, session: &str) -> Result<AttachView> {
        Ok(self.get(&path(session, "/attach"))?.value)
    }

    pub fn output(&self, session: &str, lines: Option<usize>) -> Result<Answer<OutputView>> {
        let query = lines.map_or_else(String::new, |lines| format!("?lines={lines}"));
        self.get(&path(session, &format!("/output{query}")))
    }

    /// Waits at most one slice for the state.
    pub fn wait(&self, session: &str, state: &str, slice: Duration) -> Result<Waited> {
        let target = path(
            session,
            &format!(
                "/wait?for={}&timeout_ms={}",
                encoded(state),
                slice.as_millis()
            ),
        );
        let response = self.call(&Call {
            request: Request::get(&target),
            patience: slice + PATIENCE,
            repeat: Repeat::Safe,
            stopped: Stopped::GiveUp,
        })?;
        if response.status() == 408 {
            let session = serde_json::from_slice::<Value>(&response.body)
                .ok()
                .and_then(|said| serde_json::from_value(said.get("session")?.clone()).ok());
            return Ok(Waited::NotYet(session));
        }
        parse(&response).map(Waited::Reached)
    }

    // ── messages

    pub fn send(&self, session: &str, body: &SendBody) -> Result<Answer<MessageView>> {
        let bytes = encode(body)?;
        // The id was made here: again is the same message.
        self.ask(
            Request::post(&path(session, "/messages")).json(&bytes),
            Repeat::Safe,
        )
    }

    pub fn messages(&self, session: &str, which: Which) -> Result<Answer<Vec<MessageView>>> {
        self.get(&path(
            session,
            match which {
                Which::Live => "/messages",
                Which::All => "/messages?all=true",
            },
        ))
    }

    pub fn withdraw(&self, session: &str, message: &str) -> Result<Answer<MessageView>> {
        self.ask(
            Request::new(
                "DELETE",
                &path(session, &format!("/messages/{}", encoded(message))),
            ),
            Repeat::Safe,
        )
    }

    /// The message once it has come that far, or as it is when the slice is over.
    pub fn message_until(
        &self,
        session: &str,
        message: &str,
        until: &str,
        slice: Duration,
    ) -> Result<Answer<MessageView>> {
        let target = path(
            session,
            &format!(
                "/messages/{}?wait_ms={}&until={until}",
                encoded(message),
                slice.as_millis()
            ),
        );
        let response = self.call(&Call {
            request: Request::get(&target),
            patience: slice + PATIENCE,
            repeat: Repeat::Safe,
            stopped: Stopped::GiveUp,
        })?;
        parse(&response)
    }

    // ── events

    pub fn events(&self, session: &str, last: usize) -> Result<Answer<Vec<EventView>>> {
        self.get(&path(session, &format!("/events?limit={last}")))
    }

    /// The stream of events after one; of one session, or of all.
    pub fn event_stream(&self, session: Option<&str>, after: Option<i64>) -> Result<Lines> {
        let mut query = Vec::new();
        if let Some(session) = session {
            query.push(format!("session={}", encoded(session)));
        }
        if let Some(after) = after {
            query.push(format!("after={after}"));
        }
        let target = match query.is_empty() {
            true => "/events".to_owned(),
            false => format!("/events?{}", query.join("&")),
        };
        let request = self.signed(Request::get(&target));
        let mut tries = 0;
        loop {
            tries += 1;
            match self.client.stream(&request, Instant::now() + PATIENCE) {
                Ok(Ok(lines)) => return Ok(lines),
                Ok(Err(response)) => return Err(refusal(&response)),
                Err(error) => self.recover(&error, Repeat::Safe, Stopped::Start, tries)?,
            }
        }
    }

    // ── the daemon itself

    /// What the daemon says of itself, without starting one.
    pub fn health_now(&self) -> std::result::Result<HealthView, HttpError> {
        let response = self
            .client
            .request(&Request::get("/health"), Instant::now() + LOOK_PATIENCE)?;
        serde_json::from_slice(&response.body)
            .map_err(|_| HttpError::Malformed("it does not say that it is well"))
    }

    /// Its status, without starting one; `None` if there is none.
    pub fn status_now(&self) -> Result<Option<Answer<StatusView>>> {
        self.once(Request::get("/status"))
    }

    /// Sessions of a running daemon.
    pub fn sessions_now(&self) -> Result<Option<Answer<Vec<SessionView>>>> {
        self.once(Request::get("/sessions?all=true"))
    }

    /// Asks a running daemon to stop; `None` if there is none.
    pub fn stop(&self) -> Result<Option<Answer<Value>>> {
        self.once(Request::post("/stop").json(b"{}"))
    }

    pub fn gc(&self, dry_run: bool) -> Result<Answer<GcView>> {
        let bytes = encode(&GcBody { dry_run })?;
        self.ask(Request::post("/gc").json(&bytes), Repeat::Safe)
    }

    /// Starts the daemon if there is none.
    pub fn ensure(&self) -> Result<()> {
        daemon::ensure(&self.client, Instant::now() + START_PATIENCE)
            .map_err(|error| self.no_daemon(&error))
    }

    // ── how

    fn get<T: DeserializeOwned>(&self, target: &str) -> Result<Answer<T>> {
        self.ask(Request::get(target), Repeat::Safe)
    }

    fn ask<T: DeserializeOwned>(&self, request: Request<'_>, repeat: Repeat) -> Result<Answer<T>> {
        parse(&self.call(&Call {
            request,
            patience: PATIENCE,
            repeat,
            stopped: Stopped::Start,
        })?)
    }

    fn once<T: DeserializeOwned>(&self, request: Request<'_>) -> Result<Option<Answer<T>>> {
        match self
            .client
            .request(&self.signed(request), Instant::now() + PATIENCE)
        {
            Ok(response) => parse(&response).map(Some),
            Err(error) if error.is_no_daemon() => Ok(None),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    /// What the daemon answered, whatever that is.
    fn call(&self, call: &Call<'_>) -> Result<Response> {
        let request = self.signed(call.request.clone());
        let mut tries = 0;
        loop {
            tries += 1;
            match self
                .client
                .request(&request, Instant::now() + call.patience)
            {
                // It is stopping: the next one has the answer.
                Ok(response)
                    if response.status() == 503
                        && call.repeat == Repeat::Safe
                        && tries < TRIES_WHILE_STOPPING =>
                {
                    std::thread::sleep(WHILE_STOPPING);
                    self.give_up_if_stopped(call.stopped)?;
                }
                Ok(response) => return Ok(response),
                Err(error) => self.recover(&error, call.repeat, call.stopped, tries)?,
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
        repeat: Repeat,
        stopped: Stopped,
        tries: u32,
    ) -> Result<()> {
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
            | HttpError::BadRequest(_)
            | HttpError::Timeout
            | HttpError::TooLarge
            | HttpError::Malformed(_) => Err(self.unreachable(error)),
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

    fn unreachable(&self, error: &HttpError) -> CommandError {
        let plain = CommandError::not_usable(error.to_string());
        match error {
            HttpError::Untrusted(_) => plain
                .hint("somebody else could listen there: remove that directory, then try again"),
            HttpError::BadRequest(_) => CommandError::usage(error.to_string()),
            HttpError::Timeout => plain
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
            DaemonError::Failed { .. } | DaemonError::NotReady(_) => plain
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

/// How much of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that are not over.
    Live,
    All,
}

impl Which {
    pub fn from_all(all: bool) -> Self {
        if all { Self::All } else { Self::Live }
    }
}

fn path(session: &str, rest: &str) -> String {
    format!("/sessions/{}{rest}", encoded(session))
}

/// Percent-encoded, so that a name cannot become another path.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        // A segment of dots alone would be a place, not a name.
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~' | b',')
            || (byte == b'.' && !text.bytes().all(|byte| byte == b'.'));
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn encode(body: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(body)
        .map_err(|error| CommandError::refused(format!("cannot write the request: {error}")))
}

fn parse<T: DeserializeOwned>(response: &Response) -> Result<Answer<T>> {
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

/// A fresh id of that many hexadecimal digits (an even number).
pub fn fresh_id(digits: usize) -> Result<String> {
    let mut random = vec![0_u8; digits / 2];
    getrandom::fill(&mut random).map_err(|error| {
        CommandError::not_usable(format!("the system gives no random numbers: {error}"))
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_a_name() {
        for (text, expected) in [
            ("api", "api"),
            ("a.b-c_1", "a.b-c_1"),
            ("a/b", "a%2Fb"),
            ("..", "%2E%2E"),
            ("a b?x=1#y", "a%20b%3Fx%3D1%23y"),
            ("ü\r\n", "%C3%BC%0D%0A"),
        ] {
            assert_eq!(encoded(text), expected);
        }
    }

    #[test]
    fn ids_are_fresh() {
        let one = fresh_id(8).unwrap();
        assert_eq!(one.len(), 8);
        assert!(one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, fresh_id(8).unwrap());
    }
}
