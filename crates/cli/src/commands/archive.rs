//! `sm archive`.

use std::io::IsTerminal;

use clap::{Args, Subcommand};
use serde_json::Value;
use sm_client::http::{HttpError, Line, Lines};
use sm_daemon::api::types::FoundView;
use sm_daemon::archive::Wanted;

use super::archive_run::RunLog;
use crate::client::{ArchiveSearch, Daemon};
use crate::error::{CommandError, ExitCode, Result};
use crate::print::Printer;
use crate::text::{Look, Tone, many_lines, one_line};

/// Prints everything that a session's terminal has ever shown, as readable text.
///
/// It is complete from the first byte, whatever the terminal itself still remembers, and goes on
/// over handoffs: each generation is one context of the agent.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = false)]
pub struct Archive {
    /// The session; or `run-…` for what an agent under `sm run` has shown, `run-` for the newest.
    session: String,
    /// Only this generation.
    #[arg(long, value_name = "N", global = true)]
    generation: Option<u32>,
    /// The bytes as the terminal got them.
    #[arg(long)]
    raw: bool,
    /// Only say which files hold it, for `grep -a`: the text, and the bytes.
    #[arg(long, conflicts_with = "raw")]
    path: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Grep(Grep),
}

/// Searches it; each line that matches with its generation and the time it was written.
///
/// Exit code 1 if nothing was found.
#[derive(Debug, Args)]
struct Grep {
    /// A regular expression.
    pattern: String,
    /// Upper and lower case are the same.
    #[arg(long, short)]
    ignore_case: bool,
    /// So many lines before and after each match.
    #[arg(long, short = 'C', value_name = "N", default_value_t = 0)]
    context: usize,
    /// As JSON, one object a line: `{line, generation, at, match, text}`.
    #[arg(long)]
    json: bool,
}

impl Archive {
    pub fn run(self, out: &mut Printer) -> Result<ExitCode> {
        if let Some(log) = RunLog::named(&self.session)? {
            return self.of_run(&log, out);
        }
        let daemon = Daemon::open()?;
        if let Some(Command::Grep(grep)) = &self.command {
            return grep.run(&daemon, &self, out);
        }
        if self.path {
            let about = daemon.archive_about(&self.session)?.value;
            for path in [&about.text, &about.raw] {
                out.line(&one_line(path))?;
            }
        } else if self.raw {
            no_raw_bytes_here()?;
            let mut pieces = daemon.archive(&self.session, self.generation, true)?;
            while let Some(piece) = piece(&mut pieces)? {
                out.bytes(&piece)?;
            }
        } else {
            let mut pieces = daemon.archive(&self.session, self.generation, false)?;
            print_text(|| piece(&mut pieces), out)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The same of what no daemon knows.
    fn of_run(&self, log: &RunLog, out: &mut Printer) -> Result<ExitCode> {
        if let Some(Command::Grep(grep)) = &self.command {
            return grep.of_run(log, self.generation, out);
        }
        if self.path {
            return log.print_files(out);
        }
        if self.raw {
            no_raw_bytes_here()?;
            return log.print_raw(self.generation, out);
        }
        log.print(self.generation, out)
    }
}

impl Grep {
    fn run(&self, daemon: &Daemon, archive: &Archive, out: &mut Printer) -> Result<ExitCode> {
        let wanted = ArchiveSearch {
            pattern: &self.pattern,
            ignore_case: self.ignore_case,
            context: self.context,
            generation: archive.generation,
        };
        let mut lines = daemon.archive_search(&archive.session, &wanted)?;
        let mut last = None;
        let mut found = ExitCode::FAILURE;
        loop {
            let line = match lines.next(None).map_err(|error| broken(&error))? {
                Line::Text(line) => line,
                Line::Quiet => continue,
                Line::End => return Ok(found),
            };
            let strange = |_| CommandError::not_usable("the daemon's answer is not understood");
            let json: Value = serde_json::from_str(&line).map_err(strange)?;
            found = ExitCode::SUCCESS;
            if self.json {
                out.json_line(&json)?;
                continue;
            }
            let line: FoundView = serde_json::from_value(json).map_err(strange)?;
            self.show(&line, &mut last, out)?;
        }
    }

    fn of_run(&self, log: &RunLog, generation: Option<u32>, out: &mut Printer) -> Result<ExitCode> {
        let wanted = Wanted::new(&self.pattern, self.ignore_case, self.context).map_err(|why| {
            CommandError::refused(format!("that pattern cannot be searched for: {why}"))
                .hint("it is a regular expression: put a backslash before a character like ( or *")
        })?;
        let mut matches = log.search(wanted, generation)?;
        let mut last = None;
        let mut found = ExitCode::FAILURE;
        while let Some(line) = matches.next()? {
            found = ExitCode::SUCCESS;
            if self.json {
                let json = serde_json::to_value(&line).map_err(|error| {
                    CommandError::refused(format!("cannot write JSON: {error}"))
                })?;
                out.json_line(&json)?;
                continue;
            }
            self.show(&line, &mut last, out)?;
        }
        Ok(found)
    }

    /// `last`: the line before it.
    fn show(&self, line: &FoundView, last: &mut Option<u64>, out: &mut Printer) -> Result<()> {
        if self.context > 0 && last.is_some_and(|last| last + 1 < line.line) {
            out.line(&out.look.paint(Tone::Dim, "--"))?;
        }
        *last = Some(line.line);
        let shown = render(&out.look, line);
        out.line(&shown)
    }
}

/// Whole lines at a time: a piece may end anywhere, also inside a character.
pub(super) fn print_text(
    mut next: impl FnMut() -> Result<Option<Vec<u8>>>,
    out: &mut Printer,
) -> Result<()> {
    let mut unfinished = Vec::new();
    while let Some(piece) = next()? {
        unfinished.extend(piece);
        let whole = unfinished.iter().rposition(|byte| *byte == b'\n');
        let rest = unfinished.split_off(whole.map_or(0, |last| last + 1));
        out.text(&many_lines(&String::from_utf8_lossy(&unfinished)))?;
        unfinished = rest;
    }
    out.text(&many_lines(&String::from_utf8_lossy(&unfinished)))
}

fn no_raw_bytes_here() -> Result<()> {
    if std::io::stdout().is_terminal() {
        return Err(CommandError::refused(
            "the raw bytes of a terminal would do to this one what they did to that one",
        )
        .hint("write them into a file, or leave out --raw to read text"));
    }
    Ok(())
}

fn render(look: &Look, found: &FoundView) -> String {
    let at = found
        .at
        .as_deref()
        .map_or_else(String::new, |at| look.clock(at));
    let head = look.paint(Tone::Dim, &format!("{}  {at:>8}", found.generation));
    let text = one_line(&found.text);
    let text = match found.matches {
        true => text,
        false => look.paint(Tone::Dim, &text),
    };
    format!("{head}  {text}").trim_end().to_owned()
}

fn piece(pieces: &mut Lines) -> Result<Option<Vec<u8>>> {
    let piece = pieces.piece().map_err(|error| broken(&error))?;
    Ok((!piece.is_empty()).then_some(piece))
}

/// What came so far is printed, and is not all.
fn broken(error: &HttpError) -> CommandError {
    CommandError::not_usable(format!("the archive broke off: {error}"))
        .hint("what is above is not all of it; repeat it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::look;

    #[test]
    fn one_line_a_match() {
        let found = |at: Option<&str>, text: &str| FoundView {
            line: 7,
            generation: 2,
            at: at.map(str::to_owned),
            matches: true,
            text: text.to_owned(),
        };
        let show = |found| render(&look(), &found);
        insta::assert_snapshot!(show(found(Some("2026-03-01T11:00:07Z"), "  the needle")), @"2  11:00:07    the needle");
        insta::assert_snapshot!(show(found(Some("2026-02-27T09:00:07Z"), "older")), @"2  2026-02-27 09:00:07  older");
        insta::assert_snapshot!(show(found(None, "no one knows when\x1b[2J")), @"2            no one knows when[2J");
    }
}
