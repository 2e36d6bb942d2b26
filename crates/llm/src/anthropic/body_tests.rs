//! What Anthropic is sent.

use serde_json::{Value, json};

use crate::message::Message;
use crate::model::{Api, Thinking};
use crate::request::{Request, ToolChoice};
use crate::samples;

fn model(id: &str) -> crate::Model {
    samples::model(Api::AnthropicMessages, id)
}

#[test]
fn a_body_with_everything_in_it() {
    let model = model("claude-sonnet-4-5");
    let (messages, tools) = (samples::messages(&model, "sig"), samples::tools());
    insta::assert_snapshot!(samples::pretty(
        &model,
        &samples::request(&messages, &tools)
    ));
}

#[test]
fn a_body_with_next_to_nothing_in_it() {
    let model = model("claude-3-5-haiku-latest");
    let request = Request {
        system: " ",
        session: "",
        max_output: 0,
        ..samples::request(&[], &[])
    };
    assert_eq!(
        samples::json(&model, &request),
        json!({
            "model": "claude-3-5-haiku-latest", "max_tokens": 1,
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Continue.", "cache_control": {"type": "ephemeral"}}]}],
            "stream": true,
        })
    );
}

#[test]
fn calls_of_before_stand_beside_a_tool_even_where_there_is_none() {
    let messages = [Message::user("go", 0), says(json!([call(1)]))];
    let body = samples::json(
        &model("claude-sonnet-4-5"),
        &samples::request(&messages, &[]),
    );
    assert_eq!(body["tools"][0]["name"], "unavailable");
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[test]
fn thinking_is_asked_for_in_the_way_of_each_model() {
    let messages = [Message::user("hi", 0)];
    let asked = |id: &str, thinking, max_output| {
        let request = Request {
            thinking,
            max_output,
            ..samples::request(&messages, &[])
        };
        let body = samples::json(&model(id), &request);
        (body["thinking"].clone(), body["output_config"].clone())
    };
    let budget = |tokens: u64| {
        (
            json!({"type": "enabled", "budget_tokens": tokens}),
            Value::Null,
        )
    };
    let effort = |word: &str| {
        (
            json!({"type": "adaptive", "display": "summarized"}),
            json!({"effort": word}),
        )
    };
    let none = (Value::Null, Value::Null);
    let old = "claude-sonnet-4-5";
    for (id, thinking, max_output, expected) in [
        (old, Thinking::Off, 64_000, none.clone()),
        (old, Thinking::Minimal, 64_000, budget(1_024)),
        (old, Thinking::Low, 64_000, budget(4_096)),
        (old, Thinking::Medium, 64_000, budget(10_240)),
        (old, Thinking::High, 64_000, budget(20_480)),
        (old, Thinking::Xhigh, 64_000, budget(32_768)),
        // a budget stays below the limit, or is none
        (old, Thinking::Xhigh, 8_192, budget(7_168)),
        (old, Thinking::Low, 1_500, none.clone()),
        (
            "claude-3-5-haiku-latest",
            Thinking::High,
            64_000,
            none.clone(),
        ),
        ("claude-opus-4-7", Thinking::Off, 64_000, none.clone()),
        ("claude-opus-4-7", Thinking::Minimal, 64_000, effort("low")),
        ("claude-opus-4-7", Thinking::High, 64_000, effort("high")),
        ("claude-opus-4-7", Thinking::Xhigh, 64_000, effort("xhigh")),
        ("claude-opus-4-6", Thinking::Xhigh, 64_000, effort("max")),
        ("claude-sonnet-4-6", Thinking::Xhigh, 64_000, effort("high")),
    ] {
        assert_eq!(
            asked(id, thinking, max_output),
            expected,
            "{id} {thinking:?}"
        );
    }
}

/// Where the marks are: message and block.
fn marks(body: &Value) -> Vec<(usize, usize)> {
    let messages = body["messages"].as_array().unwrap();
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (i, block) in message["content"].as_array().unwrap().iter().enumerate() {
            if block.get("cache_control").is_some() {
                found.push((at, i));
            }
        }
    }
    found
}

fn says(blocks: Value) -> Message {
    let line = json!({"role": "assistant", "content": blocks, "stopReason": "toolUse",
        "api": "anthropic-messages", "provider": "provider", "model": "claude-sonnet-4-5"});
    serde_json::from_value(line).unwrap()
}

fn call(id: usize) -> Value {
    json!({"type": "toolCall", "id": format!("c{id}"), "name": "bash", "arguments": {}})
}

#[test]
fn the_cache_is_marked_at_the_last_two_blocks_that_can_bear_it() {
    let model = model("claude-sonnet-4-5");
    let tools = samples::tools();
    let thought = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"});
    let text = json!({"type": "text", "text": "yes"});
    let mut messages = vec![Message::user("one", 0)];
    let body = |messages: &[Message], tool_choice| {
        let request = Request {
            tool_choice,
            ..samples::request(messages, &tools)
        };
        samples::json(&model, &request)
    };
    let live = body(&messages, ToolChoice::Auto);
    assert_eq!(
        live["system"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
    assert_eq!(marks(&live), [(0, 0)]);
    messages.push(says(json!([thought, text])));
    messages.push(Message::user("two", 0));
    assert_eq!(marks(&body(&messages, ToolChoice::Auto)), [(1, 1), (2, 0)]);
    // a handoff asked for after it differs only behind what was sent
    messages.push(says(json!([thought, call(1)])));
    messages.push(Message::user("Write the document.", 0));
    let handoff = body(&messages, ToolChoice::None);
    assert_eq!(marks(&handoff), [(4, 0), (5, 0)]);
    assert_eq!(
        (&handoff["system"], &handoff["tools"]),
        (&live["system"], &live["tools"])
    );
    assert_eq!(handoff["tool_choice"], json!({"type": "none"}));
}

#[test]
fn the_end_of_a_request_long_ago_is_marked_once_more() {
    let model = model("claude-sonnet-4-5");
    let tools = samples::tools();
    let calls: Vec<Value> = (0..12).map(call).collect();
    let messages = [Message::user("go", 0), says(json!(calls))];
    let body = samples::json(&model, &samples::request(&messages, &tools));
    assert_eq!(marks(&body), [(0, 0), (2, 10), (2, 11)]);
    let few = [Message::user("go", 0), says(json!(calls[..9]))];
    let body = samples::json(&model, &samples::request(&few, &tools));
    assert_eq!(marks(&body), [(2, 7), (2, 8)]);
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    let model = model("claude-sonnet-4-5");
    samples::check_growth(&model, &samples::messages(&model, "sig"), "messages");
}
