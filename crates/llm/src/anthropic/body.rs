//! The body of `POST /v1/messages`.
//!
//! A provider finds what it has in its cache by the bytes before a mark, and looks back a few
//! blocks from each. So a request marks its end, and one more place where it is far from there to
//! the end of the request before it.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::history::{Answered, Part, Said, Turn, turns};
use crate::known::Claude;
use crate::model::{Model, Thinking};
use crate::request::{Request, ToolChoice};
use crate::text::clean;

/// How many blocks before a mark are looked up in the cache; kept below what is documented.
const LOOKED_BACK: usize = 18;
/// The least budget for thoughts that is taken.
const LEAST_BUDGET: u64 = 1024;
/// Left for the answer itself.
const LEFT_FOR_ANSWER: u64 = 1024;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Piece<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Typed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
    messages: Vec<Entry<'a>>,
    stream: bool,
}

#[derive(Serialize)]
struct Typed {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Metadata<'a> {
    user_id: &'a str,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ThinkingEntry {
    Enabled { budget_tokens: u64 },
    Adaptive { display: &'static str },
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct Entry<'a> {
    role: &'static str,
    content: Vec<Piece<'a>>,
}

#[derive(Serialize)]
struct Piece<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Typed>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: std::borrow::Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: std::borrow::Cow<'a, str>,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: std::borrow::Cow<'a, str>,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Piece<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// Everything the provider is sent.
pub(crate) fn body(model: &Model, request: &Request<'_>) -> Vec<u8> {
    let mut messages: Vec<Entry<'_>> = turns(model, request.messages)
        .into_iter()
        .map(entry)
        .collect();
    mark(&mut messages);
    let system = clean(request.system);
    let system = (!system.trim().is_empty()).then_some(Piece {
        kind: Kind::Text { text: system },
        cache_control: Some(EPHEMERAL),
    });
    let (thinking, output_config) = thinking(model, request);
    let any = json!({"type": "object"});
    let mut tools: Vec<ToolEntry<'_>> = request
        .tools
        .iter()
        .map(|tool| ToolEntry {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.parameters,
        })
        .collect();
    let called = |piece: &Piece<'_>| matches!(piece.kind, Kind::ToolUse { .. });
    let mut choice = request.tool_choice;
    if tools.is_empty()
        && messages
            .iter()
            .any(|entry| entry.content.iter().any(called))
    {
        // calls are taken only beside a list of tools
        choice = ToolChoice::None;
        tools.push(ToolEntry {
            name: "unavailable",
            description: "Stands for the tools of before, none of which can be called now.",
            input_schema: &any,
        });
    }
    let body = Body {
        model: &model.id,
        max_tokens: request.max_output.max(1),
        system: system.into_iter().collect(),
        tool_choice: (!tools.is_empty()).then_some(match choice {
            ToolChoice::Auto => Typed { r#type: "auto" },
            ToolChoice::None => Typed { r#type: "none" },
        }),
        tools,
        thinking,
        output_config,
        metadata: (!request.session.is_empty()).then_some(Metadata {
            user_id: request.session,
        }),
        messages,
        stream: true,
    };
    crate::body::bytes(&body)
}

/// Whether thoughts between calls of tools have to be asked for with a header.
pub(crate) fn interleaves(model: &Model, request: &Request<'_>) -> bool {
    matches!(
        thinking(model, request).0,
        Some(ThinkingEntry::Enabled { .. })
    )
}

const EPHEMERAL: Typed = Typed {
    r#type: "ephemeral",
};

fn thinking(model: &Model, request: &Request<'_>) -> (Option<ThinkingEntry>, Option<OutputConfig>) {
    if !model.thinks {
        return (None, None);
    }
    let claude = Claude::of(&model.id);
    let (effort, budget) = match request.thinking {
        Thinking::Off => return (None, None),
        Thinking::Minimal => ("low", 1024),
        Thinking::Low => ("low", 4096),
        Thinking::Medium => ("medium", 10_240),
        Thinking::High => ("high", 20_480),
        Thinking::Xhigh => (claude.highest_effort(), 32_768),
    };
    if claude.decides_itself() {
        let display = "summarized";
        return (
            Some(ThinkingEntry::Adaptive { display }),
            Some(OutputConfig { effort }),
        );
    }
    let most = request.max_output.saturating_sub(LEFT_FOR_ANSWER);
    if most < LEAST_BUDGET {
        return (None, None);
    }
    let budget_tokens = budget.min(most);
    (Some(ThinkingEntry::Enabled { budget_tokens }), None)
}

fn entry(turn: Turn<'_>) -> Entry<'_> {
    match turn {
        Turn::User(parts) => Entry {
            role: "user",
            content: parts.into_iter().map(piece).collect(),
        },
        Turn::Assistant(said) => Entry {
            role: "assistant",
            content: said.into_iter().map(said_piece).collect(),
        },
        Turn::Results(results) => Entry {
            role: "user",
            content: results.into_iter().map(result).collect(),
        },
    }
}

fn plain(kind: Kind<'_>) -> Piece<'_> {
    Piece {
        kind,
        cache_control: None,
    }
}

fn piece(part: Part<'_>) -> Piece<'_> {
    plain(match part {
        Part::Text(text) => Kind::Text { text },
        Part::Image { data, mime } => Kind::Image {
            source: Source {
                r#type: "base64",
                media_type: mime,
                data,
            },
        },
    })
}

fn said_piece(said: Said<'_>) -> Piece<'_> {
    plain(match said {
        Said::Text { text, .. } => Kind::Text { text },
        Said::Thinking {
            signature,
            redacted: true,
            ..
        } => Kind::RedactedThinking { data: signature },
        Said::Thinking {
            thinking,
            signature,
            redacted: false,
        } => Kind::Thinking {
            thinking,
            signature,
        },
        Said::Call {
            id,
            name,
            arguments,
            ..
        } => Kind::ToolUse {
            id,
            name,
            input: arguments,
        },
    })
}

fn result(answered: Answered<'_>) -> Piece<'_> {
    // an error may hold nothing but texts
    let texts = |part: &Part<'_>| matches!(part, Part::Text(_));
    let is_error = answered.is_error && answered.parts.iter().all(texts);
    plain(Kind::ToolResult {
        tool_use_id: answered.id,
        content: answered.parts.into_iter().map(piece).collect(),
        is_error,
    })
}

/// Marks the last two blocks that can bear one, and the end of the request before this one where
/// the provider would not find it from there.
fn mark(messages: &mut [Entry<'_>]) {
    let mut last = Vec::new();
    let mut seen = 0;
    let mut before = None;
    let mut answered = false;
    for (at, entry) in messages.iter().enumerate().rev() {
        answered |= entry.role == "assistant";
        if answered && entry.role == "user" && before.is_none() {
            let bearer = (0..entry.content.len())
                .rev()
                .find(|i| bears(&entry.content[*i]));
            before = bearer.map(|i| (at, i, seen));
        }
        for (i, piece) in entry.content.iter().enumerate().rev() {
            seen += 1;
            if last.len() < 2 && bears(piece) {
                last.push((at, i));
            }
        }
        if last.len() == 2 && (before.is_some() || seen > 4096) {
            break;
        }
    }
    if let Some((at, i, far)) = before
        && far > LOOKED_BACK
    {
        last.push((at, i));
    }
    for (at, i) in last {
        messages[at].content[i].cache_control = Some(EPHEMERAL);
    }
}

fn bears(piece: &Piece<'_>) -> bool {
    match piece.kind {
        Kind::Text { .. } | Kind::Image { .. } | Kind::ToolUse { .. } | Kind::ToolResult { .. } => {
            true
        }
        Kind::Thinking { .. } | Kind::RedactedThinking { .. } => false,
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
