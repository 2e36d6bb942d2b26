//! The tables of the store in memory: what SQL does for the other one, with maps. Nothing in here
//! can fail, so a commit is applied whole.

use std::collections::BTreeMap;

use crate::{
    Commit, EventRow, HandoffRow, Loaded, MessageChange, MessageHead, MessageRow, OutboxRow, Prune,
    Pruned, SessionRow, Which,
};

#[derive(Debug, Default)]
pub(super) struct Tables {
    sessions: BTreeMap<String, SessionRow>,
    /// By session and id.
    messages: BTreeMap<(String, String), MessageRow>,
    events: BTreeMap<i64, EventRow>,
    /// As they came.
    handoffs: Vec<HandoffRow>,
    outbox: Vec<OutboxRow>,
    last_event: i64,
    last_message: i64,
}

impl Tables {
    pub(super) fn apply(&mut self, commit: &Commit) {
        for session in &commit.sessions_removed {
            self.remove(session);
        }
        for row in &commit.sessions {
            self.sessions.insert(row.id.clone(), row.clone());
        }
        for change in &commit.messages {
            match change {
                MessageChange::Insert(row) => {
                    self.last_message = self.last_message.max(row.seq);
                    self.messages
                        .entry((row.session.clone(), row.id.clone()))
                        .or_insert_with(|| row.clone());
                }
                MessageChange::Update(update) => {
                    let key = (update.session.clone(), update.id.clone());
                    if let Some(row) = self.messages.get_mut(&key) {
                        row.is_final = update.is_final;
                        row.meta.clone_from(&update.meta);
                        row.changed_at = update.changed_at;
                    }
                }
            }
        }
        for row in &commit.events {
            self.last_event = self.last_event.max(row.seq);
            self.events.entry(row.seq).or_insert_with(|| row.clone());
        }
        for row in &commit.handoffs {
            match self.handoffs.iter_mut().find(|known| known.id == row.id) {
                Some(known) => known.clone_from(row),
                None => self.handoffs.push(row.clone()),
            }
        }
        for row in &commit.outbox_add {
            if !self.outbox.iter().any(|known| known.id == row.id) {
                self.outbox.push(row.clone());
            }
        }
        self.outbox
            .retain(|row| !commit.outbox_done.contains(&row.id));
    }

    fn remove(&mut self, session: &str) {
        self.sessions.remove(session);
        self.messages.retain(|_, row| row.session != session);
        self.events.retain(|_, row| row.session != session);
        self.handoffs.retain(|row| row.session != session);
        self.outbox.retain(|row| row.session != session);
    }

    pub(super) fn load(&self, recent_final: usize) -> Loaded {
        let mut recent = Vec::new();
        for session in self.sessions.keys() {
            let mut finals: Vec<&MessageRow> =
                self.of_session(session).filter(|m| m.is_final).collect();
            finals.sort_by_key(|m| std::cmp::Reverse(m.seq));
            recent.extend(finals.into_iter().take(recent_final).map(head));
        }
        let mut open: Vec<MessageRow> = self
            .messages
            .values()
            .filter(|m| !m.is_final)
            .cloned()
            .collect();
        open.sort_by(|a, b| (&a.session, a.seq).cmp(&(&b.session, b.seq)));
        Loaded {
            sessions: self.sessions.values().cloned().collect(),
            open_messages: open,
            recent_final: recent,
            outbox: self.outbox(),
            last_event: self.last_event,
            last_message: self.last_message,
        }
    }

    pub(super) fn message(&self, session: &str, id: &str) -> Option<MessageRow> {
        self.messages
            .get(&(session.to_owned(), id.to_owned()))
            .cloned()
    }

    pub(super) fn messages(&self, session: &str, which: Which, limit: usize) -> Vec<MessageRow> {
        let mut rows: Vec<&MessageRow> = self
            .of_session(session)
            .filter(|m| match which {
                Which::Open => !m.is_final,
                Which::All => true,
            })
            .collect();
        rows.sort_by_key(|m| m.seq);
        let skipped = rows.len().saturating_sub(limit);
        rows.into_iter().skip(skipped).cloned().collect()
    }

    pub(super) fn events(&self, session: Option<&str>, after: i64, limit: usize) -> Vec<EventRow> {
        self.events
            .values()
            .filter(|e| e.seq > after && session.is_none_or(|s| e.session == s))
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn last_events(&self, session: Option<&str>, limit: usize) -> Vec<EventRow> {
        let mut rows: Vec<EventRow> = self
            .events
            .values()
            .rev()
            .filter(|e| session.is_none_or(|s| e.session == s))
            .take(limit)
            .cloned()
            .collect();
        rows.reverse();
        rows
    }

    pub(super) fn handoff(&self, id: &str) -> Option<HandoffRow> {
        self.handoffs.iter().find(|row| row.id == id).cloned()
    }

    pub(super) fn handoffs(&self, session: Option<&str>, limit: usize) -> Vec<HandoffRow> {
        let mut rows: Vec<&HandoffRow> = self
            .handoffs
            .iter()
            .rev()
            .filter(|row| session.is_none_or(|s| row.session == s))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        rows.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn outbox(&self) -> Vec<OutboxRow> {
        self.outbox.clone()
    }

    pub(super) fn prunable(&self, prune: &Prune) -> Pruned {
        let sessions = self.prunable_sessions(prune);
        let events = self
            .events
            .values()
            .filter(|e| e.at < prune.events_before || sessions.contains(&e.session));
        let messages = self.messages.values().filter(|m| {
            m.is_final && m.changed_at < prune.messages_before || sessions.contains(&m.session)
        });
        let mut pruned = Pruned::default();
        for event in events {
            pruned.events += 1;
            pruned.bytes += (event.text.len() + event.data.len()) as u64;
        }
        for message in messages {
            pruned.messages += 1;
            pruned.bytes += (message.text.len() + message.meta.len()) as u64;
        }
        for row in &self.handoffs {
            if sessions.contains(&row.session) {
                pruned.handoffs += 1;
                pruned.bytes += row.json.len() as u64;
            }
        }
        for id in &sessions {
            pruned.bytes += self.sessions.get(id).map_or(0, |s| s.state.len()) as u64;
        }
        pruned.sessions = sessions;
        pruned
    }

    fn prunable_sessions(&self, prune: &Prune) -> Vec<String> {
        self.sessions
            .values()
            .filter(|s| !s.live && s.changed_at < prune.sessions_before)
            .filter(|s| self.of_session(&s.id).all(|m| m.is_final))
            .filter(|s| self.outbox.iter().all(|o| o.session != s.id))
            .map(|s| s.id.clone())
            .collect()
    }

    pub(super) fn prune(&mut self, prune: &Prune) -> Pruned {
        let pruned = self.prunable(prune);
        for session in &pruned.sessions {
            self.remove(session);
        }
        self.events.retain(|_, e| e.at >= prune.events_before);
        self.messages
            .retain(|_, m| !m.is_final || m.changed_at >= prune.messages_before);
        pruned
    }

    pub(super) fn bytes(&self) -> u64 {
        let sessions: usize = self.sessions.values().map(|s| s.state.len()).sum();
        let messages: usize = self
            .messages
            .values()
            .map(|m| m.text.len() + m.meta.len())
            .sum();
        let events: usize = self
            .events
            .values()
            .map(|e| e.text.len() + e.data.len())
            .sum();
        let handoffs: usize = self.handoffs.iter().map(|h| h.json.len()).sum();
        (sessions + messages + events + handoffs) as u64
    }

    fn of_session(&self, session: &str) -> impl Iterator<Item = &MessageRow> {
        self.messages
            .range((session.to_owned(), String::new())..)
            .map(|(_, row)| row)
            .take_while(move |row| row.session == session)
    }
}

fn head(row: &MessageRow) -> MessageHead {
    MessageHead {
        id: row.id.clone(),
        session: row.session.clone(),
        seq: row.seq,
        is_final: row.is_final,
        meta: row.meta.clone(),
        changed_at: row.changed_at,
    }
}
