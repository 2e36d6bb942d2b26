//! OpenAI Chat Completions: `POST /v1/chat/completions`, streamed or plain. Pure.

use serde_json::{Value, json};

use super::control::Control;
use super::reply::{Frame, Reply, halves, tool_names};
use super::request::plain_texts;
use super::script::{Act, Conversation, Outcome, asks_for_summary, strip_wrappers};

/// Reads the conversation out of a request.
pub(super) fn conversation(body: &Value) -> Conversation {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut read = Conversation {
        tools: tool_names(body),
        compacting: asks_for_summary(messages.last()),
        ..Conversation::default()
    };
    for message in messages {
        read.keep(message, message["role"] == "assistant");
    }
    for message in messages.iter().rev() {
        if message["role"] == "tool" {
            read.results += 1;
        } else if message["role"] == "user" {
            read.last_user = strip_wrappers(&plain_texts(&message["content"]).join("\n"));
            if !read.last_user.is_empty() {
                break;
            }
        }
    }
    read
}

/// Builds the answer.
pub(super) fn reply(body: &Value, seq: u64, at: u64, act: &Act, control: &Control) -> Reply {
    let (calls, text, finish) = match &act.outcome {
        Outcome::Fail { status, message } => {
            return Reply::Json {
                status: *status,
                body: json!({"error": {"message": message}}),
            };
        }
        Outcome::Tool { name, input } => {
            let function = json!({"name": name, "arguments": input.to_string()});
            let id = format!("call_fake_{seq:05}");
            let calls = json!([{"index": 0, "id": id, "type": "function", "function": function}]);
            (Some(calls), "", "tool_calls")
        }
        Outcome::Text(text) => (None, text.as_str(), "stop"),
    };
    let input = control.openai_input();
    let usage = json!({
        "prompt_tokens": input, "completion_tokens": control.output_tokens,
        "total_tokens": input + control.output_tokens,
        "prompt_tokens_details": {"cached_tokens": control.cache_read_input_tokens},
    });
    let whole = |object: &str, choices: Value, usage: Option<&Value>| {
        let id = format!("chatcmpl-fake{seq:05}");
        let mut whole = json!({"id": id, "created": at, "model": body["model"], "object": object, "choices": choices});
        if let Some(usage) = usage {
            whole["usage"] = usage.clone();
        }
        whole
    };
    if body["stream"] != true {
        let mut message = json!({"role": "assistant", "content": text});
        if let Some(calls) = calls {
            message["content"] = Value::Null;
            message["tool_calls"] = calls;
        }
        let choices = json!([{"index": 0, "finish_reason": finish, "message": message}]);
        return Reply::Json {
            status: 200,
            body: whole("chat.completion", choices, Some(&usage)),
        };
    }
    let chunk = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        Frame::bare(&whole("chat.completion.chunk", choices, None).to_string())
    };
    let mut frames = vec![chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    let stall = Frame::Stall {
        keep_alive: ": waiting\n\n".into(),
    };
    if let Some(thoughts) = &act.thoughts {
        frames.push(chunk(json!({"reasoning_content": thoughts}), Value::Null));
    }
    if let Some(calls) = calls {
        frames.push(stall);
        frames.push(chunk(json!({"tool_calls": calls}), Value::Null));
    } else {
        let (first, rest) = halves(text);
        frames.push(chunk(json!({"content": first}), Value::Null));
        frames.push(stall);
        frames.push(chunk(json!({"content": rest}), Value::Null));
    }
    frames.push(chunk(json!({}), json!(finish)));
    frames.push(Frame::bare(
        &whole("chat.completion.chunk", json!([]), Some(&usage)).to_string(),
    ));
    frames.push(Frame::bare("[DONE]"));
    Reply::Stream(frames)
}

/// How this protocol says inside a stream that something went wrong.
pub(super) fn fault(kind: &str, message: &str) -> Frame {
    Frame::bare(&json!({"error": {"type": kind, "message": message}}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_results_are_counted_until_the_prompt() {
        let body = json!({"messages": [
            {"role": "tool", "content": "older"}, {"role": "user", "content": "RUNMANY: 3 ls"},
            {"role": "assistant"}, {"role": "tool", "content": "x"}, {"role": "tool", "content": "y"}]});
        let read = conversation(&body);
        assert_eq!(
            (read.last_user.as_str(), read.results),
            ("RUNMANY: 3 ls", 2)
        );
    }
}
