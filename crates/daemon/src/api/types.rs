//! The JSON of the API: a contract. A field is added, never renamed or removed.

use serde::{Deserialize, Serialize};

/// A session, as `sm show --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    pub id: String,
    pub name: String,
    pub agent: String,
    pub state: String,
    pub state_reason: String,
    pub generation: u32,
    pub compactions: u32,
    pub conversation_id: Option<String>,
    pub transcript_path: Option<String>,
    pub cwd: String,
    pub parent: Option<String>,
    pub children: Vec<String>,
    pub context: ContextView,
    pub tmux: TmuxView,
    pub pid: Option<u32>,
    pub exit_code: Option<i32>,
    pub last_handoff_path: Option<String>,
    pub turn: u64,
    pub created_at: String,
    pub changed_at: String,
    pub queue: QueueView,
    /// What a person should look at, if anything.
    pub attention: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ContextView {
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub source: Option<String>,
    pub at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TmuxView {
    pub socket: Option<String>,
    pub session: Option<String>,
    pub pane: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct QueueView {
    /// Messages not yet consumed.
    pub queued: usize,
    pub held: usize,
    pub held_reason: Option<String>,
}

/// A message and what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    pub id: String,
    pub session: String,
    pub from: SenderView,
    pub mode: String,
    pub state: String,
    pub reason: Option<String>,
    pub way: Option<String>,
    pub proof: Option<String>,
    pub text: String,
    pub created_at: String,
    pub changed_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SenderView {
    /// `person`, `session` or `sm`.
    pub kind: String,
    pub id: Option<String>,
    pub name: Option<String>,
}

/// A line of a session's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    pub seq: i64,
    pub at: String,
    pub session: String,
    pub generation: u32,
    pub turn: u64,
    pub kind: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusView {
    pub pid: u32,
    pub version: String,
    pub protocol: u32,
    pub socket: String,
    /// Where TCP is served; null if the port could not be had.
    pub address: Option<String>,
    pub sessions: usize,
    pub uptime_ms: u64,
    pub attention: Vec<String>,
    /// What does not work, each with its remedy.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthView {
    pub ok: bool,
    pub version: String,
    pub protocol: u32,
    pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorView {
    pub error: String,
    pub hint: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewSessionBody {
    /// Made by the caller, so that a repeat is the same session.
    pub id: Option<String>,
    /// `claude`, `codex`, or `generic` with `command`.
    pub agent: String,
    pub name: Option<String>,
    pub cwd: String,
    /// For the agent program.
    pub args: Vec<String>,
    /// The program and its arguments, for `generic`.
    pub command: Vec<String>,
    pub prompt: Option<String>,
    /// The caller's environment. Never written to disk.
    pub env: Vec<(String, String)>,
    pub parent: Option<String>,
    pub cols: Option<u16>,
    pub rows: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoreBody {
    pub env: Vec<(String, String)>,
    pub cols: Option<u16>,
    pub rows: Option<u16>,
    /// Start in a new conversation instead of resuming.
    pub fresh: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PatchBody {
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SendBody {
    pub id: String,
    pub text: String,
    /// `sequential`, `important` or `urgent`.
    pub mode: Option<String>,
    pub raw: bool,
    /// The sending session's id; `x-sm-secret` has to prove it.
    pub from: Option<String>,
    pub notify: bool,
    pub expires_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputView {
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachView {
    /// The command that attaches to the session's terminal.
    pub argv: Vec<String>,
}
