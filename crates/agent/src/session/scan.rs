//! The first reading of a session file: where each entry stands and what it hangs on, and no more.
//!
//! Memory holds one line at a time and a few words for each entry, whatever the lines contain. What
//! cannot be read is counted and passed over; it is never a reason to refuse the rest.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead};
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::entry::{EntryId, TODO_TYPE};
use super::open::Header;

/// A longer line is passed over: no message that a model can be sent is as long.
pub(super) const LONGEST_LINE: usize = 64 << 20;

/// How a new entry begins in the middle of a damaged line. Inside of a JSON string the quotes would
/// have backslashes before them.
const BEGINNING: &[u8] = b"{\"type\":\"";

/// How many of them are tried in one line.
const MOST_BEGINNINGS: usize = 32;

/// One entry in the file.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) kind: Kind,
    pub(super) id: EntryId,
    pub(super) parent: Option<EntryId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    CustomMessage,
    Compaction,
    BranchSummary,
    ModelChange,
    ThinkingLevelChange,
    Todo,
    /// It has its place in the tree and says nothing to us.
    Other,
}

/// The end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Whole,
    /// The last line is whole but for its newline.
    NoNewline,
    /// What comes from here on is half a line.
    Torn {
        from: u64,
    },
}

#[derive(Debug)]
pub(super) struct Scan {
    pub(super) header: RawHeader,
    pub(super) places: Vec<Place>,
    /// Where an id stands; the last one counts, should it stand twice.
    pub(super) by_id: HashMap<EntryId, usize>,
    /// Title line of `omp`, or the last `session_info`.
    pub(super) title: Option<String>,
    /// Lines that could not be read.
    pub(super) damaged: usize,
    pub(super) tail: Tail,
    pub(super) length: u64,
    /// In a file of version 1: which place each line became, headers having none.
    pub(super) lines: Vec<Option<usize>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawHeader {
    pub(super) id: String,
    #[serde(default)]
    pub(super) version: Option<f64>,
    #[serde(default)]
    pub(super) timestamp: String,
    #[serde(default)]
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) parent_session: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    parent_id: Option<String>,
    #[serde(default)]
    timestamp: Option<IgnoredAny>,
    #[serde(default)]
    custom_type: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    title: Option<String>,
}

/// Why a file is none of ours.
#[derive(Debug)]
pub(super) enum Refusal {
    NotASession(&'static str),
    Newer(u64),
    Io(io::Error),
}

impl RawHeader {
    /// The first version did not say so.
    pub(super) fn format(&self) -> u64 {
        self.version.map_or(1, |version| version as u64)
    }

    pub(super) fn into_header(self) -> Header {
        Header {
            version: self.format(),
            id: self.id,
            timestamp: self.timestamp,
            cwd: PathBuf::from(self.cwd),
            parent: self.parent_session.map(PathBuf::from),
        }
    }
}

impl Scan {
    pub(super) fn of(reader: impl BufRead) -> Result<Self, Refusal> {
        let mut lines = Lines::new(reader);
        let mut scan: Option<Self> = None;
        let mut title = None;
        let mut damaged = 0;
        let mut tail = Tail::Whole;
        while let Some(line) = lines.next().map_err(Refusal::Io)? {
            if line.bytes.trim_ascii().is_empty() {
                tail = line.tail(false);
                continue;
            }
            let (skipped, head) = read_head(line.bytes, line.newline);
            tail = line.tail(head.is_some());
            if !matches!(tail, Tail::Torn { .. }) && (skipped > 0 || head.is_none()) {
                damaged += 1;
            }
            let Some(head) = head else { continue };
            match &mut scan {
                None if head.kind == "title" => title = head.title.filter(|t| !t.is_empty()),
                None if head.kind == "session" => {
                    let header: RawHeader = serde_json::from_slice(&line.bytes[skipped..])
                        .map_err(|_| Refusal::NotASession("its header has no id"))?;
                    if header.format() > super::VERSION {
                        return Err(Refusal::Newer(header.format()));
                    }
                    scan = Some(Self::new(header, title.take()));
                }
                None => {
                    return Err(Refusal::NotASession(
                        "it does not begin with a session header",
                    ));
                }
                Some(scan) => scan.add(
                    head,
                    line.offset + skipped as u64,
                    line.bytes.len() - skipped,
                ),
            }
        }
        let mut scan = scan.ok_or(Refusal::NotASession("it has no session header"))?;
        scan.damaged = damaged + lines.oversized;
        scan.tail = tail;
        scan.length = lines.offset;
        Ok(scan)
    }

    fn new(header: RawHeader, title: Option<String>) -> Self {
        Self {
            lines: vec![None],
            header,
            places: Vec::new(),
            by_id: HashMap::new(),
            title,
            damaged: 0,
            tail: Tail::Whole,
            length: 0,
        }
    }

    fn add(&mut self, head: Head<'_>, offset: u64, length: usize) {
        let first_version = self.header.format() < 2;
        if head.kind == "session" || head.kind == "title" {
            // `pi` writes a whole beginning anew when it continues a session without an answer.
            if first_version {
                self.lines.push(None);
            }
            return;
        }
        let (id, parent) = if first_version {
            self.lines.push(Some(self.places.len()));
            let id = EntryId::new(&format!("{:08x}", self.places.len()));
            (id, self.places.last().map(|last| last.id.clone()))
        } else {
            let Some(id) = head.id.filter(|id| !id.is_empty()) else {
                return;
            };
            (EntryId::new(&id), self.parent(head.parent_id))
        };
        if head.kind == "session_info" {
            self.title = head
                .name
                .map(|name| name.trim().to_string())
                .filter(|name| !name.is_empty());
        }
        self.by_id.insert(id.clone(), self.places.len());
        self.places.push(Place {
            offset,
            length,
            kind: kind(&head.kind, head.custom_type.as_deref()),
            id,
            parent,
        });
    }

    /// The entry that another hangs on. One whose line is damaged was written just before.
    fn parent(&self, id: Option<String>) -> Option<EntryId> {
        let id = EntryId::new(&id?);
        if self.by_id.contains_key(&id) {
            return Some(id);
        }
        self.places.last().map(|last| last.id.clone())
    }

    /// The entries from the root to the last one of the file.
    pub(super) fn branch(&self) -> Vec<usize> {
        let mut branch = Vec::new();
        let mut seen = vec![false; self.places.len()];
        let mut next = self.places.last().and_then(|p| self.by_id.get(&p.id));
        while let Some(&index) = next {
            if std::mem::replace(&mut seen[index], true) {
                break;
            }
            branch.push(index);
            next = self.places[index]
                .parent
                .as_ref()
                .and_then(|id| self.by_id.get(id));
        }
        branch.reverse();
        branch
    }
}

fn kind(kind: &str, custom_type: Option<&str>) -> Kind {
    match kind {
        "message" => Kind::Message,
        "custom_message" => Kind::CustomMessage,
        "compaction" => Kind::Compaction,
        "branch_summary" => Kind::BranchSummary,
        "model_change" => Kind::ModelChange,
        "thinking_level_change" => Kind::ThinkingLevelChange,
        "custom" if custom_type == Some(TODO_TYPE) => Kind::Todo,
        _ => Kind::Other,
    }
}

/// How many bytes of a line are no good, and what comes after them: a program that was killed may
/// have left half a line, to which the next one has added its own. Half a line at the end of the
/// file has nothing added to it; a part of it may well look like an entry.
fn read_head(bytes: &[u8], newline: bool) -> (usize, Option<Head<'_>>) {
    if let Ok(head) = serde_json::from_slice(bytes) {
        return (0, Some(head));
    }
    let glued = memchr::memmem::find_iter(bytes, BEGINNING)
        .filter(|at| newline && *at > 0)
        .take(MOST_BEGINNINGS)
        .find_map(|at| Some((at, serde_json::from_slice::<Head<'_>>(&bytes[at..]).ok()?)))
        // A block of a message has no time of its own.
        .filter(|(_, head)| head.id.is_some() && head.timestamp.is_some());
    match glued {
        Some((at, head)) => (at, Some(head)),
        None => (0, None),
    }
}

struct Line<'a> {
    offset: u64,
    bytes: &'a [u8],
    newline: bool,
}

impl Line<'_> {
    fn tail(&self, readable: bool) -> Tail {
        match (self.newline, readable) {
            (true, _) => Tail::Whole,
            (false, true) => Tail::NoNewline,
            (false, false) => Tail::Torn { from: self.offset },
        }
    }
}

/// Lines with the places they stand at, out of one buffer that is used again and again.
struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    offset: u64,
    oversized: usize,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            offset: 0,
            oversized: 0,
        }
    }

    /// The next line of bearable length, without its newline.
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            let offset = self.offset;
            let mut oversized = false;
            let newline = loop {
                let chunk = match self.reader.fill_buf() {
                    Ok(chunk) => chunk,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                if chunk.is_empty() {
                    break false;
                }
                let end = memchr::memchr(b'\n', chunk);
                let part = &chunk[..end.unwrap_or(chunk.len())];
                if self.buffer.len() + part.len() > LONGEST_LINE {
                    oversized = true;
                    self.buffer.clear();
                }
                if !oversized {
                    self.buffer.extend_from_slice(part);
                }
                let used = part.len() + usize::from(end.is_some());
                self.reader.consume(used);
                self.offset += used as u64;
                if end.is_some() {
                    break true;
                }
            };
            if self.offset == offset {
                return Ok(None);
            }
            if oversized && newline {
                self.oversized += 1;
                continue;
            }
            if oversized {
                // Half a line of any length is half a line.
                self.buffer = Vec::new();
            }
            return Ok(Some(Line {
                offset,
                bytes: &self.buffer,
                newline,
            }));
        }
    }
}
