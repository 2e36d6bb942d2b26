//! What can be read of an agent besides its hooks: its transcript, from where it was last read, and
//! its status file. Facts are handed on while the lock is held, so that whoever reads after somebody
//! else sees that one's facts already delivered.

use crate::actor::Wake;
use crate::hub::Handle;
use crate::{clock, limits, tool_calls};
use sm_agents::kind::{self, Tail};
use sm_client::files;
use sm_core::signal::{Fact, StatusReading};
use sm_core::{AgentKind, ConversationId, Event};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

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
    transcript: Arc<Mutex<Option<Transcript>>>,
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

/// A file system that does not answer holds up nobody for longer; the reading goes on.
const READING: Duration = Duration::from_secs(20);

impl Sources {
    pub fn new(agent: AgentKind) -> Self {
        Self {
            agent,
            transcript: Arc::default(),
        }
    }

    /// Reads what is new.
    pub async fn read(&self, handle: &Handle) -> Reach {
        let to = handle.clone();
        let result = self
            .read_new(move |facts| to.send(Wake::Event(Event::Facts(facts))))
            .await;
        match result {
            Ok(reach) => reach,
            Err(error) => {
                tracing::debug!(session = %handle.id, %error, "transcript not readable");
                Reach::Failed
            }
        }
    }

    /// Whoever asked may hang up meanwhile: the reading goes on, and nothing of it is lost.
    async fn read_new(&self, tell: impl FnOnce(Vec<Fact>) + Send + 'static) -> io::Result<Reach> {
        let reading = self.read_now(tell);
        match tokio::time::timeout(READING, reading).await {
            Ok(read) => read,
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the disk does not answer",
            )),
        }
    }

    async fn read_now(&self, tell: impl FnOnce(Vec<Fact>) + Send + 'static) -> io::Result<Reach> {
        let mut guard = Arc::clone(&self.transcript).lock_owned().await;
        match guard.as_ref() {
            Some(transcript) if transcript.is_at_end() => return Ok(Reach::End),
            Some(_) => {}
            None => return Ok(Reach::Failed),
        }
        // files are read on a thread for it: a slow disk must not stop other sessions
        let read = tokio::task::spawn_blocking(move || {
            let Some(transcript) = guard.as_mut() else {
                return Ok(Reach::Failed);
            };
            match transcript.read_on() {
                Ok(mut facts) => {
                    if !facts.is_empty() {
                        tool_calls::in_facts(&mut facts);
                        limits::in_facts(&mut facts, clock::now());
                        tell(facts);
                    }
                    Ok(Reach::End)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Reach::NoFile),
                Err(error) => Err(error),
            }
        });
        read.await.unwrap_or(Ok(Reach::Failed))
    }

    /// Turns to another transcript, after the old one was read to its end.
    pub async fn follow(&self, path: &Path, conversation: &ConversationId, handle: &Handle) {
        match self.transcript().await {
            Some(known) => {
                let is_known = |t: &Transcript| t.path == path && &t.conversation == conversation;
                if known.as_ref().is_some_and(is_known) {
                    return;
                }
            }
            None => return busy(handle, path),
        }
        self.read(handle).await;
        let Some(mut transcript) = self.transcript().await else {
            return busy(handle, path);
        };
        *transcript = Some(Transcript {
            path: path.to_path_buf(),
            conversation: conversation.clone(),
            offset: 0,
            tail: Tail::new(self.agent, conversation.clone()),
            skip_line: false,
            opened: false,
        });
    }

    pub async fn followed(&self) -> Option<PathBuf> {
        let transcript = self.transcript().await?;
        transcript.as_ref().map(|t| t.path.clone())
    }

    /// None: it has been read for so long that the disk does not answer.
    async fn transcript(&self) -> Option<MutexGuard<'_, Option<Transcript>>> {
        let lock = self.transcript.lock();
        tokio::time::timeout(READING, lock).await.ok()
    }
}

fn busy(handle: &Handle, path: &Path) {
    tracing::warn!(session = %handle.id, path = %path.display(), "its transcript is not followed: the disk of the one before does not answer");
}

impl Transcript {
    /// Nothing was written since it was read to its end.
    fn is_at_end(&self) -> bool {
        let size = std::fs::metadata(&self.path).map(|file| file.len());
        self.opened && size.is_ok_and(|size| size == self.offset)
    }

    fn read_on(&mut self) -> io::Result<Vec<Fact>> {
        let mut file = files::open(&self.path)?;
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
    files::open(path)
        .ok()?
        .take(LIMIT)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LINE: &str = r#"{"type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hello"}}"#;

    #[tokio::test]
    async fn a_reader_that_hangs_up_loses_neither_facts_nor_the_transcript() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, format!("{LINE}\n")).unwrap();
        let sources = Sources::new(AgentKind::Claude);
        let conversation = ConversationId::new("c1").unwrap();
        *sources.transcript.lock().await = Some(Transcript {
            path: path.clone(),
            conversation: conversation.clone(),
            offset: 0,
            tail: Tail::new(AgentKind::Claude, conversation),
            skip_line: false,
            opened: false,
        });
        let (told, facts) = mpsc::channel();
        let mut reading = Box::pin(sources.read_new(move |facts| told.send(facts).unwrap()));
        // begun, and dropped on its way unless the disk was faster
        tokio::select! {
            biased;
            _ = reading.as_mut() => {}
            () = std::future::ready(()) => {}
        }
        drop(reading);
        assert_eq!(sources.followed().await, Some(path));
        assert!(
            sources
                .read_new(|_| panic!("told twice"))
                .await
                .is_ok_and(|reach| reach == Reach::End)
        );
        assert_eq!(facts.recv().unwrap().len(), 1);
    }
}
