//! `sm ledger`.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use sm_ledger::dialect::Stats;
use sm_ledger::{Dialect, Frame, Ledger as Known, document, whole};

use crate::client::Daemon;
use crate::error::{CommandError, Result};
use crate::print::Printer;
use crate::text::many_lines;

/// Prints what sm knows of a context, as a document for whoever goes on from it.
///
/// It is written from the transcript alone, without a model: what people said word for word, the
/// plan, files, commands with their outcome, what fails, names, what is under way. It is kept for
/// every claude and codex session at every moment, and is still there when its agent is not.
#[derive(Debug, Args)]
pub struct Ledger {
    /// The session; inside a session: itself.
    #[arg(conflicts_with = "transcript")]
    session: Option<String>,
    /// Of this transcript instead (Claude Code, Codex, pi and omp); needs no daemon.
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// As it was after so many lines of the transcript.
    #[arg(
        long,
        value_name = "N",
        requires = "transcript",
        conflicts_with = "session"
    )]
    until_line: Option<u64>,
    /// Of this generation of the session.
    #[arg(long, value_name = "N", conflicts_with = "transcript")]
    generation: Option<u32>,
    /// The most characters that the document may have, from 1000 to 50000.
    #[arg(long, value_name = "CHARS", default_value_t = 9_500, value_parser = clap::value_parser!(u32).range(1_000..=50_000))]
    budget: u32,
    /// As JSON: the document in `text`, and where it is from.
    #[arg(long)]
    json: bool,
}

impl Ledger {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        match &self.transcript {
            Some(file) => self.of_file(file, out),
            None => self.of_session(out),
        }
    }

    fn of_session(&self, out: &mut Printer) -> Result<()> {
        let daemon = Daemon::open()?;
        let named = daemon.session_or_own(self.session.as_deref(), "sm ledger <session>")?;
        let ledger = daemon.ledger(&named, self.budget, self.generation)?;
        if self.json {
            return out.json(&ledger.json);
        }
        out.text(&many_lines(&ledger.value.text))
    }

    fn of_file(&self, file: &Path, out: &mut Printer) -> Result<()> {
        let read = read(file, self.until_line)?;
        let frame = Frame {
            rest: Some(file.display().to_string()),
            ..Frame::default()
        };
        let budget = usize::try_from(self.budget).unwrap_or(usize::MAX);
        let text = document(&read.known, &frame, budget);
        if self.json {
            let last_at = read.known.time.map(|at| at.0);
            let last_at = last_at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
            return out.json(&json!({
                "transcript_path": file.display().to_string(),
                "dialect": read.dialect,
                "lines": read.stats.lines,
                "broken": read.stats.broken,
                "too_long": read.stats.too_long,
                "last_at": last_at.map(|at| at.to_string()),
                "text": text,
            }));
        }
        out.text(&many_lines(&text))
    }
}

struct Transcript {
    dialect: Dialect,
    stats: Stats,
    known: Known,
}

/// Reads it piece by piece; a last line that lacks its end is taken as it is.
fn read(path: &Path, until: Option<u64>) -> Result<Transcript> {
    let failed = |error: &std::io::Error| CommandError::file(path, "read", error);
    if path.is_dir() {
        return Err(CommandError::refused(format!(
            "{} is a directory, not a transcript",
            path.display()
        )));
    }
    let mut file = sm_client::files::open(path).map_err(|error| failed(&error))?;
    let mut known = Known::default();
    let read = whole(
        None,
        until.unwrap_or(u64::MAX),
        |buffer| file.read(buffer).map_err(|error| failed(&error)),
        &mut |at, record| known.add(at, &record),
    )?;
    match read {
        Some((dialect, stats)) => Ok(Transcript {
            dialect,
            stats,
            known,
        }),
        None => Err(CommandError::refused(format!(
            "{} is no transcript that sm knows",
            path.display()
        ))
        .hint("it reads those of Claude Code, Codex, pi and omp: one JSON object a line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: u32) -> String {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"directive number {n}\"}}}}"
        )
    }

    #[test]
    fn a_transcript_is_read_up_to_a_line_and_to_its_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, [line(1), line(2), line(3)].join("\n")).unwrap();
        for (until, said) in [(None, 3), (Some(2), 2), (Some(0), 0), (Some(9), 3)] {
            let read = read(&path, until).unwrap();
            assert_eq!(read.dialect, Dialect::Claude);
            assert_eq!(read.known.people.said.len(), said, "{until:?}");
        }
    }

    #[test]
    fn what_is_no_transcript_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.md");
        assert!(read(&path, None).is_err(), "not there");
        std::fs::write(&path, "# Notes\n").unwrap();
        let error = read(&path, None).err().unwrap();
        assert!(error.message.contains("no transcript"), "{}", error.message);
        assert!(read(dir.path(), None).is_err());
    }
}
