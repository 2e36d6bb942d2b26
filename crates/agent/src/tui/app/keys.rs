//! What a key does.

use std::time::{Duration, Instant};

use crate::host::{Answer, Command, State};
use crate::slash::COMMANDS;
use crate::wish::{Wish, is_path, thinking_word, wish};

use super::super::editor::Pressed;
use super::super::input::Key;
use super::super::transcript::Entry;
use super::approve::Question;
use super::picker::{Choice, Picked};
use super::{Action, App};

/// A second Ctrl+C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);

impl App {
    pub fn press(&mut self, key: Key, now: Instant) -> Vec<Action> {
        let leaving = self.leaving.take().filter(|until| *until > now);
        match key {
            Key::Ctrl('z') => return vec![Action::Suspend],
            Key::Ctrl('l') => return vec![Action::Redraw],
            Key::Ctrl('o') => {
                self.expand();
                return Vec::new();
            }
            _ => {}
        }
        if let Some(actions) = self.press_question(&key, now) {
            return actions;
        }
        if let Some(picker) = &mut self.picker {
            match picker.press(&key) {
                Picked::Nothing => return Vec::new(),
                Picked::Left => {
                    self.picker = None;
                    return Vec::new();
                }
                Picked::This(choice) => {
                    self.picker = None;
                    return vec![Action::Send(match choice {
                        Choice::Session(path) => Command::Resume(path),
                        Choice::Model(name) => Command::SetModel(name),
                    })];
                }
            }
        }
        match self.editor.press(key.clone()) {
            Pressed::Taken => Vec::new(),
            Pressed::WantsFiles => vec![Action::ListFiles],
            Pressed::Submitted(text) => self.submit(&text),
            Pressed::Left => self.press_rest(&key, leaving.is_some(), now),
        }
    }

    /// While a question is open every key is for it; before, none is.
    fn press_question(&mut self, key: &Key, now: Instant) -> Option<Vec<Action>> {
        let question = self.questions.front_mut()?;
        if matches!(key, Key::Esc) {
            self.questions.clear();
            return Some(vec![Action::Send(Command::Interrupt)]);
        }
        if !question.is_open(now) {
            question.disturbed(now);
            return None;
        }
        match key {
            Key::Ctrl('c' | 'd') => None,
            key => Some(self.answer(key)),
        }
    }

    /// A key for the question, if it means something to it.
    pub fn answer(&mut self, key: &Key) -> Vec<Action> {
        let Some(answer) = Question::answer(key) else {
            return Vec::new();
        };
        let Some(question) = self.questions.pop_front() else {
            return Vec::new();
        };
        if let Answer::No(_) = answer {
            self.tell(Entry::Notice(format!("not allowed: {}", question.what())));
        }
        vec![Action::Send(Command::Approve {
            call_id: question.call.id,
            answer,
        })]
    }

    fn press_rest(&mut self, key: &Key, leaving: bool, now: Instant) -> Vec<Action> {
        match key {
            Key::Esc => match self.state {
                State::HandingOff { .. } => vec![Action::Send(Command::CancelHandoff)],
                State::Working | State::Waiting => vec![Action::Send(Command::Interrupt)],
                State::Idle => Vec::new(),
            },
            Key::Ctrl('c') if !self.editor.is_empty() => {
                self.editor.clear();
                Vec::new()
            }
            Key::Ctrl('c') if leaving => vec![Action::Send(Command::Quit)],
            Key::Ctrl('c') => {
                self.leaving = Some(now + TWICE);
                Vec::new()
            }
            Key::Ctrl('d') if self.editor.is_empty() => vec![Action::Send(Command::Quit)],
            // Said after the turn, not into it.
            Key::Tab if self.state == State::Working && !self.editor.is_empty() => {
                match self.editor.press(Key::Enter) {
                    Pressed::Submitted(text) => match wish(&text) {
                        Wish::Say(text) => vec![Action::Send(Command::FollowUp(text))],
                        wish => self.fulfil(wish, &text),
                    },
                    Pressed::Taken | Pressed::Left | Pressed::WantsFiles => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// A text that was submitted.
    pub fn submit(&mut self, text: &str) -> Vec<Action> {
        self.fulfil(wish(text), text)
    }

    fn fulfil(&mut self, wish: Wish, text: &str) -> Vec<Action> {
        let send = |command| vec![Action::Send(command)];
        match wish {
            Wish::Say(text) => send(match self.state {
                State::Working | State::Waiting => Command::Steer(text),
                State::Idle | State::HandingOff { .. } => Command::Prompt(text),
            }),
            Wish::Shell(command) => send(Command::Shell(command)),
            Wish::Handoff { focus, edit } => send(Command::Handoff { focus, edit }),
            Wish::UndoHandoff => send(Command::UndoHandoff),
            Wish::New => send(Command::New),
            Wish::Resume(None) => vec![Action::ListSessions],
            Wish::Resume(Some(name)) => match is_path(&name) {
                Some(path) => send(Command::Resume(path)),
                None => vec![Action::FindSession(name)],
            },
            Wish::Model(Some(name)) => send(Command::SetModel(name)),
            Wish::Model(None) => vec![Action::ListModels],
            Wish::Thinking(Some(level)) => send(Command::SetThinking(level)),
            Wish::Thinking(None) => {
                let level = self
                    .status
                    .thinking
                    .unwrap_or(thinking_word(sm_llm::Thinking::Off));
                self.tell(Entry::Notice(format!("thinking: {level}")));
                Vec::new()
            }
            Wish::Title(title) => send(Command::SetTitle(title)),
            Wish::Context => {
                self.tell(Entry::Notice(self.status.told()));
                Vec::new()
            }
            Wish::Help => {
                self.tell(Entry::Notice(help()));
                Vec::new()
            }
            Wish::Quit => send(Command::Quit),
            Wish::Wrong(why) => {
                self.tell(Entry::Warning(why));
                self.editor.give_back(text);
                Vec::new()
            }
        }
    }
}

fn help() -> String {
    let mut text = String::from("commands\n");
    for command in COMMANDS {
        let name = format!("/{}", command.name);
        text.push_str(&format!("  {name:<14} {}\n", command.about));
    }
    text.push_str("  !command       run a command in the shell; the model sees it\n");
    text.push_str("  @file          name a file\n");
    text.push_str("keys\n");
    for (key, does) in [
        (
            "enter",
            "send; while the agent works: said before its next step",
        ),
        ("tab", "while the agent works: said after its turn"),
        (
            "shift+enter",
            "a new line; also alt+enter, ctrl+j, \\ enter",
        ),
        ("esc", "interrupt, cancel"),
        ("ctrl+o", "show what is folded up"),
        ("ctrl+c", "clear; twice on an empty line: leave"),
        ("ctrl+z", "suspend"),
        ("up, down", "history"),
    ] {
        text.push_str(&format!("  {key:<14} {does}\n"));
    }
    text
}
