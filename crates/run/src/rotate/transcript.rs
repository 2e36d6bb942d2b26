//! The agent's record of one conversation, followed as it grows: how full the context is, and what
//! it holds. Only reads.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sm_agents::Tail;
use sm_core::signal::Fact;
use sm_core::{AgentKind, ConversationId};
use sm_ledger::redact::redact;
use sm_ledger::{Dialect, Reader, Record, Speaker};

use super::document::OURS;

/// What is read at once; more is read the next time.
const PIECE: u64 = 8 << 20;
/// What is looked at for the last words.
const END: u64 = 4 << 20;
/// Of one message among the last words.
const LONGEST: usize = 400;
const MESSAGES: usize = 8;

pub fn dialect(agent: AgentKind) -> Option<Dialect> {
    match agent {
        AgentKind::Claude => Some(Dialect::Claude),
        AgentKind::Codex => Some(Dialect::Codex),
        AgentKind::Native | AgentKind::Generic => None,
    }
}

/// What came since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct News {
    /// Tokens of the last answer.
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub compacted: bool,
    /// The agent's model has answered.
    pub answered: bool,
    /// A person interrupted it.
    pub interrupted: bool,
}

#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    tail: Tail,
    at: u64,
    size: u64,
}

impl Follower {
    pub fn new(agent: AgentKind, conversation: ConversationId, path: PathBuf) -> Self {
        Self {
            path,
            tail: Tail::new(agent, conversation),
            at: 0,
            size: 0,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads what is new. A record that is not there yet has nothing.
    pub fn read(&mut self) -> News {
        let mut news = News::default();
        let Ok(bytes) = self.bytes() else {
            return news;
        };
        for fact in self.tail.feed(&bytes) {
            match fact {
                Fact::Usage(sample) => {
                    news.tokens = sample.tokens.or(news.tokens);
                    news.window = sample.window.or(news.window);
                }
                Fact::CompactBoundary { .. } => {
                    news.compacted = true;
                    news.tokens = None;
                }
                Fact::Assistant { .. } => news.answered = true,
                Fact::Labelled { .. }
                | Fact::ToolCalled { .. }
                | Fact::ToolReturned { .. }
                | Fact::Windows(_) => {}
                Fact::TurnEnded { broken, .. } => {
                    news.interrupted =
                        matches!(broken, Some(sm_core::signal::BreakReason::Interrupted));
                }
                Fact::UserText { .. } => news.interrupted = false, // somebody goes on
            }
        }
        news
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut file = sm_client::files::open(&self.path)?;
        self.size = file.metadata()?.len();
        if self.size < self.at {
            self.at = 0; // another file took its place
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        file.take(PIECE).read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }
}

/// The last words of a conversation, `user: …` and `assistant: …`, secrets taken out.
pub fn last_words(dialect: Dialect, path: &Path) -> String {
    let end = || -> io::Result<Vec<u8>> {
        let mut file = sm_client::files::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(END)))?;
        let mut bytes = Vec::new();
        file.take(END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let mut words: Vec<String> = Vec::new();
    let mut say = |who: &str, text: &str| {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if flat.is_empty() {
            return;
        }
        let shown: String = flat.chars().take(LONGEST).collect();
        let more = if shown.len() < flat.len() { "…" } else { "" };
        words.push(format!("{who}: {shown}{more}\n"));
    };
    Reader::new(dialect).feed(&end().unwrap_or_default(), &mut |_, record| match record {
        Record::Said {
            by: Speaker::Person | Speaker::Queued,
            text,
        } if !text.starts_with(OURS) => say("user", &text),
        Record::Spoke { text } => say("assistant", &text),
        Record::Said { .. }
        | Record::Thought
        | Record::Called { .. }
        | Record::Returned { .. }
        | Record::Used { .. }
        | Record::Compacted { .. }
        | Record::Interrupted
        | Record::Place { .. }
        | Record::Aside
        | Record::Other => {}
    });
    let last = words.len().saturating_sub(MESSAGES);
    redact(&words[last..].concat()).text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn answer(tokens: u64) -> String {
        format!(
            r#"{{"type":"assistant","sessionId":"c1","timestamp":"2026-03-01T11:00:07.000Z","message":{{"role":"assistant","model":"m","content":[{{"type":"text","text":"done"}}],"usage":{{"input_tokens":{tokens},"output_tokens":1}}}}}}"#
        ) + "\n"
    }

    fn said(text: &str) -> String {
        format!(
            r#"{{"type":"user","sessionId":"c1","timestamp":"2026-03-01T11:00:06.000Z","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    }

    #[test]
    fn it_is_followed_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c1.jsonl");
        let conversation = ConversationId::new("c1").unwrap();
        let mut follower = Follower::new(AgentKind::Claude, conversation, path.clone());
        assert_eq!(follower.read(), News::default(), "not there yet");
        let mut file = std::fs::File::create(&path).unwrap();
        let whole = answer(1000) + &answer(2000);
        let (now, later) = whole.split_at(whole.len() - 30);
        file.write_all(now.as_bytes()).unwrap();
        assert_eq!(follower.read().tokens, Some(1000));
        file.write_all(later.as_bytes()).unwrap();
        let news = follower.read();
        assert_eq!((news.tokens, news.answered), (Some(2000), true));
        assert_eq!(follower.read(), News::default());
        assert_eq!(follower.size(), whole.len() as u64);
    }

    #[test]
    fn the_last_words_are_short_and_without_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c1.jsonl");
        assert_eq!(last_words(Dialect::Claude, &path), "");
        let key = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        let text = said("first") + &said(&format!("the key is {key} ok")) + &answer(1);
        std::fs::write(&path, &text).unwrap();
        let words = last_words(Dialect::Claude, &path);
        assert!(
            words.starts_with("user: first\nuser: the key is "),
            "{words}"
        );
        assert!(words.ends_with("assistant: done\n"), "{words}");
        assert!(!words.contains(key), "{words}");
        std::fs::write(&path, said(&"x".repeat(3000)).repeat(50)).unwrap();
        assert_eq!(last_words(Dialect::Claude, &path).lines().count(), MESSAGES);
    }
}
