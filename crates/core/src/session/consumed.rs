//! When what the agent has counts as consumed: once its model was asked with it.

use super::flight::SETTLE;
use super::{Session, State};
use crate::ids::{MessageId, Timestamp};
use crate::message::{Message, MessageState, Purpose, Way};
use crate::words;

/// Times an agent is told to go on with what it has not read; each may wait for a person's draft.
const PROMPTS: u32 = 3;

impl Session {
    /// What the agent was given is consumed once it goes on.
    pub(super) fn consume_submitted(&mut self, now: Timestamp) {
        self.consume(|_| true, now);
    }

    fn consume(&mut self, wanted: impl Fn(Way) -> bool, now: Timestamp) {
        let done: Vec<_> = self
            .queue
            .iter()
            .filter_map(|m| Some((m.meta.id.clone(), m.meta.state.submitted()?)))
            .filter(|(_, (way, _))| wanted(*way))
            .collect();
        for (id, (way, proof)) in done {
            self.set_message(&id, MessageState::Consumed { way, proof }, now);
        }
    }

    /// A hook tells that the agent went on: with what its last Stop hook was answered, whether the
    /// record shows it already or not.
    pub(super) fn went_on(&mut self, now: Timestamp) {
        self.consume(|way| way == Way::StopAnswer, now);
        if let Some(flight) = self.rec.flight.as_mut()
            && flight.way == Way::StopAnswer
            && !flight.followed
        {
            flight.followed = true;
            self.journal_later();
        }
    }

    /// The turn is over, and no hook said so. An agent follows only so many answers to its Stop
    /// hooks in a row, those to other hooks of its among them: it writes one more down and rests,
    /// without a hook and without a word to its model.
    pub(super) fn turn_over_unheard(&mut self, now: Timestamp) {
        if !self.is_interrupting() {
            self.consume(|way| way != Way::StopAnswer, now);
        }
        self.close_turn(" (no hook said so)");
        if self.unread_answer().is_some() {
            self.ask(now);
        }
    }

    /// The agent stands idle and no turn is open: what it was given before `asked_at` is consumed,
    /// and who asked is told, even if the hooks of that turn were lost. `read`: its record was read.
    pub(super) fn settle_accounts(&mut self, read: bool, asked_at: Timestamp, now: Timestamp) {
        if self.rec.state != State::Idle || self.rec.turn_open || self.is_interrupting() {
            return;
        }
        if self.newest_submission().is_none_or(|at| at <= asked_at) {
            self.consume(|way| way != Way::StopAnswer, now);
            self.close_turn("");
            self.prompt_for_unread(read, now);
        } else {
            self.ask(now); // proven while the look was under way: this one is too old for it
        }
    }

    /// In the conversation by an answer to a Stop hook, after which nothing is known to have come.
    fn unread_answer(&self) -> Option<MessageId> {
        let unread = |m: &&Message| {
            let submitted = m.meta.state.submitted();
            submitted.is_some_and(|(way, _)| way == Way::StopAnswer)
        };
        self.queue.iter().find(unread).map(|m| m.meta.id.clone())
    }

    /// The model gets it with the next prompt. If none is on its way, the agent gets one from us.
    fn prompt_for_unread(&mut self, read: bool, now: Timestamp) {
        let Some(id) = self.unread_answer() else {
            return;
        };
        let due = |m: &Message| m.meta.state.is_pending() && m.meta.purpose == Purpose::Said;
        if self.queue.iter().any(due) {
            return;
        }
        if !read || !self.rests(now) {
            // it may be about to go on
            let again = now.plus(SETTLE);
            self.check_by(again);
            return;
        }
        // one that could not be given is followed by another: nobody else gets the agent to go on
        let mut prompts = (1..=PROMPTS).filter_map(|number| {
            let about = match number {
                1 => format!("unread-{id}"),
                _ => format!("unread{number}-{id}"),
            };
            self.own_message(about, words::UNREAD.into())
        });
        let new = prompts.find(|new| self.message(&new.id).is_none());
        if let Some(new) = new {
            let mut message = Message::accepted(new, Purpose::Said, now);
            // "the last message above" is above in this context only
            message.meta.about = Some((self.rec.generation, self.rec.compactions));
            self.add(message);
            self.recheck_at = now;
        }
    }
}
