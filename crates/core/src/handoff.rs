//! A handoff: the transaction that moves a session from one context to the next. What it is, how
//! far it can have come, and why one may be refused.
//!
//! Trigger, author and carrier are independent: a new way of handing off is a new value of one of
//! them, never another course of steps.

use crate::carried::Carried;
use crate::ids::{ConversationId, Generation, HandoffId, MessageId, SessionId, Timestamp, TurnId};
use crate::message::Proof;
use crate::monitor::thousands;
use serde::{Deserialize, Serialize};

/// How far a handoff has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffState {
    /// Durable; waits for the end of the turn.
    Scheduled,
    /// Document and artifacts are safe; the context may be left.
    Prepared,
    /// The old context is left for good.
    Cleared,
    /// The successor has proven to have its prompt.
    Prompted,
    /// The successor's first turn is over, or goes on by itself.
    Done,
    /// Another one was scheduled in its place.
    Replaced,
    Cancelled,
    /// Nothing was left, or nothing more can be done: the document is kept.
    Abandoned,
    /// The old conversation goes on.
    RolledBack,
    /// It was asked for and never scheduled.
    Refused,
}

impl HandoffState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Prepared => "prepared",
            Self::Cleared => "cleared",
            Self::Prompted => "prompted",
            Self::Done => "done",
            Self::Replaced => "replaced",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
            Self::RolledBack => "rolled_back",
            Self::Refused => "refused",
        }
    }
    /// It was to be, and there is no successor.
    pub(crate) fn has_failed(self) -> bool {
        match self {
            Self::Abandoned | Self::RolledBack => true,
            Self::Scheduled
            | Self::Prepared
            | Self::Cleared
            | Self::Prompted
            | Self::Done
            | Self::Replaced
            | Self::Cancelled
            | Self::Refused => false,
        }
    }
    /// More is going to happen.
    pub fn is_open(self) -> bool {
        match self {
            Self::Scheduled | Self::Prepared | Self::Cleared | Self::Prompted => true,
            Self::Done
            | Self::Replaced
            | Self::Cancelled
            | Self::Abandoned
            | Self::RolledBack
            | Self::Refused => false,
        }
    }
}

/// Why there is a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The agent asked for it.
    Agent,
    /// A person asked for it, from outside.
    Person,
    /// The monitor: the context is fuller than allowed.
    Threshold,
    /// The agent is about to compact its context by itself.
    CompactionImminent,
    /// The agent has compacted its context.
    Compacted,
}

impl Trigger {
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Threshold => "threshold",
            Self::CompactionImminent => "compaction_imminent",
            Self::Compacted => "compacted",
        }
    }
    /// By its word, as others tell it.
    pub fn named(word: &str) -> Option<Self> {
        [
            Self::Agent,
            Self::Person,
            Self::Threshold,
            Self::CompactionImminent,
            Self::Compacted,
        ]
        .into_iter()
        .find(|trigger| trigger.word() == word)
    }
    /// Nobody decided on this one by itself: it needs the guards against loops.
    pub(crate) fn is_automatic(self) -> bool {
        match self {
            Self::Agent | Self::Person => false,
            Self::Threshold | Self::CompactionImminent | Self::Compacted => true,
        }
    }
}

/// Who wrote the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    Agent,
    Person,
    /// A model that was asked once.
    Model,
    /// `sm`, mechanically, from the transcript.
    Ledger,
}

impl Author {
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Model => "model",
            Self::Ledger => "ledger",
        }
    }
    /// By its word, as others tell it.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Agent, Self::Person, Self::Model, Self::Ledger]
            .into_iter()
            .find(|author| author.word() == word)
    }
}

/// How the next context begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// The live agent clears its context and is prompted.
    Clear,
    /// The agent is stopped and started again with the prompt.
    Relaunch,
}

impl Carrier {
    pub fn word(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Relaunch => "relaunch",
        }
    }
}

/// A handoff as it is asked for. The document lies safely in `copy` already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHandoff {
    pub id: HandoffId,
    pub trigger: Trigger,
    pub author: Author,
    /// The path its author gave.
    pub document: String,
    /// Our copy of it, on disk.
    pub copy: String,
    /// Where its artifacts go.
    pub folder: String,
    /// How the document came about, for people; may be empty.
    pub note: String,
    /// Where the document really was, through all links, when it was read; empty if it has no file.
    pub source: String,
}

/// Something that goes with the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub kind: ArtifactKind,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    Document,
    /// The last readable lines of the terminal.
    Snapshot,
    /// The raw log; `bytes`: how much of it belongs to the contexts before.
    Log,
    Transcript,
    /// What was under way.
    InFlight,
}

/// What was made ready before the context is left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prepared {
    /// The path the successor is given: the author's while it can be read, else our copy.
    pub document: String,
    pub artifacts: Vec<Artifact>,
    /// Children, background tasks, queued messages: a line each.
    pub in_flight: Vec<String>,
    /// What goes along of the document itself.
    pub content: Option<Carried>,
    /// Constraints of the session and its project, word for word.
    pub pins: Vec<String>,
}

impl Prepared {
    pub fn artifact(&self, kind: ArtifactKind) -> Option<&Artifact> {
        self.artifacts
            .iter()
            .find(|a| a.kind == kind && a.problem.is_none())
    }
}

/// One thing that happened, when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub at: Timestamp,
    pub text: String,
}

/// A handoff, from its scheduling to its end. Journaled with the session, kept as history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    pub id: HandoffId,
    pub state: HandoffState,
    pub trigger: Trigger,
    pub author: Author,
    pub carrier: Carrier,
    pub from: Generation,
    pub to: Option<Generation>,
    /// The conversation that is left, to go back to.
    pub from_conversation: Option<ConversationId>,
    /// The turn in which it was scheduled.
    pub turn: TurnId,
    /// The path its author gave.
    pub document: String,
    pub copy: String,
    pub folder: String,
    pub artifacts: Vec<Artifact>,
    pub steps: Vec<Step>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
    pub created_at: Timestamp,
    pub done_at: Option<Timestamp>,
    /// The path the successor is told: the author's while it can be read, else our copy.
    #[serde(default)]
    pub given: String,
    /// How much of the document is in the successor's context.
    #[serde(default)]
    pub in_context: Option<InContext>,
    /// The successor's prompt, as a message and as text while it may be needed again.
    pub wake: Option<MessageId>,
    #[serde(default)]
    pub wake_text: String,
    #[serde(default)]
    pub wakes: u32,
    /// When the turn it waited for was over.
    #[serde(default)]
    pub began_at: Option<Timestamp>,
    /// When the successor was proven to have its prompt.
    #[serde(default)]
    pub prompted_at: Option<Timestamp>,
    /// Clears that were ordered, and times the agent was started again.
    #[serde(default)]
    pub clears: u32,
    #[serde(default)]
    pub relaunches: u32,
    /// Our copy of the document that the context it leaves began with.
    #[serde(default)]
    pub before: Option<String>,
    /// When Enter was first pressed on the clear: a conversation made since is not the old one.
    #[serde(default)]
    pub entered_at: Option<Timestamp>,
    /// The generation in which a person's draft was put aside. It comes back when that is left.
    #[serde(default)]
    pub stashed: Option<Generation>,
    /// The clear was typed and taken; its proof comes with the prompt.
    #[serde(default)]
    pub unproven: bool,
    #[serde(default)]
    pub course: Course,
    /// It goes on once a person has done something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_wait: Option<PersonWait>,
    /// Whether a person still has to hear that it failed.
    #[serde(default)]
    pub failure: Failure,
    /// How the document came about, for people: who wrote it, and why that one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Where the document really was when it was read. What its path leads to later may be another
    /// file, and is not read. Empty: not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// What stands in front of a handoff that only a person can take away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonWait {
    pub since: Timestamp,
    pub why: String,
}

/// How much of a document goes along with the prompt, in characters, and by what it is proven that
/// the successor has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InContext {
    pub characters: usize,
    pub of: usize,
    /// None: not yet.
    pub proof: Option<Proof>,
}

impl InContext {
    /// For people: `in context, 6,412 of 6,412 characters, proven by transcript`.
    pub fn told(self) -> String {
        let (characters, of) = (thousands(self.characters as u64), thousands(self.of as u64));
        match self.proof {
            Some(proof) => format!(
                "in context, {characters} of {of} characters, proven by {}",
                proof.word()
            ),
            None => format!("given, {characters} of {of} characters; nothing proves it yet"),
        }
    }
}

/// What a person knows of a handoff that ended without a successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Nobody has said anything to the session since.
    #[default]
    Untold,
    /// It was a person's own doing, or they have gone on with the session since.
    Known,
}

impl Handoff {
    /// Why it ended as it did, as its last step says it.
    pub fn ended_because(&self) -> Option<&str> {
        let word = self.state.word();
        self.steps
            .iter()
            .rev()
            .find_map(|step| step.text.strip_prefix(word)?.strip_prefix(": "))
    }
}

/// What an open handoff is trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// On to the successor, in the agent that runs.
    #[default]
    Forward,
    /// The agent is being stopped, to be started again with the prompt.
    Stopping,
    /// The agent is being started with the prompt.
    Starting,
    /// Back to the old conversation in the agent that runs.
    Back,
    /// The agent is being stopped, to be started again in the old conversation.
    BackStopping,
    /// The agent is being started in the old conversation.
    BackStarting,
}

impl Course {
    /// What is tried is done by a process other than the one that ran.
    pub(crate) fn relaunches(self) -> bool {
        match self {
            Self::Stopping | Self::Starting | Self::BackStopping | Self::BackStarting => true,
            Self::Forward | Self::Back => false,
        }
    }

    pub(crate) fn is_back(self) -> bool {
        match self {
            Self::Back | Self::BackStopping | Self::BackStarting => true,
            Self::Forward | Self::Stopping | Self::Starting => false,
        }
    }
}

/// What keeps automatic handoffs from becoming a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// Between two automatic ones, milliseconds.
    pub cooldown: i64,
    /// Automatic ones in an hour.
    pub per_hour: u32,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            cooldown: 10 * 60_000,
            per_hour: 4,
        }
    }
}

/// Why a handoff is not scheduled. Each says what happened and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "sm handoff is not supported for {0} sessions: sm knows no way to clear the context of that program. The document stays where it is"
    )]
    NotClearable(String),
    #[error("the session has ended ({why}). Bring it back with: sm restore {id}")]
    Ended { why: String, id: SessionId },
    #[error("the session is being ended; nothing is handed off")]
    Ending,
    #[error("handoff {0} is already under way ({1}); wait for its end. See: sm handoffs show {0}")]
    UnderWay(HandoffId, &'static str),
    #[error("generation {0} was already handed off; wait until its successor has begun")]
    AlreadyLeft(u32),
    #[error("the last automatic handoff was {0} s ago; the next one is possible in {1} s")]
    CoolDown(i64, i64),
    #[error("{0} automatic handoffs in the last hour are enough; the context stays as it is")]
    TooMany(u32),
    #[error("no turn has run since the last handoff; there is nothing new to hand off")]
    NoNewWork,
}
