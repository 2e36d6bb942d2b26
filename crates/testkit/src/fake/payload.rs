//! What hooks and the status line read on stdin. Pure.

use serde_json::{Value, json};

use super::VERSION;

/// The fields every hook of a conversation carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub session_id: String,
    pub transcript_path: String,
    pub cwd: String,
    pub prompt_id: Option<String>,
}

/// How full the context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// Before the first answer.
    Unknown,
    /// After a compaction, until the next answer, these are zero.
    Tokens { input: u64, output: u64 },
}

/// A hook's payload; `more` follows the common fields.
pub(super) fn hook(facts: &Facts, event: &str, more: Value) -> Value {
    let mut payload = json!({
        "session_id": facts.session_id, "transcript_path": facts.transcript_path, "cwd": facts.cwd,
    });
    if let Some(id) = &facts.prompt_id {
        payload["prompt_id"] = json!(id);
    }
    let with_mode = [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "PermissionRequest",
        "Stop",
        "SubagentStop",
    ];
    if with_mode.contains(&event) {
        payload["permission_mode"] = json!("default");
    }
    payload["hook_event_name"] = json!(event);
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}

/// The end of a turn, as `Stop` tells it.
pub(super) fn stop(active: bool, last: &str) -> Value {
    json!({
        "stop_hook_active": active, "last_assistant_message": last, "background_tasks": [], "session_crons": [],
    })
}

/// A command as the input of the Bash tool.
pub(super) fn bash(command: &str) -> Value {
    json!({"command": command, "description": "run a command"})
}

/// The status line's payload.
pub(super) fn status_line(facts: &Facts, model: &str, window: u64, usage: Usage) -> Value {
    let (tokens, output, current, used) = match usage {
        Usage::Unknown => (0, 0, Value::Null, None),
        Usage::Tokens { input, output } => {
            let current = json!({
                "input_tokens": input, "output_tokens": output,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            });
            (
                input,
                output,
                current,
                Some(((200 * input + window) / (2 * window)).min(100)),
            )
        }
    };
    let mut payload = json!({
        "session_id": facts.session_id, "transcript_path": facts.transcript_path, "cwd": facts.cwd,
    });
    if let Some(id) = &facts.prompt_id {
        payload["prompt_id"] = json!(id);
    }
    let more = json!({
        "model": {"id": model, "display_name": model},
        "workspace": {"current_dir": facts.cwd, "project_dir": facts.cwd, "added_dirs": []},
        "version": VERSION,
        "output_style": {"name": "default"},
        "cost": {
            "total_cost_usd": 0, "total_duration_ms": 0, "total_api_duration_ms": 0,
            "total_lines_added": 0, "total_lines_removed": 0,
        },
        "context_window": {
            "total_input_tokens": tokens, "total_output_tokens": output, "context_window_size": window,
            "current_usage": current, "used_percentage": used, "remaining_percentage": used.map(|u| 100 - u),
        },
        "exceeds_200k_tokens": tokens > 200_000,
        "fast_mode": false,
        "thinking": {"enabled": true},
    });
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_have_the_fields_of_the_real_program() {
        let mut facts = Facts {
            session_id: "s".into(),
            transcript_path: "/t".into(),
            cwd: "/c".into(),
            prompt_id: None,
        };
        let start = hook(
            &facts,
            "SessionStart",
            json!({"source": "startup", "model": "m"}),
        );
        assert_eq!(
            start.to_string(),
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/c","hook_event_name":"SessionStart","source":"startup","model":"m"}"#
        );
        facts.prompt_id = Some("p".into());
        assert_eq!(
            hook(&facts, "Stop", stop(true, "x")).to_string(),
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/c","prompt_id":"p","permission_mode":"default","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"x","background_tasks":[],"session_crons":[]}"#
        );
    }

    #[test]
    fn percentages_are_of_the_input_and_rounded_half_up() {
        let used = |input| {
            let usage = Usage::Tokens {
                input,
                output: 4000,
            };
            status_line(&Facts::default(), "m", 200_000, usage)["context_window"]["used_percentage"]
                .clone()
        };
        assert_eq!(
            (used(62_000), used(165_000), used(0)),
            (json!(31), json!(83), json!(0))
        );
        let unknown = status_line(&Facts::default(), "m", 200_000, Usage::Unknown);
        assert_eq!(unknown["context_window"]["used_percentage"], Value::Null);
    }
}
