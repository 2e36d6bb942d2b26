//! Which transcripts there are: those of the agents, and those that handoffs kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sm_agents::kind;
use sm_client::paths::Paths;
use sm_core::AgentKind;

use crate::error::{CommandError, Result};

pub const ENDING: &str = ".jsonl";
/// Folders below folders; the agents use three.
const DEPTH: usize = 8;

/// What can be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Where it was looked for.
    pub looked: Vec<PathBuf>,
    pub transcripts: Vec<PathBuf>,
    /// Per session, in their order.
    pub handoffs: Vec<Vec<Handed>>,
}

/// One handoff, as it was kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Handed {
    pub document: PathBuf,
    /// Of the context that wrote it.
    pub transcript: PathBuf,
}

impl History {
    /// The user's own.
    pub fn own() -> Self {
        let env = |key: &str| std::env::var(key).ok();
        let below = [
            (AgentKind::Claude, "projects"),
            (AgentKind::Codex, "sessions"),
        ];
        let mut history = Self::default();
        for (agent, folder) in below {
            if let Some(home) = kind::agent_home(agent, env) {
                let folder = home.join(folder);
                collect(&folder, DEPTH, &mut history.transcripts);
                history.looked.push(folder);
            }
        }
        if let Ok(paths) = Paths::from_env() {
            history.handoffs = handoffs(&paths.data_dir().join("handoffs"));
        }
        history.transcripts.sort();
        history
    }

    /// Named files, in their order, and everything below named folders.
    pub fn of(paths: &[PathBuf]) -> Result<Self> {
        let mut history = Self::default();
        for path in paths {
            let kind =
                fs::metadata(path).map_err(|error| CommandError::file(path, "read", &error))?;
            history.looked.push(path.clone());
            if kind.is_dir() {
                let mut found = Vec::new();
                collect(path, DEPTH, &mut found);
                found.sort();
                history.transcripts.extend(found);
                history.handoffs.extend(handoffs(path));
            } else {
                history.transcripts.push(path.clone());
            }
        }
        Ok(history)
    }
}

/// Links to folders are not followed: they may lead back.
fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, found);
            }
        } else if path.to_string_lossy().ends_with(ENDING) && !is_kept(&path) {
            found.push(path);
        }
    }
}

const KEPT: &str = "transcript.jsonl";
const DOCUMENT: &str = "document.md";

/// What a handoff kept is a copy of a transcript that stands elsewhere.
fn is_kept(path: &Path) -> bool {
    path.ends_with(KEPT) && path.with_file_name(DOCUMENT).exists()
}

/// The folders are called `<session>-<YYYYMMDD>-<HHMMSS>`, so that names sort by time.
fn handoffs(base: &Path) -> Vec<Vec<Handed>> {
    let mut sessions: BTreeMap<String, BTreeMap<String, Handed>> = BTreeMap::new();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let folder = entry.path();
        let handed = Handed {
            document: folder.join(DOCUMENT),
            transcript: folder.join(KEPT),
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut parts = name.rsplitn(3, '-');
        if let (Some(time), Some(day), Some(session)) = (parts.next(), parts.next(), parts.next())
            && handed.document.is_file()
            && handed.transcript.is_file()
        {
            let when = format!("{day}-{time}");
            sessions
                .entry(session.to_owned())
                .or_default()
                .insert(when, handed);
        }
    }
    sessions
        .into_values()
        .map(|session| session.into_values().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
        path
    }

    #[test]
    fn transcripts_and_handoffs_below_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let two = file(at("b/deep/two.jsonl"));
        let one = file(at("a/one.jsonl"));
        file(at("a/notes.txt"));
        for folder in [
            "api-20260301-120000",
            "api-20260228-120000",
            "api-v2-20260301-110000",
        ] {
            file(at(folder).join(DOCUMENT));
            file(at(folder).join(KEPT));
        }
        file(at("api-20260302-120000").join(DOCUMENT)); // no transcript
        let own = file(at("c").join(KEPT)); // no handoff's
        let history = History::of(&[dir.path().to_owned()]).unwrap();
        assert_eq!(history.transcripts, [one.clone(), two, own]);
        let handed = |folder: &str| at(folder).join(DOCUMENT);
        let documents: Vec<Vec<&PathBuf>> = (history.handoffs.iter())
            .map(|session| session.iter().map(|handed| &handed.document).collect())
            .collect();
        assert_eq!(
            documents,
            [
                vec![
                    &handed("api-20260228-120000"),
                    &handed("api-20260301-120000")
                ],
                vec![&handed("api-v2-20260301-110000")],
            ]
        );
        let named = History::of(std::slice::from_ref(&one)).unwrap();
        assert_eq!((named.transcripts, named.handoffs), (vec![one], vec![]));
        assert!(History::of(&[at("nowhere")]).is_err());
    }
}
