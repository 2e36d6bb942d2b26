//! The body and the address of a request, by protocol. Pure: the same question gives the same
//! bytes, and a longer conversation begins with the bytes of the shorter one.

use serde::Serialize;

use crate::model::{Api, Model};
use crate::request::Request;
use crate::{anthropic, chat, responses};

/// The body of a request, as JSON.
pub fn body(model: &Model, request: &Request<'_>) -> Vec<u8> {
    match model.api {
        Api::AnthropicMessages => anthropic::body(model, request),
        Api::OpenAiResponses => responses::body(model, request),
        Api::OpenAiCompletions => chat::body(model, request),
    }
}

/// Where it is sent. A base without `/v1` gets one, so that `http://127.0.0.1:11434` works.
pub fn address(model: &Model) -> String {
    let base = model.base_url.trim_end_matches('/');
    let path = match model.api {
        Api::AnthropicMessages => "messages",
        Api::OpenAiResponses => "responses",
        Api::OpenAiCompletions => "chat/completions",
    };
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    let bare = match model.api {
        Api::AnthropicMessages => !base.ends_with("/v1"),
        Api::OpenAiResponses | Api::OpenAiCompletions => !rest.contains('/'),
    };
    let version = if bare { "/v1" } else { "" };
    format!("{base}{version}/{path}")
}

/// Bodies hold texts, numbers and maps with texts as keys: writing them to memory cannot fail.
pub(crate) fn bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

/// JSON that is itself a text of a body.
pub(crate) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_made_of_whatever_base_people_write() {
        use Api::{AnthropicMessages as A, OpenAiCompletions as C, OpenAiResponses as R};
        for (api, base, expected) in [
            (
                A,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                A,
                "http://127.0.0.1:1/x/",
                "http://127.0.0.1:1/x/v1/messages",
            ),
            (A, "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/messages"),
            (
                R,
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/responses",
            ),
            (
                C,
                "http://127.0.0.1:11434",
                "http://127.0.0.1:11434/v1/chat/completions",
            ),
            (
                C,
                "http://127.0.0.1:11434/",
                "http://127.0.0.1:11434/v1/chat/completions",
            ),
            (
                C,
                "https://openrouter.ai/api/v1",
                "https://openrouter.ai/api/v1/chat/completions",
            ),
            (
                C,
                "https://x.test/openai",
                "https://x.test/openai/chat/completions",
            ),
        ] {
            let model = Model {
                base_url: base.into(),
                api,
                ..crate::known::model("x", api, "m")
            };
            assert_eq!(address(&model), expected);
        }
    }
}
