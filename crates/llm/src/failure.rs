//! Why a model gave no answer, in words that name the cause and the next step.
//!
//! No text here ever holds a key or a piece of what was asked: it is shown, logged and kept in
//! session files.

use std::time::Duration;

use crate::message::Assistant;

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The caller has ended it. Not an error, but an outcome.
    #[error("cancelled")]
    Cancelled {
        /// What had come in by then.
        partial: Option<Box<Assistant>>,
    },
    #[error("no key for {provider}: {hint}")]
    KeyMissing { provider: String, hint: String },
    #[error("{provider} does not accept the key{}", because(.message))]
    Unauthorized { provider: String, message: String },
    #[error("{provider} has no model {model}{}", because(.message))]
    ModelUnknown {
        provider: String,
        model: String,
        message: String,
    },
    #[error("{provider} limits the rate of requests: {}{}", when(.retry_after), because(.message))]
    RateLimited {
        provider: String,
        retry_after: Option<Duration>,
        message: String,
    },
    /// Waiting does not help.
    #[error("the credit at {provider} is used up{}", because(.message))]
    QuotaExhausted { provider: String, message: String },
    #[error("the conversation is longer than the context of {model}{}", because(.message))]
    ContextTooLong { model: String, message: String },
    /// To be asked once more with [`crate::ToolChoice::Auto`].
    #[error("{provider} takes no tool_choice")]
    ToolChoiceUnsupported { provider: String },
    #[error("{provider} cannot answer now ({status}){}", because(.message))]
    Overloaded {
        provider: String,
        status: u16,
        message: String,
    },
    #[error("{provider} refuses the request ({status}){}", because(.message))]
    Status {
        provider: String,
        status: u16,
        message: String,
    },
    /// The provider was not reached, or did not answer.
    #[error("{url}: {cause}")]
    Transport { url: String, cause: String },
    #[error("no whole answer after {}{}", seconds(.after), because(.cause))]
    Deadline {
        after: Duration,
        /// Why the attempt before was given up.
        cause: String,
        partial: Option<Box<Assistant>>,
    },
    /// The answer was cut off in its middle.
    #[error("the answer of {provider} broke off{}", because(.cause))]
    Broken {
        provider: String,
        cause: String,
        partial: Option<Box<Assistant>>,
    },
    /// It was not even tried.
    #[error("{0}")]
    Setup(String),
}

impl Failure {
    /// What had come in before it failed.
    pub fn partial(&self) -> Option<&Assistant> {
        match self {
            Self::Cancelled { partial }
            | Self::Deadline { partial, .. }
            | Self::Broken { partial, .. } => partial.as_deref(),
            Self::KeyMissing { .. }
            | Self::Unauthorized { .. }
            | Self::ModelUnknown { .. }
            | Self::RateLimited { .. }
            | Self::QuotaExhausted { .. }
            | Self::ContextTooLong { .. }
            | Self::ToolChoiceUnsupported { .. }
            | Self::Overloaded { .. }
            | Self::Status { .. }
            | Self::Transport { .. }
            | Self::Setup(_) => None,
        }
    }

    /// The same, to be kept.
    pub fn into_partial(self) -> Option<Assistant> {
        match self {
            Self::Cancelled { partial }
            | Self::Deadline { partial, .. }
            | Self::Broken { partial, .. } => partial.map(|partial| *partial),
            Self::KeyMissing { .. }
            | Self::Unauthorized { .. }
            | Self::ModelUnknown { .. }
            | Self::RateLimited { .. }
            | Self::QuotaExhausted { .. }
            | Self::ContextTooLong { .. }
            | Self::ToolChoiceUnsupported { .. }
            | Self::Overloaded { .. }
            | Self::Status { .. }
            | Self::Transport { .. }
            | Self::Setup(_) => None,
        }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled { .. })
    }

    /// Whether the same request may fare better in a moment. Never once a part of the answer has
    /// been told: it would be told twice.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Transport { .. } => true,
            Self::Broken { partial, .. } => partial.is_none(),
            Self::Cancelled { .. }
            | Self::KeyMissing { .. }
            | Self::Unauthorized { .. }
            | Self::ModelUnknown { .. }
            | Self::QuotaExhausted { .. }
            | Self::ContextTooLong { .. }
            | Self::ToolChoiceUnsupported { .. }
            | Self::Status { .. }
            | Self::Deadline { .. }
            | Self::Setup(_) => false,
        }
    }
}

fn because(message: &str) -> String {
    if message.is_empty() {
        return String::new();
    }
    format!(": {message}")
}

fn when(after: &Option<Duration>) -> String {
    match after {
        Some(after) => format!("try again in {}", seconds(after)),
        None => "try again in a while".to_owned(),
    }
}

fn seconds(duration: &Duration) -> String {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_their_cause_and_the_time() {
        let limited = |seconds| Failure::RateLimited {
            provider: "openai".into(),
            retry_after: seconds,
            message: String::new(),
        };
        for (failure, expected) in [
            (
                limited(Some(Duration::from_millis(41_200))),
                "openai limits the rate of requests: try again in 42 s",
            ),
            (
                limited(Some(Duration::from_secs(7_320))),
                "openai limits the rate of requests: try again in 2 h 2 min",
            ),
            (
                limited(None),
                "openai limits the rate of requests: try again in a while",
            ),
            (
                Failure::Overloaded {
                    provider: "anthropic".into(),
                    status: 529,
                    message: "Overloaded".into(),
                },
                "anthropic cannot answer now (529): Overloaded",
            ),
        ] {
            assert_eq!(failure.to_string(), expected);
        }
    }
}
