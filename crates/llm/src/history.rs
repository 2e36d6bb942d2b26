//! A conversation in the one form that every protocol takes, whatever the session file holds:
//! interrupted calls, results of nothing, empty texts, another model's thoughts. Pure.
//!
//! What a message becomes depends on it, what was before it, and its own results: a longer
//! conversation begins with the same turns, so that the provider's cache is used.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::message::{Assistant, Block, Content, Message, StopReason, ToolCall, ToolResult};
use crate::model::Model;
use crate::text::clean;

/// What a call is answered whose result was never written.
const INTERRUPTED: &str = "No result: the work was interrupted before this tool had answered.";
/// A result, a text and nothing in it: some providers take no empty text.
const NOTHING: &str = "(no output)";
const CONTINUE: &str = "Continue.";
const LEFT_OUT: &str = "(What was said before is left out.)";
const NO_IMAGES: &str = "(An image stood here that this model cannot be shown.)";

/// The kinds of images that every provider takes.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The longest id of a call that every protocol takes.
const LONGEST_ID: usize = 64;
const LONGEST_NAME: usize = 64;

#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    User(Vec<Part<'a>>),
    Assistant(Vec<Said<'a>>),
    /// All results of the calls right before, in the order of the calls.
    Results(Vec<Answered<'a>>),
}

/// A piece of what a model is told.
#[derive(Debug, PartialEq, Clone)]
pub(crate) enum Part<'a> {
    /// Has something besides white space in it.
    Text(Cow<'a, str>),
    Image {
        data: &'a str,
        mime: &'a str,
    },
}

/// A piece of what a model has said.
#[derive(Debug, PartialEq)]
pub(crate) enum Said<'a> {
    Text {
        text: Cow<'a, str>,
        /// Only of the same model.
        signature: Option<&'a str>,
    },
    /// Only of the same model, and signed.
    Thinking {
        thinking: Cow<'a, str>,
        signature: &'a str,
        redacted: bool,
    },
    Call {
        id: String,
        name: Cow<'a, str>,
        arguments: &'a Map<String, Value>,
    },
}

#[derive(Debug, PartialEq)]
pub(crate) struct Answered<'a> {
    pub id: String,
    /// Never empty.
    pub parts: Vec<Part<'a>>,
    pub is_error: bool,
}

/// The turns of a conversation: the first and the last are not the model's.
pub(crate) fn turns<'a>(model: &Model, messages: &'a [Message]) -> Vec<Turn<'a>> {
    let mut turns = Vec::with_capacity(messages.len() + 1);
    let mut ids = Ids::default();
    let mut results = Results::default();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::User(user) => {
                let parts = user_parts(model, &user.content);
                if !parts.is_empty() {
                    turns.push(Turn::User(parts));
                }
            }
            Message::Assistant(assistant) => {
                let said = said(model, assistant, &mut ids);
                if said.is_empty() {
                    continue;
                }
                results = Results::after(&messages[at + 1..]);
                let answered = answers(model, assistant, &said, &mut results);
                turns.push(Turn::Assistant(said));
                if !answered.is_empty() {
                    turns.push(Turn::Results(answered));
                }
            }
            Message::ToolResult(result) => {
                if !results.was_used(result) {
                    turns.push(Turn::User(result_of_nothing(model, result)));
                }
            }
        }
    }
    if matches!(turns.first(), Some(Turn::Assistant(_))) {
        turns.insert(0, Turn::User(vec![Part::Text(LEFT_OUT.into())]));
    }
    if matches!(turns.last(), Some(Turn::Assistant(_)) | None) {
        turns.push(Turn::User(vec![Part::Text(CONTINUE.into())]));
    }
    turns
}

fn user_parts<'a>(model: &Model, content: &'a Content) -> Vec<Part<'a>> {
    match content {
        Content::Text(text) => part_of_text(text).into_iter().collect(),
        Content::Blocks(blocks) => parts(model, blocks),
    }
}

fn parts<'a>(model: &Model, blocks: &'a [Block]) -> Vec<Part<'a>> {
    blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => part_of_text(text),
            Block::Image { data, mime_type }
                if model.images && !data.is_empty() && SHOWN.contains(&mime_type.as_str()) =>
            {
                Some(Part::Image {
                    data,
                    mime: mime_type,
                })
            }
            Block::Image { .. } => Some(Part::Text(NO_IMAGES.into())),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Other => None,
        })
        .collect()
}

fn part_of_text(text: &str) -> Option<Part<'_>> {
    (!text.trim().is_empty()).then(|| Part::Text(clean(text)))
}

fn said<'a>(model: &Model, assistant: &'a Assistant, ids: &mut Ids) -> Vec<Said<'a>> {
    let same = assistant.api == model.api.name()
        && assistant.provider == model.provider
        && assistant.model == model.id;
    let whole = match assistant.stop_reason {
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => true,
        StopReason::Error | StopReason::Aborted => false,
    };
    let mut said: Vec<Said<'a>> = Vec::with_capacity(assistant.content.len());
    for block in &assistant.content {
        match block {
            Block::Text {
                text,
                text_signature,
            } => {
                if !text.trim().is_empty() {
                    said.push(Said::Text {
                        text: clean(text),
                        signature: text_signature.as_deref().filter(|_| same && whole),
                    });
                }
            }
            // another's thoughts would be refused, or taken for words that were said
            Block::Thinking {
                thinking,
                thinking_signature,
                redacted,
            } => match thinking_signature.as_deref() {
                Some(signature) if same && whole && !signature.trim().is_empty() => {
                    said.push(Said::Thinking {
                        thinking: clean(thinking),
                        signature,
                        redacted: redacted.unwrap_or(false),
                    });
                }
                Some(_) | None => {}
            },
            Block::ToolCall(call) => said.push(Said::Call {
                id: ids.unique(&call.id),
                name: name(&call.name),
                arguments: &call.arguments,
            }),
            Block::Image { .. } | Block::Other => {}
        }
    }
    // thoughts that led to nothing are taken by no provider
    while matches!(said.last(), Some(Said::Thinking { .. })) {
        said.pop();
    }
    said
}

/// The results of every call in `said`, found in the messages that follow, or said to be missing.
fn answers<'a>(
    model: &Model,
    assistant: &'a Assistant,
    said: &[Said<'a>],
    results: &mut Results<'a>,
) -> Vec<Answered<'a>> {
    let ids = said.iter().filter_map(|said| match said {
        Said::Call { id, .. } => Some(id.clone()),
        Said::Text { .. } | Said::Thinking { .. } => None,
    });
    ids.zip(assistant.tool_calls())
        .map(|(id, call)| match results.take(call) {
            Some(result) => Answered {
                id,
                parts: never_empty(parts(model, &result.content)),
                is_error: result.is_error,
            },
            None => Answered {
                id,
                parts: vec![Part::Text(INTERRUPTED.into())],
                is_error: true,
            },
        })
        .collect()
}

fn never_empty(parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    if parts.is_empty() {
        return vec![Part::Text(NOTHING.into())];
    }
    parts
}

/// A result whose call is not there any more is told as a text.
fn result_of_nothing<'a>(model: &Model, result: &'a ToolResult) -> Vec<Part<'a>> {
    let tool = name(&result.tool_name);
    let mut told = vec![Part::Text(
        format!("(Result of an earlier call of {tool}:)").into(),
    )];
    told.extend(never_empty(parts(model, &result.content)));
    told
}

/// The results between one answer of the model and its next. Ids are compared only there: some
/// servers begin to count anew with every answer.
#[derive(Default)]
struct Results<'a> {
    waiting: Vec<&'a ToolResult>,
    used: Vec<&'a ToolResult>,
}

impl<'a> Results<'a> {
    fn after(messages: &'a [Message]) -> Self {
        let waiting = messages
            .iter()
            .take_while(|message| !matches!(message, Message::Assistant(_)))
            .filter_map(|message| match message {
                Message::ToolResult(result) => Some(result),
                Message::User(_) | Message::Assistant(_) => None,
            })
            .collect();
        Self {
            waiting,
            used: Vec::new(),
        }
    }

    fn take(&mut self, call: &ToolCall) -> Option<&'a ToolResult> {
        let at = self
            .waiting
            .iter()
            .position(|result| result.tool_call_id == call.id)?;
        let result = self.waiting.remove(at);
        self.used.push(result);
        Some(result)
    }

    fn was_used(&self, result: &ToolResult) -> bool {
        self.used.iter().any(|used| std::ptr::eq(*used, result))
    }
}

/// Ids that every provider takes, each once in a conversation.
#[derive(Default)]
struct Ids(HashMap<String, u32>);

impl Ids {
    fn unique(&mut self, id: &str) -> String {
        // what stands behind the bar is the provider's own name of the item
        let id = id.split('|').next().unwrap_or_default();
        let mut id = word(id, LONGEST_ID).into_owned();
        if id.is_empty() {
            id.push_str("call");
        }
        let times = self.0.entry(id.clone()).or_default();
        *times += 1;
        if *times == 1 {
            return id;
        }
        let suffix = format!("_{times}");
        id.truncate(LONGEST_ID - suffix.len().min(LONGEST_ID));
        let id = id + &suffix;
        // the name made here may itself have been given by somebody
        if self.0.contains_key(&id) {
            return self.unique(&id);
        }
        self.0.insert(id.clone(), 1);
        id
    }
}

fn name(name: &str) -> Cow<'_, str> {
    match word(name, LONGEST_NAME) {
        Cow::Borrowed("") => Cow::Borrowed("unknown"),
        word => word,
    }
}

/// Letters, digits, `_` and `-` only.
fn word(text: &str, longest: usize) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.len() <= longest && text.chars().all(fits) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().take(longest);
    Cow::Owned(kept.map(|c| if fits(c) { c } else { '_' }).collect())
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
