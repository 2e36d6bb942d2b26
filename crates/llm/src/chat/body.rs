//! The body of `POST /v1/chat/completions`.
//!
//! What only OpenAI itself knows is sent only there: other servers refuse fields they do not
//! know. Messages of a person that follow each other become one, since the templates of many
//! models take no two of them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::THOUGHTS;
use crate::history::{Answered, Part, Said, Turn, turns};
use crate::known;
use crate::model::Model;
use crate::request::{Request, ToolChoice};
use crate::text::clean;

/// What a result says whose images follow.
const IMAGES_FOLLOW: &str = "(The image follows.)";
const IMAGES: &str = "(Images of the results above:)";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    r#type: &'static str,
    function: FunctionEntry<'a>,
}

#[derive(Serialize)]
struct FunctionEntry<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Entry<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        #[serde(serialize_with = "told")]
        content: Vec<Part<'a>>,
    },
    Assistant {
        /// Null where there are only calls.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_text: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    /// JSON within JSON.
    arguments: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

/// Everything the provider is sent.
pub(crate) fn body(model: &Model, request: &Request<'_>) -> Vec<u8> {
    let openai = model.base_url.starts_with(known::OPENAI_URL);
    let most = request.max_output.max(1);
    let tools = request.tools.iter().map(|tool| ToolEntry {
        r#type: "function",
        function: FunctionEntry {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        },
    });
    let effort = || known::effort(&model.id, request.thinking);
    let body = Body {
        model: &model.id,
        messages: messages(model, request),
        tools: tools.collect(),
        tool_choice: (!request.tools.is_empty()).then_some(match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        }),
        reasoning_effort: model.thinks.then(effort).flatten(),
        max_tokens: (!openai).then_some(most),
        max_completion_tokens: openai.then_some(most),
        prompt_cache_key: (openai && !request.session.is_empty()).then_some(request.session),
        store: openai.then_some(false),
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
    };
    crate::body::bytes(&body)
}

fn messages<'a>(model: &Model, request: &Request<'a>) -> Vec<Entry<'a>> {
    let system = clean(request.system);
    let mut entries = Vec::new();
    if !system.trim().is_empty() {
        entries.push(Entry::System { content: system });
    }
    for turn in turns(model, request.messages) {
        match turn {
            Turn::User(parts) => tell(&mut entries, parts),
            Turn::Assistant(said) => entries.push(assistant(said)),
            Turn::Results(results) => {
                let mut images = Vec::new();
                for result in results {
                    entries.push(answer(result, &mut images));
                }
                if !images.is_empty() {
                    images.insert(0, Part::Text(IMAGES.into()));
                    tell(&mut entries, images);
                }
            }
        }
    }
    entries
}

fn tell<'a>(entries: &mut Vec<Entry<'a>>, parts: Vec<Part<'a>>) {
    if let Some(Entry::User { content }) = entries.last_mut() {
        content.extend(parts);
    } else {
        entries.push(Entry::User { content: parts });
    }
}

fn assistant(said: Vec<Said<'_>>) -> Entry<'_> {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut tool_calls = Vec::new();
    let mut thoughts: [Option<String>; 3] = [const { None }; 3];
    for said in said {
        match said {
            Said::Text { text, .. } => texts.push(text),
            Said::Thinking {
                thinking,
                signature,
                ..
            } => {
                if let Some(field) = THOUGHTS.iter().position(|name| *name == signature) {
                    let thought = thoughts[field].get_or_insert_default();
                    if !thought.is_empty() {
                        thought.push('\n');
                    }
                    thought.push_str(&thinking);
                }
            }
            Said::Call {
                id,
                name,
                arguments,
            } => tool_calls.push(Call {
                id,
                r#type: "function",
                function: Function {
                    name,
                    arguments: crate::body::text(arguments),
                },
            }),
        }
    }
    let [reasoning_content, reasoning, reasoning_text] = thoughts;
    Entry::Assistant {
        content: joined(texts),
        reasoning_content,
        reasoning,
        reasoning_text,
        tool_calls,
    }
}

/// A result is one text here; its images are shown behind all results.
fn answer<'a>(result: Answered<'a>, images: &mut Vec<Part<'a>>) -> Entry<'a> {
    let mut texts = Vec::new();
    for part in result.parts {
        match part {
            Part::Text(text) => texts.push(text),
            image @ Part::Image { .. } => images.push(image),
        }
    }
    Entry::Tool {
        tool_call_id: result.id,
        content: joined(texts).unwrap_or(Cow::Borrowed(IMAGES_FOLLOW)),
    }
}

fn joined(mut texts: Vec<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    if texts.len() > 1 {
        return Some(texts.join("\n").into());
    }
    texts.pop()
}

/// One text where there are only texts: not every server takes a list.
fn told<S: Serializer>(parts: &[Part<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_ref()),
            Part::Image { .. } => None,
        })
        .collect();
    if texts.len() == parts.len() {
        if let [text] = texts.as_slice() {
            return serializer.serialize_str(text);
        }
        return serializer.serialize_str(&texts.join("\n\n"));
    }
    serializer.collect_seq(parts.iter().map(|part| match part {
        Part::Text(text) => Piece::Text { text },
        Part::Image { data, mime } => Piece::ImageUrl {
            image_url: Url {
                url: format!("data:{mime};base64,{data}"),
            },
        },
    }))
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
