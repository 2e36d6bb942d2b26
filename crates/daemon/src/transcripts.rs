//! Where the record of a conversation is: told by a hook, known by rule, or found by looking.

use crate::perform::Seat;
use crate::{clock, platform};
use sm_agents::{codex, kind, native};
use sm_client::files;
use sm_core::{AgentKind, ConversationId, Record, Timestamp};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Folders of days that are looked through, newest first.
const DAYS: usize = 60;
/// The thread of a sub-agent has a record within this time, milliseconds.
const RECORD_PATIENCE: i64 = 15;

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
        AgentKind::Native => {
            let conversation = conversation.clone();
            tokio::task::spawn_blocking(move || own_record(&home, &conversation))
                .await
                .ok()
                .flatten()
        }
        AgentKind::Claude | AgentKind::Generic => None,
    }
}

/// What the open files of the agent's process tell of its conversations.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The one that it is in, where that can be told.
    pub found: Option<Found>,
    /// A new one could not be missed.
    pub all: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub conversation: ConversationId,
    /// None: nothing was said in it yet.
    pub record: Option<PathBuf>,
    /// When it was made.
    pub at: Timestamp,
}

pub async fn open_conversations(seat: &Seat) -> Open {
    let (Some(home), Some(process)) = (seat.extra.agent_home.clone(), seat.record.process) else {
        return Open::default();
    };
    match seat.record.agent {
        AgentKind::Codex => {
            let look = move || open_threads(&home, process.pid, clock::now());
            tokio::task::spawn_blocking(look).await.unwrap_or_default()
        }
        AgentKind::Claude | AgentKind::Native | AgentKind::Generic => Open::default(),
    }
}

/// Codex keeps open the locks and the records of all threads that it has had. It may be the child of
/// a script that started it.
fn open_threads(home: &Path, pid: u32, now: Timestamp) -> Open {
    // the system names open files by their real paths
    let Ok(home) = home.canonicalize() else {
        return Open::default();
    };
    let pids = std::iter::once(pid).chain(platform::children(pid));
    let files: Vec<PathBuf> = pids.flat_map(platform::open_files).collect();
    let locks = codex::files::locks_dir(&home);
    let fresh = codex::files::fresh_thread(&home, &files, |thread| recorded(&home, &files, thread));
    let found = match fresh {
        Some((conversation, at)) => Some(Found {
            conversation,
            record: None,
            at,
        })
        .filter(|found| now.since(found.at) >= RECORD_PATIENCE),
        None => open_rollout(&home, &files, now),
    };
    Open {
        found,
        all: files.iter().any(|file| file.starts_with(&locks)),
    }
}

fn recorded(home: &Path, files: &[PathBuf], thread: &ConversationId) -> bool {
    let open = files.iter().any(|file| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| codex::files::is_rollout_of(name, thread))
    });
    open || rollout(home, thread).is_some()
}

/// The only record that is open.
fn open_rollout(home: &Path, files: &[PathBuf], now: Timestamp) -> Option<Found> {
    let folder = codex::files::sessions_dir(home);
    let records = files.iter().filter(|file| file.starts_with(&folder));
    let mut found: Vec<&PathBuf> = records.filter(|file| is_main(file)).collect();
    found.sort();
    found.dedup();
    let [one] = found.as_slice() else {
        return None;
    };
    let conversation = codex::files::rollout_conversation(one.file_name()?.to_str()?)?;
    Some(Found {
        at: codex::files::thread_time(&conversation).unwrap_or(now),
        record: Some(one.to_path_buf()),
        conversation,
    })
}

fn is_main(file: &Path) -> bool {
    const LONGEST: u64 = 1 << 20;
    let mut line = Vec::new();
    let read = files::open(file)
        .and_then(|file| BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line));
    read.is_ok() && codex::files::is_main_rollout(&line)
}

/// Whether the agent can go on in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    Possible,
    /// It has no record; its name is free.
    NotBegun,
    /// Nothing was said in it, or its record is gone: only another one can be begun.
    Impossible,
}

/// Where in doubt it is possible: the agent says it if not.
pub fn can_resume(record: &Record, home: Option<&Path>, conversation: &ConversationId) -> Resume {
    let current = record.conversation.as_ref() == Some(conversation);
    let told = record.transcript.as_ref().filter(|_| current);
    let told = told.map(PathBuf::from);
    match (record.agent, home) {
        (AgentKind::Claude, home) => {
            let by_rule =
                || kind::transcript_path(record.agent, home?, record.cwd.as_ref(), conversation);
            match told.or_else(by_rule).map(|path| head(&path)) {
                Some(Ok(head)) if kind::can_resume(record.agent, &head) => Resume::Possible,
                Some(Ok(_)) => Resume::Impossible,
                Some(Err(error)) if error.kind() == ErrorKind::NotFound => Resume::NotBegun,
                Some(Err(_)) | None => Resume::Possible,
            }
        }
        (AgentKind::Codex, Some(home)) => {
            let there = told.is_some_and(|told| told.exists());
            // an old one may have been packed: whatever bears its name
            let named = |name: &str| name.contains(conversation.as_str());
            match there || filed(home, usize::MAX, named).is_some() {
                true => Resume::Possible,
                false => Resume::Impossible,
            }
        }
        (AgentKind::Native, Some(home)) => {
            let there = told.is_some_and(|told| told.exists());
            match there || own_record(home, conversation).is_some() {
                true => Resume::Possible,
                false => Resume::NotBegun,
            }
        }
        (AgentKind::Codex | AgentKind::Native, None) | (AgentKind::Generic, _) => Resume::Possible,
    }
}

/// The file of one of the own agent's sessions: its name ends with the session's id. Folders are
/// named by where they were begun, which need not be where the session is now.
fn own_record(home: &Path, conversation: &ConversationId) -> Option<PathBuf> {
    let folders = std::fs::read_dir(home.join("sessions")).ok()?;
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten();
    folders
        .flatten()
        .flat_map(|folder| entries(folder.path()).flatten())
        .map(|entry| entry.path())
        .find(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| native::record::is_of(name, conversation))
        })
}

/// The beginning of a record: whether anything was said is seen there.
fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    const ENOUGH: u64 = 4 << 20;
    let mut head = Vec::new();
    files::open(path)?.take(ENOUGH).read_to_end(&mut head)?;
    Ok(head)
}

fn rollout(home: &Path, conversation: &ConversationId) -> Option<PathBuf> {
    let of = |name: &str| codex::files::is_rollout_of(name, conversation);
    filed(home, DAYS, of)
}

/// The latest record by name. Codex files them by year, month and day.
fn filed(home: &Path, days: usize, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let years = below(&codex::files::sessions_dir(home));
    let months = years.iter().flat_map(|year| below(year));
    let folders = months.flat_map(|month| below(&month));
    folders.take(days).find_map(|day| {
        below(&day).into_iter().find(|file| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(&wanted)
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
    fn a_conversation_is_resumed_only_if_the_agent_can() {
        let home = tempfile::tempdir().unwrap();
        let id = ConversationId::new("01a1de8e-a813-7792-a231-50d86966ddc0").unwrap();
        let record = |agent: AgentKind| {
            let new = sm_core::NewSession {
                id: sm_core::SessionId::new("s1").unwrap(),
                name: sm_core::SessionName::new("api").unwrap(),
                cwd: "/work".into(),
                parent: None,
                conversation: Some(id.clone()),
                folder: String::new(),
            };
            let session = sm_core::Session::new(new, *kind::profile(agent), Timestamp(1));
            session.record().clone()
        };
        let claude = record(AgentKind::Claude);
        let file =
            kind::transcript_path(AgentKind::Claude, home.path(), Path::new("/work"), &id).unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let look = |record: &Record| can_resume(record, Some(home.path()), &id);
        assert_eq!(look(&claude), Resume::NotBegun);
        std::fs::write(&file, "{\"type\":\"mode\",\"mode\":\"normal\"}\n").unwrap();
        assert_eq!(look(&claude), Resume::Impossible, "cleared into, and ended");
        let said = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
        std::fs::write(&file, said).unwrap();
        assert_eq!(look(&claude), Resume::Possible);
        let mut codex = record(AgentKind::Codex);
        assert_eq!(look(&codex), Resume::Impossible, "never prompted");
        let day = home.path().join("sessions/2021/01/02");
        std::fs::create_dir_all(&day).unwrap();
        let rollout = day.join(format!("rollout-2021-01-02T09-34-15-{id}.jsonl.zst"));
        std::fs::write(&rollout, "packed").unwrap();
        assert_eq!(look(&codex), Resume::Possible);
        std::fs::remove_file(&rollout).unwrap();
        codex.transcript = Some(file.to_string_lossy().into_owned());
        assert_eq!(look(&codex), Resume::Possible, "as its hook has told");
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
        let found = || open_threads(home.path(), own, Timestamp(1)).found;
        assert_eq!(found(), None);
        let _main = open("main", "main");
        let _sub = open("sub", "main");
        let one = found().unwrap();
        assert_eq!(one.conversation.as_str(), "main");
        assert!(one.record.is_some());
        let _other = open("other", "other");
        assert_eq!(found(), None, "which one, nobody can tell");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_without_a_record_is_found_by_its_lock() {
        const OLD: &str = "01a1df15-07bd-73f3-8617-6de39fc9321c";
        const NEW: &str = "01a1df15-0e2b-7741-9ad5-68ff7f2ac9ec";
        let place = tempfile::tempdir().unwrap();
        // the agent was told another path than the system tells
        std::fs::create_dir_all(place.path().join("real/thread-writer-locks")).unwrap();
        let home = place.path().join("home");
        std::os::unix::fs::symlink(place.path().join("real"), &home).unwrap();
        let day = home.join("sessions/2026/11/15");
        std::fs::create_dir_all(&day).unwrap();
        let lock = |id: &str| {
            let file = home.join(format!("thread-writer-locks/{id}.lock"));
            std::fs::File::create(file).unwrap()
        };
        let made = Timestamp(0x01a1_df15_0e2b);
        let look = |now: Timestamp| open_threads(&home, std::process::id(), now);
        assert_eq!(look(made), Open::default(), "no locks: nobody can tell");
        let _old = lock(OLD);
        let record = day.join(format!("rollout-2026-11-15T09-34-15-{OLD}.jsonl"));
        let meta =
            format!(r#"{{"type":"session_meta","payload":{{"id":"{OLD}","session_id":"{OLD}"}}}}"#);
        std::fs::write(&record, meta + "\n").unwrap();
        assert_eq!(
            look(made),
            Open {
                found: None,
                all: true
            },
            "its record is on disk"
        );
        let _open = std::fs::File::open(&record).unwrap();
        let found = look(made).found.unwrap();
        assert_eq!(found.conversation.as_str(), OLD);
        assert_eq!(found.at, Timestamp(0x01a1_df15_07bd));
        let _new = lock(NEW);
        assert_eq!(look(made).found, None, "a sub-agent's record may follow");
        let found = look(made.plus(RECORD_PATIENCE)).found.unwrap();
        assert_eq!(found.conversation.as_str(), NEW);
        assert_eq!((found.record, found.at), (None, made));
    }
}
