//! The simulated daemon: one session, a journal, effects carried out after it, and crashes at every
//! point between. What was in memory is gone afterwards; what was journaled is not.

use super::options::Mutation;
use super::world::{Item, World, tr};
use sm_core::ids::{Process, SessionId, Timestamp};
use sm_core::message::{Message, NewMessage};
use sm_core::signal::{Activity, Evidence, Origin};
use sm_core::{
    Effect, Event, LaunchPlan, MessageChange, NoticeKind, Outcome, Persist, Record, Session,
};
use std::collections::BTreeMap;

/// What reaches the daemon.
#[derive(Debug, Clone)]
pub enum Input {
    Event(Event),
    Hook {
        hook: usize,
        by_spool: bool,
    },
    Launch {
        fresh: bool,
    },
    /// The transcript has grown, the status file or the title changed.
    Transcript,
    Status,
    Title,
    Output {
        active: bool,
    },
    Started {
        launch: u32,
    },
    Exited {
        launch: u32,
        code: Option<i32>,
        signal: Option<i32>,
    },
    TerminalGone {
        launch: u32,
    },
    /// The second half of a probe: status and screen.
    Look {
        probe: u64,
        ours: Option<String>,
        transcript_read: bool,
    },
    Probed {
        probe: u64,
        evidence: Evidence,
    },
}

pub struct Daemon {
    pub session: Session,
    pub up: bool,
    pub incarnation: u64,
    pub journal: Journal,
    pub(super) tick_at: Option<i64>,
    ticks_now: u32,
    /// How far each conversation's record was read.
    pub(super) cursors: BTreeMap<usize, usize>,
    pub(super) followed: Option<usize>,
    /// Reports of the launcher while nobody listened.
    pub launch_spool: Vec<Input>,
    waiters: u64,
}

/// What survives.
pub struct Journal {
    pub record: Record,
    pub messages: Vec<Message>,
    pub(super) outbox: Vec<(SessionId, NewMessage)>,
}

impl Daemon {
    pub fn new(session: Session) -> Self {
        let journal = Journal {
            record: session.record().clone(),
            messages: Vec::new(),
            outbox: Vec::new(),
        };
        Self {
            session,
            up: true,
            incarnation: 1,
            journal,
            tick_at: None,
            ticks_now: 0,
            cursors: BTreeMap::new(),
            followed: None,
            launch_spool: Vec::new(),
            waiters: 0,
        }
    }
    pub fn is(&self, incarnation: u64) -> bool {
        self.up && self.incarnation == incarnation
    }
    pub fn next_waiter(&mut self) -> u64 {
        self.waiters += 1;
        self.waiters
    }
}

impl World {
    /// Something for the present daemon, after a while.
    pub(super) fn input(&mut self, after: i64, input: Input) {
        let incarnation = self.daemon.incarnation;
        self.at(after, Item::Input { incarnation, input });
    }

    /// True: it was taken, journaled, and whoever sent it has its answer.
    pub(super) fn take(&mut self, input: Input) -> bool {
        if !self.daemon.up || self.failed.is_some() {
            return false;
        }
        match input {
            Input::Event(event) => self.step_session(event),
            Input::Hook { hook, by_spool } => self.take_hook(hook, by_spool),
            Input::Launch { fresh } => {
                let taken = self.step_session(Event::LaunchAsked { fresh });
                if !taken {
                    // whoever asked asks again
                    self.at(700, Item::Person(super::world::Act::Restore));
                }
                taken
            }
            Input::Transcript => {
                self.read_transcript();
                true
            }
            Input::Status => match self.agent.shown.clone().filter(|_| self.agent.alive()) {
                Some(status) => self.step_session(Event::Status(status)),
                None => true,
            },
            Input::Title => self.step_session(Event::Title(self.agent.title())),
            Input::Output { active } => self.step_session(Event::Output { active }),
            Input::Started { launch } => {
                let process = Process {
                    pid: 100 + launch,
                    start: u64::from(launch),
                };
                self.step_session(Event::Started { launch, process })
            }
            Input::Exited {
                launch,
                code,
                signal,
            } => {
                self.read_transcript();
                self.step_session(Event::Exited {
                    launch,
                    code,
                    signal,
                })
            }
            Input::TerminalGone { launch } => {
                self.read_transcript();
                self.step_session(Event::TerminalGone { launch })
            }
            Input::Look {
                probe,
                ours,
                transcript_read,
            } => {
                let mut evidence = self
                    .agent
                    .evidence(ours.as_deref(), self.now, transcript_read);
                self.blur(&mut evidence);
                // asked of the process that the session knows
                let own = self.daemon.session.record().process;
                evidence.alive = own.map(|own| self.agent.process == Some(own));
                evidence.contexts_read =
                    self.options.locks && self.agent.kind == sm_core::AgentKind::Codex;
                self.mutate(&mut evidence);
                let after = self.delay(0, 3, 1_500);
                self.input(after, Input::Probed { probe, evidence });
                true
            }
            Input::Probed { probe, evidence } => {
                self.step_session(Event::Probed { probe, evidence })
            }
        }
    }

    /// What can be seen of the agent does not say what it does, for a while.
    fn blur(&mut self, evidence: &mut Evidence) {
        if self.fault(self.options.faults.never_proves_idle) {
            self.agent.blurred_until = self.now + self.rng.between(1_000, 25_000);
            tr!(self, "fault: nothing proves that it is idle");
        }
        if self.now < self.agent.blurred_until && self.agent.activity() == Activity::Idle {
            evidence.status = None;
            evidence.title = Activity::Unknown;
            if let Some(screen) = evidence.screen.as_mut() {
                screen.activity = Activity::Unknown;
            }
        }
    }

    fn mutate(&mut self, evidence: &mut Evidence) {
        if self.options.mutation == Mutation::StashUnseen
            && let Some(screen) = evidence.screen.as_mut()
            && screen.composer == sm_core::signal::Composer::DraftOverStash
        {
            screen.composer = sm_core::signal::Composer::Draft;
        }
        if self.options.mutation == Mutation::DraftIsOurs
            && let Some(screen) = evidence.screen.as_mut()
            && screen.composer == sm_core::signal::Composer::Draft
        {
            screen.composer = sm_core::signal::Composer::Ours;
        }
    }

    fn take_hook(&mut self, hook: usize, by_spool: bool) -> bool {
        if self.hides_compaction(hook) {
            return true;
        }
        let call = self.call_of(hook, by_spool);
        if call.conversation != self.daemon.session.record().conversation {
            self.read_transcript(); // what the old context proved comes before the new one
            if !self.daemon.up {
                return false;
            }
        }
        // before anything was heard of the agent itself nobody can tell, if the platform cannot
        let unheard = call.origin == Origin::Unknown && !self.knows_the_agent();
        let foreign =
            matches!(self.hooks[hook].origin, Origin::SubAgent | Origin::Nested) && !unheard;
        let late = self.is_late(hook);
        let before = (foreign || late).then(|| Standing::of(&self.daemon.session));
        self.hook_reaches(hook);
        let claimed = self.claimed_by_hook(&call);
        let taken = self.step_session(Event::Hook(call));
        if let (Some(claimed), true) = (claimed, self.daemon.up) {
            self.step_session(claimed);
        }
        self.beginning_reached(hook);
        if let (Some(before), true) = (before, self.daemon.up) {
            let after = Standing::of(&self.daemon.session);
            if before != after {
                let whose = if foreign { "foreign" } else { "late" };
                self.fail(format!(
                    "a {whose} hook ({:?}) changed the session: {before:?} -> {after:?}",
                    self.hooks[hook].signal
                ));
            }
        }
        taken
    }

    /// The session is in one of the agent's conversations.
    fn knows_the_agent(&self) -> bool {
        let conversation = self.daemon.session.record().conversation.as_ref();
        let all = &self.agent.conversations;
        conversation.is_some_and(|known| all.iter().any(|c| &c.id == known))
    }

    /// Of a conversation that was left before the one the session is in.
    fn is_late(&self, hook: usize) -> bool {
        let place = |id: Option<&sm_core::ConversationId>| {
            let id = id?;
            self.agent.conversations.iter().position(|c| &c.id == id)
        };
        if self.check.resumed {
            return false;
        }
        let theirs = place(self.hooks[hook].conversation.as_ref());
        let ours = place(self.daemon.session.record().conversation.as_ref());
        matches!((theirs, ours), (Some(theirs), Some(ours)) if theirs < ours)
    }

    /// Reads the record of the session's conversation to its end; when it has turned to another
    /// one, the old one first.
    pub(super) fn read_transcript(&mut self) -> bool {
        let conversation = self.daemon.session.record().conversation.clone();
        let place = self
            .agent
            .conversations
            .iter()
            .position(|c| Some(&c.id) == conversation.as_ref());
        if self.options.mutation == Mutation::TranscriptUnread {
            return place.is_some();
        }
        // of before a restart, or of before it turned to this one
        let mut old: Vec<usize> = self.daemon.followed.into_iter().collect();
        if self.daemon.followed.is_none() {
            for id in self.daemon.session.records_to_read() {
                old.extend(self.agent.conversations.iter().position(|c| c.id == id));
            }
        }
        for old in old {
            if Some(old) != place && self.daemon.up {
                self.read_record(old);
            }
        }
        self.daemon.followed = place;
        match place {
            Some(at) if self.daemon.up => self.read_record(at) && !self.lacks_record(at),
            Some(_) | None => false,
        }
    }

    /// What was said to a living agent and has no record yet may get one.
    fn lacks_record(&self, at: usize) -> bool {
        let conversation = &self.agent.conversations[at];
        conversation.started && conversation.flushed == 0 && self.agent.alive()
    }

    /// Before another process begins: what the one before has left. False: the daemon is down.
    pub(super) fn read_ended(&mut self, plan: &LaunchPlan) -> bool {
        let Some(id) = &plan.record else {
            return true;
        };
        let at = self.agent.conversations.iter().position(|c| &c.id == id);
        let read = at.is_some_and(|at| self.read_record(at));
        let launch = plan.launch;
        self.daemon.up && self.step_session(Event::RecordRead { launch, read })
    }

    fn read_record(&mut self, at: usize) -> bool {
        let from = self.daemon.cursors.get(&at).copied().unwrap_or(0);
        let found = &self.agent.conversations[at];
        let mut facts = found.record[from.min(found.flushed)..found.flushed].to_vec();
        self.daemon.cursors.insert(at, found.flushed);
        facts.retain(|fact| !self.hides_fact(fact));
        self.facts_reach(at, &facts);
        if !facts.is_empty() {
            tr!(self, "{} facts of c{at}", facts.len());
            self.step_session(Event::Facts(facts));
        }
        self.daemon.up
    }

    pub(super) fn step_session(&mut self, event: Event) -> bool {
        if self.crash_point("before the journal") {
            return false;
        }
        self.stats.events += 1;
        tr!(self, "→ {}", describe(&event));
        let outcome = self.daemon.session.step(event, Timestamp(self.now));
        if self.options.trace {
            self.trace_outcome(&outcome);
        }
        if self.options.mutation == Mutation::JournalAfterEffects {
            for effect in outcome.effects.clone() {
                self.execute(effect);
            }
            if self.crash_point("after the effects") {
                return false;
            }
            self.write_journal(&outcome);
            self.check_step(&outcome);
            self.arm_tick();
            return true;
        }
        self.write_journal(&outcome);
        self.check_step(&outcome);
        if self.crash_point("after the journal") {
            return false;
        }
        let incarnation = self.daemon.incarnation;
        for effect in outcome.effects {
            if let Effect::Notify(notice) = &effect {
                let calls = u64::from(notice.kind == NoticeKind::PersonNeeded);
                self.stats.calls_for_a_person += calls;
            }
            if matches!(effect, Effect::Record(_) | Effect::Notify(_)) {
                continue;
            }
            let after = match effect {
                Effect::Answer { .. } => self.delay(0, 2, 120),
                _ => self.delay(0, 4, 400),
            };
            self.at(
                after,
                Item::Execute {
                    incarnation,
                    effect,
                },
            );
        }
        self.arm_tick();
        true
    }

    fn write_journal(&mut self, outcome: &Outcome) {
        match outcome.persist {
            Persist::Nothing | Persist::Later => {
                if !outcome.messages.is_empty() || !outcome.handoffs.is_empty() {
                    self.fail("messages changed in a step that is not journaled".into());
                }
                return;
            }
            Persist::Now => {}
        }
        let daemon = &mut self.daemon;
        daemon.journal.record.clone_from(daemon.session.record());
        if self.options.mutation == Mutation::LimitInMemory {
            daemon.journal.record.limit = None;
        }
        for change in &outcome.messages {
            match change {
                MessageChange::New(message) => {
                    daemon.journal.messages.push(Message::clone(message));
                }
                MessageChange::Changed(id) => {
                    let known = daemon.session.message(id).map(|m| m.meta.clone());
                    let row = daemon
                        .journal
                        .messages
                        .iter_mut()
                        .find(|m| &m.meta.id == id);
                    if let (Some(meta), Some(row)) = (known, row) {
                        row.meta = meta;
                    }
                }
            }
        }
        for effect in &outcome.effects {
            if let Effect::Tell { to, message } = effect {
                daemon.journal.outbox.push((to.clone(), message.clone()));
            }
        }
        self.handoffs_journaled(&outcome.handoffs);
    }

    fn arm_tick(&mut self) {
        let next = self
            .daemon
            .session
            .next_deadline()
            .map(|at| at.0.max(self.now));
        if next != self.daemon.tick_at {
            self.daemon.tick_at = next;
            if let Some(at) = next {
                self.at(at - self.now, Item::Tick);
            }
        }
    }

    pub(super) fn tick(&mut self) {
        if !self.daemon.up || self.daemon.tick_at.is_none_or(|at| at > self.now) {
            return;
        }
        self.daemon.tick_at = None;
        let due = self.daemon.session.next_deadline();
        if due.is_none_or(|at| at.0 > self.now) {
            self.arm_tick();
            return;
        }
        self.step_session(Event::Tick);
        let again = self.daemon.session.next_deadline();
        if self.daemon.up && again.is_some_and(|at| at.0 <= self.now) {
            self.daemon.ticks_now += 1;
            if self.daemon.ticks_now > 5 {
                self.fail(format!("a deadline that does not move: {again:?}"));
            }
        } else {
            self.daemon.ticks_now = 0;
        }
    }

    fn trace_outcome(&mut self, outcome: &Outcome) {
        for effect in &outcome.effects {
            let line = match effect {
                Effect::Record(entry) => format!("    · {}: {}", entry.kind.as_str(), entry.text),
                Effect::Notify(notice) => format!("    · notice: {}", notice.text),
                Effect::Paste { .. }
                | Effect::Press { .. }
                | Effect::Answer { .. }
                | Effect::Mail { .. }
                | Effect::Launch(_)
                | Effect::Terminate
                | Effect::CloseTerminal
                | Effect::StopAgent { .. }
                | Effect::Prepare(_)
                | Effect::Probe { .. }
                | Effect::Dismiss { .. }
                | Effect::Spill { .. }
                | Effect::Tell { .. } => format!("    {effect:?}"),
            };
            self.trace_line(line);
        }
    }
}

/// What an event of somebody else must not change.
#[derive(Debug, PartialEq)]
struct Standing {
    state: &'static str,
    generation: u32,
    turn: u64,
    open: bool,
    conversation: Option<sm_core::ConversationId>,
}

impl Standing {
    fn of(session: &Session) -> Self {
        let record = session.record();
        Self {
            state: record.state.word(),
            generation: record.generation.0,
            turn: record.turn.0,
            open: record.turn_open,
            conversation: record.conversation.clone(),
        }
    }
}

fn describe(event: &Event) -> String {
    match event {
        Event::Hook(call) => format!(
            "hook {} {} {:?} {:?}{}",
            call.id,
            call.conversation.as_ref().map_or("-", |c| c.as_str()),
            call.origin,
            call.signal,
            if call.request.is_some() {
                ""
            } else {
                " (spool)"
            }
        ),
        Event::Probed { probe, evidence } => format!(
            "probed {probe}: alive {:?}, status {:?}, title {:?}, composer {:?}, transcript {}",
            evidence.alive,
            evidence
                .status
                .as_ref()
                .map(|s| (s.conversation.clone(), s.activity.clone())),
            evidence.title,
            evidence.screen.as_ref().map(|s| s.composer.clone()),
            evidence.transcript_read
        ),
        Event::Send(new) => format!("send {} {:?} {:?}", new.id, new.mode, new.text),
        other => format!("{other:?}"),
    }
}
