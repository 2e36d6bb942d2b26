//! Entries as they stand in the file, by whomever they were written.
//!
//! Everything is optional, numbers may be fractions, content may be a bare string: a line that is
//! JSON and has the right kind is never refused for what it lacks.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use sm_llm::{
    Assistant, Block, Content, Cost, Message, StopReason, ToolCall, ToolResult, Usage, User,
};

use super::entry::BashExecution;
use crate::tools::Todo;

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageEntry {
    pub(super) message: RawMessage,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct RawMessage {
    role: String,
    content: RawContent,
    timestamp: f64,
    // an answer
    api: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    usage: Option<RawUsage>,
    stop_reason: Option<String>,
    error_message: Option<String>,
    response_id: Option<String>,
    // a tool's result
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    details: Option<Value>,
    is_error: Option<bool>,
    // a command of the person's
    command: Option<String>,
    output: Option<String>,
    exit_code: Option<f64>,
    cancelled: Option<bool>,
    truncated: Option<bool>,
    full_output_path: Option<String>,
    exclude_from_context: Option<bool>,
    // put in by a program
    custom_type: Option<String>,
    display: Option<bool>,
}

/// What a `message` entry holds.
pub(super) enum Spoken {
    Message(Message),
    Bash(BashExecution),
    /// `hookMessage` until version 2, `custom` since.
    Custom {
        custom_type: String,
        display: bool,
        content: Content,
        timestamp: u64,
    },
    Nothing,
}

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CustomMessageEntry {
    pub(super) custom_type: String,
    pub(super) content: RawContent,
    pub(super) display: Option<bool>,
    pub(super) timestamp: String,
}

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SummaryEntry {
    pub(super) summary: String,
    pub(super) timestamp: String,
    pub(super) first_kept_entry_id: Option<String>,
    pub(super) first_kept_entry_index: Option<f64>,
}

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ModelEntry {
    provider: Option<String>,
    model_id: Option<String>,
    /// `omp` writes both as one.
    model: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingEntry {
    thinking_level: sm_llm::Thinking,
}

/// Who answered, out of a `message` entry.
#[derive(serde::Deserialize)]
struct Answered {
    message: Answerer,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Answerer {
    role: String,
    provider: Option<String>,
    model: Option<String>,
}

#[derive(serde::Deserialize)]
struct TodoEntry {
    data: Todos,
}

#[derive(serde::Deserialize)]
struct Todos {
    todos: Vec<Todo>,
}

#[derive(serde::Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase", default)]
struct RawUsage {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    total_tokens: f64,
    cost: Option<Cost>,
}

/// A string or blocks.
pub(super) struct RawContent(Content);

impl Default for RawContent {
    fn default() -> Self {
        Self(Content::Blocks(Vec::new()))
    }
}

impl RawContent {
    pub(super) fn into_content(self) -> Content {
        self.0
    }

    /// The blocks, an empty string being none.
    pub(super) fn into_blocks(self) -> Vec<Block> {
        match self.0 {
            Content::Text(text) if text.is_empty() => Vec::new(),
            Content::Text(text) => vec![Block::text(text)],
            Content::Blocks(blocks) => blocks,
        }
    }
}

impl<'de> Deserialize<'de> for RawContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or blocks")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RawContent, E> {
                Ok(RawContent(Content::Text(text.to_string())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<RawContent, E> {
                Ok(RawContent(Content::Text(text)))
            }

            fn visit_unit<E: Error>(self) -> Result<RawContent, E> {
                Ok(RawContent::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawContent, A::Error> {
                let mut blocks = Vec::new();
                while let Some(RawBlock(block)) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(RawContent(Content::Blocks(blocks)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// One block. Written by hand, since a tagged enum would first be read into memory whole.
struct RawBlock(Block);

impl<'de> Deserialize<'de> for RawBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawBlock;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a block")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawBlock, A::Error> {
                let mut fields = BlockFields::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match &*key {
                        "type" => fields.kind = map.next_value()?,
                        "text" => fields.text = map.next_value()?,
                        "textSignature" => fields.text_signature = signature(map.next_value()?),
                        "thinking" => fields.thinking = map.next_value()?,
                        "thinkingSignature" => {
                            fields.thinking_signature = signature(map.next_value()?);
                        }
                        "redacted" => fields.redacted = map.next_value()?,
                        "data" => fields.data = map.next_value()?,
                        "mimeType" => fields.mime_type = map.next_value()?,
                        "id" => fields.id = map.next_value()?,
                        "name" => fields.name = map.next_value()?,
                        "arguments" => fields.arguments = map.next_value()?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(RawBlock(fields.block()))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RawBlock, E> {
                Ok(RawBlock(Block::text(text)))
            }
        }
        deserializer.deserialize_any(Fields)
    }
}

/// A signature is text, or in some providers' words an object.
fn signature(value: Option<Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

#[derive(Default)]
struct BlockFields {
    kind: Option<String>,
    text: Option<String>,
    text_signature: Option<String>,
    thinking: Option<String>,
    thinking_signature: Option<String>,
    redacted: Option<bool>,
    data: Option<Value>,
    mime_type: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Value>,
}

impl BlockFields {
    fn block(self) -> Block {
        match self.kind.as_deref() {
            Some("text") => Block::Text {
                text: self.text.unwrap_or_default(),
                text_signature: self.text_signature,
            },
            Some("thinking") => Block::Thinking {
                thinking: self.thinking.unwrap_or_default(),
                thinking_signature: self.thinking_signature,
                redacted: self.redacted,
            },
            Some("image") => match (self.data, self.mime_type) {
                (Some(Value::String(data)), Some(mime_type)) => Block::Image { data, mime_type },
                _ => Block::Other,
            },
            Some("toolCall") => Block::ToolCall(ToolCall {
                id: self.id.unwrap_or_default(),
                name: self.name.unwrap_or_default(),
                arguments: match self.arguments {
                    Some(Value::Object(arguments)) => arguments,
                    _ => Map::new(),
                },
            }),
            _ => Block::Other,
        }
    }
}

impl RawMessage {
    /// The text, if it is a person's.
    pub(super) fn typed(self) -> Option<String> {
        if self.role != "user" {
            return None;
        }
        self.content
            .into_blocks()
            .into_iter()
            .find_map(|block| match block {
                Block::Text { text, .. } if !text.trim().is_empty() => Some(text),
                _ => None,
            })
    }

    pub(super) fn spoken(self) -> Spoken {
        let timestamp = self.timestamp as u64;
        match self.role.as_str() {
            "user" | "developer" => Spoken::Message(Message::User(User {
                content: self.content.into_content(),
                timestamp,
            })),
            "assistant" => Spoken::Message(Message::Assistant(Assistant {
                content: self.content.into_blocks(),
                api: self.api.unwrap_or_default(),
                provider: self.provider.unwrap_or_default(),
                model: self.model.unwrap_or_default(),
                usage: self.usage.unwrap_or_default().usage(),
                stop_reason: stop_reason(self.stop_reason.as_deref()),
                error_message: self.error_message,
                response_id: self.response_id,
                timestamp,
            })),
            "toolResult" => Spoken::Message(Message::ToolResult(ToolResult {
                tool_call_id: self.tool_call_id.unwrap_or_default(),
                tool_name: self.tool_name.unwrap_or_default(),
                content: self.content.into_blocks(),
                details: self.details,
                is_error: self.is_error.unwrap_or(false),
                timestamp,
            })),
            "bashExecution" => Spoken::Bash(BashExecution {
                command: self.command.unwrap_or_default(),
                output: self.output.unwrap_or_default(),
                exit_code: self.exit_code.map(|code| code as i64),
                cancelled: self.cancelled.unwrap_or(false),
                truncated: self.truncated.unwrap_or(false),
                full_output_path: self.full_output_path,
                exclude_from_context: self.exclude_from_context,
                timestamp,
            }),
            "custom" | "hookMessage" => Spoken::Custom {
                custom_type: self.custom_type.unwrap_or_default(),
                display: self.display.unwrap_or(true),
                content: self.content.into_content(),
                timestamp,
            },
            _ => Spoken::Nothing,
        }
    }
}

fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("length") => StopReason::Length,
        Some("toolUse") => StopReason::ToolUse,
        Some("error") => StopReason::Error,
        Some("aborted") => StopReason::Aborted,
        _ => StopReason::Stop,
    }
}

impl RawUsage {
    fn usage(self) -> Usage {
        Usage {
            input: self.input as u64,
            output: self.output as u64,
            cache_read: self.cache_read as u64,
            cache_write: self.cache_write as u64,
            total_tokens: self.total_tokens as u64,
            cost: self.cost.unwrap_or_default(),
        }
    }
}

/// Reads an entry. Bytes that are no UTF-8 are replaced rather than the entry lost.
pub(super) fn entry<T: for<'de> Deserialize<'de>>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok().or_else(|| {
        let text = String::from_utf8_lossy(line);
        matches!(text, Cow::Owned(_))
            .then(|| serde_json::from_str(&text).ok())
            .flatten()
    })
}

/// Provider and model of a `model_change`.
pub(super) fn model_change(line: &[u8]) -> Option<(String, String)> {
    let read: ModelEntry = entry(line)?;
    match (read.provider, read.model_id, read.model) {
        (Some(provider), Some(model), _) => Some((provider, model)),
        (_, _, Some(both)) => both
            .split_once('/')
            .map(|(provider, model)| (provider.to_string(), model.to_string())),
        _ => None,
    }
}

/// Provider and model of an answer.
pub(super) fn answered_by(line: &[u8]) -> Option<(String, String)> {
    let read: Answered = entry(line)?;
    if read.message.role != "assistant" {
        return None;
    }
    Some((read.message.provider?, read.message.model?))
}

pub(super) fn thinking(line: &[u8]) -> Option<sm_llm::Thinking> {
    entry::<ThinkingEntry>(line).map(|read| read.thinking_level)
}

pub(super) fn todos(line: &[u8]) -> Option<Vec<Todo>> {
    entry::<TodoEntry>(line).map(|read| read.data.todos)
}
