//! Messages: one that is sent, and what became of it.

use super::SessionView;
use serde::{Deserialize, Serialize};

/// A message and what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    pub id: String,
    pub session: String,
    pub from: SenderView,
    pub mode: String,
    pub state: String,
    pub reason: Option<String>,
    /// Why it is held, in one word: `working` and `next_hook` are the ordinary cases.
    #[serde(default)]
    pub hold: Option<String>,
    pub way: Option<String>,
    pub proof: Option<String>,
    /// What the agent calls it before its model, if that is not the user's own words.
    #[serde(default)]
    pub label: Option<String>,
    pub text: String,
    pub created_at: String,
    pub changed_at: String,
}

/// What an agent answered to a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyView {
    /// The turn that took the message has ended.
    pub done: bool,
    /// What the agent said last in it; none if it said nothing, or keeps no record of it.
    pub reply: Option<String>,
    pub message: MessageView,
    pub session: SessionView,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SenderView {
    /// `person`, `session` or `sm`.
    pub kind: String,
    pub id: Option<String>,
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SendBody {
    pub id: String,
    pub text: String,
    /// `sequential`, `important` or `urgent`.
    pub mode: Option<String>,
    pub raw: bool,
    /// The sending session's id; `x-sm-secret` has to prove it.
    pub from: Option<String>,
    pub notify: bool,
    pub expires_ms: Option<u64>,
}
