//! Where is the text? What a look at the agent says about the delivery under way: it is submitted,
//! it lacks its Enter, somebody else has it in hand, or it was never taken. Nothing is given again
//! as long as it may still arrive.

use super::flight::{PROOF_PATIENCE, SETTLE};
use super::rotation::Aftermath;
use super::{Flight, Phase, Session, State};
use crate::ids::Timestamp;
use crate::message::{Hold, MessageState, Proof, Purpose, Way};
use crate::profile::Input;
use crate::signal::{Activity, Composer, Evidence};
use crate::words;

/// An agent may take this long to show a paste.
pub(super) const PASTE_PATIENCE: i64 = 8_000;
/// The times between two looks at a text that waits for somebody else. What lacks its Enter is
/// mostly not drawn yet, or the end of the last turn is not: that is a matter of a few frames.
const LOOK_SOONEST: i64 = 4;
const LOOK_LONGEST: i64 = 5_000;
/// A look at the composer that took longer than this is too old for a key.
pub(super) const FRESH: i64 = 500;
/// Where the agent's record cannot be read, a proof by hook is waited for this long.
pub(super) const UNREAD_PATIENCE: i64 = 30_000;
/// An interrupted agent may take this long to become idle.
const INTERRUPT_PATIENCE: i64 = 6_000;
/// An interrupted agent shows a prompt that it took back within this time.
const TAKEN_BACK: i64 = 400;
/// An agent that is busy with something else, or a machine that is, takes what the mailbox has given
/// it only so much later, and is idle until then: given again, it would be there twice.
const MAILBOX_PATIENCE: i64 = 10_000;
/// A draft is shown to be put aside within this time.
const STASH_PATIENCE: i64 = 1_500;
/// An agent that has not read what was typed for so long does not just draw something else.
pub(super) const DEAF: i64 = 1_500;
/// … and is looked at again after this.
const DEAF_LOOK: i64 = 500;
/// Something else than our text in the composer is waited for this long.
const DIFFERS_LONGEST: i64 = 60_000;
/// Looks at a composer that does not let go of our text before the owner is told.
const ENTERS: u32 = 4;

impl Session {
    pub(super) fn flight_probed(
        &mut self,
        evidence: &Evidence,
        asked_at: Timestamp,
        now: Timestamp,
    ) {
        let Some(flight) = self.rec.flight.clone() else {
            return;
        };
        if !self.profile.reads_screen && !self.is_driven() && flight.phase.touched_agent() {
            self.unseen_probed(&flight, now);
            return;
        }
        if evidence.deaf && flight.phase.touched_agent() && !self.is_driven() {
            self.unread(&flight, now);
            return;
        }
        match flight.phase {
            Phase::Checking => self.checked(&flight, evidence, now),
            Phase::Stashing => self.stash_probed(&flight, evidence, now),
            Phase::Interrupting => self.interrupt_probed(&flight, evidence, now),
            Phase::Writing | Phase::Verifying | Phase::Entering => {
                self.composer_probed(&flight, evidence, asked_at, now);
            }
            Phase::Answered => self.answer_probed(&flight, evidence, now),
            Phase::Retracting => self.retract_probed(&flight, evidence, asked_at, now),
        }
    }

    /// It may be what we gave that lies unread before the agent. Nothing is given again, and no key
    /// is pressed, before it has read; from then on it gets its time.
    fn unread(&mut self, flight: &Flight, now: Timestamp) {
        if let Some(flight) = self.rec.flight.as_mut() {
            flight.phase_since = now;
        }
        self.missing = None;
        let since = self.deaf_since.unwrap_or(now);
        if now.since(since) >= DEAF {
            self.hold_flight(Hold::NotReading, now);
        }
        let waited = now.since(flight.since);
        self.flight_at = Some(now.plus((waited / 3).clamp(LOOK_SOONEST, DEAF_LOOK)));
    }

    fn interrupt_probed(&mut self, flight: &Flight, evidence: &Evidence, now: Timestamp) {
        let waited = now.since(flight.phase_since);
        if self.rec.state == State::Working && waited < INTERRUPT_PATIENCE {
            self.flight_at = Some(now.plus(100));
            return;
        }
        let composer = evidence.screen.as_ref().map(|screen| &screen.composer);
        let idle = self.rec.state == State::Idle;
        match (self.unspoken(), composer) {
            (Some(id), Some(Composer::Ours)) if idle => {
                // the model had said nothing yet, so the agent took the prompt back: it is ours
                self.forget_unrecorded(std::slice::from_ref(&id));
                let (way, why) = (Way::Paste, None);
                self.set_message(&id, MessageState::Written { way, why }, now);
                self.take_off(vec![id], Way::Paste, Phase::Verifying, now);
                self.look_at_flight(now);
                return;
            }
            // it may be shown a moment later
            (Some(_), Some(Composer::Empty) | None)
                if idle && now.since(self.rec.since) < TAKEN_BACK =>
            {
                self.flight_at = Some(now.plus(50));
                return;
            }
            (Some(_) | None, _) => {}
        }
        // idle: deliver as to any idle agent. Not idle: it waits like an important one.
        self.drop_flight();
        self.recheck_at = now;
        if idle {
            self.consume_submitted(now);
        }
    }

    /// The draft was to be put aside: is the composer free?
    fn stash_probed(&mut self, flight: &Flight, evidence: &Evidence, now: Timestamp) {
        let waited = now.since(flight.phase_since);
        let composer = evidence.screen.as_ref().map(|screen| &screen.composer);
        match composer {
            Some(Composer::Empty | Composer::Stashed) => {
                self.phase(Phase::Checking, now);
                self.checked(flight, evidence, now);
            }
            Some(Composer::Draft) | None if waited < STASH_PATIENCE => {
                self.flight_at = Some(now.plus(20)); // not shown yet
            }
            Some(_) | None => self.held_for_now(Hold::Draft, now),
        }
    }

    /// Our text was (perhaps) pasted: where is it?
    fn composer_probed(
        &mut self,
        flight: &Flight,
        evidence: &Evidence,
        asked_at: Timestamp,
        now: Timestamp,
    ) {
        let waited = now.since(flight.phase_since);
        let missing = self.missing.take() == Some(flight.no);
        let Some(screen) = &evidence.screen else {
            if waited >= PASTE_PATIENCE {
                self.hold_flight(Hold::UnknownScreen, now);
            }
            self.flight_at = Some(now.plus(500));
            return;
        };
        if screen.composer == Composer::Ours {
            self.settle_doubt();
        }
        let left = match screen.composer {
            Composer::Empty => true,
            Composer::Hidden => evidence.proves_idle(), // a menu of the command's own
            // it may still be a part of what stands there
            Composer::Ours
            | Composer::Draft
            | Composer::DraftOverStash
            | Composer::Stashed
            | Composer::Shell => false,
        };
        if flight.may_be_entered() && screen.composer != Composer::Ours {
            match self.flight_purpose() {
                Purpose::Clear => {
                    let left = screen.composer == Composer::Empty && evidence.proves_idle();
                    let after = match (left, evidence.contexts_read) {
                        (false, _) => Aftermath::Standing,
                        (true, false) => Aftermath::Gone,
                        (true, true) if missing => Aftermath::InVain,
                        (true, true) => {
                            self.missing = Some(flight.no); // it may have come in between
                            Aftermath::Unseen
                        }
                    };
                    self.clear_entered(after, waited, now);
                    return;
                }
                Purpose::Back => {
                    self.flight_at = Some(now.plus(200)); // the handoff looks at the time
                    return;
                }
                Purpose::Said
                | Purpose::Warning
                | Purpose::Alert
                | Purpose::Wake
                | Purpose::Resume => {}
            }
        }
        if left && flight.may_be_entered() && self.is_command(flight) && waited >= SETTLE {
            // a command of the agent: no hook and no record tells of it, and it is not run twice
            self.proven(flight.way, Proof::None, now);
            return;
        }
        let dialog = matches!(screen.activity, Activity::Waiting(_))
            || matches!(self.rec.state, State::Waiting(_));
        // its own status may lag behind its screen, but not for long: then the screen shows what is
        // over, of a process that was killed on it
        let over = evidence.proves_idle() && waited >= PASTE_PATIENCE;
        let busy = (screen.activity == Activity::Busy && !over)
            || matches!(self.rec.state, State::Working | State::Compacting);
        // what a handoff types is pasted over nothing but a stash: that alone is an empty composer
        let composer = match (&screen.composer, self.flight_purpose()) {
            (Composer::Stashed, Purpose::Clear | Purpose::Wake | Purpose::Back) => &Composer::Empty,
            (composer, _) => composer,
        };
        match composer {
            // Enter went nowhere, and meanwhile it has become too late or too early
            Composer::Ours if !dialog && self.pasted_stale_word() => self.retract(now),
            Composer::Ours if dialog || busy => {
                // a turn began under our hands: our text waits in the composer for its end
                self.look_later(flight, 500, now);
            }
            Composer::Ours if flight.tries >= ENTERS && waited < PASTE_PATIENCE => {
                self.hold_flight(Hold::NotTaken, now);
                self.flight_at = Some(now.plus(1000));
            }
            // in which context it would land is settled first
            Composer::Ours
                if self.flight_purpose().is_handoffs()
                    && (self.is_elsewhere(evidence) || self.meets_stranger(now)) =>
            {
                self.flight_at = Some(now.plus(200));
            }
            // the guard tells cursors and titles, not texts: it has to be of just now
            Composer::Ours if now.since(asked_at) > FRESH => self.look_at_flight(now),
            Composer::Ours => self.enter(Some(screen.mark.clone()), now),
            Composer::Empty if dialog || busy || !evidence.proves_idle() => {
                if !self.rests_unproven(flight, now) {
                    self.look_later(flight, 200, now); // the proof is on its way, or the turn's end is
                }
            }
            Composer::Empty => self.composer_is_empty(flight, evidence, missing, now),
            Composer::Draft | Composer::DraftOverStash | Composer::Stashed | Composer::Shell => {
                let shown = composer.clone();
                self.composer_differs(flight, &shown, now);
            }
            Composer::Hidden => {
                if waited >= PASTE_PATIENCE && !dialog && !busy {
                    self.hold_flight(Hold::UnknownScreen, now);
                }
                self.look_later(flight, 300, now);
            }
        }
    }

    /// Something else than our text stands in the composer: somebody types into it, or the agent
    /// shows our text as nobody can recognise it. What they do with it is theirs; if it is gone, we
    /// go on. Whoever waits behind it does not wait for ever.
    fn composer_differs(&mut self, flight: &Flight, shown: &Composer, now: Timestamp) {
        let waited = now.since(flight.phase_since);
        if waited < PROOF_PATIENCE {
            self.flight_at = Some(now.plus(30));
            return;
        }
        let entered = flight.may_be_entered();
        let why = match shown {
            Composer::Shell => Hold::ShellMode,
            Composer::Stashed => Hold::Stashed,
            Composer::Draft | Composer::DraftOverStash if entered => Hold::Draft,
            Composer::Draft
            | Composer::DraftOverStash
            | Composer::Empty
            | Composer::Ours
            | Composer::Hidden => Hold::NotShown,
        };
        // a turn that runs may still take it, and its end tells
        let rests_since = flight.phase_since.max(self.rec.since);
        let rests = self.rec.state == State::Idle && now.since(rests_since) >= DIFFERS_LONGEST;
        // a handoff is not given up for this: it waits for people, who are told
        if !rests || self.flight_purpose().is_handoffs() {
            self.hold_flight(why, now);
            self.look_later(flight, 1_000, now);
        } else if entered {
            let reason = "Enter was pressed, but the agent has not told of it and something else stands in its composer; it is not known whether it arrived, so it is not given again";
            self.give_up(reason, now);
        } else {
            let reason = "it was pasted, but the composer shows something else, so Enter was not pressed; it is not known whether that is still sent. Attach and look: send what stands there, or remove it and send the message again";
            self.give_up(reason, now);
        }
    }

    /// The agent counts as idle, and what can be seen of it does not prove that, so nobody can tell
    /// where the text is. People are told, and whoever waits behind it does not wait for ever. False:
    /// it has not lasted long enough to mean anything.
    fn rests_unproven(&mut self, flight: &Flight, now: Timestamp) -> bool {
        let rests_since = flight.phase_since.max(self.rec.since);
        let waited = now.since(rests_since);
        if self.rec.state != State::Idle || waited < PASTE_PATIENCE {
            return false;
        }
        // a handoff is not given up for this: it waits for people, who are told
        if waited < DIFFERS_LONGEST || self.flight_purpose().is_handoffs() {
            self.hold_flight(Hold::UnknownScreen, now);
            self.look_later(flight, 1_000, now);
        } else {
            let reason = "the agent has it, or has lost it: its screen does not show whether it is idle, and it has not told of the message; it is not known whether it arrived, so it is not given again. Attach and look";
            self.give_up(reason, now);
        }
        true
    }

    /// Our text stands in the composer: what the agent accepted was something else.
    fn settle_doubt(&mut self) {
        if let Some(flight) = self.rec.flight.as_mut().filter(|f| f.doubtful) {
            flight.doubtful = false;
            self.journal();
        }
    }

    /// The longer it waits for somebody else, the rarer it is looked at; a change of the state is
    /// looked at at once. `entered`: how soon at least, once Enter was pressed: then nothing is to
    /// be done but to wait for the proof.
    fn look_later(&mut self, flight: &Flight, entered: i64, now: Timestamp) {
        let waited = now.since(flight.phase_since);
        let soon = match flight.may_be_entered() {
            true => (waited / 4).max(entered),
            false => (waited / 3).max(LOOK_SOONEST),
        };
        self.flight_at = Some(now.plus(soon.min(LOOK_LONGEST)));
    }

    /// Neither in the composer nor in the conversation.
    fn composer_is_empty(
        &mut self,
        flight: &Flight,
        evidence: &Evidence,
        missing: bool,
        now: Timestamp,
    ) {
        let waited = now.since(flight.phase_since);
        let (patience, soon) = match flight.phase {
            // not shown yet, or shown and gone
            Phase::Writing | Phase::Verifying => {
                (PASTE_PATIENCE, (waited / 3).clamp(LOOK_SOONEST, 250))
            }
            Phase::Entering => (SETTLE, 200),
            Phase::Checking
            | Phase::Stashing
            | Phase::Interrupting
            | Phase::Answered
            | Phase::Retracting => (SETTLE, 200),
        };
        if waited < patience {
            self.flight_at = Some(now.plus(soon));
        } else if !self.rests(now) {
            self.flight_at = Some(now.plus(200));
        } else {
            self.found_nowhere(flight, evidence, missing, now);
        }
    }

    /// Idle for a while, in the same context: what the agent had in hand has come out by now.
    pub(super) fn rests(&self, now: Timestamp) -> bool {
        let since = self.rec.since.max(self.rec.context_since);
        self.rec.state == State::Idle && now.since(since) >= SETTLE
    }

    /// Twice in a row: between reading the record and looking at the screen the text may have gone
    /// from the one to the other.
    fn found_nowhere(
        &mut self,
        flight: &Flight,
        evidence: &Evidence,
        missing: bool,
        now: Timestamp,
    ) {
        // without a status the agent may be in another conversation, and its hooks were lost: what
        // was entered, or what a stranger may have taken, is then not to be found here
        let moved = flight.conversation.is_none() || flight.conversation != self.rec.conversation;
        let doubtful = evidence.status.is_none()
            && (flight.may_be_entered() || self.rec.stranger.is_some() || moved);
        if self.profile.has_transcript && (doubtful || !evidence.transcript_read) {
            if now.since(flight.phase_since) < UNREAD_PATIENCE {
                self.flight_at = Some(now.plus(1000));
            } else {
                let reason = "it left the composer, but the agent's record cannot be read; it is not known whether it arrived";
                self.give_up(reason, now);
            }
        } else if missing && flight.doubtful {
            let reason = "after Enter the agent accepted a prompt that differs from it; it is not known whether that is this message, so it is not given again. Look with: sm output";
            self.give_up(reason, now);
        } else if missing {
            self.requeue(now);
        } else {
            self.missing = Some(flight.no);
            self.flight_at = Some(now.plus(50));
        }
    }

    /// A program whose screen nobody can read: Enter once, and then it is taken for submitted.
    fn unseen_probed(&mut self, flight: &Flight, now: Timestamp) {
        let patience = match flight.phase {
            // before the text stands there Enter would leave it behind, for the next one to join
            Phase::Writing => PASTE_PATIENCE,
            Phase::Entering => PROOF_PATIENCE,
            Phase::Checking
            | Phase::Interrupting
            | Phase::Stashing
            | Phase::Verifying
            | Phase::Answered
            | Phase::Retracting => 0,
        };
        let due = flight.phase_since.plus(patience);
        if now < due {
            self.flight_at = Some(due);
        } else if flight.phase == Phase::Entering {
            self.unseen_done(Proof::None, now);
        } else {
            self.enter(None, now);
        }
    }

    /// Entered, as far as anybody can know.
    pub(super) fn unseen_done(&mut self, proof: Proof, now: Timestamp) {
        let Some(flight) = &self.rec.flight else {
            return;
        };
        if flight.unsure {
            let reason = "sm was restarted while it was typed; it is not known whether it arrived";
            self.give_up(reason, now);
        } else {
            self.proven(flight.way, proof, now);
        }
    }

    /// To give it again could double it: its sender decides.
    fn give_up(&mut self, reason: &str, now: Timestamp) {
        let Some(flight) = self.rec.flight.take() else {
            return;
        };
        self.flight_at = None;
        self.told_hold = false;
        for id in flight.messages {
            self.fail(&id, reason.to_string(), now);
        }
        self.journal();
    }

    /// Typed as it is, and a command to the agent.
    fn is_command(&self, flight: &Flight) -> bool {
        self.queue.iter().any(|m| {
            m.meta.raw
                && flight.messages.contains(&m.meta.id)
                && self.looks_like_command(&words::spoken(m))
        })
    }

    /// A hook, the mailbox or the launch line had it: is it in the conversation?
    fn answer_probed(&mut self, flight: &Flight, evidence: &Evidence, now: Timestamp) {
        let missing = self.missing.take() == Some(flight.no);
        let patience = match (flight.way, self.profile.input) {
            (Way::Mailbox, Input::Terminal) => MAILBOX_PATIENCE,
            (
                Way::Mailbox | Way::HookAnswer | Way::StopAnswer | Way::Paste | Way::LaunchArgument,
                Input::Terminal | Input::Socket,
            ) => SETTLE,
        };
        let settled = now.since(flight.phase_since) >= patience;
        let idle = self.rec.state == State::Idle && evidence.proves_idle();
        let ended = idle && self.rests(now);
        if flight.way == Way::LaunchArgument && idle && self.launch_text_waits(evidence, now) {
            return;
        }
        if settled && ended {
            self.found_nowhere(flight, evidence, missing, now);
        } else if idle {
            self.flight_at = Some(now.plus(300));
        } else if evidence.proves_idle() || !self.rests_unproven(flight, now) {
            self.flight_at = Some(now.plus(5_000)); // working: the transcript tells, or the turn's end
        }
    }

    /// A first prompt may end up in the composer instead: then it lacks its Enter, and whatever
    /// else stands there may hold it.
    fn launch_text_waits(&mut self, evidence: &Evidence, now: Timestamp) -> bool {
        let Some(screen) = &evidence.screen else {
            return false;
        };
        match screen.composer {
            Composer::Empty => false,
            Composer::Ours => {
                self.phase(Phase::Verifying, now);
                self.look_at_flight(now);
                true
            }
            Composer::Draft | Composer::DraftOverStash | Composer::Stashed | Composer::Shell => {
                if let Some(flight) = self.rec.flight.clone() {
                    let shown = screen.composer.clone();
                    self.composer_differs(&flight, &shown, now);
                }
                true
            }
            Composer::Hidden => {
                if let Some(flight) = self.rec.flight.clone()
                    && !self.rests_unproven(&flight, now)
                {
                    self.flight_at = Some(now.plus(1_000));
                }
                true
            }
        }
    }

    pub(super) fn hold_flight(&mut self, why: Hold, now: Timestamp) {
        self.set_written(Some(why.clone()), now);
        if !self.told_hold {
            self.told_hold = true;
            let text = format!(
                "a message for {} stands in its composer: {}",
                self.rec.name,
                why.explain()
            );
            self.notify(crate::NoticeKind::MessageHeld, text);
        }
    }
}
