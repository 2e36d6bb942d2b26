//! A person is asked whether a call may run.
//!
//! A letter answers only if it comes alone ([`ConfirmKey`]); everything else that is typed is a
//! text, and a text at a question means "no, do this instead". Nothing that was typed before the
//! question was on the screen can answer it, no paste can, and Enter alone answers nothing.

use std::time::Instant;

use sm_core::confirm_key::{Arrival, ConfirmKey, Pressed};
use sm_llm::ToolCall;

use crate::approval::Wanted;
use crate::host::Answer;

use super::super::input::Key;
use super::super::line::{Line, indent, wrap};
use super::super::look::{Look, Role, Style};
use super::super::text::clean;
use super::super::tool;

/// So many lines of what would be done have room beside the question.
const SHORT: usize = 6;

#[derive(Debug)]
pub(crate) struct Question {
    pub call: ToolCall,
    wanted: Wanted,
    key: ConfirmKey<Answer>,
    reply: Reply,
}

/// What is being typed, as far as the question is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Reply {
    /// Nothing, or what was begun before the question was there.
    #[default]
    None,
    /// Begun before it could be read.
    Early,
    /// What to do instead.
    Text,
    /// The same, with a paste in it: it never is a letter.
    Pasted,
    /// `n` came alone: what to do instead can be said, or nothing.
    Refusing,
}

/// What became of a key that is typed at a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It may be the answer in a moment.
    Held,
    /// It belongs into the editor, and so does the letter before it.
    Text { held: Option<char> },
}

/// What Enter means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entered {
    Answer(Answer),
    /// What stands in the editor is for the question.
    Reply,
    /// It was begun before the question could be read: it is said as ever.
    Said,
    Nothing,
}

impl Question {
    pub fn new(call: ToolCall, wanted: Wanted) -> Self {
        Self {
            call,
            wanted,
            key: ConfirmKey::default(),
            reply: Reply::None,
        }
    }

    pub fn what(&self) -> &str {
        &self.wanted.what
    }

    /// It is on the screen.
    pub fn drawn(&mut self, now: Instant) {
        self.key.drawn(now);
    }

    /// When it changes by itself.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        self.key.next_change(now)
    }

    /// A key that could be part of a text; `draft`: what stands in the editor.
    pub fn press(&mut self, key: &Key, draft: &str, now: Instant) -> Typed {
        let letter = match (key, self.reply) {
            (Key::Char(_), Reply::Refusing) => None,
            (Key::Char(c), _) if draft.is_empty() => letter(*c).map(|answer| (*c, answer)),
            _ => None,
        };
        let Pressed::Text { held } = self.key.press(letter, now) else {
            return Typed::Held;
        };
        let begins = draft.is_empty();
        self.reply = match (key, self.reply) {
            (Key::Backspace, Reply::Refusing) if begins => Reply::None,
            (_, Reply::Refusing) => Reply::Refusing,
            (Key::Paste(_), _) if self.key.is_drawn() => Reply::Pasted,
            (Key::Paste(_), _) => Reply::None,
            (Key::Char(_) | Key::Newline, _) if begins && self.key.is_drawn() => Reply::Text,
            (Key::Char(_) | Key::Newline, _) if begins => Reply::Early,
            (_, reply) => reply,
        };
        Typed::Text { held }
    }

    /// Enter, pressed by itself; `draft`: what stands in the editor.
    pub fn enter(&mut self, draft: &str, now: Instant) -> Entered {
        if let Some(answer) = self.key.enter(Arrival::Alone, now) {
            return Entered::Answer(answer);
        }
        let is_open = self.key.is_open(now);
        self.key.disturb(now);
        if draft.trim().is_empty() {
            return match self.reply {
                Reply::Refusing => Entered::Answer(Answer::No(None)),
                Reply::None | Reply::Early | Reply::Text | Reply::Pasted => Entered::Nothing,
            };
        }
        match self.reply {
            Reply::None | Reply::Early if is_open => Entered::Reply,
            Reply::None | Reply::Early => Entered::Said,
            Reply::Text | Reply::Pasted | Reply::Refusing => Entered::Reply,
        }
    }

    /// What a text says that was entered for it.
    pub fn reply(&self, text: &str) -> Answer {
        match self.reply {
            Reply::Early | Reply::Text => answer(text),
            Reply::None | Reply::Pasted | Reply::Refusing => Answer::No(Some(text.to_owned())),
        }
    }

    /// The answer that has stayed alone for long enough. `n` first offers to say what to do instead.
    pub fn take_due(&mut self, now: Instant) -> Option<Answer> {
        match self.key.take_due(now)? {
            Answer::No(None) => {
                self.reply = Reply::Refusing;
                None
            }
            answer => Some(answer),
        }
    }

    /// Ctrl+C: what was typed is not wanted. Whether it was begun at this question.
    pub fn clear(&mut self, now: Instant) -> bool {
        self.key.disturb(now);
        std::mem::take(&mut self.reply) != Reply::None
    }

    /// Everything the call would do. What is too long for the live region is written above it, so
    /// that nothing is allowed that could not be read.
    pub fn body(&self, columns: usize) -> Vec<Line> {
        tool::intended(&self.call, columns)
    }

    pub fn is_long(&self, columns: usize) -> bool {
        self.body(columns).len() > SHORT
    }

    /// What would be done.
    pub fn asked(&self, columns: usize) -> Vec<Line> {
        let what = Line::of("Allow to ", Style::from(Role::Warning).bold())
            .with(clean(&self.wanted.what), Style::default().bold())
            .with("?", Style::from(Role::Warning).bold());
        let mut rows = wrap(&what, columns, &[], &indent(2));
        let body = self.body(columns);
        match body.len() > SHORT {
            true => rows.push(Line::of("  (all of it is above)", Role::Faint)),
            false => rows.extend(body),
        }
        rows
    }

    /// The same, and the keys.
    pub fn rows(&self, columns: usize, draft: &str, now: Instant, look: Look) -> Vec<Line> {
        let mut rows = self.asked(columns);
        let keys = self.keys(draft, now, look);
        rows.extend(wrap(&keys, columns, &[], &indent(2)));
        rows
    }

    /// Whether the editor belongs to it.
    pub fn wants_text(&self) -> bool {
        self.reply == Reply::Refusing
    }

    fn keys(&self, draft: &str, now: Instant, look: Look) -> Line {
        let dot = look.pick(" · ", " - ");
        let key = Style::from(Role::Accent).bold();
        let stop = |line: Line| line.with("esc", key).with(" stop", Role::Text);
        if let Some(letter) = self.key.held() {
            let means = match letter {
                'n' | 'N' => "no",
                'a' => "always",
                'A' => "always, and kept",
                _ => "yes",
            };
            return Line::of(format!("{letter}: {means}"), key)
                .with(format!(" in a moment{dot}"), Role::Text)
                .with("enter", key)
                .with(
                    format!(" now{dot}any other key makes it a text"),
                    Role::Text,
                );
        }
        if self.reply == Reply::Refusing && draft.is_empty() {
            let line = Line::of("No. What should it do instead? ", Role::Text)
                .with("enter", key)
                .with(format!(" just no{dot}"), Role::Text);
            return stop(line);
        }
        if !draft.is_empty() {
            let clear = match self.reply {
                Reply::None => "puts your draft aside",
                Reply::Early | Reply::Text | Reply::Pasted | Reply::Refusing => "clears it",
            };
            let means = match self.reply(draft) {
                Answer::No(None) => " no",
                Answer::No(Some(_)) => " no, and this instead",
                Answer::Once => " yes",
                Answer::Always => " always",
                Answer::AlwaysKept => " always, and kept",
            };
            let line = Line::of("enter", key)
                .with(format!("{means}{dot}"), Role::Text)
                .with("ctrl+c", key)
                .with(format!(" {clear}{dot}"), Role::Text);
            return stop(line);
        }
        if !self.key.is_open(now) {
            return Line::of("(your answer in a moment)", Role::Faint);
        }
        let line = Line::of("y", key)
            .with(format!(" yes{dot}"), Role::Text)
            .with("n", key)
            .with(format!(" no{dot}"), Role::Text)
            .with("a", key)
            .with(" always ", Role::Text)
            .with(clean(&self.wanted.always.to_string()), Role::Faint)
            .with(" (", Role::Faint)
            .with("A", key)
            .with(" keeps that)", Role::Faint)
            .with(dot, Role::Text);
        stop(line).with(format!("{dot}or type what to do instead"), Role::Faint)
    }
}

/// What a letter alone says.
fn letter(c: char) -> Option<Answer> {
    match c {
        'y' | 'Y' => Some(Answer::Once),
        'a' => Some(Answer::Always),
        'A' => Some(Answer::AlwaysKept),
        'n' | 'N' => Some(Answer::No(None)),
        _ => None,
    }
}

/// What a line says that was entered: the letter or the word for it, and nothing else, or what to
/// do instead.
pub(crate) fn answer(line: &str) -> Answer {
    let line = line.trim();
    let mut chars = line.chars();
    if let (Some(c), None) = (chars.next(), chars.next())
        && let Some(answer) = letter(c)
    {
        return answer;
    }
    match line.to_ascii_lowercase().as_str() {
        "yes" => Answer::Once,
        "always" => Answer::Always,
        "no" | "" => Answer::No(None),
        _ => Answer::No(Some(line.to_owned())),
    }
}
