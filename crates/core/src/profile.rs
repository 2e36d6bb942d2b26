//! What the state machines need to know about an agent program, as plain data.

use serde::{Deserialize, Serialize};

/// Which agent program a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    Claude,
    Codex,
    /// Any other program: state from its output, delivery by paste, no proof.
    Generic,
}

impl AgentKind {
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Generic];
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Generic => "generic",
        }
    }
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The ways into an agent and what proves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    pub kind: AgentKind,
    /// Characters that fit into the answer to a hook inside a turn; None: no such way.
    pub hook_answer_limit: Option<usize>,
    /// Answers to the hook at the end of a turn; None: no such way.
    pub stop_answer: Option<StopAnswer>,
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
    /// A context start is reported by a hook before the first prompt.
    pub reports_start: bool,
    /// First characters that a pasted text must not have, unless it is meant as a command.
    pub command_prefixes: &'static [char],
    /// Escape ends the turn.
    pub escape_interrupts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopAnswer {
    /// Characters that fit.
    pub limit: usize,
    /// Answers in a row that still make a request.
    pub in_a_row: u32,
}
