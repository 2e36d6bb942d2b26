//! The rows that are stored, and what goes in and out in one piece.
//!
//! Plain data: times are milliseconds since the epoch given by the caller, JSON is opaque text.

/// A session's snapshot. Replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    pub name: String,
    pub agent: String,
    /// Live sessions are never pruned.
    pub live: bool,
    /// JSON snapshot.
    pub state: String,
    pub changed_at: i64,
}

/// A message with its text. The text may be megabytes: it is written once and never again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub id: String,
    pub session: String,
    /// Arrival order.
    pub seq: i64,
    /// Nothing will happen to it any more.
    pub is_final: bool,
    /// JSON, small.
    pub meta: String,
    pub text: String,
    pub changed_at: i64,
}

/// A message without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageHead {
    pub id: String,
    pub session: String,
    pub seq: i64,
    pub is_final: bool,
    pub meta: String,
    pub changed_at: i64,
}

/// A new message, or what changed of a known one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageChange {
    /// The same session and id again changes nothing.
    Insert(MessageRow),
    /// Of an unknown message: changes nothing.
    Update(MessageUpdate),
}

/// Everything of a message that may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageUpdate {
    pub id: String,
    pub session: String,
    pub is_final: bool,
    pub meta: String,
    pub changed_at: i64,
}

/// One line of the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Given by the caller, strictly increasing over all sessions. The same number again changes
    /// nothing.
    pub seq: i64,
    pub at: i64,
    pub session: String,
    pub generation: u32,
    pub turn: u64,
    pub kind: String,
    pub text: String,
    /// JSON or empty.
    pub data: String,
}

/// An effect that was decided and is not known to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    pub id: String,
    pub session: String,
    /// JSON.
    pub effect: String,
}

/// A handoff as it was last known. Replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRow {
    pub id: String,
    pub session: String,
    pub created_at: i64,
    /// A word.
    pub state: String,
    /// JSON.
    pub json: String,
}

/// Everything of one step: written in one transaction, whole or not at all.
///
/// Repeating the last commit changes nothing, so a caller that does not know whether it was written
/// may simply send it again. Within a commit, `sessions_removed` comes first: an event that tells of
/// the removal stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Removed with their messages, events, handoffs and outbox.
    pub sessions_removed: Vec<String>,
    pub sessions: Vec<SessionRow>,
    pub messages: Vec<MessageChange>,
    pub events: Vec<EventRow>,
    /// New ones and known ones as they are now.
    pub handoffs: Vec<HandoffRow>,
    pub outbox_add: Vec<OutboxRow>,
    /// Applied after `outbox_add`.
    pub outbox_done: Vec<String>,
}

impl Commit {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.sessions_removed.is_empty()
            && self.sessions.is_empty()
            && self.messages.is_empty()
            && self.events.is_empty()
            && self.handoffs.is_empty()
            && self.outbox_add.is_empty()
            && self.outbox_done.is_empty()
    }

    /// About how many bytes of text it holds; used to keep transactions of bounded size.
    pub(crate) fn weight(&self) -> usize {
        let sessions: usize = self.sessions.iter().map(|s| s.state.len()).sum();
        let messages: usize = self
            .messages
            .iter()
            .map(|change| match change {
                MessageChange::Insert(m) => m.meta.len() + m.text.len(),
                MessageChange::Update(u) => u.meta.len(),
            })
            .sum();
        let events: usize = self
            .events
            .iter()
            .map(|e| e.text.len() + e.data.len())
            .sum();
        let outbox: usize = self.outbox_add.iter().map(|o| o.effect.len()).sum();
        let handoffs: usize = self.handoffs.iter().map(|h| h.json.len()).sum();
        sessions + messages + events + handoffs + outbox
    }
}

/// What a daemon needs to go on where the last one stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// All sessions, by id.
    pub sessions: Vec<SessionRow>,
    /// All messages that are not final, in arrival order within a session.
    pub open_messages: Vec<MessageRow>,
    /// The latest final messages of each session, newest first within a session.
    pub recent_final: Vec<MessageHead>,
    /// In the order in which they were added.
    pub outbox: Vec<OutboxRow>,
    /// The highest event number ever committed, removed and pruned ones included; 0 if none.
    pub last_event: i64,
    /// The highest message number ever committed, removed and pruned ones included; 0 if none.
    pub last_message: i64,
}

/// Which messages of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that are not final.
    Open,
    All,
}

/// What is old enough to go. Each bound is exclusive; `i64::MIN` keeps everything of that kind.
///
/// Live sessions, messages that are not final and pending effects are never pruned, nor is a
/// session that has any of the latter. Handoffs go with their session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prune {
    pub events_before: i64,
    pub messages_before: i64,
    /// Sessions that are not live, with everything that belongs to them.
    pub sessions_before: i64,
}

/// What pruning would remove, or has removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    pub events: u64,
    pub messages: u64,
    pub handoffs: u64,
    /// Ids: their data folders belong to the caller.
    pub sessions: Vec<String>,
    /// Bytes of text in those rows.
    pub bytes: u64,
}
