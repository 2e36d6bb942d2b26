//! What has been said and done, entry by entry, as finished lines.
//!
//! Long things are folded up when they are written, since what is written stays; the entry is kept
//! for a while, so that it can be written once more in full.

use sm_llm::{Assistant, Block, StopReason, ToolCall, ToolResult};

use super::line::{Line, Span, indent, wrap};
use super::look::{Look, Role, Style};
use super::markdown::markdown;
use super::text::{clean, clean_lines, clean_text};
use super::tool;

/// One thing that was said or done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    User(String),
    Answer(String),
    Thinking(String),
    Tool {
        call: Box<ToolCall>,
        result: Box<ToolResult>,
    },
    Shell {
        command: String,
        output: String,
    },
    /// A document that an earlier session handed over.
    Handoff(String),
    Summary(String),
    Notice(String),
    Warning(String),
    Error(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Up,
    Whole,
}

/// An entry as lines, and how many lines are folded up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub lines: Vec<Line>,
    pub hidden: usize,
}

impl Entry {
    pub fn lines(&self, fold: Fold, columns: usize, look: Look) -> Told {
        let whole = |lines| Told { lines, hidden: 0 };
        match self {
            Self::User(text) => whole(user(text, columns, look)),
            Self::Answer(text) => whole(markdown(text, columns, look)),
            Self::Thinking(text) => folded("thought", text, fold, columns, look),
            Self::Tool { call, result } => tool::done(call, result, fold, columns, look),
            Self::Shell { command, output } => tool::shell(command, output, fold, columns, look),
            Self::Handoff(document) => folded("handoff context", document, fold, columns, look),
            Self::Summary(text) => folded("summary of what came before", text, fold, columns, look),
            Self::Notice(text) => whole(said(text, look.pick("· ", "- "), Role::Faint, columns)),
            Self::Warning(text) => whole(said(text, "! ", Role::Warning, columns)),
            Self::Error(text) => whole(said(text, look.pick("✗ ", "x "), Role::Error, columns)),
        }
    }

    /// Whether it stands close to the one before it.
    pub fn joins(&self, before: Option<&Entry>) -> bool {
        let quiet = |entry: &Entry| match entry {
            Self::Notice(_) | Self::Warning(_) | Self::Error(_) => true,
            Self::User(_)
            | Self::Answer(_)
            | Self::Thinking(_)
            | Self::Tool { .. }
            | Self::Shell { .. }
            | Self::Handoff(_)
            | Self::Summary(_) => false,
        };
        before.is_some_and(quiet) && quiet(self)
    }
}

fn user(text: &str, columns: usize, look: Look) -> Vec<Line> {
    let first = [Span::new(
        look.pick("❯ ", "> "),
        Style::from(Role::Accent).bold(),
    )];
    let style = Style::default().bold();
    let mut out = Vec::new();
    for (index, line) in clean_lines(text.trim_end()).into_iter().enumerate() {
        let line = Line::of(line, style);
        let two = indent(2);
        let prefix: &[Span] = if index == 0 { &first } else { &two };
        out.extend(wrap(&line, columns.max(10), prefix, &two));
    }
    out
}

fn said(text: &str, sign: &str, role: Role, columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    for (index, line) in clean_lines(text.trim_end()).into_iter().enumerate() {
        let two = indent(2);
        let first = [Span::new(sign, role)];
        let prefix: &[Span] = if index == 0 { &first } else { &two };
        out.extend(wrap(&Line::of(line, role), columns.max(10), prefix, &two));
    }
    out
}

/// One line that stands for a long text, or that line and the text.
fn folded(name: &str, text: &str, fold: Fold, columns: usize, look: Look) -> Told {
    let count = text.trim_end().lines().count();
    let (sign, how) = match fold {
        Fold::Up => (look.pick("▸ ", "+ "), ", ctrl+o shows it"),
        Fold::Whole => (look.pick("▾ ", "- "), ""),
    };
    let lines = if count == 1 { "line" } else { "lines" };
    let title = Line::of(sign, Role::Accent)
        .with(name, Style::default().bold())
        .with(format!(" ({count} {lines}{how})"), Role::Faint);
    let mut told = Told {
        lines: wrap(&title, columns.max(10), &[], &indent(2)),
        hidden: count,
    };
    if fold == Fold::Whole {
        let body = markdown(&clean_text(text), columns.saturating_sub(2), look);
        told.lines
            .extend(body.into_iter().map(|line| line.after(&indent(2))));
        told.hidden = 0;
    }
    told
}

/// The entries of an answer; calls are shown when their results come.
pub(crate) fn answer_entries(answer: &Assistant) -> Vec<Entry> {
    let mut out: Vec<Entry> = answer
        .content
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } if !text.trim().is_empty() => {
                Some(Entry::Answer(text.clone()))
            }
            Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                Some(Entry::Thinking(thinking.clone()))
            }
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Image { .. }
            | Block::ToolCall(_)
            | Block::Other => None,
        })
        .collect();
    out.extend(ending(answer));
    out
}

/// What a person has to know about how an answer ended.
pub(crate) fn ending(answer: &Assistant) -> Option<Entry> {
    match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse => None,
        StopReason::Length => Some(Entry::Warning(
            "the answer was cut: it reached the limit of output".into(),
        )),
        StopReason::Aborted => Some(Entry::Notice("interrupted".into())),
        StopReason::Error => {
            let why = answer
                .error_message
                .as_deref()
                .unwrap_or("the answer broke off");
            Some(Entry::Error(clean(why)))
        }
    }
}
