//! Claude's own status file, and where its files are.
//!
//! The file is undocumented and stays behind when the process is killed: it counts only if its
//! process still lives, which only the caller can find out.

use crate::json::{conversation, short, text};
use serde_json::Value;
use sm_core::ids::{ConversationId, Process, Timestamp};
use sm_core::signal::{Activity, PersonNeed, StatusReading};
use std::path::{Path, PathBuf};

/// Where Claude keeps its files. `env` looks up a variable of the agent's environment.
pub fn config_dir(env: impl Fn(&str) -> Option<String>, home: &Path) -> PathBuf {
    match env("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => home.join(".claude"),
    }
}

pub fn status_path(config_dir: &Path, pid: u32) -> PathBuf {
    config_dir.join("sessions").join(format!("{pid}.json"))
}

/// Where the record of a conversation is, if Claude was started in `cwd`.
pub fn transcript_path(config_dir: &Path, cwd: &Path, conversation: &ConversationId) -> PathBuf {
    config_dir
        .join("projects")
        .join(project_name(cwd))
        .join(format!("{conversation}.jsonl"))
}

/// Everything but ASCII letters and digits becomes a dash. Very long names get a hash in the
/// program; the hooks tell the path then.
fn project_name(cwd: &Path) -> String {
    cwd.to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// Reads the status file; `None` if it is not one.
pub fn parse(bytes: &[u8]) -> Option<StatusReading> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let pid = u32::try_from(value.get("pid")?.as_u64()?).ok()?;
    let start = match value.get("procStart") {
        Some(Value::String(start)) => start.parse().unwrap_or(0),
        Some(start) => start.as_u64().unwrap_or(0),
        None => 0,
    };
    let null = Value::Null;
    let field = |name: &str| value.get(name).unwrap_or(&null);
    let updated = field("statusUpdatedAt")
        .as_i64()
        .or(field("updatedAt").as_i64());
    Some(StatusReading {
        process: Process { pid, start },
        conversation: conversation(field("sessionId")),
        activity: activity(text(field("status")), text(field("waitingFor"))),
        at: updated.map(Timestamp),
    })
}

fn activity(status: Option<&str>, waiting_for: Option<&str>) -> Activity {
    match status {
        Some("busy") => Activity::Busy,
        // The turn is over; a command it left behind still runs.
        Some("idle" | "shell") => Activity::Idle,
        Some("waiting") => Activity::Waiting(match waiting_for {
            Some("permission prompt") => PersonNeed::Permission(String::new()),
            Some(what) if what.contains("permission") => PersonNeed::Permission(short(what, 60)),
            _ => PersonNeed::Question,
        }),
        _ => Activity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_file_is_read() {
        let reading = parse(include_bytes!(
            "../../tests/fixtures/claude/sessions_pid_file.json"
        ))
        .unwrap();
        assert_eq!(
            reading.process,
            Process {
                pid: 14566,
                start: 58848
            }
        );
        assert_eq!(reading.activity, Activity::Idle);
        assert_eq!(reading.at, Some(Timestamp(1_794_724_688_574)));
        assert_eq!(
            reading.conversation.unwrap().as_str(),
            "d52e13e4-a743-4b3a-9008-d8739b3d7fb4"
        );
    }

    #[test]
    fn states() {
        let permission = Activity::Waiting(PersonNeed::Permission(String::new()));
        for (json, expected) in [
            (r#"{"pid":1,"status":"busy"}"#, Some(Activity::Busy)),
            (r#"{"pid":1,"status":"shell"}"#, Some(Activity::Idle)),
            (
                r#"{"pid":1,"status":"waiting","waitingFor":"permission prompt"}"#,
                Some(permission),
            ),
            (
                r#"{"pid":1,"status":"waiting","waitingFor":"dialog"}"#,
                Some(Activity::Waiting(PersonNeed::Question)),
            ),
            (r#"{"pid":1,"status":"resting"}"#, Some(Activity::Unknown)),
            (r#"{"pid":1}"#, Some(Activity::Unknown)),
            (r#"{"pid":-1}"#, None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(
                parse(json.as_bytes()).map(|r| r.activity),
                expected,
                "{json}"
            );
        }
    }

    #[test]
    fn paths() {
        let home = Path::new("/home/u");
        assert_eq!(config_dir(|_| None, home), Path::new("/home/u/.claude"));
        assert_eq!(config_dir(|_| Some("/c".to_owned()), home), Path::new("/c"));
        assert_eq!(
            status_path(Path::new("/c"), 7),
            Path::new("/c/sessions/7.json")
        );
        let id = ConversationId::new("abc").unwrap();
        assert_eq!(
            transcript_path(Path::new("/c"), Path::new("/tmp/a_b.c d"), &id),
            Path::new("/c/projects/-tmp-a-b-c-d/abc.jsonl")
        );
    }
}
