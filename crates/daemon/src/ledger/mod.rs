//! What every context holds, written down while it goes on: read from the agent's transcript as that
//! grows, on disk within a second, there when its agent is not any more.
//!
//! Never in the way of an actor: whoever learns that something may be new says so and goes on, and
//! one worker reads, a bounded piece of each transcript at a time. A transcript is never written to.

mod compose;
mod keep;
mod told;

pub use compose::{BUDGET, Seen, about, of_before, repository_now, write};
pub use keep::{Keeper, Kept, Source};

use crate::actor::Wake;
use crate::clock;
use crate::hub::{Handle, Hub, lock};
use crate::stored::Goal;
use sm_agents::kind;
use sm_core::{AgentKind, Record, SessionId, shown};
use sm_ledger::Dialect;
use sm_ledger::redact::redact;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// What comes within this time is read at once: hooks and writes come in bursts.
const GATHER: Duration = Duration::from_millis(250);

/// How long the journal is waited for, for what was told.
const TOLD_PATIENCE: Duration = Duration::from_secs(2);

/// Characters of a goal.
const LONGEST_GOAL: usize = 200;

type Seat = Arc<Mutex<Option<Keeper>>>;

/// The ledgers of all sessions that are at work.
#[derive(Default)]
pub struct Ledgers {
    /// Sessions whose transcript may have grown.
    grown: Mutex<HashSet<SessionId>>,
    woken: Notify,
    /// Locked on threads for files only.
    keepers: Mutex<HashMap<SessionId, Seat>>,
}

impl Ledgers {
    /// Something may be new: it is looked at soon.
    pub fn touch(&self, id: &SessionId) {
        if lock(&self.grown).insert(id.clone()) {
            self.woken.notify_one();
        }
    }

    /// The session is gone, and its folder with it.
    pub fn forget(&self, id: &SessionId) {
        lock(&self.grown).remove(id);
        lock(&self.keepers).remove(id);
    }

    fn seat(&self, id: &SessionId) -> Seat {
        Arc::clone(lock(&self.keepers).entry(id.clone()).or_default())
    }
}

/// Why a session has no ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoLedger {
    #[error(
        "sm reads no transcript of this program: it keeps a ledger for claude and codex sessions"
    )]
    Unreadable,
    #[error("nothing was said in this context yet")]
    Nothing,
    #[error("there is no ledger of generation {0}")]
    NoGeneration(u32),
    #[error("its ledger could not be read in time: the disk does not answer")]
    NoAnswer,
}

/// Reads what grew, until the daemon stops.
pub async fn keep_up(hub: Arc<Hub>) {
    hub.settled.cancelled().await;
    for handle in hub.sessions.all() {
        if handle.now().record.state.is_live() {
            hub.ledgers.touch(&handle.id);
        }
    }
    loop {
        tokio::select! {
            () = hub.ledgers.woken.notified() => {}
            () = hub.stop.cancelled() => return,
        }
        tokio::time::sleep(GATHER).await;
        let grown = std::mem::take(&mut *lock(&hub.ledgers.grown));
        for id in grown {
            let Some(handle) = hub.sessions.get(&id) else {
                hub.ledgers.forget(&id);
                continue;
            };
            match advance(&hub, &handle, keep::PIECE).await {
                // after the others had their turn
                Some(keep::Reached::Piece) => hub.ledgers.touch(&id),
                Some(keep::Reached::End) => learn_goal(&hub, &handle).await,
                None => {}
            }
            let live = handle.now().record.state.is_live();
            if !live && !lock(&hub.ledgers.grown).contains(&id) {
                lock(&hub.ledgers.keepers).remove(&id); // it lies on disk
            }
        }
    }
}

/// Reads on, at most so many bytes, and writes it down. None: there is nothing to read.
async fn advance(hub: &Hub, handle: &Handle, most: u64) -> Option<keep::Reached> {
    let source = source(handle)?;
    let seat = hub.ledgers.seat(&handle.id);
    let folder = hub.paths.session_dir(handle.id.as_str());
    let work = move || {
        let mut seat = lock(&seat);
        let keeper = Keeper::of(&mut seat, &folder, source);
        let reached = keeper.advance(most);
        (keeper.save(clock::now()), reached)
    };
    let Ok((saved, reached)) = tokio::task::spawn_blocking(work).await else {
        return None;
    };
    if let Err(error) = saved {
        tracing::warn!(session = %handle.id, %error, "its ledger could not be written");
    }
    match reached {
        Ok(reached) => Some(reached),
        Err(error) => {
            tracing::debug!(session = %handle.id, %error, "its transcript could not be read");
            None
        }
    }
}

/// Lists show what a session is for, and must not read files for it. It is the same for as long as a
/// context goes on, and mostly beyond.
async fn learn_goal(hub: &Arc<Hub>, handle: &Handle) {
    let published = handle.now();
    let generation = published.record.generation.0;
    let known = published.extra.goal.as_ref();
    if known.is_some_and(|goal| goal.generation == generation) {
        return;
    }
    let Ok(Some(goal)) = with(hub, handle, None, |kept| about(kept).goal).await else {
        return;
    };
    let goal = Goal {
        generation,
        text: shown::line(&redact(&goal).text, LONGEST_GOAL),
    };
    handle.send(Wake::Extra(Box::new(move |extra| extra.goal = Some(goal))));
}

/// What is known of the present context, or of an older one, read to its end first; with what it was
/// told through sm and its transcript does not show.
pub async fn with<T: Send + 'static>(
    hub: &Arc<Hub>,
    handle: &Handle,
    generation: Option<u32>,
    look: impl FnOnce(&Kept) -> T + Send + 'static,
) -> Result<T, NoLedger> {
    let record = &handle.now().record;
    let began_with = began_with(record, generation.unwrap_or(record.generation.0));
    with_told(hub, handle, generation, began_with, TOLD_PATIENCE, look).await
}

async fn with_told<T: Send + 'static>(
    hub: &Arc<Hub>,
    handle: &Handle,
    generation: Option<u32>,
    began_with: Option<PathBuf>,
    patience: Duration,
    look: impl FnOnce(&Kept) -> T + Send + 'static,
) -> Result<T, NoLedger> {
    let published = handle.now();
    let current = published.record.generation.0;
    if dialect(published.record.agent).is_none() {
        return Err(NoLedger::Unreadable);
    }
    let messages = told::messages(hub, handle, patience).await;
    let folder = hub.paths.session_dir(handle.id.as_str());
    let look = {
        let folder = folder.clone();
        move |kept: &mut Kept| {
            let earlier = keep::earlier(kept, &folder, |older| messages.told_to(older));
            if messages.are_known() {
                kept.remember(&earlier);
            }
            let document = began_with.as_deref().and_then(keep::begun_with);
            let whole = told::completed(kept, &messages);
            if whole.is_empty() {
                return None;
            }
            Some(look(&whole.going_on(&earlier, document.as_deref())))
        }
    };
    if let Some(older) = generation.filter(|wanted| *wanted != current) {
        let work = move || look(&mut keep::load(&folder, older)?);
        let found = tokio::task::spawn_blocking(work).await;
        return found.ok().flatten().ok_or(NoLedger::NoGeneration(older));
    }
    let source = source(handle);
    let seat = hub.ledgers.seat(&handle.id);
    let work = move || {
        let Some(source) = source else {
            return look(&mut keep::load(&folder, current)?);
        };
        let mut seat = lock(&seat);
        let keeper = Keeper::of(&mut seat, &folder, source);
        // whatever can be read: what was written down before is there in any case
        if let Err(error) = keeper.advance(u64::MAX) {
            tracing::debug!(%error, "the transcript could not be read");
        }
        if let Err(error) = keeper.save(clock::now()) {
            tracing::warn!(%error, "a ledger could not be written");
        }
        look(keeper.kept_mut())
    };
    let found = tokio::task::spawn_blocking(work).await;
    if !published.record.state.is_live() {
        lock(&hub.ledgers.keepers).remove(&handle.id);
    }
    found
        .map_err(|_| NoLedger::NoAnswer)?
        .ok_or(NoLedger::Nothing)
}

/// Our copy of the document that led into this context, if that is known.
pub fn began_with(record: &Record, generation: u32) -> Option<PathBuf> {
    let here = record.generation.0 == generation;
    record.began_with().filter(|_| here).map(PathBuf::from)
}

pub fn dialect(agent: AgentKind) -> Option<Dialect> {
    match agent {
        AgentKind::Claude => Some(Dialect::Claude),
        AgentKind::Codex => Some(Dialect::Codex),
        AgentKind::Native => Some(Dialect::Native),
        AgentKind::Generic => None,
    }
}

/// The transcript of the present context, as far as it is known where that lies.
fn source(handle: &Handle) -> Option<Source> {
    let published = handle.now();
    let (record, extra) = (&published.record, &published.extra);
    let dialect = dialect(record.agent)?;
    let by_rule = || {
        let (home, conversation) = (extra.agent_home.as_deref()?, record.conversation.as_ref()?);
        kind::transcript_path(record.agent, home, Path::new(&record.cwd), conversation)
    };
    let told = record.transcript.as_ref().map(PathBuf::from);
    Some(Source {
        dialect,
        generation: record.generation.0,
        conversation: record.conversation.as_ref().map(ToString::to_string),
        transcript: told.or_else(by_rule)?,
    })
}
