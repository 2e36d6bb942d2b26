//! Telling the daemon, one thing after the other: by its socket, else by the spool. Then the status
//! file says the same.
//!
//! A thread of its own: a daemon that does not answer delays what is told, never the agent.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sm_agents::native::status;
use sm_agents::native::told::{Place, Told, What};
use sm_client::process::{self, Process};
use sm_client::spool::{Completeness, Entry};
use sm_client::{Client, HttpError, Paths, Request, Spool, daemon, wire};
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::signal::{Activity, StatusReading};

const AGENT: &str = "native";
/// The daemon answers within this time, or the spool has it.
const TIMEOUT: Duration = Duration::from_millis(230);
/// The most of an answer that is read; there is nothing in it.
const ANSWER: usize = 64 * 1024;

/// What is to be told next.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    Told(Told),
    Status {
        conversation: Option<ConversationId>,
        activity: Activity,
    },
    /// The program ends.
    Goodbye,
}

/// Who speaks: the session's own agent, by its environment.
#[derive(Debug, Clone)]
pub struct Caller {
    session: String,
    secret: Option<String>,
    own: Option<Process>,
}

impl Caller {
    pub fn from_env() -> Option<Self> {
        Some(Self {
            session: wire::variable(wire::SESSION_VAR)?,
            secret: wire::variable(wire::SECRET_VAR),
            own: Process::this(),
        })
    }

    /// A request that says who we are, and when.
    pub fn post<'a>(&self, target: &str, id: &str, at: u64, body: &'a [u8]) -> Request<'a> {
        let request = Request::post(target)
            .header(wire::SESSION_HEADER, &self.session)
            .header(wire::EVENT_ID_HEADER, id)
            .header(wire::AT_HEADER, &at.to_string())
            .header(wire::ANCESTORS_HEADER, &self.ancestors());
        let request = match &self.secret {
            Some(secret) => request.header(wire::SECRET_HEADER, secret),
            None => request,
        };
        request.json(body)
    }

    /// We are the session's own process ourselves.
    fn ancestors(&self) -> String {
        process::ancestors_header(self.own.as_slice())
    }

    /// Tells everything until the program says goodbye.
    pub fn tell_all(&self, paths: &Paths, home: &Path, lines: &Receiver<Line>) {
        let client = Client::new(paths.clone());
        sweep(home);
        let mut place = Place::default();
        while let Ok(line) = lines.recv() {
            match line {
                Line::Told(told) => {
                    place.clone_from(&told.place);
                    self.tell(&client, &told);
                }
                Line::Status {
                    conversation,
                    activity,
                } => self.write_status(home, conversation, activity),
                Line::Goodbye => {
                    let what = What::Ended;
                    self.tell(&client, &Told { place, what });
                    let _ = std::fs::remove_file(status::path(home, std::process::id()));
                    return;
                }
            }
        }
    }

    fn tell(&self, client: &Client, told: &Told) {
        let (event, body) = told.encode();
        let (id, at) = stamp();
        let target = format!("/hooks/{AGENT}/{event}");
        let whole = body.len() <= wire::MAX_HOOK_BODY;
        let sent = match whole {
            true => {
                let deadline = Instant::now() + TIMEOUT;
                client.connect(deadline).and_then(|mut connection| {
                    connection.send(&self.post(&target, &id, at, &body), deadline)?;
                    connection.response(ANSWER, deadline)
                })
            }
            false => Err(HttpError::TooLarge),
        };
        match sent {
            Ok(response) if !matches!(response.status(), 429 | 500..) => {}
            Ok(_) => self.keep(client.paths(), event, &id, at, &body),
            Err(error) => {
                self.keep(client.paths(), event, &id, at, &body);
                if error.is_no_daemon() {
                    // Stopped by a person, too soon, not found: the spool has it.
                    let _ = daemon::revive(client.paths());
                }
            }
        }
    }

    fn keep(&self, paths: &Paths, event: &str, id: &str, at: u64, body: &[u8]) {
        let ancestors = self.ancestors();
        let entry = Entry {
            id,
            at,
            agent: AGENT,
            event,
            session: &self.session,
            ancestors: &ancestors,
            secret: self.secret.as_deref(),
            body,
            completeness: Completeness::Whole,
        };
        // Nowhere to keep it and no one to tell: the status file has the state, the session's file
        // what was said.
        let _ = Spool::new(paths.spool_dir()).append(&entry);
    }

    fn write_status(&self, home: &Path, conversation: Option<ConversationId>, activity: Activity) {
        let Some(own) = self.own else { return };
        let (_, at) = stamp();
        let reading = StatusReading {
            process: sm_core::ids::Process {
                pid: own.pid,
                start: own.start,
            },
            conversation,
            activity,
            at: i64::try_from(at).ok().map(Timestamp),
        };
        let path = status::path(home, own.pid);
        // Whoever reads it finds a whole one; without it the daemon asks less well.
        let _ = replace(&path, &status::encode(&reading));
    }
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let temporary = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(bytes)?;
    std::fs::rename(&temporary, path)
}

/// What killed agents left behind.
fn sweep(home: &Path) {
    let files = std::fs::read_dir(status::folder(home));
    for file in files.into_iter().flatten().flatten().take(1000) {
        let path = file.path();
        let pid = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if pid.is_some_and(|pid| Process::of(pid).is_none()) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// An id that no other event has, and the time.
pub fn stamp() -> (String, u64) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let id = format!("{}-{:x}", std::process::id(), now.as_nanos());
    (id, u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
