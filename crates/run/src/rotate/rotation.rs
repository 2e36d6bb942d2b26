//! When a context is left and its successor begins. Pure: what happened comes in, what is to be
//! done goes out; no clock, no file, no process.
//!
//! One machine lives as long as `sm run`; each context passes through [`Phase`] once. It must never
//! end a process that a person is ending, nor start one after a person's exit, nor leave a context
//! without a document.

use super::level::{Level, Reading, Thresholds};

/// How often the agent is started again without anybody asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarts {
    AtMost(u32),
    Unlimited,
}

impl Restarts {
    fn never(self) -> bool {
        self == Self::AtMost(0)
    }

    fn left_after(self, done: u32) -> bool {
        match self {
            Self::AtMost(most) => done < most,
            Self::Unlimited => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    pub thresholds: Thresholds,
    pub restarts: Restarts,
    /// Ends of a turn that an agent has for its own document after it was asked.
    pub deadline_turns: u32,
    /// Tokens that it may use for it.
    pub deadline_tokens: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            restarts: Restarts::AtMost(10),
            deadline_turns: 1,
            deadline_tokens: 15_000,
        }
    }
}

/// Why a context is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is as full as it may be.
    Full,
    /// The agent asked for it.
    Agent,
    /// Another program asked for it, by the signal file.
    Signal,
}

/// Whether the running turn is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// No turn runs. One that begins now all the same is a person's, and runs to its end.
    TurnEnd,
    /// In the middle of it.
    Now,
}

/// What the person at the terminal is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// Nothing that is known of.
    Away,
    /// Something stands in the agent's composer, or was typed just now, or waits for an answer.
    Busy,
}

/// Everything that can wake the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A new context in the running process, or the first of a process.
    ContextBegan,
    /// The agent has summarised its own context: it is fuller no more.
    Compacted,
    /// How full the context is, as far as anybody knows.
    Sampled(Reading),
    Prompted,
    /// Tools have run and the agent listens before it asks its model again.
    ToolsRan,
    /// The turn is about to end, and the agent listens.
    Stopping {
        background: Vec<String>,
    },
    /// The agent is about to summarise its own context by itself: there is no room left.
    CompactionNear,
    /// The turn ended without listening: an API error, a limit.
    Broken,
    /// A person interrupted it.
    Interrupted,
    /// The agent has handed its document over (`sm handoff`).
    HandedOver {
        document: String,
    },
    /// It took that back.
    TakenBack,
    /// A person has handed over in its place.
    Ordered,
    /// It goes on with what somebody said at the end of its turn.
    GoesOn,
    /// Another program wants this context to be left. It was checked whose it is.
    Signalled,
    /// What the person is doing.
    Person(Person),
}

/// What the agent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    WrapUp,
    /// Write the document now.
    WriteDocument,
}

/// Which document the successor gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// The agent's own, a copy of what it handed over.
    Agents(String),
    /// The one that is made from what the context holds.
    Ledger,
    /// The one another program has left in the channel; if there is none, the ledger's.
    Found,
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The level is another than before.
    Show(Level),
    /// With the answer to the hook that is being asked.
    Tell(Notice),
    /// Make the handoff and end the process.
    Leave {
        why: Why,
        at: Moment,
        document: Document,
        /// What still runs in the background, a few words each.
        background: Vec<String>,
    },
    /// For the log.
    Note(&'static str),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A person's doing: a key, a command of the agent's, a closed terminal.
    Person,
    /// By itself, or by somebody else's signal.
    Other,
}

/// What becomes of `sm run` when the process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It ends as the agent did.
    Exit,
    Restart,
    /// It ends although there is a handoff, and says why.
    Stop(Stop),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    NoRestartsLeft,
    NoNewWork,
}

/// Where a context is on its way to its end.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    Watched,
    Warned,
    /// Full; there was no hook yet with which the agent could be told.
    Full {
        warned: bool,
    },
    /// Asked for its document.
    Asked {
        turns: u32,
        tokens: Option<u64>,
    },
    /// The process was told to end.
    Leaving,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    rules: Rules,
    phase: Phase,
    level: Level,
    reading: Reading,
    /// What the agent has handed over.
    document: Option<String>,
    /// A turn runs.
    working: bool,
    /// The last turn has ended, and nobody has said anything since.
    stopped: bool,
    /// Something was done in this context that its predecessor had not.
    worked: bool,
    /// Prompts of this context; the first of a successor is ours.
    prompts: u32,
    /// How often tools have run in this context.
    batches: u32,
    /// Contexts in a row that handed over at once.
    idle_contexts: u32,
    restarts: u32,
    person: Person,
    /// The turn is over and the context is to be left as soon as the person has nothing to lose;
    /// with what runs in the background.
    waits: Option<Vec<String>>,
    left_for: Option<Why>,
    /// A turn has begun since it was decided to leave.
    began: bool,
    /// The last try failed: only the end of a turn is a reason for another.
    failed: bool,
}

/// A document and the call that hands it over: an agent that has done no more has done nothing.
const HANDING_OVER: u32 = 2;
/// So many contexts in a row may do nothing but hand over.
const MOST_IDLE: u32 = 3;

impl Rotation {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            phase: Phase::Watched,
            level: Level::Ok,
            reading: Reading::default(),
            document: None,
            working: false,
            stopped: false,
            worked: false,
            prompts: 0,
            batches: 0,
            idle_contexts: 0,
            restarts: 0,
            person: Person::Away,
            waits: None,
            left_for: None,
            began: false,
            failed: false,
        }
    }

    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    pub fn level(&self) -> Level {
        self.level
    }

    pub fn is_leaving(&self) -> bool {
        self.phase == Phase::Leaving
    }

    /// Whether a turn has begun since it was decided to leave.
    pub fn turn_began(&self) -> bool {
        self.is_leaving() && self.began
    }

    /// Whether the context would be left if the person were away.
    #[cfg(test)]
    pub fn waits_for_person(&self) -> bool {
        self.waits.is_some()
    }

    /// Whether nothing is ever started again.
    pub fn restarts_never(&self) -> bool {
        self.rules.restarts.never()
    }

    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        if self.phase == Phase::Leaving {
            // Nothing that it says now changes anything, but that it works again.
            self.began |= event == Event::Prompted;
            return Vec::new();
        }
        match event {
            Event::ContextBegan => self.begin(),
            Event::Compacted => self.compacted(),
            Event::Sampled(reading) => self.sampled(reading),
            Event::Prompted => self.prompted(),
            Event::ToolsRan => self.tools_ran(),
            Event::Stopping { background } => self.stopping(background),
            Event::CompactionNear => match self.may_leave_now() {
                true => self.leave_full(Moment::Now, Vec::new()),
                false => Vec::new(),
            },
            Event::Broken => self.broken(),
            Event::Interrupted => {
                self.working = false;
                self.stopped = false;
                Vec::new()
            }
            Event::HandedOver { document } => {
                self.document = Some(document);
                Vec::new()
            }
            Event::TakenBack => {
                self.document = None;
                Vec::new()
            }
            Event::Ordered => match self.document.is_some() && !self.working {
                true => self.leave_after_turn(Vec::new()),
                false => Vec::new(), // at the end of the turn
            },
            Event::GoesOn => {
                self.working = true;
                self.stopped = false;
                self.worked = true;
                Vec::new()
            }
            Event::Signalled => match self.rules.restarts.never() {
                true => vec![Effect::Note("a restart was asked for, but none is allowed")],
                false => self.leave(Why::Signal, Moment::Now, Document::Found, Vec::new()),
            },
            Event::Person(person) => self.person_is(person),
        }
    }

    /// The handoff could not be made: the context is not left, and the next end of a turn tries
    /// again, with the same document.
    pub fn not_left(&mut self, document: &Document) {
        if self.phase == Phase::Leaving {
            if let Document::Agents(id) = document {
                self.document.get_or_insert_with(|| id.clone());
            }
            self.phase = Phase::Asked {
                turns: 0,
                tokens: self.reading.tokens,
            };
            self.failed = true;
        }
    }

    /// Time has passed since a try that failed.
    pub fn try_again(&mut self) {
        self.failed = false;
    }

    /// A person's turn began before the process was told to end: it runs to its end, and the
    /// context is left then.
    pub fn go_on(&mut self, document: &Document) {
        self.not_left(document);
        self.failed = false;
        self.prompted();
    }

    /// The agent's process is over.
    pub fn ended(&mut self, ending: Ending) -> After {
        let left = self.phase == Phase::Leaving;
        if !left || ending == Ending::Person {
            return After::Exit;
        }
        if !self.rules.restarts.left_after(self.restarts) {
            return After::Stop(Stop::NoRestartsLeft);
        }
        // The first context has a person's word for its work.
        let handed = self.left_for == Some(Why::Agent);
        let idle = handed && self.prompts <= 1 && self.batches <= HANDING_OVER;
        self.idle_contexts = match idle && self.restarts > 0 {
            true => self.idle_contexts.saturating_add(1),
            false => 0,
        };
        let worked = match handed {
            true => self.idle_contexts < MOST_IDLE,
            false => self.worked,
        };
        if self.restarts > 0 && !worked {
            return After::Stop(Stop::NoNewWork);
        }
        self.restarts += 1;
        self.phase = Phase::Watched;
        self.begin();
        After::Restart
    }

    fn begin(&mut self) -> Vec<Effect> {
        self.document = None;
        self.working = false;
        self.stopped = false;
        self.worked = false;
        self.prompts = 0;
        self.batches = 0;
        self.left_for = None;
        self.began = false;
        self.emptied()
    }

    fn compacted(&mut self) -> Vec<Effect> {
        self.emptied()
    }

    fn emptied(&mut self) -> Vec<Effect> {
        self.stopped = false;
        self.waits = None;
        self.failed = false;
        self.phase = Phase::Watched;
        self.reading = Reading::default();
        self.show(Level::Ok)
    }

    fn show(&mut self, level: Level) -> Vec<Effect> {
        if level == self.level {
            return Vec::new();
        }
        self.level = level;
        vec![Effect::Show(level)]
    }

    fn sampled(&mut self, reading: Reading) -> Vec<Effect> {
        self.reading = self.reading.with(reading);
        let level = self.reading.level(&self.rules.thresholds);
        let mut effects = self.show(level);
        if level == Level::Critical {
            match self.phase {
                Phase::Watched => self.phase = Phase::Full { warned: false },
                Phase::Warned => self.phase = Phase::Full { warned: true },
                Phase::Full { .. } | Phase::Asked { .. } | Phase::Leaving => {}
            }
        }
        if !self.may_leave_now() {
            return effects;
        }
        if self.working {
            if self.reading.at_the_limit(&self.rules.thresholds) {
                effects.extend(self.leave_full(Moment::Now, Vec::new()));
            }
        } else if self.stopped && level == Level::Critical && self.waits.is_none() {
            // What the turn has used was learned after its end.
            effects.extend(self.leave_after_turn(Vec::new()));
        }
        effects
    }

    fn may_leave(&self) -> bool {
        !self.rules.restarts.never()
    }

    fn may_leave_now(&self) -> bool {
        self.may_leave() && !self.failed
    }

    fn is_full(&self) -> bool {
        self.level == Level::Critical
            || matches!(self.phase, Phase::Full { .. } | Phase::Asked { .. })
    }

    fn person_is(&mut self, person: Person) -> Vec<Effect> {
        self.person = person;
        if person == Person::Busy || self.waits.is_none() || self.failed {
            return Vec::new();
        }
        let background = self.waits.take().unwrap_or_default();
        match self.may_leave() && (self.document.is_some() || self.is_full()) {
            true => self.leave_full(Moment::TurnEnd, background),
            false => Vec::new(), // taken back meanwhile
        }
    }

    fn prompted(&mut self) -> Vec<Effect> {
        self.working = true;
        self.stopped = false;
        self.waits = None;
        self.prompts = self.prompts.saturating_add(1);
        if self.prompts > 1 {
            self.worked = true; // somebody goes on with it
        }
        self.tell()
    }

    fn tools_ran(&mut self) -> Vec<Effect> {
        self.working = true;
        self.stopped = false;
        self.worked = true;
        self.waits = None;
        self.batches = self.batches.saturating_add(1);
        self.tell()
    }

    /// What the agent has to know, once each.
    fn tell(&mut self) -> Vec<Effect> {
        match self.phase {
            Phase::Watched if self.level == Level::Warn => {
                self.phase = Phase::Warned;
                vec![Effect::Tell(Notice::WrapUp)]
            }
            Phase::Full { .. } if self.may_leave() && self.document.is_none() => {
                self.ask();
                vec![Effect::Tell(Notice::WriteDocument)]
            }
            Phase::Full { warned: false } if !self.may_leave() => {
                self.phase = Phase::Full { warned: true };
                vec![Effect::Tell(Notice::WrapUp)]
            }
            Phase::Watched
            | Phase::Warned
            | Phase::Full { .. }
            | Phase::Asked { .. }
            | Phase::Leaving => Vec::new(),
        }
    }

    fn ask(&mut self) {
        self.phase = Phase::Asked {
            turns: 0,
            tokens: self.reading.tokens,
        };
    }

    fn stopping(&mut self, background: Vec<String>) -> Vec<Effect> {
        if self.document.is_some() {
            return self.leave_after_turn(background);
        }
        match &mut self.phase {
            Phase::Full { .. } if self.rules.restarts.never() => {}
            // It says something more in this turn: its document.
            Phase::Full { .. } => {
                if self.rules.deadline_turns == 0 {
                    return self.leave_after_turn(background);
                }
                self.ask();
                return vec![Effect::Tell(Notice::WriteDocument)];
            }
            Phase::Asked { turns, tokens } => {
                *turns += 1;
                let used = match (self.reading.tokens, *tokens) {
                    (Some(now), Some(then)) => now.saturating_sub(then),
                    (Some(_) | None, Some(_) | None) => 0,
                };
                if *turns >= self.rules.deadline_turns || used >= self.rules.deadline_tokens {
                    return self.leave_after_turn(background);
                }
            }
            Phase::Watched | Phase::Warned | Phase::Leaving => {}
        }
        self.working = false;
        self.stopped = true;
        Vec::new()
    }

    /// A turn that failed in a full context will fail again.
    fn broken(&mut self) -> Vec<Effect> {
        self.working = false;
        let full = matches!(self.phase, Phase::Full { .. } | Phase::Asked { .. });
        match (full || self.document.is_some()) && self.may_leave_now() {
            true => self.leave_after_turn(Vec::new()),
            false => Vec::new(),
        }
    }

    /// Nothing of what the person is writing is to be lost: the next end of a turn, or a person who
    /// is away, is soon enough.
    fn leave_after_turn(&mut self, background: Vec<String>) -> Vec<Effect> {
        self.working = false;
        self.stopped = true;
        match self.person {
            Person::Away => self.leave_full(Moment::TurnEnd, background),
            Person::Busy => {
                self.waits = Some(background);
                vec![Effect::Note(
                    "the context is left as soon as the person is done writing",
                )]
            }
        }
    }

    fn leave_full(&mut self, at: Moment, background: Vec<String>) -> Vec<Effect> {
        match self.document.take() {
            Some(document) => self.leave(Why::Agent, at, Document::Agents(document), background),
            None => self.leave(Why::Full, at, Document::Ledger, background),
        }
    }

    fn leave(
        &mut self,
        why: Why,
        at: Moment,
        document: Document,
        background: Vec<String>,
    ) -> Vec<Effect> {
        self.phase = Phase::Leaving;
        self.began = false;
        self.left_for = Some(why);
        vec![Effect::Leave {
            why,
            at,
            document,
            background,
        }]
    }
}

#[cfg(test)]
#[path = "rotation_tests.rs"]
mod tests;
