//! OpenAI Responses: `POST /v1/responses`, streamed or plain, and `/responses/compact`. Pure.

use serde_json::{Value, json};

use super::control::Control;
use super::reply::{Frame, Reply, halves, tool_names};
use super::request::{item_texts, plain_texts};
use super::script::{Act, Conversation, Outcome, asks_for_summary, strip_wrappers};

/// Reads the conversation out of a request.
pub(super) fn conversation(body: &Value) -> Conversation {
    let format = &body["text"]["format"];
    let mut read = Conversation {
        tools: tool_names(body),
        schema: (format["type"] == "json_schema").then(|| format["schema"].clone()),
        ..Conversation::default()
    };
    if let Some(text) = body["input"].as_str() {
        read.last_user = strip_wrappers(text);
        return read;
    }
    let items = body["input"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    read.compacting = asks_for_summary(items.last());
    read.told = item_texts(&json!({"content": body["instructions"]}));
    for item in items {
        let kind = item["type"].as_str().unwrap_or_default();
        read.keep(item, item["role"] == "assistant" || kind.ends_with("_call"));
    }
    for item in items.iter().rev() {
        if matches!(
            item["type"].as_str(),
            Some("function_call_output" | "custom_tool_call_output")
        ) {
            read.results += 1;
        } else if item["role"] == "user" {
            read.last_user = strip_wrappers(&plain_texts(&item["content"]).join("\n"));
            if !read.last_user.is_empty() {
                break;
            }
        }
    }
    read
}

/// The answer to a server-side compaction.
pub(super) fn compacted() -> Reply {
    let content = json!([{"type": "input_text", "text": "COMPACTED SUMMARY"}]);
    let body = json!({"output": [{"type": "message", "role": "user", "content": content}]});
    Reply::Json { status: 200, body }
}

/// Builds the answer.
pub(super) fn reply(body: &Value, seq: u64, at: u64, act: &Act, control: &Control) -> Reply {
    let item = match &act.outcome {
        Outcome::Fail { status, message } => {
            let error = json!({"message": message, "type": "server_error"});
            return Reply::Json {
                status: *status,
                body: json!({"error": error}),
            };
        }
        Outcome::Tool { name, input } => tool_call(name, input, seq),
        Outcome::Text(text) => json!({
            "type": "message", "id": format!("msg_{seq:05}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
    };
    let begun = json!({
        "id": format!("resp_fake_{seq:05}"), "object": "response", "created_at": at,
        "model": body["model"], "status": "in_progress", "output": [],
    });
    let input = control.openai_input();
    let mut done = begun.clone();
    done["status"] = json!("completed");
    done["output"] = json!([item]);
    done["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": control.cache_read_input_tokens},
        "output_tokens": control.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + control.output_tokens,
    });
    if body["stream"] != true {
        return Reply::Json {
            status: 200,
            body: done,
        };
    }
    let mut stream = Numbered::default();
    stream.push("response.created", json!({"response": begun}));
    let mut index = 0;
    if let Some(thoughts) = &act.thoughts {
        let mut thought = json!({
            "type": "reasoning", "id": format!("rs_{seq:05}"), "summary": [],
            "encrypted_content": "encrypted-by-fake",
        });
        let part = json!({"output_index": 0, "summary_index": 0, "item_id": thought["id"]});
        stream.push(
            "response.output_item.added",
            json!({"output_index": 0, "item": thought}),
        );
        stream.push(
            "response.reasoning_summary_text.delta",
            merged(part, json!({"delta": thoughts})),
        );
        thought["summary"] = json!([{"type": "summary_text", "text": thoughts}]);
        stream.push(
            "response.output_item.done",
            json!({"output_index": 0, "item": thought}),
        );
        index = 1;
    }
    let mut added = item.clone();
    added["status"] = json!("in_progress");
    let id = &item["id"];
    if let Outcome::Text(text) = &act.outcome {
        let part = |fields: Value| {
            merged(
                json!({"item_id": id, "output_index": index, "content_index": 0}),
                fields,
            )
        };
        let (first, rest) = halves(text);
        added["content"] = json!([]);
        stream.push(
            "response.output_item.added",
            json!({"output_index": index, "item": added}),
        );
        let empty = json!({"part": {"type": "output_text", "text": "", "annotations": []}});
        stream.push("response.content_part.added", part(empty));
        stream.push("response.output_text.delta", part(json!({"delta": first})));
        stream.stall();
        stream.push("response.output_text.delta", part(json!({"delta": rest})));
        stream.push("response.output_text.done", part(json!({"text": text})));
    } else {
        let part = |fields: Value| merged(json!({"item_id": id, "output_index": index}), fields);
        added["arguments"] = json!("");
        stream.push(
            "response.output_item.added",
            json!({"output_index": index, "item": added}),
        );
        stream.stall();
        let arguments = &item["arguments"];
        stream.push(
            "response.function_call_arguments.delta",
            part(json!({"delta": arguments})),
        );
        stream.push(
            "response.function_call_arguments.done",
            part(json!({"arguments": arguments})),
        );
    }
    stream.push(
        "response.output_item.done",
        json!({"output_index": index, "item": item}),
    );
    stream.push("response.completed", json!({"response": done}));
    Reply::Stream(stream.frames)
}

/// How this protocol says inside a stream that something went wrong.
pub(super) fn fault(kind: &str, message: &str) -> Frame {
    let error = json!({"code": kind, "message": message});
    let data = json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    Frame::named("response.failed", &data)
}

/// `group/name` is a tool of a namespace.
fn tool_call(name: &str, input: &Value, seq: u64) -> Value {
    let (group, name) = match name.split_once('/') {
        Some((group, name)) => (Some(group), name),
        None => (None, name),
    };
    let mut call = json!({
        "type": "function_call", "id": format!("fc_{seq:05}"), "status": "completed",
        "call_id": format!("call_fake_{seq:05}"), "name": name, "arguments": input.to_string(),
    });
    if let Some(group) = group {
        call["namespace"] = json!(group);
    }
    call
}

/// Events of this protocol carry their type and a running number.
#[derive(Default)]
struct Numbered {
    frames: Vec<Frame>,
    next: u64,
}

impl Numbered {
    fn push(&mut self, name: &str, fields: Value) {
        let data = merged(fields, json!({"type": name, "sequence_number": self.next}));
        self.frames.push(Frame::named(name, &data));
        self.next += 1;
    }

    fn stall(&mut self) {
        self.frames.push(Frame::Stall {
            keep_alive: ": waiting\n\n".into(),
        });
    }
}

fn merged(mut base: Value, more: Value) -> Value {
    if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
        base.extend(more);
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_user_item_speaks() {
        let body = json!({"input": [
            {"role": "user", "content": [{"type": "input_text", "text": "RUN: ls"}]},
            {"type": "function_call"}, {"type": "function_call_output", "output": "x"},
            {"role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]}]});
        let read = conversation(&body);
        assert_eq!((read.last_user.as_str(), read.results), ("RUN: ls", 1));
        assert!(read.own.contains("function_call"), "{}", read.own);
        assert_eq!(read.told.len(), 3);
        assert_eq!(
            conversation(&json!({"input": "SAY: x"})).last_user,
            "SAY: x"
        );
    }

    #[test]
    fn events_are_numbered_without_gaps() {
        let act = Act {
            stall: Default::default(),
            thoughts: None,
            drip: None,
            outcome: Outcome::Text("hello".into()),
        };
        let Reply::Stream(frames) =
            reply(&json!({"stream": true}), 3, 0, &act, &Control::default())
        else {
            panic!("asked for a stream");
        };
        let numbers: Vec<u64> = frames
            .iter()
            .filter_map(|frame| match frame {
                Frame::Data(data) => {
                    let json = data.split_once("data: ").unwrap().1;
                    serde_json::from_str::<Value>(json).unwrap()["sequence_number"].as_u64()
                }
                Frame::Stall { .. } | Frame::Pause(_) | Frame::Cut => None,
            })
            .collect();
        assert_eq!(numbers, (0..8).collect::<Vec<u64>>());
    }
}
