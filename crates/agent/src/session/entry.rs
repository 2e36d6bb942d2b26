//! What can be added to a session file, and the line that it becomes.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use sm_llm::{Content, Message, Thinking};

use super::name;
use crate::tools::Todo;

/// The kind of `custom` entry that the list of things to do is kept in.
pub const TODO_TYPE: &str = "todo";

/// Names one entry within its file: eight hexadecimal digits in ours, anything in others'.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EntryId(Box<str>);

impl EntryId {
    pub(crate) fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub(super) fn random() -> Self {
        let hex: String = name::random::<4>()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self(hex.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something to be kept.
#[derive(Debug, Clone, PartialEq)]
pub enum NewEntry {
    Message(Message),
    /// A command that the person ran, not the model.
    BashExecution(BashExecution),
    /// What is sent to the model without having been typed: a handoff's document.
    CustomMessage {
        custom_type: String,
        content: Content,
        display: bool,
        attribution: Option<Attribution>,
    },
    ModelChange {
        provider: String,
        model_id: String,
    },
    ThinkingLevelChange(Thinking),
    /// The title.
    SessionInfo {
        name: String,
    },
    /// What takes the place of everything before it in the same session.
    Compaction {
        summary: String,
        tokens_before: u64,
    },
    /// State of our own that the model is not sent.
    Custom {
        custom_type: String,
        data: Value,
    },
}

impl NewEntry {
    /// The whole list of things to do, in place of the one before.
    pub fn todos(todos: &[Todo]) -> Self {
        Self::Custom {
            custom_type: TODO_TYPE.to_string(),
            data: serde_json::json!({ "todos": todos }),
        }
    }
}

/// On whose behalf a message was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Attribution {
    User,
    Agent,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    pub command: String,
    pub output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// The person wants it shown and not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    pub timestamp: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a EntryId,
    parent_id: Option<&'a EntryId>,
    timestamp: String,
    #[serde(flatten)]
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Body<'a> {
    Message {
        message: &'a Message,
    },
    Bash {
        message: BashLine<'a>,
    },
    CustomMessage {
        custom_type: &'a str,
        content: &'a Content,
        display: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        attribution: Option<Attribution>,
    },
    Model {
        provider: &'a str,
        model_id: &'a str,
    },
    Thinking {
        thinking_level: Thinking,
    },
    Info {
        name: &'a str,
    },
    Compaction {
        summary: &'a str,
        first_kept_entry_id: &'a EntryId,
        tokens_before: u64,
    },
    Custom {
        custom_type: &'a str,
        data: &'a Value,
    },
}

#[derive(Serialize)]
struct BashLine<'a> {
    role: &'static str,
    #[serde(flatten)]
    bash: &'a BashExecution,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HeaderLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u64,
    id: &'a str,
    timestamp: String,
    cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session: Option<String>,
}

/// The line of an entry, with its newline.
pub(super) fn line(
    entry: &NewEntry,
    id: &EntryId,
    parent: Option<&EntryId>,
    now: Timestamp,
) -> serde_json::Result<Vec<u8>> {
    let (kind, body) = match entry {
        NewEntry::Message(message) => ("message", Body::Message { message }),
        NewEntry::BashExecution(bash) => (
            "message",
            Body::Bash {
                message: BashLine {
                    role: "bashExecution",
                    bash,
                },
            },
        ),
        NewEntry::CustomMessage {
            custom_type,
            content,
            display,
            attribution,
        } => (
            "custom_message",
            Body::CustomMessage {
                custom_type,
                content,
                display: *display,
                attribution: *attribution,
            },
        ),
        NewEntry::ModelChange { provider, model_id } => {
            ("model_change", Body::Model { provider, model_id })
        }
        NewEntry::ThinkingLevelChange(level) => (
            "thinking_level_change",
            Body::Thinking {
                thinking_level: *level,
            },
        ),
        NewEntry::SessionInfo { name } => ("session_info", Body::Info { name }),
        // Of what came before nothing is kept: no entry before it has its id.
        NewEntry::Compaction {
            summary,
            tokens_before,
        } => (
            "compaction",
            Body::Compaction {
                summary,
                first_kept_entry_id: id,
                tokens_before: *tokens_before,
            },
        ),
        NewEntry::Custom { custom_type, data } => ("custom", Body::Custom { custom_type, data }),
    };
    written(&Line {
        kind,
        id,
        parent_id: parent,
        timestamp: name::iso(now),
        body,
    })
}

/// The first line of a file.
pub(super) fn header(
    id: &str,
    cwd: &Path,
    parent: Option<&Path>,
    now: Timestamp,
) -> serde_json::Result<Vec<u8>> {
    written(&HeaderLine {
        kind: "session",
        version: super::VERSION,
        id,
        timestamp: name::iso(now),
        cwd: cwd.to_string_lossy().into_owned(),
        parent_session: parent.map(|path| path.to_string_lossy().into_owned()),
    })
}

fn written(line: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sm_llm::Block;

    use super::*;

    fn text(entry: &NewEntry, parent: Option<&EntryId>) -> String {
        let now = "2026-11-15T06:33:13.963Z".parse().unwrap();
        String::from_utf8(line(entry, &EntryId::new("0000000a"), parent, now).unwrap()).unwrap()
    }

    #[test]
    fn lines_are_as_others_write_them() {
        let parent = EntryId::new("5019475d");
        let table = [
            (
                NewEntry::Message(Message::user("hello", 7)),
                r#"{"type":"message","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","message":{"role":"user","content":[{"type":"text","text":"hello"}],"timestamp":7}}"#,
            ),
            (
                NewEntry::CustomMessage {
                    custom_type: "handoff".into(),
                    content: Content::Text("<handoff-context>".into()),
                    display: true,
                    attribution: Some(Attribution::Agent),
                },
                r#"{"type":"custom_message","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","customType":"handoff","content":"<handoff-context>","display":true,"attribution":"agent"}"#,
            ),
            (
                NewEntry::ModelChange {
                    provider: "fake".into(),
                    model_id: "fake-1".into(),
                },
                r#"{"type":"model_change","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","provider":"fake","modelId":"fake-1"}"#,
            ),
            (
                NewEntry::ThinkingLevelChange(Thinking::High),
                r#"{"type":"thinking_level_change","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","thinkingLevel":"high"}"#,
            ),
            (
                NewEntry::SessionInfo {
                    name: "a title".into(),
                },
                r#"{"type":"session_info","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","name":"a title"}"#,
            ),
            (
                NewEntry::Custom {
                    custom_type: "x".into(),
                    data: json!({"n": 1}),
                },
                r#"{"type":"custom","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","customType":"x","data":{"n":1}}"#,
            ),
            (
                NewEntry::BashExecution(BashExecution {
                    command: "ls".into(),
                    output: "a".into(),
                    exit_code: Some(0),
                    timestamp: 7,
                    ..BashExecution::default()
                }),
                r#"{"type":"message","id":"0000000a","parentId":"5019475d","timestamp":"2026-11-15T06:33:13.963Z","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0,"cancelled":false,"truncated":false,"timestamp":7}}"#,
            ),
        ];
        for (entry, wanted) in table {
            assert_eq!(text(&entry, Some(&parent)).trim_end(), wanted);
        }
    }

    #[test]
    fn a_line_is_one_line() {
        let entry = NewEntry::Message(Message::User(sm_llm::User {
            content: Content::Blocks(vec![Block::text("a\nb\u{2028}c\r")]),
            timestamp: 0,
        }));
        let line = text(&entry, None);
        assert!(line.contains(r#""parentId":null"#));
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.ends_with('\n'));
    }
}
