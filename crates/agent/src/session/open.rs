//! Reading a session file: once to find the entries, once more for those that are needed.
//!
//! Of a file of any size, memory holds the messages that the model is sent and a few words for each
//! entry: what is on other branches or before a compaction is never read into memory.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sm_llm::{Assistant, Message, Thinking};

use super::context::Conversation;
use super::entry::{BashExecution, EntryId};
use super::error::SessionError;
use super::scan::{Kind, Place, Refusal, Scan};
use super::wire;
use crate::tools::Todo;

/// How much of the file is read at once.
const CHUNK: usize = 256 << 10;

/// Who and where a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub id: String,
    /// As the file has it; older ones are understood.
    pub version: u64,
    /// ISO, as it stands there.
    pub timestamp: String,
    pub cwd: PathBuf,
    pub parent: Option<PathBuf>,
}

/// A session as it stood in its file.
#[derive(Debug)]
pub struct Opened {
    pub header: Header,
    /// What the model is sent: the branch of the last entry, since the last compaction. Half
    /// answers are left out, calls without a result have one that says so.
    pub messages: Vec<Message>,
    /// The provider and the model that it goes on with.
    pub model: Option<(String, String)>,
    pub thinking: Option<Thinking>,
    pub title: Option<String>,
    pub todos: Vec<Todo>,
    /// How many `message` entries the branch has.
    pub message_entries: usize,
    /// What the screen shows, in order.
    pub shown: Vec<Shown>,
    /// Lines that could not be read; they are still in the file.
    pub damaged: usize,
    /// Where the bytes of a last line that a crash had cut are kept now.
    pub torn: Option<PathBuf>,
}

impl Opened {
    /// How full the context was, as the last model that counted has said.
    pub fn tokens(&self) -> Option<u64> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant(answer) => {
                    Some(answer.usage.total_tokens).filter(|tokens| *tokens > 0)
                }
                Message::User(_) | Message::ToolResult(_) => None,
            })
    }
}

/// One thing on the screen. `message` is its place in [`Opened::messages`].
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    Message {
        entry: EntryId,
        message: usize,
    },
    /// An answer that failed or was interrupted.
    Unsent {
        entry: EntryId,
        answer: Box<Assistant>,
    },
    /// A command that the person ran; without `message` the model has not been told.
    Bash {
        entry: EntryId,
        execution: Box<BashExecution>,
        message: Option<usize>,
    },
    /// Put in by a program: a handoff's document. Not to be shown without `display`.
    Custom {
        entry: EntryId,
        custom_type: String,
        display: bool,
        message: usize,
    },
    Summary {
        entry: EntryId,
        kind: SummaryKind,
        message: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryKind {
    /// Of what came before in this session.
    Compaction,
    /// Of a branch that was left.
    Branch,
}

/// Reads a session without taking hold of it: nothing is locked, repaired or written.
pub fn read(path: &Path) -> Result<Opened, SessionError> {
    let file = regular(OpenOptions::new().read(true), path)?;
    let scan = scan(&file, path)?;
    opened(&file, path, &scan)
}

/// Opens what must be a file: a pipe or a device would block or never end.
pub(super) fn regular(options: &mut OpenOptions, path: &Path) -> Result<File, SessionError> {
    let file = options
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => SessionError::Missing(path.to_path_buf()),
            ErrorKind::IsADirectory => not_a_session(path, "it is a directory"),
            _ => SessionError::io("open", path)(error),
        })?;
    let kind = file.metadata().map_err(SessionError::io("open", path))?;
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(not_a_session(path, "it is a directory"))
    } else {
        Err(not_a_session(path, "it is no regular file"))
    }
}

pub(super) fn scan(file: &File, path: &Path) -> Result<Scan, SessionError> {
    Scan::of(BufReader::with_capacity(CHUNK, file)).map_err(|refusal| match refusal {
        Refusal::NotASession(cause) => not_a_session(path, cause),
        Refusal::Newer(found) => SessionError::Newer {
            path: path.to_path_buf(),
            found,
        },
        Refusal::Io(source) => SessionError::io("read", path)(source),
    })
}

fn not_a_session(path: &Path, cause: &'static str) -> SessionError {
    SessionError::NotASession {
        path: path.to_path_buf(),
        cause,
    }
}

/// The second reading.
pub(super) fn opened(file: &File, path: &Path, scan: &Scan) -> Result<Opened, SessionError> {
    let mut lines = Reader {
        file,
        path,
        buffer: Vec::new(),
    };
    let branch = scan.branch();
    let places: Vec<&Place> = branch.iter().map(|index| &scan.places[*index]).collect();
    let mut damaged = scan.damaged;
    let (messages, shown) = conversation(scan, &places, &mut lines, &mut damaged)?.finish();
    Ok(Opened {
        header: scan.header.clone().into_header(),
        messages,
        model: latest(
            &places,
            &mut lines,
            &[Kind::ModelChange, Kind::Message],
            |kind, line| match kind {
                Kind::ModelChange => wire::model_change(line),
                _ => wire::answered_by(line),
            },
        )?,
        thinking: latest(
            &places,
            &mut lines,
            &[Kind::ThinkingLevelChange],
            |_, line| wire::thinking(line),
        )?,
        title: scan.title.clone(),
        todos: latest(&places, &mut lines, &[Kind::Todo], |_, line| {
            wire::todos(line)
        })?
        .unwrap_or_default(),
        message_entries: places.iter().filter(|p| p.kind == Kind::Message).count(),
        shown,
        damaged,
        torn: None,
    })
}

fn conversation(
    scan: &Scan,
    places: &[&Place],
    lines: &mut Reader<'_>,
    damaged: &mut usize,
) -> Result<Conversation, SessionError> {
    let mut said = Conversation::default();
    let compaction = places.iter().rposition(|p| p.kind == Kind::Compaction);
    let mut from = 0;
    if let Some(at) = compaction {
        let place = places[at];
        match wire::entry::<wire::SummaryEntry>(lines.line(place)?) {
            Some(summary) => {
                from = first_kept(scan, &places[..at], &summary).unwrap_or(at);
                said.summary(&place.id, SummaryKind::Compaction, &summary);
            }
            None => *damaged += 1,
        }
    }
    for place in &places[from..] {
        let line = match place.kind {
            Kind::Message | Kind::CustomMessage | Kind::BranchSummary => lines.line(place)?,
            Kind::Compaction
            | Kind::ModelChange
            | Kind::ThinkingLevelChange
            | Kind::Todo
            | Kind::Other => continue,
        };
        let read = match place.kind {
            Kind::CustomMessage => {
                wire::entry(line).map(|entry| said.custom_message(&place.id, entry))
            }
            Kind::BranchSummary => {
                wire::entry(line).map(|entry| said.summary(&place.id, SummaryKind::Branch, &entry))
            }
            _ => wire::entry(line)
                .map(|entry: wire::MessageEntry| said.message(&place.id, entry.message)),
        };
        if read.is_none() {
            *damaged += 1;
        }
    }
    Ok(said)
}

/// Which entry before the compaction is the first that was kept.
fn first_kept(scan: &Scan, before: &[&Place], summary: &wire::SummaryEntry) -> Option<usize> {
    let id = match &summary.first_kept_entry_id {
        Some(id) => EntryId::new(id),
        // The first version counted lines.
        None => {
            let line = summary.first_kept_entry_index? as usize;
            scan.places[(*scan.lines.get(line)?)?].id.clone()
        }
    };
    before.iter().position(|place| place.id == id)
}

/// The last of the branch's entries of these kinds that gives an answer.
fn latest<T>(
    places: &[&Place],
    lines: &mut Reader<'_>,
    kinds: &[Kind],
    answer: impl Fn(Kind, &[u8]) -> Option<T>,
) -> Result<Option<T>, SessionError> {
    for place in places.iter().rev().filter(|p| kinds.contains(&p.kind)) {
        if let Some(found) = answer(place.kind, lines.line(place)?) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Reads single lines out of the file, each into the same buffer.
struct Reader<'a> {
    file: &'a File,
    path: &'a Path,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    fn line(&mut self, place: &Place) -> Result<&[u8], SessionError> {
        self.buffer.resize(place.length, 0);
        self.file
            .read_exact_at(&mut self.buffer, place.offset)
            .map_err(SessionError::io("read", self.path))?;
        Ok(&self.buffer)
    }
}
