//! Codex's record of a conversation (its rollout file), read as it grows.

use crate::json::{seconds, short, time};
use crate::refusal::{Called, refusal};
use crate::tool_call::{CALL_ID, describe};
use serde::Deserialize;
use serde_json::Value;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::limit::UsageWindow;
use sm_core::lines::{Lines, MAX_LINE};
use sm_core::signal::{BreakReason, Came, Fact, UsageSample, UsageSource};

const HOOK_PROMPT: &str = "<hook_prompt ";

/// Texts of the program's own that stand in the conversation as if a user had said them.
const HARNESS: [&str; 5] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
];

/// Reads the record of one conversation from its beginning (or from any line start).
#[derive(Debug)]
pub struct Tail {
    conversation: ConversationId,
    lines: Lines,
    /// A fork copies the records of the conversation it came from behind its own header.
    foreign: bool,
    /// Tools ran since the last prompt: what a user says now joins the turn.
    in_turn: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    timestamp: Value,
    #[serde(rename = "type")]
    kind: Value,
    payload: Payload,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type")]
    kind: Value,
    id: Value,
    role: Value,
    content: Value,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    meta: Value,
    reason: Value,
    error: Value,
    info: Value,
    rate_limits: Value,
    name: Value,
    call_id: Value,
    arguments: Value,
    input: Value,
    action: Value,
}

/// Whether a line may tell something: most bytes are instructions and snapshots.
fn matters(line: &[u8]) -> bool {
    const KINDS: [&[u8]; 4] = [
        b"\"type\":\"response_item\"",
        b"\"type\":\"event_msg\"",
        b"\"type\":\"compacted\"",
        b"\"type\":\"session_meta\"",
    ];
    let head = &line[..line.len().min(256)];
    KINDS
        .iter()
        .any(|kind| head.windows(kind.len()).any(|part| part == *kind))
}

impl Tail {
    pub fn new(conversation: ConversationId) -> Self {
        Self {
            conversation,
            lines: Lines::new(MAX_LINE),
            foreign: false,
            in_turn: false,
        }
    }

    /// Lines that were too long to be read.
    pub fn skipped(&self) -> u64 {
        self.lines.skipped()
    }

    /// Takes the next bytes of the file; gives the facts of the lines that are now complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Fact> {
        let mut facts = Vec::new();
        let Self {
            conversation,
            lines,
            foreign,
            in_turn,
        } = self;
        lines.feed(bytes, |line| {
            if !matters(line) {
                return;
            }
            let Ok(record) = serde_json::from_slice::<Record>(line) else {
                return;
            };
            let payload = &record.payload;
            let at = time(&record.timestamp);
            match record.kind.as_str() {
                Some("session_meta") => {
                    *foreign = payload
                        .id
                        .as_str()
                        .is_some_and(|id| id != conversation.as_str());
                }
                _ if *foreign => {}
                Some("response_item") => item(payload, at, in_turn, &mut facts),
                Some("event_msg") => event(payload, at, in_turn, &mut facts),
                Some("compacted") => facts.push(Fact::CompactBoundary {
                    before: None,
                    after: None,
                    at,
                }),
                _ => {}
            }
        });
        facts
    }
}

fn item(payload: &Payload, at: Option<Timestamp>, in_turn: &mut bool, facts: &mut Vec<Fact>) {
    match (payload.kind.as_str(), payload.role.as_str()) {
        (Some("message"), Some("user")) => {
            let Some(text) = content_text(&payload.content) else {
                return;
            };
            let by_hook = flag(&payload.meta, "hook");
            if let Some(text) = hook_prompt(&text) {
                facts.push(Fact::UserText {
                    text,
                    came: Came::StopFeedback,
                    at,
                });
            } else if !harness(&payload.meta, &text) && by_hook != Some(true) {
                let came = if *in_turn { Came::Queued } else { Came::Prompt };
                *in_turn = true;
                facts.push(Fact::UserText { text, came, at });
            }
        }
        (Some("message"), Some("developer")) => {
            // The program's own instructions come the same way; only hooks are marked as such.
            if flag(&payload.meta, "hook") == Some(true)
                && let Some(text) = content_text(&payload.content)
            {
                facts.push(Fact::UserText {
                    text,
                    came: Came::HookContext,
                    at,
                });
            }
        }
        (Some("message"), Some("assistant"))
        | (Some("function_call" | "custom_tool_call" | "local_shell_call" | "reasoning"), _) => {
            facts.push(Fact::Assistant { at });
            facts.extend(tool_call(payload));
        }
        (Some("function_call_output" | "custom_tool_call_output"), _) => {
            if let Some(id) = payload.call_id.as_str() {
                let id = short(id, CALL_ID);
                facts.push(Fact::ToolReturned { id });
            }
        }
        _ => {}
    }
}

/// Arguments are JSON in a string, except for tools that take any text and for the shell.
fn tool_call(payload: &Payload) -> Option<Fact> {
    let id = short(payload.call_id.as_str()?, CALL_ID);
    let (tool, input) = match payload.kind.as_str()? {
        "function_call" => {
            let arguments = payload.arguments.as_str().unwrap_or_default();
            let read = serde_json::from_str(arguments);
            (payload.name.as_str()?, read.unwrap_or_default())
        }
        "custom_tool_call" => (payload.name.as_str()?, payload.input.clone()),
        "local_shell_call" => ("shell", payload.action.clone()),
        _ => return None,
    };
    let call = describe(tool, &input)?;
    Some(Fact::ToolCalled { id, call })
}

fn content_text(content: &Value) -> Option<String> {
    let texts = content
        .as_array()?
        .iter()
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// A mark in the provenance of the first content part.
fn flag(meta: &Value, name: &str) -> Option<bool> {
    meta.pointer("/content_item_metadata/0/provenance")?
        .get(name)?
        .as_bool()
}

/// Whether the program itself said it. Older records have no provenance: then by the text.
fn harness(meta: &Value, text: &str) -> bool {
    match meta
        .pointer("/content_item_metadata/0/provenance/type")
        .and_then(Value::as_str)
    {
        Some(kind) => kind != "user",
        None => HARNESS.iter().any(|start| text.starts_with(start)),
    }
}

/// The text of an answer to the hook at the end of a turn.
fn hook_prompt(text: &str) -> Option<String> {
    let inner = text
        .strip_prefix(HOOK_PROMPT)?
        .strip_suffix("</hook_prompt>")?;
    let (_, inner) = inner.split_once('>')?;
    Some(unescape(inner))
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

fn event(payload: &Payload, at: Option<Timestamp>, in_turn: &mut bool, facts: &mut Vec<Fact>) {
    match payload.kind.as_str() {
        Some("task_started") => *in_turn = false,
        Some("task_complete") => {
            *in_turn = false;
            let broken = payload.error.get("message").map(|message| {
                let info = payload.error.get("codex_error_info");
                refused(info, message.as_str().unwrap_or("unknown"))
            });
            facts.push(Fact::TurnEnded { broken, at });
        }
        Some("turn_aborted") => {
            *in_turn = false;
            let reason = match payload.reason.as_str() {
                Some("interrupted") => BreakReason::Interrupted,
                other => BreakReason::Other(short(other.unwrap_or("aborted"), 60)),
            };
            facts.push(Fact::TurnEnded {
                broken: Some(reason),
                at,
            });
        }
        Some("token_count") => {
            facts.extend(usage(&payload.info, at).map(Fact::Usage));
            let windows = windows(&payload.rate_limits);
            if !windows.is_empty() {
                facts.push(Fact::Windows(windows));
            }
        }
        _ => {}
    }
}

/// `info`: what Codex calls it, a word or a word with the status of the answer.
fn refused(info: Option<&Value>, said: &str) -> BreakReason {
    let word = |info: &Value| match info {
        Value::String(word) => Some(word.clone()),
        Value::Object(words) => words.keys().next().cloned(),
        _ => None,
    };
    let word = info.and_then(word).unwrap_or_default();
    let status = info.and_then(|info| info.get(&word)?.get("http_status_code")?.as_u64());
    let called = match word.as_str() {
        "usage_limit_exceeded" => Called::UsageLimit,
        "server_overloaded" => Called::Busy,
        "http_connection_failed"
        | "response_stream_connection_failed"
        | "response_stream_disconnected"
        | "response_too_many_failed_attempts"
        | "internal_server_error" => Called::Unanswered,
        _ => Called::Other,
    };
    refusal(called, status, said)
}

/// What an account has used of what it is allowed.
fn windows(limits: &Value) -> Vec<UsageWindow> {
    let window = |name: &str| {
        let window = limits.get(name)?;
        let resets_at = window.get("resets_at").and_then(Value::as_i64);
        Some(UsageWindow {
            name: name.to_owned(),
            used_percentage: window.get("used_percent")?.as_f64()?,
            resets_at: resets_at.and_then(seconds),
        })
    };
    ["primary", "secondary"]
        .into_iter()
        .filter_map(window)
        .collect()
}

/// The program keeps this many tokens out of its own percentage.
const BASELINE: u64 = 12_000;

/// Codex counts input and output of the last request, against a window of which it leaves out
/// what every conversation begins with.
fn usage(info: &Value, at: Option<Timestamp>) -> Option<UsageSample> {
    let tokens = info.pointer("/last_token_usage/total_tokens")?.as_u64()?;
    let window = info
        .get("model_context_window")
        .and_then(Value::as_u64)
        .filter(|w| *w > BASELINE);
    let used_percentage = window.map(|window| {
        let (used, all) = (tokens.saturating_sub(BASELINE), window - BASELINE);
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below 2^52"
        )]
        let part = used as f64 * 100.0 / all as f64;
        part.min(100.0).round()
    });
    Some(UsageSample {
        source: UsageSource::Transcript,
        used_percentage,
        tokens: Some(tokens),
        window,
        at: at.unwrap_or_default(),
    })
}
