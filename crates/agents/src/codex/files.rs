//! Where Codex keeps its files.

use serde_json::Value;
use sm_core::ids::{ConversationId, Timestamp};
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

/// Below it: `<thread id>.lock`. A process keeps open the locks of all threads it has had, each from
/// the moment the thread is made: at start and at `/clear`, before anything was said in it. There
/// is no record by then.
pub fn locks_dir(config_dir: &Path) -> PathBuf {
    config_dir.join("thread-writer-locks")
}

/// Whose lock a file of this name is.
pub fn lock_conversation(file_name: &str) -> Option<ConversationId> {
    let name = file_name.strip_suffix(".lock")?;
    made_at(name).and_then(|_| ConversationId::new(name).ok())
}

/// The newest thread of a process in which nothing was said yet, and when it was made. `open`: the
/// files the process has open. `recorded`: whether a conversation has a record, which a sub-agent's
/// has as soon as it has a lock.
pub fn fresh_thread(
    config_dir: &Path,
    open: &[PathBuf],
    recorded: impl Fn(&ConversationId) -> bool,
) -> Option<(ConversationId, Timestamp)> {
    let folder = locks_dir(config_dir);
    let locks = open.iter().filter(|file| file.starts_with(&folder));
    locks
        .filter_map(|file| lock_conversation(file.file_name()?.to_str()?))
        .filter(|thread| !recorded(thread))
        .filter_map(|thread| thread_time(&thread).map(|at| (thread, at)))
        .max_by_key(|(_, at)| *at)
}

/// When a thread was made, as its id tells.
pub fn thread_time(thread: &ConversationId) -> Option<Timestamp> {
    made_at(thread.as_str())
}

/// Ids of threads begin with the time they were made (UUID version 7).
fn made_at(id: &str) -> Option<Timestamp> {
    let (high, rest) = id.split_once('-')?;
    let (low, rest) = rest.split_once('-')?;
    let time = format!("{high}{low}");
    let sound = time.len() == 12 && time.bytes().all(|b| b.is_ascii_hexdigit());
    (sound && rest.starts_with('7'))
        .then(|| i64::from_str_radix(&time, 16).ok())
        .flatten()
        .map(Timestamp)
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
    fn the_newest_thread_without_a_record_is_the_fresh_one() {
        let home = Path::new("/h/.codex");
        let [old, fresh, stale, sub] = [
            "01a1df15-07bd-73f3-8617-6de39fc9321c",
            "01a1df15-0e2b-7741-9ad5-68ff7f2ac9ec",
            "01a1df15-0800-7741-9ad5-68ff7f2ac9ec",
            "01a1df15-0fff-7741-9ad5-68ff7f2ac9ec",
        ];
        let locks = |ids: &[&str]| -> Vec<PathBuf> {
            let mut open: Vec<PathBuf> = ids
                .iter()
                .map(|id| locks_dir(home).join(format!("{id}.lock")))
                .collect();
            open.push(locks_dir(home).join(".coordination.lock"));
            open.push(PathBuf::from(format!("/elsewhere/{sub}.lock")));
            open.push(home.join("state_5.sqlite"));
            open
        };
        let recorded = |id: &ConversationId| [old, sub].contains(&id.as_str());
        for (open, expected) in [
            (&[][..], None),
            (&[old], None),
            (&[old, fresh], Some(fresh)),
            (&[fresh, stale, sub, old], Some(fresh)),
        ] {
            let found = fresh_thread(home, &locks(open), recorded);
            assert_eq!(
                found.as_ref().map(|(id, _)| id.as_str()),
                expected,
                "{open:?}"
            );
        }
        let (_, at) = fresh_thread(home, &locks(&[fresh]), recorded).unwrap();
        assert_eq!(at, Timestamp(0x01a1_df15_0e2b));
    }

    #[test]
    fn locks_are_found_by_their_name() {
        for (name, expected) in [
            ("01a1df15-0e2b-7741-9ad5-68ff7f2ac9ec.lock", true),
            (".coordination.lock", false),
            ("01a1df15-0e2b-7741-9ad5-68ff7f2ac9ec", false),
            ("01a1df15-0e2b-4741-9ad5-68ff7f2ac9ec.lock", false),
            ("日本-語-7.lock", false),
            ("+1a1df15-0e2b-7.lock", false),
        ] {
            assert_eq!(lock_conversation(name).is_some(), expected, "{name}");
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
