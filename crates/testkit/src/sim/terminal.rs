//! The pane: what a paste and a key do to the agent, and what they must never do.

use super::agent::{Author, Stage, text_of};
use super::options::Mutation;
use super::world::{Item, World, tr};
use sm_core::signal::ScreenMark;
use sm_core::{AgentKind, Key, KeyOutcome};

impl World {
    /// A bracketed paste is on its way to the composer.
    pub(super) fn paste(&mut self, text: String, guard: Option<&ScreenMark>) -> bool {
        if !self.terminal_alive {
            return false;
        }
        let moved = guard.is_some_and(|guard| *guard != self.agent.mark(self.now));
        if moved && self.options.mutation != Mutation::IgnoreGuard {
            return false;
        }
        self.stats.pastes += 1;
        self.check_typed();
        let launch = self.agent.launch;
        if self.agent.kind == AgentKind::Generic {
            self.render(launch, text); // it reads what comes, in order
        } else {
            let after = self.delay(0, 30, 3_000);
            self.at(after, Item::Render { launch, text });
        }
        true
    }

    pub(super) fn render(&mut self, launch: u32, text: String) {
        if launch != self.agent.launch || !self.agent.alive() {
            return;
        }
        if self.agent.dialog.is_some() {
            tr!(self, "the paste went into a dialog: ignored");
            return;
        }
        self.agent.draws_otherwise = self.fault(self.options.faults.draws_otherwise);
        let otherwise = self.agent.draws_otherwise;
        tr!(
            self,
            "composer += {text:?} (sm; drawn otherwise: {otherwise})"
        );
        self.agent.composer.push((Author::Sm, text));
    }

    /// The guard is compared and the key pressed in one step.
    pub(super) fn press(&mut self, key: Key, guard: Option<&ScreenMark>) -> KeyOutcome {
        if !self.terminal_alive {
            return KeyOutcome::Failed;
        }
        let guarded = guard.is_some_and(|guard| *guard != self.agent.mark(self.now));
        if guarded && self.options.mutation != Mutation::IgnoreGuard {
            return KeyOutcome::ScreenMoved;
        }
        self.check_typed();
        match key {
            Key::Enter => self.stats.enters += 1,
            Key::Escape => self.stats.escapes += 1,
            Key::Stash => self.stats.stashes += 1,
            Key::Erase => self.stats.erasures += 1,
        }
        if let Some(need) = &self.agent.dialog {
            self.fail(format!("{key:?} was pressed in a dialog ({need:?})"));
            return KeyOutcome::Pressed;
        }
        match key {
            Key::Enter => self.enter_pressed(),
            Key::Stash => self.stash_pressed(),
            Key::Erase => self.erase_pressed(),
            Key::Escape => {
                if !self.agent.composer.is_empty() && self.agent.stage == Stage::Idle {
                    tr!(self, "Escape at idle with text in the composer");
                }
                self.interrupt();
            }
        }
        KeyOutcome::Pressed
    }

    /// Ctrl+S: puts the draft aside, or takes it back.
    pub(super) fn stash_pressed(&mut self) {
        if matches!(self.agent.stage, Stage::Booting | Stage::Off) {
            return;
        }
        if self.agent.composer.is_empty() {
            self.unstash();
            return;
        }
        let draft = std::mem::take(&mut self.agent.composer);
        tr!(self, "stashed: {:?}", text_of(&draft));
        if let Some(older) = self.agent.stash.replace(draft) {
            let text = text_of(&older);
            self.fail(format!("a stashed draft was destroyed: {text:?}"));
        }
    }

    /// Ctrl+U: only ever on our own text.
    fn erase_pressed(&mut self) {
        let text = text_of(&self.agent.composer);
        let ours = |(author, _): &(Author, String)| *author == Author::Sm;
        if !self.agent.composer.iter().all(ours) {
            self.fail(format!("a person's draft was erased: {text:?}"));
        }
        if !self.agent.deaf() {
            tr!(self, "erased: {text:?}");
            self.agent.composer.clear();
        }
    }

    /// What was put aside stands in the composer again.
    pub(super) fn unstash(&mut self) {
        if let Some(draft) = self.agent.stash.take() {
            tr!(self, "back from the stash: {:?}", text_of(&draft));
            self.agent.composer.extend(draft);
        }
    }

    fn enter_pressed(&mut self) {
        if self
            .agent
            .composer
            .iter()
            .any(|(author, _)| *author == Author::Person)
        {
            self.fail(format!(
                "a person's draft was submitted: {:?}",
                text_of(&self.agent.composer)
            ));
            return;
        }
        if self.agent.composer.len() > 1 {
            self.fail(format!(
                "several texts were merged in the composer: {:?}",
                text_of(&self.agent.composer)
            ));
            return;
        }
        let composer = self.agent.kind != AgentKind::Generic;
        let swallowed =
            (composer && self.fault(self.options.faults.enter_swallowed)) || self.agent.deaf();
        if swallowed || self.agent.composer.is_empty() {
            tr!(self, "Enter: nothing happens (swallowed: {swallowed})");
            return;
        }
        let pieces = std::mem::take(&mut self.agent.composer);
        self.unstash();
        self.enter_by_sm = true;
        self.submit(pieces);
        self.enter_by_sm = false;
    }
}
