//! How far the journal had come, beside the database and outside of its log.
//!
//! SQLite takes a log up to the first frame that is not as it was written, and says nothing of what
//! stood behind it: after damage, a cut or a removed log the database is whole and merely older. The
//! numbers of the last event and message that were committed are therefore kept in a file of their
//! own. It is written after the commit and never synced, so it may be older than the database, and is
//! never newer than what was committed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::files;
use crate::{Commit, Loaded, MessageChange};

pub(super) const SUFFIX: &str = "-mark";
/// Two numbers of fixed width: a new one overwrites the old one in place, also on a full disk.
const LENGTH: usize = 42;

/// No journal gets so far, and every reader of JSON still tells such numbers apart.
const LARGEST: i64 = 1 << 53;

/// The highest numbers that were committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub event: i64,
    pub message: i64,
}

impl Numbers {
    pub fn of(loaded: &Loaded) -> Self {
        Self {
            event: loaded.last_event,
            message: loaded.last_message,
        }
    }

    fn with(self, commit: &Commit) -> Self {
        let event = commit.events.iter().map(|row| row.seq).max();
        let message = commit
            .messages
            .iter()
            .filter_map(|change| match change {
                MessageChange::Insert(row) => Some(row.seq),
                MessageChange::Update(_) => None,
            })
            .max();
        self.max(Self {
            event: event.unwrap_or(0),
            message: message.unwrap_or(0),
        })
    }

    pub fn max(self, other: Self) -> Self {
        Self {
            event: self.event.max(other.event),
            message: self.message.max(other.message),
        }
    }
}

/// The mark of an open database.
#[derive(Debug)]
pub(super) struct Mark {
    /// None: it cannot be written, and a journal that is older will not be noticed.
    file: Option<File>,
    numbers: Numbers,
}

impl Mark {
    /// From now on for this database, which has come so far.
    pub fn open(database: &Path, numbers: Numbers) -> Self {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(files::MODE)
            .open(files::beside(database, SUFFIX))
            .ok();
        let mark = Self { file, numbers };
        mark.write();
        mark
    }

    /// These were committed.
    pub fn advance(&mut self, commits: &[Commit]) {
        let numbers = commits.iter().fold(self.numbers, Numbers::with);
        if numbers != self.numbers {
            self.numbers = numbers;
            self.write();
        }
    }

    fn write(&self) {
        let Numbers { event, message } = self.numbers;
        let text = format!("{event:020} {message:020}\n");
        if let Some(file) = &self.file {
            // Best effort: without it a later loss is not noticed, which is no reason to stop.
            let _ = file.write_all_at(text.as_bytes(), 0);
        }
    }
}

/// What was written there; nothing where there is none or it makes no sense.
pub(super) fn read(database: &Path) -> Option<Numbers> {
    let mut bytes = [0; LENGTH];
    let file = File::open(files::beside(database, SUFFIX)).ok()?;
    file.read_exact_at(&mut bytes, 0).ok()?;
    let (event, message) = std::str::from_utf8(&bytes)
        .ok()?
        .trim_end()
        .split_once(' ')?;
    let numbers = Numbers {
        event: event.parse().ok()?,
        message: message.parse().ok()?,
    };
    let is_possible = |number| (0..LARGEST).contains(&number);
    (is_possible(numbers.event) && is_possible(numbers.message)).then_some(numbers)
}
