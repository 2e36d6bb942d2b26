//! Where Codex keeps its files.

use serde_json::Value;
use sm_core::ids::ConversationId;
use std::path::{Path, PathBuf};

/// `env` looks up a variable of the agent's environment.
pub fn config_dir(env: impl Fn(&str) -> Option<String>, home: &Path) -> PathBuf {
    match env("CODEX_HOME").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => home.join(".codex"),
    }
}

/// Below it: `YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`, by the day the conversation began.
pub fn sessions_dir(config_dir: &Path) -> PathBuf {
    config_dir.join("sessions")
}

/// Whether a file of this name is the record of the conversation.
pub fn is_rollout_of(file_name: &str, conversation: &ConversationId) -> bool {
    file_name
        .strip_prefix("rollout-")
        .and_then(|rest| rest.strip_suffix(".jsonl"))
        .and_then(|rest| rest.strip_suffix(conversation.as_str()))
        .is_some_and(|rest| rest.ends_with('-'))
}

/// Whose record a file of this name is.
pub fn rollout_conversation(file_name: &str) -> Option<ConversationId> {
    const TIME: usize = "2026-11-15T09-03-37-".len();
    let rest = file_name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    ConversationId::new(rest.get(TIME..)?).ok()
}

/// Whether a record that begins with this line is that of a conversation with a person, not of a
/// sub-agent.
pub fn is_main_rollout(first_line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<Value>(first_line) else {
        return false;
    };
    let meta = &line["payload"];
    line["type"] == "session_meta" && meta["id"].is_string() && meta["id"] == meta["session_id"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollouts_are_found_by_their_name() {
        let id = ConversationId::new("01a1de72-a275-7fd3-b3d4-c6b846acb220").unwrap();
        for (name, expected) in [
            (
                "rollout-2026-11-15T09-03-37-01a1de72-a275-7fd3-b3d4-c6b846acb220.jsonl",
                true,
            ),
            (
                "rollout-2026-11-15T09-03-37-01a1de72-a275-7fd3-b3d4-c6b846acb221.jsonl",
                false,
            ),
            (
                "rollout-01a1de72-a275-7fd3-b3d4-c6b846acb220.jsonl.zst",
                false,
            ),
            ("01a1de72-a275-7fd3-b3d4-c6b846acb220.jsonl", false),
        ] {
            assert_eq!(is_rollout_of(name, &id), expected, "{name}");
            if expected {
                assert_eq!(rollout_conversation(name), Some(id.clone()));
            }
        }
        for name in [
            "rollout-x.jsonl",
            "rollout-日本日本日本日.jsonl",
            "config.toml",
        ] {
            assert_eq!(rollout_conversation(name), None, "{name}");
        }
    }

    #[test]
    fn a_sub_agents_record_names_its_parent() {
        for (line, expected) in [
            (
                r#"{"type":"session_meta","payload":{"id":"a","session_id":"a"}}"#,
                true,
            ),
            (
                r#"{"type":"session_meta","payload":{"id":"b","session_id":"a"}}"#,
                false,
            ),
            (r#"{"type":"event_msg","payload":{}}"#, false),
            (r#"{"type":"session_meta","payl"#, false),
        ] {
            assert_eq!(is_main_rollout(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn folders() {
        assert_eq!(
            config_dir(|_| None, Path::new("/h")),
            Path::new("/h/.codex")
        );
        assert_eq!(
            config_dir(|_| Some("/x".to_owned()), Path::new("/h")),
            Path::new("/x")
        );
        assert_eq!(sessions_dir(Path::new("/x")), Path::new("/x/sessions"));
    }
}
