//! The archive of a log that no daemon looks after: what `sm run` has written down.
//!
//! The same text in the same place beside it, rendered by whoever asks, one at a time.

use super::notes::{Begins, generations};
use super::place::Folder;
use super::read::{Raw, Span, Texts};
use super::render::{self, Caught};
use super::search::{Search, Wanted};
use sm_term::Size;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Of a terminal about which nothing is noted.
const ASSUMED: (u16, u16) = (80, 24);

/// Another that renders a large log may take a while; one that is stopped would take for ever.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// One log, up to date when it is opened.
pub struct Local {
    folder: Folder,
    caught: Caught,
}

impl Local {
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = Folder::new(path.to_path_buf());
        let _one_at_a_time = lock(&folder, LOCK_PATIENCE)?;
        let (cols, rows) = ASSUMED;
        let caught = render::catch_up(&folder, Size::new(cols, rows))?;
        Ok(Self { folder, caught })
    }

    /// `None`: there is no such generation.
    pub fn texts(&self, generation: Option<u32>) -> Option<Texts> {
        let span = self.span(generation)?;
        Some(Texts::new(&self.folder, &self.caught, span))
    }

    /// The bytes of the terminal.
    pub fn raw(&self, generation: Option<u32>) -> Option<Raw> {
        Some(Raw::new(&self.folder, self.span(generation)?))
    }

    pub fn search(&self, wanted: Wanted, generation: Option<u32>) -> Option<Search> {
        let span = self.span(generation)?;
        Some(Search::new(&self.folder, &self.caught, span, wanted))
    }

    fn span(&self, generation: Option<u32>) -> Option<Span> {
        Span::of(&generations(&self.folder), generation)
    }

    /// The last one, from 1.
    pub fn last_generation(&self) -> u32 {
        let last = |begins: Vec<Begins>| begins.last().map(|b| b.generation);
        last(generations(&self.folder)).unwrap_or(1)
    }

    /// Which files hold it: the text, and the bytes.
    pub fn files(&self) -> [PathBuf; 2] {
        [
            self.folder.archive().join("*.txt"),
            self.folder.path().join("terminal.*.log"),
        ]
    }
}

/// Until it is dropped.
fn lock(folder: &Folder, patience: Duration) -> io::Result<File> {
    folder.make_archive()?;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.archive().join("lock"))?;
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(LOOK_AGAIN);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    format!(
                        "another sm has been reading it for {} s; is it stopped?",
                        patience.as_secs()
                    ),
                ));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_who_stands_still_is_not_waited_for_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().to_path_buf());
        let held = lock(&folder, Duration::ZERO).unwrap();
        let refused = lock(&folder, Duration::from_millis(50)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert!(refused.to_string().contains("is it stopped?"), "{refused}");
        drop(held);
        lock(&folder, Duration::ZERO).unwrap();
    }

    #[test]
    fn whoever_is_done_lets_the_next_one_in() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().to_path_buf());
        let held = lock(&folder, Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| lock(&folder, LOCK_PATIENCE).map(drop));
            drop(held);
            next.join().unwrap().unwrap();
        });
    }
}
