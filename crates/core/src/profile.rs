//! What the state machines need to know about an agent program, as plain data.

use crate::ids::ConversationId;
use serde::{Deserialize, Serialize};

/// Which agent program a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    Claude,
    Codex,
    /// sm's own agent: driven over the daemon's socket, never typed into.
    Native,
    /// Any other program: state from its output, delivery by paste, no proof.
    Generic,
}

impl AgentKind {
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Native, Self::Generic];
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The ways into an agent and what proves them.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    pub kind: AgentKind,
    /// Characters that fit into the answer to a hook inside a turn; None: no such way.
    pub hook_answer_limit: Option<usize>,
    /// Answers to the hook at the end of a turn; None: no such way.
    pub stop_answer: Option<StopAnswer>,
    /// How a text gets into it where no hook asks for one.
    pub input: Input,
    /// The agent can be woken by a background hook.
    pub mailbox: bool,
    /// The conversation id can be given at launch.
    pub names_conversation: bool,
    /// A first prompt can be given on the launch line.
    pub prompt_argument: bool,
    /// The composer can be read from the screen.
    pub reads_screen: bool,
    /// There is a transcript that proves what the agent was given.
    pub has_transcript: bool,
    /// What would become of a text that is pasted and submitted. Pure.
    pub paste_fit: fn(&str) -> PasteFit,
    /// Escape ends the turn.
    pub escape_interrupts: bool,
    /// How often the agent lets its hook hold up a compaction without being stopped by it for good.
    pub compaction_holds: u32,
    /// Whether it goes on without one, with so many tokens used of such a window, where known. Pure.
    pub compaction_waits: fn(Option<u64>, Option<u64>) -> bool,
    /// How much of a window can be used before the agent compacts or stops. Pure.
    pub usable: fn(u64) -> u64,
    /// How the context is cleared; None: it cannot be handed off.
    pub clear: Option<Clear>,
    /// A key puts a draft aside and the next submit brings it back (never pressed over an older one).
    pub stashes: bool,
    /// The command that goes back to another conversation in the running agent. Pure.
    pub resume_command: Option<fn(&ConversationId) -> String>,
    /// How a text that would be run as a command ([`PasteFit::Command`]) is pasted so that it is a
    /// text. None: it cannot be.
    pub paste_as_text: fn(&str) -> Option<PasteFit>,
}

/// How a text gets into an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Typed into its terminal, guarded by the screen where that can be read.
    Terminal,
    /// Handed over by a request that the agent keeps open, also inside a turn. Nothing is typed.
    Socket,
}

/// The command that clears the context.
#[derive(Debug, Clone, Copy)]
pub struct Clear {
    pub command: &'static str,
    pub proof: ClearProof,
}

/// When the agent shows that its context is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearProof {
    /// At once, by hook or status.
    AtOnce,
    /// With the next prompt only.
    WithPrompt,
}

#[derive(Debug, Clone, Copy)]
pub struct StopAnswer {
    /// Characters that fit.
    pub limit: usize,
    /// Answers in a row that still make a request.
    pub in_a_row: u32,
    /// Whether this text arrives as it is by this way. Pure.
    pub exact: fn(&str) -> bool,
}

/// What would become of a text that is pasted and submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasteFit {
    /// It arrives byte for byte, if these are pasted one after the other (nearly always just the
    /// text).
    Exact { pastes: Vec<String> },
    /// It arrives with white space changed: `arrives` is what the model will get.
    Changed {
        pastes: Vec<String>,
        arrives: String,
    },
    /// It would be taken for a command of the agent: another way has to be used.
    Command,
    /// Nothing would be submitted.
    Empty,
}

impl PasteFit {
    /// Pasted behind a few characters, which arrive with it.
    pub fn behind(lead: &str, text: &str) -> Option<Self> {
        let arrives = format!("{lead}{text}");
        Some(Self::Changed {
            pastes: vec![arrives.clone()],
            arrives,
        })
    }

    /// For a program that takes everything as it is, but for texts that begin with one of these.
    pub fn unless_command(text: &str, prefixes: &[char]) -> Self {
        if text.trim().is_empty() {
            Self::Empty
        } else if text.starts_with(prefixes) {
            Self::Command
        } else {
            Self::Exact {
                pastes: vec![text.to_string()],
            }
        }
    }
}
