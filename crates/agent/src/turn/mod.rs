//! From a prompt to an idle agent: asking, calling tools, being steered, handing over. Pure.
//!
//! [`Turn::step`] is the only door. Whatever happens at whatever moment, what was appended is a
//! history that a model can be asked with: no call of a tool stays without its result. A late
//! answer of something that was cancelled changes nothing: every question has a ticket.

mod calls;
mod handing;
mod machine;
#[cfg(test)]
mod tests;

pub use calls::INTERRUPTED;
pub use handing::{CONTINUE, FEWEST};
pub use machine::{Start, Turn};

use std::path::PathBuf;

use sm_llm::{Assistant, Message, ToolCall, ToolResult};

use crate::approval::{Deed, Rule, Wanted};
use crate::host::{Answer, HandoffOutcome, Queue, State, Told};

/// Numbers what was asked of the outside: an answer counts only while its ticket is the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket(pub u64);

/// Every reason to wake.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Prompt(String),
    /// For the model before it is asked the next time.
    Steer(String),
    /// For the next turn.
    FollowUp(String),
    /// What `sm` has handed over: it is said in any case, never returned.
    Told {
        text: String,
        how: Told,
    },
    Interrupt,
    /// The model has answered; what each of its calls would do, in their order.
    Answered {
        ticket: Ticket,
        answer: Assistant,
        deeds: Vec<Deed>,
    },
    NotAnswered {
        ticket: Ticket,
        why: Unanswered,
        /// What it had said until then.
        partial: Option<Assistant>,
    },
    Approved {
        call_id: String,
        answer: Answer,
    },
    ToolDone(ToolResult),
    HandoffAsked {
        focus: Option<String>,
        edit: bool,
    },
    CompactAsked {
        focus: Option<String>,
    },
    /// The document is there, or why it is not.
    Written {
        ticket: Ticket,
        result: Result<String, Unwritten>,
    },
    /// A person has edited the document; `None`: and does not want it.
    Edited(Option<String>),
    /// The new session is on disk, or why it is not.
    Committed {
        ticket: Ticket,
        result: Result<Switched, String>,
    },
}

/// What a document is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// A new session begins with it.
    #[default]
    NextSession,
    /// The same session goes on with it in place of what was said.
    Compaction,
}

/// Where a handoff has led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    pub session: PathBuf,
    pub document: String,
    pub saved_path: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    Cancelled,
    TooLong(String),
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritten {
    Cancelled,
    /// The model returned no text.
    Empty,
    Failed(String),
}

/// Everything it wants done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// To be on disk before it is shown, and before anything that follows.
    Append(Message),
    /// Ask the model with everything that was said.
    Ask(Ticket),
    Want {
        call: ToolCall,
        wanted: Wanted,
    },
    /// "Always", kept beyond the session of the program.
    Keep(Rule),
    Run(ToolCall),
    /// Cancel what is asked and what runs.
    Cancel,
    Queued {
        queue: Queue,
        text: String,
    },
    /// What waited and will not be said now: back to who typed it.
    Returned(Vec<String>),
    Ended(End),
    Generate {
        ticket: Ticket,
        focus: Option<String>,
        automatic: bool,
    },
    /// Let a person edit the document.
    Edit(String),
    /// Begin the new session, or go on in this one.
    Commit {
        ticket: Ticket,
        goal: Goal,
        document: String,
        automatic: bool,
    },
    Handoff {
        automatic: bool,
        outcome: HandoffOutcome,
    },
    State(State),
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Done,
    Interrupted,
    Failed(String),
}
