//! The world of one schedule: a session and its daemon, the agent, people, and what happens when.

use super::agent::Agent;
use super::check::Checker;
use super::daemon::{Daemon, Input};
use super::handoff_check::Handoffs;
use super::hooks::{HookRun, Mailbox};
use super::limits::Provider;
use super::options::Options;
use super::rng::Rng;
use super::trace::{Failure, Stats};
use super::watched::Watch;
use sm_core::handoff::Trigger;
use sm_core::ids::{ConversationId, MessageId, SessionId, SessionName, Timestamp};
use sm_core::message::{MessageState, Mode, NewMessage, Sender};
use sm_core::session::NewSession;
use sm_core::{AgentKind, Effect, Session};
use std::collections::{BTreeMap, VecDeque};

/// The clock starts here, so that times look like times.
pub const EPOCH: i64 = 1_000_000;
/// Lines of the trace that are kept.
const TRACE_KEPT: usize = 2_000;
/// A schedule that takes more steps than this goes in circles.
const MOST_STEPS: u64 = 40_000;

/// Something that happens at a moment.
#[derive(Debug, Clone)]
pub enum Item {
    /// The agent goes on, unless something else happened to it.
    Agent {
        epoch: u64,
        what: AgentStep,
    },
    /// A paste reaches the composer.
    Render {
        launch: u32,
        text: String,
    },
    /// The agent's record reaches the disk.
    Flush,
    /// The agent's status file is written.
    StatusWritten,
    /// Somebody looks into the spool although the daemon runs.
    SpoolRead,
    HookArrives {
        hook: usize,
    },
    HookGivesUp {
        hook: usize,
    },
    WaiterConnects {
        waiter: usize,
    },
    WaiterOffered {
        waiter: usize,
    },
    WaiterWrites {
        waiter: usize,
        text: String,
    },
    /// Comes to the daemon if it is still the same one.
    Input {
        incarnation: u64,
        input: Input,
    },
    Execute {
        incarnation: u64,
        effect: Effect,
    },
    Output {
        no: u64,
        active: bool,
    },
    /// The launcher tells; it repeats it until somebody has heard it.
    Report(Input),
    /// The agent's process ends, as it was told.
    StopLands {
        launch: u32,
    },
    /// Somebody asks for a handoff.
    HandoffAsked {
        trigger: Trigger,
        tries: u32,
        /// A tool of the agent asks, and ends with the answer.
        by_tool: bool,
    },
    /// The status line is called.
    StatusLine {
        launch: u32,
        conversation: usize,
    },
    Tick,
    Restart,
    Person(Act),
    /// A client sends (again).
    Client {
        message: usize,
    },
    FaultsStop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentStep {
    Booted,
    Booted2,
    Submit(String),
    /// A hook the agent waited for is done, with this answer.
    HookDone(sm_core::Answer),
    Thought,
    ToolDone,
    CompactDone,
    Cleared,
    Quiet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Time to do something.
    Look,
    Type(String),
    Submit,
    Erase,
    Answer {
        approve: bool,
    },
    Escape,
    Clear,
    Compact,
    End,
    TerminalGone,
    Background,
    Restore,
    /// `sm kill`.
    Kill,
    /// Back to the conversation before this one.
    Resume,
    /// Something asks at an idle prompt: a question, a picker.
    Question,
    Withdraw(usize),
    /// Puts a draft aside, or takes it back.
    Stash,
    /// `sm handoff --cancel`.
    Cancel,
    /// Prompts once more, so that what waits for a turn gets one.
    Nudge,
}

/// A message as its sender knows it.
#[derive(Debug, Clone)]
pub struct Sent {
    pub new: NewMessage,
    pub mark: String,
    pub accepted: bool,
    pub in_conversation: u32,
    /// How often an agent took it and was killed before it was written down.
    pub lost: u32,
    /// Which entry of all conversations, for the order.
    pub position: u64,
    pub raw_runs: u32,
}

pub struct World {
    pub(super) now: i64,
    pub(super) seq: u64,
    pub(super) items: BTreeMap<(i64, u64), Item>,
    pub(super) rng: Rng,
    pub(super) seed: u64,
    pub(super) options: Options,
    pub(super) calm: bool,
    pub(super) agent: Agent,
    pub(super) terminal_alive: bool,
    pub(super) daemon: Daemon,
    pub(super) hooks: Vec<HookRun>,
    pub(super) spool: Vec<usize>,
    pub(super) mailboxes: Vec<Mailbox>,
    pub(super) sent: Vec<Sent>,
    pub(super) prompts: u32,
    pub(super) check: Checker,
    pub(super) handoffs: Handoffs,
    pub(super) watch: Watch,
    pub(super) provider: Provider,
    pub(super) stats: Stats,
    pub(super) trace: VecDeque<String>,
    pub(super) failed: Option<String>,
    pub(super) enter_by_sm: bool,
    pub(super) enter_by_person: bool,
}

/// Writes a line of the trace, formatted only if somebody reads it.
macro_rules! tr {
    ($world:expr, $($arg:tt)*) => {
        if $world.options.trace { let line = format!($($arg)*); $world.trace_line(line); }
    };
}
pub(super) use tr;

impl World {
    pub fn new(seed: u64, options: Options) -> Self {
        let new = NewSession {
            id: id(SessionId::new("s1")),
            name: id(SessionName::new("api")),
            cwd: "/".into(),
            parent: options.usage.as_ref().map(|_| id(SessionId::new("parent"))),
            conversation: match options.agent {
                AgentKind::Claude => Some(conversation_name(0)),
                AgentKind::Codex | AgentKind::Native | AgentKind::Generic => None,
            },
            folder: "/data/s1".into(),
        };
        let mut session = Session::new(new, options.profile(), Timestamp(EPOCH));
        options.configure(&mut session);
        Self {
            now: EPOCH,
            seq: 0,
            items: BTreeMap::new(),
            rng: Rng::new(seed),
            seed,
            calm: options.active_ms == 0,
            agent: Agent::new(options.agent),
            terminal_alive: false,
            daemon: Daemon::new(session),
            hooks: Vec::new(),
            spool: Vec::new(),
            mailboxes: Vec::new(),
            sent: Vec::new(),
            prompts: 0,
            check: Checker::default(),
            handoffs: Handoffs::default(),
            watch: Watch::default(),
            provider: Provider::default(),
            stats: Stats::default(),
            trace: VecDeque::new(),
            failed: None,
            enter_by_sm: false,
            enter_by_person: false,
            options,
        }
    }

    /// The random schedule of the options: people, messages and faults, then rest.
    pub fn play(&mut self) {
        self.input(0, Input::Launch { fresh: false });
        if self.rng.chance(300) {
            let text = self.new_message(Mode::Sequential, false);
            self.at(0, Item::Client { message: text });
        }
        let active = self.options.active_ms;
        for _ in 0..self.options.messages {
            let mode = match self.rng.below(6) {
                0 | 1 => Mode::Important,
                2 => Mode::Urgent,
                _ => Mode::Sequential,
            };
            let raw = self.rng.chance(40);
            let message = self.new_message(mode, raw);
            let at = self.rng.between(500, active);
            self.at(at, Item::Client { message });
            if self.rng.chance(self.options.person.withdrawals) {
                let later = at + self.rng.between(1, 4_000);
                self.at(later, Item::Person(Act::Withdraw(message)));
            }
        }
        for _ in 0..self.options.handoffs {
            let trigger = match self.rng.below(4) {
                0 => Trigger::Threshold,
                1 => Trigger::Agent,
                _ => Trigger::Person,
            };
            let at = self.rng.between(500, active);
            self.hand_off_later(at, trigger);
        }
        let reads = self.rng.between(1_000, 20_000);
        self.at(reads, Item::SpoolRead);
        let first = self.rng.between(200, 3000);
        self.at(first, Item::Person(Act::Look));
        self.at(active, Item::FaultsStop);
    }

    pub(super) fn at(&mut self, after: i64, item: Item) {
        self.seq += 1;
        self.items.insert((self.now + after.max(0), self.seq), item);
    }

    /// A delay that is short, unless things are slow.
    pub(super) fn delay(&mut self, lo: i64, hi: i64, slow: i64) -> i64 {
        if !self.calm && self.rng.chance(self.options.faults.slow) {
            self.rng.between(hi, slow)
        } else {
            self.rng.between(lo, hi)
        }
    }

    pub(super) fn fault(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && !self.calm && self.rng.chance(per_mille)
    }

    /// The next thing happens. False: nothing is left to happen.
    pub fn step(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let Some(((at, _), item)) = self.items.pop_first() else {
            return false;
        };
        self.now = self.now.max(at);
        self.stats.steps += 1;
        if self.stats.steps > MOST_STEPS {
            self.fail("it goes in circles: too many steps".into());
            return false;
        }
        match item {
            Item::Agent { epoch, what } => {
                if epoch == self.agent.epoch {
                    self.agent_step(what);
                }
            }
            Item::Render { launch, text } => self.render(launch, text),
            Item::Flush => self.flush(),
            Item::StatusWritten => self.status_written(),
            Item::SpoolRead => self.read_spool(),
            Item::HookArrives { hook } => self.hook_arrives(hook),
            Item::HookGivesUp { hook } => self.hook_gives_up(hook),
            Item::WaiterConnects { waiter } => self.waiter_connects(waiter),
            Item::WaiterOffered { waiter } => self.waiter_offered(waiter),
            Item::WaiterWrites { waiter, text } => self.waiter_writes(waiter, text),
            Item::Input { incarnation, input } => {
                if self.daemon.is(incarnation) {
                    self.take(input);
                }
            }
            Item::Execute {
                incarnation,
                effect,
            } => {
                if self.daemon.is(incarnation) {
                    self.execute(effect);
                }
            }
            Item::Output { no, active } => self.output_reported(no, active),
            Item::Report(input) => self.report(input),
            Item::StopLands { launch } => self.stop_lands(launch),
            Item::HandoffAsked {
                trigger,
                tries,
                by_tool,
            } => {
                self.handoffs.coming -= 1;
                self.handoffs.tools -= u32::from(by_tool);
                self.ask_handoff(trigger, tries, by_tool);
            }
            Item::StatusLine {
                launch,
                conversation,
            } => self.status_line(launch, conversation),
            Item::Tick => self.tick(),
            Item::Restart => self.restart(),
            Item::Person(act) => self.person(act),
            Item::Client { message } => self.client_sends(message),
            Item::FaultsStop => self.faults_stop(),
        }
        self.check_truth();
        self.failed.is_none()
    }

    /// Runs until the condition holds, at most this long.
    pub fn run_until(&mut self, ms: i64, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + ms;
        loop {
            if done(self) {
                return true;
            }
            match self.items.first_key_value() {
                Some(((at, _), _)) if *at <= end => {
                    if !self.step() {
                        return done(self);
                    }
                }
                Some(_) | None => {
                    self.now = end;
                    return done(self);
                }
            }
        }
    }

    pub fn run_for(&mut self, ms: i64) {
        self.run_until(ms, |_| false);
    }

    fn faults_stop(&mut self) {
        self.calm = true;
        tr!(self, "── faults stop");
        self.person_settles();
    }

    pub(super) fn new_message(&mut self, mode: Mode, raw: bool) -> usize {
        let no = self.sent.len();
        let mark = format!("<m{no}>");
        let text = if raw {
            format!("/run {mark}")
        } else if self.options.active_ms > 0 && self.rng.chance(80) {
            format!("/slash {mark}")
        } else if no % 3 == 1 {
            format!("two\u{ad} lines\u{200b}\nof {mark}\u{fe0f} \u{e000}\u{378}")
        } else {
            format!("do {mark}")
        };
        let of_session = self.rng.chance(500);
        let from = if of_session && !raw {
            Sender::Session {
                id: id(SessionId::new("boss")),
                name: "boss".into(),
            }
        } else {
            Sender::Person
        };
        let expires_at = (self.options.active_ms > 0 && self.rng.chance(60))
            .then(|| Timestamp(self.now + self.rng.between(500, 20_000)));
        let notify = self.rng.chance(400);
        self.sent.push(Sent {
            new: NewMessage {
                id: id(MessageId::new(format!("m{no}"))),
                from,
                text,
                mode,
                raw,
                notify,
                expires_at,
            },
            mark,
            accepted: false,
            in_conversation: 0,
            lost: 0,
            position: 0,
            raw_runs: 0,
        });
        no
    }

    pub(super) fn fail(&mut self, what: String) {
        if self.failed.is_none() {
            tr!(self, "VIOLATION: {what}");
            self.failed = Some(what);
        }
    }

    pub(super) fn trace_line(&mut self, line: String) {
        let t = self.now - EPOCH;
        if self.trace.len() >= TRACE_KEPT {
            self.trace.pop_front();
        }
        self.trace
            .push_back(format!("{:>4}.{:03} {line}", t / 1000, t % 1000));
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.failed.as_ref().map(|what| Failure {
            seed: self.seed,
            what: what.clone(),
            test: self.options.test(),
            trace: self.trace.iter().cloned().collect(),
        })
    }

    // ── for directed cases

    pub fn session(&self) -> &Session {
        &self.daemon.session
    }
    pub fn agent(&self) -> &Agent {
        &self.agent
    }
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    pub fn receipt(&self, message: usize) -> Option<MessageState> {
        let id = &self.sent.get(message)?.new.id;
        self.daemon
            .session
            .message(id)
            .map(|m| m.meta.state.clone())
    }
    /// How often the message is in the agent's conversations.
    pub fn arrived(&self, message: usize) -> u32 {
        self.sent
            .get(message)
            .map_or(0, |sent| sent.in_conversation)
    }
}

pub(super) fn conversation_name(no: usize) -> ConversationId {
    id(ConversationId::new(format!("c{no}")))
}

/// Ids made here are always valid.
#[expect(
    clippy::expect_used,
    reason = "a wrong id of the simulation is a bug of the simulation"
)]
pub(super) fn id<T>(made: Result<T, sm_core::IdError>) -> T {
    made.expect("a valid id")
}
