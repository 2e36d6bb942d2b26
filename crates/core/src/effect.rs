//! What a session wants done. Effects of a step are carried out after the step is journaled.

use crate::ids::{
    ConversationId, Generation, HandoffId, MessageId, Process, RequestId, SessionId, TurnId,
    WaiterId,
};
use crate::message::NewMessage;
use crate::signal::ScreenMark;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Make the terminal and start the agent in it.
    Launch(LaunchPlan),
    /// End the session's own processes and its terminal.
    Terminate,
    /// The agent has ended: remove what is left of its terminal.
    CloseTerminal,
    /// End the agent's own process and leave its terminal: it is started again there.
    StopAgent { launch: u32 },
    /// Make safe what goes with a handoff: the document once more, snapshot, transcript, what is
    /// under way. May be asked for again after a crash: the same files.
    Prepare(HandoffId),
    /// Ask every source. `ours`: does the composer hold exactly this text?
    Probe { probe: u64, ours: Option<String> },
    /// Bracketed pastes into the agent's own pane, one after the other, only if the screen is still
    /// the one that was looked at.
    Paste {
        flight: u64,
        pastes: Vec<String>,
        guard: Option<ScreenMark>,
    },
    /// Press a key, only if the screen is still the one that was looked at.
    Press {
        flight: u64,
        key: Key,
        guard: Option<ScreenMark>,
    },
    /// What a waiting hook call prints.
    Answer { request: RequestId, answer: Answer },
    /// Give the agent a text through the request that it keeps open.
    Mail {
        flight: u64,
        waiter: WaiterId,
        text: String,
        handing: Handing,
    },
    /// A waiter that is no longer wanted ends quietly.
    Dismiss { waiter: WaiterId },
    /// Put a text that is too long for a hook's answer where the agent can read it.
    /// Comes before the answer that names it.
    Spill { message: MessageId, text: String },
    /// A message for another session. Its id is derived, so that a repeat is the same message.
    Tell { to: SessionId, message: NewMessage },
    /// Tell the owner.
    Notify(Notice),
    /// A line in the session's history.
    Record(Entry),
}

impl Effect {
    /// A short word for the log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Terminate => "terminate",
            Self::CloseTerminal => "close terminal",
            Self::StopAgent { .. } => "stop agent",
            Self::Prepare(_) => "prepare",
            Self::Probe { .. } => "probe",
            Self::Paste { .. } => "paste",
            Self::Press { key, .. } => match key {
                Key::Enter => "press enter",
                Key::Escape => "press escape",
                Key::Stash => "press stash",
                Key::Erase => "press erase",
            },
            Self::Answer { .. } => "answer",
            Self::Mail { .. } => "mail",
            Self::Dismiss { .. } => "dismiss",
            Self::Spill { .. } => "spill",
            Self::Tell { .. } => "tell",
            Self::Notify(_) => "notify",
            Self::Record(_) => "record",
        }
    }
}

/// What an agent does with a text that is handed to it. A background hook knows the first only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handing {
    /// Begins a turn with it; after the present one, if one has just begun.
    Prompt,
    /// Says it in the running turn, before the next request.
    Steer,
    /// Ends the running turn and begins the next one with it.
    Interrupt,
    /// Takes it as if a person had typed it: it may be a command.
    Command,
}

impl Handing {
    pub const ALL: [Self; 4] = [Self::Prompt, Self::Steer, Self::Interrupt, Self::Command];
    pub fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Command => "command",
        }
    }
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|handing| handing.word() == word)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Key {
    Enter,
    Escape,
    /// Puts the draft in the composer aside.
    Stash,
    /// Empties the line in the composer: pressed only on exactly our own text.
    Erase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchPlan {
    pub launch: u32,
    /// Resume this conversation, or start a new one.
    pub resume: Option<ConversationId>,
    pub prompt: Option<String>,
    /// The process before, whose end nobody has seen: while it lives it may write, and two agents
    /// would be in one conversation.
    pub after: Option<Process>,
    /// The conversation before, whose record is read before the agent begins: it tells which of the
    /// last messages the agent will have.
    pub record: Option<ConversationId>,
}

/// What a hook call is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// Text that joins the running turn.
    Context {
        text: String,
    },
    /// Nothing for the agent: text that its screen shows to people.
    Show {
        text: String,
    },
    /// Text that becomes the next request instead of the end of the turn.
    Continue {
        text: String,
    },
    /// The compaction the agent was about to begin is held up.
    Block {
        reason: String,
    },
    /// Pins, what this handoff's document said and what is known since, for a context that was compacted.
    /// The text lies in files, so the daemon puts it together.
    Recover {
        handoff: Option<HandoffId>,
    },
}

/// Something the owner should know about now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub kind: NoticeKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    PersonNeeded,
    MessageHeld,
    MessageFailed,
    SessionLost,
    SessionExited,
    TurnEnded,
    TurnFailed,
    HandoffFailed,
    ContextHigh,
    Compacted,
    HandoffHeld,
    Limited,
}

impl NoticeKind {
    pub const ALL: [Self; 12] = [
        Self::PersonNeeded,
        Self::MessageHeld,
        Self::MessageFailed,
        Self::SessionLost,
        Self::SessionExited,
        Self::TurnEnded,
        Self::TurnFailed,
        Self::HandoffFailed,
        Self::ContextHigh,
        Self::Compacted,
        Self::HandoffHeld,
        Self::Limited,
    ];
}

/// A line in a session's history, tagged with the generation and turn it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub generation: Generation,
    pub turn: TurnId,
    pub kind: EntryKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    Launch,
    State,
    Context,
    Turn,
    Message,
    Compaction,
    Handoff,
    /// How full the context is.
    Usage,
    Exit,
    /// Recorded and without effect: of an older context, of a nested agent, of a sub-agent, doubled.
    Ignored,
    Name,
    Problem,
}

impl EntryKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::State => "state",
            Self::Context => "context",
            Self::Turn => "turn",
            Self::Message => "message",
            Self::Compaction => "compaction",
            Self::Handoff => "handoff",
            Self::Usage => "usage",
            Self::Exit => "exit",
            Self::Ignored => "ignored",
            Self::Name => "name",
            Self::Problem => "problem",
        }
    }
}
