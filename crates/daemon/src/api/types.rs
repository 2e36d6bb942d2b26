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
    /// Since when it is in this state.
    #[serde(default)]
    pub state_since: String,
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenHandoffView {
    pub id: String,
    pub state: String,
    pub created_at: String,
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
    /// From so many percent on it is critical, as it is configured for this session.
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

/// A link that signs a browser in, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignInView {
    pub url: String,
    pub expires_at: String,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether its agent is told how full its context is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch: Option<bool>,
}

/// How full a context is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextReport {
    pub session: String,
    pub name: String,
    pub agent: String,
    pub generation: u32,
    pub compactions: u32,
    /// By the agent's own definition.
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    /// What can be used before the agent compacts or stops, and how much of that is used.
    pub usable: Option<u64>,
    pub usable_percentage: Option<f64>,
    pub source: Option<String>,
    pub at: Option<String>,
    pub last_sample_at: Option<String>,
    /// Percentage points per hour, over the last hour.
    pub trend: Option<f64>,
    /// The newest of every source.
    pub samples: Vec<SampleView>,
    /// The lowest and the highest, if they are more than five points apart.
    pub disagreement: Option<[f64; 2]>,
    pub watched: bool,
    pub on_compaction: String,
    /// Whether the agent lets a compaction be held up, if that is what is wanted.
    pub can_hold_up: bool,
    pub thresholds: Vec<ThresholdView>,
    pub history: Vec<PointView>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SampleView {
    pub source: String,
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThresholdView {
    pub percent: u8,
    pub level: String,
    /// It was reached and said in this context.
    pub said: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PointView {
    pub at: String,
    pub generation: u32,
    pub used_percentage: f64,
    pub tokens: Option<u64>,
}

/// How full a context was, for a chart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UsagePointView {
    pub at: String,
    pub used_percentage: f64,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub generation: u32,
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

/// A handoff that is asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffBody {
    /// Made by who asks: the same id is the same handoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The asking session's own id; `x-sm-secret` has to prove it.
    pub requester_session_id: Option<String>,
    /// A person asks, from outside of all sessions.
    pub person: bool,
    /// Absolute. Not needed with `auto`.
    pub file_path: String,
    /// Take a document that looks unfinished.
    pub force: bool,
    /// sm writes the document itself, from the session's ledger.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// For a session whose agent has ended: what it is started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<(String, String)>>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CancelBody {
    pub requester_session_id: Option<String>,
}

/// A document to be looked at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckBody {
    /// Absolute.
    pub file_path: String,
}

/// What the gate says of a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckView {
    /// 0 to 100.
    pub score: u32,
    pub findings: Vec<FindingView>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FindingView {
    /// 1-based; none: it is about the whole.
    pub line: Option<usize>,
    /// `note`, `warning` or `error`.
    pub level: String,
    pub what: String,
    pub todo: String,
}

impl From<&sm_ledger::gate::Report> for CheckView {
    fn from(report: &sm_ledger::gate::Report) -> Self {
        let view = |finding: &sm_ledger::gate::Finding| FindingView {
            line: finding.line,
            level: finding.level.to_string(),
            what: finding.what.clone(),
            todo: finding.todo.clone(),
        };
        Self {
            score: report.score,
            findings: report.findings.iter().map(view).collect(),
        }
    }
}

/// A constraint to pin, or a pin to take back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinBody {
    pub text: String,
}

/// What every context of a session is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinsView {
    pub session: String,
    pub name: String,
    /// Where the project's pins are, or would be.
    pub file: String,
    /// The session's own first.
    pub pins: Vec<PinView>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PinView {
    pub text: String,
    /// `session` or `project`.
    pub of: String,
}

/// A document that a model writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerateBody {
    /// What it should look at most.
    pub focus: String,
}

/// What became of a request for a handoff. A refusal has `error` and nothing else.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffAnswer {
    /// `scheduled`, `generating` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Our copy of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
    /// The handoff that was scheduled before and does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A handoff, as `sm handoffs --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandoffView {
    pub id: String,
    pub session: String,
    pub state: String,
    pub trigger: String,
    pub author: String,
    pub carrier: String,
    pub from_generation: u32,
    pub to_generation: Option<u32>,
    pub from_conversation: Option<String>,
    /// The path its author gave.
    pub document: String,
    pub copy: String,
    pub folder: String,
    /// The path its successor was told.
    pub given: Option<String>,
    pub artifacts: Vec<ArtifactView>,
    pub steps: Vec<StepView>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
    pub created_at: String,
    pub prompted_at: Option<String>,
    pub done_at: Option<String>,
    /// From the end of the turn until the successor had its prompt.
    pub took_ms: Option<i64>,
    /// The successor's first prompt; in a list only while it may be needed again.
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArtifactView {
    /// `document`, `snapshot`, `log`, `transcript` or `in_flight`.
    pub kind: String,
    pub path: String,
    pub bytes: Option<u64>,
    pub lines: Option<u64>,
    /// Why there is none.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepView {
    pub at: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TemplateView {
    pub text: String,
}

/// What `GET /sessions/{s}/ledger` tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerView {
    pub session: String,
    pub name: String,
    pub generation: u32,
    pub conversation_id: Option<String>,
    pub transcript_path: String,
    /// When the last thing it knows of happened, as the transcript says.
    pub last_at: Option<String>,
    /// When it was last written down.
    pub at: String,
    /// How the work began, in one line.
    pub goal: Option<String>,
    /// Files that were last changed, or read.
    pub files: Vec<String>,
    /// What failed last and was not seen to work since.
    pub failing: Option<String>,
    /// The document; empty if only the lines above were asked for.
    pub text: String,
}

/// What `GET /sessions/{s}/archive/about` tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveView {
    /// Where the text lies.
    pub folder: String,
    /// The files that can be searched: text, and the terminal's own bytes.
    pub text: String,
    pub raw: String,
    pub lines: u64,
    /// How many bytes of the log had to be rendered for this answer.
    pub rendered: u64,
    pub generations: Vec<GenerationView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationView {
    pub generation: u32,
    pub at: Option<String>,
}

/// A line that was found, or one near it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundView {
    pub line: u64,
    pub generation: u32,
    pub at: Option<String>,
    #[serde(rename = "match")]
    pub matches: bool,
    pub text: String,
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
