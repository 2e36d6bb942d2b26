//! What the rest of a session asks about the handoff that is under way: which messages wait for it, and
//! which are its own.

use super::Session;
use crate::handoff::{Course, HandoffState};
use crate::ids::MessageId;
use crate::message::{Message, Purpose};

impl Session {
    /// Whether a message has to wait for the handoff.
    pub(super) fn is_frozen(&self, message: &Message) -> bool {
        let Some(open) = self.rec.open_handoff() else {
            return self.rec.opening.is_some();
        };
        match message.meta.purpose {
            // they are about the successor's own context, which may fill up in its first turn
            Purpose::Warning | Purpose::Alert => !self.successor_has_document(),
            Purpose::Said | Purpose::Resume => true,
            Purpose::Clear => {
                open.state != HandoffState::Prepared || open.course != Course::Forward
            }
            Purpose::Wake => {
                let left = open.state == HandoffState::Cleared
                    || (open.state == HandoffState::Prepared && open.unproven);
                !left || !matches!(open.course, Course::Forward | Course::Starting)
            }
            Purpose::Back => open.course != Course::Back,
        }
    }

    /// The document is known to be in the successor's context: what is left is the end of its turn.
    fn successor_has_document(&self) -> bool {
        let open = self.rec.open_handoff();
        open.is_some_and(|open| {
            open.state == HandoffState::Prompted
                && !open.course.is_back()
                && self.rec.generation > open.from
                && !self.wake_is_unrecorded()
        })
    }

    /// Whether one of its own messages is of the handoff that is under way, and not of an earlier one
    /// that is still being taken back.
    pub(super) fn is_of_open_handoff(&self, id: &MessageId) -> bool {
        let rest = self
            .rec
            .open_handoff()
            .and_then(|open| id.as_str().strip_prefix(open.id.as_str()));
        rest.is_some_and(|rest| rest.starts_with('-'))
    }

    pub(super) fn flight_of_open_handoff(&self) -> bool {
        let first = self.rec.flight.as_ref().and_then(|f| f.messages.first());
        first.is_some_and(|id| self.is_of_open_handoff(id))
    }

    /// What the delivery under way is for.
    pub(super) fn flight_purpose(&self) -> Purpose {
        let flight = self.rec.flight.as_ref();
        let first = flight.and_then(|flight| flight.messages.first());
        first
            .and_then(|id| self.queue.iter().find(|m| &m.meta.id == id))
            .map_or(Purpose::Said, |m| m.meta.purpose)
    }
}
