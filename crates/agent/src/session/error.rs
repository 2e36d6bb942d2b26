//! What can go wrong with a session file, in words for the person.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("no session file at {}", .0.display())]
    Missing(PathBuf),
    #[error("{} is not a session file: {cause}", path.display())]
    NotASession { path: PathBuf, cause: &'static str },
    #[error(
        "{} has session format {found}, newer than the {} that is known here: open it with the program that wrote it",
        path.display(), super::VERSION
    )]
    Newer { path: PathBuf, found: u64 },
    #[error("{} is in use by process {pid}: end that first, or start a new session", path.display())]
    InUse { path: PathBuf, pid: u32 },
    #[error("{} is in use by another process: end that first, or start a new session", path.display())]
    InUseBySomeone { path: PathBuf },
    #[error("{} was removed while it was in use: nothing more is kept of this session", .0.display())]
    Removed(PathBuf),
    #[error("no session is called {0:?} here")]
    Unknown(String),
    #[error("{name:?} fits {count} sessions, among them {first} and {second}: give more of its id", count = .count)]
    Ambiguous {
        name: String,
        count: usize,
        first: String,
        second: String,
    },
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl SessionError {
    /// For `map_err`: what was being done, to what.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}
