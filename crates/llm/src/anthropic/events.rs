//! The events of an answer of `/v1/messages`.

use serde::Deserialize;

use crate::answer::{Answer, Delta, Fault};
use crate::message::StopReason;
use crate::reading::Step;
use crate::sse::Event;
use crate::text;

#[derive(Debug, Default)]
pub(crate) struct Reader;

/// What an event may hold; which of it is there depends on its type.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Wire {
    r#type: String,
    index: u64,
    message: Option<Start>,
    content_block: Option<Opened>,
    delta: Option<Change>,
    usage: Option<Tokens>,
    error: Option<WireError>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Start {
    id: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Opened {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Change {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireError {
    r#type: String,
    message: String,
}

impl Reader {
    pub(crate) fn event(
        &mut self,
        event: &Event,
        answer: &mut Answer,
        on: &mut dyn FnMut(Delta),
    ) -> Result<Step, Fault> {
        let Some(wire) = text::json::<Wire>(&event.data) else {
            return Ok(Step::More);
        };
        let key = wire.index;
        match wire.r#type.as_str() {
            "message_start" => {
                if let Some(start) = wire.message {
                    answer.id = start.id;
                    count(answer, start.usage);
                }
            }
            "content_block_start" => open(key, wire.content_block, answer, on),
            "content_block_delta" => change(key, wire.delta, answer, on),
            "content_block_stop" => answer.call_done(key, None),
            "message_delta" => {
                count(answer, wire.usage);
                if let Some(reason) = wire.delta.and_then(|delta| delta.stop_reason) {
                    stop(answer, &reason);
                }
            }
            "message_stop" => return Ok(Step::Done),
            "error" => {
                let error = wire.error.unwrap_or_default();
                return Err(Fault {
                    kind: error.r#type,
                    message: error.message,
                });
            }
            // `ping`, and what there may be one day
            _ => {}
        }
        Ok(Step::More)
    }
}

fn open(key: u64, block: Option<Opened>, answer: &mut Answer, on: &mut dyn FnMut(Delta)) {
    let Some(block) = block else { return };
    match block.r#type.as_str() {
        "text" => answer.text(key, &block.text.unwrap_or_default(), on),
        "thinking" => {
            answer.thinking(key, &block.thinking.unwrap_or_default(), on);
            answer.thinking_signature(key, &block.signature.unwrap_or_default());
        }
        "redacted_thinking" => answer.redacted(key, &block.data.unwrap_or_default()),
        "tool_use" => {
            let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
            answer.call(key, &id, &name, on);
            // a proxy may give the arguments at once
            if let Some(serde_json::Value::Object(input)) = block.input
                && !input.is_empty()
            {
                answer.arguments(key, &serde_json::Value::Object(input).to_string(), on);
            }
        }
        _ => {}
    }
}

fn change(key: u64, delta: Option<Change>, answer: &mut Answer, on: &mut dyn FnMut(Delta)) {
    let Some(delta) = delta else { return };
    match delta.r#type.as_str() {
        "text_delta" => answer.text(key, &delta.text.unwrap_or_default(), on),
        "thinking_delta" => answer.thinking(key, &delta.thinking.unwrap_or_default(), on),
        "signature_delta" => answer.thinking_signature(key, &delta.signature.unwrap_or_default()),
        "input_json_delta" => answer.arguments(key, &delta.partial_json.unwrap_or_default(), on),
        _ => {}
    }
}

/// Later numbers replace earlier ones: they count from the beginning.
fn count(answer: &mut Answer, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let usage = &mut answer.usage;
    for (counted, said) in [
        (&mut usage.input, tokens.input_tokens),
        (&mut usage.output, tokens.output_tokens),
        (&mut usage.cache_read, tokens.cache_read_input_tokens),
        (&mut usage.cache_write, tokens.cache_creation_input_tokens),
    ] {
        if let Some(said) = said {
            *counted = said;
        }
    }
}

fn stop(answer: &mut Answer, reason: &str) {
    answer.stop = Some(match reason {
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "tool_use" => StopReason::ToolUse,
        "refusal" => {
            answer.error = Some("the model refused to answer".to_owned());
            StopReason::Error
        }
        // `end_turn`, `stop_sequence`, `pause_turn`, and what there may be one day
        _ => StopReason::Stop,
    });
}
