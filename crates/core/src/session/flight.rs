//! The one delivery under way: from the look at the agent to the proof.
//!
//! A phase is journaled before its effect. After a crash the evidence decides how to go on: text in
//! the conversation is proof, text in the composer gets its Enter, text in neither was never given.

use super::{Flight, Phase, Session, State};
use crate::effect::{Effect, Key};
use crate::event::KeyOutcome;
use crate::ids::{MessageId, Timestamp};
use crate::message::{Hold, MessageState, Proof, Way};
use crate::profile::PasteFit;
use crate::signal::{Activity, Composer, Evidence, ScreenMark};
use crate::{WaiterId, words};

/// A proof that did not come in this time is looked for.
const PROOF_PATIENCE: i64 = 1_500;
/// An agent may take this long to show a paste.
const PASTE_PATIENCE: i64 = 8_000;
/// Nothing in the conversation this long after the agent had it and went idle: it was not taken.
const SETTLE: i64 = 1_500;
/// The longest time between two looks at a text that waits for somebody else.
const LOOK_LONGEST: i64 = 5_000;
/// A look at the composer that took longer than this is too old for Enter.
const ENTER_FRESH: i64 = 500;
/// Where the agent's record cannot be read, a proof by hook is waited for this long.
const UNREAD_PATIENCE: i64 = 30_000;
/// An interrupted agent may take this long to become idle.
const INTERRUPT_PATIENCE: i64 = 6_000;
/// Deliveries that did not arrive before the message fails.
const ATTEMPTS: u32 = 5;
/// Looks at a composer that does not let go of our text before the owner is told.
const ENTERS: u32 = 4;

impl Session {
    /// The text of the flight exactly as the agent gets it; the same before and after a crash.
    pub(super) fn flight_text(&self) -> Option<String> {
        let flight = self.rec.flight.as_ref()?;
        Some(self.compose(&flight.messages, flight.way))
    }

    /// What becomes of the flight's text when it is pasted; a raw one is typed as it is.
    pub(super) fn flight_fit(&self) -> Option<PasteFit> {
        let flight = self.rec.flight.as_ref()?;
        let text = self.compose(&flight.messages, flight.way);
        let raw = self
            .queue
            .iter()
            .any(|m| m.meta.raw && flight.messages.contains(&m.meta.id));
        Some(if raw {
            PasteFit::Exact { pastes: vec![text] }
        } else {
            (self.profile.paste_fit)(&text)
        })
    }

    pub(super) fn flight_pastes(&self) -> Option<Vec<String>> {
        match self.flight_fit()? {
            PasteFit::Exact { pastes } | PasteFit::Changed { pastes, .. } => Some(pastes),
            PasteFit::Command | PasteFit::Empty => self.flight_text().map(|text| vec![text]),
        }
    }

    /// What the composer holds while the flight's text stands in it.
    pub(super) fn composer_text(&self) -> Option<String> {
        match self.rec.flight.as_ref()?.way {
            Way::Paste => self.flight_pastes().map(|pastes| pastes.concat()),
            Way::HookAnswer | Way::StopAnswer | Way::Mailbox | Way::LaunchArgument => {
                self.flight_text()
            }
        }
    }

    pub(super) fn compose(&self, ids: &[MessageId], way: Way) -> String {
        let texts: Vec<String> = self
            .queue
            .iter()
            .filter(|m| ids.contains(&m.meta.id))
            .map(|m| {
                let text = words::spoken(m);
                if self.must_spill(&text, way) {
                    words::spilled(&self.spill_path(&m.meta.id), &text)
                } else {
                    text
                }
            })
            .collect();
        let text = words::merged(&texts);
        match way {
            Way::Paste | Way::LaunchArgument => words::sanitize(&text),
            Way::HookAnswer | Way::StopAnswer | Way::Mailbox => text,
        }
    }

    /// Too long for the answer to a hook: the agent is told where it is.
    pub(super) fn must_spill(&self, text: &str, way: Way) -> bool {
        match way {
            Way::HookAnswer => self
                .profile
                .hook_answer_limit
                .is_some_and(|limit| text.chars().count() > limit),
            Way::StopAnswer | Way::Mailbox | Way::Paste | Way::LaunchArgument => false,
        }
    }

    pub(super) fn spill_path(&self, id: &MessageId) -> String {
        format!("{}/messages/{id}.txt", self.folder)
    }

    pub(super) fn take_off(
        &mut self,
        messages: Vec<MessageId>,
        way: Way,
        phase: Phase,
        now: Timestamp,
    ) {
        let no = self.rec.next_flight;
        self.rec.next_flight += 1;
        if phase == Phase::Answered {
            for id in &messages {
                self.set_message(id, MessageState::Written { way }, now);
            }
        }
        self.rec.flight = Some(Flight {
            no,
            messages,
            way,
            phase,
            generation: self.rec.generation,
            conversation: self.rec.conversation.clone(),
            since: now,
            phase_since: now,
            tries: 0,
            refused: 0,
            unsure: false,
        });
        self.flight_at = match phase {
            Phase::Answered => Some(now.plus(PROOF_PATIENCE)),
            Phase::Checking
            | Phase::Interrupting
            | Phase::Writing
            | Phase::Verifying
            | Phase::Entering => None,
        };
        self.journal();
    }

    /// Nothing was touched: the messages are where they were.
    pub(super) fn drop_flight(&mut self) {
        self.rec.flight = None;
        self.flight_at = None;
        self.journal();
    }

    fn phase(&mut self, phase: Phase, now: Timestamp) {
        if let Some(flight) = self.rec.flight.as_mut() {
            flight.phase = phase;
            flight.phase_since = now;
        }
        self.journal();
    }

    /// It did not arrive: back into the queue, in its place.
    fn requeue(&mut self, now: Timestamp) {
        let Some(flight) = self.rec.flight.take() else {
            return;
        };
        self.flight_at = None;
        for id in flight.messages {
            let attempts = match self.queue.iter_mut().find(|m| m.meta.id == id) {
                Some(message) => {
                    message.meta.attempts += 1;
                    message.meta.attempts
                }
                None => continue,
            };
            if attempts >= ATTEMPTS {
                let reason = format!(
                    "the agent did not take it in {attempts} attempts; attach and look at its screen"
                );
                self.fail(&id, reason, now);
            } else {
                self.set_message(&id, MessageState::Queued, now);
            }
        }
        self.recheck_at = now.plus(200);
        self.journal();
    }

    pub(super) fn look_at_flight(&mut self, now: Timestamp) {
        if self.rec.flight.is_none() {
            return;
        }
        self.flight_at = Some(now.plus(PROOF_PATIENCE)); // the answer may get lost
        self.ask(now);
    }

    // ── results of effects

    pub(super) fn pasted(&mut self, no: u64, ok: bool, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_ref().filter(|f| f.no == no) else {
            return;
        };
        if flight.phase != Phase::Writing {
            return;
        }
        if !ok {
            self.requeue(now);
            return;
        }
        for id in flight.messages.clone() {
            self.set_message(&id, MessageState::Written { way: Way::Paste }, now);
        }
        self.phase(Phase::Verifying, now);
        if self.profile.reads_screen {
            self.look_at_flight(now);
        } else {
            self.enter(None, now);
        }
    }

    pub(super) fn pressed(&mut self, no: u64, outcome: KeyOutcome, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_ref().filter(|f| f.no == no) else {
            return;
        };
        match (flight.phase, outcome) {
            (Phase::Entering, KeyOutcome::Pressed) => {
                self.flight_at = Some(now.plus(PROOF_PATIENCE));
            }
            (Phase::Entering, KeyOutcome::ScreenMoved | KeyOutcome::Failed) => {
                self.enter_refused(now);
                self.look_at_flight(now);
            }
            (Phase::Interrupting, KeyOutcome::Pressed) => self.flight_at = Some(now.plus(100)),
            (Phase::Interrupting, KeyOutcome::ScreenMoved) => {
                for id in flight.messages.clone() {
                    self.unmark_interrupted(&id); // nothing was pressed
                }
                self.phase(Phase::Checking, now);
                self.look_at_flight(now);
            }
            (Phase::Interrupting, KeyOutcome::Failed) => {
                self.phase(Phase::Checking, now);
                self.look_at_flight(now);
            }
            (
                Phase::Checking | Phase::Writing | Phase::Verifying | Phase::Answered,
                KeyOutcome::Pressed | KeyOutcome::ScreenMoved | KeyOutcome::Failed,
            ) => {}
        }
    }

    pub(super) fn mailed(&mut self, no: u64, waiter: WaiterId, taken: bool, now: Timestamp) {
        self.waiters.retain(|w| w.id != waiter);
        if self
            .rec
            .flight
            .as_ref()
            .is_none_or(|flight| flight.no != no)
        {
            return;
        }
        if taken {
            self.flight_at = Some(now.plus(PROOF_PATIENCE));
        } else {
            self.requeue(now);
        }
    }

    /// An earlier Enter may have been the reason why the screen had moved.
    fn enter_refused(&mut self, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_mut() else {
            return;
        };
        flight.refused += 1;
        if flight.may_be_entered() {
            self.journal();
        } else {
            self.phase(Phase::Verifying, now);
        }
    }

    fn enter(&mut self, guard: Option<ScreenMark>, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_mut() else {
            return;
        };
        flight.tries += 1;
        let no = flight.no;
        self.phase(Phase::Entering, now);
        self.flight_at = Some(now.plus(PROOF_PATIENCE));
        self.effect(Effect::Press {
            flight: no,
            key: Key::Enter,
            guard,
        });
    }

    // ── proof

    /// A prompt the agent accepted, or a text in its record.
    pub(super) fn prompt_proves(&mut self, text: &str, proof: Proof, now: Timestamp) {
        let Some(flight) = &self.rec.flight else {
            return;
        };
        if !flight.phase.touched_agent() {
            return;
        }
        let way = flight.way;
        let ours = match (way, self.flight_fit()) {
            (Way::Paste, Some(PasteFit::Changed { arrives, .. })) => arrives,
            (
                Way::Paste | Way::HookAnswer | Way::StopAnswer | Way::Mailbox | Way::LaunchArgument,
                _,
            ) => self.compose(&flight.messages, way),
        };
        if words::same(text, &ours) || words::holds(text, &ours) {
            self.proven(way, proof, now);
        }
    }

    /// All the proof a program without hooks can give.
    pub(super) fn output_proves(&mut self, now: Timestamp) {
        let Some(flight) = &self.rec.flight else {
            return;
        };
        if flight.phase == Phase::Entering && !self.profile.has_transcript {
            self.unseen_done(Proof::OutputFollowed, now);
        }
    }

    fn proven(&mut self, way: Way, proof: Proof, now: Timestamp) {
        let Some(flight) = self.rec.flight.take() else {
            return;
        };
        self.flight_at = None;
        for id in flight.messages {
            if let Some(message) = self.queue.iter().find(|m| m.meta.id == id) {
                if message.meta.notify {
                    self.rec.asked.push(message.meta.from.clone());
                }
            }
            self.set_message(&id, MessageState::Submitted { way, proof }, now);
        }
        self.told_hold = false;
        if !self.rec.turn_open {
            self.ask(now); // its turn began unheard, or is already over
        }
        self.journal();
    }

    /// Whether it is the text that was just given, exactly.
    pub(super) fn is_flight_text(&self, text: &str) -> bool {
        let flight = self.rec.flight.as_ref();
        flight.is_some_and(|f| f.phase.touched_agent())
            && self
                .flight_text()
                .is_some_and(|ours| words::same(text, &ours))
    }

    pub(super) fn newest_submission(&self) -> Option<Timestamp> {
        self.queue
            .iter()
            .filter(|m| m.meta.state.reached_agent())
            .map(|m| m.meta.changed_at)
            .max()
    }

    /// The context the flight was meant for is gone; what it proved had come before.
    pub(super) fn flight_left_its_context(&mut self, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_mut() else {
            return;
        };
        // in the old record, still in the composer, or on its way to the new context: the evidence
        // will tell
        flight.generation = self.rec.generation;
        self.flight_at = Some(now.plus(100));
    }

    // ── evidence

    pub(super) fn flight_probed(
        &mut self,
        evidence: &Evidence,
        asked_at: Timestamp,
        now: Timestamp,
    ) {
        let Some(flight) = self.rec.flight.clone() else {
            return;
        };
        if !self.profile.reads_screen && flight.phase.touched_agent() {
            self.unseen_probed(&flight, now);
            return;
        }
        match flight.phase {
            Phase::Checking => self.checked(&flight, evidence, now),
            Phase::Interrupting => self.interrupt_probed(&flight, now),
            Phase::Writing | Phase::Verifying | Phase::Entering => {
                self.composer_probed(&flight, evidence, asked_at, now);
            }
            Phase::Answered => self.answer_probed(&flight, evidence, now),
        }
    }

    fn interrupt_probed(&mut self, flight: &Flight, now: Timestamp) {
        let waited = now.since(flight.phase_since);
        if self.rec.state == State::Working && waited < INTERRUPT_PATIENCE {
            self.flight_at = Some(now.plus(100));
        } else {
            // idle: deliver as to any idle agent. Not idle: it waits like an important one.
            self.drop_flight();
            self.recheck_at = now;
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
            self.flight_at = Some(now.plus(500));
            return;
        };
        let left = match screen.composer {
            Composer::Empty => true,
            Composer::Hidden => evidence.proves_idle(), // a menu of the command's own
            // it may still be a part of what stands there
            Composer::Ours | Composer::Draft | Composer::Stashed | Composer::Shell => false,
        };
        if left && flight.may_be_entered() && self.is_command(flight) && waited >= SETTLE {
            // a command of the agent: no hook and no record tells of it, and it is not run twice
            self.proven(flight.way, Proof::None, now);
            return;
        }
        let dialog = matches!(screen.activity, Activity::Waiting(_))
            || matches!(self.rec.state, State::Waiting(_));
        let busy = screen.activity == Activity::Busy || self.rec.state == State::Working;
        match screen.composer {
            Composer::Ours if dialog || busy => {
                // a turn began under our hands: our text waits in the composer for its end
                self.look_later(waited, 500, now);
            }
            Composer::Ours if flight.tries >= ENTERS && waited < PASTE_PATIENCE => {
                self.hold_flight(Hold::NotTaken, now);
                self.flight_at = Some(now.plus(1000));
            }
            // the guard tells cursors and titles, not texts: it has to be of just now
            Composer::Ours if now.since(asked_at) > ENTER_FRESH => self.look_at_flight(now),
            Composer::Ours => self.enter(Some(screen.mark.clone()), now),
            Composer::Empty if dialog || busy || !evidence.proves_idle() => {
                self.look_later(waited, 200, now); // the proof is on its way, or the turn's end is
            }
            Composer::Empty => self.composer_is_empty(flight, evidence, missing, now),
            Composer::Draft | Composer::Stashed | Composer::Shell => {
                // somebody types into it: what they do with it is theirs; if it is gone, we go on
                if waited >= PROOF_PATIENCE {
                    self.hold_flight(Hold::Draft, now);
                    self.look_later(waited, 1_000, now);
                } else {
                    self.flight_at = Some(now.plus(30));
                }
            }
            Composer::Hidden => self.look_later(waited, 300, now),
        }
    }

    /// The longer it waits for somebody else, the rarer it is looked at; a change of the state is
    /// looked at at once.
    fn look_later(&mut self, waited: i64, soonest: i64, now: Timestamp) {
        self.flight_at = Some(now.plus((waited / 4).clamp(soonest, LOOK_LONGEST)));
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
            Phase::Writing | Phase::Verifying => (PASTE_PATIENCE, (waited / 2).clamp(4, 250)),
            Phase::Entering => (SETTLE, 200),
            Phase::Checking | Phase::Interrupting | Phase::Answered => (SETTLE, 200),
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
    fn rests(&self, now: Timestamp) -> bool {
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
            && (flight.may_be_entered() || self.stranger.is_some() || moved);
        if self.profile.has_transcript && (doubtful || !evidence.transcript_read) {
            if now.since(flight.phase_since) < UNREAD_PATIENCE {
                self.flight_at = Some(now.plus(1000));
            } else {
                let reason = "it left the composer, but the agent's record cannot be read; it is not known whether it arrived";
                self.give_up(reason, now);
            }
        } else if missing {
            self.requeue(now);
        } else {
            self.missing = Some(flight.no);
            self.flight_at = Some(now.plus(50));
        }
    }

    /// A program whose screen nobody can read: Enter once, and then it is taken for submitted.
    fn unseen_probed(&mut self, flight: &Flight, now: Timestamp) {
        let due = flight.phase_since.plus(PROOF_PATIENCE);
        if flight.phase != Phase::Entering {
            self.enter(None, now);
        } else if now >= due {
            self.unseen_done(Proof::None, now);
        } else {
            self.flight_at = Some(due);
        }
    }

    /// Entered, as far as anybody can know.
    fn unseen_done(&mut self, proof: Proof, now: Timestamp) {
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
        let settled = now.since(flight.phase_since) >= SETTLE;
        let idle = self.rec.state == State::Idle && evidence.proves_idle();
        let ended = idle && self.rests(now);
        if flight.way == Way::LaunchArgument && idle && self.launch_text_waits(evidence, now) {
            return;
        }
        if settled && ended {
            self.found_nowhere(flight, evidence, missing, now);
        } else if idle {
            self.flight_at = Some(now.plus(300));
        } else {
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
            Composer::Draft | Composer::Stashed | Composer::Shell | Composer::Hidden => {
                self.flight_at = Some(now.plus(1_000));
                true
            }
        }
    }

    fn hold_flight(&mut self, why: Hold, now: Timestamp) {
        if !self.told_hold {
            self.told_hold = true;
            let text = format!(
                "a message for {} stands in its composer: {}",
                self.rec.name,
                why.explain()
            );
            self.notify(crate::NoticeKind::MessageHeld, text);
        }
        let _ = now;
    }
}
