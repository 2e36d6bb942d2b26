//! Being told when a file that matters has changed: transcripts, status files, the spool.
//! Only a hint: whoever is told reads the file, and everything is read again at the next probe.

use crate::hub::lock;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use sm_core::SessionId;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tokio::sync::mpsc;

/// Which of its files has changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Changed {
    Transcript(SessionId),
    Status(SessionId),
    Spool,
}

pub struct Watcher {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    watcher: Option<RecommendedWatcher>,
    files: HashMap<PathBuf, Vec<Changed>>,
    folders: HashMap<PathBuf, usize>,
}

impl Watcher {
    /// Without a working watcher everything still works, more slowly.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<PathBuf>) {
        let (tx, rx) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                let _ = tx.send(path);
            }
        });
        let inner = Inner {
            watcher: watcher.ok(),
            ..Inner::default()
        };
        (
            Self {
                inner: Mutex::new(inner),
            },
            rx,
        )
    }

    /// Watches one file, by its folder: the file itself may not exist yet, or be replaced.
    /// True: it is watched from now on, and what was written before has to be read.
    pub fn watch(&self, file: &Path, changed: Changed) -> bool {
        let Some(folder) = file.parent() else {
            return false;
        };
        let mut inner = lock(&self.inner);
        let known = inner.files.entry(file.to_path_buf()).or_default();
        if known.contains(&changed) {
            return false;
        }
        known.push(changed);
        let count = inner.folders.entry(folder.to_path_buf()).or_insert(0);
        *count += 1;
        if *count == 1 {
            let started = match inner.watcher.as_mut() {
                Some(watcher) => watcher.watch(folder, RecursiveMode::NonRecursive).is_ok(),
                None => false,
            };
            if !started {
                // not there yet: asked again at the next hook
                inner.folders.remove(folder);
                inner.files.remove(file);
                return false;
            }
        }
        true
    }

    pub fn unwatch(&self, changed: &Changed) {
        let mut inner = lock(&self.inner);
        let files: Vec<PathBuf> = inner
            .files
            .iter()
            .filter(|(_, whom)| whom.contains(changed))
            .map(|(file, _)| file.clone())
            .collect();
        for file in files {
            if let Some(whom) = inner.files.get_mut(&file) {
                whom.retain(|one| one != changed);
                if whom.is_empty() {
                    inner.files.remove(&file);
                }
            }
            let Some(folder) = file.parent() else {
                continue;
            };
            let left = match inner.folders.get_mut(folder) {
                Some(count) => {
                    *count = count.saturating_sub(1);
                    *count
                }
                None => continue,
            };
            if left == 0 {
                inner.folders.remove(folder);
                if let Some(watcher) = inner.watcher.as_mut() {
                    let _ = watcher.unwatch(folder);
                }
            }
        }
    }

    pub fn whose(&self, file: &Path) -> Vec<Changed> {
        lock(&self.inner)
            .files
            .get(file)
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_comes_later_is_watched_when_it_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("later/transcript.jsonl");
        let whose = Changed::Transcript(SessionId::new("s1").unwrap());
        let (watcher, _events) = Watcher::new();
        assert!(!watcher.watch(&file, whose.clone()), "there is no folder");
        assert!(watcher.whose(&file).is_empty());
        std::fs::create_dir(temp.path().join("later")).unwrap();
        assert!(watcher.watch(&file, whose.clone()));
        assert!(!watcher.watch(&file, whose.clone()), "once is enough");
        assert_eq!(watcher.whose(&file), std::slice::from_ref(&whose));
        watcher.unwatch(&whose);
        assert!(watcher.whose(&file).is_empty());
    }
}
