//! What one hook call said, in words that are the same for every agent.

use sm_core::ids::ConversationId;
use sm_core::limit::UsageWindow;
use sm_core::signal::{Origin, Signal};

/// One hook call, read. There is always a signal: what cannot be read is `Signal::Other`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The conversation the payload names.
    pub conversation: Option<ConversationId>,
    /// What the payload itself says about who speaks: `SubAgent`, or nothing. Which process it
    /// was is known only to whoever received the call.
    pub origin_hint: Option<Origin>,
    pub signal: Signal,
    /// How much of what the provider allows is used, where the call says so.
    pub windows: Vec<UsageWindow>,
    /// What was odd about the payload, for the log.
    pub warnings: Vec<String>,
}

impl Parsed {
    pub(crate) fn other(what: impl Into<String>) -> Self {
        Self {
            conversation: None,
            origin_hint: None,
            signal: Signal::Other(what.into()),
            windows: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Event names that do not come from the agent program but from `sm-hook` itself.
pub mod event {
    /// A background hook waits for a text. The daemon gives the waiter its id.
    pub const MAILBOX: &str = "mailbox";
    pub const STATUS_LINE: &str = "statusline";
    /// A generic program's output began or went quiet.
    pub const OUTPUT: &str = "output";
}
