//! The transcripts of the agents, one file each: bytes in, records out, as they grow.
//!
//! A line that is broken is counted and skipped, the last one waited for until it is whole, and
//! what nobody knows is [`Record::Other`]. Memory does not grow with the transcript.

mod claude;
mod codex;
mod follow;
mod pi;
mod whole;

pub use follow::{Follow, Growth};
pub use whole::whole;

use crate::json::{self, Broken};
use crate::record::{At, Record};
use serde::{Deserialize, Serialize};
use sm_core::Timestamp;
use sm_core::lines::{Lines, MAX_LINE};
use std::borrow::Cow;

/// Whose transcript it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    Claude,
    Codex,
    /// Version 3, as pi and omp write it.
    Pi,
    /// sm's own agent, which writes what pi writes.
    Native,
}

/// What was read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Whole lines, also the broken ones.
    pub lines: u64,
    /// Lines that are no JSON object.
    pub broken: u64,
    /// Lines too long to be read.
    pub too_long: u64,
    /// Bytes, also those of a last line that waits for its end.
    pub bytes: u64,
}

/// Reads one transcript from its beginning, or from any line start.
#[derive(Debug)]
pub struct Reader {
    dialect: Dialect,
    lines: Lines,
    stats: Stats,
    place: LastPlace,
}

/// Where the work was last said to happen: most lines repeat it.
#[derive(Debug, Default)]
struct LastPlace {
    cwd: String,
    branch: String,
}

/// What one line gives: records, told to whoever reads.
struct Teller<'t, F> {
    at: At,
    place: &'t mut LastPlace,
    tell: &'t mut F,
    told: bool,
}

impl<F: FnMut(At, Record<'_>)> Teller<'_, F> {
    fn tell(&mut self, record: Record<'_>) {
        self.told = true;
        (self.tell)(self.at, record);
    }

    /// Tells where the work happens, if that is news.
    fn place(&mut self, cwd: Option<&str>, branch: Option<&str>) {
        let new = |value: Option<&str>, last: &mut String| {
            let text = json::text(value?)?;
            if text.is_empty() || *last == *text {
                return None;
            }
            text.as_ref().clone_into(last);
            Some(())
        };
        let moved = new(cwd, &mut self.place.cwd);
        let switched = new(branch, &mut self.place.branch);
        if moved.is_some() || switched.is_some() {
            let cwd = moved.map(|()| Cow::Borrowed(self.place.cwd.as_str()));
            let branch = switched.map(|()| Cow::Borrowed(self.place.branch.as_str()));
            self.told = true;
            (self.tell)(self.at, Record::Place { cwd, branch });
        }
    }
}

impl Reader {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            lines: Lines::new(MAX_LINE),
            stats: Stats::default(),
            place: LastPlace::default(),
        }
    }

    /// A reader that goes on where another one ended: after a whole line.
    pub fn going_on(dialect: Dialect, stats: Stats) -> Self {
        Self {
            stats,
            ..Self::new(dialect)
        }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn stats(&self) -> Stats {
        Stats {
            too_long: self.stats.too_long.saturating_add(self.lines.skipped()),
            ..self.stats
        }
    }

    /// Takes the next bytes; tells the records of every line that is now whole.
    pub fn feed(&mut self, mut bytes: &[u8], tell: &mut impl FnMut(At, Record<'_>)) {
        let Self {
            dialect,
            lines,
            stats,
            place,
        } = self;
        stats.bytes = stats.bytes.saturating_add(bytes.len() as u64);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let line = &bytes[..end];
            bytes = &bytes[end + 1..];
            // Also one that is too long to be read: numbers have to stay right.
            stats.lines += 1;
            lines.end(line, |line| read(*dialect, line, stats, place, tell));
        }
        lines.hold(bytes);
    }
}

fn read(
    dialect: Dialect,
    line: &[u8],
    stats: &mut Stats,
    place: &mut LastPlace,
    tell: &mut impl FnMut(At, Record<'_>),
) {
    let text = match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    };
    if text.trim_ascii().is_empty() {
        return;
    }
    let mut teller = Teller {
        at: At {
            line: stats.lines,
            time: None,
        },
        place,
        tell,
        told: false,
    };
    let done = match dialect {
        Dialect::Claude => claude::line(&text, &mut teller),
        Dialect::Codex => codex::line(&text, &mut teller),
        Dialect::Pi | Dialect::Native => pi::line(&text, &mut teller),
    };
    match done {
        Err(Broken) => stats.broken += 1,
        Ok(()) if !teller.told => teller.tell(Record::Other),
        Ok(()) => {}
    }
}

/// Whose transcript begins like this; `None` if it is nobody's that is known, or too little is here.
pub fn detect(first_bytes: &[u8]) -> Option<Dialect> {
    let head = &first_bytes[..first_bytes.len().min(256 * 1024)];
    head.split(|byte| *byte == b'\n').take(50).find_map(|line| {
        let mut found = None;
        let line = String::from_utf8_lossy(line);
        // The first line may be longer than what is here: what stands before the cut is enough.
        let _ = json::fields(&line, |name, value| match (name, value) {
            ("sessionId" | "parentUuid" | "isSidechain" | "leafUuid" | "isSnapshotUpdate", _)
            | ("type", r#""file-history-snapshot""#) => {
                found = found.or(Some(Dialect::Claude));
            }
            ("type", r#""session_meta""#) | ("payload", _) => found = Some(Dialect::Codex),
            ("type", r#""session""# | r#""title""#) => found = found.or(Some(Dialect::Pi)),
            _ => {}
        });
        found
    })
}

/// When a record says it was made; `value` is JSON.
fn time(value: &str) -> Option<Timestamp> {
    Timestamp::parse(value.strip_prefix('"')?.strip_suffix('"')?)
}

/// Texts put together from pieces; borrowed while there is one.
fn joined<'a>(have: Option<Cow<'a, str>>, more: Cow<'a, str>) -> Cow<'a, str> {
    match have {
        None => more,
        Some(have) => {
            let mut text = have.into_owned();
            text.push('\n');
            text.push_str(&more);
            Cow::Owned(text)
        }
    }
}

/// The strings of a value, one a line; of a string, itself.
fn flat(value: &str) -> Cow<'_, str> {
    if let Some(text) = json::text(value) {
        return text;
    }
    let mut out = String::new();
    json::strings(value, |text| {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    });
    Cow::Owned(out)
}
