//! The people at the agent's terminal: they prompt, leave drafts, interrupt, clear, answer dialogs.

use super::agent::{Author, Stage};
use super::daemon::Input;
use super::world::{Act, Item, World, tr};
use sm_core::State;
use sm_core::message::{Hold, MessageState};

impl World {
    pub(super) fn person(&mut self, act: Act) {
        match act {
            Act::Look => self.look_around(),
            Act::Type(text) => self.type_text(text),
            Act::Submit => {
                self.enter_by_person = true;
                self.press_enter();
                self.enter_by_person = false;
            }
            Act::Erase => {
                if self.agent.dialog.is_none() && !self.agent.composer.is_empty() {
                    tr!(self, "person: erases the composer");
                    self.agent.composer.clear();
                }
            }
            Act::Answer { approve } => self.dialog_answered(approve),
            Act::Escape => {
                if self.agent.dialog.is_some() {
                    self.dialog_answered(false);
                } else {
                    tr!(self, "person: Escape");
                    self.interrupt();
                }
            }
            Act::Clear => {
                if self.agent.composer.is_empty() && self.agent.dialog.is_none() {
                    tr!(self, "person: /clear");
                    self.submit(vec![(Author::Person, "/clear".into())]);
                }
            }
            Act::Compact => {
                if self.agent.stage == Stage::Idle
                    && self.agent.composer.is_empty()
                    && self.agent.dialog.is_none()
                    && self.agent.kind == sm_core::AgentKind::Claude
                {
                    tr!(self, "person: /compact");
                    self.agent.compacting_in_turn = false;
                    self.compact();
                }
            }
            Act::End => match self.rng.below(2) {
                0 => self.die(Some(0), None),
                _ => self.die(None, Some(9)),
            },
            Act::TerminalGone => self.terminal_goes(),
            Act::Background => {
                if self.agent.stage == Stage::Idle && self.agent.dialog.is_none() {
                    self.wake("<task-notification>a task has ended".into());
                }
            }
            Act::Restore => {
                if self.daemon.up && !self.agent.alive() {
                    self.take(Input::Launch { fresh: false });
                } else if !self.daemon.up {
                    self.at(700, Item::Person(Act::Restore));
                }
            }
            Act::Kill => {
                if self.daemon.up {
                    self.take(Input::Event(sm_core::Event::KillAsked));
                }
            }
            Act::Resume => {
                if self.agent.stage == Stage::Idle
                    && self.agent.composer.is_empty()
                    && self.agent.dialog.is_none()
                    && self.agent.kind == sm_core::AgentKind::Claude
                {
                    tr!(self, "person: /resume");
                    self.resume();
                }
            }
            Act::Question => {
                if self.agent.stage == Stage::Idle && self.agent.dialog.is_none() {
                    self.open_dialog(sm_core::signal::PersonNeed::Question);
                }
            }
            Act::Withdraw(message) => {
                if self.daemon.up {
                    let id = self.sent[message].new.id.clone();
                    self.take(Input::Event(sm_core::Event::Withdraw(id)));
                }
            }
            Act::Stash => {
                // people know what they have put aside, and what is theirs
                let theirs = |(author, _): &(Author, String)| *author == Author::Person;
                let safe = self.agent.composer.is_empty()
                    || (self.agent.stash.is_none() && self.agent.composer.iter().all(theirs));
                if safe
                    && self.agent.dialog.is_none()
                    && self.agent.kind == sm_core::AgentKind::Claude
                {
                    self.stash_pressed();
                }
            }
            Act::Cancel => self.cancel_handoff(),
            Act::Nudge => {
                self.prompts += 1;
                let text = format!("please go on p{}", self.prompts);
                if self.agent.stage == Stage::Idle && self.agent.composer.is_empty() {
                    tr!(self, "person: prompts");
                    self.submit(vec![(Author::Person, text)]);
                }
            }
        }
    }

    /// What people type is never as long as what is pasted: the guard of a key compares cursors,
    /// and nobody replaces a text by one of the same length within milliseconds.
    fn type_text(&mut self, text: String) {
        let text = if self.options.active_ms > 0 {
            format!("{text:~<25}")
        } else {
            text
        };
        if self.agent.dialog.is_none() && self.agent.alive() && self.agent.stage != Stage::Booting {
            tr!(self, "person: types {text:?}");
            self.agent.composer.push((Author::Person, text));
        }
    }

    fn press_enter(&mut self) {
        if self.agent.dialog.is_some() || self.agent.composer.is_empty() {
            return;
        }
        if self.agent.deaf() {
            return;
        }
        tr!(self, "person: Enter");
        let pieces = std::mem::take(&mut self.agent.composer);
        self.unstash();
        self.submit(pieces);
    }

    /// Something happens just as sm is about to type.
    pub(super) fn pounce(&mut self) {
        if self.agent.kind == sm_core::AgentKind::Generic
            || !self.fault(self.options.person.pounces)
        {
            return;
        }
        let act = match self.rng.below(6) {
            0 | 1 => {
                self.prompts += 1;
                let after = self.rng.between(300, 6_000);
                let submits = self.rng.chance(500);
                let end = if submits { Act::Submit } else { Act::Erase };
                self.at(after, Item::Person(end));
                Act::Type(format!("sudden p{}", self.prompts))
            }
            2 => Act::Question,
            3 => Act::Background,
            4 => Act::Submit,
            _ => Act::Escape,
        };
        if self.rng.chance(500) {
            self.person(act);
        } else {
            let after = self.rng.between(0, 40);
            self.at(after, Item::Person(act));
        }
    }

    fn look_around(&mut self) {
        if self.calm {
            self.person_settles();
            return;
        }
        self.limits_look_around();
        let person = self.options.person.clone();
        let generic = self.agent.kind == sm_core::AgentKind::Generic;
        if self.rng.chance(person.prompts) && !generic {
            self.prompts += 1;
            let text = format!("prompt p{}", self.prompts);
            self.at(0, Item::Person(Act::Type(text)));
            let after = self.rng.between(5, 1_500);
            self.at(after, Item::Person(Act::Submit));
        } else if self.rng.chance(person.drafts) && !generic {
            self.prompts += 1;
            let text = format!("draft p{}", self.prompts);
            self.at(0, Item::Person(Act::Type(text)));
            if self.rng.chance(300) {
                let after = self.rng.between(20, 900);
                self.at(after, Item::Person(Act::Type(" and more".into())));
            }
            let after = self.rng.between(500, 9_000);
            let end = if self.rng.chance(500) {
                Act::Submit
            } else {
                Act::Erase
            };
            self.at(after, Item::Person(end));
        }
        if self.rng.chance(person.stashes) && self.agent.stash.is_none() {
            self.at(0, Item::Person(Act::Stash));
        }
        if self.rng.chance(person.cancels) {
            self.at(0, Item::Person(Act::Cancel));
        }
        if self.rng.chance(person.escapes) && !generic {
            self.at(0, Item::Person(Act::Escape));
        }
        if self.rng.chance(person.clears) && !generic {
            self.at(0, Item::Person(Act::Clear));
        }
        if self.rng.chance(person.compacts) {
            self.at(0, Item::Person(Act::Compact));
        }
        if self.rng.chance(person.background) && !generic {
            self.at(0, Item::Person(Act::Background));
        }
        if self.rng.chance(person.ends) {
            self.at(0, Item::Person(Act::End));
        }
        if self.rng.chance(person.terminal) {
            self.at(0, Item::Person(Act::TerminalGone));
        }
        if self.rng.chance(person.kills) {
            self.at(0, Item::Person(Act::Kill));
        }
        if self.rng.chance(person.resumes) && !generic {
            self.at(0, Item::Person(Act::Resume));
        }
        let ended = self.daemon.session.record().state == State::Exited;
        if ended && self.rng.chance(150) {
            self.at(0, Item::Person(Act::Restore));
        }
        let lost = self.daemon.session.record().state == State::Lost;
        if lost && self.rng.chance(500) {
            self.at(0, Item::Person(Act::Restore));
        }
        let after = self.rng.between(300, 1_700);
        self.at(after, Item::Person(Act::Look));
    }

    /// Once the faults are over people answer what is open and finish what they began.
    pub(super) fn person_settles(&mut self) {
        if self.agent.dialog.is_some() {
            let approve = self.rng.chance(600);
            self.at(500, Item::Person(Act::Answer { approve }));
        }
        let theirs = self
            .agent
            .composer
            .iter()
            .any(|(author, _)| *author != Author::Sm);
        if self.agent.composer.is_empty() && self.agent.stash.is_some() {
            let after = self.rng.between(200, 4_000);
            self.at(after, Item::Person(Act::Stash)); // takes it back
        }
        let stray = !self.agent.composer.is_empty()
            && self.daemon.up
            && self.daemon.session.record().flight.is_none();
        if stray && !theirs {
            self.at(4_000, Item::Person(Act::Erase)); // text of sm's that nobody wants any more
        }
        // a handoff leaves what nobody recognises to people, and tells them
        let handing_off = self.daemon.session.record().open_handoff().is_some();
        let told = self.daemon.session.queue().iter().any(|m| {
            let why = Some(Hold::NotShown);
            matches!(&m.meta.state, MessageState::Written { why: told, .. } if *told == why)
        });
        let asked = handing_off && told && self.agent.draws_otherwise;
        if theirs || self.agent.composer.len() > 1 || asked {
            let after = self.rng.between(200, 4_000);
            let act = if self.rng.chance(500) {
                Act::Submit
            } else {
                Act::Erase
            };
            self.at(after, Item::Person(act));
        }
        if self.daemon.session.record().state == State::Lost {
            self.at(300, Item::Person(Act::Restore));
        }
        let needs_turn = self.daemon.session.queue().iter().any(|m| {
            let command = matches!(
                m.meta.state,
                MessageState::Held {
                    why: Hold::LooksLikeCommand
                }
            );
            command || m.meta.purpose.is_monitors()
        });
        if needs_turn {
            self.at(100, Item::Person(Act::Nudge));
        }
        let after = self.rng.between(4_000, 6_000);
        self.at(after, Item::Person(Act::Look));
    }
}
