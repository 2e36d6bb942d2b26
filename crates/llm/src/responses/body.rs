//! The body of `POST /v1/responses`. Nothing is kept at the provider: every request carries the
//! whole conversation, and thoughts travel encrypted.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::history::{Answered, Part, Said, Turn, turns};
use crate::known;
use crate::model::Model;
use crate::request::{Request, ToolChoice};
use crate::text::clean;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: Cow<'a, str>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Piece<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    Reasoning {
        summary: Box<RawValue>,
        encrypted_content: String,
    },
    FunctionCall {
        call_id: String,
        name: Cow<'a, str>,
        /// JSON within JSON.
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        detail: &'static str,
        image_url: String,
    },
    OutputText {
        text: Cow<'a, str>,
    },
}

/// Thoughts as the provider gave them.
#[derive(Deserialize)]
struct Kept {
    summary: Option<Box<RawValue>>,
    encrypted_content: Option<String>,
}

/// What is kept of a text beside it.
#[derive(Deserialize)]
struct Signature {
    phase: Option<String>,
}

/// The longest name of a conversation that is taken.
const LONGEST_KEY: usize = 64;

/// Everything the provider is sent.
pub(crate) fn body(model: &Model, request: &Request<'_>) -> Vec<u8> {
    let tools = request.tools.iter().map(|tool| ToolEntry {
        r#type: "function",
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict: false,
    });
    let effort = || known::effort(&model.id, request.thinking);
    let reasoning = model.thinks.then(effort).flatten().map(|effort| Reasoning {
        effort,
        summary: (effort != "none").then_some("auto"),
    });
    let key = match request.session.char_indices().nth(LONGEST_KEY) {
        Some((at, _)) => &request.session[..at],
        None => request.session,
    };
    let body = Body {
        model: &model.id,
        instructions: clean(request.system),
        input: turns(model, request.messages)
            .into_iter()
            .flat_map(items)
            .collect(),
        tools: tools.collect(),
        tool_choice: (!request.tools.is_empty()).then_some(match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        }),
        reasoning,
        include: model.thinks.then_some(["reasoning.encrypted_content"]),
        max_output_tokens: request.max_output.max(16),
        prompt_cache_key: (!key.is_empty()).then_some(key),
        store: false,
        stream: true,
    };
    crate::body::bytes(&body)
}

fn items(turn: Turn<'_>) -> Vec<Item<'_>> {
    match turn {
        Turn::User(parts) => vec![Item::Message {
            role: "user",
            content: parts.into_iter().map(piece).collect(),
            phase: None,
        }],
        Turn::Assistant(said) => said.into_iter().filter_map(said_item).collect(),
        Turn::Results(results) => results.into_iter().map(result).collect(),
    }
}

fn piece(part: Part<'_>) -> Piece<'_> {
    match part {
        Part::Text(text) => Piece::InputText { text },
        Part::Image { data, mime } => Piece::InputImage {
            detail: "auto",
            image_url: format!("data:{mime};base64,{data}"),
        },
    }
}

fn said_item(said: Said<'_>) -> Option<Item<'_>> {
    Some(match said {
        Said::Text { text, signature } => Item::Message {
            role: "assistant",
            content: vec![Piece::OutputText { text }],
            phase: signature
                .and_then(|json| serde_json::from_str::<Signature>(json).ok())
                .and_then(|signature| signature.phase),
        },
        Said::Thinking { signature, .. } => {
            let kept: Kept = serde_json::from_str(signature).ok()?;
            Item::Reasoning {
                summary: kept.summary?,
                encrypted_content: kept.encrypted_content?,
            }
        }
        Said::Call {
            id,
            name,
            arguments,
        } => Item::FunctionCall {
            call_id: id,
            name,
            arguments: crate::body::text(arguments),
        },
    })
}

fn result(mut answered: Answered<'_>) -> Item<'_> {
    let output = match answered.parts.as_mut_slice() {
        [Part::Text(text)] => Output::Text(std::mem::take(text)),
        _ => Output::Pieces(answered.parts.into_iter().map(piece).collect()),
    };
    Item::FunctionCallOutput {
        call_id: answered.id,
        output,
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
