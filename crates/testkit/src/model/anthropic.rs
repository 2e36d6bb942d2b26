//! Anthropic Messages: `POST /v1/messages`, streamed or plain. Pure.

use serde_json::{Value, json};

use super::control::Control;
use super::reply::{Frame, Reply, event, halves, tool_names};
use super::request::{item_texts, plain_texts};
use super::script::{Act, Conversation, Directives, Outcome, asks_for_summary, strip_wrappers};

/// Reads the conversation out of a request.
pub(super) fn conversation(body: &Value) -> Conversation {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut results = 0;
    let mut last_user = String::new();
    for message in messages.iter().rev().filter(|m| m["role"] == "user") {
        let content = &message["content"];
        let text = strip_wrappers(&plain_texts(content).join("\n"));
        if has_tool_result(content) {
            // a directive beside a tool result was typed while the tool ran
            if Directives::parse(&text).is_empty() {
                results += 1;
                continue;
            }
        } else if text.is_empty() {
            continue;
        }
        last_user = text;
        break;
    }
    let format = &body["output_config"]["format"];
    let mut read = Conversation {
        last_user,
        results,
        tools: tool_names(body),
        compacting: asks_for_summary(messages.last()),
        schema: (format["type"] == "json_schema").then(|| format["schema"].clone()),
        told: item_texts(&json!({"content": body["system"]})),
        ..Conversation::default()
    };
    for message in messages {
        read.keep(message, message["role"] == "assistant");
    }
    read
}

fn has_tool_result(content: &Value) -> bool {
    content
        .as_array()
        .is_some_and(|blocks| blocks.iter().any(|b| b["type"] == "tool_result"))
}

/// Builds the answer.
pub(super) fn reply(body: &Value, seq: u64, act: &Act, control: &Control) -> Reply {
    let (block, stop) = match &act.outcome {
        Outcome::Fail { status, message } => {
            let kind = if *status < 500 {
                "invalid_request_error"
            } else {
                "api_error"
            };
            let error = json!({"type": kind, "message": message});
            let body = json!({"type": "error", "error": error, "request_id": "req_fake"});
            return Reply::Json {
                status: *status,
                body,
            };
        }
        Outcome::Tool { name, input } => {
            let id = format!("toolu_fake_{seq:05}");
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                "tool_use",
            )
        }
        Outcome::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
    };
    let usage = |output: u64| {
        json!({
            "input_tokens": control.input_tokens,
            "cache_read_input_tokens": control.cache_read_input_tokens,
            "cache_creation_input_tokens": control.cache_creation_input_tokens,
            "output_tokens": output,
        })
    };
    let message = |content: Value, stop: Value, usage: Value| {
        json!({
            "id": format!("msg_fake_{seq:05}"), "type": "message", "role": "assistant",
            "model": body["model"].as_str().unwrap_or("fake"), "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage,
        })
    };
    let done = usage(control.output_tokens);
    if body["stream"] != true {
        return Reply::Json {
            status: 200,
            body: message(json!([block]), json!(stop), done),
        };
    }
    if let Some(blocks) = &control.blocks {
        let start = message(json!([]), Value::Null, usage(1));
        return Reply::Stream(given(blocks, start, &done));
    }
    let mut frames = vec![typed(json!({
        "type": "message_start", "message": message(json!([]), Value::Null, usage(1)),
    }))];
    let stall = Frame::Stall {
        keep_alive: event("ping", &json!({"type": "ping"})),
    };
    let mut index = 0;
    if let Some(thoughts) = &act.thoughts {
        let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
        let thought = json!({"type": "thinking_delta", "thinking": thoughts});
        let signed = json!({"type": "signature_delta", "signature": "signed-by-fake"});
        frames.push(typed(
            json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        ));
        for delta in [thought, signed] {
            frames.push(typed(
                json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            ));
        }
        frames.push(typed(json!({"type": "content_block_stop", "index": 0})));
        index = 1;
    }
    let start = |block: Value| {
        typed(json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let delta = |delta: Value| {
        typed(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    if let Outcome::Text(text) = &act.outcome {
        let (first, rest) = match act.drip {
            Some(_) => ("", text.as_str()),
            None => halves(text),
        };
        frames.push(start(json!({"type": "text", "text": ""})));
        frames.push(delta(json!({"type": "text_delta", "text": first})));
        frames.push(stall);
        match act.drip {
            Some(pause) => frames.extend(rest.split_inclusive(' ').flat_map(|word| {
                let word = delta(json!({"type": "text_delta", "text": word}));
                [Frame::Pause(pause), word]
            })),
            None => frames.push(delta(json!({"type": "text_delta", "text": rest}))),
        }
    } else {
        let mut empty = block.clone();
        empty["input"] = json!({});
        frames.push(start(empty));
        frames.push(stall);
        let input = block["input"].to_string();
        frames.push(delta(
            json!({"type": "input_json_delta", "partial_json": input}),
        ));
    }
    frames.push(typed(json!({"type": "content_block_stop", "index": index})));
    frames.push(typed(json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": done,
    })));
    frames.push(typed(json!({"type": "message_stop"})));
    Reply::Stream(frames)
}

/// How this protocol says inside a stream that something went wrong.
pub(super) fn fault(kind: &str, message: &str) -> Frame {
    typed(json!({"type": "error", "error": {"type": kind, "message": message}}))
}

/// Blocks that a test gives, one after the other.
fn given(blocks: &[Value], start: Value, usage: &Value) -> Vec<Frame> {
    let mut frames = vec![typed(json!({"type": "message_start", "message": start}))];
    for (index, block) in blocks.iter().enumerate() {
        let (empty, delta) = if block["type"] == "text" {
            let delta = json!({"type": "text_delta", "text": block["text"]});
            (json!({"type": "text", "text": ""}), delta)
        } else {
            let mut empty = block.clone();
            empty["input"] = json!({});
            let input = block["input"].to_string();
            (
                empty,
                json!({"type": "input_json_delta", "partial_json": input}),
            )
        };
        frames.push(typed(
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        frames.push(typed(
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
        frames.push(typed(json!({"type": "content_block_stop", "index": index})));
    }
    let delta = json!({"stop_reason": "end_turn", "stop_sequence": null});
    frames.push(typed(
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
    ));
    frames.push(typed(json!({"type": "message_stop"})));
    frames
}

/// In this protocol an event is named like its data's type.
fn typed(data: Value) -> Frame {
    Frame::named(data["type"].as_str().unwrap_or_default(), &data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_real_user_message_speaks() {
        let prompt = json!({"role": "user", "content": "RUN: ls"});
        let result = json!({"role": "user", "content": [{"type": "tool_result", "content": "x"}]});
        let reminder =
            json!({"role": "user", "content": "<system-reminder>SAY: no</system-reminder>"});
        let typed = json!({"role": "user", "content": [
            {"type": "tool_result", "content": "x"}, {"type": "text", "text": "SAY: typed"}]});
        let assistant = json!({"role": "assistant", "content": "SAY: never"});
        for (messages, last_user, results) in [
            (vec![&prompt], "RUN: ls", 0),
            (vec![&prompt, &assistant, &result], "RUN: ls", 1),
            (vec![&prompt, &assistant, &result, &reminder], "RUN: ls", 1),
            (vec![&prompt, &assistant, &typed], "SAY: typed", 0),
        ] {
            let read = conversation(&json!({"messages": messages}));
            assert_eq!(
                (read.last_user.as_str(), read.results),
                (last_user, results)
            );
        }
    }

    #[test]
    fn malformed_bodies_are_answered_too() {
        assert_eq!(conversation(&json!(null)), Conversation::default());
        assert_eq!(
            conversation(&json!({"messages": [1, "x", {"role": "user"}]})),
            Conversation {
                messages: 3,
                ..Conversation::default()
            }
        );
    }

    #[test]
    fn what_was_told_is_kept_apart_from_its_own_words() {
        let read = conversation(
            &json!({"system": [{"type": "text", "text": "rules"}], "messages": [
            {"role": "user", "content": "do it"},
            {"role": "assistant", "content": [{"type": "tool_use", "input": {"command": "mine"}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "seen"}]}]}),
        );
        assert_eq!(read.told, ["rules", "do it", "seen"]);
        assert!(read.own.contains("mine"), "{}", read.own);
        assert_eq!(read.messages, 3);
    }
}
