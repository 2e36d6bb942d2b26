//! The events of an answer of `/v1/responses`.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, Delta, Fault};
use crate::message::StopReason;
use crate::reading::Step;
use crate::sse::Event;
use crate::text;

#[derive(Debug, Default)]
pub(crate) struct Reader;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Wire {
    r#type: String,
    output_index: u64,
    summary_index: u64,
    item: Option<Value>,
    delta: Option<String>,
    arguments: Option<String>,
    response: Option<Response>,
    error: Option<WireError>,
    code: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Response {
    id: Option<String>,
    usage: Option<Tokens>,
    error: Option<WireError>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireError {
    code: Option<String>,
    r#type: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
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
        let key = wire.output_index;
        let delta = wire.delta.as_deref().unwrap_or_default();
        match wire.r#type.as_str() {
            "response.created" => answer.id = wire.response.and_then(|response| response.id),
            "response.output_item.added" => {
                if let Some(item) = wire.item
                    && item["type"] == "function_call"
                {
                    answer.call(key, &call_id(&item), string(&item, "name"), on);
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => answer.text(key, delta, on),
            "response.reasoning_summary_part.added" if wire.summary_index > 0 => {
                answer.thinking(key, "\n\n", on);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                answer.thinking(key, delta, on);
            }
            "response.function_call_arguments.delta" => answer.arguments(key, delta, on),
            "response.function_call_arguments.done" => {
                answer.call_done(key, wire.arguments.as_deref());
            }
            "response.output_item.done" => {
                if let Some(item) = wire.item {
                    item_done(key, &item, answer, on);
                }
            }
            "response.completed" | "response.done" | "response.incomplete" => {
                completed(wire.response.unwrap_or_default(), answer);
                return Ok(Step::Done);
            }
            "response.failed" => {
                let error = wire.response.and_then(|response| response.error);
                return Err(fault(error.unwrap_or_default()));
            }
            "error" => {
                return Err(fault(wire.error.unwrap_or(WireError {
                    code: wire.code,
                    r#type: None,
                    message: wire.message,
                })));
            }
            _ => {}
        }
        Ok(Step::More)
    }
}

fn string<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

/// The call's id and the item's, as session files keep both.
fn call_id(item: &Value) -> String {
    let (call, id) = (string(item, "call_id"), string(item, "id"));
    if id.is_empty() {
        return call.to_owned();
    }
    format!("{call}|{id}")
}

fn item_done(key: u64, item: &Value, answer: &mut Answer, on: &mut dyn FnMut(Delta)) {
    match string(item, "type") {
        "function_call" => {
            answer.call(key, &call_id(item), string(item, "name"), on);
            answer.call_done(key, item["arguments"].as_str());
        }
        "message" => {
            if !answer.has(key) {
                // a server that sends no pieces
                let parts = item["content"].as_array().into_iter().flatten();
                for part in parts {
                    answer.text(key, string(part, "text"), on);
                }
            }
            let mut signature = json!({"v": 1, "id": string(item, "id")});
            if let Some(phase) = item["phase"].as_str() {
                signature["phase"] = json!(phase);
            }
            answer.text_signature(key, signature.to_string());
        }
        "reasoning" => {
            if !answer.has(key) {
                answer.thinking(key, "", on);
            }
            answer.thinking_signature(key, &item.to_string());
        }
        _ => {}
    }
}

fn completed(response: Response, answer: &mut Answer) {
    if response.id.is_some() {
        answer.id = response.id;
    }
    if let Some(tokens) = response.usage {
        let read = tokens
            .input_tokens_details
            .and_then(|details| details.cached_tokens)
            .unwrap_or(0);
        answer.usage.input = tokens.input_tokens.unwrap_or(0).saturating_sub(read);
        answer.usage.cache_read = read;
        answer.usage.output = tokens.output_tokens.unwrap_or(0);
    }
    let reason = response.incomplete_details.and_then(|d| d.reason);
    answer.stop = Some(match reason.as_deref() {
        Some("content_filter") => {
            answer.error = Some("the provider's filter cut the answer off".to_owned());
            StopReason::Error
        }
        Some(_) => StopReason::Length,
        None => StopReason::Stop,
    });
}

fn fault(error: WireError) -> Fault {
    Fault {
        kind: error.code.or(error.r#type).unwrap_or_default(),
        message: error.message.unwrap_or_default(),
    }
}
