//! What is said between a person, a model and its tools.
//!
//! The JSON of these types is that of session files of format version 3: what is kept on disk is
//! what is sent again. What others write there and we do not know is skipped when it is read; the
//! file itself is never written anew.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation, by who speaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// A person, or what stands for one (a handoff's document).
    User(User),
    Assistant(Assistant),
    ToolResult(ToolResult),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub content: Content,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
}

/// Older files have a bare string where blocks may stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assistant {
    pub content: Vec<Block>,
    /// Which protocol it came by, in the words of the file format (`anthropic-messages`, …).
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(default)]
    pub timestamp: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub tool_call_id: String,
    #[serde(default)]
    pub tool_name: String,
    pub content: Vec<Block>,
    /// What the screen needs beside what the model is told (a diff, an exit code).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub timestamp: u64,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    #[serde(rename_all = "camelCase")]
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text_signature: Option<String>,
    },
    /// The model's own thoughts, with what the provider needs to recognise them as its own.
    #[serde(rename_all = "camelCase")]
    Thinking {
        thinking: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
    ToolCall(ToolCall),
    /// What another program wrote and we do not know.
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    Stop,
    /// It ran into its limit of output.
    Length,
    ToolUse,
    Error,
    Aborted,
}

/// What an answer took, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read by the model and in no cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total_tokens: u64,
    pub cost: Cost,
}

/// In dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub total: f64,
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            text_signature: None,
        }
    }
}

impl Message {
    pub fn user(text: impl Into<String>, timestamp: u64) -> Self {
        Self::User(User {
            content: Content::Blocks(vec![Block::text(text)]),
            timestamp,
        })
    }
}

impl Content {
    /// The blocks, a bare string being one of text.
    pub fn blocks(&self) -> Vec<Block> {
        match self {
            Self::Text(text) => vec![Block::text(text.clone())],
            Self::Blocks(blocks) => blocks.clone(),
        }
    }
}

impl ToolCall {
    /// What the model wrote instead of arguments, where that was no JSON object (its beginning).
    /// Such a call must not be run: the model is told that its arguments could not be read.
    pub fn invalid_arguments(&self) -> Option<&str> {
        match self.arguments.get(crate::answer::INVALID) {
            Some(Value::String(written)) if self.arguments.len() == 1 => Some(written),
            Some(_) | None => None,
        }
    }
}

impl Assistant {
    /// Its text blocks, joined by a newline; calls of tools and thoughts are left out.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.as_str()),
                Block::Thinking { .. }
                | Block::Image { .. }
                | Block::ToolCall(_)
                | Block::Other => None,
            })
            .collect();
        texts.join("\n")
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text { .. } | Block::Thinking { .. } | Block::Image { .. } | Block::Other => {
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as another program of this format writes them.
    const LINES: [&str; 4] = [
        r#"{"role":"user","content":[{"type":"text","text":"hello"}],"timestamp":1794724447153}"#,
        r#"{"role":"user","content":"bare","timestamp":0}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"Running it."},{"type":"toolCall","id":"toolu_1","name":"bash","arguments":{"command":"echo hi"}}],"api":"anthropic-messages","provider":"fake","model":"fake-1","usage":{"input":1200,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":1250,"cost":{"input":0.0,"output":0.0,"cacheRead":0.0,"cacheWrite":0.0,"total":0.0}},"stopReason":"toolUse","timestamp":1794724447348}"#,
        r#"{"role":"toolResult","toolCallId":"toolu_1","toolName":"bash","content":[{"type":"text","text":"hi"}],"details":{"exitCode":0},"isError":false,"timestamp":1794724448204}"#,
    ];

    #[test]
    fn a_message_is_written_as_it_was_read() {
        for line in LINES {
            let message: Message = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&message).unwrap(), line);
        }
    }

    #[test]
    fn unknown_fields_and_blocks_are_passed_over() {
        let line = r#"{"role":"assistant","content":[{"type":"hologram","x":1},{"type":"text","text":"a"},{"type":"text","text":"b"}],"duration":7,"stopReason":"stop"}"#;
        let Message::Assistant(assistant) = serde_json::from_str(line).unwrap() else {
            panic!("an assistant speaks here");
        };
        assert_eq!(assistant.text(), "a\nb");
        assert_eq!(assistant.tool_calls().count(), 0);
    }
}
