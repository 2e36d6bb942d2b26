//! The one delivery under way: from the look at the agent to the proof.
//!
//! A phase is journaled before its effect. After a crash the evidence decides how to go on: text in
//! the conversation is proof, text in the composer gets its Enter, text in neither was never given.

use super::{Flight, MessageChange, Phase, Record, Session, State};
use crate::effect::{Effect, EntryKind, Key};
use crate::event::KeyOutcome;
use crate::ids::{MessageId, Timestamp};
use crate::message::{Hold, Message, MessageState, Proof, Purpose, Way};
use crate::profile::{Input, PasteFit};
use crate::signal::ScreenMark;
use crate::{WaiterId, comparable, framing, words};

/// A proof that did not come in this time is looked for.
pub(super) const PROOF_PATIENCE: i64 = 1_500;
/// Nothing in the conversation this long after the agent had it and went idle: it was not taken.
pub(super) const SETTLE: i64 = 1_500;
/// Deliveries that did not arrive before the message fails.
const ATTEMPTS: u32 = 5;

/// A paste that was not done is tried again after this, then twice that, up to the longest: an
/// agent that has just become idle draws a moment longer, and a screen that never rests must not
/// keep anybody busy.
const PASTE_AGAIN: i64 = 4;
const PASTE_AGAIN_LONGEST: i64 = 1_000;

/// Of what is typed for no delivery.
pub(super) const NO_FLIGHT: u64 = 0;

impl Record {
    /// Whether what was to be typed for a delivery may still be. Of one that is no more it must not reach
    /// whoever is in the terminal by now, another process with the same text as its argument perhaps.
    pub fn may_type(&self, flight: u64) -> bool {
        flight == NO_FLIGHT || self.flight.as_ref().is_some_and(|f| f.no == flight)
    }
}

impl Session {
    /// The text of the flight exactly as the agent gets it; the same before and after a crash.
    pub(super) fn flight_text(&self) -> Option<String> {
        let flight = self.rec.flight.as_ref()?;
        Some(self.compose(&flight.messages, flight.way))
    }

    /// What becomes of the flight's text when it is pasted; a raw one is typed as it is.
    pub(super) fn flight_fit(&self) -> Option<PasteFit> {
        let flight = self.rec.flight.as_ref()?;
        Some(self.fit(&flight.messages, flight.way))
    }

    /// What becomes of these messages when they are pasted.
    pub(super) fn fit(&self, messages: &[MessageId], way: Way) -> PasteFit {
        let text = self.compose(messages, way);
        let known = self.queue.iter().chain(&self.finals);
        let mut raw = known.filter(|m| m.meta.raw);
        let raw = raw.any(|m| messages.contains(&m.meta.id));
        match (self.profile.paste_fit)(&text) {
            // no other way is open to it
            PasteFit::Changed { pastes, .. }
                if raw && !text.trim_start().starts_with(['/', '!']) =>
            {
                PasteFit::Exact { pastes }
            }
            // what would make a prompt of a command is left out
            _ if raw => PasteFit::Exact { pastes: vec![text] },
            PasteFit::Command => {
                let text = framing::quoted(&text); // a line of sm's stands before it
                (self.profile.paste_as_text)(&text).unwrap_or(PasteFit::Command)
            }
            fit => fit,
        }
    }

    pub(super) fn flight_pastes(&self) -> Option<Vec<String>> {
        match self.flight_fit()? {
            PasteFit::Exact { pastes } | PasteFit::Changed { pastes, .. } => Some(pastes),
            PasteFit::Command | PasteFit::Empty => self.flight_text().map(|text| vec![text]),
        }
    }

    /// What the composer holds while the flight's text stands in it.
    pub(super) fn composer_text(&self) -> Option<String> {
        let Some(flight) = self.rec.flight.as_ref() else {
            return self.wake_put_back();
        };
        if flight.phase == Phase::Interrupting {
            let unspoken = self.unspoken()?;
            let unspoken = [unspoken];
            return Some(match self.fit(&unspoken, Way::Paste) {
                PasteFit::Exact { pastes } | PasteFit::Changed { pastes, .. } => pastes.concat(),
                PasteFit::Command | PasteFit::Empty => self.compose(&unspoken, Way::Paste),
            });
        }
        match flight.way {
            Way::Paste => self.flight_pastes().map(|pastes| pastes.concat()),
            Way::HookAnswer | Way::StopAnswer | Way::Mailbox | Way::LaunchArgument => {
                self.flight_text()
            }
        }
    }

    /// The prompt of ours that the agent has accepted and its model has not answered: an interrupt
    /// may put it back into the composer.
    pub(super) fn unspoken(&self) -> Option<MessageId> {
        let typed = |m: &&Message| {
            let submitted = m.meta.state.submitted();
            submitted.is_some_and(|(way, _)| matches!(way, Way::Paste | Way::LaunchArgument))
        };
        let newest = self.queue.iter().filter(typed);
        newest
            .max_by_key(|m| m.meta.changed_at)
            .map(|m| m.meta.id.clone())
    }

    pub(super) fn is_interrupting(&self) -> bool {
        let flight = self.rec.flight.as_ref();
        flight.is_some_and(|flight| flight.phase == Phase::Interrupting)
    }

    pub(super) fn compose(&self, ids: &[MessageId], way: Way) -> String {
        let texts: Vec<String> = self
            .queue
            .iter()
            .chain(&self.finals) // those whose record is awaited have their text
            .filter(|m| ids.contains(&m.meta.id))
            .map(|m| {
                let text = words::spoken(m);
                if self.must_spill(&text, way) {
                    words::spilled(&self.spill_path(&m.meta.id), &words::framed(m))
                } else if ids.len() > 1 {
                    words::framed(m)
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
                self.set_message(id, MessageState::Written { way, why: None }, now);
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
            doubtful: false,
            followed: false,
            erased: false,
        });
        self.flight_at = match phase {
            Phase::Answered => Some(now.plus(PROOF_PATIENCE)),
            Phase::Checking
            | Phase::Stashing
            | Phase::Interrupting
            | Phase::Writing
            | Phase::Verifying
            | Phase::Entering
            | Phase::Retracting => None,
        };
        self.journal();
    }

    /// Nothing was touched: the messages are where they were.
    pub(super) fn drop_flight(&mut self) {
        self.rec.flight = None;
        self.flight_at = None;
        self.journal();
    }

    pub(super) fn phase(&mut self, phase: Phase, now: Timestamp) {
        if let Some(flight) = self.rec.flight.as_mut() {
            flight.phase = phase;
            flight.phase_since = now;
        }
        self.journal();
    }

    /// It did not arrive: back into the queue, in its place.
    pub(super) fn requeue(&mut self, now: Timestamp) {
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

    /// The text is at the agent; `why` it gets no further, if it does not.
    pub(super) fn set_written(&mut self, why: Option<Hold>, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_ref() else {
            return;
        };
        let way = flight.way;
        for id in flight.messages.clone() {
            let why = why.clone();
            self.set_message(&id, MessageState::Written { way, why }, now);
        }
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
            // nothing was given: somebody began to type, or the terminal refused
            self.drop_flight();
            let wait = (PASTE_AGAIN << self.pastes_refused.min(8)).min(PASTE_AGAIN_LONGEST);
            self.pastes_refused = self.pastes_refused.saturating_add(1);
            self.recheck_at = now.plus(wait);
            return;
        }
        self.pastes_refused = 0;
        self.set_written(None, now);
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
                self.pressed = Some(no);
                let patience = self.clear_patience().unwrap_or(PROOF_PATIENCE);
                self.flight_at = Some(now.plus(patience));
                if !self.profile.has_transcript && self.rec.state == State::Working {
                    // it has written since the paste, so no later output will be told apart
                    self.unseen_done(Proof::None, now);
                }
            }
            (Phase::Entering, KeyOutcome::ScreenMoved | KeyOutcome::Failed) => {
                self.enter_refused(now);
                self.look_at_flight(now);
            }
            (Phase::Interrupting, KeyOutcome::Pressed) => self.flight_at = Some(now.plus(100)),
            (Phase::Interrupting, KeyOutcome::ScreenMoved) => {
                self.escaped_at = None;
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
            (Phase::Stashing, KeyOutcome::Pressed) => self.look_at_flight(now),
            (Phase::Retracting, _) => self.look_at_flight(now),
            (Phase::Stashing, KeyOutcome::ScreenMoved | KeyOutcome::Failed) => {
                self.drop_flight(); // somebody types: looked at again
                self.recheck_at = now.plus(PASTE_AGAIN);
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
            self.handed(now);
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

    pub(super) fn enter(&mut self, guard: Option<ScreenMark>, now: Timestamp) {
        let Some(flight) = self.rec.flight.as_mut() else {
            return;
        };
        flight.tries += 1;
        let no = flight.no;
        if let (Purpose::Clear, Some(handoff)) = (self.flight_purpose(), self.rec.handoff.as_mut())
        {
            handoff.entered_at.get_or_insert(now);
        }
        self.set_written(None, now);
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
    pub(super) fn prompt_proves(
        &mut self,
        text: &str,
        at: Option<Timestamp>,
        proof: Proof,
        now: Timestamp,
    ) {
        let Some(flight) = &self.rec.flight else {
            return;
        };
        // a prompt from before it took off may quote it, as the one that opens a context does with
        // what waits; the time of the flight means nothing if the clock was set back since
        if at.is_some_and(|at| at < flight.since) && flight.since <= now {
            return;
        }
        match self.flight_purpose() {
            Purpose::Said | Purpose::Warning | Purpose::Alert | Purpose::Wake | Purpose::Resume => {
            }
            Purpose::Clear | Purpose::Back => return, // proven by the context that follows
        }
        if !flight.phase.touched_agent() {
            return;
        }
        let way = flight.way;
        let entered = match way {
            Way::Paste => flight.may_be_entered(),
            Way::LaunchArgument => true, // it becomes a prompt without our Enter
            Way::Mailbox => self.profile.input == Input::Terminal,
            Way::HookAnswer | Way::StopAnswer => false,
        };
        if self.is_given(text, &flight.messages, way) {
            self.note_alterations(text);
            self.proven(way, proof, now);
        } else if entered && !flight.doubtful {
            // it may be ours, rewritten beyond recognition
            if let Some(flight) = self.rec.flight.as_mut() {
                flight.doubtful = true;
            }
            self.journal();
        }
    }

    /// What the agent made of the texts that it has now, for their receipts.
    fn note_alterations(&mut self, taken: &str) {
        let Some(flight) = &self.rec.flight else {
            return;
        };
        match flight.way {
            Way::Paste | Way::LaunchArgument | Way::Mailbox => {}
            Way::HookAnswer | Way::StopAnswer => return, // these keep every byte
        }
        let given = self.compose(&flight.messages, flight.way);
        if comparable::alteration(&given, taken).is_none() {
            return;
        }
        for message in &mut self.queue {
            if flight.messages.contains(&message.meta.id) {
                message.meta.altered = comparable::alteration(&words::spoken(message), taken);
            }
        }
    }

    /// The agent's record says what its model is told about a text: its receipt tells the sender.
    pub(super) fn labelled(&mut self, text: &str, label: &str) {
        let by_mail = |m: &Message| {
            let way = match &m.meta.state {
                MessageState::Written { way, .. }
                | MessageState::Submitted { way, .. }
                | MessageState::Consumed { way, .. } => Some(*way),
                MessageState::Queued
                | MessageState::Held { .. }
                | MessageState::Expired
                | MessageState::Withdrawn
                | MessageState::Failed { .. } => None,
            };
            way == Some(Way::Mailbox) && m.meta.label.as_deref() != Some(label)
        };
        let before = self.labelled.take();
        let again = before
            .as_ref()
            .filter(|(_, ours)| comparable::holds(text, ours));
        let is_ours = |m: &Message| {
            by_mail(m)
                && (comparable::holds(text, &m.text)
                    || again.is_some_and(|(id, _)| *id == m.meta.id))
        };
        let mut told = None;
        let mut all = self.queue.iter_mut().chain(self.finals.iter_mut().rev());
        if let Some(message) = all.find(|m| is_ours(m)) {
            message.meta.label = Some(label.to_owned());
            told = Some((message.meta.id.clone(), message.text.clone()));
        }
        let Some((id, ours)) = told else {
            self.labelled = before;
            return;
        };
        self.labelled = match before {
            Some((known, ours)) if known == id => Some((known, ours)),
            _ => Some((id.clone(), ours)),
        };
        self.journal();
        let line = format!("{id} is shown to the model labelled as {label:?}");
        self.record_line(EntryKind::Message, line);
        self.changes.messages.push(MessageChange::Changed(id));
    }

    /// What the mailbox has brought, if this prompt is it, as far as a screen has room for it: of
    /// such a prompt the agent shows people nothing but that there is one.
    pub(super) fn mailed_text(&self, prompt: &str) -> Option<String> {
        const SHOWN: usize = 1_000;
        let flight = self.rec.flight.as_ref()?;
        let text = self.given(&flight.messages, flight.way);
        let by_hook = flight.way == Way::Mailbox && self.profile.input == Input::Terminal;
        if !by_hook || !comparable::holds(prompt, &text) {
            return None;
        }
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push_str("… (all of it: sm queue --json)");
        }
        Some(shown)
    }

    /// What these messages are once they have arrived by that way.
    pub(super) fn given(&self, messages: &[MessageId], way: Way) -> String {
        match (way, self.fit(messages, way)) {
            (Way::Paste, PasteFit::Changed { arrives, .. }) => arrives,
            (
                Way::Paste | Way::HookAnswer | Way::StopAnswer | Way::Mailbox | Way::LaunchArgument,
                _,
            ) => self.compose(messages, way),
        }
    }

    /// All the proof a program without hooks can give. What it wrote before Enter was pressed is the
    /// echo of the paste.
    pub(super) fn output_proves(&mut self, now: Timestamp) {
        let Some(flight) = &self.rec.flight else {
            return;
        };
        let pressed = self.pressed == Some(flight.no);
        if flight.phase == Phase::Entering && pressed && !self.profile.has_transcript {
            self.unseen_done(Proof::OutputFollowed, now);
        }
    }

    pub(super) fn proven(&mut self, way: Way, proof: Proof, now: Timestamp) {
        let wakes = self.flight_purpose() == Purpose::Wake && self.flight_of_open_handoff();
        let Some(flight) = self.rec.flight.take() else {
            return;
        };
        self.flight_at = None;
        self.note_proven(&flight, proof, now);
        for id in flight.messages {
            if let Some(message) = self.queue.iter().find(|m| m.meta.id == id)
                && message.meta.notify
            {
                self.rec.asked.push(message.meta.from.clone());
            }
            self.set_message(&id, MessageState::Submitted { way, proof }, now);
            if flight.followed {
                self.set_message(&id, MessageState::Consumed { way, proof }, now);
            }
        }
        self.told_hold = false;
        if wakes {
            self.woken(proof, now);
        }
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
                .is_some_and(|ours| comparable::same(text, &ours))
    }

    /// What was accepted is on its way from us, or just arrived, whoever proved it.
    pub(super) fn is_ours(&self, text: &str) -> bool {
        let sent = |m: &Message| {
            comparable::holds(text, &m.text) || comparable::holds(text, &framing::quoted(&m.text))
        };
        self.is_flight_text(text) || self.queue.iter().any(sent)
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
        let generation = self.rec.generation;
        let Some(flight) = self.rec.flight.as_mut() else {
            return;
        };
        // in the old record, still in the composer, or on its way to the new context: the evidence
        // will tell
        flight.generation = generation;
        self.flight_at = Some(now.plus(100));
    }
}
