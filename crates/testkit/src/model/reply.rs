//! An answer as data: what is sent, and where it stalls. The protocols build it; the server
//! plays it.

use std::time::Duration;

use serde_json::Value;

use super::control::{BreakNext, Reached};

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    /// A whole JSON body, after the stall.
    Json { status: u16, body: Value },
    /// Server-sent events.
    Stream(Vec<Frame>),
}

/// One piece of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    Data(String),
    /// Here the answer stalls, sending this text every second to keep the connection alive.
    Stall {
        keep_alive: String,
    },
    /// What follows comes so much later.
    Pause(Duration),
    /// Here the connection is closed.
    Cut,
}

impl Frame {
    /// An event with a name, as the Anthropic and Responses protocols use.
    pub(super) fn named(name: &str, data: &Value) -> Self {
        Self::Data(event(name, data))
    }

    /// An event without a name, as the Chat protocol uses.
    pub(super) fn bare(data: &str) -> Self {
        Self::Data(format!("data: {data}\n\n"))
    }
}

/// A stream that comes only so far: `fault` is how its protocol says why.
pub(super) fn broken(
    mut frames: Vec<Frame>,
    how: &BreakNext,
    fault: impl FnOnce(&str, &str) -> Frame,
) -> Vec<Frame> {
    let stall = frames
        .iter()
        .position(|frame| matches!(frame, Frame::Stall { .. }));
    frames.truncate(match how.after {
        Reached::Beginning => 1,
        Reached::FirstPart => stall.map_or(frames.len(), |at| at + 1),
    });
    frames.push(match &how.fault {
        Some((kind, message)) => fault(kind, message),
        None => Frame::Cut,
    });
    frames
}

/// A named event as text.
pub(super) fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A text in two parts, cut between characters: the first is streamed before the stall.
pub(super) fn halves(text: &str) -> (&str, &str) {
    let middle = text.chars().count().div_ceil(2).max(1);
    let at = text
        .char_indices()
        .nth(middle)
        .map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

/// The names of the tools on offer, in any of the protocols.
pub(super) fn tool_names(body: &Value) -> Vec<String> {
    let tools = body["tools"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    tools
        .iter()
        .flat_map(|tool| {
            let name = tool_name(tool).unwrap_or_default();
            match tool["tools"].as_array() {
                // a namespace: its tools are called with its name before theirs
                Some(inner) => inner
                    .iter()
                    .filter_map(tool_name)
                    .map(|inner| format!("{name}/{inner}"))
                    .collect(),
                None if name.is_empty() => Vec::new(),
                None => vec![name.to_owned()],
            }
        })
        .collect()
}

fn tool_name(tool: &Value) -> Option<&str> {
    tool["name"]
        .as_str()
        .or_else(|| tool["function"]["name"].as_str())
        .or_else(|| tool["type"].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tools_of_a_namespace_are_listed_with_its_name() {
        let body = json!({"tools": [
            {"name": "Bash"}, {"type": "function", "function": {"name": "shell"}},
            {"type": "web_search"}, 7,
            {"type": "namespace", "name": "mcp__sm", "tools": [{"name": "handoff"}, {"name": "whoami"}]}]});
        let names = [
            "Bash",
            "shell",
            "web_search",
            "mcp__sm/handoff",
            "mcp__sm/whoami",
        ];
        assert_eq!(tool_names(&body), names);
    }

    #[test]
    fn halves_never_cut_a_character() {
        for text in ["", "a", "äöü", "hello", "✳x"] {
            let (a, b) = halves(text);
            assert_eq!(format!("{a}{b}"), text);
            assert!(!a.is_empty() || text.is_empty());
        }
    }
}
