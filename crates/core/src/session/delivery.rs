//! Choosing the way: by the state of the agent, the gentlest way that is open.

use super::hooks::Answered;
use super::landing::DEAF;
use super::{Flight, Phase, Session, State};
use crate::effect::{Answer, Effect, EntryKind, Handing, Key};
use crate::ids::{MessageId, RequestId, Timestamp};
use crate::message::{Hold, Message, MessageState, Mode, Purpose, Way};
use crate::profile::PasteFit;
use crate::signal::{Activity, Composer, Evidence, ScreenMark};
use crate::words;

/// A held message is looked at again after this, then twice that, up to the longest.
const RECHECK: i64 = 1_000;
const RECHECK_LONGEST: i64 = 10_000;
/// An agent shows this late that it is idle, after its hook has said so; looked at this often.
const LAG: i64 = 1_500;
const LAG_LOOK: i64 = 30;

/// A person's draft is waited for so long before a message goes in beside it.
pub(super) const DRAFT_PATIENCE: i64 = 10_000;

/// Two Escapes in this time open a menu of the agent's if its turn has just ended by itself.
const ESCAPES_APART: i64 = 2_000;

impl Session {
    /// Called at the end of every step: begins what can begin, and says why the rest waits.
    pub(super) fn deliver(&mut self, now: Timestamp) {
        if self.rec.flight.is_some() {
            return;
        }
        self.hold_frozen(now);
        let Some(next) = self.next_message() else {
            return;
        };
        if self.rec.state == State::Idle && self.is_held_by_limit(&next) {
            self.hold(Hold::Limited, now);
            return;
        }
        match self.rec.state {
            State::Exited => {
                let reason = self.exited_reason();
                self.fail_all(&reason, now);
                self.hold(Hold::NotRecorded, now); // what is left
            }
            State::Lost => self.hold(Hold::Lost, now),
            State::Starting => self.hold(Hold::Starting, now),
            State::Compacting => self.hold(Hold::Compacting, now),
            State::Waiting(_) => self.hold(Hold::WaitingForPerson, now),
            State::Working | State::Idle if self.is_driven() => self.hand_over(now),
            State::Working => {
                if self.may_interrupt(&next) && now >= self.recheck_at {
                    self.take_off(vec![next], Way::Paste, Phase::Checking, now);
                    self.look_at_flight(now);
                } else {
                    self.hold(Hold::Working, now);
                }
            }
            State::Idle => {
                if now >= self.recheck_at {
                    let together = self.with_company(next);
                    self.take_off(together, Way::Paste, Phase::Checking, now);
                    self.look_at_flight(now);
                }
            }
        }
    }

    /// A text that would be run as a command cannot be pasted alone; behind the line that numbers
    /// several messages it can. So it does not hold up the one that comes next; a raw one, which
    /// cannot be merged, waits with it, and whoever comes after that one as well.
    fn with_company(&self, first: MessageId) -> Vec<MessageId> {
        let alone = self.message(&first).is_none_or(|m| {
            let fit = self.fit(std::slice::from_ref(&first), Way::Paste);
            m.meta.raw || !self.waiters.is_empty() || fit != PasteFit::Command
        });
        let next = self.in_order().find(|m| m.meta.id != first);
        match next.filter(|m| !m.meta.raw) {
            Some(next) if !alone => vec![first, next.meta.id.clone()],
            Some(_) | None => vec![first],
        }
    }

    /// What waits, in the order in which it is given: after a limit the word to go on, then urgent
    /// ones, then as they came. Every way takes from the front, so that nobody is overtaken.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Message> {
        let pending = || {
            let waiting = self.queue.iter().filter(|m| m.meta.state.is_pending());
            let now = |m: &&Message| !self.waits_for_a_turn(m) && !self.is_doubtful(m);
            waiting.filter(|m| !self.is_frozen(m)).filter(now)
        };
        // what an agent is to go on with comes before what came meanwhile
        let rank = |m: &&Message| match (m.meta.purpose, m.meta.mode) {
            (Purpose::Resume, _) => 0,
            (_, Mode::Urgent) => 1,
            (_, Mode::Sequential | Mode::Important) => 2,
        };
        (0..3).flat_map(move |wanted| pending().filter(move |m| rank(m) == wanted))
    }

    /// An alert begins no turn of its own, which would only fill the context: it joins the next one,
    /// unless it has become urgent.
    fn waits_for_a_turn(&self, message: &Message) -> bool {
        message.meta.purpose.is_monitors()
            && message.meta.mode != Mode::Urgent
            && self.rec.state == State::Idle
    }

    /// An alert is of another context, or may be of before a compaction.
    fn is_doubtful(&self, message: &Message) -> bool {
        let here = (self.rec.generation, self.rec.compactions);
        let about = message.meta.about;
        about.is_some_and(|about| about != here || self.rec.maybe_compacted.is_some())
    }

    fn next_message(&self) -> Option<MessageId> {
        self.in_order().next().map(|m| m.meta.id.clone())
    }

    fn may_interrupt(&self, id: &MessageId) -> bool {
        self.profile.escape_interrupts
            && self
                .queue
                .iter()
                .any(|m| &m.meta.id == id && m.meta.mode == Mode::Urgent && !m.meta.interrupted)
    }

    pub(super) fn looks_like_command(&self, text: &str) -> bool {
        (self.profile.paste_fit)(text) == PasteFit::Command
    }

    /// The agent was looked at for a delivery; nothing was touched yet.
    pub(super) fn checked(&mut self, flight: &Flight, evidence: &Evidence, now: Timestamp) {
        let waits = |m: &Message| self.is_frozen(m) || self.is_doubtful(m);
        let frozen = |id: &MessageId| self.message(id).is_some_and(waits);
        if flight.messages.iter().any(frozen) {
            self.drop_flight(); // a handoff was scheduled meanwhile
            return;
        }
        match self.rec.state {
            State::Idle => self.checked_idle(flight, evidence, now),
            State::Working => self.checked_working(flight, evidence, now),
            State::Starting
            | State::Waiting(_)
            | State::Compacting
            | State::Exited
            | State::Lost => self.drop_flight(),
        }
    }

    fn checked_working(&mut self, flight: &Flight, evidence: &Evidence, now: Timestamp) {
        let urgent = flight
            .messages
            .first()
            .is_some_and(|id| self.may_interrupt(id));
        let screen = evidence.screen.as_ref();
        // while an answer streams, some agents say only in their title that they work
        let safe = evidence.idle() == Some(Activity::Busy)
            && screen.is_some_and(|s| s.composer != Composer::Hidden);
        if !urgent {
            self.drop_flight(); // it waits for a hook or the end of the turn
            return;
        }
        if !safe {
            self.held_for_now(Hold::Working, now);
            return;
        }
        if self
            .escaped_at
            .is_some_and(|at| now.since(at) < ESCAPES_APART)
        {
            self.held_for_now(Hold::Working, now);
            return;
        }
        self.escaped_at = Some(now);
        let guard = screen.map(|s| s.mark.clone());
        for id in &flight.messages {
            self.mark_interrupted(id); // one Escape per message: a second one opens menus
        }
        if let Some(flight) = self.rec.flight.as_mut() {
            flight.phase = Phase::Interrupting;
            flight.phase_since = now;
        }
        self.flight_at = Some(now.plus(500));
        self.journal();
        self.effect(Effect::Press {
            flight: flight.no,
            key: Key::Escape,
            guard,
        });
    }

    fn checked_idle(&mut self, flight: &Flight, evidence: &Evidence, now: Timestamp) {
        let Some(message) = flight
            .messages
            .first()
            .and_then(|id| self.message(id))
            .cloned()
        else {
            self.drop_flight();
            return;
        };
        if !self.profile.reads_screen {
            self.paste(flight.no, None, now);
            return;
        }
        let fit = self.flight_fit().unwrap_or(PasteFit::Empty);
        let composer = evidence
            .screen
            .as_ref()
            .map(|screen| screen.composer.clone());
        if self.is_elsewhere(evidence) {
            self.drop_flight(); // whose record would prove it is settled first
            self.recheck_at = now.plus(RECHECK);
            return;
        }
        if evidence.deaf {
            if now.since(self.deaf_since.unwrap_or(now)) < DEAF {
                self.drop_flight(); // somebody types, or it is about to draw
                self.recheck_at = now.plus(LAG_LOOK);
            } else {
                self.held_for_now(Hold::NotReading, now);
            }
            return;
        }
        if !evidence.proves_idle() {
            if self.lags(now) {
                // the hook that said so was ahead of the other signs: nobody is told yet
                self.drop_flight();
                self.recheck_at = now.plus(LAG_LOOK);
            } else {
                self.held_for_now(Hold::UnknownScreen, now);
            }
            return;
        }
        match composer {
            Some(Composer::Empty) => match fit {
                PasteFit::Command => self.mail_or_hold(&message, Hold::LooksLikeCommand, now),
                // also where the composer changes white space: the receipt says so, and the
                // mailbox, which would not, labels it as no input of the user's
                PasteFit::Exact { .. } | PasteFit::Changed { .. } | PasteFit::Empty => {
                    let guard = evidence.screen.as_ref().map(|screen| screen.mark.clone());
                    self.paste(flight.no, guard, now);
                }
            },
            // pasted before, and never taken: it only lacks its Enter
            Some(Composer::Ours) => {
                if let Some(flight) = self.rec.flight.as_mut() {
                    flight.phase = Phase::Verifying;
                    flight.phase_since = now;
                }
                self.journal();
                self.look_at_flight(now);
            }
            // a draft that was put aside in the old context comes back by itself in a moment
            Some(Composer::Stashed)
                if self.stashes_for(&message) && self.stash_returns(&message, evidence) =>
            {
                if now.since(self.rec.context_since) < LAG {
                    self.drop_flight();
                    self.recheck_at = now.plus(LAG_LOOK);
                } else {
                    self.held_for_now(Hold::Stashed, now);
                }
            }
            // what is stashed comes back with the next submit, to where it was
            Some(Composer::Stashed) if self.stashes_for(&message) => {
                let guard = evidence.screen.as_ref().map(|screen| screen.mark.clone());
                self.paste(flight.no, guard, now);
            }
            Some(Composer::Draft) if self.stashes_for(&message) => {
                let guard = evidence.screen.as_ref().map(|screen| screen.mark.clone());
                self.stash(flight.no, guard, now);
            }
            Some(Composer::Draft | Composer::DraftOverStash)
                if self.prefers_to_wait(&message, now) =>
            {
                self.held_for_now(Hold::BesideDraft, now);
            }
            Some(Composer::Draft | Composer::DraftOverStash) => {
                self.mail_or_hold(&message, Hold::Draft, now);
            }
            Some(Composer::Stashed) => self.mail_or_hold(&message, Hold::Stashed, now),
            Some(Composer::Shell) => self.mail_or_hold(&message, Hold::ShellMode, now),
            // in the middle of being drawn
            Some(Composer::Hidden) if self.lags(now) => {
                self.drop_flight();
                self.recheck_at = now.plus(LAG_LOOK);
            }
            Some(Composer::Hidden) | None => self.held_for_now(Hold::UnknownScreen, now),
        }
    }

    /// A prompt of its own is worth a little time: what comes through the mailbox is labelled by
    /// agents as not the user's. What is urgent does not wait.
    fn prefers_to_wait(&self, message: &Message, now: Timestamp) -> bool {
        let mailed = !self.waiters.is_empty() && !message.meta.raw;
        let since = match message.meta.state {
            MessageState::Held {
                why: Hold::BesideDraft,
            } => message.meta.changed_at,
            _ => now,
        };
        mailed && message.meta.mode != Mode::Urgent && now.since(since) < self.draft_patience
    }

    /// How long a draft is waited for; from the configuration, whenever that is read.
    pub fn set_draft_patience(&mut self, ms: i64) {
        self.draft_patience = ms;
    }

    /// A handoff may put a person's draft aside, where it comes back by itself.
    fn stashes_for(&self, message: &Message) -> bool {
        self.profile.stashes && message.meta.purpose.is_handoffs()
    }

    /// Whether what is stashed may come back by itself while the prompt is given, which would mix
    /// the two. With a status it has come back by the time the agent says that it is idle.
    fn stash_returns(&self, message: &Message, evidence: &Evidence) -> bool {
        let open = self.rec.open_handoff();
        let ours = open.is_some_and(|h| h.stashed == Some(self.rec.generation));
        message.meta.purpose == Purpose::Wake && evidence.status.is_none() && !ours
    }

    fn stash(&mut self, no: u64, guard: Option<ScreenMark>, now: Timestamp) {
        let generation = self.rec.generation;
        if let Some(handoff) = self.rec.handoff.as_mut() {
            handoff.stashed = Some(generation);
        }
        self.phase(Phase::Stashing, now);
        self.flight_at = Some(now.plus(2_000));
        self.record_line(
            EntryKind::Handoff,
            "a draft in the composer is put aside; it comes back by itself",
        );
        self.effect(Effect::Press {
            flight: no,
            key: Key::Stash,
            guard,
        });
    }

    /// Idle by its hook, and perhaps not yet by its other signs.
    pub(super) fn lags(&self, now: Timestamp) -> bool {
        let since = self.rec.since.max(self.rec.context_since);
        self.rec.state == State::Idle && now.since(since) < LAG
    }

    /// The agent is in a conversation that is not (yet) known to be the session's.
    pub(super) fn is_elsewhere(&self, evidence: &Evidence) -> bool {
        let status = evidence.status.as_ref();
        let seen = status.and_then(|status| status.conversation.as_ref());
        seen.is_some_and(|seen| Some(seen) != self.rec.conversation.as_ref())
    }

    fn paste(&mut self, no: u64, guard: Option<ScreenMark>, now: Timestamp) {
        let Some(pastes) = self.flight_pastes() else {
            return;
        };
        if let Some(flight) = self.rec.flight.as_mut() {
            flight.phase = Phase::Writing;
            flight.phase_since = now;
        }
        self.flight_at = Some(now.plus(2_000));
        self.journal();
        self.effect(Effect::Paste {
            flight: no,
            pastes,
            guard,
        });
    }

    /// The mailbox leaves the composer alone; without it the message waits.
    fn mail_or_hold(&mut self, message: &Message, why: Hold, now: Timestamp) {
        let waiter = self.waiters.last().cloned();
        match waiter {
            // beside a draft it would be labelled as no input of the user's, and be no word to go on
            Some(waiter) if !message.meta.raw && message.meta.purpose != Purpose::Resume => {
                self.drop_flight();
                let id = message.meta.id.clone();
                self.take_off(vec![id], Way::Mailbox, Phase::Answered, now);
                let text = self.flight_text().unwrap_or_default();
                let no = self.rec.flight.as_ref().map_or(0, |flight| flight.no);
                self.effect(Effect::Mail {
                    flight: no,
                    waiter: waiter.id,
                    text,
                    handing: Handing::Prompt,
                });
            }
            Some(_) | None => self.held_for_now(why, now),
        }
    }

    /// Whether a deadline of ours should wake the session for a message that waits.
    pub(super) fn waits_for_recheck(&self) -> bool {
        if self.rec.flight.is_some() {
            return false;
        }
        let Some(next) = self.next_message() else {
            return false;
        };
        match self.rec.state {
            State::Idle => !self.is_held_by_limit(&next),
            State::Working if self.is_driven() => self.next_handing().is_some(),
            State::Working => self.may_interrupt(&next),
            State::Starting
            | State::Waiting(_)
            | State::Compacting
            | State::Exited
            | State::Lost => false,
        }
    }

    pub(super) fn held_for_now(&mut self, why: Hold, now: Timestamp) {
        self.drop_flight();
        let wait = (RECHECK << self.rechecks.min(4)).min(RECHECK_LONGEST);
        self.rechecks = self.rechecks.saturating_add(1);
        self.recheck_at = now.plus(wait);
        self.hold(why, now);
    }

    // ── answers to hooks

    /// Important messages join the running turn.
    pub(super) fn answer_in_turn(&mut self, request: RequestId, now: Timestamp) -> Answered {
        if self.profile.hook_answer_limit.is_none() || !self.may_answer() {
            return Answered::No;
        }
        self.answer_with(request, |m| m.meta.mode != Mode::Sequential, now)
    }

    /// What the monitor has to say goes in beside a prompt, which costs nothing: a turn without
    /// tools has no other place for it.
    pub(super) fn answer_prompt(&mut self, request: RequestId, now: Timestamp) -> Answered {
        let wanted = |m: &Message| m.meta.purpose.is_monitors();
        let waits = self.in_order().any(wanted);
        if !waits || self.profile.hook_answer_limit.is_none() || !self.may_answer() {
            return Answered::No;
        }
        self.answer_with(request, wanted, now)
    }

    fn answer_with(
        &mut self,
        request: RequestId,
        wanted: impl Fn(&Message) -> bool,
        now: Timestamp,
    ) -> Answered {
        let limit = self.profile.hook_answer_limit.unwrap_or(0);
        let ids = self.fitting(
            Way::HookAnswer,
            |text| text.chars().count() <= limit,
            wanted,
        );
        if ids.is_empty() {
            return Answered::No;
        }
        for id in &ids {
            let text = self
                .queue
                .iter()
                .find(|m| &m.meta.id == id)
                .map(words::spoken);
            if let Some(text) = text.filter(|text| self.must_spill(text, Way::HookAnswer)) {
                self.effect(Effect::Spill {
                    message: id.clone(),
                    text,
                });
            }
        }
        let text = self.compose(&ids, Way::HookAnswer);
        self.take_off(ids, Way::HookAnswer, Phase::Answered, now);
        self.effect(Effect::Answer {
            request,
            answer: Answer::Context { text },
        });
        Answered::Yes
    }

    /// Whatever waits becomes the next request, merged into one: such answers are limited in a row.
    pub(super) fn answer_at_stop(&mut self, request: RequestId, now: Timestamp) -> Answered {
        let Some(stop) = self.profile.stop_answer else {
            return Answered::No;
        };
        if self.rec.stop_answers >= stop.in_a_row || !self.may_answer() {
            return Answered::No;
        }
        let fits = |text: &str| text.chars().count() <= stop.limit && (stop.exact)(text);
        // a warning goes along with others, and otherwise waits for the next turn: by itself it
        // would begin one
        let ids = self.fitting(Way::StopAnswer, fits, |_| true);
        let worth = |id: &MessageId| {
            let purpose = self.message(id).map(|m| m.meta.purpose);
            purpose.is_some_and(|purpose| purpose != Purpose::Warning)
        };
        if !ids.iter().any(worth) {
            return Answered::No;
        }
        let text = self.compose(&ids, Way::StopAnswer);
        self.rec.stop_answers += 1;
        self.take_off(ids, Way::StopAnswer, Phase::Answered, now);
        self.effect(Effect::Answer {
            request,
            answer: Answer::Continue { text },
        });
        Answered::Yes
    }

    /// A hook may be answered unless another delivery has touched the agent and is not proven.
    fn may_answer(&mut self) -> bool {
        match &self.rec.flight {
            None => true,
            Some(flight) if flight.phase.touched_agent() => false,
            // our Escape is on its way: it would end the turn that the answer begins
            Some(flight) if flight.phase == Phase::Interrupting => false,
            Some(_) => {
                self.drop_flight();
                true
            }
        }
    }

    /// The first messages that fit together. A raw one has to be typed: it and what follows it wait.
    pub(super) fn fitting(
        &self,
        way: Way,
        fits: impl Fn(&str) -> bool,
        wanted: impl Fn(&Message) -> bool,
    ) -> Vec<MessageId> {
        let mut ids: Vec<MessageId> = Vec::new();
        for message in self.in_order().filter(|m| wanted(m)) {
            if message.meta.raw {
                break;
            }
            ids.push(message.meta.id.clone());
            if !fits(&self.compose(&ids, way)) {
                ids.pop();
                break;
            }
        }
        ids
    }
}
