//! The live region: what still changes, the editor, the status line.

use std::time::Instant;

use crate::host::{Queue, State};

use super::super::line::{Line, indent};
use super::super::look::Role;
use super::super::paint::Size;
use super::super::text::{clean, clean_lines, shorten};
use super::super::tool;
use super::{App, status};

/// So many queued texts are shown; the others are counted in the status line.
const QUEUED: usize = 3;
/// Rows of what a running command prints, or of a document that is being written.
const PREVIEW: usize = 4;

impl App {
    /// At most one row less than the terminal has. What is cut is always the oldest.
    pub fn live(&self, size: Size, now: Instant) -> Vec<Line> {
        let columns = size.columns.max(10);
        let most = size.rows.saturating_sub(1).max(1);
        let mut below = self.queued(columns);
        below.extend(self.input(columns, most, now));
        below.push(self.status_line(columns, now));
        let mut above = Vec::new();
        if let Some(answer) = &self.answer {
            above.extend(self.thought(&answer.thought, columns));
            above.extend(answer.markdown.tail(columns, self.look));
        }
        for running in &self.running {
            let sign = self.look.pick("○", "o");
            above.push(tool::title(
                &running.call,
                Role::Accent,
                sign,
                columns,
                self.look,
            ));
            above.extend(self.preview_of(&running.tail, columns));
            let elapsed = now.saturating_duration_since(running.since);
            if elapsed.as_secs() >= 2 {
                above.push(Line::of(format!("  {}s", elapsed.as_secs()), Role::Faint));
            }
        }
        above.extend(self.preview_of(&self.preview, columns));
        above.extend(self.loader(now));
        if !above.is_empty() && self.before.is_some() {
            above.insert(0, Line::blank());
        }
        above.push(Line::blank());
        // The editor is what a person needs most.
        let room = most.saturating_sub(below.len());
        let from = above.len().saturating_sub(room);
        let mut rows: Vec<Line> = above.split_off(from);
        rows.extend(below);
        let from = rows.len().saturating_sub(most);
        rows.split_off(from)
    }

    fn input(&self, columns: usize, most: usize, now: Instant) -> Vec<Line> {
        if let Some(question) = self.questions.front() {
            let mut rows = question.rows(columns, self.editor.text(), now, self.look);
            if !self.editor.is_empty() || question.wants_text() {
                rows.extend(self.editor.rows(columns, 2, self.look));
            }
            return rows;
        }
        if let Some(picker) = &self.picker {
            return picker.rows(columns, (most / 2).clamp(3, 12), self.look);
        }
        self.editor
            .rows(columns, (most / 3).clamp(1, 12), self.look)
    }

    fn status_line(&self, columns: usize, now: Instant) -> Line {
        if self.leaving.is_some_and(|until| until > now) {
            return Line::of("ctrl+c once more leaves", Role::Warning);
        }
        let mut status = self.status.clone();
        status.queued = self.queue.len();
        status.line(columns, self.look)
    }

    fn queued(&self, columns: usize) -> Vec<Line> {
        let rows = self.queue.iter().take(QUEUED).map(|(queue, text)| {
            let when = match queue {
                Queue::Steering => "next",
                Queue::FollowUp => "after this",
                Queue::NextSession => "in the new session",
            };
            let text = clean(&text.replace('\n', " "));
            let line = format!("  {when}: {text}");
            Line::of(
                shorten(&line, columns, self.look.pick("…", "~")),
                Role::Faint,
            )
        });
        rows.collect()
    }

    fn loader(&self, now: Instant) -> Option<Line> {
        let text = match self.state {
            // The question itself says what is waited for.
            State::Waiting => return None,
            state => state.loader()?,
        };
        let elapsed = now.saturating_duration_since(self.since);
        let note = match &self.retry {
            Some((number, cause)) if cause.is_empty() => format!(", attempt {number}"),
            Some((number, cause)) => format!(", attempt {number}: {}", clean(cause)),
            None => String::new(),
        };
        Some(status::loader(text, elapsed, &note, self.look))
    }

    fn thought(&self, thought: &str, columns: usize) -> Vec<Line> {
        let mut rows = self.preview_of(thought, columns);
        rows.drain(..rows.len().saturating_sub(2));
        rows
    }

    /// The last rows of a text that grows.
    fn preview_of(&self, text: &str, columns: usize) -> Vec<Line> {
        let end = text.trim_end();
        let mut from = end.len().saturating_sub(columns * (PREVIEW + 1));
        while !end.is_char_boundary(from) {
            from += 1;
        }
        if end.is_empty() {
            return Vec::new();
        }
        let lines = clean_lines(end.get(from..).unwrap_or_default());
        let mut rows: Vec<Line> = lines
            .into_iter()
            .flat_map(|line| {
                let line = Line::of(line, Role::Faint);
                super::super::line::wrap_hard(&line, columns, &indent(2), &indent(2))
            })
            .collect();
        rows.drain(..rows.len().saturating_sub(PREVIEW));
        rows
    }
}
