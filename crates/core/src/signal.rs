//! What an agent program tells, in words that are the same for every agent.
//!
//! The `agents` crate turns hook payloads, transcript lines, status files, titles and screens into
//! these values; the session's state machine decides what they mean. Nothing here knows a program.

use crate::ids::{ConversationId, EventId, Process, RequestId, Timestamp, WaiterId};
use crate::limit::{ProviderLimit, UsageWindow};
use serde::{Deserialize, Serialize};

/// One hook call of an agent program, as it reached the daemon (by socket or from the spool).
#[derive(Debug, Clone, PartialEq)]
pub struct HookCall {
    pub id: EventId,
    /// When the hook program ran, by its own clock.
    pub at: Timestamp,
    /// The agent's conversation the call speaks for, if its payload says so.
    pub conversation: Option<ConversationId>,
    pub origin: Origin,
    /// Some: somebody waits for our answer. None: it came from the spool.
    pub request: Option<RequestId>,
    pub signal: Signal,
}

/// Which process a hook call comes from, seen from the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The session's own agent process.
    Own,
    /// A sub-agent inside the session's own process: never speaks for the main conversation.
    SubAgent,
    /// Another process that inherited the session's environment (an agent started by the agent).
    Nested,
    /// The platform or the spool cannot tell; the conversation id decides.
    Unknown,
    /// Nothing proves that it is a process of the session at all: written down, and nothing more.
    Unproven,
}

/// What happened in the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    ContextStarted {
        source: ContextSource,
        transcript: Option<String>,
    },
    ContextEnded {
        reason: EndReason,
    },
    /// A prompt was accepted; a turn begins (or is steered). `text` is what the agent was given.
    PromptAccepted {
        text: String,
        transcript: Option<String>,
    },
    /// Tools have run; the agent is about to ask its model again. An answer here reaches this turn.
    ToolsFinished,
    /// The agent does something inside its turn (a tool starts, a request is sent).
    Working,
    /// The agent stands still until a person answers. `call` is what it asks about, if it says so.
    PersonNeeded {
        need: PersonNeed,
        call: Option<ToolCall>,
    },
    /// The turn is about to end. An answer here becomes the next request.
    Stopping {
        again: bool,
        /// What still runs in the background, a few words each.
        background_tasks: Vec<String>,
    },
    /// The turn ended without `Stopping`: API error, interrupt, limit.
    TurnBroken(BreakReason),
    CompactionStarting {
        automatic: bool,
    },
    CompactionDone,
    /// An older script says that a compaction fires; ours may say so too.
    CompactionReported,
    /// A background hook that can wake the agent is waiting for text.
    MailboxOpen {
        waiter: WaiterId,
    },
    Usage(UsageSample),
    /// Known, but without meaning for the state (sub-agent events, notifications of no use).
    Other(String),
}

impl Signal {
    /// A short word for the log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ContextStarted { .. } => "context started",
            Self::ContextEnded { .. } => "context ended",
            Self::PromptAccepted { .. } => "prompt accepted",
            Self::ToolsFinished => "tools finished",
            Self::Working => "working",
            Self::PersonNeeded { .. } => "person needed",
            Self::Stopping { .. } => "stopping",
            Self::TurnBroken(_) => "turn broken",
            Self::CompactionStarting { .. } => "compaction starting",
            Self::CompactionDone => "compaction done",
            Self::CompactionReported => "compaction reported",
            Self::MailboxOpen { .. } => "mailbox open",
            Self::Usage(_) => "usage",
            Self::Other(_) => "other hook",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Fork,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Clear,
    Exit,
    Other,
}

/// What a person is needed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "what")]
pub enum PersonNeed {
    /// A tool call wants approval; the tool's name.
    Permission(String),
    /// A question, a plan to approve, a picker.
    Question,
    /// What to do about a limit of the provider that it has met.
    Limit,
    /// A first-run dialog: folder trust, API key, hooks to review, login.
    FirstRun(String),
}

/// A tool call in words: which tool, and what it is asked to do (a command, a file, a question).
/// An agent wrote it; whoever takes it in from outside makes it safe to show (`shown`) and takes
/// the secrets out first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub tool: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "what")]
pub enum BreakReason {
    Interrupted,
    ApiError(String),
    /// The provider answers nothing for a while.
    Limit(ProviderLimit),
    Denied,
    Other(String),
}

/// How full the context is, as one source saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageSample {
    pub source: UsageSource,
    /// The agent's own definition; `None` before the first response.
    pub used_percentage: Option<f64>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageSource {
    StatusLine,
    Transcript,
    Hook,
    Api,
    /// Told by somebody who did not prove to be of the session: shown where nothing better is known,
    /// and never acted on.
    Unproven,
}

/// A fact read from the agent's own record of the conversation, in the order it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// Text that is now part of the conversation, and by which way it came.
    UserText {
        text: String,
        came: Came,
        at: Option<Timestamp>,
    },
    /// What the agent calls a text before its model: something else than the user's own words.
    Labelled {
        text: String,
        label: String,
    },
    /// The model said something (text or a tool call).
    Assistant {
        at: Option<Timestamp>,
    },
    /// The model called a tool; `id` is the call's own.
    ToolCalled {
        id: String,
        call: ToolCall,
    },
    /// A call has its result, whatever that is.
    ToolReturned {
        id: String,
    },
    /// The turn ended by itself or was interrupted.
    TurnEnded {
        broken: Option<BreakReason>,
        at: Option<Timestamp>,
    },
    /// The context was compacted: tokens before and after, where the record says so.
    CompactBoundary {
        before: Option<u64>,
        after: Option<u64>,
        at: Option<Timestamp>,
    },
    Usage(UsageSample),
    /// How much of what the provider allows is used.
    Windows(Vec<UsageWindow>),
}

/// By which way a text came into the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// An ordinary prompt (typed, pasted, launch argument, mailbox).
    Prompt,
    /// The answer to a hook inside a turn.
    HookContext,
    /// The answer to the hook at the end of a turn.
    StopFeedback,
    /// Typed by somebody while the agent worked, joined to a tool result.
    Queued,
}

/// What the agent's own status file or its equivalent says (Claude: ~/.claude/sessions/PID.json).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReading {
    pub process: Process,
    pub conversation: Option<ConversationId>,
    pub activity: Activity,
    pub at: Option<Timestamp>,
}

/// What one source says the agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    Busy,
    Idle,
    Waiting(PersonNeed),
    /// This source cannot tell (a title that is the same when idle and when waiting).
    IdleOrWaiting,
    Unknown,
}

/// What the screen shows. Only a guard before keys, never a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenReading {
    pub composer: Composer,
    pub activity: Activity,
    /// Changes whenever anything on the screen that matters moved; a key is pressed only
    /// if it is still the same (checked by the terminal in the same step).
    pub mark: ScreenMark,
}

/// A fingerprint of the screen the terminal can compare by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScreenMark {
    pub cursor_x: u32,
    pub cursor_y: u32,
    pub title: String,
    pub history: u64,
    pub alternate: bool,
}

/// The line (or lines) where a person types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Composer {
    /// Proven empty.
    Empty,
    /// Holds exactly the text that was asked about (or the agent's placeholder for a paste of it).
    Ours,
    /// Holds something else: a person's draft.
    Draft,
    /// A person's draft, and an older one is stashed: to stash this one would destroy that one.
    DraftOverStash,
    /// Empty, but a stashed draft would come back after the next submit.
    Stashed,
    /// A mode in which text would be run as a command.
    Shell,
    /// No composer to be seen: a dialog, a menu, a pager, copy mode, or an unknown screen.
    Hidden,
}

/// Everything that could be found out at one moment, from every source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Whether the agent's process is alive: None if unknown.
    pub alive: Option<bool>,
    pub status: Option<StatusReading>,
    pub title: Activity,
    /// None: the screen could not be read.
    pub screen: Option<ScreenReading>,
    /// The record of the conversation was read up to its end before this evidence was sent,
    /// and what it told came as facts before it.
    pub transcript_read: bool,
    /// The process shows every context that it has: a new one came as a found record before this
    /// evidence was sent. False: nobody can tell.
    pub contexts_read: bool,
    /// It does not take what is typed: its process is stopped. What it was given may all the same
    /// arrive later.
    pub deaf: bool,
}
