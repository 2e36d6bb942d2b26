//! What a model is asked, before it becomes the body of one protocol.

use serde_json::Value;

use crate::message::Message;
use crate::model::Thinking;

/// One question. The same `system`, `tools` and beginning of `messages` give the same bytes, so
/// that the provider's cache is used.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub system: &'a str,
    pub messages: &'a [Message],
    pub tools: &'a [Tool],
    pub tool_choice: ToolChoice,
    pub thinking: Thinking,
    pub max_output: u64,
    /// Names the conversation to providers that keep a cache for each (`metadata.user_id`,
    /// `prompt_cache_key`).
    pub session: &'a str,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// A JSON Schema of its arguments.
    pub parameters: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    /// Tools are shown, since they are part of the cached beginning, and none may be called.
    None,
}
