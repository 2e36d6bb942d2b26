//! Being told when a file that matters has changed: transcripts, status files, the spool.
//! Only a hint: whoever is told reads the file, and everything is read again at the next probe.

use crate::hub::lock;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use sm_core::SessionId;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
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
    /// A lock of its own, never held while the watcher is told something: the watcher asks here
    /// whether anybody wants to know of a file, from the thread that would have to listen.
    files: Arc<Mutex<Files>>,
}

type Files = HashMap<PathBuf, Vec<Changed>>;

#[derive(Default)]
struct Inner {
    watcher: Option<RecommendedWatcher>,
    folders: HashMap<PathBuf, usize>,
}

impl Watcher {
    /// Without a working watcher everything still works, more slowly.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<PathBuf>) {
        let (tx, rx) = mpsc::unbounded_channel();
        let files = Arc::new(Mutex::new(Files::default()));
        let known = Arc::clone(&files);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                if lock(&known).contains_key(&path) {
                    let _ = tx.send(path);
                }
            }
        });
        let inner = Inner {
            watcher: watcher.ok(),
            ..Inner::default()
        };
        (
            Self {
                inner: Mutex::new(inner),
                files,
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
        {
            let mut files = lock(&self.files);
            let known = files.entry(file.to_path_buf()).or_default();
            if known.contains(&changed) {
                return false;
            }
            known.push(changed);
        }
        let count = inner.folders.entry(folder.to_path_buf()).or_insert(0);
        *count += 1;
        if *count == 1 {
            // asked at every hook until it is there: the watcher would have to be waited for
            let started = match inner.watcher.as_mut().filter(|_| folder.is_dir()) {
                Some(watcher) => watcher.watch(folder, RecursiveMode::NonRecursive).is_ok(),
                None => false,
            };
            if !started {
                // not there yet: asked again at the next hook
                inner.folders.remove(folder);
                lock(&self.files).remove(file);
                return false;
            }
        }
        true
    }

    pub fn unwatch(&self, changed: &Changed) {
        let mut inner = lock(&self.inner);
        let mut gone = Vec::new();
        lock(&self.files).retain(|file, whom| {
            if whom.contains(changed) {
                gone.push(file.clone());
                whom.retain(|one| one != changed);
            }
            !whom.is_empty()
        });
        for file in gone {
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
        lock(&self.files).get(file).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_files_that_somebody_asked_for_are_told() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap();
        let file = folder.join("b.jsonl");
        let (watcher, mut events) = Watcher::new();
        assert!(watcher.watch(&file, Changed::Spool));
        std::fs::write(folder.join("a.new"), "x").unwrap();
        std::fs::write(&file, "x").unwrap();
        let told = tokio::time::timeout(std::time::Duration::from_secs(20), events.recv()).await;
        assert_eq!(told.unwrap(), Some(file));
    }

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
