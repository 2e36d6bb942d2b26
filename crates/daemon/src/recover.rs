//! Taking up after a restart: sessions as they were written down, who of them still lives, and what
//! had been decided before. Nothing is done again here before it is known what had been done.

use crate::actor::{Actor, Wake};
use crate::archive;
use crate::hub::{Handle, Hub, lock};
use crate::launch;
use crate::perform::{self, Told};
use crate::stored::{RunHost, Stored, Terminal};
use crate::watch::Changed;
use sm_agents::kind;
use sm_core::{Event, Message, MessageMeta, Record, Session, SessionId};
use sm_runtime::PaneInfo;
use sm_store::{Loaded, OutboxRow};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// What a session hears first after a restart.
pub struct Found {
    pub event: Event,
    /// A pane that was made for it and not yet journaled.
    pub terminal: Option<Terminal>,
}

/// Sessions as they were journaled; each waits to be told whether its terminal still lives.
///
/// Rows are let go of one by one: what they held is room for the sessions made from them.
pub fn revive(hub: &Arc<Hub>, loaded: Loaded) -> HashMap<SessionId, oneshot::Sender<Found>> {
    let mut open: HashMap<String, Vec<Message>> = HashMap::new();
    for row in loaded.open_messages {
        match serde_json::from_str::<MessageMeta>(&row.meta) {
            Ok(meta) => {
                let message = Message {
                    meta,
                    text: row.text,
                };
                open.entry(row.session).or_default().push(message);
            }
            Err(error) => hub.problem(format!("message {} cannot be read: {error}", row.id)),
        }
    }
    let mut finals: HashMap<String, VecDeque<Message>> = HashMap::new();
    for row in loaded.recent_final {
        if let Ok(meta) = serde_json::from_str::<MessageMeta>(&row.meta) {
            let message = Message {
                meta,
                text: String::new(),
            };
            finals.entry(row.session).or_default().push_front(message);
        }
    }
    let mut waiting = HashMap::new();
    for row in loaded.sessions {
        let stored: Stored = match serde_json::from_str(&row.state) {
            Ok(stored) => stored,
            Err(error) => {
                hub.problem(format!(
                    "session {} cannot be read from the database: {error}",
                    row.name
                ));
                continue;
            }
        };
        let id = stored.record.id.clone();
        let folder = hub
            .paths
            .session_dir(id.as_str())
            .to_string_lossy()
            .into_owned();
        let profile = *kind::profile(stored.record.agent);
        let open = open.remove(row.id.as_str()).unwrap_or_default();
        let mut finals = finals.remove(row.id.as_str()).unwrap_or_default();
        add_unrecorded(hub, &stored.record, &open, &mut finals);
        let session = Session::restore(stored.record, profile, folder, open, finals);
        let (actor, handle) = Actor::new(Arc::clone(hub), session, stored.extra);
        let (tx, rx) = oneshot::channel();
        hub.sessions.add(handle);
        tokio::spawn(Box::new(actor).run(Some(rx)));
        waiting.insert(id, tx);
    }
    waiting
}

/// Messages that came to an end and are not in the agent's record yet: they may be given again, so
/// they come with their texts.
fn add_unrecorded(hub: &Hub, record: &Record, open: &[Message], finals: &mut VecDeque<Message>) {
    let ids = record.unrecorded.iter().flat_map(|u| &u.messages);
    for id in ids.filter(|id| !open.iter().any(|m| &m.meta.id == *id)) {
        let row = lock(&hub.reader).message(record.id.as_str(), id.as_str());
        let Ok(Some(row)) = row else {
            hub.problem(format!("message {id} cannot be read"));
            continue;
        };
        if let Ok(meta) = serde_json::from_str::<MessageMeta>(&row.meta) {
            finals.retain(|m| &m.meta.id != id);
            finals.push_back(Message {
                meta,
                text: row.text,
            });
        }
    }
}

/// Tells every session whether its terminal still lives; says which do not.
/// `ended`: whose launcher has told how its agent ended, which is heard next.
pub async fn find_the_living(
    hub: Arc<Hub>,
    waiting: HashMap<SessionId, oneshot::Sender<Found>>,
    ended: HashSet<SessionId>,
) {
    let all: Vec<SessionId> = waiting.keys().cloned().collect();
    let any_live = hub
        .sessions
        .all()
        .iter()
        .any(|h| h.now().record.state.is_live());
    let panes: Vec<PaneInfo> = if any_live {
        tokio::select! {
            panes = living_panes(&hub) => panes,
            // not known: they stay as they were, for the next daemon
            () = hub.stop.cancelled() => return,
        }
    } else {
        Vec::new()
    };
    for (id, first) in waiting {
        let Some(handle) = hub.sessions.get(&id) else {
            continue;
        };
        let now = handle.now();
        let is_its = |pane: &&PaneInfo| match &now.extra.terminal {
            Some(own) => own.pane_id() == Some(pane.pane) && own.pane_pid == pane.pid,
            None => launch::is_made_for(pane, &id, now.record.launch),
        };
        let pane = panes.iter().find(is_its);
        let terminal = pane.filter(|_| now.extra.terminal.is_none()).map(|pane| {
            Terminal::new(pane.session_name.clone(), pane.session, pane.pane, pane.pid)
        });
        let run_alive = now.extra.run.as_ref().is_some_and(RunHost::is_alive);
        let terminal_alive = pane.is_some() || run_alive || ended.contains(&id);
        if now.record.state.is_live() && !terminal_alive {
            tracing::warn!(session = %now.record.name, "its terminal is gone");
        }
        let _ = first.send(Found {
            event: Event::Recovered { terminal_alive },
            terminal,
        });
        if let Some(dead) = pane.and_then(|p| p.dead) {
            let launch = now.record.launch;
            handle.send(Wake::Event(Event::Exited {
                launch,
                code: dead.code,
                signal: dead.signal,
            }));
        }
        if let Some(pane) = pane {
            // what happened to it meanwhile was noted by nobody
            archive::note_size(&hub, &id, pane.cols, pane.rows);
            archive::note_generation(&hub, &id, now.record.generation.0);
        }
        watch_again(&hub, &handle);
    }
    for handle in all.iter().filter_map(|id| hub.sessions.get(id)) {
        handle.caught_up().await; // it has heard it, and what was spooled for it
    }
}

/// Every pane that lives. Only a server that is certainly gone has none: one that does not answer,
/// or cannot be reached, is asked until it does, as believing it gone would call every session lost.
/// The sessions wait as they were, and people are told what for.
async fn living_panes(hub: &Hub) -> Vec<PaneInfo> {
    /// It is only slow, up to here.
    const UNTOLD: u32 = 5;
    let mut pause = Duration::from_millis(100);
    let mut tried = 0_u32;
    loop {
        tried = tried.saturating_add(1);
        let error = match hub.tmux.list().await {
            Ok(panes) => return panes,
            Err(sm_runtime::Error::ServerGone) => return Vec::new(),
            Err(error) => error,
        };
        tracing::warn!(%error, tried, "tmux does not tell which panes live");
        if tried == UNTOLD {
            hub.problem(format!(
                "tmux did not tell for a while which sessions live ({error}); until it does they \
                 wait as they were"
            ));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

fn watch_again(hub: &Hub, handle: &Handle) {
    let now = handle.now();
    if let (Some(home), Some(process)) = (&now.extra.agent_home, now.record.process)
        && let Some(path) = kind::status_path(now.record.agent, home, process.pid)
    {
        hub.watcher.watch(&path, Changed::Status(handle.id.clone()));
    }
    if let Some(transcript) = &now.record.transcript {
        hub.watcher.watch(
            Path::new(transcript),
            Changed::Transcript(handle.id.clone()),
        );
    }
}

/// Messages between sessions that were decided before a crash are handed on now.
pub async fn empty_outbox(hub: Arc<Hub>, outbox: Vec<OutboxRow>) {
    for row in outbox {
        match serde_json::from_str::<Told>(&row.effect) {
            Ok(told) => perform::tell(&hub, told).await,
            Err(error) => hub.problem(format!(
                "a message between sessions cannot be read: {error}"
            )),
        }
    }
}
