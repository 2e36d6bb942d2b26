//! The store's twin in memory, for tests and simulation. It keeps nothing on disk and can be told to
//! refuse writes as a full disk does.

mod tables;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    Commit, EventRow, HandoffRow, Loaded, MessageRow, OutboxRow, Prune, Pruned, Reader, Store,
    StoreError, Which,
};
use tables::Tables;

/// A [`Store`] in memory. Clones share their content: a clone is also the way to look at what "the
/// disk" holds after the owner is gone.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    tables: Tables,
    refusing: Option<String>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on writes fail with [`StoreError::Full`] and this reason; `None`: they work again.
    pub fn refuse_writes(&self, reason: Option<&str>) {
        self.lock().refusing = reason.map(str::to_owned);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A panic elsewhere cannot leave half a commit: commits are applied to the tables without
        // anything in between that can fail.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writable(&self) -> Result<MutexGuard<'_, Shared>, StoreError> {
        let shared = self.lock();
        match &shared.refusing {
            Some(reason) => Err(StoreError::Full {
                reason: reason.clone(),
            }),
            None => Ok(shared),
        }
    }
}

impl Reader for MemoryStore {
    fn load(&self, recent_final: usize) -> Result<Loaded, StoreError> {
        Ok(self.lock().tables.load(recent_final))
    }

    fn message(&self, session: &str, id: &str) -> Result<Option<MessageRow>, StoreError> {
        Ok(self.lock().tables.message(session, id))
    }

    fn messages(
        &self,
        session: &str,
        which: Which,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        Ok(self.lock().tables.messages(session, which, limit))
    }

    fn events(
        &self,
        session: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        Ok(self.lock().tables.events(session, after, limit))
    }

    fn last_events(
        &self,
        session: Option<&str>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        Ok(self.lock().tables.last_events(session, limit))
    }

    fn handoff(&self, id: &str) -> Result<Option<HandoffRow>, StoreError> {
        Ok(self.lock().tables.handoff(id))
    }

    fn handoffs(&self, session: Option<&str>, limit: usize) -> Result<Vec<HandoffRow>, StoreError> {
        Ok(self.lock().tables.handoffs(session, limit))
    }

    fn outbox(&self) -> Result<Vec<OutboxRow>, StoreError> {
        Ok(self.lock().tables.outbox())
    }

    fn prune_preview(&self, prune: &Prune) -> Result<Pruned, StoreError> {
        Ok(self.lock().tables.prunable(prune))
    }

    fn size(&self) -> Result<u64, StoreError> {
        Ok(self.lock().tables.bytes())
    }
}

impl Store for MemoryStore {
    fn commit_all(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        let mut shared = self.writable()?;
        for commit in commits {
            shared.tables.apply(commit);
        }
        Ok(())
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned, StoreError> {
        Ok(self.writable()?.tables.prune(prune))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.clone()))
    }
}
