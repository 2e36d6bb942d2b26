//! The run as a session of a daemon, where one runs.
//!
//! The run stays the owner of everything and is complete without it. What it knows is told whole,
//! whenever it has changed; one request is kept open, by whose end either side notices that the other
//! is gone. Every wait is short, nothing here is ever waited for by the person's keys, and a daemon
//! that does not answer is left alone for a while: what it would have heard goes to its spool.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use sm_client::http::Connection;
use sm_client::process::Process;
use sm_client::spool::{Completeness, Entry};
use sm_client::{HttpError, Request, Spool, wire};
use sm_core::AgentKind;
use sm_daemon::api::types::{EndBody, PinsView, ProcessBody, RunBody};
use sm_daemon::ask::secret_hash;
use sm_daemon::pins;

use super::arguments;
use super::session::Session;
use super::state::Setup;

/// For one question of ours to the daemon.
const PATIENCE: Duration = Duration::from_secs(1);
/// The agent waits for a hook, and for this part of it.
pub(super) const IN_A_HOOK: Duration = Duration::from_millis(230);
/// The last words must not keep the person waiting.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Between two looks for a daemon; at what has changed.
const SEARCH: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(200);
/// A daemon that did not answer is not asked again in an agent's time for so long.
const SILENCE: Duration = Duration::from_secs(3);
/// One that does not know runs is an older one; another may take its place.
const REFUSED: Duration = Duration::from_secs(60);
const LARGEST: usize = 4 << 20;

/// What is known of the daemon.
#[derive(Debug, Default)]
struct Known {
    /// It has this, and the connection stands.
    told: Option<RunBody>,
    /// How often it was told something.
    reports: u64,
    /// It has had us once: it wants to know what it missed.
    once: bool,
    /// It does not want us, or cannot have us: not asked again before then.
    refused_until: Option<Instant>,
    refusal_told: bool,
    silent_until: Option<Instant>,
    over: bool,
}

pub struct Link {
    known: Mutex<Known>,
    changed: Condvar,
    /// One tells at a time, in order.
    telling: Mutex<()>,
    pub(super) waiters: AtomicU64,
    tty: Option<String>,
    parent: Option<(String, String)>,
}

impl Link {
    pub fn new() -> Self {
        let var = |key| std::env::var(key).ok().filter(|value| !value.is_empty());
        Self {
            known: Mutex::default(),
            changed: Condvar::new(),
            telling: Mutex::default(),
            waiters: AtomicU64::new(0),
            tty: terminal_name(),
            parent: var(wire::SESSION_VAR).zip(var(wire::SECRET_VAR)),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a daemon has us and answers.
    pub(super) fn stands(&self) -> bool {
        let known = self.known();
        let silent = known
            .silent_until
            .is_some_and(|until| Instant::now() < until);
        known.told.is_some() && !silent && !known.over
    }

    /// Which of our reports a daemon has, if it has us with an agent and answers.
    pub(super) fn report(&self) -> Option<u64> {
        let known = self.known();
        let runs = known
            .told
            .as_ref()
            .is_some_and(|told| told.process.is_some());
        let reports = known.reports;
        drop(known);
        (runs && self.stands()).then_some(reports)
    }

    pub(super) fn is_over(&self) -> bool {
        self.known().over
    }

    /// Until something has changed, or for so long.
    pub(super) fn wait(&self, patience: Duration) {
        let known = self.known();
        let _ = self.changed.wait_timeout(known, patience);
    }

    /// The right to tell, if it is to be had in time.
    fn turn(&self, deadline: Instant) -> Option<MutexGuard<'_, ()>> {
        loop {
            match self.telling.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn lost(&self, error: &HttpError) {
        let mut known = self.known();
        match error {
            HttpError::NoDaemon(_) | HttpError::Forbidden(_) => known.told = None,
            _ => known.silent_until = Some(Instant::now() + SILENCE),
        }
    }
}

fn terminal_name() -> Option<String> {
    let name = rustix::termios::ttyname(std::io::stdin(), Vec::new()).ok()?;
    name.into_string().ok()
}

fn command(setup: &Setup) -> Vec<String> {
    match setup.agent {
        AgentKind::Claude | AgentKind::Codex => Vec::new(),
        AgentKind::Native | AgentKind::Generic => {
            setup.program.iter().chain(&setup.args).cloned().collect()
        }
    }
}

fn args(setup: &Setup) -> Vec<String> {
    match setup.agent {
        AgentKind::Claude | AgentKind::Codex => {
            let given = setup.args.get(setup.fixed..).unwrap_or_default();
            arguments::kept(setup.agent, given)
        }
        AgentKind::Native | AgentKind::Generic => Vec::new(),
    }
}

impl Session {
    /// Everything a daemon has to know, as it is now.
    fn about(&self) -> RunBody {
        let setup = &self.setup;
        let this = Process::this().unwrap_or(Process { pid: 0, start: 0 });
        let body = |process: Process| ProcessBody {
            pid: process.pid,
            start: process.start,
        };
        let (cols, rows) = self.screen.size().unwrap_or((120, 40));
        let state = self.lock();
        let leaving = state.rotation.is_leaving();
        let by = state.from.as_ref().map(|(_, by)| *by);
        RunBody {
            agent: setup.agent.as_str().to_owned(),
            cwd: setup.cwd.to_string_lossy().into_owned(),
            args: args(setup),
            command: command(setup),
            parent: self.link.parent.as_ref().map(|(id, _)| id.clone()),
            secret_hash: secret_hash(&setup.secret),
            agent_home: setup.agent_home.clone(),
            compact_window: state.compact_window,
            run: body(this),
            socket: setup.folder.paths().socket().to_path_buf(),
            tty: self.link.tty.clone(),
            channel: setup.channel.to_string(),
            cols,
            rows,
            generation: state.generation,
            process: state.process.filter(|_| !leaving).map(body),
            conversation: state.conversation.as_ref().map(ToString::to_string),
            transcript: state
                .follower
                .as_ref()
                .map(|follower| follower.path().to_string_lossy().into_owned()),
            at: state.begun.0,
            prompted: state.opening,
            handoff: state.from.as_ref().map(|(path, _)| path.clone()),
            handoff_trigger: by.map(|by| by.trigger.word().to_owned()),
            handoff_author: by.map(|by| by.author.word().to_owned()),
            ended: None,
        }
    }

    /// Tells the daemon what it does not know yet; whether it knows all now.
    pub(super) fn tell(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let Some(_one) = self.link.turn(deadline) else {
            return false;
        };
        let body = self.about();
        {
            let known = self.link.known();
            let refused = known
                .refused_until
                .is_some_and(|until| Instant::now() < until);
            if known.over || refused {
                return false;
            }
            // The size alone is no news.
            let same = |told: &RunBody| {
                let (cols, rows) = (body.cols, body.rows);
                RunBody {
                    cols,
                    rows,
                    ..told.clone()
                } == body
            };
            if known.told.as_ref().is_some_and(same) {
                return true;
            }
            if body.process.is_none() && !known.once {
                return false; // nothing to be registered yet
            }
        }
        self.tell_now(&body, deadline)
    }

    fn tell_now(&self, body: &RunBody, deadline: Instant) -> bool {
        let asked = self.post_about(body, deadline);
        let mut known = self.link.known();
        match asked {
            Ok(200..=299) => {
                known.told = Some(body.clone());
                known.reports += 1;
                known.once = true;
                known.silent_until = None;
                drop(known);
                self.link.changed.notify_all();
                true
            }
            // In trouble: the next look may find it better.
            Ok(429 | 500..) => {
                known.silent_until = Some(Instant::now() + SILENCE);
                false
            }
            Ok(status) => {
                known.told = None;
                known.refused_until = Some(Instant::now() + REFUSED);
                let told = std::mem::replace(&mut known.refusal_told, true);
                drop(known);
                if told {
                    return false;
                }
                self.log(&format!(
                    "the daemon does not take this run for a session (status {status}); it goes on alone. `sm doctor` compares the versions"
                ));
                false
            }
            Err(error) => {
                drop(known);
                self.link.lost(&error);
                false
            }
        }
    }

    fn post_about(&self, body: &RunBody, deadline: Instant) -> Result<u16, HttpError> {
        let json = serde_json::to_vec(body).unwrap_or_default();
        let target = format!("/runs/{}", self.setup.id);
        let mut request = Request::post(&target)
            .header(wire::SECRET_HEADER, &self.setup.secret)
            .json(&json);
        if let Some((_, secret)) = &self.link.parent {
            request = request.header(wire::PARENT_SECRET_HEADER, secret);
        }
        let mut connection = self.connect(deadline)?;
        connection.send(&request, deadline)?;
        let answer = connection.response(LARGEST, deadline)?;
        Ok(answer.status())
    }

    /// In the time that an agent could wait.
    pub(super) fn tell_soon(&self) {
        self.tell(IN_A_HOOK);
    }

    /// What every context is told, as the daemon knows it, or as the project's file says, and this
    /// document does not.
    pub(super) fn pinned(&self, document: &str, room: usize) -> String {
        let target = format!("/sessions/{}/pins", self.setup.id);
        let known = self
            .link
            .stands()
            .then(|| self.ask_daemon(&Request::get(&target), LAST_WORDS))
            .flatten()
            .and_then(|answer| serde_json::from_slice::<PinsView>(&answer.body).ok());
        let mut pins: Vec<String> = match known {
            Some(view) => view.pins.into_iter().map(|pin| pin.text).collect(),
            None => pins::of_project(&self.setup.cwd).pins,
        };
        pins.retain(|pin| !document.contains(pin.as_str()));
        sm_core::pins::told(&pins, room)
    }

    /// To the daemon's own socket.
    pub(super) fn connect(&self, deadline: Instant) -> Result<Connection, HttpError> {
        Connection::open(self.setup.paths.socket(), deadline)
    }

    /// One request to the daemon in the time there is; what it answers with 200.
    pub(super) fn ask_daemon(
        &self,
        request: &Request<'_>,
        patience: Duration,
    ) -> Option<sm_client::Response> {
        let deadline = Instant::now() + patience;
        let asked = self.connect(deadline).and_then(|mut connection| {
            connection.send(request, deadline)?;
            connection.response(LARGEST, deadline)
        });
        match asked {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.link.lost(&error);
                None
            }
        }
    }

    /// What a daemon could not be told and has to know once it runs again.
    pub(super) fn spool(&self, entry: &Entry<'_>) {
        if !self.link.known().once {
            return;
        }
        if let Err(error) = Spool::new(self.setup.paths.spool_dir()).append(entry) {
            self.log(&format!("an event for the daemon was lost: {error}"));
        }
    }

    /// It is over: the last words, and nothing after them.
    pub(super) fn tell_end(&self, code: Option<i32>, signal: Option<i32>) {
        let mut body = self.about();
        body.process = None;
        body.ended = Some(EndBody { code, signal });
        let _one = self
            .link
            .telling
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let once = {
            let mut known = self.link.known();
            known.over = true;
            known.once
        };
        self.link.changed.notify_all();
        if !once {
            return;
        }
        if !matches!(
            self.post_about(&body, Instant::now() + LAST_WORDS),
            Ok(200..=299)
        ) {
            let json = serde_json::to_vec(&body).unwrap_or_default();
            self.spool(&Entry {
                id: &format!("{}-end", self.setup.id),
                at: u64::try_from(sm_daemon::clock::now().0).unwrap_or_default(),
                agent: "run",
                event: "ended",
                session: &self.setup.id,
                ancestors: "",
                secret: Some(&self.setup.secret),
                body: &json,
                completeness: Completeness::Whole,
            });
        }
    }
}

/// Looks for a daemon, tells it what is new, and notices when it is gone; until `over`.
pub fn keep(session: Arc<Session>, over: Arc<AtomicBool>) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("sm-run-link".to_owned())
        .spawn(move || {
            let mut held: Option<Connection> = None;
            while !over.load(Ordering::SeqCst) && !session.link.is_over() {
                session.screen.catch_up();
                held = match held {
                    None => join(&session),
                    Some(held) => stay(&session, held),
                };
                if held.is_none() {
                    session.link.wait(SEARCH);
                }
            }
        })
        .map(|_| ())
}

fn join(session: &Session) -> Option<Connection> {
    if !session.setup.paths.socket().exists() || !session.tell(PATIENCE) {
        return None;
    }
    let deadline = Instant::now() + PATIENCE;
    let target = format!("/runs/{}/hold", session.setup.id);
    let held = session.connect(deadline).and_then(|mut connection| {
        let request = Request::post(&target)
            .header(wire::SECRET_HEADER, &session.setup.secret)
            .json(b"");
        connection.send(&request, deadline)?;
        Ok(connection)
    });
    held.ok()
}

/// The connection stands as long as nothing comes from it.
fn stay(session: &Session, mut held: Connection) -> Option<Connection> {
    match held.head(Instant::now() + LOOK) {
        Err(HttpError::Timeout) => {
            session.tell(PATIENCE);
            Some(held)
        }
        Ok(_) | Err(_) => {
            session.link.known().told = None;
            None
        }
    }
}
