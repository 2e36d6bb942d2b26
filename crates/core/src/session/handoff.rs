//! The handoff of a session: from its scheduling to the moment at which its context may be left, and
//! its end.
//!
//! `advance_handoff` runs at the end of every step and does what the state allows. What is typed
//! goes through the same delivery as every message: looked at, guarded, proven.

use super::{Flight, Session, State};
use crate::effect::{Effect, EntryKind, NoticeKind};
use crate::handoff::{
    Author, Carrier, Course, Failure, Guards, Handoff, HandoffState, InContext, NewHandoff,
    Prepared, Refusal, Step, Trigger,
};
use crate::ids::{HandoffId, MessageId, Timestamp};
use crate::message::{Message, MessageState, Mode, NewMessage, Purpose};
use crate::profile::Profile;
use crate::session::Record;
use crate::words;

/// Artifacts that take longer than this are done without: the document is safe.
const PREPARE_PATIENCE: i64 = 15_000;
/// A first turn that lasts longer goes on by itself: messages flow again.
const FIRST_TURN: i64 = 120_000;
const HOUR: i64 = 3_600_000;
/// Steps that are kept.
const STEPS: usize = 64;

impl Record {
    /// Why a handoff cannot be scheduled now.
    pub fn handoff_refusal(
        &self,
        profile: &Profile,
        trigger: Trigger,
        author: Author,
        guards: Guards,
        now: Timestamp,
    ) -> Option<Refusal> {
        if profile.clear.is_none() {
            return Some(Refusal::NotClearable(self.agent.as_str().to_string()));
        }
        let live = self.state.is_live();
        // what sm itself wrote down needs no agent; what is under way a restore goes on with
        let mechanical = author == Author::Ledger && self.launch > 0;
        if !live && (!mechanical || self.open_handoff().is_some()) {
            return Some(Refusal::Ended {
                why: self.why.clone(),
                id: self.id.clone(),
            });
        }
        if live && self.ending {
            return Some(Refusal::Ending);
        }
        if let Some(open) = self.open_handoff() {
            match open.state {
                // the last one wins, unless the agent is gone and being started for it
                HandoffState::Scheduled
                    if !trigger.is_automatic() && open.course == Course::Forward => {}
                // it has arrived; until it is known to have, the document could be lost
                HandoffState::Prompted
                    if self.generation > open.from && self.unrecorded_wake().is_none() => {}
                state => return Some(Refusal::UnderWay(open.id.clone(), state.word())),
            }
        }
        let last = self.handoff.as_deref();
        if last.is_some_and(|h| h.state == HandoffState::Done && h.from == self.generation) {
            return Some(Refusal::AlreadyLeft(self.generation.0));
        }
        if !trigger.is_automatic() {
            return None;
        }
        let hour = self.automatic.iter().filter(|at| now.since(**at) < HOUR);
        if hour.count() >= guards.per_hour as usize {
            return Some(Refusal::TooMany(guards.per_hour));
        }
        let last = last?;
        let ended = last.done_at.unwrap_or(last.created_at);
        if now.since(ended) < guards.cooldown {
            let ago = now.since(ended);
            let left = guards.cooldown - ago;
            return Some(Refusal::CoolDown(ago / 1000, (left + 999) / 1000));
        }
        let turns = self.turn.0.saturating_sub(last.turn.0);
        // the successor's first turn only took the document
        (turns <= 1).then_some(Refusal::NoNewWork)
    }

    /// A handoff of the present context at its beginning.
    pub(super) fn handoff_from(&self, new: NewHandoff, now: Timestamp) -> Handoff {
        Handoff {
            id: new.id,
            state: HandoffState::Scheduled,
            trigger: new.trigger,
            author: new.author,
            carrier: Carrier::Clear,
            from: self.generation,
            to: None,
            from_conversation: self.conversation.clone(),
            turn: self.turn,
            document: new.document,
            copy: new.copy,
            folder: new.folder,
            artifacts: Vec::new(),
            steps: Vec::new(),
            tokens_before: None,
            tokens_after: None,
            created_at: now,
            done_at: None,
            given: String::new(),
            wake: None,
            wake_text: String::new(),
            wakes: 0,
            began_at: None,
            prompted_at: None,
            in_context: None,
            clears: 0,
            relaunches: 0,
            before: self.began_with().map(str::to_owned),
            entered_at: None,
            stashed: None,
            unproven: false,
            course: Course::Forward,
            person_wait: None,
            failure: Failure::default(),
            note: new.note,
            source: new.source,
        }
    }
}

impl Session {
    // ── scheduling

    /// Whoever looks for it later finds it, and why there was none. The same refusal again in the
    /// same turn tells nothing new.
    pub(super) fn handoff_refused(&mut self, new: NewHandoff, why: &str, now: Timestamp) {
        let refusal = (self.rec.turn, why.to_owned());
        if self.last_refusal.as_ref() == Some(&refusal) {
            return;
        }
        self.last_refusal = Some(refusal);
        let text = format!("{}: {why}", HandoffState::Refused.word());
        self.record_line(EntryKind::Handoff, format!("{} {text}", new.id));
        let handoff = Handoff {
            state: HandoffState::Refused,
            done_at: Some(now),
            steps: vec![Step { at: now, text }],
            failure: Failure::Known,
            ..self.rec.handoff_from(new, now)
        };
        self.journal();
        self.changes.handoffs.push(handoff);
    }

    pub(super) fn schedule_handoff(&mut self, new: NewHandoff, guards: Guards, now: Timestamp) {
        if self.rec.handoff.as_ref().is_some_and(|h| h.id == new.id) {
            return; // asked twice
        }
        let refusal = self
            .rec
            .handoff_refusal(&self.profile, new.trigger, new.author, guards, now);
        if let Some(why) = refusal {
            self.record_line(EntryKind::Handoff, format!("{} refused: {why}", new.id));
            return;
        }
        match self.rec.open_handoff().map(|open| open.state) {
            Some(HandoffState::Prompted) => self.handoff_done("its successor hands off", now),
            Some(_) => {
                let text = format!("replaced by {}", new.id);
                self.close_handoff(HandoffState::Replaced, &text, now);
            }
            None => {}
        }
        self.rec.automatic.retain(|at| now.since(*at) < HOUR);
        if new.trigger.is_automatic() {
            self.rec.automatic.push(now);
        }
        let ended = !self.rec.state.is_live();
        if new.trigger == Trigger::Agent && !self.rec.turn_open && !ended {
            self.working("it asked for a handoff", now); // whoever asks is at work
            self.ask(now);
        }
        self.rec.handoff = Some(Box::new(self.rec.handoff_from(new, now)));
        self.preparing = None;
        if ended {
            self.hand_off_ended(now);
            return;
        }
        // what is only being looked at waits with the others
        if self
            .rec
            .flight
            .as_ref()
            .is_some_and(|f| f.phase == super::Phase::Checking)
        {
            self.drop_flight();
        }
        self.handoff_step("scheduled; it runs when the turn is over", now);
    }

    pub(super) fn cancel_handoff(&mut self, now: Timestamp) {
        let touched = self.rec.flight.as_ref().is_some_and(|flight| {
            flight.phase.touched_agent() && self.flight_purpose() == Purpose::Clear
        });
        match self
            .rec
            .open_handoff()
            .map(|open| (open.state, open.course))
        {
            Some((HandoffState::Scheduled | HandoffState::Prepared, Course::Forward))
                if !touched && !self.rec.awaits_context() =>
            {
                self.close_handoff(HandoffState::Cancelled, "cancelled before it ran", now);
            }
            Some(_) | None => {}
        }
    }

    // ── on the way

    /// What the handoff needs next, if the agent's state allows it.
    pub(super) fn advance_handoff(&mut self, now: Timestamp) {
        let Some(open) = self.rec.open_handoff() else {
            self.handoff_at = None;
            return;
        };
        let (state, course) = (open.state, open.course);
        if !self.rec.state.is_live() {
            let ended = self.rec.state == State::Exited && state == HandoffState::Prompted;
            if ended && !self.wake_is_unrecorded() {
                self.handoff_done("the successor had its prompt when it ended", now);
            }
            return; // kept: a restore goes on with it
        }
        if course.is_back() {
            self.arrived_back(now);
            return;
        }
        match state {
            HandoffState::Scheduled => self.advance_scheduled(now),
            HandoffState::Prepared if self.rec.generation > open.from => {
                self.handoff_left_context(now);
            }
            HandoffState::Prepared | HandoffState::Cleared => {}
            HandoffState::Prompted => self.advance_prompted(now),
            HandoffState::Done
            | HandoffState::Replaced
            | HandoffState::Cancelled
            | HandoffState::Abandoned
            | HandoffState::RolledBack
            | HandoffState::Refused => {}
        }
    }

    fn advance_scheduled(&mut self, now: Timestamp) {
        let flying = self.rec.flight.as_ref();
        let touched = flying.is_some_and(|flight| flight.phase.touched_agent());
        let over = self.rec.state == State::Idle
            && !self.rec.turn_open
            && !touched
            && !self.waits_for_limit();
        match self.preparing {
            None if over && flying.is_none() => self.prepare(now),
            None => {}
            Some(since) if now.since(since) >= PREPARE_PATIENCE => {
                self.handoff_step("the artifacts took too long; going on without them", now);
                self.prepared_without(now);
            }
            Some(since) => self.handoff_at = Some(since.plus(PREPARE_PATIENCE)),
        }
    }

    /// Has what goes with the document made safe.
    pub(super) fn prepare(&mut self, now: Timestamp) {
        let tokens = self.rec.gauge.own().and_then(|sample| sample.tokens);
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        handoff.tokens_before = tokens;
        handoff.began_at.get_or_insert(now);
        let id = handoff.id.clone();
        self.preparing = Some(now);
        self.handoff_at = Some(now.plus(PREPARE_PATIENCE));
        self.handoff_step("the turn is over; saving what goes with the document", now);
        self.effect(Effect::Prepare(id));
    }

    /// Nothing but the copy of the document, which was made when it was scheduled.
    pub(super) fn prepared_without(&mut self, now: Timestamp) {
        let Some((id, copy)) = self
            .rec
            .open_handoff()
            .map(|h| (h.id.clone(), h.copy.clone()))
        else {
            return;
        };
        let prepared = Prepared {
            document: copy,
            pins: self.rec.pins.clone(),
            ..Prepared::default()
        };
        self.handoff_prepared(&id, Ok(prepared), now);
    }

    pub(super) fn handoff_prepared(
        &mut self,
        id: &HandoffId,
        prepared: Result<Prepared, String>,
        now: Timestamp,
    ) {
        let waits = self
            .rec
            .open_handoff()
            .is_some_and(|h| &h.id == id && h.state == HandoffState::Scheduled);
        if !waits {
            return;
        }
        self.preparing = None;
        self.handoff_at = None;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(reason) => {
                let text = format!("its document cannot be kept safe: {reason}");
                let open = self.rec.open_handoff();
                let gone = open.is_some_and(|h| h.course == Course::Stopping);
                self.close_handoff(HandoffState::Abandoned, &text, now);
                if gone && self.rec.state == State::Starting && self.rec.process.is_none() {
                    let why = "the agent crashed, and nothing was handed off";
                    self.end(None, why.to_string(), now); // nobody starts it again
                }
                return;
            }
        };
        let name = self.rec.name.as_str();
        let content = prepared.content.as_ref();
        let text = match content {
            Some(content) => words::wake_with(name, &prepared, content),
            None => words::wake(name, &prepared),
        };
        let in_context = content.map(|content| InContext {
            characters: content.characters,
            of: content.of,
            proof: None,
        });
        let missing: Vec<String> = prepared
            .artifacts
            .iter()
            .filter_map(|a| a.problem.clone())
            .collect();
        if let Some(handoff) = self.rec.handoff.as_mut() {
            handoff.state = HandoffState::Prepared;
            handoff.artifacts = prepared.artifacts;
            handoff.given = prepared.document;
            handoff.in_context = in_context;
        }
        self.handoff_step("document and artifacts are safe", now);
        for problem in missing {
            self.handoff_step(&format!("without an artifact: {problem}"), now);
        }
        self.add_wake(text, now);
        match self.rec.handoff.as_ref().map(|h| h.course) {
            Some(Course::Stopping) if self.rec.process.is_none() => self.start_successor(now),
            Some(_) if self.left_already() => self.handoff_left_context(now),
            Some(_) => self.add_clear(now),
            None => {}
        }
    }

    fn left_already(&self) -> bool {
        self.rec
            .open_handoff()
            .is_some_and(|h| self.rec.generation > h.from)
    }

    /// The successor's first turn is over, or it goes on long enough to stand for itself.
    fn advance_prompted(&mut self, now: Timestamp) {
        let Some(open) = self.rec.open_handoff() else {
            return;
        };
        let due = open.prompted_at.unwrap_or(now).plus(FIRST_TURN);
        let taken = open.wake.as_ref().and_then(|id| self.message(id));
        let consumed = taken.is_none_or(|m| m.meta.state.is_final());
        if self.wake_is_unrecorded() {
            self.await_record(due, now);
        } else if consumed && !self.rec.turn_open {
            self.handoff_done("the successor's first turn is over", now);
        } else if now >= due {
            self.handoff_done("the successor is at work", now);
        } else {
            self.handoff_at = Some(due);
        }
    }

    /// The successor stops for the first time: who waited may speak in answer to it.
    pub(super) fn first_turn_over(&mut self, now: Timestamp) {
        self.opening_over();
        let prompted = self
            .rec
            .open_handoff()
            .is_some_and(|h| h.state == HandoffState::Prompted && !h.course.is_back());
        if prompted && self.wake_is_unrecorded() {
            let turn = self.rec.turn;
            self.wake_look.answered |= self.rec.open_handoff().is_some_and(|h| h.turn == turn);
            self.ask(now); // nobody speaks before it is known what the successor has
        } else if prompted {
            self.handoff_done("the successor's first turn is over", now);
        }
    }

    pub(super) fn handoff_done(&mut self, why: &str, now: Timestamp) {
        self.close_handoff(HandoffState::Done, why, now);
    }

    /// A first sample of the new context.
    pub(super) fn handoff_sampled(&mut self, tokens: Option<u64>) {
        let generation = self.rec.generation;
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        let after = matches!(handoff.state, HandoffState::Prompted | HandoffState::Done);
        let new = handoff.to == Some(generation) && handoff.tokens_after.is_none();
        if let (true, true, Some(tokens)) = (after, new, tokens.filter(|n| *n > 0)) {
            handoff.tokens_after = Some(tokens);
            self.handoff_changed();
        }
    }

    // ── the end

    pub(super) fn close_handoff(&mut self, state: HandoffState, why: &str, now: Timestamp) {
        let Some(handoff) = self.rec.handoff.as_mut().filter(|h| h.state.is_open()) else {
            return;
        };
        handoff.state = state;
        handoff.done_at = Some(now);
        handoff.person_wait = None;
        handoff.wake_text = String::new(); // the store has it
        let (id, document) = (handoff.id.clone(), handoff.copy.clone());
        self.preparing = None;
        self.handoff_at = None;
        self.handoff_step(&format!("{}: {why}", state.word()), now);
        self.drop_own_messages(now);
        self.recheck_at = now; // what was frozen flows again
        let name = self.rec.name.clone();
        match state {
            HandoffState::RolledBack => {
                let text = format!(
                    "handoff {id} of {name} was rolled back: {why}. Its old conversation goes on; the document is kept in {document}. See: sm handoffs show {id}"
                );
                self.tell_parent(&id, &text);
                self.notify(NoticeKind::HandoffFailed, text);
            }
            HandoffState::Abandoned => {
                let text = format!(
                    "handoff {id} of {name} was abandoned: {why}. The document is kept in {document}. See: sm handoffs show {id}"
                );
                self.tell_parent(&id, &text);
                self.notify(NoticeKind::HandoffFailed, text);
            }
            HandoffState::Done
            | HandoffState::Scheduled
            | HandoffState::Prepared
            | HandoffState::Cleared
            | HandoffState::Prompted
            | HandoffState::Replaced
            | HandoffState::Cancelled
            | HandoffState::Refused => {}
        }
    }

    /// A person has done something with the session: a failed handoff is known to them.
    pub(super) fn person_went_on(&mut self) {
        let handoff = self.rec.handoff.as_mut();
        if let Some(handoff) = handoff.filter(|h| h.state.has_failed()) {
            let before = std::mem::replace(&mut handoff.failure, Failure::Known);
            if before == Failure::Untold {
                self.journal();
            }
        }
    }

    /// The session is ended: what has not arrived does not go on.
    pub(super) fn abandon_handoff(&mut self, now: Timestamp) {
        let open = self.rec.open_handoff();
        let prompted = open.is_some_and(|h| h.state == HandoffState::Prompted);
        if prompted && self.wake_is_unrecorded() {
            // what its record says is waited for
        } else if prompted {
            self.handoff_done(
                "the successor had its prompt when the session was ended",
                now,
            );
        } else {
            self.close_handoff(HandoffState::Abandoned, "the session was ended", now);
        }
    }

    /// Enter was pressed on the successor's prompt: by the time its process has ended it is known
    /// whether it was taken.
    pub(super) fn prompt_may_be_entered(&self) -> bool {
        let flight = self.rec.flight.as_ref();
        self.rec.process.is_some()
            && self.flight_purpose() == Purpose::Wake
            && flight.is_some_and(Flight::may_be_entered)
    }

    fn tell_parent(&mut self, id: &HandoffId, text: &str) {
        let Some(to) = self.rec.parent.clone() else {
            return;
        };
        if let Some(message) = self.own_message(format!("{id}-end"), text.to_owned()) {
            self.effect(Effect::Tell { to, message });
        }
    }

    /// Its own commands and prompts that nobody has got yet.
    fn drop_own_messages(&mut self, now: Timestamp) {
        if self.flight_purpose().is_handoffs() {
            self.retract(now);
        }
        let own: Vec<MessageId> = self
            .queue
            .iter()
            .filter(|m| m.meta.purpose.is_handoffs() && !self.is_retracting(&m.meta.id))
            .filter(|m| m.meta.state.submitted().is_none()) // that one is consumed in its turn
            .map(|m| m.meta.id.clone())
            .collect();
        for id in own {
            self.set_message(&id, MessageState::Withdrawn, now);
        }
    }

    pub(super) fn add_own(&mut self, purpose: Purpose, what: &str, text: String, now: Timestamp) {
        let Some(handoff) = self.rec.handoff.as_ref() else {
            return;
        };
        let Ok(id) = MessageId::new(format!("{}-{what}", handoff.id)) else {
            return;
        };
        if self.message(&id).is_some() {
            return;
        }
        let mut new = NewMessage::of_sm(id, text, Mode::Sequential);
        new.raw = matches!(purpose, Purpose::Clear | Purpose::Back);
        self.add(Message::accepted(new, purpose, now));
        self.recheck_at = now;
    }

    /// A line in the handoff's and in the session's history.
    pub(super) fn handoff_step(&mut self, text: &str, now: Timestamp) {
        let Some(handoff) = self.rec.handoff.as_mut() else {
            return;
        };
        if handoff.steps.len() < STEPS {
            handoff.steps.push(Step {
                at: now,
                text: text.to_string(),
            });
        }
        let line = format!("{} {text}", handoff.id);
        self.record_line(EntryKind::Handoff, line);
        self.handoff_changed();
    }
}
