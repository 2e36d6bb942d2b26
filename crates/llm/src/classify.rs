//! What a provider's refusal means. Pure.

use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;
use crate::known;
use crate::model::Model;
use crate::request::ToolChoice;
use crate::text::{self, line};

/// The longest message of a provider that is passed on.
const LONGEST: usize = 400;
/// A run of the request of this length, or half as much more, in a provider's message is a piece
/// of the request.
const REPEATED: usize = 24;

/// What was asked, as far as a refusal is understood by it.
pub(crate) struct Asked<'a> {
    pub model: &'a Model,
    pub choice: ToolChoice,
    pub body: &'a [u8],
}

impl Asked<'_> {
    /// The failure that an HTTP status and the text below it mean.
    pub(crate) fn status(
        &self,
        status: u16,
        answer: &[u8],
        retry_after: Option<Duration>,
    ) -> Failure {
        let (kind, message) = explanation(answer);
        self.failure(status, &kind, &message, retry_after)
    }

    /// The failure that a provider tells inside its stream.
    pub(crate) fn fault(&self, kind: &str, message: &str) -> Failure {
        let status = match kind {
            "overloaded_error" => 529,
            "rate_limit_error" | "rate_limit_exceeded" | "429" => 429,
            "authentication_error" | "permission_error" | "invalid_api_key" => 401,
            "not_found_error" | "model_not_found" => 404,
            "invalid_request_error" | "context_length_exceeded" | "exceed_context_size_error" => {
                400
            }
            "request_too_large" => 413,
            "" => 0,
            _ => kind.parse().unwrap_or(500),
        };
        if status == 0 {
            return Failure::Broken {
                provider: self.model.provider.clone(),
                cause: self.safe(message),
                partial: None,
            };
        }
        self.failure(status, kind, message, None)
    }

    fn failure(
        &self,
        status: u16,
        kind: &str,
        message: &str,
        retry_after: Option<Duration>,
    ) -> Failure {
        let provider = self.model.provider.clone();
        let lower = message.to_lowercase();
        let says =
            |words: &[&str]| words.iter().any(|word| lower.contains(word)) || words.contains(&kind);
        let message = self.safe(message);
        let refused = matches!(status, 400..=499);
        if refused
            && says(&[
                "insufficient_quota",
                "credit balance is too low",
                "billing_hard_limit",
            ])
            || status == 402
        {
            return Failure::QuotaExhausted { provider, message };
        }
        if status == 413 || (refused && status != 429 && too_long(kind, &lower)) {
            return Failure::ContextTooLong {
                model: self.model.id.clone(),
                message,
            };
        }
        match status {
            401 | 403 if self.model.key.is_none() => Failure::KeyMissing {
                hint: key_hint(&provider),
                provider,
            },
            401 | 403 => Failure::Unauthorized { provider, message },
            429 => Failure::RateLimited {
                provider,
                retry_after,
                message,
            },
            408 | 409 | 425 | 500 | 502..=504 | 520..=529 => Failure::Overloaded {
                provider,
                status,
                message,
            },
            400 | 404 | 422
                if says(&["model_not_found"])
                    || (lower.contains("model")
                        && says(&["not found", "does not exist", "not_found_error", "unknown model"]))
                    // `model: claude-x`, and nothing else
                    || lower.starts_with("model:") =>
            {
                Failure::ModelUnknown {
                    provider,
                    model: self.model.id.clone(),
                    message,
                }
            }
            400 | 404 | 422 | 501
                if self.choice == ToolChoice::None
                    && (lower.contains("tool_choice") || lower.contains("tool choice")) =>
            {
                Failure::ToolChoiceUnsupported { provider }
            }
            _ => Failure::Status {
                provider,
                status,
                message,
            },
        }
    }

    /// A foreign text on one line, without the key and without what was asked.
    pub(crate) fn safe(&self, message: &str) -> String {
        let message = line(message, LONGEST);
        let message = match &self.model.key {
            Some(key) => without_key(&message, key.expose().trim()),
            None => message,
        };
        if self.repeats(&message) {
            return "(the provider's message repeats the request and is left out)".to_owned();
        }
        message
    }

    /// Whether a piece of what was asked stands in it; the name of the model may.
    fn repeats(&self, message: &str) -> bool {
        let message = message.replace(&self.model.id, "");
        let escaped = crate::body::text(&message);
        let written = escaped.trim_matches('"').as_bytes();
        (0..written.len())
            .step_by(REPEATED / 2)
            .filter_map(|at| written.get(at..at + REPEATED))
            .any(|window| memchr::memmem::find(self.body, window).is_some())
    }
}

/// What is told about a key that is not there.
pub(crate) fn key_hint(provider: &str) -> String {
    match known::key_variable(provider) {
        Some(variable) => format!("set {variable}, or name a key in the settings"),
        None => "name one in the settings".to_owned(),
    }
}

fn too_long(kind: &str, lower: &str) -> bool {
    const WORDS: [&str; 9] = [
        "prompt is too long",
        "context length",
        "context_length",
        "context window",
        "context size",
        "maximum context",
        "too many tokens",
        "input is too long",
        "exceed context limit",
    ];
    kind.starts_with("context_length")
        || kind == "exceed_context_size_error"
        || WORDS.iter().any(|word| lower.contains(word))
}

/// The provider's word and message out of the many shapes of an error.
fn explanation(answer: &[u8]) -> (String, String) {
    let answer = String::from_utf8_lossy(answer);
    let Some(json) = text::json::<Value>(&answer) else {
        // a plain line is an explanation, a page of HTML is not
        let plain = !answer.contains('<') && answer.len() < LONGEST;
        return (
            String::new(),
            if plain {
                answer.into_owned()
            } else {
                String::new()
            },
        );
    };
    // some give a list with one failure in it
    let json = json.get(0).unwrap_or(&json);
    let error = json.get("error").unwrap_or(json);
    let word = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    let kind = match word("code") {
        code if code.is_empty() => word("type"),
        code => code,
    };
    let message = error
        .as_str()
        .or_else(|| error["message"].as_str())
        .or_else(|| json["message"].as_str())
        .or_else(|| json["detail"].as_str())
        .or_else(|| json["detail"][0]["msg"].as_str())
        .unwrap_or_default();
    (kind, message.to_owned())
}

/// The key, and the ends of it that some providers show, taken out.
fn without_key(message: &str, key: &str) -> String {
    if key.is_empty() {
        return message.to_owned();
    }
    let mut message = message.replace(key, "…");
    let ends = |n: usize| {
        let end = key.char_indices().rev().nth(n - 1).map_or(0, |(at, _)| at);
        let start = key.char_indices().nth(n).map_or(key.len(), |(at, _)| at);
        [&key[..start], &key[end..]]
    };
    if key.chars().count() >= 16 {
        for piece in ends(8).into_iter().chain(ends(4).into_iter().skip(1)) {
            message = message.replace(piece, "…");
        }
    }
    message
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
