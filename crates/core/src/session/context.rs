//! Which conversation speaks for the session, and when a new generation begins.

use super::{Session, State};
use crate::effect::EntryKind;
use crate::ids::{ConversationId, Timestamp};
use crate::message::{Proof, Way};
use crate::signal::{HookCall, Origin, Signal};

/// A status file may be this far behind the hooks.
const STATUS_LAG: i64 = 1_000;

/// Whether a hook call speaks for the session's present context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Current,
    /// A conversation that becomes the session's by this call.
    New,
    /// Of a generation that was left.
    Late,
    /// Of another agent that inherited the environment, or of a sub-agent.
    Foreign,
    /// Nobody can tell yet; the agent's own status is asked.
    Stranger,
}

impl Session {
    pub(super) fn voice(&self, call: &HookCall) -> Voice {
        match call.origin {
            Origin::SubAgent | Origin::Nested | Origin::Unproven => return Voice::Foreign,
            Origin::Own | Origin::Unknown => {}
        }
        let Some(theirs) = &call.conversation else {
            return Voice::Current;
        };
        if self.rec.conversation.as_ref() == Some(theirs) {
            return Voice::Current;
        }
        let past = self.rec.past.contains(theirs);
        // a person may go back to an old conversation; a late event never says so
        if call.at < self.context_known() || (past && call.at == self.context_known()) {
            return Voice::Late;
        }
        let first = self.rec.conversation.is_none() && !past;
        match call.origin {
            Origin::Own if first => Voice::New, // the first one heard of
            // inside a turn it may be an agent of the agent, whose own first words were lost
            Origin::Unknown if first && !self.rec.turn_open => match call.signal {
                Signal::ContextStarted { .. } | Signal::PromptAccepted { .. } => Voice::New,
                _ => Voice::Stranger,
            },
            Origin::Own => match call.signal {
                Signal::ContextStarted { .. } | Signal::PromptAccepted { .. } => Voice::New,
                _ => Voice::Stranger,
            },
            Origin::SubAgent | Origin::Nested | Origin::Unproven => Voice::Foreign,
            Origin::Unknown => match &call.signal {
                // who repeats what was just typed is the one it was typed to
                Signal::PromptAccepted { text, .. } if self.is_flight_text(text) => Voice::New,
                _ => Voice::Stranger,
            },
        }
    }

    /// Until when the present conversation is known to be the agent's.
    fn context_known(&self) -> Timestamp {
        self.rec.last_signal.max(self.rec.context_since)
    }

    /// See [`super::Record::records_to_read`].
    pub fn records_to_read(&self) -> Vec<ConversationId> {
        self.rec.records_to_read()
    }

    /// The conversation is the session's, as its producer said at `at`. A first one fills
    /// generation 1; any other begins a new generation.
    pub(super) fn adopt(
        &mut self,
        conversation: ConversationId,
        transcript: Option<String>,
        at: Timestamp,
        now: Timestamp,
    ) {
        self.rec.context_since = self.rec.context_since.max(at);
        self.met_stranger(None);
        if self.rec.conversation.as_ref() == Some(&conversation) {
            if transcript.is_some() && self.rec.transcript != transcript {
                self.rec.transcript = transcript;
                self.journal();
            }
            return;
        }
        // after a clear that waits for its proof the old one was never named: this is the next
        if self.rec.conversation.is_none() && !self.may_have_cleared() {
            self.record_line(EntryKind::Context, format!("conversation {conversation}"));
            self.rec.conversation = Some(conversation);
            self.rec.transcript = transcript;
            self.journal();
            return;
        }
        self.new_generation(Some(conversation), transcript, at, now);
    }

    /// `at`: when it began, as far as is known.
    pub(super) fn new_generation(
        &mut self,
        conversation: Option<ConversationId>,
        transcript: Option<String>,
        at: Timestamp,
        now: Timestamp,
    ) {
        self.close_turn(" (its context was left)");
        self.person_went_on();
        self.rec.turn_error = None;
        if self.wake_is_unrecorded() {
            let why = "its context was left before the record showed the prompt";
            self.handoff_done(why, now);
        }
        self.leave_unrecorded();
        self.limit_is_over(); // what is to be gone on with is not in the next context
        self.rec.generation = self.rec.generation.next();
        self.rec.compactions = 0;
        self.rec.usage = None;
        self.rec.gauge.begin(at.min(now));
        self.rec.maybe_compacted = None;
        self.rec.pressing = None;
        self.rec.boundaries_due = 0;
        self.noted = None;
        self.rec.stop_answers = 0;
        self.rec
            .past
            .retain(|past| Some(past) != conversation.as_ref());
        let old = std::mem::replace(&mut self.rec.conversation, conversation);
        if let Some(old) = old {
            self.rec.past.push(old);
        }
        self.rec.transcript = transcript;
        // a waiter of the old context would deliver into the new one unseen
        self.dismiss_waiters();
        self.journal();
        let text = match &self.rec.conversation {
            Some(new) => format!(
                "generation {} begins: conversation {new}",
                self.rec.generation.0
            ),
            None => format!("generation {} begins", self.rec.generation.0),
        };
        self.record_line(EntryKind::Context, text);
        self.handoff_left_context(now);
        self.flight_left_its_context(now);
    }

    /// The agent's own status names a conversation: that is the session's, whatever hooks were lost,
    /// unless something newer is known. `at`: when the status changed; `as_of`: when it was read.
    pub(super) fn conversation_seen(
        &mut self,
        seen: &ConversationId,
        at: Option<Timestamp>,
        as_of: Timestamp,
        now: Timestamp,
    ) {
        if self.rec.conversation.as_ref() == Some(seen) {
            return;
        }
        let known = self.context_known();
        if at.is_none_or(|at| at <= known) && as_of < known.plus(STATUS_LAG) {
            // the file may be behind: it is read again once it cannot be any more
            let again = known.plus(STATUS_LAG).max(now.plus(1));
            self.check_by(again);
            return;
        }
        let at = at.map_or(as_of, |at| at.max(as_of));
        if self.rec.state == State::Starting && self.rec.launch > 1 && self.rec.stranger.is_none() {
            // a resumed agent may show a passing id before it has loaded its conversation
            self.met_stranger(Some(seen.clone()));
            return;
        }
        self.adopt(seen.clone(), None, at, now);
    }

    /// Somebody nobody knows has spoken just now: the status may not tell yet whether the agent is in
    /// that conversation by now.
    pub(super) fn meets_stranger(&self, now: Timestamp) -> bool {
        self.rec.stranger.is_some() && now.since(self.stranger_at) < STATUS_LAG
    }

    /// Late words of an agent that has ended in a conversation nobody knew of: what was on its way to
    /// it then may be there, where nobody will look.
    pub(super) fn left_elsewhere(&mut self, call: &HookCall) {
        let flight = self.rec.flight.as_ref();
        if !flight.is_some_and(|flight| flight.phase.touched_agent()) {
            return;
        }
        match self.voice(call) {
            Voice::New | Voice::Stranger => self.met_stranger(call.conversation.clone()),
            Voice::Current | Voice::Late | Voice::Foreign => {}
        }
    }

    /// A hook of an agent of which nobody had heard that it started, and that was lost before: what it
    /// was started with may stand in its conversation, and is not given again before that was asked.
    pub(super) fn began_unseen(&mut self, call: &HookCall, now: Timestamp) -> bool {
        let launched = self.rec.flight.as_ref().is_some_and(|flight| {
            flight.way == Way::LaunchArgument
                && flight.phase.touched_agent()
                && call.at >= flight.since
        });
        let unheard = self.rec.state == State::Lost && self.rec.process.is_none();
        let (transcript, prompt) = match &call.signal {
            Signal::ContextStarted { transcript, .. } => (transcript.clone(), None),
            Signal::PromptAccepted { transcript, text } => (transcript.clone(), Some(text)),
            _ => return false,
        };
        if !(launched && unheard) {
            return false;
        }
        match (self.voice(call), call.conversation.clone()) {
            (Voice::New, Some(conversation)) if self.rec.conversation.is_none() => {
                self.adopt(conversation, transcript, call.at, now);
            }
            (Voice::Current, _) => {}
            (Voice::New | Voice::Late | Voice::Foreign | Voice::Stranger, _) => return false,
        }
        self.rec.seen.remember(&call.id);
        if let Some(text) = prompt {
            self.prompt_proves(text, Some(call.at), Proof::Hook, now);
            self.ask_record(now);
        }
        self.journal();
        true
    }

    /// Somebody nobody knows has spoken; or everybody is known again.
    pub(super) fn met_stranger(&mut self, stranger: Option<ConversationId>) {
        if self.rec.stranger != stranger {
            self.rec.stranger = stranger;
            self.journal();
        }
    }

    /// An agent whose hooks say nothing is known by what it has open. Where hooks have named a
    /// conversation they know better, as it keeps older ones open, unless it may have cleared it.
    pub(super) fn record_found(
        &mut self,
        found: ConversationId,
        transcript: Option<String>,
        at: Timestamp,
        now: Timestamp,
    ) {
        let current = self.rec.conversation.as_ref() == Some(&found);
        if current && self.rec.transcript.is_none() && transcript.is_some() {
            self.rec.transcript = transcript; // known by something else before it had a record
            self.journal();
            return;
        }
        if !self.rec.state.is_live() || current || self.rec.past.contains(&found) {
            return;
        }
        match self.rec.cleared_since() {
            // made before the clear and never used: it stays open
            Some(entered) if at < entered => return,
            // perhaps late, when the clear was given up already
            Some(_) => {
                self.rec.context_since = self.rec.context_since.max(at);
                self.met_stranger(None);
                self.new_generation(Some(found), transcript, at, now);
            }
            None if self.rec.conversation.is_some() => return,
            None => self.adopt(found, transcript, at, now),
        }
        self.ask(now);
    }

    pub(super) fn dismiss_waiters(&mut self) {
        for waiter in std::mem::take(&mut self.waiters) {
            self.effect(crate::Effect::Dismiss { waiter: waiter.id });
        }
    }
}
