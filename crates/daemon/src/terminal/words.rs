//! What a browser and the daemon say to each other about a terminal, besides its bytes. Pure.

use serde::{Deserialize, Serialize};

/// Largest message of a browser.
pub const LARGEST: usize = 64 * 1024;
/// Largest text that is typed with one message.
pub const MOST_KEYS: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    Size {
        cols: u16,
        rows: u16,
    },
    /// What lies between is left out; a screen follows.
    Resync,
    Taken,
    /// The terminal cannot be taken over.
    Refused {
        reason: String,
    },
    /// The last keys did not reach the program.
    NotTyped {
        reason: String,
    },
    Released,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Asked {
    /// All bytes that were drawn so far.
    Ack {
        bytes: u64,
    },
    Takeover,
    Keys {
        data: String,
    },
    Release,
}

/// Why a browser is not listened to any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Nonsense {
    #[error("that message is not understood")]
    NotUnderstood,
    #[error("keys need a takeover first")]
    NotTaken,
    #[error("too many keys at once")]
    TooMany,
    #[error("more was acknowledged than was sent")]
    NotSent,
}

pub fn understand(text: &str) -> Result<Asked, Nonsense> {
    let asked = serde_json::from_str(text).map_err(|_| Nonsense::NotUnderstood)?;
    match &asked {
        Asked::Keys { data } if data.len() > MOST_KEYS => Err(Nonsense::TooMany),
        Asked::Keys { .. } | Asked::Ack { .. } | Asked::Takeover | Asked::Release => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_understood() {
        for (text, asked) in [
            (r#"{"type":"ack","bytes":5}"#, Ok(Asked::Ack { bytes: 5 })),
            (r#"{"type":"takeover","more":1}"#, Ok(Asked::Takeover)),
            (r#"{"type":"release"}"#, Ok(Asked::Release)),
            (
                r#"{"type":"keys","data":"\u001b[A"}"#,
                Ok(Asked::Keys {
                    data: "\x1b[A".into(),
                }),
            ),
            (r#"{"type":"ack","bytes":-1}"#, Err(Nonsense::NotUnderstood)),
            (r#"{"type":"other"}"#, Err(Nonsense::NotUnderstood)),
            ("", Err(Nonsense::NotUnderstood)),
            ("[]", Err(Nonsense::NotUnderstood)),
        ] {
            assert_eq!(understand(text), asked, "{text}");
        }
        let long = format!(
            r#"{{"type":"keys","data":"{}"}}"#,
            "x".repeat(MOST_KEYS + 1)
        );
        assert_eq!(understand(&long), Err(Nonsense::TooMany));
    }

    #[test]
    fn what_is_said() {
        let said = |said: &Said| serde_json::to_string(said).unwrap();
        let size = Said::Size { cols: 80, rows: 24 };
        assert_eq!(said(&size), r#"{"type":"size","cols":80,"rows":24}"#);
        assert_eq!(said(&Said::Resync), r#"{"type":"resync"}"#);
    }
}
