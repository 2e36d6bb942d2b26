//! Which model is asked, where, and with whose key.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The protocol of a provider, by its name in session files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Api {
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Chat completions, as llama.cpp, Ollama, vLLM and OpenRouter speak them.
    #[serde(rename = "openai-completions")]
    OpenAiCompletions,
}

/// How long a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

/// A key. It shows itself to nobody: neither `Debug` nor `Display` prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The provider's name, as the person knows it and as it stands in session files.
    pub provider: String,
    pub api: Api,
    pub id: String,
    /// Without a slash at its end; the path of the protocol is added to it.
    pub base_url: String,
    /// `None`: a server of one's own that wants none.
    pub key: Option<Secret>,
    /// How many tokens the context holds.
    pub window: u64,
    /// How many tokens one answer may have.
    pub max_output: u64,
    /// Whether it can be asked to think.
    pub thinks: bool,
    /// Whether it can be shown images; where it cannot, a line of text stands for each.
    pub images: bool,
    pub prices: Prices,
}

/// Dollars for a million tokens. Zero: not known, or free.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

impl Api {
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiCompletions => "openai-completions",
        }
    }
}

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// For the header of a request, and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Secret::new("sk-very-secret");
        assert_eq!(format!("{key:?}"), "Secret(…)");
        assert_eq!(key.expose(), "sk-very-secret");
    }
}
