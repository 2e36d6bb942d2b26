//! The daemon's API as typed calls. Nothing here prints.
//!
//! A call that finds no daemon starts one; a call whose connection broke is repeated when doing
//! it twice is the same as doing it once.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sm_client::http::{HttpError, Lines, Request, Response};
use sm_client::{Client, PathError, Paths};
use sm_daemon::api::types::{
    ArchiveView, AttachView, CheckBody, CheckView, ContextReport, EventView, HandoffAnswer,
    HandoffBody, HandoffView, HealthView, LedgerView, MessageView, NewSessionBody, OutputView,
    PatchBody, PinBody, PinsView, ReplyView, RestoreBody, SendBody, SessionView, SignInView,
    StatusView,
};

use crate::call::{Call, Door, LOOK_PATIENCE, Listens, PATIENCE, Repeat, Stopped, encode, parse};
use crate::environment::Own;
use crate::error::{CommandError, Kind, Result};

pub use crate::call::Answer;

/// One request of a long wait: short enough to notice that the daemon was replaced.
pub const WAIT_SLICE: Duration = Duration::from_secs(20);

/// A long log that nobody has looked at yet is rendered first.
const RENDERING: Duration = Duration::from_secs(600);

/// What is searched for in an archive.
#[derive(Debug)]
pub struct ArchiveSearch<'a> {
    pub pattern: &'a str,
    pub ignore_case: bool,
    pub context: usize,
    pub generation: Option<u32>,
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
    door: Door,
}

impl Daemon {
    /// Nothing is sent yet, nothing is started yet.
    pub fn open() -> Result<Self> {
        Self::at(Paths::from_env(), Listens::Daemon)
    }

    /// Whoever hears of the session we are in: its `sm run`, else the daemon.
    pub fn of_session() -> Result<Self> {
        let listens = match Paths::run_folder() {
            Some(_) => Listens::Run,
            None => Listens::Daemon,
        };
        Self::at(Paths::of_session(), listens)
    }

    fn at(paths: std::result::Result<Paths, PathError>, listens: Listens) -> Result<Self> {
        let paths = paths.map_err(|error| {
            CommandError::not_usable(format!("there is no place for sm: {error}"))
                .hint("set HOME, or SM_HOME to a directory of yours")
        })?;
        Ok(Self {
            door: Door {
                client: Client::new(paths),
                listens,
                own: Own::from_env(),
                stopped: Stopped::Start,
                deadline: None,
            },
        })
    }

    /// For who only looks on: a daemon that somebody stopped stays stopped.
    #[must_use]
    pub fn looking_on(mut self) -> Self {
        self.door.stopped = Stopped::GiveUp;
        self
    }

    /// For who waits only so long, whatever becomes of the daemon meanwhile.
    #[must_use]
    pub fn within(mut self, wait: Duration) -> Self {
        self.door.deadline = Some((wait, Instant::now() + wait));
        self
    }

    pub fn paths(&self) -> &Paths {
        self.door.paths()
    }

    /// The session this program runs in.
    pub fn own(&self) -> Option<&Own> {
        self.door.own.as_ref()
    }

    /// The session that was named, or the one we are in.
    pub fn session_or_own(&self, named: Option<&str>, usage: &str) -> Result<String> {
        match (named, &self.door.own) {
            (Some(named), _) => Ok(named.to_owned()),
            (None, Some(own)) => Ok(own.id.clone()),
            (None, None) => Err(CommandError::not_usable(
                "this is not inside a session of sm, so a session has to be named",
            )
            .hint(usage)),
        }
    }

    /// A link that signs a browser in. Asked again it is another one, and the first is left unused.
    pub fn sign_in(&self) -> Result<Answer<SignInView>> {
        self.door.ask(Request::post("/signin"), Repeat::Safe)
    }

    // ── sessions

    pub fn sessions(&self, which: Which) -> Result<Answer<Vec<SessionView>>> {
        self.door.get(match which {
            Which::Live => "/sessions",
            Which::All => "/sessions?all=true",
        })
    }

    pub fn session(&self, session: &str) -> Result<Answer<SessionView>> {
        self.door.get(&path(session, ""))
    }

    /// What a person can call it by: its name, unless that means another one or several by now.
    pub fn called(&self, session: &SessionView) -> String {
        if matches!(session.state.as_str(), "exited" | "lost") {
            return session.id.clone(); // its name is free for others
        }
        match self.session(&session.name) {
            Ok(found) if found.value.id != session.id => session.id.clone(),
            Err(error) if error.kind == Kind::Refused => session.id.clone(),
            Ok(_) | Err(_) => session.name.clone(),
        }
    }

    pub fn create(&self, body: &NewSessionBody) -> Result<Answer<SessionView>> {
        let bytes = encode(body)?;
        // The id was made here: again is the same session.
        self.door
            .ask(Request::post("/sessions").json(&bytes), Repeat::Safe)
    }

    pub fn rename(&self, session: &str, name: &str) -> Result<Answer<SessionView>> {
        let bytes = encode(&PatchBody {
            name: Some(name.to_owned()),
            watch: None,
        })?;
        self.door.ask(
            Request::new("PATCH", &path(session, "")).json(&bytes),
            Repeat::Safe,
        )
    }

    pub fn context(&self, session: &str) -> Result<Answer<ContextReport>> {
        self.door.get(&path(session, "/context"))
    }

    /// Whether its agent is told how full its context is.
    pub fn watch(&self, session: &str, on: bool) -> Result<Answer<SessionView>> {
        let bytes = encode(&PatchBody {
            name: None,
            watch: Some(on),
        })?;
        self.door.ask(
            Request::new("PATCH", &path(session, "")).json(&bytes),
            Repeat::Safe,
        )
    }

    pub fn kill(&self, session: &str, purge: bool) -> Result<Answer<SessionView>> {
        let query = if purge { "?purge=true" } else { "" };
        // Purged, its name is gone: the second time would be "not found".
        let repeat = if purge { Repeat::Never } else { Repeat::Safe };
        self.door
            .ask(Request::new("DELETE", &path(session, query)), repeat)
    }

    pub fn restore(&self, session: &str, body: &RestoreBody) -> Result<Answer<SessionView>> {
        let bytes = encode(body)?;
        // Restoring a session that lives is refused, so a repeat would look like a failure.
        self.door.ask(
            Request::post(&path(session, "/restore")).json(&bytes),
            Repeat::Never,
        )
    }

    pub fn attach(&self, session: &str) -> Result<AttachView> {
        Ok(self.door.get(&path(session, "/attach"))?.value)
    }

    pub fn output(&self, session: &str, lines: Option<usize>) -> Result<Answer<OutputView>> {
        let query = lines.map_or_else(String::new, |lines| format!("?lines={lines}"));
        self.door.get(&path(session, &format!("/output{query}")))
    }

    /// A question that the daemon may think about for one slice.
    fn held(&self, target: &str, slice: Duration) -> Result<Response> {
        self.door.call(&Call {
            request: Request::get(target),
            patience: slice + PATIENCE,
            repeat: Repeat::Safe,
            stopped: Stopped::GiveUp,
        })
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
        let response = self.held(&target, slice)?;
        // Not in time, or never: it has ended.
        if matches!(response.status(), 408 | 409) {
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
        self.door.ask(
            Request::post(&path(session, "/messages")).json(&bytes),
            Repeat::Safe,
        )
    }

    pub fn messages(&self, session: &str, which: Which) -> Result<Answer<Vec<MessageView>>> {
        self.door.get(&path(
            session,
            match which {
                Which::Live => "/messages",
                Which::All => "/messages?all=true",
            },
        ))
    }

    pub fn withdraw(&self, session: &str, message: &str) -> Result<Answer<MessageView>> {
        self.door.ask(
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
        let response = self.held(&target, slice)?;
        parse(&response)
    }

    /// The reply to a message, or how things stand when the slice is over.
    pub fn reply(
        &self,
        session: &str,
        message: &str,
        slice: Duration,
    ) -> Result<Answer<ReplyView>> {
        let target = format!(
            "/messages/{}/reply?timeout_ms={}",
            encoded(message),
            slice.as_millis()
        );
        let response = self.held(&path(session, &target), slice)?;
        parse(&response)
    }

    // ── handoffs

    pub fn handoff(&self, session: &str, body: &HandoffBody) -> Result<Answer<HandoffAnswer>> {
        let bytes = encode(body)?;
        // The id was made here: again is the same handoff.
        let repeat = match body.id {
            Some(_) => Repeat::Safe,
            None => Repeat::Never,
        };
        self.door.ask(
            Request::post(&path(session, "/handoff")).json(&bytes),
            repeat,
        )
    }

    /// What the gate says of a document, by what is known of the session.
    pub fn check_handoff(&self, session: &str, file_path: &str) -> Result<Answer<CheckView>> {
        let bytes = encode(&CheckBody {
            file_path: file_path.to_owned(),
        })?;
        self.door.ask(
            Request::post(&path(session, "/handoff/check")).json(&bytes),
            Repeat::Safe,
        )
    }

    // ── pins

    pub fn pins(&self, session: &str) -> Result<Answer<PinsView>> {
        self.door.get(&path(session, "/pins"))
    }

    pub fn pin(&self, session: &str, text: &str) -> Result<Answer<PinsView>> {
        self.change_pins("POST", session, text)
    }

    pub fn unpin(&self, session: &str, text: &str) -> Result<Answer<PinsView>> {
        self.change_pins("DELETE", session, text)
    }

    fn change_pins(&self, method: &str, session: &str, text: &str) -> Result<Answer<PinsView>> {
        let bytes = encode(&PinBody {
            text: text.to_owned(),
        })?;
        self.door.ask(
            Request::new(method, &path(session, "/pins")).json(&bytes),
            Repeat::Safe,
        )
    }

    // ── handoffs

    pub fn cancel_handoff(&self, session: &str) -> Result<Answer<HandoffAnswer>> {
        self.door.ask(
            Request::new("DELETE", &path(session, "/handoff")),
            Repeat::Never,
        )
    }

    /// The latest handoffs, newest first; of one session, or of all.
    pub fn handoffs(&self, session: Option<&str>, limit: u32) -> Result<Answer<Vec<HandoffView>>> {
        let of = session.map_or_else(String::new, |s| format!("&session={}", encoded(s)));
        self.door.get(&format!("/handoffs?limit={limit}{of}"))
    }

    /// One of them, with its prompt.
    pub fn one_handoff(&self, id: &str) -> Result<Answer<HandoffView>> {
        self.door.get(&format!("/handoffs/{}", encoded(id)))
    }

    // ── events

    pub fn events(&self, session: &str, last: usize) -> Result<Answer<Vec<EventView>>> {
        self.door
            .get(&path(session, &format!("/events?limit={last}")))
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
        self.door.stream(Request::get(&target))
    }

    /// How sessions look, whenever they change, and all events: `all` with those that have ended.
    pub fn session_stream(&self, which: Which) -> Result<Lines> {
        self.door.stream(Request::get(match which {
            Which::Live => "/events?sessions=true",
            Which::All => "/events?sessions=all",
        }))
    }

    // ── the archive

    /// Text or raw bytes of all that the terminal has shown.
    pub fn archive(&self, session: &str, generation: Option<u32>, raw: bool) -> Result<Lines> {
        let mut query = vec![format!("raw={raw}")];
        query.extend(generation.map(|number| format!("generation={number}")));
        let target = path(session, &format!("/archive?{}", query.join("&")));
        self.door.stream_after(Request::get(&target), RENDERING)
    }

    /// Lines that match, one JSON object a line.
    pub fn archive_search(&self, session: &str, wanted: &ArchiveSearch<'_>) -> Result<Lines> {
        let mut query = vec![
            format!("pattern={}", encoded(wanted.pattern)),
            format!("ignore_case={}", wanted.ignore_case),
            format!("context={}", wanted.context),
        ];
        query.extend(
            wanted
                .generation
                .map(|number| format!("generation={number}")),
        );
        let target = path(session, &format!("/archive/search?{}", query.join("&")));
        self.door.stream_after(Request::get(&target), RENDERING)
    }

    pub fn archive_about(&self, session: &str) -> Result<Answer<ArchiveView>> {
        let target = path(session, "/archive/about");
        let response = self.door.call(&Call {
            request: Request::get(&target),
            patience: RENDERING,
            repeat: Repeat::Safe,
            stopped: Stopped::Start,
        })?;
        parse(&response)
    }

    /// What is known of its context, as a document.
    pub fn ledger(
        &self,
        session: &str,
        budget: u32,
        generation: Option<u32>,
    ) -> Result<Answer<LedgerView>> {
        let generation = generation.map_or_else(String::new, |n| format!("&generation={n}"));
        self.door.get(&path(
            session,
            &format!("/ledger?budget={budget}{generation}"),
        ))
    }

    /// The same in a few lines.
    pub fn ledger_brief(&self, session: &str) -> Result<Answer<LedgerView>> {
        self.door.get(&path(session, "/ledger?brief=true"))
    }

    // ── the daemon itself

    /// What the daemon says of itself, without starting one.
    pub fn health_now(&self) -> std::result::Result<HealthView, HttpError> {
        let response = self
            .door
            .client
            .request(&Request::get("/health"), Instant::now() + LOOK_PATIENCE)?;
        serde_json::from_slice(&response.body)
            .map_err(|_| HttpError::Malformed("it does not say that it is well"))
    }

    /// Its status, without starting one; `None` if there is none.
    pub fn status_now(&self) -> Result<Option<Answer<StatusView>>> {
        self.door.once(Request::get("/status"))
    }

    /// Sessions of a running daemon.
    pub fn sessions_now(&self) -> Result<Option<Answer<Vec<SessionView>>>> {
        self.door.once(Request::get("/sessions?all=true"))
    }

    /// Asks a running daemon to stop; `None` if there is none.
    pub fn stop(&self) -> Result<Option<Answer<Value>>> {
        self.door.once(Request::post("/stop").json(b"{}"))
    }

    pub fn gc(&self, dry_run: bool) -> Result<Answer<GcView>> {
        let bytes = encode(&GcBody { dry_run })?;
        self.door
            .ask(Request::post("/gc").json(&bytes), Repeat::Safe)
    }

    /// Starts the daemon if there is none.
    pub fn ensure(&self) -> Result<()> {
        self.door.ensure()
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
