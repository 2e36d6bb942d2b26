//! Codex's hook payloads, and what its hooks print.

use crate::json::{conversation, owned, salvage, short, text};
use crate::parsed::Parsed;
use crate::tool_call::{asked_about, describe};
use serde::Deserialize;
use serde_json::{Value, json};
use sm_core::effect::Answer;
use sm_core::ids::Timestamp;
use sm_core::signal::{
    BreakReason, ContextSource, EndReason, Origin, PersonNeed, Signal, UsageSample, UsageSource,
};

/// The fields that matter; a field of an unexpected type counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    session_id: Value,
    transcript_path: Value,
    agent_id: Value,
    source: Value,
    prompt: Value,
    tool_name: Value,
    trigger: Value,
    stop_hook_active: Value,
    token_usage: Value,
}

/// Reads a hook call. Never fails.
pub fn parse_hook(event: &str, body: &[u8], at: Timestamp) -> Parsed {
    let (payload, warnings) = match serde_json::from_slice::<Payload>(body) {
        Ok(payload) => (payload, Vec::new()),
        Err(error) => {
            let payload = Payload {
                session_id: salvage(body, "session_id").map_or(Value::Null, Value::String),
                agent_id: salvage(body, "agent_id").map_or(Value::Null, Value::String),
                ..Payload::default()
            };
            let error = short(&error.to_string(), 200); // it may quote the payload
            (
                payload,
                vec![format!("{event}: payload unreadable: {error}")],
            )
        }
    };
    let read = warnings.is_empty();
    let signal = match event {
        "PostToolUse" => Signal::ToolsFinished,
        "PostCompact" => Signal::CompactionDone,
        "Stop" => Signal::Stopping {
            again: payload.stop_hook_active == Value::Bool(true),
            background_tasks: Vec::new(),
        },
        "Interrupt" => Signal::TurnBroken(BreakReason::Interrupted),
        "SessionEnd" => Signal::ContextEnded {
            reason: EndReason::Exit,
        },
        "SessionStart" if read => Signal::ContextStarted {
            source: source(&payload.source),
            transcript: owned(&payload.transcript_path),
        },
        "UserPromptSubmit" if read => Signal::PromptAccepted {
            text: payload.prompt.as_str().unwrap_or_default().to_owned(),
            transcript: owned(&payload.transcript_path),
        },
        "PermissionRequest" => {
            let tool = text(&payload.tool_name).unwrap_or_default();
            Signal::PersonNeeded {
                need: PersonNeed::Permission(short(tool, 80)),
                call: describe(tool, &asked_about(event, body)),
            }
        }
        "PreCompact" => Signal::CompactionStarting {
            automatic: text(&payload.trigger) == Some("auto"),
        },
        "PreToolUse" | "PreModelRequest" => Signal::Working,
        "PostModelRequest" => match usage(&payload.token_usage, at) {
            Some(sample) => Signal::Usage(sample),
            None => Signal::Working,
        },
        other => Signal::Other(short(other, 80)),
    };
    Parsed {
        conversation: conversation(&payload.session_id),
        origin_hint: origin(event, &payload),
        signal,
        windows: Vec::new(),
        warnings,
    }
}

/// What a tool of the conversation itself printed; those of sub-agents do not speak for it.
pub fn tool_output(event: &str, body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Printed {
        tool_response: String,
        #[serde(default)]
        agent_id: Value,
    }
    if event != "PostToolUse" {
        return None;
    }
    let printed: Printed = serde_json::from_slice(body).ok()?;
    text(&printed.agent_id)
        .is_none()
        .then_some(printed.tool_response)
}

/// As in Claude: a sub-agent's approval dialog does stand in the session's terminal.
fn origin(event: &str, payload: &Payload) -> Option<Origin> {
    match event {
        "PermissionRequest" => None,
        "SubagentStart" | "SubagentStop" => Some(Origin::SubAgent),
        _ => text(&payload.agent_id).map(|_| Origin::SubAgent),
    }
}

fn source(value: &Value) -> ContextSource {
    match text(value) {
        Some("startup") => ContextSource::Startup,
        Some("resume") => ContextSource::Resume,
        Some("clear") => ContextSource::Clear,
        Some("compact") => ContextSource::Compact,
        Some("fork") => ContextSource::Fork,
        _ => ContextSource::Other,
    }
}

fn usage(usage: &Value, at: Timestamp) -> Option<UsageSample> {
    let tokens = usage.get("total_tokens")?.as_u64()?;
    Some(UsageSample {
        source: UsageSource::Hook,
        used_percentage: None,
        tokens: Some(tokens),
        window: None,
        at,
    })
}

/// What the hook prints; an answer that the event cannot carry is nothing at all.
pub fn answer(event: &str, answer: &Answer, shown: Option<&str>) -> Vec<u8> {
    let mut printed = match (event, answer) {
        (_, Answer::Nothing) => return Vec::new(),
        ("PostToolUse" | "SessionStart" | "UserPromptSubmit", Answer::Context { text }) => {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
        }
        ("Stop", Answer::Continue { text }) => json!({"decision": "block", "reason": text}),
        (
            _,
            Answer::Context { .. }
            | Answer::Show { .. }
            | Answer::Continue { .. }
            | Answer::Block { .. }
            | Answer::Recover { .. },
        ) => return Vec::new(),
    };
    if let (Some(shown), Some(object)) = (shown, printed.as_object_mut()) {
        object.insert("systemMessage".to_owned(), json!(shown));
    }
    printed.to_string().into_bytes()
}
