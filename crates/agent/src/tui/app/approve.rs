//! A person is asked whether a call may run.
//!
//! A key counts only when the question has been on the screen for a moment without another key:
//! nothing that was typed before it appeared, or while it appeared, can answer it. Enter alone
//! answers nothing.

use std::time::{Duration, Instant};

use sm_llm::ToolCall;

use crate::approval::Wanted;
use crate::host::Answer;

use super::super::input::Key;
use super::super::line::{Line, indent, wrap};
use super::super::look::{Look, Role, Style};
use super::super::text::clean;
use super::super::tool;

/// So long the keyboard must have been quiet.
pub(crate) const QUIET: Duration = Duration::from_millis(400);

/// So many lines of what would be done have room beside the question.
const SHORT: usize = 6;

#[derive(Debug)]
pub(crate) struct Question {
    pub call: ToolCall,
    wanted: Wanted,
    /// From when on a key answers; `None`: it is not on the screen yet.
    from: Option<Instant>,
}

impl Question {
    pub fn new(call: ToolCall, wanted: Wanted) -> Self {
        Self {
            call,
            wanted,
            from: None,
        }
    }

    pub fn what(&self) -> &str {
        &self.wanted.what
    }

    /// It is on the screen.
    pub fn drawn(&mut self, now: Instant) {
        self.from.get_or_insert(now + QUIET);
    }

    /// When a key will count, if that is still to come.
    pub fn opens(&self, now: Instant) -> Option<Instant> {
        self.from.filter(|from| *from > now)
    }

    pub fn is_open(&self, now: Instant) -> bool {
        self.from.is_some_and(|from| from <= now)
    }

    /// A key that was meant for something else.
    pub fn disturbed(&mut self, now: Instant) {
        if let Some(from) = &mut self.from {
            *from = now + QUIET;
        }
    }

    pub fn answer(key: &Key) -> Option<Answer> {
        match key {
            Key::Char('y' | 'Y') => Some(Answer::Once),
            Key::Char('a') => Some(Answer::Always),
            Key::Char('A') => Some(Answer::AlwaysKept),
            Key::Char('n' | 'N') => Some(Answer::No(None)),
            _ => None,
        }
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
    pub fn rows(&self, columns: usize, now: Instant, look: Look) -> Vec<Line> {
        let mut rows = self.asked(columns);
        rows.extend(wrap(&self.keys(now, look), columns, &[], &indent(2)));
        rows
    }

    fn keys(&self, now: Instant, look: Look) -> Line {
        let dot = look.pick(" · ", " - ");
        if !self.is_open(now) {
            return Line::of("(your answer in a moment)", Role::Faint);
        }
        let key = Style::from(Role::Accent).bold();
        Line::of("y", key)
            .with(format!(" yes{dot}"), Role::Text)
            .with("n", key)
            .with(format!(" no{dot}"), Role::Text)
            .with("a", key)
            .with(" always ", Role::Text)
            .with(clean(&self.wanted.always.to_string()), Role::Faint)
            .with(" (", Role::Faint)
            .with("A", key)
            .with(" keeps that)", Role::Faint)
            .with(dot, Role::Text)
            .with("esc", key)
            .with(" stop", Role::Text)
    }
}
