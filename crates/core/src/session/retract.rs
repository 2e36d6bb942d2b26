//! Taking back what was typed and is no longer wanted: a clear whose context somebody else has left,
//! a prompt whose handoff has ended. It must not be left standing: it would be taken for a person's
//! draft, and whoever pressed Enter would run it.
//!
//! Only a composer that holds exactly our text is erased, guarded like every key.

use super::landing::{FRESH, PASTE_PATIENCE};
use super::{Flight, Phase, Session};
use crate::effect::{Effect, Key};
use crate::ids::Timestamp;
use crate::message::{Hold, MessageState, Proof, Purpose, Way};
use crate::signal::{Activity, Composer, Evidence};

/// Text that became part of what somebody else writes is theirs after this.
const THEIRS: i64 = 20_000;

impl Session {
    /// The delivery under way is no longer wanted.
    pub(super) fn retract(&mut self, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_ref() else {
            return;
        };
        let typed = match flight.phase {
            Phase::Writing | Phase::Verifying | Phase::Entering => flight.way == Way::Paste,
            Phase::Retracting => return,
            Phase::Checking | Phase::Stashing | Phase::Interrupting | Phase::Answered => false,
        };
        if typed && self.profile.reads_screen && self.rec.state.is_live() {
            self.phase(Phase::Retracting, now);
            self.look_at_flight(now);
        } else {
            self.retracted(now);
        }
    }

    /// Whether this message is being taken back.
    pub(super) fn is_retracting(&self, id: &crate::MessageId) -> bool {
        let flight = self.rec.flight.as_ref();
        flight.is_some_and(|f| f.phase == Phase::Retracting && f.messages.contains(id))
    }

    pub(super) fn retracted(&mut self, now: Timestamp) {
        let cleared = self.flight_purpose() == Purpose::Clear;
        let Some(flight) = self.rec.flight.take() else {
            return;
        };
        self.flight_at = None;
        let state = if cleared && flight.may_be_done() && !flight.erased {
            let (way, proof) = (flight.way, Proof::Hook); // its context is gone
            MessageState::Consumed { way, proof }
        } else {
            MessageState::Withdrawn
        };
        for id in flight.messages {
            self.set_message(&id, state.clone(), now);
        }
        self.recheck_at = now;
        self.journal();
    }

    pub(super) fn retract_probed(
        &mut self,
        flight: &Flight,
        evidence: &Evidence,
        asked_at: Timestamp,
        now: Timestamp,
    ) {
        let waited = now.since(flight.phase_since);
        let later = now.plus((waited / 4).clamp(20, 1_000));
        let Some(screen) = &evidence.screen else {
            self.flight_at = Some(later);
            return;
        };
        let dialog = matches!(screen.activity, Activity::Waiting(_));
        match screen.composer {
            Composer::Ours if dialog => self.flight_at = Some(later),
            Composer::Ours if now.since(asked_at) > FRESH => self.look_at_flight(now),
            Composer::Ours => {
                if let Some(flight) = self.rec.flight.as_mut() {
                    flight.erased = true;
                }
                self.journal();
                self.flight_at = Some(now.plus(FRESH));
                self.effect(Effect::Press {
                    flight: flight.no,
                    key: Key::Erase,
                    guard: Some(screen.mark.clone()),
                });
            }
            // it has left the composer, one way or the other
            Composer::Empty
            | Composer::Stashed
            | Composer::Draft
            | Composer::DraftOverStash
            | Composer::Shell
            | Composer::Hidden
                if flight.may_be_entered() =>
            {
                self.retracted(now);
            }
            Composer::Empty | Composer::Stashed if flight.erased || waited >= PASTE_PATIENCE => {
                self.retracted(now);
            }
            Composer::Draft | Composer::DraftOverStash | Composer::Shell if waited >= THEIRS => {
                self.retracted(now);
            }
            Composer::Empty
            | Composer::Stashed
            | Composer::Draft
            | Composer::DraftOverStash
            | Composer::Shell
            | Composer::Hidden => {
                if waited >= THEIRS {
                    self.hold_flight(Hold::UnknownScreen, now);
                }
                self.flight_at = Some(later);
            }
        }
    }
}
