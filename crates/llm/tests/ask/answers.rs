//! Answers that come in whole.

use serde_json::{Value, json};
use sm_llm::{Api, Block, Delta, Message, Model, StopReason, ToolChoice, ToolResult};

use crate::common::{APIS, ask, ask_messages, model, server, text_of};

#[tokio::test]
async fn a_text_streams_in_and_is_counted() {
    for api in APIS {
        let server = server();
        let (answer, told) = ask(&model(api, &server.url()), "SAY: hello ünïcode").await;
        let answer = answer.unwrap();
        assert_eq!(answer.text(), "hello ünïcode", "{api:?}");
        assert_eq!(text_of(&told), answer.text());
        assert_eq!(told[0], Delta::Started);
        assert_eq!(answer.stop_reason, StopReason::Stop);
        assert_eq!(
            (answer.provider.as_str(), answer.api.as_str()),
            ("scripted", api.name())
        );
        assert_eq!(answer.model, "claude-sonnet-4-5");
        assert!(answer.response_id.is_some() && answer.timestamp > 0);
        let usage = answer.usage;
        assert_eq!(
            (usage.input, usage.cache_read, usage.output),
            (1200, 300, 25),
            "{api:?}"
        );
        assert!(usage.cost.total > 0.0 && usage.total_tokens >= 1525);
    }
}

#[tokio::test]
async fn a_call_of_a_tool_is_put_together() {
    for api in APIS {
        let server = server();
        let prompt = r#"TOOL: bash {"command":"ls \"ü\"","n":{"deep":[1,2]}}"#;
        let (answer, told) = ask(&model(api, &server.url()), prompt).await;
        let answer = answer.unwrap();
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{api:?}");
        let calls: Vec<_> = answer.tool_calls().collect();
        assert_eq!(calls.len(), 1);
        assert_eq!(
            json!(calls[0].arguments),
            json!({"command": "ls \"ü\"", "n": {"deep": [1, 2]}})
        );
        assert_eq!(calls[0].invalid_arguments(), None);
        let started = Delta::ToolStarted {
            id: calls[0].id.clone(),
            name: "bash".into(),
        };
        assert!(told.contains(&started), "{told:?}");
    }
}

#[tokio::test]
async fn thoughts_are_told_apart_and_given_back_to_the_model_that_had_them() {
    for api in APIS {
        let server = server();
        let model = model(api, &server.url());
        let (answer, told) = ask(&model, "THINK: hm, ls\nRUN: ls").await;
        let answer = answer.unwrap();
        assert!(told.contains(&Delta::Thinking("hm, ls".into())), "{told:?}");
        let Some(Block::Thinking {
            thinking,
            thinking_signature: Some(signature),
            ..
        }) = answer.content.first()
        else {
            panic!("thoughts come first: {answer:?}");
        };
        assert_eq!(thinking, "hm, ls");
        let call = answer.tool_calls().next().unwrap().clone();
        let messages = [
            Message::user("RUN: ls", 0),
            Message::Assistant(answer.clone()),
            Message::ToolResult(ToolResult {
                tool_call_id: call.id,
                tool_name: call.name,
                content: vec![Block::text("a.txt")],
                details: None,
                is_error: false,
                timestamp: 0,
            }),
        ];
        let (second, _) = ask_messages(&model, &messages, ToolChoice::Auto).await;
        assert_eq!(second.unwrap().text(), "RUN done", "{api:?}");
        let requests = server.requests();
        let body = &requests.last().unwrap().body;
        match api {
            Api::AnthropicMessages => {
                assert_eq!(signature, "signed-by-fake");
                assert_eq!(
                    body["messages"][1]["content"][0],
                    json!({"type": "thinking", "thinking": "hm, ls", "signature": "signed-by-fake"})
                );
            }
            Api::OpenAiResponses => assert_eq!(
                body["input"][1],
                json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm, ls"}],
                    "encrypted_content": "encrypted-by-fake"})
            ),
            Api::OpenAiCompletions => {
                assert_eq!(body["messages"][2]["reasoning_content"], "hm, ls");
            }
        }
        // another model is not shown them
        let other = Model {
            id: "another".into(),
            ..model
        };
        ask_messages(&other, &messages, ToolChoice::Auto)
            .await
            .0
            .unwrap();
        let requests = server.requests();
        let body = requests.last().unwrap().body.to_string();
        assert!(!body.contains("hm, ls"), "{body}");
    }
}

#[tokio::test]
async fn a_handoff_is_asked_with_the_bytes_of_the_turn_before() {
    for api in APIS {
        let server = server();
        let model = model(api, &server.url());
        let mut messages = vec![Message::user("SAY: one", 0)];
        let (answer, _) = ask_messages(&model, &messages, ToolChoice::Auto).await;
        messages.push(Message::Assistant(answer.unwrap()));
        messages.push(Message::user("Write the document.", 0));
        ask_messages(&model, &messages, ToolChoice::None)
            .await
            .0
            .unwrap();
        let [live, handoff] = server.requests().try_into().unwrap();
        let list = if api == Api::OpenAiResponses {
            "input"
        } else {
            "messages"
        };
        let (mut live, mut handoff) = (unmarked(&live.body), unmarked(&handoff.body));
        let (was, is) = (live[list].take(), handoff[list].take());
        let (was, is) = (was.as_array().unwrap(), is.as_array().unwrap());
        assert_eq!(is.len(), was.len() + 2, "{api:?}");
        assert_eq!(was[..], is[..was.len()], "{api:?}");
        let none = match api {
            Api::AnthropicMessages => json!({"type": "none"}),
            Api::OpenAiResponses | Api::OpenAiCompletions => json!("none"),
        };
        assert_eq!(handoff["tool_choice"].take(), none);
        live["tool_choice"].take();
        assert_eq!(live, handoff, "{api:?}");
    }
}

/// A body without the marks of the cache, which are no part of what is compared there.
fn unmarked(body: &Value) -> Value {
    match body {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "cache_control")
            .map(|(name, value)| (name.clone(), unmarked(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(unmarked).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => body.clone(),
    }
}
