//! Payloads recorded from the real programs, and what they mean.

#![expect(clippy::unwrap_used, reason = "tests")]

use sm_agents::{answer, parse_hook};
use sm_core::effect::Answer;
use sm_core::ids::Timestamp;
use sm_core::profile::AgentKind;
use sm_core::signal::{
    BreakReason, ContextSource, EndReason, Origin, PersonNeed, Signal, ToolCall, UsageSample,
    UsageSource,
};

const AT: Timestamp = Timestamp(7);

fn read(folder: &str, file: &str) -> Vec<u8> {
    std::fs::read(format!(
        "{}/tests/fixtures/{folder}/{file}.json",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

fn asks_to_run(command: &str) -> Signal {
    Signal::PersonNeeded {
        need: PersonNeed::Permission("Bash".to_owned()),
        call: Some(ToolCall {
            tool: "Bash".to_owned(),
            text: command.to_owned(),
        }),
    }
}

fn permission(tool: &str) -> Signal {
    Signal::PersonNeeded {
        need: PersonNeed::Permission(tool.to_owned()),
        call: None,
    }
}

#[test]
fn claude_payloads() {
    let path = |id: &str| {
        Some(format!(
            "/home/user/.claude/projects/-home-user-project/{id}.jsonl"
        ))
    };
    let started = |source, id| Signal::ContextStarted {
        source,
        transcript: path(id),
    };
    for (file, event, expected) in [
        (
            "hook_SessionStart_startup",
            "SessionStart",
            started(
                ContextSource::Startup,
                "6b06ed23-2cef-4f60-a4f5-9ba816c5a58d",
            ),
        ),
        (
            "hook_SessionStart_resume",
            "SessionStart",
            started(
                ContextSource::Resume,
                "1bf6eb6c-5a71-453f-b159-fdaf45ca1257",
            ),
        ),
        (
            "hook_SessionStart_clear",
            "SessionStart",
            started(ContextSource::Clear, "ab1d89d7-4df3-44b0-811a-fc992c414ca5"),
        ),
        (
            "hook_SessionStart_compact",
            "SessionStart",
            started(
                ContextSource::Compact,
                "63560fec-eb51-4085-be72-87671cd7c948",
            ),
        ),
        (
            "hook_SessionEnd_clear",
            "SessionEnd",
            Signal::ContextEnded {
                reason: EndReason::Clear,
            },
        ),
        (
            "hook_SessionEnd_prompt_input_exit",
            "SessionEnd",
            Signal::ContextEnded {
                reason: EndReason::Exit,
            },
        ),
        (
            "hook_SessionEnd_other",
            "SessionEnd",
            Signal::ContextEnded {
                reason: EndReason::Other,
            },
        ),
        ("hook_PostToolBatch", "PostToolBatch", Signal::ToolsFinished),
        ("hook_PreToolUse_Bash", "PreToolUse", Signal::Working),
        ("hook_PostToolUse_Bash", "PostToolUse", Signal::Working),
        (
            "hook_PermissionRequest_Bash",
            "PermissionRequest",
            asks_to_run(
                "touch /home/user/project/x1 && env | grep -E 'CLAUDE|TMUX|AI_AGENT|GIT_EDITOR|SHLVL' ; sleep 1",
            ),
        ),
        (
            "hook_Notification_permission_prompt",
            "Notification",
            permission(""),
        ),
        (
            "hook_Notification_idle_prompt",
            "Notification",
            Signal::Other("Notification idle_prompt".to_owned()),
        ),
        (
            "hook_Stop",
            "Stop",
            Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
        ),
        (
            "hook_Stop_stop_hook_active",
            "Stop",
            Signal::Stopping {
                again: true,
                background_tasks: Vec::new(),
            },
        ),
        (
            "hook_Stop_with_background_task",
            "Stop",
            Signal::Stopping {
                again: false,
                background_tasks: vec!["sleep 30".into()],
            },
        ),
        (
            "hook_PreCompact_auto",
            "PreCompact",
            Signal::CompactionStarting { automatic: true },
        ),
        (
            "hook_PreCompact_manual",
            "PreCompact",
            Signal::CompactionStarting { automatic: false },
        ),
        (
            "hook_PostCompact_auto",
            "PostCompact",
            Signal::CompactionDone,
        ),
        (
            "hook_SubagentStop",
            "SubagentStop",
            Signal::Other("SubagentStop".to_owned()),
        ),
    ] {
        let parsed = parse_hook(AgentKind::Claude, event, &read("claude", file), AT);
        assert_eq!(parsed.signal, expected, "{file}");
        assert!(
            parsed.conversation.is_some() && parsed.warnings.is_empty(),
            "{file}"
        );
        let sub_agent = (event == "SubagentStop").then_some(Origin::SubAgent);
        assert_eq!(parsed.origin_hint, sub_agent, "{file}");
    }
}

#[test]
fn claude_prompts_and_failures() {
    let body = read("claude", "hook_UserPromptSubmit");
    match parse_hook(AgentKind::Claude, "UserPromptSubmit", &body, AT).signal {
        Signal::PromptAccepted { text, transcript } => {
            assert_eq!(text, "hello there first prompt");
            assert!(transcript.is_some());
        }
        other => panic!("{other:?}"),
    }
    let body = read("claude", "hook_UserPromptSubmit_task_notification");
    match parse_hook(AgentKind::Claude, "UserPromptSubmit", &body, AT).signal {
        Signal::PromptAccepted { text, .. } => {
            assert!(text.starts_with("<task-notification>\n<task-id>"))
        }
        other => panic!("{other:?}"),
    }
    let body = read("claude", "hook_StopFailure");
    match parse_hook(AgentKind::Claude, "StopFailure", &body, AT).signal {
        Signal::TurnBroken(BreakReason::ApiError(why)) => {
            assert!(
                why.starts_with("invalid_request: 400 ") && why.contains("prompt is too long"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_text_from_the_mailbox_is_unwrapped() {
    let prompt = "<task-notification>\n<summary>Message received through sm</summary>\n</task-notification>\n<system-reminder>\nThis is not an error and not a background task. It is a message for you, delivered by the session manager sm. Treat it like a prompt typed by the user:\n\n /help me\n\ttab <x> & \"q\"  \n\n</system-reminder>";
    let body = serde_json::json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": prompt});
    let parsed = parse_hook(
        AgentKind::Claude,
        "UserPromptSubmit",
        body.to_string().as_bytes(),
        AT,
    );
    let text = "/help me\n\ttab <x> & \"q\"  \n".to_owned();
    assert_eq!(
        parsed.signal,
        Signal::PromptAccepted {
            text,
            transcript: None
        }
    );
}

#[test]
fn claude_usage() {
    let sample = |used_percentage, tokens, window| {
        Signal::Usage(UsageSample {
            source: UsageSource::StatusLine,
            used_percentage,
            tokens,
            window: Some(window),
            at: AT,
        })
    };
    for (file, expected) in [
        (
            "statusline_31pct_sonnet_200k",
            sample(Some(31.0), Some(62_000), 200_000),
        ),
        (
            "statusline_before_first_call",
            sample(None, None, 1_000_000),
        ),
        ("statusline_after_compact_zero", sample(None, None, 200_000)),
    ] {
        assert_eq!(
            parse_hook(AgentKind::Claude, "statusline", &read("claude", file), AT).signal,
            expected,
            "{file}"
        );
    }
}

#[test]
fn sub_agents_are_told_apart() {
    for (event, agent, expected) in [
        ("PostToolBatch", "a4cf3145350b59a5e", Some(Origin::SubAgent)),
        ("PostToolBatch", "", None),
        ("Stop", "a4cf3145350b59a5e", Some(Origin::SubAgent)),
        // Its dialog stands in the session's own terminal.
        ("PermissionRequest", "a4cf3145350b59a5e", None),
    ] {
        let body = serde_json::json!({"session_id": "s", "agent_id": agent, "agent_type": "general-purpose"});
        let parsed = parse_hook(AgentKind::Claude, event, body.to_string().as_bytes(), AT);
        assert_eq!(parsed.origin_hint, expected, "{event} {agent}");
    }
    let body =
        serde_json::json!({"session_id": "s", "agent_id": "01a1", "prompt": "for the sub-agent"});
    for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
        let parsed = parse_hook(AgentKind::Codex, event, body.to_string().as_bytes(), AT);
        assert_eq!(parsed.origin_hint, Some(Origin::SubAgent), "{event}");
    }
}

#[test]
fn questions_are_no_permissions() {
    for (tool, input) in [
        (
            "AskUserQuestion",
            serde_json::json!({"questions": [{"question": "Ship it?"}]}),
        ),
        ("ExitPlanMode", serde_json::json!({"plan": "Ship it?"})),
    ] {
        let body = serde_json::json!({"session_id": "s", "tool_name": tool, "tool_input": input});
        let parsed = parse_hook(
            AgentKind::Claude,
            "PermissionRequest",
            body.to_string().as_bytes(),
            AT,
        );
        assert_eq!(
            parsed.signal,
            Signal::PersonNeeded {
                need: PersonNeed::Question,
                call: Some(ToolCall {
                    tool: tool.to_owned(),
                    text: "Ship it?".to_owned(),
                })
            }
        );
    }
}

#[test]
fn what_cannot_be_read_says_as_little_as_it_knows() {
    let cut =
        br#"{"session_id":"abc","hook_event_name":"UserPromptSubmit","prompt":"it goes on and"#;
    for kind in AgentKind::ALL {
        let parsed = parse_hook(kind, "UserPromptSubmit", cut, AT);
        assert_eq!(
            parsed.signal,
            Signal::Other("UserPromptSubmit".to_owned()),
            "{kind:?}"
        );
        let named = parsed.conversation.map(String::from);
        assert_eq!(
            named.as_deref(),
            (kind != AgentKind::Generic).then_some("abc")
        );
    }
    let parsed = parse_hook(AgentKind::Claude, "Stop", b"garbage", AT);
    assert_eq!(
        parsed.signal,
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new()
        }
    );
    assert_eq!(parsed.warnings.len(), 1);
}

#[test]
fn codex_payloads() {
    for (file, event, expected) in [
        (
            "hook_PostToolUse_Bash",
            "PostToolUse",
            Signal::ToolsFinished,
        ),
        ("hook_PreToolUse_Bash", "PreToolUse", Signal::Working),
        (
            "hook_PermissionRequest_Bash",
            "PermissionRequest",
            asks_to_run("touch /home/user/project/zz"),
        ),
        (
            "hook_Interrupt",
            "Interrupt",
            Signal::TurnBroken(BreakReason::Interrupted),
        ),
        (
            "hook_Stop",
            "Stop",
            Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
        ),
        (
            "hook_PreCompact_auto",
            "PreCompact",
            Signal::CompactionStarting { automatic: true },
        ),
        (
            "hook_PostCompact_manual",
            "PostCompact",
            Signal::CompactionDone,
        ),
        (
            "hook_SessionEnd_other",
            "SessionEnd",
            Signal::ContextEnded {
                reason: EndReason::Exit,
            },
        ),
        (
            "hook_notify_real_turn",
            "notify",
            Signal::Other("notify".to_owned()),
        ),
    ] {
        let parsed = parse_hook(AgentKind::Codex, event, &read("codex", file), AT);
        assert_eq!(parsed.signal, expected, "{file}");
    }
    for (file, expected) in [
        ("hook_SessionStart_startup", ContextSource::Startup),
        ("hook_SessionStart_clear", ContextSource::Clear),
        ("hook_SessionStart_fork", ContextSource::Fork),
        ("hook_SessionStart_compact", ContextSource::Compact),
    ] {
        let parsed = parse_hook(AgentKind::Codex, "SessionStart", &read("codex", file), AT);
        assert!(parsed.conversation.is_some());
        match parsed.signal {
            Signal::ContextStarted { source, transcript } => {
                assert_eq!(source, expected);
                assert!(transcript.is_some());
            }
            other => panic!("{other:?}"),
        }
    }
    match parse_hook(
        AgentKind::Codex,
        "UserPromptSubmit",
        &read("codex", "hook_UserPromptSubmit"),
        AT,
    )
    .signal
    {
        Signal::PromptAccepted { text, .. } => assert_eq!(text, "SAY: hello codex"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers() {
    let context = Answer::Context {
        text: "a\n\"b\"".to_owned(),
    };
    let go_on = Answer::Continue {
        text: "next".to_owned(),
    };
    for (kind, event, given, shown, expected) in [
        (
            AgentKind::Claude,
            "PostToolBatch",
            &context,
            Some("seen"),
            r#"{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"a\n\"b\""},"systemMessage":"seen"}"#,
        ),
        (
            AgentKind::Claude,
            "Stop",
            &go_on,
            None,
            r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"next"}}"#,
        ),
        (
            AgentKind::Claude,
            "UserPromptSubmit",
            &Answer::Show {
                text: "for people".to_owned(),
            },
            None,
            r#"{"systemMessage":"for people"}"#,
        ),
        (AgentKind::Claude, "PermissionRequest", &context, None, ""),
        (AgentKind::Claude, "PreCompact", &go_on, Some("seen"), ""),
        (
            AgentKind::Claude,
            "Stop",
            &Answer::Nothing,
            Some("seen"),
            "",
        ),
        (
            AgentKind::Codex,
            "PostToolUse",
            &context,
            None,
            r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"a\n\"b\""}}"#,
        ),
        (
            AgentKind::Codex,
            "Stop",
            &go_on,
            None,
            r#"{"decision":"block","reason":"next"}"#,
        ),
        (AgentKind::Codex, "PreCompact", &go_on, None, ""),
        (AgentKind::Generic, "output", &context, None, ""),
    ] {
        let printed = String::from_utf8(answer(kind, event, given, shown)).unwrap();
        assert_eq!(printed, expected, "{kind:?} {event}");
    }
}

#[test]
fn what_a_tool_of_codex_printed() {
    let printed =
        |kind, event, body: &str| sm_agents::kind::tool_output(kind, event, body.as_bytes());
    let body = r#"{"tool_response":"a\nb","tool_name":"Bash"}"#;
    let all = Some("a\nb".to_owned());
    assert_eq!(printed(AgentKind::Codex, "PostToolUse", body), all);
    assert_eq!(printed(AgentKind::Codex, "PreToolUse", body), None);
    assert_eq!(printed(AgentKind::Claude, "PostToolUse", body), None);
    for other in [
        r#"{"tool_response":{"x":1}}"#,
        r#"{"tool_response":"a","agent_id":"sub"}"#,
        "{",
        "",
    ] {
        assert_eq!(printed(AgentKind::Codex, "PostToolUse", other), None);
    }
}
