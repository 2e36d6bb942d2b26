//! The contract of a store.

use crate::{
    Commit, EventRow, HandoffRow, Loaded, MessageRow, OutboxRow, Prune, Pruned, StoreError, Which,
};

/// Reading. A reader sees whole commits only.
///
/// An unknown session or message is no error: there is just nothing of it.
pub trait Reader: Send {
    /// Everything a daemon needs at start, with at most `recent_final` final messages a session.
    fn load(&self, recent_final: usize) -> Result<Loaded, StoreError>;

    fn message(&self, session: &str, id: &str) -> Result<Option<MessageRow>, StoreError>;

    /// The latest `limit` messages of a session, in arrival order.
    fn messages(
        &self,
        session: &str,
        which: Which,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError>;

    /// The first `limit` events after `after`, of one session or of all.
    fn events(
        &self,
        session: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError>;

    /// The latest `limit` events, in order.
    fn last_events(&self, session: Option<&str>, limit: usize)
    -> Result<Vec<EventRow>, StoreError>;

    fn handoff(&self, id: &str) -> Result<Option<HandoffRow>, StoreError>;

    /// The latest `limit` handoffs, newest first, of one session or of all.
    fn handoffs(&self, session: Option<&str>, limit: usize) -> Result<Vec<HandoffRow>, StoreError>;

    /// Effects still to be done, in the order in which they were added.
    fn outbox(&self) -> Result<Vec<OutboxRow>, StoreError>;

    /// What [`Store::prune`] would remove.
    fn prune_preview(&self, prune: &Prune) -> Result<Pruned, StoreError>;

    /// Bytes it occupies.
    fn size(&self) -> Result<u64, StoreError>;
}

/// Writing, by one owner.
pub trait Store: Reader {
    /// Writes the commits in order, in one transaction: all of them or, with an error, none.
    fn commit_all(&mut self, commits: &[Commit]) -> Result<(), StoreError>;

    /// Writes one commit, whole or not at all.
    fn commit(&mut self, commit: &Commit) -> Result<(), StoreError> {
        self.commit_all(std::slice::from_ref(commit))
    }

    /// Removes what is old. May be interrupted between any two of its steps; what is left is
    /// consistent and the next time goes on.
    fn prune(&mut self, prune: &Prune) -> Result<Pruned, StoreError>;

    /// Moves what was committed to where it does not depend on a log that may get lost. Best
    /// effort: what could not be moved now is moved the next time.
    fn checkpoint(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// A handle for reading from another thread.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;
}
