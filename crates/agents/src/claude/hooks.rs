//! Claude Code's hook payloads, and what its hooks print.

use super::settings::prompt_text;
use crate::json::{conversation, owned, salvage, seconds, short, text};
use crate::parsed::{Parsed, event};
use crate::refusal::{Called, refusal};
use crate::tool_call::{asked_about, describe};
use serde::Deserialize;
use serde_json::{Value, json};
use sm_core::effect::Answer;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::limit::UsageWindow;
use sm_core::signal::{
    BreakReason, ContextSource, EndReason, Origin, PersonNeed, Signal, UsageSample, UsageSource,
};

/// The fields that matter. Everything else (tool inputs and outputs of any size) is skipped
/// without being kept; a field of an unexpected type counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    session_id: Value,
    transcript_path: Value,
    hook_event_name: Value,
    agent_id: Value,
    source: Value,
    reason: Value,
    prompt: Value,
    tool_name: Value,
    notification_type: Value,
    trigger: Value,
    stop_hook_active: Value,
    background_tasks: Value,
    error: Value,
    error_details: Value,
    last_assistant_message: Value,
    context_window: Value,
    rate_limits: Value,
}

/// Reads a hook call. Never fails.
pub fn parse_hook(event: &str, body: &[u8], at: Timestamp) -> Parsed {
    let mut warnings = Vec::new();
    let payload = match serde_json::from_slice::<Payload>(body) {
        Ok(payload) => payload,
        Err(error) => {
            let error = short(&error.to_string(), 200); // it may quote the payload
            warnings.push(format!("{event}: payload unreadable: {error}"));
            Payload {
                session_id: salvage(body, "session_id").map_or(Value::Null, Value::String),
                agent_id: salvage(body, "agent_id").map_or(Value::Null, Value::String),
                ..Payload::default()
            }
        }
    };
    let said = text(&payload.hook_event_name);
    let mailbox_or_status = matches!(event, event::MAILBOX | event::STATUS_LINE);
    if let Some(said) = said.filter(|said| *said != event && !mailbox_or_status) {
        warnings.push(format!("{event}: payload says it is {}", short(said, 40)));
    }
    // A payload that could not be read names no details, so nothing may be concluded from them.
    let signal = match warnings.is_empty() || said.is_some() {
        true => signal(event, &payload, &asked_about(event, body), at),
        false => unread(event),
    };
    Parsed {
        conversation: conversation_of(&payload),
        origin_hint: origin(event, &payload),
        signal,
        windows: windows(&payload.rate_limits),
        warnings,
    }
}

fn conversation_of(payload: &Payload) -> Option<ConversationId> {
    conversation(&payload.session_id)
}

/// A sub-agent never speaks for the conversation. Its permission dialogs do stand in the session's
/// terminal, so they are the session's own.
fn origin(event: &str, payload: &Payload) -> Option<Origin> {
    match event {
        "PermissionRequest" | "Notification" => None,
        "SubagentStart" | "SubagentStop" => Some(Origin::SubAgent),
        _ => text(&payload.agent_id).map(|_| Origin::SubAgent),
    }
}

fn signal(event: &str, payload: &Payload, tool_input: &Value, at: Timestamp) -> Signal {
    match event {
        "SessionStart" => Signal::ContextStarted {
            source: source(&payload.source),
            transcript: owned(&payload.transcript_path),
        },
        "SessionEnd" => Signal::ContextEnded {
            reason: end_reason(&payload.reason),
        },
        "UserPromptSubmit" => {
            let prompt = payload.prompt.as_str().unwrap_or_default();
            Signal::PromptAccepted {
                text: prompt_text(prompt).into_owned(),
                transcript: owned(&payload.transcript_path),
            }
        }
        "PostToolBatch" => Signal::ToolsFinished,
        "PermissionRequest" => {
            let tool = text(&payload.tool_name);
            Signal::PersonNeeded {
                need: need(tool),
                call: describe(tool.unwrap_or_default(), tool_input),
            }
        }
        "Notification" => notification(payload),
        "Stop" => Signal::Stopping {
            again: payload.stop_hook_active == Value::Bool(true),
            background_tasks: payload
                .background_tasks
                .as_array()
                .map(|tasks| tasks.iter().take(TASKS).map(task).collect())
                .unwrap_or_default(),
        },
        "StopFailure" => Signal::TurnBroken(failure(payload)),
        "PreCompact" => Signal::CompactionStarting {
            automatic: text(&payload.trigger) == Some("auto"),
        },
        "PostCompact" => Signal::CompactionDone,
        "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => Signal::Working,
        event::STATUS_LINE => match usage(&payload.context_window, at) {
            Some(sample) => Signal::Usage(sample),
            None => Signal::Other(event::STATUS_LINE.to_owned()),
        },
        other => Signal::Other(short(other, 80)),
    }
}

/// What an event means when nothing but its name is known.
fn unread(event: &str) -> Signal {
    match event {
        "PostToolBatch" => Signal::ToolsFinished,
        "PostCompact" => Signal::CompactionDone,
        "Stop" => Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
        "StopFailure" => Signal::TurnBroken(BreakReason::ApiError("unknown".to_owned())),
        other => Signal::Other(short(other, 80)),
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

fn end_reason(value: &Value) -> EndReason {
    match text(value) {
        Some("clear") => EndReason::Clear,
        Some("prompt_input_exit" | "logout") => EndReason::Exit,
        // "other" is also what signals make of it: the process's own end tells the rest.
        _ => EndReason::Other,
    }
}

fn need(tool: Option<&str>) -> PersonNeed {
    match tool {
        Some("AskUserQuestion" | "ExitPlanMode" | "EnterPlanMode") => PersonNeed::Question,
        tool => PersonNeed::Permission(short(tool.unwrap_or_default(), 80)),
    }
}

fn notification(payload: &Payload) -> Signal {
    match text(&payload.notification_type) {
        Some("permission_prompt") => Signal::PersonNeeded {
            need: need(None),
            call: None,
        },
        Some("elicitation_dialog") => Signal::PersonNeeded {
            need: PersonNeed::Question,
            call: None,
        },
        Some(kind) => Signal::Other(format!("Notification {}", short(kind, 40))),
        None => Signal::Other("Notification".to_owned()),
    }
}

fn failure(payload: &Payload) -> BreakReason {
    let kind = text(&payload.error).unwrap_or("unknown");
    let said = text(&payload.error_details).or(text(&payload.last_assistant_message));
    match refused(kind, None, said.unwrap_or_default()) {
        BreakReason::ApiError(_) => BreakReason::ApiError(match said {
            Some(said) => format!("{}: {}", short(kind, 60), short(said, 300)),
            None => short(kind, 60),
        }),
        limit => limit,
    }
}

/// `error`: what Claude calls it, in hook and record alike.
pub(super) fn refused(error: &str, status: Option<u64>, said: &str) -> BreakReason {
    let called = match error {
        // of an account's own limits it speaks in its own words, of others it hands on what was said
        "rate_limit" if said.starts_with("API Error") => Called::Busy,
        "rate_limit" => Called::UsageLimit,
        "overloaded" => Called::Busy,
        "server_error" => Called::Unanswered,
        _ => Called::Other,
    };
    refusal(called, status, said)
}

/// The status line's windows: `{"five_hour": {"used_percentage": 100, "resets_at": 1795108770}}`.
fn windows(limits: &Value) -> Vec<UsageWindow> {
    let Some(limits) = limits.as_object() else {
        return Vec::new();
    };
    let known = limits.iter().filter_map(|(name, window)| {
        let resets_at = window.get("resets_at").and_then(Value::as_i64);
        Some(UsageWindow {
            name: short(name, 40),
            used_percentage: window.get("used_percentage")?.as_f64()?,
            resets_at: resets_at.and_then(seconds),
        })
    });
    known.take(WINDOWS).collect()
}

/// The status line's own numbers. All zero after a compaction until the next response: unknown.
fn usage(window: &Value, at: Timestamp) -> Option<UsageSample> {
    let size = window.get("context_window_size")?.as_u64()?;
    let tokens = window
        .get("total_input_tokens")
        .and_then(Value::as_u64)
        .filter(|n| *n > 0);
    let percentage = window.get("used_percentage").and_then(Value::as_f64);
    Some(UsageSample {
        source: UsageSource::StatusLine,
        used_percentage: percentage.filter(|_| tokens.is_some()),
        tokens,
        window: Some(size),
        at,
    })
}

/// What the hook prints. `shown` is a line for the person, who otherwise sees nothing of it.
/// An answer that the event cannot carry is nothing at all.
pub fn answer(event: &str, answer: &Answer, shown: Option<&str>) -> Vec<u8> {
    let mut printed = match (event, answer) {
        (_, Answer::Nothing) => return Vec::new(),
        (
            "PostToolBatch" | "SessionStart" | "UserPromptSubmit" | "Stop",
            Answer::Context { text },
        ) => {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
        }
        // Not `"decision": "block"`: later requests would hold its reason twice.
        ("Stop", Answer::Continue { text }) => {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
        }
        ("UserPromptSubmit", Answer::Show { text }) => json!({"systemMessage": text}),
        ("PreCompact", Answer::Block { reason }) => json!({"decision": "block", "reason": reason}),
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

/// Windows of the provider that are told of.
const WINDOWS: usize = 8;
/// Background tasks that are told of, and characters of each.
const TASKS: usize = 20;
const TASK: usize = 120;

/// A few words for a background task: what it runs, or what it is.
fn task(task: &Value) -> String {
    let known = ["command", "description", "name", "id"];
    let words = known
        .iter()
        .find_map(|key| task.get(key).and_then(Value::as_str))
        .unwrap_or("a background task");
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(TASK).collect()
}
