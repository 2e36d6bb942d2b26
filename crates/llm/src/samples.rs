//! A conversation with everything in it, for the tests of the bodies.

use serde_json::{Value, json};

use crate::message::Message;
use crate::model::{Api, Model, Thinking};
use crate::request::{Request, Tool, ToolChoice};
use crate::{body, known};

pub(crate) fn tools() -> Vec<Tool> {
    let parameters = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let tool = |name: &str, description: &str| Tool {
        name: name.into(),
        description: description.into(),
        parameters: parameters.clone(),
    };
    vec![
        tool("read", "Reads a file."),
        tool("bash", "Runs a command."),
    ]
}

/// Spoken with `model`, but for one answer of another.
pub(crate) fn messages(model: &Model, signature: &str) -> Vec<Message> {
    let says = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": content, "stopReason": stop,
            "api": model.api.name(), "provider": model.provider, "model": model.id})
    };
    let lines = [
        json!({"role": "user", "content": [{"type": "text", "text": "<handoff-context>\nnotes\n</handoff-context>"}]}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "What is in this picture? \u{0}\u{1b}[1m"},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}),
        says(
            json!([
            {"type": "thinking", "thinking": "I should look.", "thinkingSignature": signature},
            {"type": "text", "text": "Let me see.", "textSignature": "{\"v\":1,\"id\":\"msg_1\",\"phase\":\"commentary\"}"},
            {"type": "toolCall", "id": "call_1|fc_1", "name": "bash", "arguments": {"command": "file \"a b\".png", "z": 1, "a": [true, null]}},
            {"type": "toolCall", "id": "call_2|fc_2", "name": "read", "arguments": {}},
            {"type": "toolCall", "id": "call_3|fc_3", "name": "bash", "arguments": {"command": "sleep 100"}}]),
            "toolUse",
        ),
        json!({"role": "toolResult", "toolCallId": "call_2|fc_2", "toolName": "read", "content": [
            {"type": "text", "text": "an image"}, {"type": "image", "data": "AAAA", "mimeType": "image/jpeg"}]}),
        json!({"role": "toolResult", "toolCallId": "call_1|fc_1", "toolName": "bash", "isError": true,
            "content": [{"type": "text", "text": "no such file"}]}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Another's thought.", "thinkingSignature": "other"},
            {"type": "text", "text": "An interrupted answer of another mod"}], "stopReason": "aborted",
            "api": "x", "provider": "y", "model": "z"}),
        json!({"role": "user", "content": "  "}),
        json!({"role": "user", "content": "Go on."}),
    ];
    lines
        .into_iter()
        .map(|line| serde_json::from_value(line).unwrap())
        .collect()
}

pub(crate) fn request<'a>(messages: &'a [Message], tools: &'a [Tool]) -> Request<'a> {
    Request {
        system: "You are a coding agent.",
        messages,
        tools,
        tool_choice: ToolChoice::Auto,
        thinking: Thinking::Medium,
        max_output: 32_000,
        session: "0197-session",
    }
}

pub(crate) fn model(api: Api, id: &str) -> Model {
    known::model("provider", api, id)
}

/// The body, read again.
pub(crate) fn json(model: &Model, request: &Request<'_>) -> Value {
    let bytes = body::body(model, request);
    assert_eq!(
        bytes,
        body::body(model, request),
        "the same bytes each time"
    );
    serde_json::from_slice(&bytes).unwrap()
}

pub(crate) fn pretty(model: &Model, request: &Request<'_>) -> String {
    serde_json::to_string_pretty(&json(model, request)).unwrap()
}

/// Every beginning of a conversation is a beginning of the whole, mark or no mark.
pub(crate) fn check_growth(model: &Model, messages: &[Message], list: &str) {
    let tools = tools();
    let mut before: Vec<Value> = Vec::new();
    for end in 1..=messages.len() {
        // a request is made only where the model is to speak
        if matches!(messages[end - 1], Message::Assistant(_)) {
            continue;
        }
        if matches!(messages.get(end), Some(Message::ToolResult(_))) {
            continue;
        }
        let now = json(model, &request(&messages[..end], &tools));
        let now: Vec<Value> = now[list].as_array().unwrap().iter().map(unmarked).collect();
        let same = before.iter().zip(&now).take_while(|(a, b)| a == b).count();
        // only the last message of all may still have grown
        assert!(
            same + 1 >= before.len(),
            "{same} of {} at {end}",
            before.len()
        );
        before = now;
    }
}

fn unmarked(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(content) = value["content"].as_array_mut() {
        for block in content {
            if let Some(block) = block.as_object_mut() {
                block.remove("cache_control");
            }
        }
    }
    value
}
