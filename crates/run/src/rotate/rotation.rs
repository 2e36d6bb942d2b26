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
    /// Another program wants this context to be left. It was checked whose it is.
    Signalled,
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
    restarts: u32,
}

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
            restarts: 0,
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

    /// Whether nothing is ever started again.
    pub fn restarts_never(&self) -> bool {
        self.rules.restarts.never()
    }

    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        if self.phase == Phase::Leaving {
            return Vec::new(); // nothing that it says now changes anything
        }
        match event {
            Event::ContextBegan => self.begin(),
            Event::Compacted => self.compacted(),
            Event::Sampled(reading) => self.sampled(reading),
            Event::Prompted => self.prompted(),
            Event::ToolsRan => self.tools_ran(),
            Event::Stopping { background } => self.stopping(background),
            Event::CompactionNear => match self.may_leave() {
                true => self.leave_full(Vec::new()),
                false => Vec::new(),
            },
            Event::Broken => self.broken(),
            Event::Interrupted => {
                self.working = false;
                self.stopped = false;
                Vec::new()
            }
            Event::HandedOver { document } => {
                self.worked = true;
                self.document = Some(document);
                Vec::new()
            }
            Event::TakenBack => {
                self.document = None;
                Vec::new()
            }
            Event::Signalled => match self.rules.restarts.never() {
                true => vec![Effect::Note("a restart was asked for, but none is allowed")],
                false => self.leave(Why::Signal, Document::Found, Vec::new()),
            },
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
        }
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
        if self.restarts > 0 && !self.worked {
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
        self.emptied()
    }

    fn compacted(&mut self) -> Vec<Effect> {
        self.emptied()
    }

    fn emptied(&mut self) -> Vec<Effect> {
        self.stopped = false;
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
        let now = match self.working {
            true => self.reading.at_the_limit(&self.rules.thresholds),
            // What the turn has used was learned after its end.
            false => self.stopped && level == Level::Critical,
        };
        if now && self.may_leave() {
            effects.extend(self.leave_full(Vec::new()));
        }
        effects
    }

    fn may_leave(&self) -> bool {
        !self.rules.restarts.never()
    }

    fn prompted(&mut self) -> Vec<Effect> {
        self.working = true;
        self.stopped = false;
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
            return self.leave_full(background);
        }
        match &mut self.phase {
            Phase::Full { .. } if self.rules.restarts.never() => {}
            // It says something more in this turn: its document.
            Phase::Full { .. } => {
                if self.rules.deadline_turns == 0 {
                    return self.leave_full(background);
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
                    return self.leave_full(background);
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
        match (full || self.document.is_some()) && self.may_leave() {
            true => self.leave_full(Vec::new()),
            false => Vec::new(),
        }
    }

    fn leave_full(&mut self, background: Vec<String>) -> Vec<Effect> {
        match self.document.take() {
            Some(document) => self.leave(Why::Agent, Document::Agents(document), background),
            None => self.leave(Why::Full, Document::Ledger, background),
        }
    }

    fn leave(&mut self, why: Why, document: Document, background: Vec<String>) -> Vec<Effect> {
        self.phase = Phase::Leaving;
        vec![Effect::Leave {
            why,
            document,
            background,
        }]
    }
}

#[cfg(test)]
#[path = "rotation_tests.rs"]
mod tests;
