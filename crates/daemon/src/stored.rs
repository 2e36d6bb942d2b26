//! How a session lies in the store: the core's record, and what only the daemon needs to know.

use serde::{Deserialize, Serialize};
use sm_core::{ConversationId, Record};
use std::path::PathBuf;

/// The JSON snapshot of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    pub record: Record,
    pub extra: Extra,
}

/// The same, for writing without a copy.
#[derive(Debug, Serialize)]
pub struct StoredRef<'a> {
    pub record: &'a Record,
    pub extra: &'a Extra,
}

/// What is needed to run the session's agent. No environment values: those stay in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extra {
    /// For the agent program.
    pub args: Vec<String>,
    /// The program itself, for a generic agent.
    pub command: Vec<String>,
    pub cols: u16,
    pub rows: u16,
    /// SHA-256 of the session's secret, hex.
    pub secret_hash: String,
    pub terminal: Option<Terminal>,
    /// The `sm run` that hosts it, in place of a terminal of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunHost>,
    /// Where the agent keeps its own files (Claude: ~/.claude, Codex: ~/.codex).
    pub agent_home: Option<PathBuf>,
    /// The window within which the agent was set to compact, at its last launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact_window: Option<u64>,
    /// Why a handoff that its agent makes itself needs a person, by its last launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_needs_person: Option<String>,
    /// A conversation that has taken a prompt: one without a transcript keeps none, and what is not
    /// in it may have arrived all the same.
    #[serde(default)]
    pub begun: Option<ConversationId>,
    /// What the session is for, and in which generation that was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// Whoever started it has said that nobody will sit at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// The words that a session's work began with, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    pub generation: u32,
    pub text: String,
}

/// The session's own pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// tmux's name for the session, and its id.
    pub name: String,
    pub session: String,
    pub pane: String,
    pub pane_pid: u32,
    /// When that process started; 0: not known.
    #[serde(default)]
    pub pane_start: u64,
}

impl Terminal {
    pub fn new(
        name: String,
        session: sm_runtime::TmuxSessionId,
        pane: sm_runtime::PaneId,
        pane_pid: u32,
    ) -> Self {
        Self {
            name,
            session: session.to_string(),
            pane: pane.to_string(),
            pane_pid,
            pane_start: sm_client::process::start_time(pane_pid).unwrap_or(0),
        }
    }
    pub fn pane_id(&self) -> Option<sm_runtime::PaneId> {
        self.pane.parse().ok()
    }
    pub fn session_id(&self) -> Option<sm_runtime::TmuxSessionId> {
        self.session.parse().ok()
    }
}

/// An `sm run` and the way to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHost {
    pub pid: u32,
    pub start: u64,
    pub socket: PathBuf,
    /// The terminal that a person sees it on.
    pub tty: Option<String>,
    pub channel: String,
    /// The document that its present context was begun from.
    #[serde(default)]
    pub handoff: Option<String>,
}

impl RunHost {
    /// Whether exactly this one still runs.
    pub fn is_alive(&self) -> bool {
        self.process().is_alive()
    }
    pub fn is(&self, other: &Self) -> bool {
        self.process() == other.process()
    }
    fn process(&self) -> sm_client::process::Process {
        sm_client::process::Process {
            pid: self.pid,
            start: self.start,
        }
    }
}
