//! Whatever a program says, nothing panics.

use proptest::prelude::*;
use sm_agents::{PasteFit, Tail, parse_hook, paste_fit, read_screen, read_title};
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::profile::AgentKind;

fn kind() -> impl Strategy<Value = AgentKind> {
    prop::sample::select(AgentKind::ALL.to_vec())
}

fn event() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "SessionStart",
            "UserPromptSubmit",
            "PostToolBatch",
            "PostToolUse",
            "PermissionRequest",
            "Notification",
            "Stop",
            "StopFailure",
            "PreCompact",
            "SessionEnd",
            "statusline",
            "mailbox",
            "output",
            "Interrupt",
            "PostModelRequest",
        ])
        .prop_map(str::to_owned),
        ".{0,90}",
    ]
}

/// JSON whose keys are those the programs use, with values of any type.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,40}".prop_map(Into::into),
        prop::sample::select(vec![
            "user",
            "assistant",
            "attachment",
            "system",
            "message",
            "event_msg",
            "response_item",
            "task_complete",
            "token_count",
            "hook_additional_context",
            "queued_command",
            "compact_boundary",
            "text",
            "2026-11-15T08:56:17.240Z",
            "<hook_prompt x>y</hook_prompt>"
        ])
        .prop_map(Into::into),
    ];
    let key = prop::sample::select(vec![
        "session_id",
        "sessionId",
        "type",
        "subtype",
        "message",
        "content",
        "attachment",
        "hookEvent",
        "timestamp",
        "payload",
        "role",
        "text",
        "prompt",
        "info",
        "usage",
        "last_token_usage",
        "total_tokens",
        "model_context_window",
        "context_window",
        "agent_id",
        "error",
        "background_tasks",
        "compactMetadata",
        "postTokens",
        "source",
        "reason",
        "used_percentage",
        "context_window_size",
        "isMeta",
        "hookErrors",
    ]);
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|pairs| {
                serde_json::Value::Object(
                    pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
                )
            }),
        ]
    })
}

/// Rows made of what the programs' screens are made of.
fn rows() -> impl Strategy<Value = Vec<String>> {
    let piece = prop::sample::select(vec![
        "────────────",
        "❯\u{a0}",
        "❯ 1. Yes",
        "› ",
        "! ",
        "!\u{a0}",
        "\u{1b}[2m",
        "\u{1b}[7m",
        "\u{1b}[0m",
        "\u{1b}[",
        "\u{1b}]0;",
        "\u{1b}",
        "[Pasted text #1 +3 lines]",
        "[Pasted text #",
        "[Pasted Content 9 chars]",
        "word",
        " ",
        "  ",
        "日本",
        "…",
        "· ",
        "› stashed",
        "Shell mode",
        "esc to interrupt)",
    ]);
    prop::collection::vec(
        prop::collection::vec(
            prop_oneof![4 => piece.prop_map(str::to_owned), 1 => ".{0,6}"],
            0..6,
        )
        .prop_map(|pieces| pieces.concat()),
        0..12,
    )
}

proptest! {
    #[test]
    fn hooks(kind in kind(), event in event(), bytes in prop::collection::vec(any::<u8>(), 0..300), json in json()) {
        for body in [bytes, json.to_string().into_bytes()] {
            let parsed = parse_hook(kind, &event, &body, Timestamp(0));
            prop_assert!(parsed.warnings.len() <= 2);
        }
    }

    #[test]
    fn transcripts(kind in kind(), lines in prop::collection::vec(json(), 0..6), cut in 1usize..64, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut text = lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
        text.extend(bytes);
        let mut whole = Tail::new(kind, ConversationId::new("s").unwrap());
        let mut parts = Tail::new(kind, ConversationId::new("s").unwrap());
        let facts = whole.feed(&text);
        let pieces = text.chunks(cut).flat_map(|part| parts.feed(part)).collect::<Vec<_>>();
        prop_assert_eq!(facts, pieces);
    }

    #[test]
    fn screens(kind in kind(), rows in rows(), x in 0u32..20, y in 0u32..14, ours in prop::option::of("(word|日本| |\n|\t|\r){0,8}")) {
        let first = read_screen(kind, &rows, x, y, ours.as_deref());
        prop_assert_eq!(first, read_screen(kind, &rows, x, y, ours.as_deref()));
    }

    #[test]
    fn titles(kind in kind(), title in ".{0,40}") {
        prop_assert_eq!(read_title(kind, &title), read_title(kind, &title));
    }

    #[test]
    fn a_paste_that_is_exact_is_the_text_and_blanks(kind in kind(), text in "[ -~\n\t日/!@$#\\\\]{0,60}") {
        if let PasteFit::Exact { pastes } = paste_fit(kind, &text) {
            let pasted = pastes.concat();
            prop_assert_eq!(pasted.trim(), text.trim());
        }
    }
}
