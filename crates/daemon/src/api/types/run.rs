//! What an `sm run` tells the daemon of itself.

use serde::{Deserialize, Serialize};

/// What an `sm run` tells of itself: everything, each time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunBody {
    pub agent: String,
    pub cwd: String,
    /// With what the agent is started again.
    pub args: Vec<String>,
    /// The program, for a generic agent.
    pub command: Vec<String>,
    pub parent: Option<String>,
    /// SHA-256 of the secret in its agent's environment, hex.
    pub secret_hash: String,
    pub agent_home: Option<std::path::PathBuf>,
    #[serde(default)]
    pub compact_window: Option<u64>,
    /// The wrapper itself.
    pub run: ProcessBody,
    pub socket: std::path::PathBuf,
    pub tty: Option<String>,
    pub channel: String,
    pub cols: u16,
    pub rows: u16,
    pub generation: u32,
    /// The agent's; none between two contexts.
    pub process: Option<ProcessBody>,
    pub conversation: Option<String>,
    pub transcript: Option<String>,
    /// When that process was started, milliseconds since the epoch.
    pub at: i64,
    /// It was begun with a prompt of the run's own, whose turn is not over.
    pub prompted: bool,
    /// The document that it was begun from; why it was made, and by whom, in the words of handoffs.
    pub handoff: Option<String>,
    pub handoff_trigger: Option<String>,
    pub handoff_author: Option<String>,
    /// It is over.
    pub ended: Option<EndBody>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessBody {
    pub pid: u32,
    pub start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EndBody {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}
