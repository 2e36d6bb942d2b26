//! Every reason to wake a session is listed here, and only here.

use crate::handoff::{Guards, NewHandoff, Prepared};
use crate::ids::{ConversationId, HandoffId, Process, Timestamp};
use crate::message::NewMessage;
use crate::monitor::How;
use crate::session::Hosted;
use crate::signal::{Activity, Evidence, Fact, HookCall, StatusReading};
use crate::{MessageId, SessionName, WaiterId};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    // ── people and other sessions
    Send(NewMessage),
    Withdraw(MessageId),
    Rename(SessionName),
    /// Start the agent. Fresh: in a new conversation; otherwise the session's own is resumed.
    LaunchAsked {
        fresh: bool,
    },
    /// End the session's own processes.
    KillAsked,
    /// Hand the session's work to a new context once the turn is over.
    HandoffAsked {
        handoff: NewHandoff,
        guards: Guards,
    },
    HandoffCancelled,
    /// Somebody asked for one and was told that it cannot be.
    HandoffRefused {
        handoff: NewHandoff,
        why: String,
    },
    /// A constraint that every context of the session is told.
    Pin(String),
    Unpin(String),
    /// Whether its agent is told how full its context is.
    Watch {
        on: bool,
    },

    // ── the agent
    Hook(HookCall),
    /// New lines of the transcript, in order, of the named conversation.
    Facts(Vec<Fact>),
    /// What the agent said last in a turn that is about to end.
    Replied(String),
    Status(StatusReading),
    Title(Activity),
    /// The program writes to its terminal, or has been quiet for a while.
    Output {
        active: bool,
    },

    // ── the terminal and the process
    Started {
        launch: u32,
        process: Process,
    },
    LaunchFailed {
        launch: u32,
        reason: String,
    },
    /// What a program that has just ended was showing last.
    LastOutput {
        launch: u32,
        text: String,
    },
    Exited {
        launch: u32,
        code: Option<i32>,
        signal: Option<i32>,
    },
    /// What the host of the agent (`sm run`) says about its process and its context.
    Hosted(Box<Hosted>),
    /// The terminal of this launch is gone and nobody knows how the agent ended.
    TerminalGone {
        launch: u32,
    },
    /// The conversation that was asked for cannot be resumed: the agent begins a new one instead.
    NotResumed {
        launch: u32,
    },
    /// What an agent is started with is known: how it will hand over, and what it was not given, for
    /// people.
    LaunchPrepared {
        launch: u32,
        how: How,
        lacks: Option<String>,
    },
    /// The record that a launch asks for was read to its end, or could not be. Whoever wrote it has
    /// ended, and the agent has not begun.
    RecordRead {
        launch: u32,
        read: bool,
    },

    // ── results of effects
    Probed {
        probe: u64,
        evidence: Evidence,
    },
    Pasted {
        flight: u64,
        ok: bool,
    },
    Pressed {
        flight: u64,
        outcome: KeyOutcome,
    },
    Mailed {
        flight: u64,
        waiter: WaiterId,
        taken: bool,
    },
    /// The agent will not do what it was offered, and says why.
    MailRefused {
        flight: u64,
        waiter: WaiterId,
        reason: String,
    },
    WaiterGone {
        waiter: WaiterId,
    },
    /// What goes with the document is safe, or why it is not to be had.
    HandoffPrepared {
        handoff: HandoffId,
        prepared: Result<Prepared, String>,
    },

    /// The agent's process has this conversation open. `at`: when the conversation was made;
    /// without a record nothing was said in it yet.
    RecordFound {
        conversation: ConversationId,
        transcript: Option<String>,
        at: Timestamp,
    },
    // ── time and crashes
    /// The moment `Session::next_deadline` named has come.
    Tick,
    /// The daemon has started again: what was in memory is gone, what was journaled is not.
    Recovered {
        terminal_alive: bool,
    },
}

/// What became of a key press that was guarded by a screen mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOutcome {
    Pressed,
    /// The screen was no longer the one that was looked at: nothing was pressed.
    ScreenMoved,
    Failed,
}

impl Event {
    /// A short word for the log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Withdraw(_) => "withdraw",
            Self::Rename(_) => "rename",
            Self::LaunchAsked { .. } => "launch asked",
            Self::KillAsked => "kill asked",
            Self::HandoffAsked { .. } => "handoff asked",
            Self::HandoffCancelled => "handoff cancelled",
            Self::HandoffRefused { .. } => "handoff refused",
            Self::LastOutput { .. } => "last output",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::Watch { .. } => "watch",
            Self::HandoffPrepared { .. } => "handoff prepared",
            Self::Hook(call) => call.signal.word(),
            Self::Facts(_) => "facts",
            Self::Replied(_) => "replied",
            Self::Status(_) => "status",
            Self::Title(_) => "title",
            Self::Output { .. } => "output",
            Self::Started { .. } => "started",
            Self::LaunchFailed { .. } => "launch failed",
            Self::Exited { .. } => "exited",
            Self::Hosted(_) => "hosted",
            Self::TerminalGone { .. } => "terminal gone",
            Self::NotResumed { .. } => "not resumed",
            Self::LaunchPrepared { .. } => "launch prepared",
            Self::RecordRead { .. } => "record read",
            Self::Probed { .. } => "probed",
            Self::Pasted { .. } => "pasted",
            Self::Pressed { .. } => "pressed",
            Self::Mailed { .. } => "mailed",
            Self::MailRefused { .. } => "mail refused",
            Self::WaiterGone { .. } => "waiter gone",
            Self::RecordFound { .. } => "record found",
            Self::Tick => "tick",
            Self::Recovered { .. } => "recovered",
        }
    }
}
