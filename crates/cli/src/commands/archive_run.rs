//! `sm archive run-…`: what an agent under `sm run` has shown. Asks no daemon, as there may be none.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use jiff::Timestamp;
use sm_client::Paths;
use sm_daemon::api::types::FoundView;
use sm_daemon::archive::{Found, Local, Search, Wanted};

use super::archive::print_text;
use crate::error::{CommandError, ExitCode, Result};
use crate::print::Printer;
use crate::text::one_line;

/// How the folders of runs begin.
pub const RUN: &str = sm_client::wire::RUN_PREFIX;

/// One run's log, by its name: a beginning is enough, and `run-` is the newest.
pub struct RunLog {
    name: String,
    log: Local,
}

impl RunLog {
    /// `None`: that is no name of a run.
    pub fn named(word: &str) -> Result<Option<Self>> {
        if !word.starts_with(RUN) {
            return Ok(None);
        }
        let paths =
            Paths::from_env().map_err(|error| CommandError::not_usable(error.to_string()))?;
        let mut runs = runs(&paths);
        runs.retain(|(name, ..)| name.starts_with(word));
        if word != RUN && runs.len() > 1 {
            let some: Vec<&str> = runs
                .iter()
                .take(5)
                .map(|(name, ..)| name.as_str())
                .collect();
            return Err(
                CommandError::refused(format!("{} runs begin with {word}", runs.len()))
                    .hint(format!("the newest: {}", some.join(", "))),
            );
        }
        let Some((name, path, _)) = runs.into_iter().next() else {
            // A session may be called so, too.
            return Ok(None);
        };
        let log = Local::open(&path).map_err(|error| broken(&name, &error))?;
        Ok(Some(Self { name, log }))
    }

    pub fn print(&self, generation: Option<u32>, out: &mut Printer) -> Result<ExitCode> {
        let mut texts = self.wanted(self.log.texts(generation), generation)?;
        print_text(|| self.piece(texts.next_piece()), out)?;
        Ok(ExitCode::SUCCESS)
    }

    pub fn print_raw(&self, generation: Option<u32>, out: &mut Printer) -> Result<ExitCode> {
        let mut raw = self.wanted(self.log.raw(generation), generation)?;
        while let Some(piece) = self.piece(raw.next_piece())? {
            out.bytes(&piece)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn piece(&self, read: io::Result<Vec<u8>>) -> Result<Option<Vec<u8>>> {
        let piece = read.map_err(|error| broken(&self.name, &error))?;
        Ok((!piece.is_empty()).then_some(piece))
    }

    pub fn print_files(&self, out: &mut Printer) -> Result<ExitCode> {
        for path in self.log.files() {
            out.line(&one_line(&path.to_string_lossy()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What matches, one after the other.
    pub fn search(&self, wanted: Wanted, generation: Option<u32>) -> Result<Matches<'_>> {
        let search = self.wanted(self.log.search(wanted, generation), generation)?;
        Ok(Matches {
            name: &self.name,
            search,
            found: Vec::new().into_iter(),
        })
    }

    fn wanted<T>(&self, found: Option<T>, generation: Option<u32>) -> Result<T> {
        found.ok_or_else(|| {
            let wanted = generation.unwrap_or_default();
            CommandError::refused(format!("{} has no generation {wanted}", self.name))
                .hint(format!("the last one is {}", self.log.last_generation()))
        })
    }
}

pub struct Matches<'a> {
    name: &'a str,
    search: Search,
    found: std::vec::IntoIter<Found>,
}

impl Matches<'_> {
    pub fn next(&mut self) -> Result<Option<FoundView>> {
        loop {
            if let Some(found) = self.found.next() {
                let at = found.at.and_then(|at| Timestamp::from_millisecond(at).ok());
                return Ok(Some(FoundView {
                    line: found.line,
                    generation: found.generation,
                    at: at.map(|at| at.to_string()),
                    matches: found.is_match,
                    text: found.text,
                }));
            }
            match self.search.next_found() {
                Ok(Some(found)) => self.found = found.into_iter(),
                Ok(None) => return Ok(None),
                Err(error) => return Err(broken(self.name, &error)),
            }
        }
    }
}

/// Name, folder and last change of every run that is written down, the newest first.
fn runs(paths: &Paths) -> Vec<(String, PathBuf, SystemTime)> {
    let entries = std::fs::read_dir(paths.sessions_dir())
        .into_iter()
        .flatten();
    let mut runs: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let changed = last_shown(&entry.path())?;
            name.starts_with(RUN).then(|| (name, entry.path(), changed))
        })
        .collect();
    runs.sort_by_key(|(_, _, changed)| std::cmp::Reverse(*changed));
    runs
}

/// Of the log: the archive beside it is made when somebody asks for it.
fn last_shown(folder: &std::path::Path) -> Option<SystemTime> {
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let logs = files.filter(|file| file.path().extension().is_some_and(|ext| ext == "log"));
    logs.filter_map(|file| file.metadata().ok()?.modified().ok())
        .max()
}

fn broken(name: &str, error: &io::Error) -> CommandError {
    CommandError::refused(format!("the archive of {name} cannot be read: {error}")).hint(
        "look at the permissions of its folder and at the free disk space; the raw log is untouched",
    )
}
