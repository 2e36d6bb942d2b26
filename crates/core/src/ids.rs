//! Newtype ids. They are made outside (randomness is an effect) and checked here. Records hold many of
//! them and are copied with every step that is shown: a copy of an id shares its text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Why a text cannot be an id or a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {0} characters")]
    TooLong(usize),
    #[error("it contains {0:?}; a-z, A-Z, 0-9, '-', '_' and '.' are allowed")]
    BadCharacter(char),
    #[error("it starts with {0:?}; it has to start with one of a-z, A-Z, 0-9")]
    BadStart(char),
}

fn check(text: &str, max: usize) -> Result<(), IdError> {
    let mut chars = text.chars();
    match chars.next() {
        None => return Err(IdError::Empty),
        Some(first) if !first.is_ascii_alphanumeric() => return Err(IdError::BadStart(first)),
        Some(_) => {}
    }
    if text.len() > max {
        return Err(IdError::TooLong(max));
    }
    match chars.find(|c| !(c.is_ascii_alphanumeric() || "-_.".contains(*c))) {
        Some(bad) => Err(IdError::BadCharacter(bad)),
        None => Ok(()),
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text, $max)?;
                Ok(Self(text.into()))
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.as_str().to_owned()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A session's stable identity.
    SessionId, 64);
text_id!(
    /// A session's name, unique among live sessions.
    SessionName, 64);
text_id!(
    /// Made by the sender: the same id is the same message.
    MessageId, 64);
text_id!(
    /// One handoff, over all sessions.
    HandoffId, 64);
text_id!(
    /// The agent's own id of a conversation (Claude: session_id, Codex: thread id).
    ConversationId, 128);
text_id!(
    /// Made by the hook program, so that an event that came by socket and by spool counts once.
    EventId, 96);

/// One context window of a session: 1, 2, 3 …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Generation(pub u32);

impl Generation {
    pub const FIRST: Self = Self(1);
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A turn of a session, counted over all its generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TurnId(pub u64);

/// Milliseconds since the Unix epoch, UTC. Time always comes in from outside.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `2026-11-15T08:56:17.240Z`: what all agents write. Anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = bytes.get(from..to)?;
            if digits.iter().any(|b| !b.is_ascii_digit()) {
                return None;
            }
            Some(digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
        };
        if bytes.last() != Some(&b'Z') || bytes.get(10) != Some(&b'T') {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let millis = if bytes.get(19) == Some(&b'.') {
            number(20, 23)?
        } else {
            0
        };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1970 {
            return None;
        }
        // Days since the epoch, counting years from March so that the leap day comes last.
        let (y, m) = if month <= 2 {
            (year - 1, month + 9)
        } else {
            (year, month - 3)
        };
        let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468;
        Some(Self(
            (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis,
        ))
    }
}

/// A process, told apart from a later one with the same pid by its start time
/// (Linux: field 22 of /proc/PID/stat; elsewhere what the platform gives, 0 if nothing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    pub start: u64,
}

/// A hook call that waits for an answer; lives only in the daemon's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// A mailbox waiter (a background hook of the agent that can wake it); lives only in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WaiterId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_checked() {
        assert!(SessionId::new("a1b2").is_ok());
        assert_eq!(SessionName::new(""), Err(IdError::Empty));
        assert_eq!(SessionName::new("a b"), Err(IdError::BadCharacter(' ')));
        assert_eq!(SessionName::new("-rf"), Err(IdError::BadStart('-')));
        assert_eq!(SessionName::new("ü"), Err(IdError::BadStart('ü')));
        assert_eq!(SessionName::new("x".repeat(65)), Err(IdError::TooLong(64)));
    }

    #[test]
    fn a_later_generation_is_greater() {
        assert!(Generation::FIRST < Generation::FIRST.next());
    }
}
