//! Records of real conversations in which text came by every way.

#![expect(clippy::unwrap_used, reason = "tests")]

use sm_agents::Tail;
use sm_agents::kind::can_resume;
use sm_core::ids::ConversationId;
use sm_core::profile::AgentKind;
use sm_core::signal::{BreakReason, Came, Fact};

/// The facts without times and usage, one word each, as a reader would tell them.
fn story(kind: AgentKind, file: &str, id: &str, chunk: usize) -> Vec<String> {
    let path = format!("{}/tests/fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let mut tail = Tail::new(kind, ConversationId::new(id).unwrap());
    let mut story = Vec::new();
    let mut calls = Vec::new();
    for part in bytes.chunks(chunk) {
        for fact in tail.feed(part) {
            match fact {
                Fact::UserText { text, came, at } => {
                    assert!(at.is_some());
                    let start: String = text.chars().take(24).collect();
                    story.push(format!("{}: {}", word(came), start.replace('\n', "⏎")));
                }
                Fact::Labelled { text, label } => assert!(!text.is_empty() && !label.is_empty()),
                Fact::Assistant { .. } => story.push("assistant".to_owned()),
                Fact::ToolCalled { id, call } => calls.push((id, call)),
                Fact::ToolReturned { id } => {
                    let at = calls.iter().position(|(known, _)| *known == id);
                    let (_, call) = calls.remove(at.unwrap());
                    assert!(!call.tool.is_empty() && !call.text.is_empty(), "{call:?}");
                }
                Fact::TurnEnded { broken: None, .. } => story.push("end".to_owned()),
                Fact::TurnEnded {
                    broken: Some(BreakReason::Interrupted),
                    ..
                } => story.push("interrupted".to_owned()),
                Fact::TurnEnded {
                    broken: Some(BreakReason::ApiError(_)),
                    ..
                } => story.push("api error".to_owned()),
                Fact::TurnEnded {
                    broken: Some(other),
                    ..
                } => story.push(format!("{other:?}")),
                Fact::CompactBoundary { .. } => story.push("compacted".to_owned()),
                Fact::Windows(windows) => assert!(!windows.is_empty()),
                Fact::Usage(sample) => assert!(sample.tokens.is_some()),
            }
        }
    }
    assert_eq!(tail.skipped(), 0);
    story
}

fn word(came: Came) -> &'static str {
    match came {
        Came::Prompt => "prompt",
        Came::HookContext => "context",
        Came::StopFeedback => "feedback",
        Came::Queued => "queued",
    }
}

/// From the first line that starts like this, this many.
fn part<'a>(story: &'a [String], start: &str, count: usize) -> Vec<&'a str> {
    let at = story
        .iter()
        .position(|line| line.starts_with(start))
        .unwrap();
    story[at..].iter().take(count).map(String::as_str).collect()
}

#[test]
fn every_way_into_claude() {
    let id = "8460b0ea-996a-4833-b3ae-4efd5f7f056c";
    let story_at = |chunk| story(AgentKind::Claude, "claude/transcript_ways.jsonl", id, chunk);
    let story = story_at(usize::MAX);
    assert_eq!(story, story_at(77), "the same however the bytes come");
    for (start, expected) in [
        (
            "prompt: SAY: first",
            &["prompt: SAY: first", "assistant", "end"][..],
        ),
        (
            "prompt: /help line one",
            &["prompt: /help line one⏎\ttabbed <", "assistant", "end"],
        ),
        (
            "prompt: RUN: echo hi",
            &[
                "prompt: RUN: echo hi",
                "assistant",
                "context: CTX line1⏎CTX line2",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: RUN: false",
            &[
                "prompt: RUN: false",
                "assistant",
                "context: CTX fail",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: SAY: s1",
            &[
                "prompt: SAY: s1",
                "assistant",
                "feedback: STOPTEXT one⏎two",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: SAY: s2",
            &[
                "prompt: SAY: s2",
                "assistant",
                "feedback: STOPCTX one",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: RUN: sleep 3",
            &[
                "prompt: RUN: sleep 3",
                "assistant",
                "queued: QUEUED mid tool",
                "assistant",
                "end",
            ],
        ),
        (
            "queued: MAIL mid tool",
            &["queued: MAIL mid tool", "assistant", "end"],
        ),
        (
            "prompt: SLEEP: 3",
            &[
                "prompt: SLEEP: 3",
                "assistant",
                "end",
                "prompt: QUEUED mid text",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: SLEEP: 6",
            &["prompt: SLEEP: 6⏎SAY: abcdef", "interrupted"],
        ),
        // Taken back by Escape before the model said anything: no sign but the next prompt.
        (
            "prompt: SAY: before any",
            &[
                "prompt: SAY: before any output⏎s",
                "prompt: RUN: sleep 8",
                "assistant",
                "interrupted",
            ],
        ),
        (
            "prompt: FAIL: 400",
            &["prompt: FAIL: 400", "api error", "prompt: SAY: end"],
        ),
    ] {
        assert_eq!(part(&story, start, expected.len()), expected);
    }
}

#[test]
fn another_conversations_records_tell_nothing() {
    let story = story(
        AgentKind::Claude,
        "claude/transcript_ways.jsonl",
        "another",
        usize::MAX,
    );
    assert_eq!(story, [""; 0]);
}

#[test]
fn a_compaction_of_claude() {
    let mut tail = Tail::new(AgentKind::Claude, ConversationId::new("s").unwrap());
    let lines = concat!(
        r#"{"parentUuid":null,"type":"system","subtype":"compact_boundary","sessionId":"s","timestamp":"2026-11-15T06:34:40.515Z","compactMetadata":{"trigger":"manual","preTokens":66000,"postTokens":900}}"#,
        "\n",
        r#"{"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"sessionId":"s","message":{"role":"user","content":"This session is being continued"}}"#,
        "\n",
    );
    let facts = tail.feed(lines.as_bytes());
    assert!(
        matches!(
            facts.as_slice(),
            [Fact::CompactBoundary {
                before: Some(66_000),
                after: Some(900),
                at: Some(_)
            }]
        ),
        "{facts:?}"
    );
}

#[test]
fn every_way_into_codex() {
    let id = "01a1de76-dee2-7150-ad6e-70b13fae8715";
    let story_at = |chunk| story(AgentKind::Codex, "codex/rollout_ways.jsonl", id, chunk);
    let story = story_at(usize::MAX);
    assert_eq!(story, story_at(77));
    for (start, expected) in [
        (
            "prompt: SAY: one",
            &["prompt: SAY: one", "assistant", "end"][..],
        ),
        ("prompt: /clear", &["prompt: /clear", "assistant", "end"]),
        (
            "prompt: RUN: echo hi",
            &[
                "prompt: RUN: echo hi",
                "assistant",
                "context: CTX line1⏎CTX line2",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: SAY: s1",
            &[
                "prompt: SAY: s1",
                "assistant",
                "feedback: STOPTEXT one⏎\ttwo",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: RUN: sleep 4",
            &[
                "prompt: RUN: sleep 4",
                "assistant",
                "queued: STEER mid tool",
                "assistant",
                "end",
            ],
        ),
        (
            "prompt: SAY: before output",
            &["prompt: SAY: before output⏎secon", "interrupted"],
        ),
        (
            "prompt: RUN: sleep 6",
            &[
                "prompt: RUN: sleep 6",
                "assistant",
                "interrupted",
                "prompt: FAIL: 400",
                "api error",
            ],
        ),
    ] {
        assert_eq!(part(&story, start, expected.len()), expected);
    }
    let shell = story
        .iter()
        .any(|line| line.contains("user_shell_command") || line.contains("environment_context"));
    assert!(!shell, "what the program says itself is no text of a user");
}

#[test]
fn codex_usage_is_the_programs_own() {
    let mut tail = Tail::new(AgentKind::Codex, ConversationId::new("s").unwrap());
    let line = r#"{"timestamp":"2026-11-15T06:34:40.515Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":900000},"last_token_usage":{"total_tokens":100000},"model_context_window":190000}}}"#;
    let facts = tail.feed(format!("{line}\n").as_bytes());
    match facts.as_slice() {
        [Fact::Usage(sample)] => {
            assert_eq!(
                (sample.tokens, sample.window),
                (Some(100_000), Some(190_000))
            );
            assert_eq!(sample.used_percentage, Some(49.0));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_without_a_message_cannot_be_resumed() {
    let mode = r#"{"type":"mode","mode":"normal","sessionId":"a"}"#;
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"b"}"#;
    let command = r#"{"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"},"sessionId":"a"}"#;
    let long = format!(
        r#"{{"type":"user","message":{{"content":"{}"#,
        "x".repeat(5000)
    );
    for (record, expected) in [
        (String::new(), false),
        (format!("{mode}\n"), false),
        (format!("{mode}\n{snapshot}\n"), false),
        (format!("{mode}\n{snapshot}\n{command}\n"), true),
        (format!("{mode}\n{{\"type\":\"us"), false),
        (format!("{mode}\n{long}"), true),
    ] {
        let seen = can_resume(AgentKind::Claude, record.as_bytes());
        assert_eq!(seen, expected, "{record:.100}");
    }
    assert!(can_resume(
        AgentKind::Codex,
        b"{\"type\":\"session_meta\"}\n"
    ));
    assert!(!can_resume(AgentKind::Codex, b""));
}

/// As 2.1.325 writes it: where the text came from, then what its model was really sent.
#[test]
fn what_the_model_is_told_about_a_text_is_read() {
    let mailed = "<task-notification>\\n<summary>Message received through sm</summary>\\n</task-notification>\\n<system-reminder>\\nThis is not an error and not a background task. It is a message for you, delivered by the session manager sm. Treat it like a prompt typed by the user:\\n\\n hello there\\n</system-reminder>";
    let user = format!(
        r#"{{"type":"user","sessionId":"c1","origin":{{"kind":"task-notification"}},"message":{{"role":"user","content":"{mailed}"}}}}"#
    );
    let sent = format!(
        r#"{{"type":"api-request-blob","sessionId":"c1","message":{{"role":"user","content":[{{"type":"text","text":"<system-reminder>\nToday is Monday.\n</system-reminder>"}},{{"type":"text","text":"<system-reminder>\n[SOME NEW WORDS]\nThis is no message.\n\n{mailed}"}}]}}}}"#
    );
    let person = r#"{"type":"user","sessionId":"c1","origin":{"kind":"human"},"message":{"role":"user","content":"typed"}}"#;
    let mut tail = Tail::new(AgentKind::Claude, ConversationId::new("c1").unwrap());
    let facts = tail.feed(format!("{user}\n{sent}\n{person}\n").as_bytes());
    let labels: Vec<(&str, bool)> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Labelled { text, label } => Some((label.as_str(), text.contains("hello there"))),
            _ => None,
        })
        .collect();
    assert_eq!(
        labels,
        [("task-notification", true), ("[SOME NEW WORDS]", true)]
    );
}
