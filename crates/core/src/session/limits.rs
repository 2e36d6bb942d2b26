//! A provider's limit leaves an agent idle in the middle of its work. The session says until when,
//! gives the agent nothing meanwhile, and, where it is to be left alone, tells it once to go on
//! when the limit is over, unless something else has happened by then.

use super::flight::NO_FLIGHT;
use super::{Flight, Session, State};
use crate::effect::{Effect, EntryKind, Key, NoticeKind};
use crate::ids::{MessageId, Timestamp};
use crate::limit::{
    LimitPhase, LimitPolicy, Limited, ProviderLimit, ResetSource, UsageWindow, in_words, wait_until,
};
use crate::message::{Message, Purpose, Way};
use crate::signal::{Activity, Came, Evidence, PersonNeed};
use crate::words;

/// A record may tell of a limit before or after the other signs that the turn is over.
const TOLD_LATE: i64 = 10_000;
/// Windows that are kept.
const WINDOWS: usize = 8;
/// So long after Escape a dialog is gone.
const DIALOG_CLOSES: i64 = 1_500;
/// A dialog that stays after so many is one for a person.
const MOST_ESCAPES: u32 = 5;

impl Session {
    /// What is done about limits; from the configuration, whenever that is read.
    pub fn set_limits(&mut self, policy: LimitPolicy) {
        self.limits = policy;
    }

    /// Nothing is asked of the model: its provider would refuse it.
    pub(super) fn waits_for_limit(&self) -> bool {
        let limit = self.rec.limit.as_deref();
        limit.is_some_and(|limit| limit.phase == LimitPhase::Waiting)
    }

    /// Whether this message has to wait for that. The way back to an old conversation asks nobody.
    pub(super) fn is_held_by_limit(&self, id: &MessageId) -> bool {
        let asks = |message: &Message| message.meta.purpose != Purpose::Back;
        self.waits_for_limit() && self.message(id).is_none_or(asks)
    }

    /// When a limit is looked at.
    pub(super) fn limit_at(&self) -> Option<Timestamp> {
        let limit = self.rec.limit.as_deref()?;
        match limit.phase {
            LimitPhase::Waiting => Some(limit.until),
            LimitPhase::Trying => self.tried_at(),
            LimitPhase::Due | LimitPhase::Over => None,
        }
    }

    /// The turn that went on has ended, and so long the record may tell of the same limit again.
    fn tried_at(&self) -> Option<Timestamp> {
        let ended = self.rec.state == State::Idle && !self.rec.turn_open;
        ended.then(|| self.rec.since.plus(TOLD_LATE))
    }

    /// The turn that has just ended was refused by the provider.
    pub(super) fn met_limit(&mut self, limit: ProviderLimit, now: Timestamp) {
        if self.has_met_limit() {
            self.refine(Some(limit), now); // hook and record tell of the same one, in any order
            return;
        }
        let again = self
            .rec
            .limit
            .take()
            .filter(|before| before.phase == LimitPhase::Trying);
        let tries = again.map_or(0, |before| before.tries + 1);
        self.limit_escapes = 0;
        if self.limits.resume {
            let soon = now.plus(DIALOG_CLOSES); // it may ask what to do now
            self.check_by(soon);
        }
        let spread = self.spread(tries);
        let limit = limit.among(&self.rec.windows, now);
        let (until, source) = wait_until(&limit, tries, spread, now);
        let kind = limit.kind;
        let goes_on = self.limits.resume && tries < self.limits.tries;
        let prompt = match goes_on {
            true => self.prompt_to_go_on(&limit, tries, now),
            false => None,
        };
        let how_long = in_words(until.since(now));
        let name = &self.rec.name;
        let rest = match (&prompt, self.limits.resume) {
            (Some(id), _) => format!(
                "It is told to go on in about {how_long}; to cancel that: sm queue rm {name} {id}"
            ),
            (None, true) => format!(
                "It was told to go on {tries} times and met the limit again: it is not told again by itself. Tell it to go on with: sm send {name} \"continue\""
            ),
            (None, false) => format!(
                "It should be over in about {how_long}. Tell it to go on then with: sm send {name} \"continue\"; to have sm do that, set limits.resume"
            ),
        };
        let text = format!("{name} stands still: {}. {rest}", kind.told());
        self.record_line(
            EntryKind::State,
            format!(
                "limited ({}, by {}) for about {how_long}: {}",
                kind.word(),
                source.word(),
                limit.text
            ),
        );
        // a provider that is met again and again is told of once
        if tries == 0 || prompt.is_none() {
            self.notify(NoticeKind::Limited, text);
        }
        self.rec.limit = Some(Box::new(Limited {
            limit,
            phase: LimitPhase::Waiting,
            turn: self.rec.turn,
            since: now,
            until,
            source,
            tries,
            prompt,
        }));
        let looking = self.rec.flight.as_ref();
        if looking.is_some_and(|flight| !flight.phase.touched_agent()) {
            self.drop_flight();
        }
        self.journal();
    }

    /// A number that differs between sessions, and from try to try.
    fn spread(&self, tries: u32) -> u64 {
        let bytes = self.rec.id.as_str().bytes();
        bytes.fold(u64::from(tries) + 1, |sum, byte| {
            sum.wrapping_mul(1_000_003).wrapping_add(u64::from(byte))
        })
    }

    /// Whether this may be the question what to do about the limit, which is not for a person where
    /// the session is left alone.
    pub(super) fn may_ask_about_limit(&self, activity: &Activity) -> bool {
        let question = matches!(
            activity,
            Activity::Waiting(PersonNeed::Question | PersonNeed::Limit)
        );
        question && self.answers_limit_dialog()
    }

    fn answers_limit_dialog(&self) -> bool {
        let holds = self.rec.limited().is_some();
        holds && self.limits.resume && self.rec.state == State::Idle
    }

    /// Some agents ask what to do about a limit. They wait for its end if the question is left, and
    /// so it is left where nobody is to be asked. True: it is looked at again.
    pub(super) fn closes_limit_dialog(&mut self, evidence: &Evidence, now: Timestamp) -> bool {
        let Some(screen) = &evidence.screen else {
            return false;
        };
        let asks = screen.activity == Activity::Waiting(PersonNeed::Limit);
        if !asks || !self.answers_limit_dialog() || self.limit_escapes >= MOST_ESCAPES {
            return false;
        }
        let again = now.plus(DIALOG_CLOSES);
        self.check_by(again);
        let pressed = self.escaped_at;
        if pressed.is_none_or(|at| now.since(at) >= DIALOG_CLOSES) {
            self.escaped_at = Some(now);
            self.limit_escapes += 1;
            self.record_line(
                EntryKind::State,
                "its question about the limit was left: nobody is to be asked",
            );
            self.effect(Effect::Press {
                flight: NO_FLIGHT,
                key: Key::Escape,
                guard: Some(screen.mark.clone()),
            });
        }
        true
    }

    /// Its id is that of the turn and the try: after a crash it is the same message.
    fn prompt_to_go_on(
        &mut self,
        limit: &ProviderLimit,
        tries: u32,
        now: Timestamp,
    ) -> Option<MessageId> {
        let about = format!("resume{}-{tries}", self.rec.turn.0);
        let new = self.own_message(about, words::resume_after(limit.kind))?;
        let id = new.id.clone();
        if self.message(&id).is_none() {
            let mut message = Message::accepted(new, Purpose::Resume, now);
            message.meta.about = Some((self.rec.generation, self.rec.compactions));
            self.add(message);
        }
        Some(id)
    }

    /// The limit of this turn is known already.
    fn has_met_limit(&self) -> bool {
        let known = self.rec.limit.as_deref();
        known.is_some_and(|known| known.turn == self.rec.turn && known.phase != LimitPhase::Trying)
    }

    /// The record tells of a limit, late or again.
    pub(super) fn limit_read(
        &mut self,
        limit: ProviderLimit,
        at: Option<Timestamp>,
        now: Timestamp,
    ) {
        let began = self.rec.turn_since.max(Some(self.rec.context_since));
        // (what was told in its first moment is of the turn before)
        let at = at.filter(|at| Some(*at) > began);
        if self.has_met_limit() {
            self.met_limit(limit, now);
            self.date_limit(at);
            return;
        }
        // its end was known by another sign, and not yet why
        let idle = self.rec.state == State::Idle && !self.rec.turn_open;
        let of_this_turn = at.is_some_and(|at| {
            at.plus(TOLD_LATE) >= self.rec.last_signal && at <= now.plus(TOLD_LATE)
        });
        if idle && of_this_turn {
            let why = format!("the turn ended: {}", limit.kind.told());
            self.met_limit(limit, now);
            self.date_limit(at);
            self.become_state(State::Idle, why, now);
        }
    }

    /// What the record shows behind the end of the turn has come after it.
    fn date_limit(&mut self, at: Option<Timestamp>) {
        if let (Some(limit), Some(at)) = (self.rec.limit.as_mut(), at)
            && at < limit.since
        {
            limit.since = at;
            self.journal();
        }
    }

    /// How much of the provider's windows is used.
    pub(super) fn windows_told(&mut self, mut windows: Vec<UsageWindow>, now: Timestamp) {
        windows.truncate(WINDOWS);
        if windows == self.rec.windows {
            return;
        }
        self.rec.windows = windows;
        self.journal_later();
        self.refine(None, now);
    }

    /// A surer word for when the limit ends than there was, or that the agent goes on by itself.
    fn refine(&mut self, told: Option<ProviderLimit>, now: Timestamp) {
        let Some(known) = self.rec.limit.as_deref() else {
            return;
        };
        if known.phase != LimitPhase::Waiting {
            return;
        }
        let mut limit = known.limit.clone();
        if let Some(told) = told {
            let is_surer = |(_, source): &(_, ResetSource)| {
                let before = limit.resets_at.map(|(_, source)| source);
                before.is_none_or(|before| *source < before)
            };
            limit.resets_at = told.resets_at.filter(is_surer).or(limit.resets_at);
            limit.continues_itself |= told.continues_itself;
        }
        let limit = limit.among(&self.rec.windows, now);
        if limit == known.limit {
            return;
        }
        let tries = known.tries;
        let since = known.since.max(now);
        let (until, source) = wait_until(&limit, tries, self.spread(tries), since);
        if source == ResetSource::Assumed {
            return;
        }
        if let Some(known) = self.rec.limit.as_mut() {
            known.limit = limit;
            known.until = until;
            known.source = source;
        }
        let line = format!(
            "the limit ends in about {}, by {}",
            in_words(until.since(now)),
            source.word()
        );
        self.record_line(EntryKind::State, line);
        self.journal();
    }

    /// At the end of every step: the time has come, or nobody is left who would go on.
    pub(super) fn follow_limit(&mut self, now: Timestamp) {
        let Some(known) = self.rec.limit.as_mut() else {
            return;
        };
        if known.source == ResetSource::Assumed && now < known.since {
            // the clock was set back: a pause is as long as it was
            let back = known.since.since(now);
            known.since = now;
            known.until = known.until.plus(-back);
            self.journal();
        }
        let Some(known) = self.rec.limit.as_deref() else {
            return;
        };
        let tried = known.phase == LimitPhase::Trying;
        if tried && self.tried_at().is_some_and(|at| now >= at) {
            self.drop_limit(); // its end was not told by a hook
            return;
        }
        if known.phase == LimitPhase::Waiting && now >= known.until {
            self.set_limit_phase(LimitPhase::Due);
            self.record_line(EntryKind::State, "the limit should be over");
            self.rechecks = 0;
            self.recheck_at = now;
        }
        let due = self.rec.limit.as_deref().map(|limit| limit.phase) == Some(LimitPhase::Due);
        if due && self.rec.state == State::Idle && !self.has_word_to_go_on() {
            self.set_limit_phase(LimitPhase::Over);
            let name = &self.rec.name;
            let text = format!(
                "{name} stands still since it met a limit of its provider, which should be over. Tell it to go on with: sm send {name} \"continue\""
            );
            self.notify(NoticeKind::Limited, text);
            let why =
                "it met its provider's limit, which should be over; nobody has told it to go on";
            self.become_state(State::Idle, why, now);
        }
    }

    /// Whether something waits, or is on its way, that begins a turn.
    fn has_word_to_go_on(&self) -> bool {
        let begins = |m: &Message| {
            let to_come = m.meta.state.is_pending() || !m.meta.state.is_final();
            to_come && !m.meta.purpose.is_monitors()
        };
        self.rec.flight.is_some()
            || self.rec.open_handoff().is_some()
            || self.queue.iter().any(begins)
    }

    fn set_limit_phase(&mut self, phase: LimitPhase) {
        if let Some(limit) = self.rec.limit.as_mut() {
            limit.phase = phase;
        }
        self.journal();
    }

    /// A turn begins after a limit: by our word to go on, or because of something else.
    pub(super) fn turn_began_at_limit(&mut self) {
        let Some(limit) = self.rec.limit.as_deref() else {
            return;
        };
        let flying = self.rec.flight.as_ref();
        let ours = limit.prompt.as_ref().is_some_and(|id| {
            let given = self.message(id);
            let given = given.is_some_and(|m| m.meta.state.reached_agent());
            let entered = flying.is_some_and(|f| f.may_be_done() && f.messages.contains(id));
            (given || entered) && limit.holds()
        });
        match ours {
            true => self.set_limit_phase(LimitPhase::Trying),
            false => self.drop_limit(),
        }
    }

    /// The record shows a prompt that no hook has told of.
    pub(super) fn prompt_recorded_at_limit(&mut self, came: Came, at: Option<Timestamp>) {
        let holds = self.rec.limited().map(|limit| limit.since);
        if holds.is_some_and(|since| at.is_some_and(|at| at >= since)) && came == Came::Prompt {
            self.turn_began_at_limit();
        }
    }

    /// Nobody tells the agent to go on by itself: a person is told instead.
    pub(super) fn words_to_go_on_cancelled(&mut self, id: &MessageId) {
        if let Some(limit) = self.rec.limit.as_mut()
            && limit.prompt.as_ref() == Some(id)
        {
            limit.prompt = None;
            self.journal();
        }
    }

    /// The turn has ended well, or in a way that no time heals.
    pub(super) fn limit_is_over(&mut self) {
        if self.rec.limit.is_some() {
            self.drop_limit();
        }
    }

    /// Another process, or none.
    pub(super) fn leave_limit(&mut self, now: Timestamp) {
        self.limit_is_over();
        self.withdraw_stale_words(now);
    }

    fn drop_limit(&mut self) {
        self.rec.limit = None;
        self.journal();
    }

    /// Words to go on after a limit that is no more were pasted, and may stand in the composer.
    pub(super) fn pasted_stale_word(&self) -> bool {
        let limit = self.rec.limit.as_deref();
        let wanted = limit.and_then(|limit| limit.prompt.as_ref());
        let stale = |flight: &Flight| {
            let pasted = flight.way == Way::Paste && flight.phase.touched_agent();
            pasted && flight.messages.len() == 1 && flight.messages.first() != wanted
        };
        self.flight_purpose() == Purpose::Resume && self.rec.flight.as_ref().is_some_and(stale)
    }

    /// Words to go on after a limit that is no more: something else has happened.
    pub(super) fn withdraw_stale_words(&mut self, now: Timestamp) {
        let wanted = self.rec.limit.as_deref().and_then(|l| l.prompt.clone());
        let stale =
            |m: &Message| m.meta.purpose == Purpose::Resume && Some(&m.meta.id) != wanted.as_ref();
        if self.flight_purpose() == Purpose::Resume {
            let flying = self.rec.flight.as_ref();
            let entered = flying.is_some_and(Flight::may_be_entered);
            if !entered && self.pasted_stale_word() {
                self.retract(now); // it stands in the composer, and nobody has pressed Enter
            }
            return;
        }
        if self.queue.iter().any(stale) {
            self.withdraw_all(stale, now);
        }
    }
}
