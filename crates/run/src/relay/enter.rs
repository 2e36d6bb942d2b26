//! Typing for somebody else: only on the screen that was looked at, only between two strokes of the
//! person's own, and never in the middle of anything.

use std::time::{Duration, Instant};

use super::{Hosted, MOST_OUTPUT, Relay};
use crate::brain::{Brain, Entered, Entry};
use crate::screen;

/// A person who has pressed a key so shortly ago is typing.
const STROKES_APART: Duration = Duration::from_millis(700);

impl Relay<'_> {
    pub(super) fn enter(
        &mut self,
        hosted: &mut Hosted,
        brain: &mut dyn Brain,
        entry: &Entry,
    ) -> Entered {
        if !hosted.ending.is_empty() || !hosted.open || self.gone {
            return Entered::Nobody;
        }
        let strokes = self.typed_at.is_some_and(|at| at.elapsed() < STROKES_APART);
        let kept = !self.typing.is_passed_on();
        if !self.to_agent.is_empty() || strokes || kept {
            return Entered::Moved;
        }
        if let Some(guard) = &entry.guard {
            // What the agent has drawn by now counts, unless too much of it waits to be shown.
            if self.to_person.bytes().len() >= MOST_OUTPUT {
                return Entered::Moved;
            }
            self.read_agent(hosted, brain);
            if !brain.still_shows(guard) {
                return Entered::Moved;
            }
        }
        self.to_agent.add(&entry.bytes);
        self.write_agent(hosted);
        Entered::Done
    }

    /// Keys of the person's; what their terminal says by itself does not count.
    pub(super) fn note_keys(&mut self, read: usize) {
        if screen::has_keys(self.buffer.get(..read).unwrap_or_default()) {
            self.typed_at = Some(Instant::now());
        }
    }
}
