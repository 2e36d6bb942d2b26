//! Asking an agent's own program about one of its conversations, in a copy that is thrown away.
//!
//! The program is started beside the agent, on a fork of the conversation that is kept nowhere: the
//! conversation itself is left as it is, and no tool runs. What it says is read line by line; what
//! it asks is answered with no. Pure: whoever starts the process feeds the lines in and writes what
//! comes out.

use crate::{claude, codex};
use sm_core::ids::ConversationId;
use sm_core::profile::AgentKind;
use std::path::PathBuf;

/// The most that one line may have: a document and what is told beside it. A longer one is passed
/// over.
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// The most that a document may have; what comes after it is left away.
pub const MAX_TEXT: usize = 1024 * 1024;

/// What is asked of whom.
#[derive(Debug, Clone)]
pub struct ForkRequest {
    /// The program and what always goes before its arguments.
    pub program: Vec<String>,
    pub conversation: ConversationId,
    /// Where the conversation was held: the program finds it by that.
    pub cwd: PathBuf,
    /// What is asked.
    pub prompt: String,
}

/// How the program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkLaunch {
    pub argv: Vec<String>,
    /// Written to it at once.
    pub stdin: Vec<u8>,
    /// Whether its input ends after that.
    pub input: Input,
    /// Set for it. Hooks of ours in the user's own settings see by them that they are not meant.
    pub env: Vec<(&'static str, &'static str)>,
    /// Taken out of its environment: it is not the session.
    pub without: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Ends,
    StaysOpen,
}

/// What a line of the program leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum ForkStep {
    /// To be written to it.
    Write(Vec<u8>),
    /// More of the answer, to be shown.
    Preview(String),
    /// It has said everything; it can be ended.
    Finished(ForkOutcome),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ForkOutcome {
    Answered(Answered),
    /// It ended without a word of text.
    Empty,
    /// In the words of the program.
    Failed(String),
}

/// What was said, and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answered {
    pub text: String,
    pub spent: Spent,
    /// How many calls of tools were refused.
    pub refused: u32,
}

/// Tokens of the whole question; the price where the program tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub dollars: Option<f64>,
}

/// Reads what the program says.
#[derive(Debug)]
pub enum Fork {
    Claude(claude::fork::Reader),
    Codex(codex::fork::Talk),
}

/// How to ask this kind of agent; `None` where its program cannot be asked.
pub fn fork(kind: AgentKind, request: &ForkRequest) -> Option<(ForkLaunch, Fork)> {
    match kind {
        AgentKind::Claude => Some((
            claude::fork::launch(request),
            Fork::Claude(claude::fork::Reader::default()),
        )),
        AgentKind::Codex => Some((
            codex::fork::launch(request),
            Fork::Codex(codex::fork::Talk::new(request)),
        )),
        AgentKind::Native | AgentKind::Generic => None,
    }
}

impl Fork {
    /// Takes one line, without its end.
    pub fn line(&mut self, line: &[u8]) -> Vec<ForkStep> {
        match self {
            Self::Claude(reader) => reader.line(line),
            Self::Codex(talk) => talk.line(line),
        }
    }

    /// The program has ended without saying that it was finished; `complaint` is the end of what it
    /// wrote to stderr.
    pub fn ended(&self, complaint: &str) -> ForkOutcome {
        let complaint = complaint.trim();
        let last = complaint.lines().last().unwrap_or_default().trim();
        ForkOutcome::Failed(if last.is_empty() {
            "the program ended without an answer".to_string()
        } else {
            last.to_string()
        })
    }
}

/// The texts of an answer as they come, joined by a newline, never more than [`MAX_TEXT`].
#[derive(Debug, Default)]
pub(crate) struct Texts(String);

impl Texts {
    pub(crate) fn add(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        let room = MAX_TEXT.saturating_sub(self.0.len());
        let mut end = room.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.0.push_str(text.get(..end).unwrap_or_default());
    }

    pub(crate) fn outcome(&self, spent: Spent, refused: u32) -> ForkOutcome {
        if self.0.trim().is_empty() {
            ForkOutcome::Empty
        } else {
            ForkOutcome::Answered(Answered {
                text: self.0.clone(),
                spent,
                refused,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_joined_by_a_newline_and_bounded() {
        let mut texts = Texts::default();
        texts.add("one");
        texts.add("  \n");
        texts.add("two");
        assert_eq!(texts.0, "one\ntwo");
        texts.add(&"é".repeat(MAX_TEXT));
        assert!(texts.0.len() <= MAX_TEXT);
        assert!(texts.0.starts_with("one\ntwo\né"));
    }

    #[test]
    fn a_program_that_dies_is_quoted() {
        let request = ForkRequest {
            program: vec!["claude".into()],
            conversation: ConversationId::new("c1").unwrap(),
            cwd: PathBuf::from("/"),
            prompt: "p".into(),
        };
        let (_, fork) = fork(AgentKind::Claude, &request).unwrap();
        assert_eq!(
            fork.ended("noise\nNo conversation found with session ID: x\n"),
            ForkOutcome::Failed("No conversation found with session ID: x".into())
        );
        assert_eq!(
            fork.ended(""),
            ForkOutcome::Failed("the program ended without an answer".into())
        );
    }
}
