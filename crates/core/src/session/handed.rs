//! Texts for an agent that is driven over its socket: it keeps a request open and is given what
//! waits, also inside a turn. Nothing is typed, no screen is read, and a draft is never touched.
//!
//! The proof is the agent's own word or its record, as for every other way.

use super::{Phase, Session, State};
use crate::effect::{Effect, Handing};
use crate::ids::{MessageId, Timestamp, WaiterId};
use crate::message::{Hold, Mode, Proof, Purpose, Way};
use crate::profile::Input;
use crate::words;

/// Messages that wait go together up to so many bytes.
const TOGETHER: usize = 256 * 1024;

impl Session {
    pub(super) fn is_driven(&self) -> bool {
        self.profile.input == Input::Socket
    }

    /// Gives the agent what it can be given now.
    pub(super) fn hand_over(&mut self, now: Timestamp) {
        let Some((ids, handing)) = self.next_handing() else {
            if self.rec.state == State::Working {
                self.hold(Hold::Working, now);
            }
            return;
        };
        if now < self.recheck_at {
            return;
        }
        let Some(waiter) = self.waiters.last().cloned() else {
            self.held_for_now(Hold::NotReached, now);
            return;
        };
        self.take_off(ids, Way::Mailbox, Phase::Answered, now);
        let text = self.flight_text().unwrap_or_default();
        let flight = self.rec.flight.as_ref().map_or(0, |flight| flight.no);
        self.effect(Effect::Mail {
            flight,
            waiter: waiter.id,
            text,
            handing,
        });
    }

    /// What goes next and how: everything that may be said now, as one text. What is typed as it is
    /// goes alone, and never into a turn.
    pub(super) fn next_handing(&self) -> Option<(Vec<MessageId>, Handing)> {
        let idle = self.rec.state == State::Idle;
        let joins = |mode: Mode| idle || mode != Mode::Sequential;
        let first = self.in_order().find(|m| joins(m.meta.mode))?;
        if first.meta.raw {
            return idle.then(|| (vec![first.meta.id.clone()], Handing::Command));
        }
        let first = first.meta.id.clone();
        let fits = |text: &str| text.len() <= TOGETHER;
        let mut ids = self.fitting(Way::Mailbox, fits, |m| joins(m.meta.mode));
        if ids.is_empty() {
            ids.push(first);
        }
        let urgent = |id: &MessageId| {
            self.message(id)
                .is_some_and(|m| m.meta.mode == Mode::Urgent)
        };
        let handing = match idle {
            true => Handing::Prompt,
            false if ids.iter().any(urgent) => Handing::Interrupt,
            false => Handing::Steer,
        };
        Some((ids, handing))
    }

    /// The agent has understood it and will not do it: giving it again would change nothing.
    pub(super) fn mail_refused(&mut self, no: u64, waiter: WaiterId, reason: &str, now: Timestamp) {
        self.waiters.retain(|w| w.id != waiter);
        let Some(flight) = self.rec.flight.take_if(|flight| flight.no == no) else {
            return;
        };
        self.flight_at = None;
        for id in flight.messages {
            self.fail(&id, format!("the agent refused it: {reason}"), now);
        }
        self.recheck_at = now;
        self.journal();
    }

    /// The agent has the text. What it was told to do, and not to say to its model, is in no record:
    /// that it was taken is all that can be known.
    pub(super) fn handed(&mut self, now: Timestamp) {
        let command = self.rec.flight.as_ref().is_some_and(|flight| {
            self.queue.iter().any(|m| {
                m.meta.raw
                    && flight.messages.contains(&m.meta.id)
                    && self.looks_like_command(&words::spoken(m))
            })
        });
        if self.is_driven() && command && self.flight_purpose() == Purpose::Said {
            self.proven(Way::Mailbox, Proof::None, now);
        }
    }
}
