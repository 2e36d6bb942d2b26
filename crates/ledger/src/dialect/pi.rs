//! The session format of pi and omp, version 3, which sm's own agent writes too.
//!
//! Entries form a tree by `parentId`; it is read in the order of the file, which is the order in
//! which things happened.

use super::{Teller, flat, joined, time};
use crate::json::{self, Broken};
use crate::record::{At, Outcome, Record, Speaker};
use std::borrow::Cow;

pub(super) fn line<F: FnMut(At, Record<'_>)>(
    text: &str,
    teller: &mut Teller<'_, F>,
) -> Result<(), Broken> {
    let (mut kind, mut message, mut custom, mut content) = ("", "", "", "");
    let (mut summary, mut cwd) = ("", None);
    let mut when = None;
    json::fields(text, |name, value| match name {
        "type" => kind = value,
        "message" => message = value,
        "customType" => custom = value,
        "content" => content = value,
        "summary" => summary = value,
        "cwd" => cwd = Some(value),
        "timestamp" => when = time(value),
        _ => {}
    })?;
    teller.at.time = when;
    match kind {
        r#""session""# => teller.place(cwd, None),
        r#""message""# => self::message(message, teller),
        r#""compaction""# => teller.tell(Record::Compacted {
            summary: json::text(summary),
        }),
        // What a context began with that took over from another one.
        r#""custom_message""# if custom == r#""handoff""# => teller.tell(Record::Compacted {
            summary: texts(content),
        }),
        r#""custom_message""# | r#""branch_summary""# => {
            let text = texts(content).or_else(|| json::text(summary));
            if let Some(text) = text {
                let by = Speaker::Program;
                teller.tell(Record::Said { by, text });
            }
        }
        _ => {}
    }
    Ok(())
}

/// A string, or the texts of content blocks.
fn texts(content: &str) -> Option<Cow<'_, str>> {
    let mut text = json::text(content);
    json::elements(content, |block| {
        if let Some(part) = json::text_of(block, "text") {
            text = Some(joined(text.take(), part));
        }
    });
    text
}

fn message<F: FnMut(At, Record<'_>)>(message: &str, teller: &mut Teller<'_, F>) {
    let (mut role, mut content, mut id, mut error) = ("", "", None, "");
    let (mut usage, mut stop, mut attribution) = ("", "", "");
    let (mut command, mut output) = ("", "");
    let _ = json::fields(message, |name, value| match name {
        "role" => role = value,
        "content" => content = value,
        "toolCallId" => id = json::text(value),
        "isError" => error = value,
        "usage" => usage = value,
        "stopReason" => stop = value,
        "attribution" => attribution = value,
        "command" => command = value,
        "output" => output = value,
        _ => {}
    });
    match role {
        r#""user""# => {
            let person = matches!(attribution, "" | r#""user""#);
            let by = if person {
                Speaker::Person
            } else {
                Speaker::Program
            };
            let text = texts(content).unwrap_or_default();
            teller.tell(Record::Said { by, text });
        }
        r#""toolResult""# => teller.tell(Record::Returned {
            id: id.unwrap_or_default(),
            text: texts(content).unwrap_or_default(),
            outcome: if error == "true" {
                Outcome::Failed
            } else {
                Outcome::Done
            },
        }),
        // A command that a person ran without the agent.
        r#""bashExecution""# => {
            let text = joined(json::text(command), flat(output));
            let by = Speaker::Program;
            teller.tell(Record::Said { by, text });
        }
        r#""assistant""# => {
            assistant(content, teller);
            let mut tokens = 0u64;
            let _ = json::fields(usage, |name, value| {
                if matches!(name, "input" | "cacheRead" | "cacheWrite") {
                    tokens = tokens.saturating_add(json::number(value).unwrap_or(0));
                }
            });
            if tokens > 0 {
                teller.tell(Record::Used { tokens });
            }
            if stop == r#""aborted""# {
                teller.tell(Record::Interrupted);
            }
        }
        _ => {}
    }
}

fn assistant<F: FnMut(At, Record<'_>)>(content: &str, teller: &mut Teller<'_, F>) {
    let mut told = false;
    if let Some(text) = json::text(content) {
        told = true;
        teller.tell(Record::Spoke { text });
    }
    json::elements(content, |block| {
        let (mut kind, mut text, mut id, mut tool, mut input) = ("", None, None, None, None);
        let _ = json::fields(block, |name, value| match name {
            "type" => kind = value,
            "text" => text = json::text(value),
            "id" => id = json::text(value),
            "name" => tool = json::text(value),
            "arguments" => input = json::raw(value),
            _ => {}
        });
        match (kind, text, input) {
            (r#""text""#, Some(text), _) => {
                told = true;
                teller.tell(Record::Spoke { text });
            }
            (r#""toolCall""#, _, Some(input)) => {
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
}
