//! What an agent sent, kept whole, and how to read the texts out of it.

use serde::Serialize;
use serde_json::Value;

/// One recorded request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Counts from 1, in order of arrival.
    pub seq: u64,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers, names in lower case, without those that carry a key.
    pub headers: Vec<(String, String)>,
    /// The JSON body; null when there was none; `{"_raw": …}` when it was not JSON.
    pub body: Value,
}

impl Request {
    /// The path without its query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or(&self.path)
    }

    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Whether this request belongs to the main conversation: not a side call such as the generation
/// of a title, which is offered no tools, and not one of a sub-agent's.
pub fn is_main(request: &Request) -> bool {
    has_tools(request) && !is_subagent(request)
}

/// Whether a sub-agent sent it.
pub fn is_subagent(request: &Request) -> bool {
    let claude = request.header("x-claude-code-agent-id").is_some();
    has_tools(request) && (claude || codex_subagent(request))
}

/// Codex says with each turn where its thread comes from.
fn codex_subagent(request: &Request) -> bool {
    let metadata = request.header("x-codex-turn-metadata").unwrap_or_default();
    let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
    metadata["thread_source"] == "subagent"
}

/// The conversation the agent says it belongs to; that of Claude Code's sub-agents is their
/// parent's, Codex's side calls have one of their own.
pub fn conversation_of(request: &Request) -> Option<&str> {
    let claude = request.header("x-claude-code-session-id");
    claude.or_else(|| request.header("thread-id"))
}

fn has_tools(request: &Request) -> bool {
    let tools = request.body["tools"].as_array();
    tools.is_some_and(|tools| !tools.is_empty())
}

/// Every text block the model was shown in the conversation, in order, each exactly as sent:
/// prompts, answers, tool results and injected context. The system prompt is left out, and what newer
/// versions of Claude Code put around pastes and say of the tokens that are left.
pub fn texts_of(request: &Request) -> Vec<String> {
    let body = &request.body;
    let mut texts = Vec::new();
    for key in ["messages", "input"] {
        match &body[key] {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect_item(item, &mut texts)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    texts
}

/// The texts of one message.
pub(super) fn item_texts(item: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    collect_item(item, &mut texts);
    texts
}

fn collect_item(item: &Value, texts: &mut Vec<String>) {
    for key in ["content", "output"] {
        collect_content(&item[key], texts);
    }
}

/// The text as it was given to the agent; nothing if all of it is the agent's own count.
fn given(text: &str) -> Option<String> {
    const COUNT: &str = "<system-reminder>\n<total_tokens>";
    const END: &str = "</total_tokens>\n</system-reminder>";
    let mut text = text.to_owned();
    while let Some(at) = text.find(COUNT)
        && let Some(length) = text[at..].find(END)
    {
        let after = text[at + length + END.len()..].to_owned();
        text.truncate(text[..at].trim_end_matches('\n').len());
        text.push_str(after.strip_prefix('\n').unwrap_or(&after));
        if text.trim().is_empty() {
            return None;
        }
    }
    Some(sm_core::pasted::unwrapped(text).into_owned())
}

fn collect_content(content: &Value, texts: &mut Vec<String>) {
    match content {
        Value::String(text) => texts.extend(given(text)),
        Value::Array(blocks) => {
            for block in blocks {
                match block {
                    Value::String(text) => texts.extend(given(text)),
                    Value::Object(fields) => {
                        if let Some(text) = fields.get("text").and_then(Value::as_str) {
                            texts.extend(given(text));
                        }
                        // a tool result holds blocks of its own
                        if let Some(inner) = fields.get("content") {
                            collect_content(inner, texts);
                        }
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// The text blocks of one message, leaving out tool results.
pub(super) fn plain_texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                Value::String(text) => Some(text.as_str()),
                Value::Object(fields) => {
                    let kind = fields.get("type").and_then(Value::as_str)?;
                    matches!(kind, "text" | "input_text" | "output_text")
                        .then(|| fields.get("text").and_then(Value::as_str))
                        .flatten()
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

#[cfg(test)]
pub(super) fn sample(body: Value) -> Request {
    Request {
        seq: 1,
        at_ms: 0,
        method: "POST".into(),
        path: "/v1/messages?beta=true".into(),
        headers: vec![],
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_found_in_every_shape() {
        let request = sample(json!({"system": "not this", "messages": [
            {"role": "user", "content": "plain"},
            {"role": "user", "content": [
                {"type": "text", "text": "block\nof two lines "},
                {"type": "tool_result", "content": "result"},
                {"type": "tool_result", "content": [{"type": "text", "text": "inner"}]}]}]}));
        assert_eq!(
            texts_of(&request),
            ["plain", "block\nof two lines ", "result", "inner"]
        );
        let request = sample(json!({"input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "function_call_output", "output": "b"}]}));
        assert_eq!(texts_of(&request), ["a", "b"]);
    }

    #[test]
    fn only_requests_with_tools_are_main() {
        let mut request = sample(json!({"tools": [{"name": "Bash"}]}));
        assert!(is_main(&request) && !is_subagent(&request));
        request.headers = vec![("x-claude-code-agent-id".into(), "a1".into())];
        assert!(!is_main(&request) && is_subagent(&request));
        for (source, sub) in [("user", false), ("subagent", true)] {
            let metadata = json!({"thread_source": source}).to_string();
            request.headers = vec![("x-codex-turn-metadata".into(), metadata)];
            assert_eq!((is_main(&request), is_subagent(&request)), (!sub, sub));
        }
        assert!(!is_main(&sample(json!({"tools": []}))));
        assert!(!is_main(&sample(json!(null))));
    }
}
