//! Committing: prepared statements in one immediate transaction.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::mark::{Mark, Numbers};
use super::{SqliteReader, errors, prune};
use crate::{
    Commit, EventRow, HandoffRow, Loaded, MessageChange, MessageRow, MessageUpdate, OutboxRow,
    Prune, Pruned, Reader, SessionRow, Store, StoreError, Which,
};

/// A [`Store`] in a SQLite file. Opened by [`SqliteStore::open`].
#[derive(Debug)]
pub struct SqliteStore {
    /// The writing connection; what is read through it sees the same.
    db: SqliteReader,
    mark: Mark,
}

impl SqliteStore {
    pub(super) fn over(db: SqliteReader, mark: Mark) -> Self {
        Self { db, mark }
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        self.db.connection()
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        errors::writing(self.db.path(), error)
    }
}

impl Store for SqliteStore {
    fn commit_all(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        if commits.iter().all(Commit::is_empty) {
            return Ok(());
        }
        // An error on the way drops the transaction, which rolls it back.
        in_transaction(self.db.connection_mut(), |tx| {
            commits.iter().try_for_each(|commit| apply(tx, commit))
        })
        .map_err(|e| self.failed(e))?;
        self.mark.advance(commits);
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), StoreError> {
        let done = self
            .db
            .connection_mut()
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        done.map_err(|e| self.failed(e))
    }

    fn prune(&mut self, what: &Prune) -> Result<Pruned, StoreError> {
        prune::run(self.db.connection_mut(), what).map_err(|e| self.failed(e))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.db.another()?))
    }
}

pub(super) fn in_transaction<T>(
    conn: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&tx)?;
    tx.commit()?;
    Ok(done)
}

fn apply(tx: &Transaction<'_>, commit: &Commit) -> rusqlite::Result<()> {
    for session in &commit.sessions_removed {
        remove_session(tx, session)?;
    }
    for row in &commit.sessions {
        put_session(tx, row)?;
    }
    for change in &commit.messages {
        match change {
            MessageChange::Insert(row) => insert_message(tx, row)?,
            MessageChange::Update(update) => update_message(tx, update)?,
        }
    }
    for row in &commit.events {
        insert_event(tx, row)?;
    }
    for row in &commit.handoffs {
        put_handoff(tx, row)?;
    }
    for row in &commit.outbox_add {
        tx.prepare_cached(
            "INSERT OR IGNORE INTO outbox (id, session, effect) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![row.id, row.session, row.effect])?;
    }
    for id in &commit.outbox_done {
        tx.prepare_cached("DELETE FROM outbox WHERE id = ?1")?
            .execute([id])?;
    }
    Ok(())
}

fn put_session(tx: &Transaction<'_>, row: &SessionRow) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO sessions (id, name, agent, live, state, changed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, agent = excluded.agent,
             live = excluded.live, state = excluded.state, changed_at = excluded.changed_at",
    )?
    .execute(params![
        row.id,
        row.name,
        row.agent,
        row.live,
        row.state,
        row.changed_at
    ])?;
    Ok(())
}

fn insert_message(tx: &Transaction<'_>, row: &MessageRow) -> rusqlite::Result<()> {
    let inserted = tx
        .prepare_cached(
            "INSERT INTO messages (session, id, seq, is_final, meta, changed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (session, id) DO NOTHING",
        )?
        .execute(params![
            row.session,
            row.id,
            row.seq,
            row.is_final,
            row.meta,
            row.changed_at
        ])?;
    if inserted == 1 {
        tx.prepare_cached("INSERT INTO texts (key, text) VALUES (?1, ?2)")?
            .execute(params![tx.last_insert_rowid(), row.text])?;
    }
    Ok(())
}

fn update_message(tx: &Transaction<'_>, update: &MessageUpdate) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE messages SET is_final = ?3, meta = ?4, changed_at = ?5
         WHERE session = ?1 AND id = ?2",
    )?
    .execute(params![
        update.session,
        update.id,
        update.is_final,
        update.meta,
        update.changed_at
    ])?;
    Ok(())
}

fn insert_event(tx: &Transaction<'_>, row: &EventRow) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO events (seq, at, session, generation, turn, kind, text, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (seq) DO NOTHING",
    )?
    .execute(params![
        row.seq,
        row.at,
        row.session,
        row.generation,
        row.turn.cast_signed(),
        row.kind,
        row.text,
        row.data
    ])?;
    Ok(())
}

fn put_handoff(tx: &Transaction<'_>, row: &HandoffRow) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO handoffs (id, session, created_at, state, json)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO UPDATE SET session = excluded.session,
             created_at = excluded.created_at, state = excluded.state, json = excluded.json",
    )?
    .execute(params![
        row.id,
        row.session,
        row.created_at,
        row.state,
        row.json
    ])?;
    Ok(())
}

/// Everything of a session. Its numbers are remembered: they are never given again.
pub(super) fn remove_session(tx: &Transaction<'_>, session: &str) -> rusqlite::Result<()> {
    remember_numbers(tx)?;
    for sql in [
        "DELETE FROM texts WHERE key IN (SELECT key FROM messages WHERE session = ?1)",
        "DELETE FROM messages WHERE session = ?1",
        "DELETE FROM events WHERE session = ?1",
        "DELETE FROM handoffs WHERE session = ?1",
        "DELETE FROM outbox WHERE session = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        tx.execute(sql, [session])?;
    }
    Ok(())
}

/// Before rows with numbers are deleted.
pub(super) fn remember_numbers(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    for (what, highest) in [
        ("event", "SELECT max(seq) FROM events"),
        ("message", "SELECT max(seq) FROM messages"),
    ] {
        let highest: Option<i64> = tx.query_row(highest, [], |row| row.get(0))?;
        if let Some(highest) = highest {
            remember_number(tx, what, highest)?;
        }
    }
    Ok(())
}

/// Numbers that were given once are not given again, although what had them is lost.
pub(super) fn skip_numbers(tx: &Transaction<'_>, numbers: Numbers) -> rusqlite::Result<()> {
    remember_number(tx, "event", numbers.event)?;
    remember_number(tx, "message", numbers.message)
}

fn remember_number(tx: &Transaction<'_>, what: &str, highest: i64) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO high_water (what, value) VALUES (?1, ?2)
         ON CONFLICT (what) DO UPDATE SET value = max(value, excluded.value)",
        params![what, highest],
    )?;
    Ok(())
}

impl Reader for SqliteStore {
    fn load(&self, recent_final: usize) -> Result<Loaded, StoreError> {
        self.db.load(recent_final)
    }

    fn message(&self, session: &str, id: &str) -> Result<Option<MessageRow>, StoreError> {
        self.db.message(session, id)
    }

    fn messages(
        &self,
        session: &str,
        which: Which,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        self.db.messages(session, which, limit)
    }

    fn events(
        &self,
        session: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.db.events(session, after, limit)
    }

    fn last_events(
        &self,
        session: Option<&str>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.db.last_events(session, limit)
    }

    fn handoff(&self, id: &str) -> Result<Option<HandoffRow>, StoreError> {
        self.db.handoff(id)
    }

    fn handoffs(&self, session: Option<&str>, limit: usize) -> Result<Vec<HandoffRow>, StoreError> {
        self.db.handoffs(session, limit)
    }

    fn outbox(&self) -> Result<Vec<OutboxRow>, StoreError> {
        self.db.outbox()
    }

    fn prune_preview(&self, what: &Prune) -> Result<Pruned, StoreError> {
        self.db.prune_preview(what)
    }

    fn size(&self) -> Result<u64, StoreError> {
        self.db.size()
    }
}
