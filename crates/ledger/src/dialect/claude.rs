//! Claude Code's transcript.
//!
//! `user` and `assistant` lines are the conversation, a line per content block; a compaction is a
//! user line with the summary. Everything beside them is snapshots, progress and titles.

use super::{Teller, flat, joined, time};
use crate::json::{self, Broken};
use crate::record::{At, Outcome, Record, Speaker};
use sm_core::pasted;
use std::borrow::Cow;

const INTERRUPTED: &str = "[Request interrupted by user";

/// How texts begin that stand where a person's text stands, and are the program's.
const PROGRAM: [&str; 6] = [
    "<command",
    "<local-command",
    "<bash-",
    "[Request interrupted",
    "Caveat:",
    "[SYSTEM NOTIFICATION",
];

/// How the result of a call begins that a person said no to.
const REFUSED: [&str; 2] = [
    "The user doesn't want to",
    "The user doesn\u{2019}t want to",
];

#[derive(Default)]
struct Line<'a> {
    kind: &'a str,
    aside: bool,
    meta: bool,
    summary: bool,
    content: &'a str,
    usage: &'a str,
    model: &'a str,
    attachment: Option<&'a str>,
    cwd: Option<&'a str>,
    branch: Option<&'a str>,
    time: Option<&'a str>,
}

/// A part of a message.
#[derive(Default)]
struct Block<'a> {
    kind: &'a str,
    text: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    tool: Option<Cow<'a, str>>,
    input: Option<&'a str>,
    content: &'a str,
    error: &'a str,
}

impl<'a> Block<'a> {
    fn field(&mut self, name: &'a str, value: &'a str) {
        match name {
            "type" => self.kind = value,
            "text" => self.text = json::text(value),
            "id" | "tool_use_id" => self.id = json::text(value),
            "name" => self.tool = json::text(value),
            "input" => self.input = Some(value),
            "content" => self.content = value,
            "is_error" => self.error = value,
            _ => {}
        }
    }
}

pub(super) fn line<F: FnMut(At, Record<'_>)>(
    text: &str,
    teller: &mut Teller<'_, F>,
) -> Result<(), Broken> {
    let mut line = Line::default();
    let (mut content, mut usage, mut model) = ("", "", "");
    let outer = |name, value| match name {
        "type" => line.kind = value,
        "isSidechain" => line.aside = value == "true",
        "isMeta" => line.meta = value == "true",
        "isCompactSummary" => line.summary = value == "true",
        "attachment" => line.attachment = Some(value),
        "cwd" => line.cwd = Some(value),
        "gitBranch" => line.branch = Some(value),
        "timestamp" => line.time = Some(value),
        _ => {}
    };
    let message = |name, value| match name {
        "content" => content = value,
        "usage" => usage = value,
        "model" => model = value,
        _ => {}
    };
    json::fields_and_inside(text, "message", outer, message)?;
    (line.content, line.usage, line.model) = (content, usage, model);
    if line.aside {
        teller.tell(Record::Aside);
        return Ok(());
    }
    teller.at.time = line.time.and_then(time);
    match line.kind {
        r#""user""# => {
            teller.place(line.cwd, line.branch);
            user(&line, teller);
        }
        r#""assistant""# => {
            teller.place(line.cwd, line.branch);
            assistant(&line, teller);
        }
        r#""attachment""# => attachment(line.attachment.unwrap_or_default(), teller),
        _ => {}
    }
    Ok(())
}

fn user<F: FnMut(At, Record<'_>)>(line: &Line<'_>, teller: &mut Teller<'_, F>) {
    let content = line.content;
    let mut said = json::text(content);
    let mut results = false;
    json::objects(content, Block::field, |block: Block<'_>| {
        let Block {
            kind,
            text,
            id,
            content: inner,
            error,
            ..
        } = block;
        match (kind, text) {
            (r#""text""#, Some(text)) => said = Some(joined(said.take(), text)),
            (r#""tool_result""#, _) => {
                let text = result(inner);
                results |= !text.is_empty();
                let outcome = if REFUSED.iter().any(|start| text.starts_with(start)) {
                    Outcome::Refused
                } else if error == "true" {
                    Outcome::Failed
                } else {
                    Outcome::Done
                };
                teller.tell(Record::Returned {
                    id: id.unwrap_or_default(),
                    text,
                    outcome,
                });
            }
            _ => {}
        }
    });
    let Some(text) = said else {
        if !results {
            let text = Cow::Borrowed("");
            teller.tell(Record::Said {
                by: Speaker::Program,
                text,
            });
        }
        return;
    };
    if line.summary {
        teller.tell(Record::Compacted {
            summary: Some(text),
        });
        return;
    }
    if text.starts_with(INTERRUPTED) {
        teller.tell(Record::Interrupted);
        return;
    }
    let text = without_reminders(text);
    let text = pasted::unwrapped(text);
    let program = line.meta
        || results
        || text.trim().is_empty()
        || PROGRAM
            .iter()
            .any(|start| text.trim_start().starts_with(start));
    let by = if program {
        Speaker::Program
    } else {
        Speaker::Person
    };
    teller.tell(Record::Said { by, text });
}

/// What a tool gave back: its texts. Pictures say nothing here.
fn result(content: &str) -> Cow<'_, str> {
    if let Some(text) = json::text(content) {
        return text;
    }
    let mut text = None;
    json::elements(content, |block| {
        if !matches!(json::get(block, "type"), Some(r#""image""#)) {
            let part = json::text_of(block, "text").unwrap_or_else(|| flat(block));
            text = Some(joined(text.take(), part));
        }
    });
    text.unwrap_or_default()
}

/// The program puts its own words between a person's, in tags.
fn without_reminders(text: Cow<'_, str>) -> Cow<'_, str> {
    const BEGIN: &str = "<system-reminder>";
    const END: &str = "</system-reminder>";
    if !text.contains(BEGIN) {
        return text;
    }
    let mut out = String::new();
    let mut rest = text.as_ref();
    while let Some((before, inner)) = rest.split_once(BEGIN) {
        let Some((_, after)) = inner.split_once(END) else {
            break;
        };
        out.push_str(before);
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn assistant<F: FnMut(At, Record<'_>)>(line: &Line<'_>, teller: &mut Teller<'_, F>) {
    let &Line {
        content,
        usage,
        model,
        ..
    } = line;
    let mut told = false;
    let speak = |text: Cow<'_, str>, teller: &mut Teller<'_, F>| {
        // What the program itself says in the agent's place: errors, and that nothing was asked.
        teller.tell(if model == r#""<synthetic>""# {
            let by = Speaker::Program;
            Record::Said { by, text }
        } else {
            Record::Spoke { text }
        });
    };
    if let Some(text) = json::text(content) {
        told = true;
        speak(text, teller);
    }
    json::objects(content, Block::field, |block: Block<'_>| {
        let Block {
            kind,
            text,
            id,
            tool,
            input,
            ..
        } = block;
        match (kind, text, input.and_then(json::raw)) {
            (r#""text""#, Some(text), _) => {
                told = true;
                speak(text, teller);
            }
            (r#""tool_use""#, _, Some(input)) => {
                told = true;
                teller.tell(Record::Called {
                    id: id.unwrap_or_default(),
                    tool: tool.unwrap_or_default(),
                    input,
                });
            }
            _ => {}
        }
    });
    if !told {
        teller.tell(Record::Thought);
    }
    let mut tokens = 0u64;
    let _ = json::fields(usage, |name, value| {
        if matches!(
            name,
            "input_tokens" | "cache_creation_input_tokens" | "cache_read_input_tokens"
        ) {
            tokens = tokens.saturating_add(json::number(value).unwrap_or(0));
        }
    });
    if tokens > 0 {
        teller.tell(Record::Used { tokens });
    }
}

fn attachment<F: FnMut(At, Record<'_>)>(attachment: &str, teller: &mut Teller<'_, F>) {
    let texts = match json::get(attachment, "type") {
        Some(r#""queued_command""#) => (Speaker::Queued, json::get(attachment, "prompt")),
        Some(r#""hook_additional_context""#) => {
            (Speaker::Program, json::get(attachment, "content"))
        }
        _ => return,
    };
    let (mut by, Some(value)) = texts else {
        return;
    };
    let text = match json::text(value) {
        Some(text) => text,
        None => {
            let mut text = None;
            json::elements(value, |part| {
                let part = json::text(part).or_else(|| json::text_of(part, "text"));
                if let Some(part) = part {
                    text = Some(joined(text.take(), part));
                }
            });
            text.unwrap_or_default()
        }
    };
    let text = pasted::unwrapped(text);
    if text.is_empty() {
        return;
    }
    // A task that ended, told between two steps.
    if text.starts_with('<') {
        by = Speaker::Program;
    }
    teller.tell(Record::Said { by, text });
}
