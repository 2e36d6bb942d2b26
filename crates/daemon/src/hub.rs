//! What the actors, the executors and the API share. Everything here is either immutable, behind a
//! lock that is never held across an await, or a channel.

use crate::actor::{Published, Wake};
use crate::answers::Answers;
use crate::archive::Archives;
use crate::config::{Config, Layout};
use crate::endings::Endings;
use crate::handoff;
use crate::launches::Launches;
use crate::ledger::Ledgers;
use crate::looks::Looks;
use crate::mailboxes::Mailboxes;
use crate::reply::Replies;
use crate::signin::SignIns;
use crate::spooling::Spooling;
use crate::watch::Watcher;
use sm_client::paths::Paths;
use sm_core::{Event, SessionId};
use sm_runtime::Tmux;
use sm_store::{EventRow, Reader, WriterHandle};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub struct Hub {
    pub paths: Paths,
    pub config: Config,
    pub tmux: Tmux,
    pub journal: WriterHandle,
    pub reader: Mutex<Box<dyn Reader>>,
    pub sessions: Directory,
    pub answers: Answers,
    pub archives: Archives,
    pub replies: Replies,
    pub mailboxes: Mailboxes,
    pub spooling: Spooling,
    pub launches: Launches,
    pub endings: Endings,
    pub ledgers: Ledgers,
    pub watcher: Watcher,
    pub sign_ins: Arc<SignIns>,
    /// Sessions for which a model writes a document, and what ends it.
    pub generating: Mutex<HashMap<SessionId, CancellationToken>>,
    /// Places for those who look at terminals.
    pub looking: Arc<Semaphore>,
    /// Every line that is on disk, for those who follow.
    pub followers: broadcast::Sender<EventRow>,
    /// Held from numbering events to handing them to the writer, never across an await.
    pub order: Mutex<()>,
    pub event_seq: AtomicI64,
    /// Every event up to this number that was not refused is on disk; set before followers hear of it.
    pub journaled: AtomicI64,
    pub message_seq: AtomicI64,
    /// What does not work, each with its remedy.
    pub problems: Mutex<Vec<String>>,
    pub address: Mutex<Option<std::net::SocketAddr>>,
    pub hook_program: String,
    pub started: Instant,
    /// After a start: which sessions still live is known, and what was spooled is taken in.
    pub settled: CancellationToken,
    pub stop: CancellationToken,
}

impl Hub {
    pub fn next_event(&self) -> i64 {
        self.event_seq.fetch_add(1, Ordering::Relaxed) + 1
    }
    pub fn next_message(&self) -> i64 {
        self.message_seq.fetch_add(1, Ordering::Relaxed) + 1
    }
    pub fn problem(&self, text: impl Into<String>) {
        let text = text.into();
        tracing::warn!("{text}");
        let mut problems = lock(&self.problems);
        if !problems.contains(&text) {
            problems.push(text);
        }
    }
    /// As people name it: the path, or the name after `tmux -L`.
    pub fn tmux_socket(&self) -> String {
        match &self.tmux.config().socket {
            sm_runtime::Socket::Path(path) => path.to_string_lossy().into_owned(),
            sm_runtime::Socket::Name(name) => name.clone(),
        }
    }
    /// Where new handoffs are kept.
    pub fn handoffs_dir(&self) -> PathBuf {
        self.handoffs_in(self.config.handoff.layout)
    }
    /// Where handoffs may lie: the layout may have been changed.
    pub fn all_handoffs_dirs(&self) -> Vec<PathBuf> {
        Layout::ALL
            .into_iter()
            .map(|layout| self.handoffs_in(layout))
            .collect()
    }
    fn handoffs_in(&self, layout: Layout) -> PathBuf {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let home = home.filter(|home| home.is_absolute());
        handoff::base(layout, self.paths.data_dir(), home.as_deref())
    }
    /// Wakes a session, if there is such a session.
    pub fn wake(&self, id: &SessionId, event: Event) {
        if let Some(handle) = self.sessions.get(id) {
            handle.send(Wake::Event(event));
        }
    }
}

/// A lock that survives a panic elsewhere: the data behind it are plain maps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All sessions, by id.
#[derive(Default)]
pub struct Directory {
    map: RwLock<HashMap<SessionId, Handle>>,
    /// Those who follow how they look.
    pub looks: Arc<Looks>,
}

/// The way to a session's actor and what it last published.
#[derive(Clone)]
pub struct Handle {
    pub id: SessionId,
    tx: mpsc::UnboundedSender<Box<Wake>>,
    published: watch::Receiver<Arc<Published>>,
}

impl Handle {
    pub fn new(
        id: SessionId,
        tx: mpsc::UnboundedSender<Box<Wake>>,
        published: watch::Receiver<Arc<Published>>,
    ) -> Self {
        Self { id, tx, published }
    }
    /// An actor that is gone is a session that was removed: nothing is left to tell it.
    pub fn send(&self, wake: Wake) {
        // boxed: a channel keeps room for many, and most are empty
        let _ = self.tx.send(Box::new(wake));
    }
    pub fn now(&self) -> Arc<Published> {
        self.published.borrow().clone()
    }
    pub fn subscribe(&self) -> watch::Receiver<Arc<Published>> {
        self.published.clone()
    }
    /// Waits until everything that was sent to it before is done, and journaled unless the journal
    /// refused or it may wait.
    pub async fn caught_up(&self) {
        let (tx, rx) = oneshot::channel();
        self.send(Wake::Messages { reply: tx });
        let _ = rx.await; // it has ended otherwise
    }
}

impl Directory {
    pub fn get(&self, id: &SessionId) -> Option<Handle> {
        self.map
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned()
    }
    pub fn add(&self, handle: Handle) {
        let (id, parent) = (handle.id.clone(), handle.now().record.parent.clone());
        {
            let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
            map.insert(id.clone(), handle);
        }
        self.looks.changed(&id);
        // it has one more child now
        parent.iter().for_each(|parent| self.looks.changed(parent));
    }
    pub fn remove(&self, id: &SessionId) {
        let removed = {
            let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
            map.remove(id)
        };
        self.looks.forget(id);
        self.looks.changed(id);
        let parent = removed.and_then(|handle| handle.now().record.parent.clone());
        parent.iter().for_each(|parent| self.looks.changed(parent));
    }
    pub fn all(&self) -> Vec<Handle> {
        self.map
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }
    pub fn len(&self) -> usize {
        self.map
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
