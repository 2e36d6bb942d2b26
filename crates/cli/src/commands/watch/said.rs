//! The closed lists: what can be shown, wished for and said.

use std::time::Instant;

use jiff::Timestamp;
use sm_core::confirm_key::ConfirmKey;
use sm_daemon::api::types::{ContextReport, EventView, HandoffView, MessageView, SessionView};

use super::editor::Editor;

/// One side of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tab {
    #[default]
    Output,
    Timeline,
    Messages,
    Handoffs,
}

pub const TABS: [Tab; 4] = [Tab::Output, Tab::Timeline, Tab::Messages, Tab::Handoffs];

impl Tab {
    pub fn word(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Timeline => "timeline",
            Self::Messages => "messages",
            Self::Handoffs => "handoffs",
        }
    }

    pub fn part(self) -> Part {
        match self {
            Self::Output => Part::Output,
            Self::Timeline => Part::Events,
            Self::Messages => Part::Messages,
            Self::Handoffs => Part::Handoffs,
        }
    }
}

/// What can be asked of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Output,
    Events,
    Messages,
    Handoffs,
    Context,
}

/// What a terminal too narrow for both shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    #[default]
    List,
    Detail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Sequential,
    Important,
    Urgent,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Important => "important",
            Self::Urgent => "urgent",
        }
    }

    pub fn next(self) -> Self {
        match self {
            Self::Sequential => Self::Important,
            Self::Important => Self::Urgent,
            Self::Urgent => Self::Sequential,
        }
    }
}

/// What is done only after a `y`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Kill,
    HandOff,
    CancelHandoff,
    Restore,
}

/// A session that something is about to be done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub id: String,
    pub name: String,
}

/// A question has one answer that does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmed;

/// What has the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Keys,
    Help,
    Filter(Editor),
    Message {
        to: Target,
        mode: Mode,
        line: Editor,
    },
    Confirm {
        deed: Deed,
        on: Target,
        key: ConfirmKey<Confirmed>,
        /// A key counts now.
        open: bool,
    },
    /// A text was typed at a question: none of its keys is a command, until the keyboard is quiet.
    Typing {
        until: Instant,
    },
}

/// What is wanted of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Quit,
    Suspend,
    /// Everything is to be drawn anew.
    Redraw,
    Attach(String),
    Fetch(Part, String),
    /// What has become of a message.
    Receipt {
        session: String,
        message: String,
    },
    Send {
        session: String,
        text: String,
        mode: Mode,
    },
    Do(Deed, String),
}

/// What the world says.
#[derive(Debug, Clone)]
pub enum Update {
    Tick(Timestamp),
    Resized(u16, u16),
    Snapshot(Vec<SessionView>),
    Session(Box<SessionView>),
    Gone(String),
    Journal(EventView),
    /// The daemon does not answer; why, in words.
    Lost(String),
    Output(String, String),
    Events(String, Vec<EventView>),
    Messages(String, Vec<MessageView>),
    Handoffs(String, Vec<HandoffView>),
    Context(String, Box<ContextReport>),
    /// It could not be asked for.
    Nothing(Part, String),
    /// A message of ours, as it is now.
    Sent(Box<MessageView>),
    /// Nobody could say what has become of it.
    NoReceipt,
    Done(String),
    Failed(String),
}

/// Whether what is shown is true.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Link {
    #[default]
    Asking,
    Live,
    Lost(String),
}
