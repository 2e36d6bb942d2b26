//! Nothing that a person has written is lost when a context is left: a turn of theirs that has just
//! begun runs, a draft goes along into the next context, and what cannot be given to anybody is kept
//! in a file.

use std::time::{Duration, Instant};

/// No agent says so much of itself.
const LARGEST_STATUS: u64 = 64 << 10;

use sm_agents::kind;
use sm_core::AgentKind;
use sm_core::signal::Activity;

use super::desk::keep;
use super::session::Session;
use super::state::State;
use crate::brain::Control;
use crate::typed::as_paste;

/// What was submitted just before the end of a turn begins the next one within this time.
const SETTLED: Duration = Duration::from_millis(400);
/// An agent that still looks busy after its turn is not waited for any longer.
const STILL_BUSY: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// An agent takes keys for sure when it has taken its first prompt this long ago.
const TAKES_KEYS: Duration = Duration::from_millis(500);
/// A paste is to be seen after this time, or is done again.
const IS_SEEN: Duration = Duration::from_secs(3);
const MOST_TRIES: u32 = 3;
/// A successor that shows no composer for so long gets nothing.
const AT_MOST: Duration = Duration::from_secs(60);
/// Between two tries to leave a context, growing.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What the process that runs is to be given: the draft, and the keys that were held back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replay {
    pub draft: Option<String>,
    /// Where it is kept, as long as no agent has it.
    pub kept: Option<String>,
    since: Option<Instant>,
    passed_on: bool,
    /// When the draft was pasted, and how often.
    pasted: Option<(Instant, u32)>,
}

impl Replay {
    /// A successor begins.
    pub fn begin(&mut self) {
        self.since = Some(Instant::now());
        self.passed_on = false;
        self.pasted = None;
    }
}

impl State {
    /// How long it is not tried again.
    pub fn failed_again(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10));
        let pause = pause.min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.again_at = Some(Instant::now() + pause);
        pause
    }
}

impl Session {
    /// Waits until the turn is truly over; whether another one has begun instead. Keys are held by
    /// now: what begins one was submitted before.
    pub fn turn_began(&self) -> bool {
        let begun = Instant::now();
        loop {
            let (began, process) = {
                let state = self.lock();
                (state.rotation.turn_began(), state.process)
            };
            if began || process.is_none() {
                return began;
            }
            let passed = begun.elapsed();
            if passed >= STILL_BUSY || passed >= SETTLED && !self.is_working() {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// What the agent says of itself, else what its screen shows.
    fn is_working(&self) -> bool {
        let setup = &self.setup;
        let status = self.lock().process.and_then(|process| {
            let path = kind::status_path(setup.agent, setup.agent_home.as_deref()?, process.pid)?;
            let bytes = sm_client::files::read(&path, LARGEST_STATUS).ok()?;
            kind::parse_status(setup.agent, &bytes)
        });
        match status {
            Some(status) => status.activity == Activity::Busy,
            None => self.desk().is_working(),
        }
    }

    /// Takes along what the person was writing, and keeps it in a file.
    pub fn take_draft(&self) {
        let Some(draft) = self.desk().draft() else {
            return;
        };
        let kept = self.keep_text("a draft in the composer", draft.text.as_bytes());
        let mut state = self.lock();
        state.replay.kept = kept;
        state.replay.draft = (!draft.shell).then_some(draft.text);
    }

    /// Keys that no agent will get.
    pub fn keep_unsent(&self, bytes: &[u8]) {
        let mut text = String::new();
        let mut reader = crate::typed::Typed::default();
        let mut add = |token, bytes: &[u8]| match token {
            crate::typed::Token::Text => text.push_str(&String::from_utf8_lossy(bytes)),
            crate::typed::Token::Enter => text.push('\n'),
            crate::typed::Token::Paste => text.push_str(&crate::typed::pasted(bytes)),
            crate::typed::Token::Key | crate::typed::Token::Reply => {}
        };
        reader.feed(bytes, &mut add);
        reader.rest(&mut add);
        if text.trim().is_empty() {
            return;
        }
        if let Some(path) = self.keep_text("what was typed for no agent", text.as_bytes()) {
            self.send(Control::Notice(format!(
                "sm run: what you typed meanwhile is kept in {path}"
            )));
        }
    }

    fn keep_text(&self, what: &str, text: &[u8]) -> Option<String> {
        let folder = self.setup.paths.state_dir().join("drafts");
        match keep(&folder, &self.setup.id, text) {
            Ok(path) => {
                let path = path.to_string_lossy().into_owned();
                self.log(&format!("{what} is kept in {path}"));
                Some(path)
            }
            Err(error) => {
                self.log(&format!("{what} could not be kept: {error}"));
                None
            }
        }
    }

    /// A program whose screen nobody can read is given what was typed for it when it starts.
    pub fn give_at_once(&self) {
        if self.setup.agent != AgentKind::Generic {
            return;
        }
        let due = self.lock().replay.since.take().is_some();
        if due {
            self.send(Control::Replay);
        }
    }

    /// What time brings: the successor takes text now, or a failed try may be repeated.
    pub fn tend(&self, state: &mut State) {
        let now = Instant::now();
        if state.again_at.is_some_and(|at| at <= now) {
            state.again_at = None;
            state.rotation.try_again();
        }
        let Some(since) = state.replay.since else {
            return;
        };
        let prompted = state.prompted.as_ref().map(|(at, _)| *at);
        let prompted = prompted.is_some_and(|at| now.saturating_duration_since(at) >= TAKES_KEYS);
        let (takes_text, holds_text, asks) = {
            let desk = self.desk();
            (desk.takes_text(), desk.holds_text(), desk.asks())
        };
        let replay = &mut state.replay;
        if prompted && let Some(draft) = &replay.draft {
            // An agent may lose a paste, also by the keys behind it: they wait until it is seen.
            let waited = replay
                .pasted
                .is_none_or(|(at, _)| now.saturating_duration_since(at) >= IS_SEEN);
            let tries = replay.pasted.map_or(0, |(_, tries)| tries);
            if tries > 0 && holds_text {
                *replay = Replay::default();
                self.send(Control::Replay);
                return;
            }
            if takes_text && waited && tries < MOST_TRIES {
                replay.pasted = Some((now, tries + 1));
                self.send(Control::Type(as_paste(draft)));
                return;
            }
        }
        if prompted && takes_text && replay.draft.is_none() {
            *replay = Replay::default();
            self.send(Control::Replay);
        } else if now.saturating_duration_since(since) >= AT_MOST {
            *replay = Replay::default(); // the draft is in its file
            self.log("the successor showed no empty composer: it was given nothing");
            self.send(Control::GiveBack);
        } else if asks && !replay.passed_on {
            replay.passed_on = true; // only the person can answer it
            self.send(Control::PassOn);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use sm_channel::{ChannelName, Place};
    use sm_client::Paths;
    use sm_client::process::Process;
    use sm_daemon::config::Gate;

    use super::*;
    use crate::rotate::folder::Folder;
    use crate::rotate::rotation::{Rotation, Rules};
    use crate::rotate::state::Setup;

    fn session(home: &Path, agent: AgentKind) -> (Session, UnixStream) {
        let var = |key: &str| (key == "SM_HOME").then(|| home.as_os_str().to_owned());
        let paths = Paths::resolve(var, sm_client::platform::uid()).unwrap();
        let setup = Setup {
            agent,
            program: vec!["agent".to_owned()],
            args: Vec::new(),
            fixed: 0,
            cwd: home.to_path_buf(),
            agent_home: None,
            hook_program: String::new(),
            id: "run-1".to_owned(),
            secret: "s".to_owned(),
            folder: Folder::make(&paths, "run-1").unwrap(),
            paths,
            log: None,
            place: Place::new(home),
            channel: ChannelName::global(),
            library: None,
            expiry: None,
            gate: Gate::Off,
            largest_document: 1 << 20,
            permissions: true,
            quiet: Duration::from_millis(1500),
        };
        let (bell, ring) = UnixStream::pair().unwrap();
        ring.set_nonblocking(true).unwrap();
        let session = Session::new(setup, Rotation::new(Rules::default()), ring);
        session.lock().process = Process::this();
        (session, bell)
    }

    #[test]
    fn an_end_that_we_ordered_is_no_persons_whatever_the_agent_says_of_it() {
        let body = br#"{"hook_event_name":"SessionEnd","session_id":"c1","reason":"other"}"#;
        for (told, exit) in [(false, true), (true, false)] {
            let home = tempfile::tempdir().unwrap();
            let (session, _bell) = session(home.path(), AgentKind::Codex);
            let mut state = session.lock();
            state.conversation = sm_core::ConversationId::new("c1").ok();
            state.told_to_end = told;
            drop(state);
            session.hook("SessionEnd", body, "");
            assert_eq!(session.lock().person_exit, exit, "told to end: {told}");
        }
    }

    #[test]
    fn tries_that_fail_come_less_and_less_often() {
        let home = tempfile::tempdir().unwrap();
        let (session, _bell) = session(home.path(), AgentKind::Claude);
        let mut state = session.lock();
        let pauses: Vec<u64> = (0..10).map(|_| state.failed_again().as_secs()).collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert!(state.again_at.is_some());
        state.again_at = Some(Instant::now());
        session.tend(&mut state);
        assert_eq!(state.again_at, None);
    }

    #[test]
    fn keys_for_nobody_are_kept_as_text() {
        let home = tempfile::tempdir().unwrap();
        let (session, _bell) = session(home.path(), AgentKind::Claude);
        session.keep_unsent(b"\x1b[A\x03\r");
        assert_eq!(session.next_control(), None, "there is no text in it");
        session.keep_unsent("größer\r\x1b[200~a\rb\x1b[201~".as_bytes());
        let Some(Control::Notice(text)) = session.next_control() else {
            panic!("nobody is told");
        };
        let path = text.rsplit(' ').next().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "größer\na\nb");
    }
}
