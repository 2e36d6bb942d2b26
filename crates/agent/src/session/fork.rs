//! A new session that begins with what another one holds up to some point. The other is not touched.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use sm_llm::Message;

use crate::handoff::text_of;

use super::entry;
use super::error::SessionError;
use super::file;
use super::name;
use super::open::{self, Shown};

/// What is needed of a line to follow a branch.
#[derive(Deserialize)]
struct Link {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    #[serde(rename = "parentId")]
    parent: Option<String>,
}

/// What people have said on the branch that is talked in, as far as the model is sent it: the entry
/// and its text.
pub fn prompts(path: &Path) -> Result<Vec<(String, String)>, SessionError> {
    let opened = open::read(path)?;
    let said = opened.shown.iter().filter_map(|shown| match shown {
        Shown::Message { entry, message } => match opened.messages.get(*message)? {
            Message::User(user) => Some((entry.to_string(), text_of(&user.content))),
            Message::Assistant(_) | Message::ToolResult(_) => None,
        },
        Shown::Unsent { .. }
        | Shown::Bash { .. }
        | Shown::Custom { .. }
        | Shown::Summary { .. } => None,
    });
    Ok(said.collect())
}

/// Copies the branch that is talked in, up to `before` (or all of it), into a session of its own
/// that names this one as its parent. Lines are taken as they are, also those that others wrote.
pub fn fork(
    path: &Path,
    sessions: &Path,
    cwd: &Path,
    before: Option<&str>,
    now: Timestamp,
) -> Result<PathBuf, SessionError> {
    let lines = branch(path, before)?;
    let id = name::uuid_v7(now);
    let header = entry::header(&id, cwd, Some(path), now);
    let mut bytes = header
        .map_err(std::io::Error::from)
        .map_err(SessionError::io("make", path))?;
    for line in lines {
        bytes.extend(line);
        bytes.push(b'\n');
    }
    file::write_whole(sessions, cwd, &id, &bytes, now)
}

/// The lines from the first entry to the last one, or to the one before `before`.
fn branch(path: &Path, before: Option<&str>) -> Result<Vec<Vec<u8>>, SessionError> {
    let file = open::regular(OpenOptions::new().read(true), path)?;
    let version = open::read(path)?.header.version;
    if version < super::VERSION {
        return Err(SessionError::NotASession {
            path: path.to_path_buf(),
            cause: "an older format: go on with it once, then it can be forked",
        });
    }
    let mut entries: HashMap<String, (Option<String>, Vec<u8>)> = HashMap::new();
    let mut last = None;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(SessionError::io("read", path))?;
        // A line that nobody can read is on no branch.
        let Ok(link) = serde_json::from_slice::<Link>(&line) else {
            continue;
        };
        if let Some(id) = link.id.filter(|_| link.kind != "session") {
            last = Some(id.clone());
            entries.insert(id, (link.parent, line));
        }
    }
    let mut at = match before {
        Some(before) => match entries.get(before) {
            Some((parent, _)) => parent.clone(),
            None => return Err(SessionError::Unknown(before.to_owned())),
        },
        None => last,
    };
    let mut lines = Vec::new();
    // Each is taken out: a file whose entries name each other in a circle ends here too.
    while let Some((parent, line)) = at.and_then(|id| entries.remove(&id)) {
        lines.push(line);
        at = parent;
    }
    lines.reverse();
    Ok(lines)
}
