//! What the agent's hook has proven and its record does not show yet. An agent that is killed right
//! after it took a prompt has not written it down, and goes on without it when it is resumed: so at
//! the end of its process the record is asked, and what it lacks goes back into the queue, once.
//!
//! Nothing goes back as long as the process may still write, or while its record cannot be read; and
//! what is found in the record after all is not given again.

use super::landing::UNREAD_PATIENCE;
use super::{Flight, Record, Session, State};
use crate::comparable;
use crate::effect::{EntryKind, NoticeKind};
use crate::ids::{ConversationId, MessageId, Timestamp};
use crate::message::{Message, MessageState, Proof, Purpose, Way};
use crate::signal::{Composer, Evidence};
use serde::{Deserialize, Serialize};

/// A process whose terminal is gone ends, and writes what it has, within this time.
const ENDING: i64 = 1_500;
/// A record that cannot be read is tried again after this, so often.
const AGAIN: i64 = 2_000;
const TRIES: u32 = 15;
/// A record that shows nothing for so many deliveries is none that could tell.
const MOST: usize = 64;

/// What is known of the record in which the successor's prompt is awaited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WakeLook {
    /// Since when it is awaited.
    since: Option<Timestamp>,
    /// The last look has read it to its end.
    read: bool,
    /// … and the prompt was not in there, when the agent rested.
    pub(crate) missing: bool,
    /// It stands in the composer again.
    pub(super) put_back: bool,
    /// A hook told of the end of a turn.
    pub(crate) answered: bool,
}

/// A delivery that only a hook has proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecorded {
    pub messages: Vec<MessageId>,
    pub way: Way,
    pub conversation: Option<ConversationId>,
    /// Of which process.
    pub launch: u32,
    /// When it took off, and when the hook told of it.
    pub since: Timestamp,
    pub at: Timestamp,
    /// Its messages went back into the queue.
    #[serde(default)]
    pub returned: bool,
}

impl Record {
    /// What only a hook has told of: the prompt of the handoff that is under way.
    pub(super) fn unrecorded_wake(&self) -> Option<&Unrecorded> {
        let wake = self.open_handoff()?.wake.as_ref()?;
        let gives = |u: &&Unrecorded| !u.returned && u.messages.contains(wake);
        self.unrecorded.iter().find(gives)
    }
}

impl Session {
    /// A flight was proven: until the record shows it, its text is kept.
    pub(super) fn note_proven(&mut self, flight: &Flight, proof: Proof, now: Timestamp) {
        self.forget_unrecorded(&flight.messages);
        let worth = |id: &MessageId| match self.message(id).map(|m| m.meta.purpose) {
            Some(Purpose::Said | Purpose::Wake) => true,
            Some(
                Purpose::Clear
                | Purpose::Warning
                | Purpose::Alert
                | Purpose::Back
                | Purpose::Resume,
            )
            | None => false,
        };
        let by_hook = proof == Proof::Hook && self.profile.has_transcript;
        if !by_hook || !flight.messages.iter().any(worth) {
            return;
        }
        if self.rec.unrecorded.len() >= MOST {
            let oldest = self.rec.unrecorded.remove(0);
            self.drop_texts(&oldest.messages);
        }
        let unrecorded = Unrecorded {
            messages: flight.messages.clone(),
            way: flight.way,
            conversation: self.rec.conversation.clone(),
            launch: self.rec.launch,
            since: flight.since,
            at: now,
            returned: false,
        };
        self.rec.unrecorded.push(unrecorded);
    }

    pub(super) fn is_unrecorded(&self, id: &MessageId) -> bool {
        self.rec.unrecorded.iter().any(|u| u.messages.contains(id))
    }

    /// These are given anew, or need no record.
    pub(super) fn forget_unrecorded(&mut self, messages: &[MessageId]) {
        let theirs = |u: &Unrecorded| u.messages.iter().any(|id| messages.contains(id));
        if self.rec.unrecorded.iter().any(theirs) {
            self.rec.unrecorded.retain(|u| !theirs(u));
            self.journal_later();
        }
    }

    /// The context was left by a living process, which writes down what it has.
    pub(super) fn leave_unrecorded(&mut self) {
        for left in std::mem::take(&mut self.rec.unrecorded) {
            self.drop_texts(&left.messages);
        }
    }

    /// A text in the agent's record.
    pub(super) fn record_shows(&mut self, text: &str, at: Option<Timestamp>, now: Timestamp) {
        let shown = self.rec.unrecorded.iter().position(|u| {
            // the time it took off means nothing if the clock was set back since
            (at.is_none_or(|at| at >= u.since) || u.since > now)
                && self.is_conversation_of(u)
                && self.is_given(text, &u.messages, u.way)
        });
        if let Some(shown) = shown {
            let recorded = self.rec.unrecorded.remove(shown);
            self.settle_recorded(&recorded, now);
        }
    }

    /// Another conversation may quote it, as the document does that a successor begins with: it was
    /// not given there.
    fn is_conversation_of(&self, unrecorded: &Unrecorded) -> bool {
        let (theirs, ours) = (&unrecorded.conversation, &self.rec.conversation);
        theirs.is_none() || ours.is_none() || theirs == ours
    }

    /// The model's answer is in the record, and so is all that it answered.
    pub(super) fn record_went_on(&mut self, at: Option<Timestamp>) {
        // an answer does not show what it was given: a document counts only if it is there itself
        let wake = self.rec.open_handoff().and_then(|open| open.wake.clone());
        // another process has answered something else; until it has begun, all is of the one before
        let (launch, begun) = (self.rec.launch, self.rec.process.is_some());
        let before = |u: &Unrecorded| {
            let same = u.launch == launch || !begun;
            let wakes = wake.as_ref().is_some_and(|id| u.messages.contains(id));
            same && !wakes && !u.returned && at.is_none_or(|at| at >= u.at)
        };
        if !self.rec.unrecorded.iter().any(before) {
            return;
        }
        let (shown, open) = std::mem::take(&mut self.rec.unrecorded)
            .into_iter()
            .partition(before);
        self.rec.unrecorded = open;
        let shown: Vec<Unrecorded> = shown;
        for recorded in shown {
            self.drop_texts(&recorded.messages);
        }
        match begun {
            true => self.journal_later(),
            false => self.journal(), // nobody reads that record again after a crash
        }
    }

    /// What had gone back into the queue, and is in the record after all, is not given again.
    fn settle_recorded(&mut self, recorded: &Unrecorded, now: Timestamp) {
        for id in &recorded.messages {
            let pending = self
                .queue
                .iter()
                .any(|m| &m.meta.id == id && m.meta.state.is_pending());
            if !(recorded.returned && pending) {
                continue;
            }
            let flight = self.rec.flight.as_ref();
            if flight.is_some_and(|f| f.messages.contains(id) && !f.phase.touched_agent()) {
                self.drop_flight();
            }
            let (way, proof) = (recorded.way, Proof::Transcript);
            self.set_message(id, MessageState::Consumed { way, proof }, now);
            let open = self.rec.open_handoff();
            if open.is_some_and(|h| h.wake.as_ref() == Some(id)) {
                self.woken(proof, now);
            }
        }
        let wakes = |id: &MessageId| self.has_prompted_with(id);
        if !recorded.returned && recorded.messages.iter().any(wakes) {
            self.document_proven(Proof::Transcript, now);
        }
        self.drop_texts(&recorded.messages);
        if recorded.launch == self.rec.launch && self.rec.state.is_live() {
            self.journal_later();
        } else {
            self.journal(); // nobody reads that record again after a crash
        }
    }

    fn drop_texts(&mut self, messages: &[MessageId]) {
        for message in &mut self.finals {
            if messages.contains(&message.meta.id) {
                message.text = String::new(); // the store has it
            }
        }
    }

    // ── the prompt of a handoff

    /// Whether only a hook has told that the successor has its prompt.
    pub(super) fn wake_is_unrecorded(&self) -> bool {
        self.rec.unrecorded_wake().is_some()
    }

    /// An agent whose hook of the user's own has blocked a prompt may put it back into its composer.
    pub(super) fn wake_put_back(&self) -> Option<String> {
        let wake = self.rec.unrecorded_wake()?;
        Some(self.given(&wake.messages, Way::Paste))
    }

    /// The record of an agent that stands still has to be asked for the successor's prompt.
    pub(super) fn awaits_record_of_wake(&self) -> bool {
        !self.rec.turn_open && self.wake_is_unrecorded()
    }

    /// A look at the living agent, which may have read its record to the end. If the agent rests and
    /// the record lacks the prompt, the successor does not have it: it is given by the next way.
    pub(super) fn wake_asked(&mut self, evidence: &Evidence, asked_at: Timestamp, now: Timestamp) {
        let before = std::mem::take(&mut self.wake_look.missing);
        let launch = self.rec.launch;
        let wake = self.rec.unrecorded_wake();
        let Some(given) = wake.filter(|u| u.launch == launch && u.at <= asked_at) else {
            return;
        };
        // in the record of that conversation it is or is not, wherever the agent is by now
        let read = evidence.transcript_read && self.is_conversation_of(given);
        self.wake_look.read = read;
        if let Some(screen) = &evidence.screen {
            self.wake_look.put_back = screen.composer == Composer::Ours;
        }
        let over = !self.rec.turn_open && self.rests(now) && evidence.proves_idle();
        if !(over && read) {
            return;
        }
        if !before {
            self.wake_look.missing = true; // twice: it may be written between two looks
            return;
        }
        let reason = "the agent's hook told of it, but it is not in its conversation; a hook of your own may have blocked it";
        self.wake_is_lacking(reason, now);
    }

    /// The looks ask the record. One that cannot be read tells nothing: then what the hooks told has
    /// to do, if they told of the end of a turn too, which one that was blocked does not have.
    pub(super) fn await_record(&mut self, due: Timestamp, now: Timestamp) {
        let first = *self.wake_look.since.get_or_insert(now);
        if self.wake_look.read {
            return;
        }
        let due = due.max(first.plus(UNREAD_PATIENCE));
        let launch = self.rec.launch;
        let same = self
            .rec
            .unrecorded_wake()
            .is_some_and(|u| u.launch == launch);
        let rests = same && self.rec.state == State::Idle && !self.rec.turn_open;
        let at = match rests && !self.wake_look.answered {
            true => self.rec.since.max(first).plus(UNREAD_PATIENCE),
            false => due,
        };
        if now < at {
            self.handoff_at = Some(at);
        } else if rests && !self.wake_look.answered {
            let reason = "the agent's hook told of it, and no turn followed that ended, but its record cannot be read; it is not known whether it arrived";
            self.wake_is_lacking(reason, now);
        } else {
            let why = "its record cannot be read; only a hook has told of the prompt";
            self.handoff_done(why, now);
        }
    }

    fn wake_is_lacking(&mut self, reason: &str, now: Timestamp) {
        let open = self.rec.open_handoff();
        let Some((id, text)) = open.and_then(|h| Some((h.wake.clone()?, h.wake_text.clone())))
        else {
            return;
        };
        let proven = self.take_proven(&id);
        self.forget_unrecorded(std::slice::from_ref(&id));
        let why = "the successor's record does not show its prompt: it is given again";
        self.wake_was_lost(text, why, now);
        match proven {
            Some(message) => {
                self.queue.insert(0, message);
                self.fail(&id, reason.into(), now);
            }
            None => self.wake_failed(now),
        }
        self.journal();
    }

    // ── the end of a process

    /// Deliveries of a process that has ended, about which the record was not asked yet.
    pub(super) fn unasked(&self) -> bool {
        let ended = !self.rec.state.is_live();
        let of_ended = |u: &Unrecorded| !u.returned && (ended || u.launch != self.rec.launch);
        self.rec.unrecorded.iter().any(of_ended)
    }

    /// The process has ended, or is about to: the record is asked when it has.
    pub(super) fn ask_record(&mut self, now: Timestamp) {
        if !self.unasked() {
            return;
        }
        match self.rec.state {
            State::Exited => self.ask(now),
            State::Lost => self.check_at = Some(now.plus(ENDING)),
            State::Starting
            | State::Working
            | State::Idle
            | State::Waiting(_)
            | State::Compacting => {}
        }
    }

    /// The record that is to be read before another process begins.
    pub(super) fn record_to_ask(&self) -> Option<ConversationId> {
        let ended = |u: &&Unrecorded| !u.returned && u.launch != self.rec.launch;
        let unasked = self.rec.unrecorded.iter().find(ended)?;
        unasked.conversation.clone()
    }

    /// It was read, or could not be: then the looks at the new process ask it.
    pub(super) fn record_read_for(&mut self, launch: u32, read: bool, now: Timestamp) {
        if launch == self.rec.launch && read && self.unasked() {
            self.record_lacks(now);
        }
    }

    /// A look that was due although no process runs.
    pub(super) fn asks_record(&self) -> bool {
        !self.rec.state.is_live() && self.unasked()
    }

    /// The record was read to its end, or could not be.
    pub(super) fn record_asked(&mut self, read: bool, now: Timestamp) {
        if !self.unasked() {
            return;
        }
        let live = self.rec.state.is_live();
        if live && self.rec.process.is_none() {
            // whoever wrote it may still be ending
        } else if read {
            if live {
                self.forget_elsewhere();
            }
            self.record_lacks(now);
        } else if live {
            // the next look reads it
        } else if self.checks < TRIES {
            self.check_at = Some(now.plus(AGAIN));
        } else {
            let text = "the agent's record cannot be read: whether it holds the last messages is not known; they are not given again";
            self.record_line(EntryKind::Problem, text);
            self.leave_unrecorded();
            self.journal();
        }
    }

    /// The record that can be read is of another conversation than they were given in: it says nothing
    /// of them, and they are not given again.
    fn forget_elsewhere(&mut self) {
        let unasked = std::mem::take(&mut self.rec.unrecorded);
        let (here, elsewhere) = unasked
            .into_iter()
            .partition(|u| u.returned || u.launch == self.rec.launch || self.is_conversation_of(u));
        self.rec.unrecorded = here;
        let elsewhere: Vec<Unrecorded> = elsewhere;
        for left in elsewhere {
            self.drop_texts(&left.messages);
            self.journal();
        }
    }

    /// Whoever was to write it down has ended, and its record, which was read to its end, lacks it.
    pub(super) fn record_lacks(&mut self, now: Timestamp) {
        let ended = !self.rec.state.is_live();
        let launch = self.rec.launch;
        let mut back = Vec::new();
        for unrecorded in &mut self.rec.unrecorded {
            let of_ended = ended || unrecorded.launch != launch;
            if !unrecorded.returned && of_ended {
                unrecorded.returned = true;
                back.extend(unrecorded.messages.iter().cloned());
            }
        }
        let mut place = 0;
        let mut returned = 0;
        let mut wakes = 0;
        for id in back {
            if self.give_back(&id, place, now) {
                place += 1;
                match self.message(&id).map(|m| m.meta.purpose) {
                    Some(Purpose::Wake) => wakes += 1,
                    _ => returned += 1,
                }
            }
        }
        self.journal();
        let name = self.rec.name.clone();
        let then = match ended {
            // By its id: others may have its name, or may get it.
            true => format!("given again after: sm restore {}", self.rec.id),
            false => "given again".to_string(),
        };
        if wakes > 0 {
            let text = format!(
                "the handoff of {name} is not over: the successor ended before it had written its prompt down; it is {then}"
            );
            self.notify(NoticeKind::HandoffHeld, text);
        }
        if returned > 0 {
            let text = format!(
                "{returned} message(s) for {name}: the agent ended before it had written them down; {then}"
            );
            self.notify(NoticeKind::MessageHeld, text);
        }
    }

    /// Back into the queue, before what came later. False: it was lost twice, or is unknown. The
    /// prompt of a handoff is given as often as somebody starts the agent again: without it the
    /// successor has nothing to go on from.
    fn give_back(&mut self, id: &MessageId, place: usize, now: Timestamp) -> bool {
        let Some(mut message) = self.take_proven(id) else {
            return false;
        };
        let again = std::mem::replace(&mut message.meta.returned, true);
        message.meta.taken = None;
        message.meta.interrupted = false;
        let wake = message.meta.purpose == Purpose::Wake;
        if wake {
            let why =
                "the successor ended before it had written its prompt down: it is given again";
            self.wake_was_lost(message.text.clone(), why, now);
        }
        self.queue.insert(place.min(self.queue.len()), message);
        if again && !wake {
            self.forget_unrecorded(std::slice::from_ref(id));
            let reason = "the agent ended twice before it had written it down; it is not in its conversation";
            self.fail(id, reason.into(), now);
            return false;
        }
        self.set_message(id, MessageState::Queued, now);
        true
    }

    /// Takes a message out of where it lies as proven, with its text.
    fn take_proven(&mut self, id: &MessageId) -> Option<Message> {
        let proven = |m: &Message| &m.meta.id == id && m.meta.state.reached_agent();
        let of_handoff = self.message(id).map(|m| m.meta.purpose) == Some(Purpose::Wake);
        if of_handoff && !self.has_prompted_with(id) {
            return None; // another handoff, or another prompt of this one, has followed
        }
        if let Some(at) = self.queue.iter().position(proven) {
            return Some(self.queue.remove(at));
        }
        let at = self.finals.iter().position(proven)?;
        let said = self.finals[at].meta.purpose == Purpose::Said;
        if self.finals[at].text.is_empty() || !(said || of_handoff) {
            return None;
        }
        self.finals.remove(at)
    }

    /// Whether that is what these messages became on their way.
    pub(super) fn is_given(&self, text: &str, messages: &[MessageId], way: Way) -> bool {
        let ours = self.given(messages, way);
        comparable::same(text, &ours)
            || comparable::holds(text, &ours)
            || match way {
                // an agent takes not all characters of a prompt; and a person's words, or those of
                // the agent itself, may stand around it
                Way::Paste | Way::LaunchArgument | Way::Mailbox => {
                    comparable::holds_stripped(text, &ours)
                }
                Way::HookAnswer | Way::StopAnswer => false, // these keep every byte
            }
    }
}
