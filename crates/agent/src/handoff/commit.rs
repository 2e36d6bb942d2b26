//! The new session, on disk in one step before anybody hears of it.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sm_llm::{Content, Thinking};

use super::{CUSTOM_TYPE, wrap};
use crate::session::{Attribution, NewEntry, SessionError, SessionFile};
use crate::tools::Todo;

/// What goes along.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// None: the first prompt holds it.
    pub document: Option<String>,
    pub provider: String,
    pub model: String,
    pub thinking: Thinking,
    pub title: Option<String>,
    pub todos: Vec<Todo>,
}

/// Makes the session that comes after `old`, which stays as it is.
pub fn commit(
    sessions: &Path,
    cwd: &Path,
    old: Option<&Path>,
    carried: &Carried,
    now: Timestamp,
) -> Result<SessionFile, SessionError> {
    let document = carried
        .document
        .as_deref()
        .map(|document| NewEntry::CustomMessage {
            custom_type: CUSTOM_TYPE.to_owned(),
            content: Content::Text(wrap(document)),
            display: true,
            attribution: Some(Attribution::Agent),
        });
    let mut first: Vec<NewEntry> = document.into_iter().collect();
    first.push(NewEntry::ModelChange {
        provider: carried.provider.clone(),
        model_id: carried.model.clone(),
    });
    first.push(NewEntry::ThinkingLevelChange(carried.thinking));
    if let Some(title) = &carried.title {
        first.push(NewEntry::SessionInfo {
            name: title.clone(),
        });
    }
    if !carried.todos.is_empty() {
        first.push(NewEntry::todos(&carried.todos));
    }
    SessionFile::create(sessions, cwd, old, &first, now)
}

/// Writes the document to a file of its own, in a folder beside the new session's file.
pub fn save(session: &Path, document: &str, now: Timestamp) -> std::io::Result<PathBuf> {
    let folder = session.with_extension("");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    let time = now
        .strftime("%Y-%m-%dT%H-%M-%S.%3fZ")
        .to_string()
        .replace('.', "-");
    let path = folder.join(format!("handoff-{time}.md"));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(document.as_bytes())?;
    if !document.ends_with('\n') {
        file.write_all(b"\n")?;
    }
    file.sync_all()?;
    Ok(path)
}
