//! The last sample of each session that no daemon took: one small file each, replaced by the next.
//!
//! Samples come every moment while an agent works; in the spool of events they would crowd out what
//! must not be lost. Of them only the newest matters, so there is one line for each session and no
//! more, in the spool's own form.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::spool::{Entry, SpoolError, in_folder};
use crate::wire::is_plain_word;

const PREFIX: &str = "latest.";
const KEPT: &str = ".jsonl";
const TAKEN: &str = ".taken";
const UNFINISHED: &str = ".tmp";
/// No status line says so much; more is not kept.
const MAX_BODY: usize = 64 * 1024;
/// A longer name is not one of ours.
const MAX_NAME: usize = 64;

/// The samples kept in one spool folder.
#[derive(Debug, Clone)]
pub struct Latest {
    dir: PathBuf,
}

impl Latest {
    /// `dir` is `Paths::spool_dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Keeps a sample in the place of the one before it.
    pub fn keep(&self, entry: &Entry<'_>) -> Result<(), SpoolError> {
        let session = entry.session;
        if entry.body.len() > MAX_BODY || session.len() > MAX_NAME || !is_plain_word(session) {
            return Ok(());
        }
        let own = std::process::id();
        let unfinished = self
            .dir
            .join(format!("{PREFIX}{session}.{own}{UNFINISHED}"));
        let kept = self.dir.join(format!("{PREFIX}{session}{KEPT}"));
        let write = || {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&unfinished)?;
            file.write_all(entry.line().as_bytes())
        };
        in_folder(&self.dir, write)
            .and_then(|()| fs::rename(&unfinished, &kept))
            .map_err(|error| {
                let _ = fs::remove_file(&unfinished);
                SpoolError::io(&kept, error)
            })
    }

    /// Takes them, in no order: those of an earlier daemon that did not finish among them, unless
    /// there is a newer one. Only the daemon, which is alone, calls this.
    pub fn take(&self) -> Result<Vec<TakenSample>, SpoolError> {
        for (path, session) in self.found(KEPT)? {
            let taken = self.dir.join(format!("{PREFIX}{session}{TAKEN}"));
            fs::rename(&path, &taken).map_err(|error| SpoolError::io(&path, error))?;
        }
        // whoever was writing it has ended, or keeps its next one
        for (path, _) in self.found(UNFINISHED)? {
            let _ = fs::remove_file(path);
        }
        let mut samples = Vec::new();
        for (path, _) in self.found(TAKEN)? {
            let line = fs::read(&path).map_err(|error| SpoolError::io(&path, error))?;
            samples.push(TakenSample { path, line });
        }
        Ok(samples)
    }

    fn found(&self, ending: &str) -> Result<Vec<(PathBuf, String)>, SpoolError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SpoolError::io(&self.dir, error)),
        };
        Ok(entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name();
                let session = name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(ending)?;
                Some((entry.path(), session.to_owned()))
            })
            .collect())
    }
}

/// A sample the daemon has taken.
#[derive(Debug)]
pub struct TakenSample {
    path: PathBuf,
    /// As a line of the spool.
    pub line: Vec<u8>,
}

impl TakenSample {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It is known elsewhere now: removes it.
    pub fn done(self) -> Result<(), SpoolError> {
        fs::remove_file(&self.path).map_err(|error| SpoolError::io(&self.path, error))
    }
}
