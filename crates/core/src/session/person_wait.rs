//! A handoff that goes on only when a person has done something: what it waits for, since when, and
//! what becomes of it if nobody comes.
//!
//! Must never touch a person's draft: where going back would cost one, it is waited on.

use super::{Session, State};
use crate::effect::NoticeKind;
use crate::handoff::{Course, HandoffState, PersonWait};
use crate::ids::Timestamp;
use crate::message::MessageState;

/// What becomes of a handoff that nobody came for.
enum WayOut {
    /// The old context was not left: it simply goes on.
    Stay,
    /// It was left, or its agent is being started anew.
    GoBack,
}

impl Session {
    /// For how long a handoff waits for a person, in milliseconds; None: until one comes.
    pub fn set_person_timeout(&mut self, ms: Option<i64>) {
        self.person_timeout = ms;
    }

    /// There is one whose successor has not been given its prompt.
    pub(super) fn is_handoff_unfinished(&self) -> bool {
        let open = self.rec.open_handoff();
        open.is_some_and(|h| h.state != HandoffState::Prompted)
    }

    /// Keeps what the handoff waits for as it is now, and says so when it begins to wait.
    pub(super) fn note_person_wait(&mut self, now: Timestamp) {
        let needed = self.handoff_needs_person();
        let Some(handoff) = self.rec.handoff.as_ref().filter(|h| h.state.is_open()) else {
            return;
        };
        let known = handoff.person_wait.as_ref();
        if known.map(|wait| &wait.why) == needed.as_ref() {
            return;
        }
        let begins = known.is_none();
        let since = known.map_or(now, |wait| wait.since);
        let wait = needed.map(|why| PersonWait { since, why });
        let why = wait.as_ref().map(|wait| wait.why.clone());
        if let Some(handoff) = self.rec.handoff.as_mut() {
            handoff.person_wait = wait;
        }
        match why {
            Some(why) if begins => self.person_wait_begins(&why, now),
            Some(_) | None => self.handoff_changed(),
        }
    }

    fn person_wait_begins(&mut self, why: &str, now: Timestamp) {
        if self.is_waiting_for_draft() {
            self.handoff_changed();
            return; // said when it was found
        }
        self.handoff_step(&format!("waits for a person: {why}"), now);
        // a dialog that came up during the handoff says by itself that the handoff waits; so does
        // what keeps its text from being typed
        let stood_before = matches!(self.rec.state, State::Waiting(_))
            && self.rec.since < now
            && self.rec.dialog_untold.is_none();
        if stood_before {
            let name = &self.rec.name;
            let text = format!(
                "the handoff of {name} waits for you: {why}. Answer it with: sm attach {name}"
            );
            self.notify(NoticeKind::HandoffHeld, text);
        }
    }

    /// Why the handoff cannot go on without a person.
    fn handoff_needs_person(&self) -> Option<String> {
        if !self.is_handoff_unfinished() {
            return None;
        }
        match &self.rec.state {
            State::Waiting(_) => return Some(self.rec.why.clone()),
            State::Exited | State::Lost => return None, // a restore goes on, and is told of elsewhere
            State::Starting | State::Working | State::Idle | State::Compacting => {}
        }
        if self.is_waiting_for_draft() {
            let why = "a draft in its composer would be lost when the agent is started again; send or remove it";
            return Some(why.to_owned());
        }
        let own = |id| self.is_of_open_handoff(id);
        let mut held = self.queue.iter().filter(|m| own(&m.meta.id));
        held.find_map(|m| match &m.meta.state {
            MessageState::Held { why } if why.needs_person() => Some(why.explain().to_owned()),
            MessageState::Queued
            | MessageState::Held { .. }
            | MessageState::Written { .. }
            | MessageState::Submitted { .. }
            | MessageState::Consumed { .. }
            | MessageState::Expired
            | MessageState::Withdrawn
            | MessageState::Failed { .. } => None,
        })
    }

    // ── nobody comes

    /// When the old context goes on, if nobody has come by then.
    pub(super) fn person_wait_ends(&self) -> Option<Timestamp> {
        let timeout = self.person_timeout?;
        self.way_out()?;
        let wait = self.rec.open_handoff()?.person_wait.as_ref()?;
        Some(wait.since.plus(timeout))
    }

    /// How the old context can go on; None: it is being gone back to, or it is not known which context
    /// the agent is in, or a draft would be lost.
    fn way_out(&self) -> Option<WayOut> {
        let open = self.rec.open_handoff()?;
        if !self.is_handoff_unfinished() || !self.rec.state.is_live() {
            return None;
        }
        let here = self.rec.generation == open.from && self.rec.process.is_some();
        match open.course {
            Course::Back | Course::BackStopping | Course::BackStarting => None,
            Course::Forward | Course::Stopping if here => {
                (!self.may_have_cleared()).then_some(WayOut::Stay)
            }
            Course::Forward | Course::Stopping | Course::Starting => {
                (!self.drafted).then_some(WayOut::GoBack)
            }
        }
    }

    pub(super) fn give_up_on_person(&mut self, now: Timestamp) {
        if self.person_wait_ends().is_none_or(|at| now < at) {
            return;
        }
        let (Some(way_out), Some(timeout)) = (self.way_out(), self.person_timeout) else {
            return;
        };
        let wait = self.rec.open_handoff().and_then(|h| h.person_wait.clone());
        let what = wait.map(|wait| wait.why).unwrap_or_default();
        let why = format!("nobody came within {} s: {what}", timeout / 1000);
        match way_out {
            WayOut::Stay => self.close_handoff(HandoffState::RolledBack, &why, now),
            WayOut::GoBack => self.go_back(&why, now),
        }
    }
}
