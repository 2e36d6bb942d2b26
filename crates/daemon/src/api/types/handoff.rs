//! Handoffs: one that is asked for, its document judged, and what became of it.

use serde::{Deserialize, Serialize};

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
    /// The document itself, instead of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Take a document that looks unfinished.
    pub force: bool,
    /// sm writes the document itself, from the session's ledger.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// For a session whose agent has ended: what it is started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<(String, String)>>,
    /// `model`, if a model wrote the file. Otherwise whoever asks has written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// How the document came about, for the history: one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
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

/// A document that a model writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerateBody {
    /// What it should look at most.
    pub focus: String,
}

/// When a scheduled handoff happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    TurnEnd,
    Now,
    Start,
    /// Once its agent, which is being started, is ready.
    Ready,
    /// Once the compaction that a person has begun is over.
    Compacted,
    /// Once a person has answered the dialog that stands there.
    Answered,
    /// A newer daemon's.
    #[serde(other)]
    Other,
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
    /// When the context is left: `turn_end` (of the turn that runs), `now` (none runs), `ready` (its
    /// agent is being started), `compacted` (it compacts its context), `answered` (a dialog waits for a
    /// person) or `start` (its agent has ended and is started again for it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
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
    /// How the document came about: which model, what was wrong with another one.
    pub note: Option<String>,
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
    /// How much of the document itself is in its successor's context; null before it was prepared,
    /// and where the agent loads it by itself.
    #[serde(default)]
    pub in_context: Option<InContextView>,
    pub artifacts: Vec<ArtifactView>,
    pub steps: Vec<StepView>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
    pub created_at: String,
    pub prompted_at: Option<String>,
    pub done_at: Option<String>,
    /// From the end of the turn until the successor had its prompt.
    pub took_ms: Option<i64>,
    /// What stands in front of it that only a person can take away.
    #[serde(default)]
    pub waits_for_person: Option<String>,
    /// The successor's first prompt; in a list only while it may be needed again.
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InContextView {
    /// Characters of the document that go along with the prompt.
    pub characters: u64,
    /// Characters that the document has.
    pub of: u64,
    /// What shows that the successor has them: `hook` or `transcript`; null: nothing yet.
    pub proof: Option<String>,
    /// The same in words: `in context, 6,412 of 6,412 characters, proven by hook`.
    pub text: String,
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
