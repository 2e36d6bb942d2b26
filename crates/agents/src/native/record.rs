//! The agent's session file (format version 3), read as it grows: what was said to the model is
//! there before it is asked.
//!
//! A file begins with what was handed over to it, if anything was; that is no message of anybody's.

use crate::json::{short, time};
use crate::tool_call::{CALL_ID, describe};
use serde::Deserialize;
use serde_json::Value;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::lines::{Lines, MAX_LINE};
use sm_core::signal::{Came, Fact, UsageSample, UsageSource};

/// Whether a file of this name is the session's.
pub fn is_of(name: &str, conversation: &ConversationId) -> bool {
    name.strip_suffix(".jsonl")
        .and_then(|rest| rest.strip_suffix(conversation.as_str()))
        .is_some_and(|rest| rest.ends_with('_'))
}

/// Reads the file of one session from its beginning (or from any line start).
#[derive(Debug)]
pub struct Tail {
    lines: Lines,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    #[serde(rename = "type")]
    kind: Value,
    timestamp: Value,
    message: Message,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    role: Value,
    content: Value,
    usage: Value,
    #[serde(rename = "toolCallId")]
    call: Value,
    #[serde(rename = "stopReason")]
    stop: Value,
}

impl Default for Tail {
    fn default() -> Self {
        Self {
            lines: Lines::new(MAX_LINE),
        }
    }
}

impl Tail {
    /// Lines that were too long to be read.
    pub fn skipped(&self) -> u64 {
        self.lines.skipped()
    }

    /// Takes the next bytes of the file; gives the facts of the lines that are now complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Fact> {
        let mut facts = Vec::new();
        self.lines.feed(bytes, |line| {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                read(&entry, &mut facts);
            }
        });
        facts
    }
}

fn read(entry: &Entry, facts: &mut Vec<Fact>) {
    if entry.kind.as_str() != Some("message") {
        return;
    }
    let at = time(&entry.timestamp);
    match entry.message.role.as_str() {
        Some("user") => facts.extend(words(&entry.message.content).map(|text| Fact::UserText {
            text,
            came: Came::Prompt,
            at,
        })),
        // Half an answer that was broken off proves nothing; the agent tells how the turn ended.
        Some("assistant")
            if !matches!(entry.message.stop.as_str(), Some("error") | Some("aborted")) =>
        {
            facts.push(Fact::Assistant { at });
            facts.extend(calls(&entry.message.content));
            facts.extend(usage(&entry.message.usage, at).map(Fact::Usage));
        }
        Some("toolResult") => {
            if let Some(id) = entry.message.call.as_str() {
                let id = short(id, CALL_ID);
                facts.push(Fact::ToolReturned { id });
            }
        }
        _ => {}
    }
}

fn calls(content: &Value) -> impl Iterator<Item = Fact> {
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    blocks.iter().filter_map(|block| {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        let call = field("type") == Some("toolCall");
        let input = block.get("arguments").unwrap_or(&Value::Null);
        let described = describe(field("name").filter(|_| call)?, input)?;
        Some(Fact::ToolCalled {
            id: short(field("id")?, CALL_ID),
            call: described,
        })
    })
}

fn words(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block.get("text").and_then(Value::as_str))
                .collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

fn usage(usage: &Value, at: Option<Timestamp>) -> Option<UsageSample> {
    let tokens = usage.get("totalTokens")?.as_u64().filter(|n| *n > 0)?;
    Some(UsageSample {
        source: UsageSource::Transcript,
        used_percentage: None,
        tokens: Some(tokens),
        window: None,
        at: at.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(
        r#"{"type":"session","version":3,"id":"0197","timestamp":"2026-11-15T08:00:00.000Z","cwd":"/w"}"#,
        "\n",
        r#"{"type":"custom_message","customType":"handoff","content":"not said","id":"a","timestamp":"2026-11-15T08:00:00.000Z"}"#,
        "\n",
        r#"{"type":"message","id":"b","timestamp":"2026-11-15T08:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"fix it"}]}}"#,
        "\n",
        r#"{"type":"message","id":"c","timestamp":"2026-11-15T08:00:02.000Z","message":{"role":"assistant","content":[],"usage":{"totalTokens":1200},"stopReason":"toolUse"}}"#,
        "\n",
        r#"{"type":"message","id":"d","timestamp":"2026-11-15T08:00:03.000Z","message":{"role":"toolResult","content":[{"type":"text","text":"out"}]}}"#,
        "\n",
        r#"{"type":"message","id":"e","timestamp":"2026-11-15T08:00:04.000Z","message":{"role":"assistant","content":[],"usage":{"totalTokens":9},"stopReason":"aborted"}}"#,
        "\nnot json\n",
        r#"{"type":"message","message":{"role":"user","content":"as a string"}}"#,
        "\n",
    );

    #[test]
    fn what_was_said_is_read_however_it_arrives() {
        let second = |n: i64| Some(Timestamp(1_794_729_600_000 + n * 1_000));
        let said = |text: &str, at| Fact::UserText {
            text: text.to_owned(),
            came: Came::Prompt,
            at,
        };
        let expected = [
            said("fix it", second(1)),
            Fact::Assistant { at: second(2) },
            Fact::Usage(UsageSample {
                source: UsageSource::Transcript,
                used_percentage: None,
                tokens: Some(1200),
                window: None,
                at: second(2).unwrap(),
            }),
            said("as a string", None),
        ];
        for step in [1, 7, FILE.len()] {
            let mut tail = Tail::default();
            let mut facts = Vec::new();
            for piece in FILE.as_bytes().chunks(step) {
                facts.extend(tail.feed(piece));
            }
            assert_eq!(facts, expected, "in pieces of {step}");
        }
    }

    #[test]
    fn a_file_is_known_by_its_name() {
        let id = ConversationId::new("0197-a").unwrap();
        for (name, its) in [
            ("2026-11-15T06-33-13-963Z_0197-a.jsonl", true),
            ("x_90197-a.jsonl", false),
            ("x_0197-a.jsonl.lock", false),
            ("0197-a.jsonl", false),
        ] {
            assert_eq!(is_of(name, &id), its, "{name}");
        }
    }
}
