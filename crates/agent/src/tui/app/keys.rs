//! What a key does.

use std::time::{Duration, Instant};

use sm_core::confirm_key::Arrival;
use sm_llm::Thinking;

use crate::host::{Answer, Command, State};
use crate::slash::COMMANDS;
use crate::templates;
use crate::wish::{Wish, is_path, thinking_word, wish};

use super::super::editor::Pressed;
use super::super::input::Key;
use super::super::transcript::Entry;
use super::approve::{Entered, Typed, answer};
use super::picker::{Choice, Picked};
use super::{Action, App};

/// A second Ctrl+C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);

impl App {
    /// A key that came by itself.
    #[cfg(test)]
    pub fn press(&mut self, key: Key, now: Instant) -> Vec<Action> {
        self.press_read(key, Arrival::Alone, now)
    }

    /// A key, and whether others were read with it.
    pub fn press_read(&mut self, key: Key, arrival: Arrival, now: Instant) -> Vec<Action> {
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
        let key = match (key, arrival) {
            // the end of a line that was pasted: at a question it enters nothing
            (Key::Enter, Arrival::InBatch) if !self.questions.is_empty() => Key::Newline,
            (key, _) => key,
        };
        if let Some(actions) = self.press_question(&key, now) {
            self.give_draft_back();
            return actions;
        }
        if let Some(picker) = self.picker.as_mut().filter(|_| self.questions.is_empty()) {
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
                        Choice::Prompt(entry) => Command::Fork(entry),
                    })];
                }
            }
        }
        match key {
            Key::Ctrl('p') if !self.editor.is_choosing() => return vec![Action::CycleModel],
            Key::BackTab => return vec![Action::Send(Command::SetThinking(self.next_thinking()))],
            _ => {}
        }
        match self.editor.press(key.clone()) {
            Pressed::Taken => Vec::new(),
            Pressed::WantsFiles => vec![Action::ListFiles],
            Pressed::Submitted(text) => self.submit(&text),
            Pressed::Left => self.press_rest(&key, leaving.is_some(), now),
        }
    }

    /// Time has passed: an answer may have stayed alone for long enough.
    pub fn tick(&mut self, now: Instant) -> Vec<Action> {
        let due = self.questions.front_mut().and_then(|q| q.take_due(now));
        let actions = due.map(|answer| self.answer(answer));
        self.give_draft_back();
        actions.unwrap_or_default()
    }

    /// What is typed while a question is there. `None`: the key is for somebody else.
    fn press_question(&mut self, key: &Key, now: Instant) -> Option<Vec<Action>> {
        let question = self.questions.front_mut()?;
        match key {
            Key::Esc => {
                self.questions.clear();
                Some(vec![Action::Send(Command::Interrupt)])
            }
            Key::Ctrl('c') if !self.editor.is_empty() => {
                if question.clear(now) {
                    self.editor.clear();
                } else {
                    self.draft = Some(self.editor.take());
                }
                Some(Vec::new())
            }
            Key::Ctrl('c' | 'd') => {
                question.clear(now);
                None
            }
            Key::Enter if self.editor.is_choosing() => None,
            Key::Enter => match question.enter(self.editor.text(), now) {
                Entered::Answer(answer) => Some(self.answer(answer)),
                Entered::Nothing => Some(Vec::new()),
                Entered::Said => None,
                Entered::Reply => match self.editor.press(Key::Enter) {
                    Pressed::Submitted(text) => Some(self.reply(&text)),
                    Pressed::Taken | Pressed::Left | Pressed::WantsFiles => Some(Vec::new()),
                },
            },
            key => match question.press(key, self.editor.text(), now) {
                Typed::Held => Some(Vec::new()),
                Typed::Text { held } => {
                    if let Some(letter) = held {
                        self.editor.press(Key::Char(letter));
                    }
                    None
                }
            },
        }
    }

    /// A text that was entered at the question.
    fn reply(&mut self, text: &str) -> Vec<Action> {
        match (self.wish(text), self.questions.front()) {
            (Wish::Say(text), Some(question)) => {
                let answer = question.reply(&text);
                self.answer(answer)
            }
            (wish, _) => self.fulfil(wish, text),
        }
    }

    /// A whole line that was typed at the question, where lines are all there is.
    pub fn reply_line(&mut self, line: &str) -> Vec<Action> {
        match self.wish(line) {
            Wish::Say(text) => self.answer(answer(&text)),
            wish => self.fulfil(wish, line),
        }
    }

    /// The word about the call that is asked about.
    pub fn answer(&mut self, answer: Answer) -> Vec<Action> {
        let Some(question) = self.questions.pop_front() else {
            return Vec::new();
        };
        match &answer {
            Answer::No(None) => {
                self.tell(Entry::Notice(format!("not allowed: {}", question.what())));
            }
            Answer::No(Some(instead)) => self.tell(Entry::Notice(format!(
                "not allowed: {}\ninstead: {instead}",
                question.what()
            ))),
            Answer::Once | Answer::Always | Answer::AlwaysKept => {}
        }
        vec![Action::Send(Command::Approve {
            call_id: question.call.id,
            answer,
        })]
    }

    /// What was put aside for a question stands in the editor again once there is none.
    pub(super) fn give_draft_back(&mut self) {
        if self.questions.is_empty()
            && let Some(draft) = self.draft.take()
        {
            self.editor.give_back(&draft);
        }
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
                    Pressed::Submitted(text) => match self.wish(&text) {
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
        self.fulfil(self.wish(text), text)
    }

    /// What is wanted by a text; `/name` of a template is what stands in it.
    fn wish(&self, text: &str) -> Wish {
        match templates::expand(text, &self.templates) {
            Some(prompt) => Wish::Say(prompt),
            None => wish(text),
        }
    }

    /// The level after the present one, round and round.
    fn next_thinking(&self) -> Thinking {
        match self.status.thinking {
            None => Thinking::Minimal,
            Some("minimal") => Thinking::Low,
            Some("low") => Thinking::Medium,
            Some("medium") => Thinking::High,
            Some("high") => Thinking::Xhigh,
            Some(_) => Thinking::Off,
        }
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
            Wish::Compact(focus) => send(Command::Compact { focus }),
            Wish::New => send(Command::New),
            Wish::Resume(None) => vec![Action::ListSessions],
            Wish::Resume(Some(name)) => match is_path(&name) {
                Some(path) => send(Command::Resume(path)),
                None => vec![Action::FindSession(name)],
            },
            Wish::Fork => send(Command::ListPrompts),
            Wish::Export(file) => send(Command::Export(file)),
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
        ("ctrl+p", "the next model"),
        ("shift+tab", "the next level of thinking"),
        ("ctrl+c", "clear; twice on an empty line: leave"),
        ("ctrl+z", "suspend"),
        ("up, down", "history"),
    ] {
        text.push_str(&format!("  {key:<14} {does}\n"));
    }
    text
}
