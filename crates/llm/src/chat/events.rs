//! The events of an answer of `/v1/chat/completions`.

use serde::Deserialize;
use serde_json::Value;

use super::THOUGHTS;
use crate::answer::{Answer, Delta, Fault};
use crate::message::StopReason;
use crate::reading::Step;
use crate::sse::Event;
use crate::text;

/// Blocks have no numbers here: a new one begins where the kind changes.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    next: u64,
    open: Option<(Kind, u64)>,
    calls: Vec<Started>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
}

#[derive(Debug)]
struct Started {
    index: Option<u64>,
    id: String,
    key: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Wire {
    id: Option<String>,
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
    /// llama.cpp puts the failure itself where others put it under a name.
    message: Option<String>,
    code: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Choice {
    delta: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Said {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_text: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl Reader {
    pub(crate) fn event(
        &mut self,
        event: &Event,
        answer: &mut Answer,
        on: &mut dyn FnMut(Delta),
    ) -> Result<Step, Fault> {
        if event.data.trim() == "[DONE]" {
            return Ok(Step::Done);
        }
        let Some(wire) = text::json::<Wire>(&event.data) else {
            return Ok(Step::More);
        };
        if event.name == "error" || wire.error.is_some() {
            return Err(fault(&wire));
        }
        if answer.id.is_none() {
            answer.id = wire.id;
        }
        if let Some(tokens) = wire.usage {
            count(answer, &tokens);
        }
        if let Some(choice) = wire.choices.into_iter().next() {
            if let Some(said) = choice.delta {
                self.said(said, answer, on);
            }
            if let Some(reason) = choice.finish_reason {
                stop(answer, &reason);
            }
        }
        Ok(Step::More)
    }

    fn said(&mut self, said: Said, answer: &mut Answer, on: &mut dyn FnMut(Delta)) {
        // a server that gives the same thoughts under two names means them once
        let thoughts = [said.reasoning_content, said.reasoning, said.reasoning_text];
        let thought = THOUGHTS
            .iter()
            .zip(thoughts)
            .filter_map(|(field, thought)| Some((*field, thought?)))
            .find(|(_, thought)| !thought.is_empty());
        if let Some((field, thought)) = thought {
            let key = self.key(Kind::Thinking);
            let new = !answer.has(key);
            answer.thinking(key, &thought, on);
            if new {
                answer.thinking_signature(key, field);
            }
        }
        for text in [said.content, said.refusal].into_iter().flatten() {
            if !text.is_empty() {
                answer.text(self.key(Kind::Text), &text, on);
            }
        }
        for call in said.tool_calls.into_iter().flatten() {
            self.call(call, answer, on);
        }
    }

    fn key(&mut self, kind: Kind) -> u64 {
        match self.open {
            Some((open, key)) if open == kind => key,
            Some(_) | None => {
                let key = self.take_key();
                self.open = Some((kind, key));
                key
            }
        }
    }

    fn take_key(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn call(&mut self, call: Call, answer: &mut Answer, on: &mut dyn FnMut(Delta)) {
        let function = call.function.unwrap_or_default();
        let id = call.id.filter(|id| !id.is_empty());
        // some servers give every call the same number, others none
        let known = self
            .calls
            .iter()
            .rev()
            .find(|started| match (&id, call.index) {
                (Some(id), _) => started.id == *id,
                (None, Some(index)) => started.index == Some(index),
                (None, None) => true,
            });
        let key = match known {
            Some(started) => started.key,
            None => {
                let Some(name) = function.name.filter(|name| !name.is_empty()) else {
                    return;
                };
                let key = self.take_key();
                let id = id.unwrap_or_else(|| format!("call_{key}"));
                self.open = None;
                answer.call(key, &id, &name, on);
                self.calls.push(Started {
                    index: call.index,
                    id,
                    key,
                });
                key
            }
        };
        match function.arguments {
            Some(Value::String(piece)) => answer.arguments(key, &piece, on),
            Some(object @ Value::Object(_)) => answer.arguments(key, &object.to_string(), on),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {}
        }
    }
}

fn count(answer: &mut Answer, tokens: &Tokens) {
    let details = tokens.prompt_tokens_details.as_ref();
    let read = details
        .and_then(|details| details.cached_tokens)
        .or(tokens.prompt_cache_hit_tokens)
        .unwrap_or(0);
    let written = details.and_then(|d| d.cache_write_tokens).unwrap_or(0);
    let usage = &mut answer.usage;
    usage.input = tokens
        .prompt_tokens
        .unwrap_or(0)
        .saturating_sub(read.saturating_add(written));
    usage.output = tokens.completion_tokens.unwrap_or(0);
    usage.cache_read = read;
    usage.cache_write = written;
}

fn stop(answer: &mut Answer, reason: &str) {
    answer.all_calls_done();
    answer.stop = Some(match reason {
        "length" => StopReason::Length,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => {
            answer.error = Some("the provider's filter cut the answer off".to_owned());
            StopReason::Error
        }
        _ => StopReason::Stop,
    });
}

fn fault(wire: &Wire) -> Fault {
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
            String::new()
        }
    };
    match &wire.error {
        Some(Value::Object(error)) => {
            let kind = text(error.get("code"));
            Fault {
                kind: if kind.is_empty() {
                    text(error.get("type"))
                } else {
                    kind
                },
                message: text(error.get("message")),
            }
        }
        Some(other) => Fault {
            kind: String::new(),
            message: text(Some(other)),
        },
        None => Fault {
            kind: text(wire.code.as_ref()),
            message: wire.message.clone().unwrap_or_default(),
        },
    }
}
