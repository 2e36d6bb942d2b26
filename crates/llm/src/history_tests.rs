//! What a conversation becomes.

use super::*;
use crate::message::User;
use crate::model::{Api, Model};
use proptest::prelude::*;
use serde_json::json;

fn model() -> Model {
    crate::known::model("anthropic", Api::AnthropicMessages, "claude-sonnet-4-5")
}

/// Messages as a session file holds them: `user`, `assistant` (of this model), `tool`.
fn messages(lines: &[Value]) -> Vec<Message> {
    let message = |line: &Value| {
        let mut line = line.clone();
        if line["role"] == "assistant" && line.get("model").is_none() {
            line["api"] = json!("anthropic-messages");
            line["provider"] = json!("anthropic");
            line["model"] = json!("claude-sonnet-4-5");
        }
        if line.get("stopReason").is_none() {
            line["stopReason"] = json!("stop");
        }
        serde_json::from_value(line).unwrap()
    };
    lines.iter().map(message).collect()
}

/// The turns, one short line for each.
fn told(lines: &[Value]) -> Vec<String> {
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => format!("{text:?}"),
        Part::Image { mime, .. } => format!("<{mime}>"),
    };
    let said = |said: &Said<'_>| match said {
        Said::Text { text, .. } => format!("{text:?}"),
        Said::Thinking {
            thinking,
            signature,
            redacted,
        } => format!("thought {thinking:?} {signature} {redacted}"),
        Said::Call { id, name, .. } => format!("{name}#{id}"),
    };
    turns(&model(), &messages(lines))
        .iter()
        .map(|turn| match turn {
            Turn::User(parts) => {
                format!(
                    "user {}",
                    parts.iter().map(part).collect::<Vec<_>>().join(" ")
                )
            }
            Turn::Assistant(all) => {
                format!(
                    "model {}",
                    all.iter().map(said).collect::<Vec<_>>().join(" ")
                )
            }
            Turn::Results(results) => {
                let result = |r: &Answered<'_>| {
                    let parts = r.parts.iter().map(part).collect::<Vec<_>>().join(" ");
                    format!("#{}{} {parts}", r.id, if r.is_error { "!" } else { "" })
                };
                format!(
                    "results {}",
                    results.iter().map(result).collect::<Vec<_>>().join(" ")
                )
            }
        })
        .collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn model_says(blocks: Value) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {}})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "bash",
        "content": [{"type": "text", "text": text}]})
}

#[test]
fn a_call_without_a_result_is_said_to_be_interrupted() {
    let lines = [
        user("go"),
        model_says(json!([call("a"), call("b")])),
        result("b", "done"),
        user("what now?"),
    ];
    assert_eq!(
        told(&lines),
        [
            r#"user "go""#,
            "model bash#a bash#b",
            r##"results #a! "No result: the work was interrupted before this tool had answered." #b "done""##,
            r#"user "what now?""#,
        ]
    );
}

#[test]
fn results_stand_right_behind_their_calls_wherever_they_were_written() {
    let lines = [
        user("go"),
        model_says(json!([call("a"), call("b")])),
        result("b", "second"),
        user("typed meanwhile"),
        result("a", "first"),
    ];
    assert_eq!(
        told(&lines),
        [
            r#"user "go""#,
            "model bash#a bash#b",
            r##"results #a "first" #b "second""##,
            r#"user "typed meanwhile""#,
        ]
    );
}

#[test]
fn a_result_without_its_call_becomes_a_text() {
    assert_eq!(
        told(&[result("x", "left over"), user("go on")]),
        [
            r#"user "(Result of an earlier call of bash:)" "left over""#,
            r#"user "go on""#
        ]
    );
}

#[test]
fn ids_that_servers_give_twice_are_told_apart() {
    let lines = [
        user("go"),
        model_says(json!([call("0"), call("0")])),
        result("0", "one"),
        result("0", "two"),
        model_says(json!([call("0"), call("0_2"), call("call 1|fc_7")])),
        result("0", "three"),
    ];
    assert_eq!(
        told(&lines)[1..],
        [
            "model bash#0 bash#0_2",
            r##"results #0 "one" #0_2 "two""##,
            "model bash#0_3 bash#0_2_2 bash#call_1",
            r##"results #0_3 "three" #0_2_2! "No result: the work was interrupted before this tool had answered." #call_1! "No result: the work was interrupted before this tool had answered.""##,
        ]
    );
}

#[test]
fn empty_texts_and_unknown_blocks_are_left_out() {
    let lines = [
        user("  \n"),
        json!({"role": "user", "content": "bare\u{0}"}),
        model_says(json!([{"type": "text", "text": "\n\n"}, {"type": "hologram"}])),
        model_says(json!([call("a")])),
        json!({"role": "toolResult", "toolCallId": "a", "content": []}),
    ];
    assert_eq!(
        told(&lines),
        [
            "user \"bare\u{fffd}\"",
            "model bash#a",
            r##"results #a "(no output)""##
        ]
    );
}

#[test]
fn thoughts_are_kept_only_for_the_model_that_had_them_and_only_whole() {
    let thought = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"});
    let unsigned = json!({"type": "thinking", "thinking": "hm"});
    let redacted =
        json!({"type": "thinking", "thinking": "", "thinkingSignature": "d", "redacted": true});
    let text = json!({"type": "text", "text": "yes"});
    for (line, expected) in [
        (
            model_says(json!([thought, text])),
            r#"model thought "hm" sig false "yes""#,
        ),
        (
            model_says(json!([redacted, text])),
            r#"model thought "" d true "yes""#,
        ),
        (model_says(json!([unsigned, text])), r#"model "yes""#),
        // thoughts that led to nothing
        (model_says(json!([text, thought])), r#"model "yes""#),
        (
            json!({"role": "assistant", "content": [thought, text], "model": "other"}),
            r#"model "yes""#,
        ),
        (
            json!({"role": "assistant", "content": [thought, text], "stopReason": "aborted"}),
            r#"model "yes""#,
        ),
    ] {
        assert_eq!(told(&[user("?"), line, user("!")])[1], expected);
    }
    let nothing = model_says(json!([thought]));
    assert_eq!(told(&[user("?"), nothing, user("!")]).len(), 2);
}

#[test]
fn a_conversation_begins_and_ends_with_somebody_else_than_the_model() {
    let says = model_says(json!([{"type": "text", "text": "yes"}]));
    assert_eq!(told(&[]), [r#"user "Continue.""#]);
    assert_eq!(
        told(&[says]),
        [
            r#"user "(What was said before is left out.)""#,
            r#"model "yes""#,
            r#"user "Continue.""#,
        ]
    );
}

#[test]
fn a_model_without_eyes_is_told_of_an_image() {
    let line = json!({"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]});
    assert_eq!(told(std::slice::from_ref(&line)), ["user <image/png>"]);
    let drawing = json!({"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/svg+xml"}]});
    assert_eq!(told(&[drawing]), [format!("user {NO_IMAGES:?}")]);
    let blind = Model {
        images: false,
        ..model()
    };
    let messages = messages(&[line]);
    let turns = turns(&blind, &messages);
    assert_eq!(turns, [Turn::User(vec![Part::Text(NO_IMAGES.into())])]);
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[ a\u{0}ü\n]{0,6}".prop_map(Block::text),
        (
            "[a\u{0}]{0,2}",
            proptest::option::of("[s ]{0,2}"),
            any::<bool>()
        )
            .prop_map(|(thinking, thinking_signature, redacted)| Block::Thinking {
                thinking,
                thinking_signature,
                redacted: Some(redacted),
            }),
        ("[ab|]{0,3}", "[ a]{0,3}").prop_map(|(id, name)| Block::ToolCall(ToolCall {
            id,
            name,
            arguments: Map::new(),
        })),
        Just(Block::Image {
            data: "AA==".into(),
            mime_type: "image/png".into(),
        }),
        Just(Block::Other),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let blocks = || prop::collection::vec(any_block(), 0..4);
    prop_oneof![
        blocks().prop_map(|blocks| Message::User(User {
            content: Content::Blocks(blocks),
            timestamp: 0,
        })),
        (blocks(), any::<bool>(), any::<bool>()).prop_map(|(content, same, whole)| {
            let stop = if whole { "toolUse" } else { "aborted" };
            let line = json!({"role": "assistant", "content": [], "api": "anthropic-messages",
                "provider": "anthropic", "model": if same { "claude-sonnet-4-5" } else { "x" },
                "stopReason": stop});
            let mut message = serde_json::from_value(line).unwrap();
            if let Message::Assistant(assistant) = &mut message {
                assistant.content = content;
            }
            message
        }),
        ("[ab|]{0,3}", blocks()).prop_map(|(tool_call_id, content)| Message::ToolResult(
            ToolResult {
                tool_call_id,
                tool_name: String::new(),
                content,
                details: None,
                is_error: false,
                timestamp: 0,
            }
        )),
    ]
}

proptest! {
    /// What every provider demands, of whatever a session file holds.
    #[test]
    fn every_history_becomes_one_that_providers_take(
        messages in prop::collection::vec(any_message(), 0..12)
    ) {
        let turns = turns(&model(), &messages);
        prop_assert!(!matches!(turns.first(), Some(Turn::Assistant(_)) | None));
        prop_assert!(!matches!(turns.last(), Some(Turn::Assistant(_)) | None));
        let mut seen = std::collections::HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for turn in &turns {
            match turn {
                Turn::User(parts) => {
                    prop_assert!(open.is_empty() && !parts.is_empty());
                    for part in parts {
                        if let Part::Text(text) = part {
                            prop_assert!(!text.trim().is_empty() && !text.contains('\0'));
                        }
                    }
                }
                Turn::Assistant(said) => {
                    prop_assert!(open.is_empty());
                    let unfinished = matches!(said.last(), Some(Said::Thinking { .. }) | None);
                    prop_assert!(!unfinished);
                    for said in said {
                        if let Said::Call { id, name, .. } = said {
                            prop_assert!(!name.is_empty() && !id.is_empty() && id.len() <= 64);
                            prop_assert!(seen.insert(id.clone()), "twice: {id}");
                            open.push(id.clone());
                        }
                    }
                }
                Turn::Results(results) => {
                    let ids: Vec<String> = results.iter().map(|r| r.id.clone()).collect();
                    prop_assert_eq!(&ids, &open);
                    prop_assert!(results.iter().all(|r| !r.parts.is_empty()));
                    open.clear();
                }
            }
        }
    }
}
