//! One session: its state machine and the delivery of its messages.
//!
//! `step` is the only door: one event in, effects out. It never looks at a clock and never
//! decides from the screen alone. What it leaves in [`Outcome::persist`] must be journaled before
//! its effects are carried out.

mod calls;
mod consumed;
mod context;
mod delivery;
mod flight;
mod frozen;
mod handed;
mod handoff;
mod hooks;
mod hosted;
mod landing;
mod launch;
mod life;
mod limits;
mod person_wait;
mod queue;
mod readings;
mod relaunch;
mod retract;
mod rotation;
mod seen;
mod shared;
mod state;
#[cfg(test)]
mod tests;
mod unrecorded;
mod watch;

pub use calls::ToolCalls;
pub use hosted::{Host, Hosted, HostedHandoff, Opening};
pub use seen::Seen;
pub use state::{Flight, Phase, Record, State};
pub use unrecorded::Unrecorded;

use crate::effect::{Effect, Entry, EntryKind, Notice, NoticeKind};
use crate::event::Event;
use crate::handoff::Handoff;
use crate::ids::{Generation, MessageId, SessionId, SessionName, Timestamp, TurnId};
use crate::limit::LimitPolicy;
use crate::message::{Message, MessageMeta, MessageState};
use crate::monitor::{Gauge, How, Monitor};
use crate::profile::Profile;
use crate::signal::ToolCall;
use crate::{ConversationId, WaiterId};
use shared::Shared;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a new session is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    pub id: SessionId,
    pub name: SessionName,
    pub cwd: String,
    pub parent: Option<SessionId>,
    /// The id its first conversation will have, where the agent takes one.
    pub conversation: Option<ConversationId>,
    /// Where long messages are put for the agent to read.
    pub folder: String,
}

/// A session's state machine.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) rec: Shared,
    pub(crate) profile: Profile,
    pub(crate) folder: String,
    pub(crate) queue: Vec<Message>,
    /// The last messages that came to an end: the same id is the same message.
    pub(crate) finals: VecDeque<Message>,
    pub(crate) waiters: Vec<Waiter>,
    /// The last message of which the record told a label, with its text: another one may follow when
    /// the message has ended and its text was let go.
    labelled: Option<(MessageId, String)>,
    pub(crate) probe: Option<PendingProbe>,
    pub(crate) next_probe: u64,
    /// When the other signals are asked whether the state is still true.
    pub(crate) check_at: Option<Timestamp>,
    pub(crate) checks: u32,
    /// Not before this time is an idle agent looked at again for a held message.
    pub(crate) recheck_at: Timestamp,
    pub(crate) rechecks: u32,
    /// Pastes in a row that were not done.
    pub(crate) pastes_refused: u32,
    /// When the flight is looked at again.
    pub(crate) flight_at: Option<Timestamp>,
    pub(crate) told_hold: bool,
    /// The delivery whose text was found nowhere at the last look.
    pub(crate) missing: Option<u64>,
    /// The flight whose Enter is known to have been pressed. Not kept over a restart: there it is
    /// pressed again where nobody can see what it did.
    pub(crate) pressed: Option<u64>,
    /// Since when the agent does not take what is typed.
    pub(crate) deaf_since: Option<Timestamp>,
    /// When Escape was last ordered: a second one soon after it means something else to an agent.
    pub(crate) escaped_at: Option<Timestamp>,
    /// How often a question about a limit was left.
    pub(crate) limit_escapes: u32,
    /// When a conversation that nobody knows was last heard.
    pub(crate) stranger_at: Timestamp,
    /// Since when the agent's process is gone without anybody having reported its end.
    pub(crate) gone_since: Option<Timestamp>,
    /// What the program of this launch was showing when it ended.
    last_output: Option<(u32, String)>,
    /// The turn in which a handoff was refused last, and why.
    last_refusal: Option<(crate::ids::TurnId, String)>,
    /// Since when a starting agent shows its prompt.
    pub(crate) ready_since: Option<Timestamp>,
    /// Since when what goes with a handoff is being saved.
    pub(crate) preparing: Option<Timestamp>,
    /// When the present step of the handoff has taken too long.
    pub(crate) handoff_at: Option<Timestamp>,
    pub(crate) wake_look: unrecorded::WakeLook,
    /// A person's draft was seen when the composer was last seen: it would go with the process.
    pub(crate) drafted: bool,
    /// How long a person's draft is waited for.
    pub(crate) draft_patience: i64,
    /// How long a handoff waits for a person before the old context goes on; None: until one comes.
    pub(crate) person_timeout: Option<i64>,
    /// What is done about its provider's limits.
    pub(crate) limits: LimitPolicy,
    /// How it is watched, and the percentage that was last written down.
    pub(crate) monitor: Monitor,
    pub(crate) noted: Option<u8>,
    /// When a critical alert that is on its way is looked at again.
    pub(crate) press_again: Option<Timestamp>,
    /// When people are told of a compaction.
    pub(crate) compaction_at: Option<Timestamp>,
    /// Tool calls without a result, by the record, which is read again after a restart.
    pub(crate) open_calls: Vec<(String, ToolCall)>,
    /// What the agent said last in the present turn, as far as it told. Not kept over a restart:
    /// who is told of the turn then looks for it.
    pub(crate) reply: Option<String>,
    changes: Changes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub id: WaiterId,
    pub conversation: Option<ConversationId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingProbe {
    pub no: u64,
    pub asked_at: Timestamp,
    /// The delivery and the generation it was asked for.
    pub flight: Option<u64>,
    pub generation: Generation,
}

/// What one step leaves to be done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    pub persist: Persist,
    pub messages: Vec<MessageChange>,
    /// Handoffs that are new or changed, as they are now.
    pub handoffs: Vec<Handoff>,
    pub effects: Vec<Effect>,
}

/// How soon the record has to be journaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Persist {
    #[default]
    Nothing,
    /// With whatever is written next (a usage sample).
    Later,
    /// Before the effects.
    Now,
}

/// A message that is new or changed in this step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageChange {
    New(Box<Message>),
    Changed(MessageId),
}

#[derive(Debug, Clone, Default)]
struct Changes {
    persist: Persist,
    messages: Vec<MessageChange>,
    handoffs: Vec<Handoff>,
    effects: Vec<Effect>,
}

impl Session {
    pub fn new(new: NewSession, profile: Profile, now: Timestamp) -> Self {
        let record = Record {
            id: new.id,
            name: new.name,
            agent: profile.kind,
            cwd: new.cwd,
            parent: new.parent,
            created_at: now,
            state: State::Starting,
            since: now,
            why: "not started yet".into(),
            generation: Generation::FIRST,
            compactions: 0,
            conversation: new.conversation,
            past: Vec::new(),
            transcript: None,
            turn: TurnId(0),
            turn_open: false,
            turn_since: None,
            asked: Vec::new(),
            launch: 0,
            process: None,
            ending: false,
            was_lost: false,
            lost_process: None,
            exit_code: None,
            usage: None,
            flight: None,
            next_flight: 1,
            stop_answers: 0,
            seen: Seen::default(),
            last_signal: Timestamp(0),
            context_since: Timestamp(0),
            stranger: None,
            background: Vec::new(),
            handoff: None,
            automatic: Vec::new(),
            gauge: Gauge::default(),
            last_sample: None,
            how: How::default(),
            pins: Vec::new(),
            unwatched: false,
            held_up: ((Generation::FIRST, 0), 0),
            reported: false,
            compacted_at: Timestamp(0),
            compacting_since: Timestamp(0),
            boundaries_due: 0,
            boundary: None,
            maybe_compacted: None,
            pressing: None,
            compaction_told: None,
            host: Host::Tmux,
            opening: None,
            calls: ToolCalls::default(),
            dialog_untold: None,
            unrecorded: Vec::new(),
            limit: None,
            turn_error: None,
            windows: Vec::new(),
        };
        Self::assemble(record, profile, new.folder, Vec::new(), VecDeque::new())
    }

    /// A session as it was journaled. [`Event::Recovered`] has to be its first event.
    pub fn restore(
        record: Record,
        profile: Profile,
        folder: String,
        queue: Vec<Message>,
        finals: VecDeque<Message>,
    ) -> Self {
        Self::assemble(record, profile, folder, queue, finals)
    }

    fn assemble(
        rec: Record,
        profile: Profile,
        folder: String,
        queue: Vec<Message>,
        finals: VecDeque<Message>,
    ) -> Self {
        let stashed = |h: &Handoff| h.stashed == Some(rec.generation);
        let drafted = rec.open_handoff().is_some_and(stashed);
        Self {
            rec: Shared::new(rec),
            profile,
            folder,
            queue,
            finals,
            waiters: Vec::new(),
            labelled: None,
            probe: None,
            next_probe: 1,
            check_at: None,
            checks: 0,
            recheck_at: Timestamp(0),
            rechecks: 0,
            pastes_refused: 0,
            flight_at: None,
            told_hold: false,
            missing: None,
            pressed: None,
            deaf_since: None,
            escaped_at: None,
            limit_escapes: 0,
            stranger_at: Timestamp(0),
            gone_since: None,
            last_output: None,
            last_refusal: None,
            ready_since: None,
            preparing: None,
            handoff_at: None,
            wake_look: unrecorded::WakeLook::default(),
            drafted,
            draft_patience: delivery::DRAFT_PATIENCE,
            person_timeout: None,
            limits: LimitPolicy::default(),
            monitor: Monitor::default(),
            noted: None,
            press_again: None,
            compaction_at: None,
            open_calls: Vec::new(),
            reply: None,
            changes: Changes::default(),
        }
    }

    pub fn record(&self) -> &Record {
        &self.rec
    }
    /// The same, to keep: it stays as it is now.
    pub fn shared_record(&self) -> Arc<Record> {
        self.rec.share()
    }
    /// Messages that have not come to an end, in the order they arrived.
    pub fn queue(&self) -> &[Message] {
        &self.queue
    }
    pub fn message(&self, id: &MessageId) -> Option<&Message> {
        self.queue
            .iter()
            .chain(self.finals.iter())
            .find(|message| &message.meta.id == id)
    }

    /// The session's next step.
    pub fn step(&mut self, event: Event, now: Timestamp) -> Outcome {
        self.doubt_no_longer(now);
        let turn = self.rec.turn;
        // a hook may be heard long after it was told
        let at = match &event {
            Event::Hook(call) => call.at.min(now),
            _ => now,
        };
        match event {
            Event::Send(message) => self.send(message, now),
            Event::Withdraw(id) => self.withdraw(&id, now),
            Event::Rename(name) => self.rename(name),
            Event::LaunchAsked { fresh } => {
                self.person_went_on();
                self.launch(fresh, now);
            }
            Event::KillAsked => self.kill(now),
            Event::HandoffAsked { handoff, guards } => self.schedule_handoff(handoff, guards, now),
            Event::HandoffRefused { handoff, why } => self.handoff_refused(handoff, &why, now),
            Event::LastOutput { launch, text } => self.last_output(launch, text),
            Event::HandoffCancelled => self.cancel_handoff(now),
            Event::Pin(text) => self.pin(text),
            Event::Unpin(text) => self.unpin(&text),
            Event::Watch { on } => self.watch(on),
            Event::HandoffPrepared { handoff, prepared } => {
                self.handoff_prepared(&handoff, prepared, now);
            }
            Event::Hook(call) => self.hook(call, now),
            Event::Facts(facts) => self.facts(facts, now),
            Event::Replied(text) => self.reply = Some(text),
            Event::Status(status) => self.status(status, now),
            Event::Title(activity) => self.title(&activity, now),
            Event::Output { active } => self.output(active, now),
            Event::Started { launch, process } => self.started(launch, process, now),
            Event::LaunchFailed { launch, reason } => self.launch_failed(launch, reason, now),
            Event::Exited {
                launch,
                code,
                signal,
            } => self.exited(launch, code, signal, now),
            Event::Hosted(told) => self.hosted(*told, now),
            Event::TerminalGone { launch } => self.terminal_gone(launch, now),
            Event::NotResumed { launch } => self.not_resumed(launch, now),
            Event::LaunchPrepared { launch, how, lacks } => {
                self.launch_prepared(launch, how, lacks)
            }
            Event::RecordRead { launch, read } => self.record_read_for(launch, read, now),
            Event::Probed { probe, evidence } => self.probed(probe, &evidence, now),
            Event::Pasted { flight, ok } => self.pasted(flight, ok, now),
            Event::Pressed { flight, outcome } => self.pressed(flight, outcome, now),
            Event::Mailed {
                flight,
                waiter,
                taken,
            } => self.mailed(flight, waiter, taken, now),
            Event::MailRefused {
                flight,
                waiter,
                reason,
            } => self.mail_refused(flight, waiter, &reason, now),
            Event::WaiterGone { waiter } => self.waiters.retain(|w| w.id != waiter),
            Event::RecordFound {
                conversation,
                transcript,
                at,
            } => self.record_found(conversation, transcript, at, now),
            Event::Tick => self.tick(now),
            Event::Recovered { terminal_alive } => self.recovered(terminal_alive, now),
        }
        self.expire(now);
        self.drop_stale_words(now);
        self.withdraw_stale_words(now);
        self.follow_limit(now);
        self.give_up_on_person(now);
        self.advance_handoff(now);
        self.deliver(now);
        self.note_person_wait(now);
        if self.rec.turn != turn {
            self.rec.turn_since = Some(at);
        }
        let changes = std::mem::take(&mut self.changes);
        Outcome {
            persist: changes.persist,
            messages: changes.messages,
            handoffs: changes.handoffs,
            effects: changes.effects,
        }
    }

    /// When the session has to be woken with [`Event::Tick`] if nothing else happens.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let expiry = self.next_expiry();
        let probe = self
            .probe
            .as_ref()
            .map(|probe| probe.asked_at.plus(PROBE_PATIENCE));
        let recheck = self.waits_for_recheck().then_some(self.recheck_at);
        [
            self.check_at,
            self.flight_at,
            self.handoff_at,
            self.person_wait_ends(),
            self.rec.opening,
            self.press_at(),
            self.rec.maybe_compacted,
            self.compaction_at,
            self.rec.dialog_untold,
            self.limit_at(),
            expiry,
            probe,
            recheck,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn tick(&mut self, now: Timestamp) {
        if self
            .probe
            .as_ref()
            .is_some_and(|p| now >= p.asked_at.plus(PROBE_PATIENCE))
        {
            self.probe = None; // its answer is lost; whoever needs one asks again
            self.check_at = Some(now);
        }
        if self.flight_at.is_some_and(|at| at <= now) {
            self.flight_at = None;
            self.look_at_flight(now);
        }
        if self.check_at.is_some_and(|at| at <= now) {
            self.check(now);
        }
        if self.handoff_at.is_some_and(|at| at <= now) {
            self.handoff_at = None;
            self.handoff_overdue(now);
        }
        self.opening_overdue(now);
        self.press_alerts(now);
        self.tell_compaction_in_time(now);
        self.tell_dialog_in_time(now);
    }

    // ── what a step leaves behind

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.changes.effects.push(effect);
    }
    pub(crate) fn journal(&mut self) {
        self.changes.persist = Persist::Now;
    }
    pub(crate) fn journal_later(&mut self) {
        self.changes.persist = self.changes.persist.max(Persist::Later);
    }
    /// The handoff's row is written with this step.
    pub(crate) fn handoff_changed(&mut self) {
        self.journal();
        let Some(handoff) = self.rec.handoff.as_deref() else {
            return;
        };
        let changed = &mut self.changes.handoffs;
        changed.retain(|older| older.id != handoff.id);
        changed.push(handoff.clone());
    }
    pub(crate) fn record_line(&mut self, kind: EntryKind, text: impl Into<String>) {
        let entry = Entry {
            generation: self.rec.generation,
            turn: self.rec.turn,
            kind,
            text: text.into(),
        };
        self.effect(Effect::Record(entry));
    }
    pub(crate) fn notify(&mut self, kind: NoticeKind, text: impl Into<String>) {
        self.effect(Effect::Notify(Notice {
            kind,
            text: text.into(),
        }));
    }
    /// A message comes into the queue.
    pub(crate) fn add(&mut self, message: Message) {
        self.queue.push(message.clone());
        self.journal();
        let new = MessageChange::New(Box::new(message));
        self.changes.messages.push(new);
    }
    pub(crate) fn mark_interrupted(&mut self, id: &MessageId) {
        self.change_message(id, |meta| {
            meta.interrupted = true;
            meta.may_have_interrupted = true;
        });
    }
    pub(crate) fn unmark_interrupted(&mut self, id: &MessageId) {
        self.change_message(id, |meta| meta.interrupted = false);
    }
    pub(crate) fn set_mode(&mut self, id: &MessageId, mode: crate::message::Mode) {
        self.change_message(id, |meta| meta.mode = mode);
    }
    fn change_message(&mut self, id: &MessageId, change: impl FnOnce(&mut MessageMeta)) {
        if let Some(message) = self.queue.iter_mut().find(|m| &m.meta.id == id) {
            change(&mut message.meta);
            self.journal();
            self.changes
                .messages
                .push(MessageChange::Changed(id.clone()));
        }
    }
    /// Changes a message's state; a final one moves out of the queue.
    pub(crate) fn set_message(&mut self, id: &MessageId, state: MessageState, now: Timestamp) {
        let Some(at) = self.queue.iter().position(|message| &message.meta.id == id) else {
            return;
        };
        if self.queue[at].meta.state == state {
            return;
        }
        let altered = self.queue[at].meta.altered.clone();
        let altered = altered.filter(|_| state.reached_agent());
        let line = match state.reason().or(altered) {
            Some(reason) => format!("{id} {}: {reason}", state.word()),
            None => format!("{id} {}", state.word()),
        };
        let is_final = state.is_final();
        if state.reached_agent() && self.queue[at].meta.taken.is_none() {
            self.queue[at].meta.taken = Some((self.rec.generation, now));
        }
        self.queue[at].meta.state = state;
        self.queue[at].meta.changed_at = now;
        if is_final {
            let mut message = self.queue.remove(at);
            if !self.is_unrecorded(id) {
                message.text = String::new(); // the store has it
            }
            self.finals.push_back(message);
            if self.finals.len() > FINALS_KEPT {
                self.finals.pop_front();
            }
        }
        self.journal();
        self.changes
            .messages
            .push(MessageChange::Changed(id.clone()));
        self.record_line(EntryKind::Message, line);
    }
}

/// A probe that was not answered in this time was lost.
const PROBE_PATIENCE: i64 = 10_000;
/// Ended messages that are kept in memory, to know a repeated id.
const FINALS_KEPT: usize = 256;
