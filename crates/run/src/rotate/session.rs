//! What the running agent's hooks mean for the rotation. The only place where the machine is stepped.
//!
//! It must never answer for another process than the agent, nor keep a hook waiting longer than
//! hooks wait.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sm_agents::{answer, kind, parse_hook};
use sm_channel::{HandoffId, SessionLine};
use sm_core::effect::Answer;
use sm_core::signal::{BreakReason, ContextSource, EndReason, Origin, Signal};
use sm_core::{AgentKind, ConversationId};
use sm_daemon::clock;

use super::desk::Desk;
use super::document::gives_inline;
use super::hands::Entries;
use super::level::{Reading, counted};
use super::link::Link;
use super::pulse::Pulse;
use super::rotation::{Effect, Event, Rotation};
use super::state::{Leaving, Setup, State};
use super::transcript::Follower;
use super::words;
use crate::brain::Control;
use crate::screen::{Flood, Screen};

/// An agent writes its record a moment after it has spoken. A hook waits 230 ms in all.
const FOR_THE_RECORD: Duration = Duration::from_millis(150);
const LOOK_AGAIN: Duration = Duration::from_millis(15);

pub struct Session {
    pub setup: Setup,
    state: Mutex<State>,
    /// Written by the person's own thread: never locked for long, and always after the state.
    desk: Mutex<Desk>,
    pub(super) outbox: Mutex<VecDeque<Control>>,
    bell: UnixStream,
    /// A channel's lock is the process's: our threads take turns.
    channels: Mutex<()>,
    /// The daemon that has it as a session, if one runs.
    pub link: Link,
    pub screen: Arc<Screen>,
    pub entries: Entries,
    pub pulse: Pulse,
}

/// What a hook is answered, and what follows.
pub struct Heard {
    pub printed: Vec<u8>,
    pub then: Then,
}

pub enum Then {
    Nothing,
    /// The document has reached its context.
    Consume(HandoffId),
    Leave(Leaving),
}

impl Heard {
    fn nothing() -> Self {
        Self {
            printed: Vec::new(),
            then: Then::Nothing,
        }
    }
}

impl Session {
    /// `bell`: whoever listens asks for what is in the outbox.
    pub fn new(setup: Setup, rotation: Rotation, bell: UnixStream) -> Self {
        let screen = Arc::new(Screen::new(match setup.agent {
            AgentKind::Claude | AgentKind::Codex => Flood::Read,
            AgentKind::Native | AgentKind::Generic => Flood::Drop,
        }));
        Self {
            desk: Mutex::new(Desk::new(setup.agent, Arc::clone(&screen))),
            setup,
            state: Mutex::new(State::new(rotation)),
            outbox: Mutex::new(VecDeque::new()),
            bell,
            channels: Mutex::new(()),
            link: Link::new(),
            screen,
            entries: Entries::default(),
            pulse: Pulse::new(Instant::now()),
        }
    }

    pub fn one_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn send(&self, control: Control) {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox.push_back(control);
        // Full: it rings already.
        let _ = (&self.bell).write(&[1]);
    }

    pub fn next_control(&self) -> Option<Control> {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox.pop_front()
    }

    /// For `handoff.log`, where hooks and other tools write too.
    pub fn log(&self, text: &str) {
        sm_channel::log_line(&self.setup.place, &self.setup.channel, text);
    }

    /// A hook of the agent's. `ancestors` is the chain of processes it came through.
    pub fn hook(&self, event: &str, body: &[u8], ancestors: &str) -> Heard {
        let agent = self.setup.agent;
        let parsed = parse_hook(agent, event, body, clock::now());
        let mut state = self.lock();
        let state = &mut *state;
        let own = state.process.map(|process| sm_core::Process {
            pid: process.pid,
            start: process.start,
        });
        let origin = match parsed.origin_hint {
            Some(origin) => origin,
            None => sm_daemon::origin_of(agent, own, ancestors),
        };
        match origin {
            Origin::Own | Origin::Unknown => {}
            Origin::SubAgent | Origin::Nested | Origin::Unproven => return Heard::nothing(),
        }
        let says = parsed.conversation;
        let known = says.is_none() || says == state.conversation;
        let (events, then) = match parsed.signal {
            Signal::ContextStarted { source, transcript } => {
                self.adopt(state, says, transcript.as_deref());
                return self.began(state, event, source, known);
            }
            Signal::PromptAccepted { transcript, text } => {
                self.adopt(state, says, transcript.as_deref());
                self.read(state);
                state.answered = false;
                state.turn_since = Some(clock::now());
                state.prompted = Some((Instant::now(), text));
                let consumed = state.pending.take().map(|handed| handed.id);
                (
                    vec![Event::Prompted],
                    consumed.map_or(Then::Nothing, Then::Consume),
                )
            }
            // One of a conversation that was left.
            _ if !known => return Heard::nothing(),
            Signal::ToolsFinished => {
                self.read(state);
                state.answered = false; // what it makes of them is still to come
                (vec![Event::ToolsRan], Then::Nothing)
            }
            Signal::Stopping {
                background_tasks, ..
            } => {
                self.read_answer(state);
                state.opening = false;
                let background = background_tasks;
                (vec![Event::Stopping { background }], Then::Nothing)
            }
            Signal::TurnBroken(reason) => {
                self.read(state);
                state.opening = false;
                let event = match reason {
                    BreakReason::Interrupted | BreakReason::Denied => Event::Interrupted,
                    BreakReason::ApiError(_) | BreakReason::Limit(_) | BreakReason::Other(_) => {
                        Event::Broken
                    }
                };
                (vec![event], Then::Nothing)
            }
            Signal::CompactionStarting { automatic: true } => {
                self.read(state);
                (vec![Event::CompactionNear], Then::Nothing)
            }
            Signal::CompactionDone => {
                state.tokens = None;
                state.trouble = None;
                (vec![Event::Compacted], Then::Nothing)
            }
            Signal::ContextEnded {
                reason: EndReason::Exit,
            } => {
                state.person_exit |= !state.told_to_end;
                return Heard::nothing();
            }
            Signal::Usage(sample) => {
                state.window = sample.window.or(state.window);
                state.tokens = sample.tokens.or(state.tokens);
                let effects = self.sample(state, sample.used_percentage);
                return self.carry_out(state, event, effects, Then::Nothing);
            }
            Signal::CompactionStarting { automatic: false }
            | Signal::ContextEnded {
                reason: EndReason::Clear | EndReason::Other,
            }
            | Signal::Working
            | Signal::PersonNeeded { .. }
            | Signal::CompactionReported
            | Signal::MailboxOpen { .. }
            | Signal::Other(_) => return Heard::nothing(),
        };
        let mut effects = self.sample(state, None);
        for event in events {
            effects.extend(state.rotation.step(event));
        }
        self.carry_out(state, event, effects, then)
    }

    /// A context began; the first of a successor is given what was handed over.
    fn began(&self, state: &mut State, event: &str, source: ContextSource, known: bool) -> Heard {
        let compacted = source == ContextSource::Compact;
        state.tokens = None;
        state.trouble = None; // it was another context's
        state.answered = false;
        let effects = state.rotation.step(match compacted {
            true => Event::Compacted,
            false => Event::ContextBegan,
        });
        let mut heard = self.carry_out(state, event, effects, Then::Nothing);
        let first = matches!(source, ContextSource::Startup | ContextSource::Other) || known;
        if let (true, false, Some(handed)) = (first, compacted, &state.pending)
            && gives_inline(self.setup.agent)
        {
            let text = handed.inline.clone();
            heard.printed = answer(self.setup.agent, event, &Answer::Context { text }, None);
            if let Some(handed) = state.pending.take() {
                heard.then = Then::Consume(handed.id);
            }
        }
        heard
    }

    /// The conversation that the agent says it has.
    fn adopt(&self, state: &mut State, says: Option<ConversationId>, transcript: Option<&str>) {
        let Some(conversation) = says else {
            return;
        };
        let path = transcript.map(PathBuf::from).or_else(|| {
            let home = self.setup.agent_home.as_deref()?;
            kind::transcript_path(self.setup.agent, home, &self.setup.cwd, &conversation)
        });
        let same = state.conversation.as_ref() == Some(&conversation)
            && state.follower.as_ref().map(Follower::path) == path.as_deref();
        if same {
            return;
        }
        self.follow(state, conversation, path.as_deref());
    }

    /// Turns to a conversation and tells everybody that this is the one that runs.
    pub fn follow(&self, state: &mut State, conversation: ConversationId, path: Option<&Path>) {
        if state.conversation.as_ref() != Some(&conversation) {
            state.tokens = None;
            state.generation += u32::from(state.conversation.is_some());
        }
        state.follower = path
            .map(|path| Follower::new(self.setup.agent, conversation.clone(), path.to_path_buf()));
        let line = SessionLine {
            session: conversation.to_string(),
            path: path.map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
        };
        state.conversation = Some(conversation);
        self.tell_current(state, line);
        self.write_about(state);
    }

    /// Reads what the agent has written down meanwhile.
    fn read(&self, state: &mut State) {
        let Some(follower) = &mut state.follower else {
            return;
        };
        let news = follower.read();
        state.window = news.window.or(state.window);
        if news.compacted {
            state.tokens = None;
        }
        state.tokens = news.tokens.or(state.tokens);
        state.answered |= news.answered;
        if news.interrupted {
            // No hook tells it. Nothing follows but that a person goes on, or does not.
            state.rotation.step(Event::Interrupted);
        }
    }

    /// The same, until the answer that ends this turn is there, or it would take too long.
    fn read_answer(&self, state: &mut State) {
        let until = Instant::now() + FOR_THE_RECORD;
        loop {
            self.read(state);
            if state.answered || state.follower.is_none() || Instant::now() >= until {
                return;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// How full it is by tokens, in percent of what counts.
    fn share(&self, state: &State) -> Option<f64> {
        let usable = kind::profile(self.setup.agent).usable;
        let window = counted(state.window?, state.compact_window, usable);
        (window > 0).then_some(state.tokens? as f64 * 100.0 / window as f64)
    }

    fn sample(&self, state: &mut State, percent: Option<f64>) -> Vec<Effect> {
        let share = self.share(state).or(percent);
        let size = state.follower.as_ref().map(Follower::size);
        let person = self.desk().person(Instant::now());
        let mut effects = state.rotation.step(Event::Person(person));
        effects.extend(state.rotation.step(Event::Sampled(Reading {
            percent: share,
            tokens: state.tokens,
            size,
        })));
        self.show(state);
        effects
    }

    pub(super) fn carry_out(
        &self,
        state: &State,
        event: &str,
        effects: Vec<Effect>,
        then: Then,
    ) -> Heard {
        let mut heard = Heard {
            printed: Vec::new(),
            then,
        };
        for effect in effects {
            match effect {
                Effect::Show(_) => {} // kept with every sample
                Effect::Note(text) => self.log(text),
                Effect::Tell(notice) => {
                    let text = words::of(notice, self.share(state), &state.how);
                    let answer_of = match event {
                        "Stop" => Answer::Continue { text },
                        _ => Answer::Context { text },
                    };
                    heard.printed = answer(self.setup.agent, event, &answer_of, None);
                }
                Effect::Leave {
                    why,
                    at,
                    document,
                    background,
                } => {
                    if event == "PreCompact" {
                        let reason = "sm run goes on in a fresh context".to_owned();
                        heard.printed =
                            answer(self.setup.agent, event, &Answer::Block { reason }, None);
                    }
                    // Whatever is typed from here on is for the successor.
                    self.send(Control::Hold);
                    heard.then = Then::Leave(Leaving {
                        why,
                        at,
                        document,
                        background,
                    });
                }
            }
        }
        heard
    }

    /// What no hook tells: a restart that another program asks for, a record that grows.
    pub fn look(&self) -> Option<Leaving> {
        let mut state = self.lock();
        let state = &mut *state;
        state.process?;
        self.tend(state);
        self.read(state);
        let mut effects = self.sample(state, None);
        if self.is_restart_asked(state) {
            effects.extend(state.rotation.step(Event::Signalled));
        }
        match self.carry_out(state, "", effects, Then::Nothing).then {
            Then::Leave(leaving) => Some(leaving),
            Then::Nothing | Then::Consume(_) => None,
        }
    }
}
