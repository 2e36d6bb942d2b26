//! Pins of sessions and projects, put together for a context: the session's own are in its record,
//! a project's in a file of its folder.
//!
//! The file is read anew each time, bounded, and never written here. No secret is told.

use crate::handoff;
use sm_client::repository;
use sm_core::Record;
use sm_core::pins::{FILE, PinRefusal, of_file};
use sm_ledger::redact::{find, redact};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of a project's file.
pub const MOST_BYTES: u64 = 64 * 1024;
/// Folders above the working directory that are looked into.
const HIGHEST: usize = 32;

/// A project's pins, and the file they are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub file: PathBuf,
    pub pins: Vec<String>,
}

/// The folder of the project that a path lies in: inside of a repository the nearest that has a
/// file with pins, else its root. Elsewhere the path itself: what lies above is anybody's.
pub fn project_folder(cwd: &Path) -> PathBuf {
    let above = || cwd.ancestors().take(HIGHEST);
    let Some(root) = repository::root_of(cwd) else {
        return cwd.to_path_buf();
    };
    let mut within = above().filter(|folder| folder.starts_with(root));
    let named = within.find(|folder| folder.join(FILE).is_file());
    named.unwrap_or(root).to_path_buf()
}

/// May wait for a disk. Nothing there: no pins.
pub fn of_project(cwd: &Path) -> Project {
    let file = project_folder(cwd).join(FILE);
    let text = handoff::read(&file.to_string_lossy(), MOST_BYTES);
    let pins = text.map(|document| of_file(&document.text));
    Project {
        file,
        pins: pins.unwrap_or_default(),
    }
}

/// A secret is not pinned: it would stand in every context.
pub fn without_secrets(text: &str) -> Result<(), PinRefusal> {
    match find(text).first() {
        Some(secret) => Err(PinRefusal::Secret(secret.rule)),
        None => Ok(()),
    }
}

/// Everything that a context of this session is told, its own first.
pub async fn told(record: &Record, patience: Duration) -> Vec<String> {
    let cwd = PathBuf::from(&record.cwd);
    let reading = tokio::task::spawn_blocking(move || of_project(&cwd).pins);
    let project = match tokio::time::timeout(patience, reading).await {
        Ok(Ok(pins)) => pins,
        // a file system that does not answer holds up nobody
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let mut all: Vec<String> = Vec::new();
    for pin in record.pins.iter().cloned().chain(project) {
        let pin = redact(&pin).text.into_owned();
        if !all.contains(&pin) {
            all.push(pin);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_pins_are_found_from_below_and_not_above_its_root() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("repo/.git")).unwrap();
        std::fs::create_dir_all(at("plain/a")).unwrap();
        assert_eq!(project_folder(&at("repo/a")), at("repo/a"), "no repository");
        std::fs::write(at("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir_all(at("repo/a/b/.sm")).unwrap();
        std::fs::create_dir_all(at(".sm")).unwrap();
        std::fs::write(at(".sm/pins.md"), "- of nobody here\n").unwrap();
        assert_eq!(project_folder(&at("repo/a")), at("repo"));
        assert!(of_project(&at("repo/a")).pins.is_empty());
        assert!(of_project(&at("plain/a")).pins.is_empty());
        assert_eq!(of_project(dir.path()).pins, ["of nobody here"]);
        std::fs::create_dir_all(at("repo/.sm")).unwrap();
        std::fs::write(at("repo/.sm/pins.md"), "- never touch prod\n").unwrap();
        assert_eq!(of_project(&at("repo/a/b")).pins, ["never touch prod"]);
        std::fs::write(at("repo/a/b/.sm/pins.md"), "- nearer\n").unwrap();
        assert_eq!(of_project(&at("repo/a/b")).pins, ["nearer"]);
        assert_eq!(of_project(&at("repo/a")).pins, ["never touch prod"]);
        std::fs::write(at("repo/.sm/pins.md"), vec![b'x'; 70_000]).unwrap();
        assert!(of_project(&at("repo/a")).pins.is_empty());
    }
}
