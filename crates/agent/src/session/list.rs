//! Which sessions there are, from the beginning and the end of each file alone.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use super::error::SessionError;
use super::name;
use super::open::Header;
use super::scan::RawHeader;

/// How much of the beginning, and of the end, is looked at.
const LOOK: usize = 64 << 10;
/// How much of a first message is told.
const FIRST_MESSAGE: usize = 200;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub path: PathBuf,
    pub header: Header,
    pub modified: SystemTime,
    pub size: u64,
    pub title: Option<String>,
    /// The beginning of the first thing that was typed, on one line.
    pub first_message: Option<String>,
}

/// The sessions of one working directory, the one written last first. What is no session is left
/// out.
pub fn list(sessions: &Path, cwd: &Path) -> Vec<Summary> {
    let wanted = cwd.to_string_lossy();
    let mut found: Vec<Summary> = files(&name::folder_of(sessions, cwd))
        .iter()
        .filter_map(|path| summary(path).ok().flatten())
        // Two directories can have one folder: `/a-b` and `/a/b`.
        .filter(|summary| summary.header.cwd.to_string_lossy() == wanted)
        .collect();
    found.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    found
}

/// The file that a person means by a path, an id or the beginning of an id.
pub fn find(sessions: &Path, cwd: &Path, wanted: &str) -> Result<PathBuf, SessionError> {
    let wanted = wanted.trim();
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        let path = cwd.join(wanted);
        return if path.exists() {
            Ok(path)
        } else {
            Err(SessionError::Missing(path))
        };
    }
    if wanted.is_empty() {
        return Err(SessionError::Unknown(wanted.to_string()));
    }
    // Those of here count before those of elsewhere.
    let here = matching(&files(&name::folder_of(sessions, cwd)), wanted);
    let fitting = if here.is_empty() {
        let all: Vec<PathBuf> = fs::read_dir(sessions)
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|folder| files(&folder.path()))
            .collect();
        matching(&all, wanted)
    } else {
        here
    };
    match fitting.as_slice() {
        [] => Err(SessionError::Unknown(wanted.to_string())),
        [(_, path)] => Ok(path.clone()),
        [(first, _), (second, _), ..] => Err(SessionError::Ambiguous {
            name: wanted.to_string(),
            count: fitting.len(),
            first: first.clone(),
            second: second.clone(),
        }),
    }
}

/// Ids and paths of the files whose id begins with `wanted`. The name holds the id.
fn matching(files: &[PathBuf], wanted: &str) -> Vec<(String, PathBuf)> {
    files
        .iter()
        .filter_map(|path| {
            let stem = path.file_stem()?.to_str()?;
            let id = stem.rsplit_once('_').map_or(stem, |(_, id)| id);
            id.starts_with(wanted)
                .then(|| (id.to_string(), path.clone()))
        })
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect()
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    message: Option<super::wire::RawMessage>,
}

fn summary(path: &Path) -> io::Result<Option<Summary>> {
    let mut file = sm_client::files::open(path)?;
    let metadata = file.metadata()?;
    let mut head = Vec::new();
    file.by_ref().take(LOOK as u64).read_to_end(&mut head)?;
    let size = metadata.len();
    let mut tail = Vec::new();
    if size > LOOK as u64 {
        let from = (size - LOOK as u64).max(LOOK as u64);
        tail.resize(usize::try_from(size - from).unwrap_or(LOOK), 0);
        file.read_exact_at(&mut tail, from)?;
    }
    let mut header = None;
    let mut title = None;
    let mut first_message = None;
    for bytes in head.split(|b| *b == b'\n') {
        if header.is_none() {
            header = serde_json::from_slice::<RawHeader>(bytes)
                .ok()
                .filter(|_| memchr::memmem::find(bytes, b"\"type\":\"session\"").is_some());
        }
        let Ok(line) = serde_json::from_slice::<Line>(bytes) else {
            continue;
        };
        told(&line.kind, line.name, line.title, &mut title);
        if first_message.is_none() {
            first_message = line.message.and_then(super::wire::RawMessage::typed);
        }
    }
    for bytes in tail.split(|b| *b == b'\n') {
        if memchr::memmem::find(bytes, b"\"session_info\"").is_none() {
            continue;
        }
        if let Ok(line) = serde_json::from_slice::<Line>(bytes) {
            told(&line.kind, line.name, line.title, &mut title);
        }
    }
    Ok(header.map(|header: RawHeader| Summary {
        path: path.to_path_buf(),
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        size,
        title,
        first_message: first_message.map(|text: String| short(&text)),
        header: header.into_header(),
    }))
}

fn told(kind: &str, name: Option<String>, line_title: Option<String>, title: &mut Option<String>) {
    let said = match kind {
        "session_info" => name,
        "title" => line_title,
        _ => return,
    };
    *title = said
        .map(|text| text.trim().to_string())
        .filter(|text| !text.is_empty());
}

fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(FIRST_MESSAGE).collect()
}
