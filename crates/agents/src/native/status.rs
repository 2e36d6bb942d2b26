//! The file in which a living agent says what it is doing: whoever missed what it told finds it
//! there. It counts only while its process lives, which only the caller can find out.

use crate::json::{conversation, short, text};
use serde_json::{Value, json};
use sm_core::ids::{Process, Timestamp};
use sm_core::signal::{Activity, PersonNeed, StatusReading};
use std::path::{Path, PathBuf};

/// Where the agent keeps its files. `env` looks up a variable of the agent's environment.
pub fn home(env: impl Fn(&str) -> Option<String>, home: &Path) -> PathBuf {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let data = match (set("SM_HOME"), set("XDG_DATA_HOME")) {
        (Some(own), _) => PathBuf::from(own).join("data"),
        (None, Some(data)) if Path::new(&data).is_absolute() => PathBuf::from(data).join("sm"),
        (None, _) => home.join(".local/share/sm"),
    };
    data.join("agent")
}

pub fn folder(home: &Path) -> PathBuf {
    home.join("status")
}

pub fn path(home: &Path, pid: u32) -> PathBuf {
    folder(home).join(format!("{pid}.json"))
}

/// The whole file.
pub fn encode(status: &StatusReading) -> Vec<u8> {
    let (activity, waiting_for) = match &status.activity {
        Activity::Busy => ("busy", None),
        Activity::Waiting(PersonNeed::Permission(tool)) => ("waiting", Some(tool.as_str())),
        Activity::Waiting(PersonNeed::Question | PersonNeed::Limit | PersonNeed::FirstRun(_)) => {
            ("waiting", None)
        }
        Activity::Idle | Activity::IdleOrWaiting | Activity::Unknown => ("idle", None),
    };
    let body = json!({
        "pid": status.process.pid,
        "start": status.process.start,
        "session_id": status.conversation.as_ref().map(ToString::to_string),
        "status": activity,
        "tool": waiting_for,
        "at": status.at.map(|at| at.0),
    });
    body.to_string().into_bytes()
}

/// Reads it; `None` if it is none.
pub fn parse(bytes: &[u8]) -> Option<StatusReading> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let null = Value::Null;
    let field = |name: &str| value.get(name).unwrap_or(&null);
    let activity = match text(field("status")) {
        Some("busy") => Activity::Busy,
        Some("idle") => Activity::Idle,
        Some("waiting") => {
            let tool = text(field("tool")).unwrap_or_default();
            Activity::Waiting(PersonNeed::Permission(short(tool, 80)))
        }
        _ => Activity::Unknown,
    };
    Some(StatusReading {
        process: Process {
            pid: u32::try_from(field("pid").as_u64()?).ok()?,
            start: field("start").as_u64().unwrap_or(0),
        },
        conversation: conversation(field("session_id")),
        activity,
        at: field("at").as_i64().map(Timestamp),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::ids::ConversationId;

    #[test]
    fn what_is_written_is_read() {
        for activity in [
            Activity::Busy,
            Activity::Idle,
            Activity::Waiting(PersonNeed::Permission("bash".to_owned())),
        ] {
            let status = StatusReading {
                process: Process { pid: 7, start: 70 },
                conversation: ConversationId::new("0197").ok(),
                activity,
                at: Some(Timestamp(9)),
            };
            assert_eq!(parse(&encode(&status)), Some(status));
        }
        for none in [&b""[..], b"{}", b"[1]", b"{\"pid\":-1}", b"\xff"] {
            assert_eq!(parse(none), None);
        }
    }

    #[test]
    fn its_files_are_where_the_programs_of_sm_keep_theirs() {
        for (set, expected) in [
            (&[][..], "/h/.local/share/sm/agent"),
            (&[("SM_HOME", "/i")], "/i/data/agent"),
            (&[("XDG_DATA_HOME", "/d")], "/d/sm/agent"),
            (&[("XDG_DATA_HOME", "d")], "/h/.local/share/sm/agent"),
            (
                &[("SM_HOME", "/i"), ("XDG_DATA_HOME", "/d")],
                "/i/data/agent",
            ),
        ] {
            let env = |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(home(env, Path::new("/h")), Path::new(expected), "{set:?}");
        }
    }
}
