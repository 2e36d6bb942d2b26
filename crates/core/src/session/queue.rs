//! Messages coming in, being held, expiring and being withdrawn.

use super::{Session, State};
use crate::effect::NoticeKind;
use crate::handoff::HandoffState;
use crate::ids::{MessageId, Timestamp};
use crate::message::{Hold, Message, MessageState, Mode, NewMessage, Purpose, Sender, Way};
use crate::{Effect, comparable, words};

/// Such a text is submitted by no agent, and would wait in its composer for an Enter.
const NOTHING_TO_READ: &str =
    "there is nothing in it to be read: only control characters, invisible ones or white space";

impl Session {
    /// The same id is the same message: a repeat changes nothing.
    pub(super) fn send(&mut self, new: NewMessage, now: Timestamp) {
        if self.message(&new.id).is_some() {
            return;
        }
        let id = new.id.clone();
        let mut refused = false;
        match new.from {
            Sender::Person => self.person_went_on(),
            Sender::Session { .. } => refused = new.raw,
            Sender::Sm => {}
        }
        self.add(Message::accepted(new, Purpose::Said, now));
        if refused {
            self.fail(&id, words::RAW_REFUSED.into(), now);
            return;
        }
        if self.rec.state == State::Exited {
            self.fail(&id, self.exited_reason(), now);
            return;
        }
        if self
            .message(&id)
            .is_some_and(|m| comparable::is_blank(&m.text))
        {
            self.fail(&id, NOTHING_TO_READ.into(), now);
            return;
        }
        if !matches!(self.rec.state, State::Idle) || self.rec.flight.is_some() {
            return;
        }
        self.recheck_at = now; // somebody is waiting: look at once, whatever the back-off says
    }

    pub(super) fn withdraw(&mut self, id: &MessageId, now: Timestamp) {
        let in_flight = self
            .rec
            .flight
            .as_ref()
            .is_some_and(|flight| flight.messages.contains(id) && flight.phase.touched_agent());
        let pending = self
            .message(id)
            .is_some_and(|m| m.meta.state.is_pending() && !m.meta.purpose.is_handoffs());
        if in_flight || !pending {
            return; // too late: the receipt says how far it is
        }
        if self
            .rec
            .flight
            .as_ref()
            .is_some_and(|flight| flight.messages.contains(id))
        {
            self.drop_flight();
        }
        self.set_message(id, MessageState::Withdrawn, now);
        self.words_to_go_on_cancelled(id);
    }

    /// Those whose time may run out: what is being delivered is let finish.
    fn may_expire(&self) -> impl Iterator<Item = &Message> {
        let flying: &[MessageId] = self.rec.flight.as_ref().map_or(&[], |f| &f.messages);
        self.queue
            .iter()
            .filter(|m| m.meta.state.is_pending() && !flying.contains(&m.meta.id))
    }

    pub(super) fn next_expiry(&self) -> Option<Timestamp> {
        self.may_expire().filter_map(|m| m.meta.expires_at).min()
    }

    pub(super) fn expire(&mut self, now: Timestamp) {
        let due: Vec<MessageId> = self
            .may_expire()
            .filter(|m| m.meta.expires_at.is_some_and(|at| at <= now))
            .map(|m| m.meta.id.clone())
            .collect();
        for id in due {
            self.set_message(&id, MessageState::Expired, now);
        }
    }

    /// A working agent takes an important message sooner than a sequential one.
    fn why_held(&self, id: &MessageId, why: &Hold) -> Hold {
        let joins_turn = self.profile.hook_answer_limit.is_some()
            && self
                .queue
                .iter()
                .any(|m| &m.meta.id == id && m.meta.mode != Mode::Sequential && !m.meta.raw);
        let frozen = self
            .queue
            .iter()
            .any(|m| &m.meta.id == id && self.is_frozen(m));
        let returned = self.message(id).is_some_and(|m| m.meta.returned);
        match why {
            _ if frozen => Hold::HandingOff,
            Hold::Lost if returned => Hold::NotRecorded,
            Hold::Working if joins_turn => Hold::NextHook,
            other => other.clone(),
        }
    }

    /// What waits for a handoff says so from the moment on at which it was scheduled.
    pub(super) fn hold_frozen(&mut self, now: Timestamp) {
        if self.rec.open_handoff().is_none() && self.rec.opening.is_none() {
            return;
        }
        let frozen: Vec<MessageId> = self
            .queue
            .iter()
            .filter(|m| m.meta.state.is_pending() && self.is_frozen(m))
            .filter(|m| !m.meta.purpose.is_handoffs())
            .map(|m| m.meta.id.clone())
            .collect();
        for id in frozen {
            let why = Hold::HandingOff;
            self.set_message(&id, MessageState::Held { why }, now);
        }
    }

    /// Says of every message that waits why it waits.
    pub(super) fn hold(&mut self, why: Hold, now: Timestamp) {
        let waiting: Vec<MessageId> = self
            .queue
            .iter()
            .filter(|m| m.meta.state.is_pending())
            .map(|m| m.meta.id.clone())
            .collect();
        if waiting.is_empty() {
            return;
        }
        for id in &waiting {
            let why = self.why_held(id, &why);
            self.set_message(id, MessageState::Held { why }, now);
        }
        let needs_person = why.needs_person();
        if needs_person && !self.told_hold && self.rec.open_handoff().is_some() {
            self.told_hold = true;
            let name = &self.rec.name;
            let text = format!("the handoff of {name} waits: {}", why.explain());
            self.notify(NoticeKind::HandoffHeld, text);
        } else if needs_person && !self.told_hold {
            self.told_hold = true;
            let text = format!(
                "{} message(s) for {} wait: {}",
                waiting.len(),
                self.rec.name,
                why.explain()
            );
            self.notify(NoticeKind::MessageHeld, text);
        }
    }

    /// Whether a message is about to begin a turn: it waits for nobody, so an agent that is idle is
    /// not idle for long.
    pub fn has_message_due(&self) -> bool {
        let said = |m: &&Message| m.meta.purpose == Purpose::Said;
        self.queue.iter().filter(said).any(|m| match &m.meta.state {
            MessageState::Queued => true,
            // the reason is of before, and is over once the agent is idle
            MessageState::Held { why } => !why.needs_person() && *why != Hold::NotReached,
            MessageState::Written { why, .. } => why.is_none(),
            // it has it, and its turn was not heard to begin; what a Stop hook was answered may
            // wait for another prompt
            MessageState::Submitted { way, .. } => *way != Way::StopAnswer,
            MessageState::Consumed { .. }
            | MessageState::Expired
            | MessageState::Withdrawn
            | MessageState::Failed { .. } => false,
        })
    }

    pub(super) fn fail(&mut self, id: &MessageId, reason: String, now: Timestamp) {
        let Some(message) = self.queue.iter().find(|m| &m.meta.id == id) else {
            return;
        };
        let from = message.meta.from.clone();
        let purpose = message.meta.purpose;
        let text = format!(
            "message {id} to {} was not delivered: {reason}",
            self.rec.name
        );
        self.set_message(id, MessageState::Failed { reason }, now);
        match from {
            Sender::Person => self.notify(NoticeKind::MessageFailed, text),
            Sender::Session { id: to, .. } => {
                let message = self.own_message(format!("fail-{id}"), format!("your {text}"));
                if let Some(message) = message {
                    self.effect(Effect::Tell { to, message });
                }
            }
            Sender::Sm if self.is_of_open_handoff(id) => self.own_delivery_failed(purpose, now),
            Sender::Sm => {}
        }
    }

    pub(super) fn fail_all(&mut self, reason: &str, now: Timestamp) {
        let ids: Vec<MessageId> = self
            .queue
            .iter()
            .filter(|m| m.meta.state.is_pending() && !m.meta.returned)
            .map(|m| m.meta.id.clone())
            .collect();
        for id in ids {
            self.fail(&id, reason.to_string(), now);
        }
    }

    /// A message of `sm` itself. The id is derived from what it is about, so that after a crash
    /// the same notice is the same message; whatever it says, it is known by [`words::is_of_sm`].
    pub(super) fn own_message(&self, about: String, text: String) -> Option<NewMessage> {
        let mut id = format!("{}-{about}", self.rec.id);
        id.truncate(64);
        let id = MessageId::new(id).ok()?;
        let text = match words::is_of_sm(&text) {
            true => text,
            false => words::notice(&text),
        };
        Some(NewMessage::of_sm(id, text, Mode::Sequential))
    }

    /// Tells everybody who asked that the turn has ended: once per turn and asker.
    pub(super) fn tell_turn_ended(&mut self, how: &str) {
        let asked = std::mem::take(&mut self.rec.asked);
        let reply = self.reply.take();
        let mut told: Vec<Sender> = Vec::new();
        let hands_off = self
            .rec
            .open_handoff()
            .is_some_and(|h| h.state == HandoffState::Scheduled);
        let how = if hands_off {
            format!("{how}, and it ended in a handoff to a fresh context")
        } else {
            how.to_string()
        };
        for sender in asked {
            if told.contains(&sender) {
                continue;
            }
            let text = words::turn_ended(self.rec.name.as_str(), &how, reply.as_deref());
            match &sender {
                Sender::Session { id, .. } => {
                    let about = format!("turn{}-{id}", self.rec.turn.0);
                    if let Some(message) = self.own_message(about, text) {
                        self.effect(Effect::Tell {
                            to: id.clone(),
                            message,
                        });
                    }
                }
                Sender::Person => self.notify(NoticeKind::TurnEnded, text),
                Sender::Sm => {}
            }
            told.push(sender);
        }
    }
}
