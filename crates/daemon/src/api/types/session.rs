//! Sessions: how one looks, and what is asked of it.

use serde::{Deserialize, Serialize};

/// A session, as `sm show --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    pub id: String,
    pub name: String,
    pub agent: String,
    pub state: String,
    pub state_reason: String,
    /// Since when it is in this state.
    #[serde(default)]
    pub state_since: String,
    /// What a person is needed for, while it waits.
    #[serde(default)]
    pub waiting_for: Option<WaitingView>,
    /// The provider's limit that its last turn met, until something else has happened.
    #[serde(default)]
    pub limit: Option<LimitView>,
    /// With what error its last turn ended, until another begins.
    #[serde(default)]
    pub turn_error: Option<String>,
    /// The words its work began with.
    #[serde(default)]
    pub goal: Option<String>,
    /// The newest tool call of the turn under way: `Bash: cargo test`.
    #[serde(default)]
    pub activity: Option<String>,
    pub generation: u32,
    pub compactions: u32,
    pub conversation_id: Option<String>,
    pub transcript_path: Option<String>,
    pub cwd: String,
    pub parent: Option<String>,
    pub children: Vec<String>,
    pub context: ContextView,
    pub tmux: TmuxView,
    /// The `sm run` in whose terminal it lives, if it has none of ours.
    #[serde(default)]
    pub run: Option<RunView>,
    pub pid: Option<u32>,
    pub exit_code: Option<i32>,
    pub last_handoff_path: Option<String>,
    /// The handoff that is under way.
    #[serde(default)]
    pub handoff: Option<OpenHandoffView>,
    /// The last handoff, if it failed and nobody has gone on with the session since.
    #[serde(default)]
    pub failed_handoff: Option<FailedHandoffView>,
    /// The same as `context.tokens`, 0 while that is unknown: the name older programs know.
    #[serde(default)]
    pub tokens_used: u64,
    /// The file its terminal's output goes to now; earlier parts lie beside it.
    pub log_file: Option<String>,
    pub turn: u64,
    pub created_at: String,
    /// When anything of it last changed.
    pub changed_at: String,
    pub queue: QueueView,
    /// What a person should look at, if anything.
    pub attention: Option<String>,
    /// Why a handoff that its agent makes itself needs a person, by the settings of its launch.
    #[serde(default)]
    pub handoff_needs_person: Option<String>,
}

/// A dialog that stands in the session's terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingView {
    /// `permission`, `question` or `first_run`.
    pub kind: String,
    /// The tool that asks, or which first-run dialog it is.
    pub tool: Option<String>,
    /// The command, file or question: one line, without secrets.
    pub request: Option<String>,
    /// Dialogs behind this one.
    pub more: usize,
}

/// A provider that answers nothing for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitView {
    /// `usage`, `overloaded` or `network`.
    pub kind: String,
    /// In the words of whoever told it.
    pub text: String,
    pub since: String,
    /// Until then nothing is given to the agent.
    pub until: String,
    /// When the provider's limit ends, if that was told.
    pub resets_at: Option<String>,
    /// Who told it: `agent`, `transcript`, `sentence`; `assumed`: nobody.
    pub source: String,
    /// `waiting`, `due`, `trying` or `over`.
    pub phase: String,
    /// How often the agent was told to go on and met the limit again.
    pub tries: u32,
    /// The message that tells the agent to go on; to cancel it: `sm queue rm`.
    pub prompt: Option<String>,
    /// The agent says that it goes on by itself.
    pub continues_itself: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenHandoffView {
    pub id: String,
    pub state: String,
    pub created_at: String,
    /// What stands in front of it that only a person can take away.
    #[serde(default)]
    pub waits_for_person: Option<String>,
}

/// A handoff that ended without a successor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedHandoffView {
    pub id: String,
    /// `rolled_back` or `abandoned`.
    pub state: String,
    pub reason: String,
    pub at: String,
    /// Our copy of its document, to hand off with once more.
    pub document: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ContextView {
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub source: Option<String>,
    pub at: Option<String>,
    /// When we last heard of it, from whatever source.
    pub last_sample_at: Option<String>,
    /// Its agent works and has told nothing since then.
    pub quiet_since: Option<String>,
    /// Percentage points per hour, over the last hour.
    pub trend: Option<f64>,
    /// From so many percent on it is filling up, as it is configured for this session.
    #[serde(default)]
    pub warning: Option<u8>,
    /// From so many percent on it is critical.
    #[serde(default)]
    pub critical: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TmuxView {
    pub socket: Option<String>,
    pub session: Option<String>,
    pub pane: Option<String>,
}

/// An agent in a person's own terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    pub pid: u32,
    pub tty: Option<String>,
    pub channel: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct QueueView {
    /// Messages not yet consumed.
    pub queued: usize,
    pub held: usize,
    pub held_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewSessionBody {
    /// Made by the caller, so that a repeat is the same session.
    pub id: Option<String>,
    /// `claude`, `codex`, `native`, or `generic` with `command`.
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
    /// It is to be left alone: after a limit of its provider it is told to go on.
    pub unattended: bool,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether its agent is told how full its context is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch: Option<bool>,
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
