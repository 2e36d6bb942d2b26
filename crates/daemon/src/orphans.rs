//! Sessions that run and that the journal does not know, or knows as they were before.
//!
//! A journal can become older than what runs: its write-ahead file was removed or damaged, the whole
//! database had to be set aside, somebody put back a copy. So every session's folder holds a card: what
//! the journal has of it, written after the journal has it. At start the cards of sessions that lived
//! are compared with the journal, and what it lacks is taken up again from there.

use crate::actor::Wake;
use crate::hub::Hub;
use crate::stored::{Extra, Stored, StoredRef};
use crate::{clock, rows};
use sm_client::files;
use sm_core::{ConversationId, Process, Record, SessionId};
use sm_runtime::PaneInfo;
use sm_store::{OpenNotice, SessionRow};
use std::cmp::Ordering;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const CARD: &str = "session.json";
/// No card is so long.
const LARGEST: u64 = 16 << 20;
/// Folders that are looked at.
const MOST: usize = 100_000;
/// For tmux to say which panes there are.
const ASKING: Duration = Duration::from_secs(10);

/// What has to be known to find the session again: when it changes, the card is written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    name: String,
    live: bool,
    launch: u32,
    generation: u32,
    conversation: Option<ConversationId>,
    process: Option<Process>,
    extra: Extra,
}

impl Card {
    pub fn of(record: &Record, extra: &Extra) -> Self {
        Self {
            name: record.name.to_string(),
            live: record.state.is_live(),
            launch: record.launch,
            generation: record.generation.0,
            conversation: record.conversation.clone(),
            process: record.process,
            extra: extra.clone(),
        }
    }
}

/// Replaces the card, whole or not at all. False: the session has no folder yet.
pub fn write_card(folder: &Path, record: &Record, extra: &Extra) -> io::Result<bool> {
    let new = folder.join(format!("{CARD}.new"));
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    file.write_all(&serde_json::to_vec(&StoredRef { record, extra })?)?;
    std::fs::rename(&new, folder.join(CARD))?;
    Ok(true)
}

/// None: there is none, or not one of that session.
fn read_card(folder: &Path) -> Option<Stored> {
    let bytes = files::read(&folder.join(CARD), LARGEST).ok()?;
    let stored: Stored = serde_json::from_slice(&bytes).ok()?;
    (folder.file_name()? == stored.record.id.as_str()).then_some(stored)
}

/// A session that was taken up from its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenUp {
    pub id: SessionId,
    name: String,
}

/// What is known of the journal before it is compared with the cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    Whole,
    /// It lost its end, or all of it.
    Behind,
}

impl Journal {
    pub fn after(notices: &[OpenNotice]) -> Self {
        let lost = notices.iter().any(|notice| match notice {
            OpenNotice::SetAside { .. } | OpenNotice::Behind { .. } => true,
            OpenNotice::Migrated { .. } | OpenNotice::CheckedSound => false,
        });
        match lost {
            true => Self::Behind,
            false => Self::Whole,
        }
    }
}

/// Puts the sessions that the journal lacks, or has as they were before, among what was loaded.
pub fn take_up(hub: &Hub, sessions: &mut Vec<SessionRow>, journal: Journal) -> Vec<TakenUp> {
    let folders = std::fs::read_dir(hub.paths.sessions_dir());
    let cards = folders.into_iter().flatten().flatten();
    let cards = cards
        .take(MOST)
        .filter_map(|entry| read_card(&entry.path()));
    let taken = merge(sessions, cards, journal);
    if !taken.is_empty() {
        let names: Vec<&str> = taken.iter().map(|one| one.name.as_str()).take(20).collect();
        hub.problem(format!(
            "the journal was older than what runs (its write-ahead file was lost or damaged, or the database \
             was replaced): {} of its sessions were taken up again from their folders: {}. Messages that were \
             queued for them, and what was noted since, may be missing: look with `sm queue` and `sm show`, \
             and send again what has not arrived",
            taken.len(),
            names.join(", ")
        ));
    }
    taken
}

fn merge(
    sessions: &mut Vec<SessionRow>,
    cards: impl Iterator<Item = Stored>,
    journal: Journal,
) -> Vec<TakenUp> {
    let mut taken = Vec::new();
    for card in cards {
        // By a whole journal what has ended was removed on purpose; without one it can be restored.
        if !card.record.state.is_live() && journal == Journal::Whole {
            continue;
        }
        let at = sessions
            .iter()
            .position(|row| row.id == card.record.id.as_str());
        let is_newer = match at.and_then(|at| sessions.get(at)) {
            None => true,
            Some(row) => serde_json::from_str::<Stored>(&row.state)
                .is_ok_and(|known| is_newer(&card, &known, journal)),
        };
        if !is_newer {
            continue;
        }
        let row = rows::session(&card.record, &card.extra, clock::now());
        match at {
            Some(at) => sessions[at] = row,
            None => sessions.push(row),
        }
        taken.push(TakenUp {
            id: card.record.id.clone(),
            name: card.record.name.to_string(),
        });
    }
    taken
}

/// A card is written after the journal. So one that differs from a journal that lost its end has what
/// was lost, unless the journal has got further.
fn is_newer(card: &Stored, known: &Stored, journal: Journal) -> bool {
    match progress(&card.record).cmp(&progress(&known.record)) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => {
            let (card, known) = [card, known]
                .map(|one| Card::of(&one.record, &one.extra))
                .into();
            journal == Journal::Behind && card != known
        }
    }
}

/// What only ever grows.
fn progress(record: &Record) -> (u32, u32) {
    (record.launch, record.generation.0)
}

/// From now on the journal has them.
pub fn journal(hub: &Hub, taken: &[TakenUp]) {
    for handle in taken.iter().filter_map(|one| hub.sessions.get(&one.id)) {
        handle.send(Wake::Extra(Box::new(|_| {})));
    }
}

/// Agents in panes of ours that neither the journal nor a card knows: they can only be looked at.
pub async fn tell_of_unknown_panes(hub: Arc<Hub>) {
    if !hub.paths.tmux_socket().exists() {
        return;
    }
    let Ok(Ok(panes)) = tokio::time::timeout(ASKING, hub.tmux.list()).await else {
        return; // whoever needs it asks again
    };
    for pane in panes.iter().filter(|pane| pane.dead.is_none()) {
        let Some(id) = launched(pane) else { continue };
        if hub.sessions.get(&id).is_none() {
            hub.problem(format!(
                "an agent runs in the terminal {name} that the journal does not know (session {id}). It goes on \
                 by itself: see it with `tmux -S {socket} attach -t {name}`, end it there, and go on with its \
                 conversation in a new session",
                name = pane.session_name,
                socket = hub.tmux_socket(),
            ));
        }
    }
}

/// The session that a launcher was started for, by its command.
fn launched(pane: &PaneInfo) -> Option<SessionId> {
    let mut words = pane.command.split_whitespace().rev();
    let (_launch, id, verb) = (words.next()?, words.next()?, words.next()?);
    (verb == "launch")
        .then(|| SessionId::new(id).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::{AgentKind, NewSession, Session, State};

    fn record(id: &str, launch: u32) -> Record {
        let new = NewSession {
            id: SessionId::new(id).unwrap(),
            name: sm_core::SessionName::new(format!("name-{id}")).unwrap(),
            cwd: "/".into(),
            parent: None,
            conversation: None,
            folder: "/tmp".into(),
        };
        let profile = *sm_agents::kind::profile(AgentKind::Claude);
        let mut record = Session::new(new, profile, clock::now()).record().clone();
        record.launch = launch;
        record.state = State::Idle;
        record
    }

    fn stored(id: &str, launch: u32) -> Stored {
        Stored {
            record: record(id, launch),
            extra: Extra::default(),
        }
    }

    fn row(id: &str, launch: u32) -> SessionRow {
        rows::session(&record(id, launch), &Extra::default(), clock::now())
    }

    #[test]
    fn a_card_is_read_as_it_was_written_and_only_in_its_own_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("aa11");
        let (record, extra) = (record("aa11", 3), Extra::default());
        assert!(!write_card(&folder, &record, &extra).unwrap(), "no folder");
        std::fs::create_dir(&folder).unwrap();
        assert!(write_card(&folder, &record, &extra).unwrap());
        assert_eq!(read_card(&folder).unwrap().record, record);
        let other = dir.path().join("bb22");
        std::fs::rename(&folder, &other).unwrap();
        assert!(read_card(&other).is_none());
    }

    #[test]
    fn what_the_journal_lacks_is_taken_up_and_nothing_else() {
        let mut sessions = vec![row("same", 2), row("older", 1), row("newer", 5)];
        let mut ended = stored("ended", 1);
        ended.record.state = State::Exited;
        let cards = [
            stored("same", 2),
            stored("older", 2),
            stored("newer", 4),
            stored("lost", 1),
            ended,
        ];
        let taken = merge(&mut sessions, cards.into_iter(), Journal::Whole);
        let ids: Vec<&str> = taken.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["older", "lost"]);
        let launch = |id: &str| {
            let row = sessions.iter().find(|row| row.id == id).unwrap();
            serde_json::from_str::<Stored>(&row.state)
                .unwrap()
                .record
                .launch
        };
        assert_eq!(
            (
                launch("same"),
                launch("older"),
                launch("newer"),
                launch("lost")
            ),
            (2, 2, 5, 1)
        );
        assert!(sessions.iter().all(|row| row.id != "ended"));
    }

    #[test]
    fn from_a_journal_that_lost_its_end_names_and_what_has_ended_come_back_too() {
        let mut renamed = stored("renamed", 2);
        renamed.record.name = sm_core::SessionName::new("another").unwrap();
        let mut ended = stored("ended", 1);
        ended.record.state = State::Exited;
        let cards = [renamed, stored("same", 2), stored("newer", 4), ended];
        let taken = |journal| {
            let mut sessions = vec![row("renamed", 2), row("same", 2), row("newer", 5)];
            let taken = merge(&mut sessions, cards.clone().into_iter(), journal);
            let ids: Vec<String> = taken.iter().map(|one| one.id.to_string()).collect();
            ids
        };
        assert_eq!(taken(Journal::Whole), [""; 0]);
        assert_eq!(taken(Journal::Behind), ["renamed", "ended"]);
    }
}
