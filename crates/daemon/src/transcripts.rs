//! Where the record of a conversation is: told by a hook, known by rule, or found by looking.

use crate::perform::Seat;
use crate::platform;
use sm_agents::{codex, kind};
use sm_core::{AgentKind, ConversationId};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Folders of days that are looked through, newest first.
const DAYS: usize = 60;

/// The file of one of the session's conversations.
pub async fn path_of(seat: &Seat, conversation: &ConversationId) -> Option<PathBuf> {
    let record = &seat.record;
    if let (Some(path), true) = (
        &record.transcript,
        record.conversation.as_ref() == Some(conversation),
    ) {
        return Some(PathBuf::from(path));
    }
    let home = seat.extra.agent_home.clone()?;
    if let Some(path) =
        kind::transcript_path(record.agent, &home, record.cwd.as_ref(), conversation)
    {
        return Some(path);
    }
    match record.agent {
        AgentKind::Codex => {
            let conversation = conversation.clone();
            tokio::task::spawn_blocking(move || rollout(&home, &conversation))
                .await
                .ok()
                .flatten()
        }
        AgentKind::Claude | AgentKind::Generic => None,
    }
}

/// The conversation whose record the agent's process has open, where that tells which one it is.
pub async fn open_record(seat: &Seat) -> Option<(ConversationId, PathBuf)> {
    let (home, process) = (seat.extra.agent_home.clone()?, seat.record.process?);
    match seat.record.agent {
        AgentKind::Codex => tokio::task::spawn_blocking(move || open_rollout(&home, process.pid))
            .await
            .ok()
            .flatten(),
        AgentKind::Claude | AgentKind::Generic => None,
    }
}

/// Codex keeps its record open. It may be the child of a script that started it.
fn open_rollout(home: &Path, pid: u32) -> Option<(ConversationId, PathBuf)> {
    let folder = codex::files::sessions_dir(home).canonicalize().ok()?;
    let of = |pid: u32| -> Vec<PathBuf> {
        let files = platform::open_files(pid).into_iter();
        files
            .filter(|file| file.starts_with(&folder) && is_main(file))
            .collect()
    };
    let mut found = of(pid);
    if found.is_empty() {
        found = platform::children(pid).into_iter().flat_map(of).collect();
    }
    found.sort();
    found.dedup();
    let [one] = found.as_slice() else {
        return None;
    };
    let name = one.file_name()?.to_str()?;
    Some((codex::files::rollout_conversation(name)?, one.clone()))
}

fn is_main(file: &Path) -> bool {
    const LONGEST: u64 = 1 << 20;
    let mut line = Vec::new();
    let read = std::fs::File::open(file)
        .and_then(|file| BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line));
    read.is_ok() && codex::files::is_main_rollout(&line)
}

/// Codex files its records by year, month and day.
fn rollout(home: &Path, conversation: &ConversationId) -> Option<PathBuf> {
    let years = below(&codex::files::sessions_dir(home));
    let months = years.iter().flat_map(|year| below(year));
    let days = months.flat_map(|month| below(&month));
    days.take(DAYS).find_map(|day| {
        below(&day).into_iter().find(|file| {
            let name = file
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            codex::files::is_rollout_of(name, conversation)
        })
    })
}

/// What a folder holds, the latest name first.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_is_found_by_its_conversation() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/15");
        std::fs::create_dir_all(&day).unwrap();
        let id = ConversationId::new("01a1de8e-a813-7792-a231-50d86966ddc0").unwrap();
        let file = day.join(format!("rollout-2026-11-15T09-34-15-{id}.jsonl"));
        std::fs::write(&file, "").unwrap();
        std::fs::write(day.join("rollout-2026-11-15T09-34-16-another.jsonl"), "").unwrap();
        assert_eq!(rollout(home.path(), &id), Some(file));
        let other = ConversationId::new("unknown").unwrap();
        assert_eq!(rollout(home.path(), &other), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_open_record_names_its_conversation() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/15");
        std::fs::create_dir_all(&day).unwrap();
        let open = |id: &str, session: &str| {
            let file = day.join(format!("rollout-2026-11-15T09-34-15-{id}.jsonl"));
            let meta = format!(
                r#"{{"type":"session_meta","payload":{{"id":"{id}","session_id":"{session}"}}}}"#
            );
            std::fs::write(&file, meta + "\n").unwrap();
            std::fs::File::open(&file).unwrap()
        };
        let own = std::process::id();
        assert_eq!(open_rollout(home.path(), own), None);
        let _main = open("main", "main");
        let _sub = open("sub", "main");
        let (found, _) = open_rollout(home.path(), own).unwrap();
        assert_eq!(found.as_str(), "main");
        let _other = open("other", "other");
        assert_eq!(
            open_rollout(home.path(), own),
            None,
            "which one, nobody can tell"
        );
    }
}
