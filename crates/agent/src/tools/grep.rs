//! Searching the contents of files.

use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::overrides::Override;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ToolContext;
use super::args::Args;
use super::find::folder;
use super::outcome::{ToolOutcome, Trickle, streaming};
use super::paths;
use super::walk::{self, Ended, Next, Stop};

const DEFAULT: u64 = 100;
const MOST: u64 = 2_000;
const MOST_CONTEXT: u64 = 50;
const MOST_BYTES: usize = 50_000;
/// How much of a line is told.
const LONGEST_LINE: usize = 500;
/// Larger files are passed over, and that is said.
const LARGEST: u64 = 32_000_000;
/// What a regular expression may take once it is understood.
const LARGEST_PATTERN: usize = 4 << 20;
/// How much of a file tells whether it is binary.
const LOOK: usize = 8 << 10;

pub(super) async fn run(
    args: Args<'_>,
    context: &mut ToolContext<'_>,
) -> Result<ToolOutcome, String> {
    let cwd = context.cwd.to_path_buf();
    let pattern = args.text("pattern")?;
    if pattern.is_empty() {
        return Err(args.complaint("pattern", "must not be empty"));
    }
    let root = folder(args, &cwd)?;
    let mut search = Search {
        regex: regex(pattern, args.flag("literal")?, args.flag("ignore_case")?)?,
        context: args.maybe_count("context")?.unwrap_or(0).min(MOST_CONTEXT) as usize,
        limit: args.maybe_count("limit")?.unwrap_or(DEFAULT).min(MOST),
        glob: args
            .maybe_text("glob")?
            .filter(|glob| !glob.is_empty())
            .map(|glob| walk::glob(&root, glob))
            .transpose()?,
        cwd,
        root,
        found: 0,
        files: 0,
        too_large: 0,
        text: String::new(),
    };
    let cancel = context.cancel.clone();
    streaming(context, move |trickle| search.run(&cancel, trickle)).await
}

fn regex(pattern: &str, literal: bool, ignore_case: bool) -> Result<Regex, String> {
    let source = if literal {
        regex::escape(pattern)
    } else {
        pattern.to_string()
    };
    RegexBuilder::new(&source)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(LARGEST_PATTERN)
        .build()
        .map_err(|error| {
            format!(
                "the pattern is not understood: {}; for plain text set literal",
                paths::cut(&error.to_string(), 500)
            )
        })
}

struct Search {
    regex: Regex,
    context: usize,
    limit: u64,
    glob: Option<Override>,
    cwd: PathBuf,
    root: PathBuf,
    found: u64,
    files: u64,
    too_large: u64,
    text: String,
}

impl Search {
    fn run(
        &mut self,
        cancel: &CancellationToken,
        mut trickle: Trickle,
    ) -> Result<ToolOutcome, String> {
        let root = self.root.clone();
        let metadata =
            std::fs::metadata(&root).map_err(|error| paths::trouble(&self.cwd, &root, &error))?;
        let stop = Stop::new(cancel);
        let ended = if metadata.is_dir() {
            walk::walk(&root, &stop, |entry| {
                let file = entry.file_type().is_some_and(|kind| kind.is_file());
                let wanted = self
                    .glob
                    .as_ref()
                    .is_none_or(|glob| glob.matched(entry.path(), false).is_whitelist());
                if !(file && wanted) {
                    return Next::Go;
                }
                let next = self.file(entry.path(), &stop);
                trickle.look(&self.text);
                next
            })
        } else {
            // Named itself, a file is never too special to be complained about.
            paths::open_file(&self.cwd, &root)?;
            match self.file(&root, &stop) {
                Next::Go => Ended::All,
                Next::Stop => stop.now().unwrap_or(Ended::Enough),
            }
        };
        if ended == Ended::Cancelled || cancel.is_cancelled() {
            return Ok(ToolOutcome::cancelled());
        }
        Ok(self.tell(ended))
    }

    fn tell(&self, ended: Ended) -> ToolOutcome {
        let mut text = if self.found == 0 {
            "nothing found\n".to_string()
        } else {
            self.text.clone()
        };
        let mut notes = Vec::new();
        if ended == Ended::Enough {
            notes.push(format!(
                "the first {} matches; there may be more: give a narrower pattern or path, or a higher limit",
                self.found
            ));
        }
        notes.extend(ended.note());
        if self.too_large > 0 {
            notes.push(format!(
                "{} files of more than {} were not looked at",
                self.too_large,
                paths::size(LARGEST)
            ));
        }
        if !notes.is_empty() {
            text.push_str(&format!("[{}]", notes.join("; ")));
        }
        ToolOutcome::text(text.trim_end()).with(json!({
            "matches": self.found,
            "files": self.files,
            "truncated": ended != Ended::All,
        }))
    }

    fn file(&mut self, path: &Path, stop: &Stop) -> Next {
        let Ok((file, metadata)) = paths::open_file(&self.cwd, path) else {
            return Next::Go;
        };
        if metadata.len() > LARGEST {
            self.too_large += 1;
            return Next::Go;
        }
        let mut bytes = Vec::new();
        if file.take(LARGEST).read_to_end(&mut bytes).is_err()
            || bytes[..bytes.len().min(LOOK)].contains(&0)
        {
            return Next::Go;
        }
        // Most files have none: this is told without looking at their lines.
        if !self.regex.is_match(&bytes) {
            return Next::Go;
        }
        let name = paths::told(&self.cwd, path);
        let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
        self.lines(&name, &lines, stop)
    }

    fn lines(&mut self, name: &str, lines: &[&[u8]], stop: &Stop) -> Next {
        let before = self.found;
        // The first line that has not been told yet.
        let mut untold = 0;
        for (index, line) in lines.iter().enumerate() {
            if index % 1024 == 0 && stop.now().is_some() {
                return Next::Stop;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(place) = self.regex.find(line) else {
                continue;
            };
            if self.found == self.limit || self.text.len() > MOST_BYTES {
                return Next::Stop;
            }
            let from = index.saturating_sub(self.context).max(untold);
            if self.context > 0 && !self.text.is_empty() && (from > untold || untold == 0) {
                self.text.push_str("--\n");
            }
            for (number, other) in lines.iter().enumerate().take(index).skip(from) {
                self.line(name, number, other, '-', 0);
            }
            self.line(name, index, line, ':', place.start());
            untold = index + 1;
            self.found += 1;
            if self.context > 0 {
                for (number, other) in lines.iter().enumerate().skip(index + 1).take(self.context) {
                    let other = other.strip_suffix(b"\r").unwrap_or(other);
                    if self.regex.is_match(other) {
                        break;
                    }
                    self.line(name, number, other, '-', 0);
                    untold = number + 1;
                }
            }
        }
        self.files += u64::from(self.found > before);
        Next::Go
    }

    /// One line; of a long one the part around the match.
    fn line(&mut self, name: &str, index: usize, line: &[u8], mark: char, at: usize) {
        let from = if line.len() > LONGEST_LINE {
            at.saturating_sub(LONGEST_LINE / 4)
        } else {
            0
        };
        let to = line.len().min(from + LONGEST_LINE);
        let text = String::from_utf8_lossy(&line[from..to]);
        let (left, right) = (
            if from > 0 { "…" } else { "" },
            if to < line.len() { "…" } else { "" },
        );
        self.text.push_str(&format!(
            "{name}{mark}{}{mark}{left}{}{right}\n",
            index + 1,
            text.trim_end_matches('\r')
        ));
    }
}
