//! The brain of `sm run`: it starts agents with our hooks in them, hears what these tell, and decides
//! with the machine's word whether another agent takes the place of one that has ended.
//!
//! The relay asks it on the person's own thread: nothing here may wait for long but `ended`.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sm_agents::kind::{self, Hooks};
use sm_agents::{LaunchRequest, Start};
use sm_channel::{ChannelError, DotFile, RealFiles, SessionLine};
use sm_client::PathError;
use sm_client::process::Process;
use sm_client::wire;
use sm_core::signal::ScreenMark;
use sm_core::{AgentKind, ConversationId};
use sm_daemon::api::types::HandoffBody;
use sm_daemon::ask::secret_hash;
use sm_daemon::clock;

use super::arguments;
use super::link;
use super::own_files;
use super::passed;
use super::pulse;
use super::rotation::{After, Ending, Rotation, Rules, Stop};
use super::server::{self, Reply, Request};
use super::session::{Session, Then};
use super::state::{Handed, Setup};
use super::words;
use crate::RunError;
use crate::brain::{Brain, Control, Ended, Entered, Next, Report, Run};

/// How long the agent's hooks wait for us: we may have to ask a daemon.
const HOOK_MS: &str = "500";
/// How often is looked for what no hook tells.
const LOOK_EVERY: Duration = Duration::from_millis(250);

#[derive(Debug, thiserror::Error)]
pub enum RotateError {
    #[error("the folder of this run cannot be used: {0}")]
    Folder(#[from] PathError),
    #[error("the socket of this run cannot be used: {0}")]
    Socket(#[from] io::Error),
    #[error("{0}")]
    Launch(String),
    #[error("{0}")]
    Channel(#[from] ChannelError),
}

/// How the first context begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// As the person's arguments say.
    Fresh,
    /// From the channel's handoff, or from what a run that died has left.
    Handoff,
}

pub struct Rotating {
    session: Arc<Session>,
    bell: UnixStream,
    over: Arc<AtomicBool>,
    farewell: Option<String>,
}

impl Rotating {
    /// Opens the run: its socket, its watcher, its first agent's line.
    pub fn open(setup: Setup, rules: Rules, begin: Begin) -> Result<(Self, Run), RotateError> {
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let socket = setup.folder.paths().socket().to_path_buf();
        let _ = std::fs::remove_file(&socket); // of nobody: the folder is ours alone
        let listener = UnixListener::bind(&socket)?;
        let session = Arc::new(Session::new(setup, Rotation::new(rules), ring));
        let hearing = Arc::clone(&session);
        server::serve(listener, Arc::new(move |request| route(&hearing, request)))?;
        let over = watch(&session)?;
        link::keep(Arc::clone(&session), Arc::clone(&over))?;
        pulse::keep(Arc::clone(&session), Arc::clone(&over))?;
        let brain = Self {
            over,
            session,
            bell,
            farewell: None,
        };
        // From here on the folder goes with the brain.
        let made = brain.first(begin);
        if made.is_err() {
            brain.close();
        }
        made.map(|run| (brain, run))
    }

    fn first(&self, begin: Begin) -> Result<Run, RotateError> {
        let handed = match begin {
            Begin::Fresh => None,
            Begin::Handoff => Some(self.session.first()?),
        };
        let args = match &handed {
            None => self.session.setup.args.clone(),
            Some(_) => arguments::kept(self.session.setup.agent, &self.session.setup.args),
        };
        self.launch(&args, handed)
    }

    /// The line that starts an agent, and everything it needs on disk.
    fn launch(&self, args: &[String], handed: Option<Handed>) -> Result<Run, RotateError> {
        let setup = &self.session.setup;
        let conversation = match kind::profile(setup.agent).names_conversation {
            true => ConversationId::new(clock::uuid()).ok(),
            false => None,
        };
        let mut request = LaunchRequest {
            program: setup.program.clone(),
            start: Start::New(conversation),
            prompt: handed.as_ref().map(|handed| handed.prompt.clone()),
            args: args.to_vec(),
            hook_program: setup.hook_program.clone(),
            settings_path: setup
                .folder
                .path()
                .join("settings.json")
                .to_string_lossy()
                .into_owned(),
            tools: None,
        };
        own_files::prepare(&self.session, &mut request).map_err(RotateError::Launch)?;
        let mut launch = kind::launch(setup.agent, &request)
            .map_err(|error| RotateError::Launch(error.to_string()))?;
        if let (false, Some(prompt)) = (launch.prompt_given, &request.prompt) {
            launch.argv.push(prompt.clone());
        }
        self.begin(launch.conversation, handed);
        let mut argv = launch.argv.into_iter();
        let mut run = Run::new(argv.next().unwrap_or_default())
            .args(argv)
            .cwd(&setup.cwd)
            .env(wire::SESSION_VAR, &setup.id)
            .env(wire::SECRET_VAR, &setup.secret)
            .env(wire::RUN_VAR, setup.folder.path());
        if std::env::var_os(wire::TIMEOUT_VAR).is_none() {
            run = run.env(wire::TIMEOUT_VAR, HOOK_MS);
        }
        run = match kind::hooks(setup.agent) {
            Hooks::WithLaunch => run.env(wire::HOOKS_VAR, wire::HOOKS_INJECTED),
            Hooks::None => run.without_env(wire::HOOKS_VAR),
        };
        for (key, _) in std::env::vars_os() {
            // It is no tool of the agent that may have started us.
            if key.to_str().is_some_and(sm_agents::marks::is_mark) {
                run = run.without_env(key);
            }
        }
        run.log = setup.log.clone();
        Ok(run)
    }

    fn begin(&self, conversation: Option<ConversationId>, handed: Option<Handed>) {
        let session = &self.session;
        let setup = &session.setup;
        let mut state = session.lock();
        state.from = handed.as_ref().map(|handed| {
            let path = setup.place.archived(&handed.id);
            (path.to_string_lossy().into_owned(), handed.by)
        });
        state.begin_again(handed);
        if let Err(error) = setup.place.ensure() {
            session.log(&format!("the channel's folders: {error}"));
            state.notes.push(words::no_place(&error.to_string()));
        }
        match (conversation, setup.agent) {
            (Some(conversation), agent) => {
                let home = setup.agent_home.as_deref();
                let path =
                    home.and_then(|h| kind::transcript_path(agent, h, &setup.cwd, &conversation));
                session.follow(&mut state, conversation, path.as_deref());
            }
            // What it shows is all that is known of it.
            (None, AgentKind::Native | AgentKind::Generic) => {
                let path = setup.log.as_deref();
                let line = SessionLine {
                    session: setup.id.clone(),
                    path: path.map_or_else(String::new, |p| p.to_string_lossy().into_owned()),
                };
                session.tell_current(&mut state, line);
            }
            // It will tell.
            (None, AgentKind::Claude | AgentKind::Codex) => session.write_about(&state),
        }
    }

    /// For an agent that could not be started at all.
    pub fn close_after(&self, code: &Result<i32, RunError>) {
        if code.is_err() {
            self.close();
            self.session.setup.folder.remove();
        }
    }

    /// What the person is told before the first agent starts.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.session.lock().notes)
    }

    fn say_goodbye(&mut self, why: &str, handed: Option<&Handed>) {
        let setup = &self.session.setup;
        let handed = handed.map(|handed| (&handed.id, &handed.put));
        self.farewell = words::farewell(why, handed, &setup.channel, setup.agent);
        if let Some(kept) = &self.session.lock().replay.kept {
            let said = self
                .farewell
                .take()
                .map_or_else(String::new, |text| text + ". ");
            self.farewell = Some(format!("{said}Your draft is kept in {kept}"));
        }
    }

    /// Takes back what is ours among the files that others see.
    fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
        let setup = &self.session.setup;
        let state = self.session.lock();
        let Some(line) = &state.line else {
            return;
        };
        let mut files = RealFiles::default();
        for path in [setup.place.current_session(), setup.place.restart_session()] {
            let current = path == setup.place.current_session();
            match DotFile::new(path).remove_of(&mut files, &line.session) {
                Ok(true) if current => {
                    let _ = std::fs::remove_file(setup.place.context_status());
                }
                Ok(true | false) => {}
                Err(error) => self.session.log(&format!("not removed: {error}")),
            }
        }
    }

    fn again(&mut self, handed: Handed) -> Next {
        let restarts = self.session.lock().rotation.restarts();
        let kept = handed.clone();
        let id = &kept.id;
        let args = arguments::kept(self.session.setup.agent, &self.session.setup.args);
        match self.launch(&args, Some(handed)) {
            Ok(run) => {
                self.session.lock().replay.begin();
                self.session.send(Control::Notice(format!(
                    "sm run: a fresh context goes on from {id} (restart {restarts})"
                )));
                Next::Again(run)
            }
            Err(error) => {
                self.say_goodbye(
                    &format!("The agent was not started again: {error}"),
                    Some(&kept),
                );
                self.session.tell_end(Some(1), None);
                self.close();
                Next::Exit(1)
            }
        }
    }
}

impl Brain for Rotating {
    fn started(&mut self, agent: Process) {
        let mut state = self.session.lock();
        state.process = Some(agent);
        let consumed = match self.session.setup.agent {
            // No hook will say that it has it.
            AgentKind::Native | AgentKind::Generic => state.pending.take(),
            AgentKind::Claude | AgentKind::Codex => None,
        };
        drop(state);
        self.session.pulse.begin(Instant::now());
        self.session.desk().begin();
        self.session.give_at_once();
        if let Some(handed) = consumed {
            self.session.consume(&handed.id);
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn control(&mut self) -> Option<Control> {
        let mut rung = [0_u8; 64];
        while matches!(self.bell.read(&mut rung), Ok(count) if count > 0) {}
        self.session.next_control()
    }

    fn typed(&mut self, bytes: &[u8]) {
        self.session.desk().typed(bytes, Instant::now());
        self.session.screen.typed(bytes);
    }

    fn shown(&mut self, bytes: &[u8], cols: u16, rows: u16) {
        self.session.screen.saw(bytes, cols, rows);
        self.session.pulse.output(Instant::now());
    }

    fn unsent(&mut self, bytes: &[u8]) {
        self.session.keep_unsent(bytes);
    }

    fn abandoned(&mut self, code: i32) {
        let handed = self.session.lock().pending.take();
        self.say_goodbye("The agent was ended", handed.as_ref());
        self.session.tell_end(Some(code), None);
        self.close();
        self.session.setup.folder.remove();
    }

    fn last_words(&mut self) -> Option<String> {
        self.farewell.take()
    }

    fn entered(&mut self, no: u64, entered: Entered) {
        self.session.entries.done(no, entered);
    }

    fn still_shows(&self, mark: &ScreenMark) -> bool {
        self.session.screen.mark().as_ref() == Some(mark)
    }

    fn refused(&mut self, meant: Process, runs: Option<Process>) {
        let runs = runs.map_or_else(|| "none".to_owned(), |process| process.to_string());
        self.session.log(&format!(
            "{meant} was to end, but {runs} runs here: left alone"
        ));
    }

    fn ended(&mut self, report: &Report) -> Next {
        self.session.lock().process = None;
        self.session.until_made();
        let mut lost = false;
        let (after, prepared) = {
            let mut state = self.session.lock();
            let ending = match by_person(report, state.person_exit) {
                true => Ending::Person,
                false => Ending::Other,
            };
            (state.rotation.ended(ending), state.prepared.take())
        };
        match (after, prepared) {
            (After::Restart, Some(handed)) => return self.again(handed),
            (After::Restart | After::Exit, None) => {
                // Else the one that it was started with, if it ended before it took it.
                let kept = self.session.keep_asked();
                let kept = kept.map(|kept| kept.or_else(|| self.session.lock().pending.take()));
                let trouble = self.session.lock().trouble.clone();
                lost = kept.is_err() || trouble.is_some();
                let why = match &kept {
                    Ok(None) => trouble.map_or_else(String::new, |trouble| {
                        words::not_handed_over(&trouble, self.session.setup.agent)
                    }),
                    Ok(Some(_)) => "The agent was ended".to_owned(),
                    Err(error) => format!(
                        "What the agent handed over could not be put into the channel ({error}); it is kept in {}",
                        self.session.setup.folder.path().display()
                    ),
                };
                self.say_goodbye(&why, kept.ok().flatten().as_ref());
            }
            (After::Exit, Some(handed)) => {
                self.say_goodbye("The agent was ended", Some(&handed));
            }
            (After::Stop(stop), prepared) => {
                let why = match stop {
                    Stop::NoRestartsLeft => "All restarts are used up (--max-restarts)",
                    Stop::NoNewWork => {
                        "The last context was full without anything new done in it, so another would not help"
                    }
                };
                self.say_goodbye(&format!("sm run stops: {why}"), prepared.as_ref());
            }
        }
        let (code_told, signal) = report.told_end();
        self.session.tell_end(code_told, signal);
        self.close();
        if report.ended != Ended::TerminalGone && !lost {
            self.session.setup.folder.remove();
        }
        Next::Exit(report.code())
    }

    fn failed(&mut self, error: &RunError) -> Next {
        let handed = self.session.lock().pending.take();
        self.say_goodbye(
            &format!("The agent was not started again: {error}"),
            handed.as_ref(),
        );
        self.session.tell_end(Some(127), None);
        self.close();
        Next::Exit(127)
    }
}

/// Whether a person has ended the agent. One that we have told to end is ours, whatever was typed
/// before, unless its own end says otherwise.
fn by_person(report: &Report, said: bool) -> bool {
    const SIGKILL: i32 = 9;
    const SIGTERM: i32 = 15;
    let ours = report.by_us
        && report.told.is_none()
        && match report.ended {
            Ended::Exited(code) => code == 128 + SIGTERM || code == 128 + SIGKILL,
            Ended::Signalled(signal) => matches!(signal, SIGTERM | SIGKILL),
            Ended::TerminalGone => false,
        };
    said || report.goodbye.is_some() || (!ours && report.person_interrupted())
}

/// Looks regularly for what no hook tells.
fn watch(session: &Arc<Session>) -> io::Result<Arc<AtomicBool>> {
    let over = Arc::new(AtomicBool::new(false));
    let (seen, looked) = (Arc::clone(&over), Arc::clone(session));
    std::thread::Builder::new()
        .name("sm-run-watch".to_owned())
        .spawn(move || {
            while !seen.load(Ordering::SeqCst) {
                if let Some(leaving) = looked.look() {
                    looked.leave(&leaving);
                }
                std::thread::sleep(LOOK_EVERY);
            }
        })?;
    Ok(over)
}

/// What a request on the run's own socket means.
fn route(session: &Arc<Session>, request: Request) -> Reply {
    let path: Vec<String> = request
        .target
        .split('?')
        .next()
        .unwrap_or_default()
        .split('/')
        .skip(1)
        .map(str::to_owned)
        .collect();
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let secret = request.header(wire::SECRET_HEADER);
    let proven = secret == Some(session.setup.secret.as_str());
    // All that a daemon keeps of it.
    if secret == Some(secret_hash(&session.setup.secret).as_str()) {
        return by_daemon(session, &request, &words);
    }
    match (request.method.as_str(), words.as_slice()) {
        ("GET", ["health"]) => json(&serde_json::json!({"ok": true, "pid": std::process::id()})),
        _ if !proven => Reply::of(
            403,
            &br#"{"error":"this is not a process of this run"}"#[..],
        ),
        ("POST", ["hooks", _, "mailbox"]) => session.mailbox(&request),
        ("POST", ["mailbox", waiter, "taken"]) => session.taken(waiter, &request),
        ("POST", ["hooks", agent, "statusline"]) if *agent == session.setup.agent.as_str() => {
            status_line(session, &request)
        }
        ("POST", ["hooks", agent, event]) if *agent == session.setup.agent.as_str() => {
            hook(session, event, &request)
        }
        ("POST", ["sessions", name, "handoff"]) => match serde_json::from_slice(&request.body) {
            Ok(body) => {
                let body = HandoffBody { env: None, ..body };
                json(&session.schedule(name, body, request.peer))
            }
            Err(error) => json_of(400, &serde_json::json!({"error": error.to_string()})),
        },
        ("DELETE", ["sessions", name, "handoff"]) => json(&session.take_back(name)),
        _ => json_of(
            404,
            &serde_json::json!({"error": "sm run does not know this; it needs the daemon"}),
        ),
    }
}

/// What the daemon that has this run as a session may ask for.
fn by_daemon(session: &Arc<Session>, request: &Request, words: &[&str]) -> Reply {
    match (request.method.as_str(), words) {
        ("GET", ["terminal", "screen"]) => match session.shown() {
            Some(screen) => json(&screen),
            None => json_of(
                404,
                &serde_json::json!({"error": "the screen is not known"}),
            ),
        },
        ("POST", ["terminal", "type"]) => match serde_json::from_slice(&request.body) {
            Ok(body) => json(&session.type_in(body)),
            Err(error) => json_of(400, &serde_json::json!({"error": error.to_string()})),
        },
        ("POST", ["sessions", _, "handoff"]) => match serde_json::from_slice(&request.body) {
            Ok(body) => {
                let (answer, leaving) = session.schedule_for(body);
                let session = Arc::clone(session);
                match leaving {
                    Some(leaving) => json(&answer).then(move || {
                        session.tell_soon();
                        session.leave(&leaving);
                    }),
                    None => json(&answer),
                }
            }
            Err(error) => json_of(400, &serde_json::json!({"error": error.to_string()})),
        },
        ("DELETE", ["sessions", name, "handoff"]) => json(&session.take_back(name)),
        ("POST", ["end"]) => json(&serde_json::json!({"ended": session.end_by_order()})),
        _ => json_of(
            404,
            &serde_json::json!({"error": "sm run does not know this"}),
        ),
    }
}

fn json(value: &impl serde::Serialize) -> Reply {
    json_of(200, value)
}

fn json_of(status: u16, value: &impl serde::Serialize) -> Reply {
    Reply::of(status, serde_json::to_vec(value).unwrap_or_default())
}

fn hook(session: &Arc<Session>, event: &str, request: &Request) -> Reply {
    let agent = session.setup.agent;
    let ancestors = request.header(wire::ANCESTORS_HEADER).unwrap_or_default();
    let asked = kind::tool_output(agent, event, &request.body)
        .and_then(|printed| session.asked_by_hook(&printed));
    let heard = session.hook(event, &request.body, ancestors);
    let printed = match asked {
        Some(text) => {
            let answer = sm_core::effect::Answer::Context { text };
            sm_agents::answer(agent, event, &answer, None)
        }
        None => heard.printed,
    };
    let theirs = session.pass_on(event, request, &printed, &heard.then);
    let reply = match (printed.is_empty(), theirs.is_empty()) {
        (false, _) => Reply::of(200, printed),
        (true, false) => Reply::of(200, theirs),
        (true, true) => Reply::nothing(),
    };
    let session = Arc::clone(session);
    match heard.then {
        Then::Nothing => reply,
        Then::Consume(id) => reply.then(move || session.consume(&id)),
        Then::Leave(leaving) => reply.then(move || session.leave(&leaving)),
    }
}

/// What the agent shows of itself.
fn status_line(session: &Arc<Session>, request: &Request) -> Reply {
    let parsed = sm_agents::parse_hook(
        session.setup.agent,
        "statusline",
        &request.body,
        clock::now(),
    );
    let text = match parsed.signal {
        sm_core::signal::Signal::Usage(sample) => match sample.used_percentage {
            Some(used) => format!("{used:.0}% ctx"),
            None => "–% ctx".to_owned(),
        },
        _ => "–% ctx".to_owned(),
    };
    let text = match &session.lock().trouble {
        Some(trouble) => format!("{text} · sm run cannot hand over: {trouble}"),
        None => text,
    };
    let ancestors = request.header(wire::ANCESTORS_HEADER).unwrap_or_default();
    let heard = session.hook("statusline", &request.body, ancestors);
    let pass_on = passed::sample_afterwards(session, request);
    let leaves = Arc::clone(session);
    Reply::of(200, text.into_bytes()).then(move || {
        pass_on();
        if let Then::Leave(leaving) = heard.then {
            leaves.leave(&leaving);
        }
    })
}
