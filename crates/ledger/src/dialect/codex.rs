//! Codex's rollout: one line an item, the conversation in `response_item`s.
//!
//! What is told twice (`event_msg` repeats messages for the screen) is read once.

use super::{Teller, flat, joined, time};
use crate::json::{self, Broken};
use crate::record::{At, Outcome, Record, Speaker};
use std::borrow::Cow;

/// Texts of the program's own that stand in the conversation as if a user had said them.
const HARNESS: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<hook_prompt ",
    "# AGENTS.md instructions",
];

pub(super) fn line<F: FnMut(At, Record<'_>)>(
    text: &str,
    teller: &mut Teller<'_, F>,
) -> Result<(), Broken> {
    let (mut kind, mut payload, mut when) = ("", "", None);
    json::fields(text, |name, value| match name {
        "type" => kind = value,
        "payload" => payload = value,
        "timestamp" => when = time(value),
        _ => {}
    })?;
    teller.at.time = when;
    match kind {
        r#""session_meta""# => {
            let branch = json::get(payload, "git").and_then(|git| json::get(git, "branch"));
            teller.place(json::get(payload, "cwd"), branch);
        }
        r#""turn_context""# => teller.place(json::get(payload, "cwd"), None),
        r#""response_item""# => item(payload, teller),
        r#""event_msg""# => event(payload, teller),
        r#""compacted""# => compacted(payload, teller),
        _ => {}
    }
    Ok(())
}

#[derive(Default)]
struct Item<'a> {
    kind: &'a str,
    role: &'a str,
    content: &'a str,
    meta: &'a str,
    id: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
    arguments: Option<&'a str>,
    output: &'a str,
}

impl<'a> Item<'a> {
    fn read(payload: &'a str) -> Self {
        let mut item = Self::default();
        let _ = json::fields(payload, |name, value| match name {
            "type" => item.kind = value,
            "role" => item.role = value,
            "content" => item.content = value,
            "internal_chat_message_metadata_passthrough" => item.meta = value,
            "call_id" => item.id = json::text(value).unwrap_or_default(),
            "name" => item.name = json::text(value),
            "arguments" | "input" | "action" => item.arguments = Some(value),
            "output" => item.output = value,
            _ => {}
        });
        item
    }

    fn text(&self) -> Option<Cow<'a, str>> {
        let mut text = json::text(self.content);
        json::elements(self.content, |part| {
            if let Some(part) = json::text_of(part, "text") {
                text = Some(joined(text.take(), part));
            }
        });
        text
    }

    /// Whether a person said it. Older records have no provenance: then by the text.
    fn by(&self, text: &str) -> Speaker {
        let mut kind = None;
        if let Some(items) = json::get(self.meta, "content_item_metadata") {
            json::elements(items, |item| {
                let provenance = json::get(item, "provenance");
                kind = kind.or_else(|| json::get(provenance?, "type"));
            });
        }
        let person = kind.is_none_or(|kind| kind == r#""user""#)
            && !HARNESS.iter().any(|start| text.starts_with(start));
        if person {
            Speaker::Person
        } else {
            Speaker::Program
        }
    }
}

fn item<F: FnMut(At, Record<'_>)>(payload: &str, teller: &mut Teller<'_, F>) {
    let item = Item::read(payload);
    match (item.kind, item.role) {
        (r#""message""#, role) => {
            let Some(text) = item.text() else { return };
            teller.tell(match role {
                r#""assistant""# => Record::Spoke { text },
                r#""user""# => Record::Said {
                    by: item.by(&text),
                    text,
                },
                _ => Record::Said {
                    by: Speaker::Program,
                    text,
                },
            });
        }
        (r#""reasoning""#, _) => teller.tell(Record::Thought),
        (
            r#""function_call""#
            | r#""custom_tool_call""#
            | r#""local_shell_call""#
            | r#""web_search_call""#,
            _,
        ) => call(item, teller),
        (r#""function_call_output""# | r#""custom_tool_call_output""#, _) => {
            let (text, outcome) = output(item.output);
            teller.tell(Record::Returned {
                id: item.id,
                text,
                outcome,
            });
        }
        _ => {}
    }
}

fn call<F: FnMut(At, Record<'_>)>(item: Item<'_>, teller: &mut Teller<'_, F>) {
    let tool = item.name.unwrap_or_else(|| {
        let kind = item.kind.trim_matches('"');
        Cow::Borrowed(kind.strip_suffix("_call").unwrap_or(kind))
    });
    let Some(arguments) = item.arguments else {
        return;
    };
    // Arguments are JSON in a string; a tool that takes a text has it there as it is.
    let inner = json::text(arguments).filter(|text| text.trim_start().starts_with('{'));
    let input = inner
        .as_deref()
        .and_then(json::raw)
        .or_else(|| json::raw(arguments));
    if let Some(input) = input {
        let id = item.id;
        teller.tell(Record::Called { id, tool, input });
    }
}

/// A text, or an object that holds one; older versions put that object into a string.
fn output(value: &str) -> (Cow<'_, str>, Outcome) {
    let text = match json::text(value) {
        Some(text) => text,
        None => return (flat(value), success(value)),
    };
    if text.starts_with("{\"output\"")
        && let Some(inner) = json::text_of(&text, "output")
    {
        let code = json::get(&text, "metadata").and_then(|m| json::get(m, "exit_code"));
        let outcome = code.map_or(Outcome::Unknown, exit);
        return (Cow::Owned(inner.into_owned()), outcome);
    }
    let head = crate::text::head(&text, 300);
    let outcome = ["Process exited with code ", "Exit code: "]
        .iter()
        .find_map(|mark| head.split_once(mark))
        .map(|(_, code)| exit(code.split_ascii_whitespace().next().unwrap_or_default()));
    let outcome = outcome.unwrap_or_else(|| {
        let failed = ["exec_command failed", "failed ", "error", "aborted by user"];
        match failed.iter().position(|start| head.starts_with(start)) {
            Some(3) => Outcome::Refused,
            Some(_) => Outcome::Failed,
            None => Outcome::Unknown,
        }
    });
    (text, outcome)
}

fn exit(code: &str) -> Outcome {
    match code {
        "0" => Outcome::Done,
        "" => Outcome::Unknown,
        _ => Outcome::Failed,
    }
}

fn success(object: &str) -> Outcome {
    match json::get(object, "success") {
        Some("true") => Outcome::Done,
        Some("false") => Outcome::Failed,
        _ => Outcome::Unknown,
    }
}

fn event<F: FnMut(At, Record<'_>)>(payload: &str, teller: &mut Teller<'_, F>) {
    match json::get(payload, "type") {
        Some(r#""turn_aborted""#) => teller.tell(Record::Interrupted),
        Some(r#""token_count""#) => {
            let tokens = json::get(payload, "info")
                .and_then(|info| json::get(info, "last_token_usage"))
                .and_then(|usage| json::get(usage, "total_tokens"))
                .and_then(json::number);
            if let Some(tokens) = tokens {
                teller.tell(Record::Used { tokens });
            }
        }
        _ => {}
    }
}

/// The summary, and the person's own words, which stay in the context behind it.
fn compacted<F: FnMut(At, Record<'_>)>(payload: &str, teller: &mut Teller<'_, F>) {
    let summary = json::text_of(payload, "message").filter(|text| !text.is_empty());
    let begin = summary.clone();
    teller.tell(Record::Compacted { summary });
    let Some(history) = json::get(payload, "replacement_history") else {
        return;
    };
    json::elements(history, |message| {
        let item = Item::read(message);
        if (item.kind, item.role) != (r#""message""#, r#""user""#) {
            return;
        }
        let Some(text) = item.text() else { return };
        if begin.as_deref() != Some(&text) && item.by(&text) == Speaker::Person {
            let by = Speaker::Person;
            teller.tell(Record::Said { by, text });
        }
    });
}
