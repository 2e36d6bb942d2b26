//! What can be read of an agent besides its hooks: its transcript, from where it was last read, and
//! its status file. Facts are handed on while the lock is held, so that whoever reads after somebody
//! else sees that one's facts already delivered.

use crate::actor::Wake;
use crate::hub::Handle;
use sm_agents::kind::{self, Tail};
use sm_core::signal::StatusReading;
use sm_core::{AgentKind, ConversationId, Event};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use tokio::sync::Mutex;

/// An older part of a long transcript is not read: proofs of what is under way are at its end.
const FIRST_READ: u64 = 8 << 20;
/// What is read at once, at least and at most: mostly a few lines are new.
const CHUNK: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 10;

/// How far a transcript could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To its end.
    End,
    /// There is none: nothing in it, or an agent that keeps none.
    NoFile,
    Failed,
}

pub struct Sources {
    agent: AgentKind,
    transcript: Mutex<Option<Transcript>>,
}

struct Transcript {
    path: PathBuf,
    conversation: ConversationId,
    offset: u64,
    tail: Tail,
    /// The first read begins in the middle of a line.
    skip_line: bool,
    opened: bool,
}

impl Sources {
    pub fn new(agent: AgentKind) -> Self {
        Self {
            agent,
            transcript: Mutex::new(None),
        }
    }

    /// Reads what is new.
    pub async fn read(&self, handle: &Handle) -> Reach {
        let mut guard = self.transcript.lock().await;
        let Some(transcript) = guard.take_if(|t| !t.is_at_end()) else {
            return match guard.as_ref() {
                Some(_) => Reach::End,
                None => Reach::Failed,
            };
        };
        // files are read on a thread for it: a slow disk must not stop other sessions
        let read = tokio::task::spawn_blocking(move || {
            let mut transcript = transcript;
            let result = transcript.read_on();
            (transcript, result)
        });
        let Ok((transcript, result)) = read.await else {
            return Reach::Failed;
        };
        *guard = Some(transcript);
        match result {
            Ok(facts) => {
                if !facts.is_empty() {
                    handle.send(Wake::Event(Event::Facts(facts)));
                }
                Reach::End
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Reach::NoFile,
            Err(error) => {
                tracing::debug!(session = %handle.id, %error, "transcript not readable");
                Reach::Failed
            }
        }
    }

    /// Turns to another transcript, after the old one was read to its end.
    pub async fn follow(&self, path: &Path, conversation: &ConversationId, handle: &Handle) {
        {
            let guard = self.transcript.lock().await;
            if guard
                .as_ref()
                .is_some_and(|t| t.path == path && &t.conversation == conversation)
            {
                return;
            }
        }
        self.read(handle).await;
        let mut guard = self.transcript.lock().await;
        *guard = Some(Transcript {
            path: path.to_path_buf(),
            conversation: conversation.clone(),
            offset: 0,
            tail: Tail::new(self.agent, conversation.clone()),
            skip_line: false,
            opened: false,
        });
    }

    pub async fn followed(&self) -> Option<PathBuf> {
        self.transcript
            .lock()
            .await
            .as_ref()
            .map(|t| t.path.clone())
    }
}

impl Transcript {
    /// Nothing was written since it was read to its end.
    fn is_at_end(&self) -> bool {
        let size = std::fs::metadata(&self.path).map(|file| file.len());
        self.opened && size.is_ok_and(|size| size == self.offset)
    }

    fn read_on(&mut self) -> std::io::Result<Vec<sm_core::signal::Fact>> {
        let mut file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        if !self.opened {
            self.opened = true;
            if size > FIRST_READ {
                self.offset = size - FIRST_READ;
                self.skip_line = true;
            }
        }
        if size < self.offset {
            self.offset = 0; // replaced by a shorter one: begin again, old facts are told by their times
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut facts = Vec::new();
        let new = size.saturating_sub(self.offset);
        let length = new.clamp(*CHUNK.start(), *CHUNK.end());
        let mut buffer = vec![0_u8; usize::try_from(length).unwrap_or(0)];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(facts);
            }
            self.offset += count as u64;
            let mut bytes = &buffer[..count];
            if self.skip_line {
                match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(at) => {
                        bytes = &bytes[at + 1..];
                        self.skip_line = false;
                    }
                    None => continue,
                }
            }
            facts.extend(self.tail.feed(bytes));
        }
    }
}

/// The agent's own status file, if it has one and it belongs to the living process.
pub fn read_status(agent: AgentKind, home: &Path, pid: u32) -> Option<StatusReading> {
    let path = kind::status_path(agent, home, pid)?;
    let bytes = read_small(&path)?;
    let reading = kind::parse_status(agent, &bytes)?;
    (reading.process.pid == pid).then_some(reading)
}

fn read_small(path: &Path) -> Option<Vec<u8>> {
    const LIMIT: u64 = 64 << 10;
    let mut bytes = Vec::with_capacity(2 << 10); // mostly one read, and one that finds the end
    File::open(path)
        .ok()?
        .take(LIMIT)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
