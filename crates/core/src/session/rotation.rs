//! Leaving a context and beginning the next: clear and prompt. What is done if the agent does not
//! follow is in `relaunch`.
//!
//! A generation is left at most once: the clear belongs to the generation it was ordered in and is
//! dropped with it.

use super::unrecorded::WakeLook;
use super::{Flight, Session};
use crate::handoff::{Course, Handoff, HandoffState};
use crate::ids::{MessageId, Timestamp};
use crate::message::{Message, MessageState, Proof, Purpose, Way};
use crate::profile::ClearProof;

/// A clear that shows no new context in this time did not happen.
pub(super) const CLEAR_PATIENCE: i64 = 10_000;
/// An agent that proves its clear with the next prompt only has cleared this long after its
/// composer let go of the command.
pub(super) const CLEAR_SETTLE: i64 = 120;
/// A clear whose hook has not come by then is looked for.
const CLEAR_LOOK: i64 = 400;
/// So soon after Enter, then twice as late and so on, it is looked for a context that no hook tells.
const CLEAR_FIRST_LOOK: i64 = 30;
const CLEAR_LOOK_LONGEST: i64 = 300;
/// Where new contexts can be seen, a command that left the composer so long ago without one was not
/// taken.
const CLEAR_REFUSED: i64 = 1_000;
/// Clears that went nowhere before the agent is started again.
const CLEARS: u32 = 2;

/// What is left of an entered clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aftermath {
    /// Something stands where it was typed, or the agent is at work.
    Standing,
    /// It has left the composer; new contexts cannot be seen.
    Gone,
    /// It has left the composer, and there was no new context a moment before.
    Unseen,
    /// Twice in a row.
    InVain,
}

impl Session {
    pub(super) fn add_clear(&mut self, now: Timestamp) {
        let Some(clear) = self.profile.clear else {
            return;
        };
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        handoff.clears += 1;
        let what = format!("clear{}", handoff.clears);
        self.add_own(Purpose::Clear, &what, clear.command.to_owned(), now);
    }

    /// There is a clear that can still be given.
    fn ensure_clear(&mut self, now: Timestamp) {
        let ordered = |m: &Message| m.meta.purpose == Purpose::Clear;
        if !self.queue.iter().any(ordered) {
            self.add_clear(now);
        }
    }

    pub(super) fn add_wake(&mut self, text: String, now: Timestamp) {
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        // a prompt that failed, or that went to the wrong context, is followed by another
        handoff.wakes += 1;
        let what = format!("wake{}", handoff.wakes);
        handoff.wake = MessageId::new(format!("{}-{what}", handoff.id)).ok();
        handoff.wake_text.clone_from(&text);
        self.add_own(Purpose::Wake, &what, text, now);
    }

    /// There is a prompt that can still be given.
    pub(super) fn ensure_wake(&mut self, now: Timestamp) {
        let Some(handoff) = self.rec.handoff.as_ref() else {
            return;
        };
        let known = handoff.wake.as_ref().and_then(|id| self.message(id));
        match known.map(|m| (m.meta.id.clone(), m.meta.state.clone())) {
            Some((_, MessageState::Queued | MessageState::Held { .. })) => {}
            Some((id, MessageState::Written { .. })) => {
                self.set_message(&id, MessageState::Queued, now);
            }
            Some(_) | None => {
                let text = handoff.wake_text.clone();
                self.add_wake(text, now);
            }
        }
    }

    // ── the context is left

    /// A new generation has begun while a handoff is under way.
    pub(super) fn handoff_left_context(&mut self, now: Timestamp) {
        let generation = self.rec.generation;
        let entered = self.may_have_cleared();
        let rec = &mut *self.rec;
        let Some(handoff) = rec.handoff.as_mut().filter(|h| h.state.is_open()) else {
            return;
        };
        match handoff.state {
            HandoffState::Prepared | HandoffState::Cleared => {}
            HandoffState::Scheduled // a person's own clear: it is prepared first
            | HandoffState::Prompted
            | HandoffState::Done
            | HandoffState::Replaced
            | HandoffState::Cancelled
            | HandoffState::Abandoned
            | HandoffState::RolledBack
            | HandoffState::Refused => return,
        }
        if handoff.state == HandoffState::Prepared
            && !entered
            && rec.context_since <= handoff.created_at
        {
            // this context was there when it was scheduled; only nobody had heard of it
            handoff.from = generation;
            handoff.from_conversation.clone_from(&rec.conversation);
            self.handoff_step("its context was heard of late", now);
            self.ensure_clear(now);
            return;
        }
        let back =
            handoff.from_conversation.is_some() && handoff.from_conversation == rec.conversation;
        if back && !handoff.course.is_back() {
            self.went_back(now);
            return;
        }
        handoff.to = Some(generation);
        handoff.unproven = false;
        let first = handoff.state == HandoffState::Prepared;
        handoff.state = HandoffState::Cleared;
        self.clear_is_over(now);
        if first {
            let text = format!("the context is left: generation {}", generation.0);
            self.handoff_step(&text, now);
        } else {
            self.handoff_changed();
        }
        self.recheck_at = now;
    }

    /// The clear may have been entered, and nothing has shown yet what became of it.
    pub(super) fn may_have_cleared(&self) -> bool {
        let flight = self.rec.flight.as_ref();
        let entered = flight.is_some_and(Flight::may_be_done);
        self.rec.awaits_context() || (entered && self.flight_purpose() == Purpose::Clear)
    }

    /// A person has gone back to the old conversation: it is theirs to say what comes next, and
    /// what has not been left yet is still to be left.
    fn went_back(&mut self, now: Timestamp) {
        let generation = self.rec.generation;
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        if handoff.state == HandoffState::Prepared {
            handoff.from = generation;
            self.handoff_step("somebody went back to its conversation", now);
            self.ensure_clear(now);
            return;
        }
        handoff.to = Some(generation);
        let why = "somebody went back to the old conversation";
        self.close_handoff(HandoffState::RolledBack, why, now);
        self.person_went_on(); // nobody has to be told what they did themselves
    }

    /// Its context is gone, so nothing is cleared again.
    pub(super) fn clear_is_over(&mut self, now: Timestamp) {
        let flight = self.rec.flight.as_ref();
        let entered = flight.is_some_and(Flight::may_be_done);
        let way = flight.map_or(Way::Paste, |flight| flight.way);
        if self.flight_purpose() == Purpose::Clear && entered {
            self.rec.flight = None;
            self.flight_at = None;
        } else if self.flight_purpose() == Purpose::Clear {
            self.retract(now); // somebody else cleared it, and the command may stand there
        }
        let clears: Vec<(MessageId, bool)> = self
            .queue
            .iter()
            .filter(|m| m.meta.purpose == Purpose::Clear && !self.is_retracting(&m.meta.id))
            .map(|m| (m.meta.id.clone(), m.meta.state.is_pending()))
            .collect();
        for (id, pending) in clears {
            let state = if pending {
                MessageState::Withdrawn // somebody else cleared it
            } else {
                MessageState::Consumed {
                    way,
                    proof: Proof::Hook,
                }
            };
            self.set_message(&id, state, now);
        }
    }

    /// The command was entered. A person's draft in the composer, or a stashed one, would go with
    /// the agent's process: then there is only waiting.
    pub(super) fn clear_entered(&mut self, after: Aftermath, waited: i64, now: Timestamp) {
        let proof = self.profile.clear.map(|clear| clear.proof);
        match (proof, after) {
            (Some(ClearProof::WithPrompt), Aftermath::Gone) if waited >= CLEAR_SETTLE => {
                let flight = self.rec.flight.take();
                self.flight_at = None;
                for id in flight.map(|f| f.messages).unwrap_or_default() {
                    let state = MessageState::Consumed {
                        way: Way::Paste,
                        proof: Proof::None,
                    };
                    self.set_message(&id, state, now);
                }
                if let Some(handoff) = self.rec.handoff.as_mut() {
                    handoff.unproven = true;
                }
                self.handoff_step("the clear was taken; its proof comes with the prompt", now);
                self.recheck_at = now;
            }
            (Some(ClearProof::WithPrompt), Aftermath::InVain) if waited >= CLEAR_REFUSED => {
                self.clear_refused(now);
            }
            (Some(ClearProof::AtOnce), Aftermath::Gone | Aftermath::Unseen | Aftermath::InVain)
                if waited >= CLEAR_PATIENCE =>
            {
                self.clear_failed(now)
            }
            (Some(ClearProof::WithPrompt), _) => {
                let soon = waited.clamp(CLEAR_FIRST_LOOK, CLEAR_LOOK_LONGEST);
                self.clear_stands(after, waited, now);
                self.flight_at = Some(now.plus(soon));
            }
            (Some(ClearProof::AtOnce), _) => {
                let soon = (waited / 4).clamp(20, 500);
                self.clear_stands(after, waited, now);
                self.flight_at = Some(now.plus(soon));
            }
            (None, _) => {}
        }
    }

    fn clear_stands(&mut self, after: Aftermath, waited: i64, now: Timestamp) {
        if after == Aftermath::Standing && self.drafted && waited >= CLEAR_PATIENCE {
            self.waits_for_draft(now);
        }
    }

    /// It was entered, and the agent is in its old context: it refused the command.
    fn clear_refused(&mut self, now: Timestamp) {
        let flight = self.rec.flight.take();
        self.flight_at = None;
        for id in flight.map(|f| f.messages).unwrap_or_default() {
            let reason = "the agent did not take it".to_string();
            self.set_message(&id, MessageState::Failed { reason }, now);
        }
        self.handoff_step("the clear was not taken: there is no new context", now);
        if self.rec.open_handoff().is_some_and(|h| h.clears < CLEARS) {
            self.add_clear(now);
        } else {
            self.relaunch_for_handoff(now);
        }
    }

    /// How long after Enter it is looked whether the context was cleared.
    pub(super) fn clear_patience(&self) -> Option<i64> {
        match (self.flight_purpose(), self.profile.clear?.proof) {
            (Purpose::Clear, ClearProof::WithPrompt) => Some(CLEAR_FIRST_LOOK),
            (Purpose::Clear, ClearProof::AtOnce) => Some(CLEAR_LOOK),
            (
                Purpose::Said
                | Purpose::Warning
                | Purpose::Alert
                | Purpose::Wake
                | Purpose::Back
                | Purpose::Resume,
                _,
            ) => None,
        }
    }

    /// No new context: the agent is started again, which leaves the old one for certain.
    pub(super) fn clear_failed(&mut self, now: Timestamp) {
        self.handoff_step("the clear showed no new context", now);
        self.relaunch_for_handoff(now);
    }

    // ── the prompt

    /// The successor's prompt is proven to be in a conversation.
    pub(super) fn woken(&mut self, proof: Proof, now: Timestamp) {
        let generation = self.rec.generation;
        let turn = self.rec.turn;
        let Some(handoff) = self.rec.handoff.as_mut().filter(|h| h.state.is_open()) else {
            return;
        };
        if generation == handoff.from {
            // the old context took it: the clear had not happened
            handoff.unproven = false;
            let clears = handoff.clears;
            self.handoff_step(
                "the old context took the prompt: the clear had not happened",
                now,
            );
            if clears < CLEARS {
                self.add_clear(now);
                self.ensure_wake(now);
            } else {
                self.relaunch_for_handoff(now);
            }
            return;
        }
        handoff.state = HandoffState::Prompted;
        handoff.course = Course::Forward;
        handoff.prompted_at = Some(now);
        handoff.to = Some(generation);
        handoff.turn = turn;
        self.handoff_at = None;
        self.wake_look = WakeLook::default();
        self.handoff_step("the successor has its prompt", now);
        match proof {
            // a hook of the user's own may block the prompt that our hook has heard of
            Proof::Hook if self.profile.has_transcript => {
                self.ask(now);
                self.arm_check(now);
            }
            Proof::Hook | Proof::Transcript => self.document_proven(proof, now),
            Proof::OutputFollowed | Proof::None => self.tell_document(now),
        }
    }

    /// The document is in the prompt: what proves the one proves the other.
    pub(super) fn document_proven(&mut self, proof: Proof, now: Timestamp) {
        let handoff = self.rec.handoff.as_mut();
        if let Some(in_context) = handoff.and_then(|h| h.in_context.as_mut()) {
            in_context.proof = Some(proof);
            self.tell_document(now);
        }
    }

    fn tell_document(&mut self, now: Timestamp) {
        let document = self.rec.handoff.as_ref().and_then(|h| h.in_context);
        if let Some(document) = document {
            self.handoff_step(&format!("document: {}", document.told()), now);
        }
    }

    /// That message was the prompt by which the successor of the present handoff was begun.
    pub(super) fn has_prompted_with(&self, id: &MessageId) -> bool {
        let prompted = |h: &&Handoff| match h.state {
            HandoffState::Prompted | HandoffState::Done => true,
            HandoffState::Scheduled
            | HandoffState::Prepared
            | HandoffState::Cleared
            | HandoffState::Replaced
            | HandoffState::Cancelled
            | HandoffState::Abandoned
            | HandoffState::RolledBack
            | HandoffState::Refused => false,
        };
        let handoff = self.rec.handoff.as_deref().filter(prompted);
        handoff.is_some_and(|h| h.wake.as_ref() == Some(id))
    }

    /// The successor's conversation lacks the prompt: the context is left, and nobody has taken up
    /// what was handed over.
    pub(super) fn wake_was_lost(&mut self, prompt: String, why: &str, now: Timestamp) {
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        handoff.state = HandoffState::Cleared;
        handoff.course = Course::Forward;
        handoff.prompted_at = None;
        handoff.done_at = None;
        handoff.wake_text = prompt;
        if let Some(in_context) = handoff.in_context.as_mut() {
            in_context.proof = None;
        }
        self.handoff_at = None;
        self.handoff_step(why, now);
    }

    pub(super) fn wake_failed(&mut self, now: Timestamp) {
        self.handoff_step("the successor did not take its prompt", now);
        let tried = self.rec.open_handoff().map_or(0, |h| h.relaunches);
        if tried < 1 {
            self.relaunch_for_handoff(now);
        } else {
            self.go_back("the successor could not be given its prompt", now);
        }
    }
}
