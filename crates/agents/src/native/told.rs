//! What the agent tells the daemon: one call of `POST /hooks/native/<event>` each, or a line in the
//! spool. [`Told::encode`] is the agent's side, [`parse_hook`] the daemon's.

use crate::json::{conversation, owned, salvage, short, text};
use crate::parsed::Parsed;
use crate::tool_call::describe;
use serde::Deserialize;
use serde_json::{Value, json};
use sm_core::ids::Timestamp;
use sm_core::signal::{
    BreakReason, ContextSource, EndReason, PersonNeed, Signal, ToolCall, UsageSample, UsageSource,
};

/// Which session file the agent talks in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    pub id: String,
    /// `None` until something was said.
    pub path: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A session is talked in from here on.
    Started(ContextSource),
    /// It was said to the model, and stands in the session's file.
    Prompt(String),
    /// Something goes on in the turn.
    Working,
    /// This call waits for a person.
    Approval(ToolCall),
    /// The turn is over.
    Done,
    Interrupted,
    Failed(String),
    Usage {
        tokens: u64,
        window: u64,
    },
    /// The program ends.
    Ended,
}

/// One event of one session file.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub place: Place,
    pub what: What,
}

impl Told {
    /// The event's name and its body.
    pub fn encode(&self) -> (&'static str, Vec<u8>) {
        let mut body = json!({"session_id": self.place.id});
        let mut set = |key: &str, value: Value| body[key] = value;
        if let Some(path) = &self.place.path {
            set("transcript_path", json!(path));
        }
        let event = match &self.what {
            What::Started(source) => {
                set("source", json!(source_word(*source)));
                "SessionStart"
            }
            What::Prompt(prompt) => {
                set("prompt", json!(prompt));
                "UserPromptSubmit"
            }
            What::Working => "Working",
            What::Approval(call) => {
                set("tool_name", json!(call.tool));
                set("tool_input", json!(call.text));
                "PermissionRequest"
            }
            What::Done => "Stop",
            What::Interrupted => "Interrupted",
            What::Failed(why) => {
                set("error", json!(short(why, 400)));
                "StopFailure"
            }
            What::Usage { tokens, window } => {
                set("tokens", json!(tokens));
                set("window", json!(window));
                "ContextUsage"
            }
            What::Ended => "SessionEnd",
        };
        (event, body.to_string().into_bytes())
    }
}

fn source_word(source: ContextSource) -> &'static str {
    match source {
        ContextSource::Startup => "startup",
        ContextSource::Resume => "resume",
        ContextSource::Clear => "clear",
        ContextSource::Compact => "compact",
        ContextSource::Fork => "handoff",
        ContextSource::Other => "other",
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    session_id: Value,
    transcript_path: Value,
    source: Value,
    prompt: Value,
    tool_name: Value,
    tool_input: Value,
    error: Value,
    tokens: Value,
    window: Value,
}

/// Reads a call. Never fails.
pub fn parse_hook(event: &str, body: &[u8], at: Timestamp) -> Parsed {
    let mut warnings = Vec::new();
    let payload = serde_json::from_slice::<Payload>(body).unwrap_or_else(|error| {
        let error = short(&error.to_string(), 200);
        warnings.push(format!("{event}: payload unreadable: {error}"));
        // A prompt that was cut for the spool still names its session.
        Payload {
            session_id: salvage(body, "session_id").map_or(Value::Null, Value::String),
            ..Payload::default()
        }
    });
    Parsed {
        conversation: conversation(&payload.session_id),
        origin_hint: None,
        // What could not be read names no details, so nothing may be concluded from them.
        signal: match (warnings.is_empty(), event) {
            (true, _) | (false, "Working" | "Stop" | "Interrupted" | "StopFailure") => {
                signal(event, &payload, at)
            }
            (false, other) => Signal::Other(short(other, 80)),
        },
        windows: Vec::new(),
        warnings,
    }
}

fn signal(event: &str, payload: &Payload, at: Timestamp) -> Signal {
    let transcript = || owned(&payload.transcript_path);
    match event {
        "SessionStart" => Signal::ContextStarted {
            source: match text(&payload.source) {
                Some("startup") => ContextSource::Startup,
                Some("resume") => ContextSource::Resume,
                Some("clear") => ContextSource::Clear,
                Some("handoff") => ContextSource::Fork,
                // It has no compaction.
                _ => ContextSource::Other,
            },
            transcript: transcript(),
        },
        "UserPromptSubmit" => Signal::PromptAccepted {
            text: payload.prompt.as_str().unwrap_or_default().to_owned(),
            transcript: transcript(),
        },
        "Working" => Signal::Working,
        "PermissionRequest" => {
            let tool = text(&payload.tool_name).unwrap_or_default();
            Signal::PersonNeeded {
                need: PersonNeed::Permission(short(tool, 80)),
                call: describe(tool, &payload.tool_input),
            }
        }
        "Stop" => Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
        "Interrupted" => Signal::TurnBroken(BreakReason::Interrupted),
        "StopFailure" => {
            let why = text(&payload.error).unwrap_or("unknown");
            Signal::TurnBroken(BreakReason::ApiError(short(why, 400)))
        }
        "ContextUsage" => match usage(payload, at) {
            Some(sample) => Signal::Usage(sample),
            None => Signal::Other(event.to_owned()),
        },
        "SessionEnd" => Signal::ContextEnded {
            reason: EndReason::Exit,
        },
        other => Signal::Other(short(other, 80)),
    }
}

fn usage(payload: &Payload, at: Timestamp) -> Option<UsageSample> {
    let tokens = payload.tokens.as_u64().filter(|tokens| *tokens > 0)?;
    let window = payload.window.as_u64().filter(|window| *window > 0);
    Some(UsageSample {
        source: UsageSource::Hook,
        used_percentage: window.map(|window| tokens as f64 * 100.0 / window as f64),
        tokens: Some(tokens),
        window,
        at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(what: What) -> Parsed {
        let place = Place {
            id: "0197".to_owned(),
            path: Some("/s/x.jsonl".to_owned()),
        };
        let (event, body) = Told { place, what }.encode();
        parse_hook(event, &body, Timestamp(5))
    }

    fn asked() -> ToolCall {
        ToolCall {
            tool: "bash".to_owned(),
            text: "cargo test\n--release".to_owned(),
        }
    }

    #[test]
    fn what_is_told_is_heard() {
        let path = || Some("/s/x.jsonl".to_owned());
        let rows = [
            (
                What::Started(ContextSource::Fork),
                Signal::ContextStarted {
                    source: ContextSource::Fork,
                    transcript: path(),
                },
            ),
            (
                What::Prompt("say \"ä\"\n\u{1}".to_owned()),
                Signal::PromptAccepted {
                    text: "say \"ä\"\n\u{1}".to_owned(),
                    transcript: path(),
                },
            ),
            (What::Working, Signal::Working),
            (
                What::Approval(asked()),
                Signal::PersonNeeded {
                    need: PersonNeed::Permission("bash".to_owned()),
                    call: Some(asked()),
                },
            ),
            (
                What::Done,
                Signal::Stopping {
                    again: false,
                    background_tasks: Vec::new(),
                },
            ),
            (
                What::Interrupted,
                Signal::TurnBroken(BreakReason::Interrupted),
            ),
            (
                What::Failed("no key".to_owned()),
                Signal::TurnBroken(BreakReason::ApiError("no key".to_owned())),
            ),
            (
                What::Usage {
                    tokens: 50,
                    window: 200,
                },
                Signal::Usage(UsageSample {
                    source: UsageSource::Hook,
                    used_percentage: Some(25.0),
                    tokens: Some(50),
                    window: Some(200),
                    at: Timestamp(5),
                }),
            ),
            (
                What::Ended,
                Signal::ContextEnded {
                    reason: EndReason::Exit,
                },
            ),
        ];
        for (what, signal) in rows {
            let parsed = through(what.clone());
            assert_eq!(parsed.signal, signal, "{what:?}");
            assert_eq!(parsed.conversation.unwrap().as_str(), "0197");
            assert!(parsed.warnings.is_empty());
        }
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        let cut = br#"{"prompt":1,"session_id":"0197","#;
        let parsed = parse_hook("UserPromptSubmit", cut, Timestamp(1));
        assert_eq!(parsed.conversation.unwrap().as_str(), "0197");
        assert_eq!(parsed.warnings.len(), 1);
        for body in [&b"{"[..], b"[]", b"\xff", b"{\"tokens\":\"x\"}"] {
            let parsed = parse_hook("ContextUsage", body, Timestamp(1));
            assert_eq!(parsed.signal, Signal::Other("ContextUsage".to_owned()));
        }
    }
}
