//! Streams as providers send them, and as they should not.

use super::*;
use crate::message::Block;
use serde_json::{Value, json};

fn model(api: Api) -> Model {
    crate::known::model("p", api, "m")
}

/// Reads events; what is told is given as text.
fn read(api: Api, events: &[Value]) -> (Result<Assistant, String>, Vec<Delta>) {
    let stream: String = events
        .iter()
        .map(|event| match event {
            Value::String(text) => format!("data: {text}\n\n"),
            event => format!("data: {event}\n\n"),
        })
        .collect();
    let mut reading = Reading::new(api);
    let mut told = Vec::new();
    let mut on = |delta| told.push(delta);
    let outcome = match reading.feed(stream.as_bytes(), &mut on) {
        Ok(true) => Ok(()),
        Ok(false) => reading.end(&mut on),
        Err(broken) => Err(broken),
    };
    let outcome = outcome.map_err(|broken| format!("{}|{}", broken.kind, broken.message));
    (outcome.map(|()| reading.finish(&model(api))), told)
}

fn anthropic(events: Value) -> Assistant {
    let mut events = events.as_array().unwrap().clone();
    events.push(json!({"type": "message_stop"}));
    read(Api::AnthropicMessages, &events).0.unwrap()
}

#[test]
fn anthropic_tells_thoughts_texts_and_calls() {
    let answer = anthropic(json!([
        {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 10, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "a"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "b"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s1"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s2"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "xyz"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\""}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ": 1}"}},
        {"type": "content_block_start", "index": 3, "content_block": {"type": "server_tool_use"}},
        {"type": "content_block_start", "index": 4, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 4, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}},
    ]));
    assert_eq!(
        json!(answer.content),
        json!([
            {"type": "thinking", "thinking": "ab", "thinkingSignature": "s1s2"},
            {"type": "thinking", "thinking": "", "thinkingSignature": "xyz", "redacted": true},
            {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"a": 1}},
            {"type": "text", "text": "ok"},
        ])
    );
    let usage = answer.usage;
    assert_eq!(
        [
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            usage.total_tokens
        ],
        [10, 7, 3, 42, 62]
    );
    assert_eq!(
        (answer.stop_reason, answer.response_id.as_deref()),
        (StopReason::ToolUse, Some("msg_1"))
    );
}

#[test]
fn reasons_to_stop_are_understood() {
    let anthropic_stop = |reason: &str| {
        anthropic(json!([{"type": "message_delta", "delta": {"stop_reason": reason}}])).stop_reason
    };
    for (reason, expected) in [
        ("end_turn", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("refusal", StopReason::Error),
        ("unheard_of", StopReason::Stop),
    ] {
        assert_eq!(anthropic_stop(reason), expected, "{reason}");
    }
    let chat_stop = |reason: &str| {
        let event = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
        read(Api::OpenAiCompletions, &[event])
            .0
            .unwrap()
            .stop_reason
    };
    for (reason, expected) in [
        ("stop", StopReason::Stop),
        ("length", StopReason::Length),
        ("tool_calls", StopReason::ToolUse),
        ("content_filter", StopReason::Error),
    ] {
        assert_eq!(chat_stop(reason), expected, "{reason}");
    }
    let responses_stop = |details: Value| {
        let event =
            json!({"type": "response.incomplete", "response": {"incomplete_details": details}});
        read(Api::OpenAiResponses, &[event]).0.unwrap().stop_reason
    };
    assert_eq!(
        responses_stop(json!({"reason": "max_output_tokens"})),
        StopReason::Length
    );
    assert_eq!(
        responses_stop(json!({"reason": "content_filter"})),
        StopReason::Error
    );
    assert_eq!(responses_stop(Value::Null), StopReason::Stop);
}

#[test]
fn servers_count_their_calls_in_many_ways() {
    let call = |index: Value, id: Value, name: Value, arguments: Value| json!({"choices": [{"delta": {"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}}]});
    let no = Value::Null;
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    for (dress, events) in [
        (
            "as documented",
            vec![
                call(json!(0), json!("a"), json!("x"), json!("")),
                call(json!(0), no.clone(), no.clone(), json!("{\"n\":")),
                call(json!(0), no.clone(), no.clone(), json!("1}")),
                call(json!(1), json!("b"), json!("y"), json!("{}")),
            ],
        ),
        (
            "all of one number",
            vec![
                call(json!(0), json!("a"), json!("x"), json!("{\"n\":1}")),
                call(json!(0), json!("b"), json!("y"), json!("{}")),
            ],
        ),
        (
            "the id each time",
            vec![
                call(json!(0), json!("a"), json!("x"), json!("{\"n\"")),
                call(json!(0), json!("a"), json!(""), json!(":1}")),
                call(json!(1), json!("b"), json!("y"), no.clone()),
            ],
        ),
        (
            "no number, and no text",
            vec![
                call(no.clone(), json!("a"), json!("x"), json!({"n": 1})),
                call(no.clone(), json!("b"), json!("y"), json!({})),
            ],
        ),
    ] {
        let mut events = events;
        events.push(end.clone());
        events.push(json!("[DONE]"));
        let answer = read(Api::OpenAiCompletions, &events).0.unwrap();
        let calls: Vec<_> = answer
            .tool_calls()
            .map(|c| (c.id.as_str(), c.name.as_str(), json!(c.arguments)))
            .collect();
        assert_eq!(
            calls,
            [("a", "x", json!({"n": 1})), ("b", "y", json!({}))],
            "{dress}"
        );
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{dress}");
    }
}

#[test]
fn thoughts_of_a_chat_are_kept_with_the_name_of_their_field() {
    let say = |delta: Value| json!({"choices": [{"delta": delta}]});
    let events = [
        say(json!({"reasoning": "h", "reasoning_content": "h"})),
        say(json!({"reasoning": "m", "content": ""})),
        say(json!({"content": "yes"})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}),
    ];
    let (answer, told) = read(Api::OpenAiCompletions, &events);
    let answer = answer.unwrap();
    assert_eq!(
        json!(answer.content),
        json!([
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"},
            {"type": "text", "text": "yes"},
        ])
    );
    assert_eq!(told.len(), 3);
    assert_eq!((answer.usage.input, answer.usage.cache_read), (6, 4));
}

#[test]
fn arguments_that_are_no_json_are_never_taken_for_some() {
    let written = |json: &str| {
        let answer = anthropic(json!([
            {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "write"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": json}},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        ]));
        answer.tool_calls().next().unwrap().clone()
    };
    for json in ["{\"path\": \"a", "[1]", "null", "x"] {
        let call = written(json);
        assert_eq!(call.invalid_arguments(), Some(json));
    }
    for json in ["", " ", "{}", "{\"_invalid_json\": 1}"] {
        assert_eq!(written(json).invalid_arguments(), None, "{json}");
    }
    assert_eq!(
        json!(written(r#"{"a":"\ud83d"}"#).arguments),
        json!({"a": "\u{fffd}"})
    );
}

#[test]
fn responses_are_read_with_what_is_needed_to_send_them_again() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"});
    let message = json!({"type": "message", "id": "msg_1", "phase": "final_answer",
        "content": [{"type": "output_text", "text": "whole"}]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash", "arguments": "{\"a\":1}"});
    let done = |index: u64, item: &Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    // a server that sends no pieces at all
    let events = [
        done(0, &item),
        done(1, &message),
        done(2, &call),
        json!({"type": "response.completed", "response": {"id": "r", "usage": {"input_tokens": 9, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 5}}}}),
    ];
    let answer = read(Api::OpenAiResponses, &events).0.unwrap();
    let [
        Block::Thinking {
            thinking_signature: Some(thought),
            ..
        },
        Block::Text {
            text,
            text_signature: Some(signature),
        },
        Block::ToolCall(called),
    ] = answer.content.as_slice()
    else {
        panic!("{answer:?}");
    };
    assert_eq!(serde_json::from_str::<Value>(thought).unwrap(), item);
    assert_eq!(
        (text.as_str(), signature.as_str()),
        ("whole", r#"{"v":1,"id":"msg_1","phase":"final_answer"}"#)
    );
    assert_eq!(
        (called.id.as_str(), json!(called.arguments)),
        ("call_1|fc_1", json!({"a": 1}))
    );
    assert_eq!(
        (
            answer.usage.input,
            answer.usage.cache_read,
            answer.stop_reason
        ),
        (4, 5, StopReason::ToolUse)
    );
}

#[test]
fn faults_in_the_middle_are_told_with_their_word() {
    for (api, event, expected) in [
        (
            Api::AnthropicMessages,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "overloaded_error|Overloaded",
        ),
        (
            Api::OpenAiResponses,
            json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow"}}}),
            "rate_limit_exceeded|slow",
        ),
        (
            Api::OpenAiResponses,
            json!({"type": "error", "code": "server_error", "message": "oops"}),
            "server_error|oops",
        ),
        (
            Api::OpenAiResponses,
            json!({"type": "error", "error": {"type": "t", "message": "oops"}}),
            "t|oops",
        ),
        (
            Api::OpenAiCompletions,
            json!({"error": {"code": 502, "message": "upstream"}}),
            "502|upstream",
        ),
        (Api::OpenAiCompletions, json!({"error": "plain"}), "|plain"),
    ] {
        assert_eq!(read(api, &[event]).0.unwrap_err(), expected);
    }
    let mut reading = Reading::new(Api::OpenAiCompletions);
    let broken = reading.feed(
        b"error: {\"code\":400,\"message\":\"too long\"}\n\n",
        &mut |_| {},
    );
    assert_eq!(broken.unwrap_err().message, "too long");
}

#[test]
fn a_stream_without_its_end_is_no_answer() {
    for api in [
        Api::AnthropicMessages,
        Api::OpenAiResponses,
        Api::OpenAiCompletions,
    ] {
        let (outcome, _) = read(api, &[json!({"x": 1}), json!("no json"), json!(7)]);
        assert_eq!(
            outcome.unwrap_err(),
            "|the stream ended before the answer was whole"
        );
    }
}
