//! Queries. Each is one read transaction, so it sees whole commits only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::open::Access;
use super::{errors, files, prune};
use crate::{
    EventRow, HandoffRow, Loaded, MessageHead, MessageRow, OutboxRow, Prune, Pruned, Reader,
    SessionRow, StoreError, Which,
};

/// A connection to the database for reading; it can be moved to another thread. Readers do not wait
/// for the writer, nor the writer for them.
#[derive(Debug)]
pub struct SqliteReader {
    conn: Connection,
    path: PathBuf,
    busy_timeout: Duration,
}

impl SqliteReader {
    pub(super) fn over(conn: Connection, path: &Path, busy_timeout: Duration) -> Self {
        Self {
            conn,
            path: path.to_owned(),
            busy_timeout,
        }
    }

    pub(super) fn connect(
        path: &Path,
        access: Access,
        busy_timeout: Duration,
    ) -> Result<Connection, StoreError> {
        // No URI parsing: a path is a path. No mutex: a connection belongs to one thread at a time.
        let (flags, cache_kib) = match access {
            Access::Read => (OpenFlags::SQLITE_OPEN_READ_ONLY, 256),
            Access::Write => (OpenFlags::SQLITE_OPEN_READ_WRITE, 1024),
        };
        let open = || -> rusqlite::Result<Connection> {
            let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            // Before anything else: closing a database that turns out to be damaged or not for us
            // must not touch it.
            no_checkpoint_on_close(&conn, true)?;
            // Plans do not depend on the values asked for. Otherwise SQLite makes a new plan each
            // time a statement is given other values, which takes longer than most statements.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            conn.busy_timeout(busy_timeout)?;
            conn.set_prepared_statement_cache_capacity(24);
            conn.pragma_update(None, "cache_size", -cache_kib)?;
            Ok(conn)
        };
        open().map_err(|e| errors::reading(path, e))
    }

    pub(super) fn another(&self) -> Result<Self, StoreError> {
        let conn = Self::connect(&self.path, Access::Read, self.busy_timeout)?;
        Ok(Self::over(conn, &self.path, self.busy_timeout))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.conn
    }

    pub(super) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.conn
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        errors::reading(&self.path, error)
    }
}

impl Reader for SqliteReader {
    fn load(&self, recent_final: usize) -> Result<Loaded, StoreError> {
        let load = || -> rusqlite::Result<Loaded> {
            // Several queries: one transaction makes them one picture.
            let tx = self.conn.unchecked_transaction()?;
            let sessions = sessions(&tx)?;
            let mut recent = Vec::new();
            for session in &sessions {
                recent_final_of(&tx, &session.id, recent_final, &mut recent)?;
            }
            Ok(Loaded {
                open_messages: open_messages(&tx)?,
                recent_final: recent,
                outbox: outbox(&tx)?,
                last_event: highest(&tx, "event", "SELECT max(seq) FROM events")?,
                last_message: highest(&tx, "message", "SELECT max(seq) FROM messages")?,
                sessions,
            })
        };
        load().map_err(|e| self.failed(e))
    }

    fn message(&self, session: &str, id: &str) -> Result<Option<MessageRow>, StoreError> {
        let sql = "SELECT m.id, m.session, m.seq, m.is_final, m.meta, m.changed_at, t.text
                   FROM messages m JOIN texts t USING (key) WHERE m.session = ?1 AND m.id = ?2";
        self.conn
            .prepare_cached(sql)
            .and_then(|mut stmt| stmt.query_row([session, id], message_row).optional())
            .map_err(|e| self.failed(e))
    }

    fn messages(
        &self,
        session: &str,
        which: Which,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let sql = match which {
            Which::Open => {
                "SELECT m.id, m.session, m.seq, m.is_final, m.meta, m.changed_at, t.text
                 FROM messages m JOIN texts t USING (key)
                 WHERE m.session = ?1 AND m.is_final = 0 ORDER BY m.seq DESC LIMIT ?2"
            }
            Which::All => {
                // The texts are fetched for the rows that remain, not sorted along.
                "SELECT m.id, m.session, m.seq, m.is_final, m.meta, m.changed_at, t.text
                 FROM (SELECT * FROM messages WHERE session = ?1 ORDER BY seq DESC LIMIT ?2) m
                 JOIN texts t USING (key) ORDER BY m.seq DESC"
            }
        };
        let rows = collect(
            &self.conn,
            sql,
            params![session, bounded(limit)],
            message_row,
        );
        newest_last(rows).map_err(|e| self.failed(e))
    }

    fn events(
        &self,
        session: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let limit = bounded(limit);
        let rows = match session {
            Some(session) => collect(
                &self.conn,
                "SELECT seq, at, session, generation, turn, kind, text, data FROM events
                 WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
                params![session, after, limit],
                event_row,
            ),
            None => collect(
                &self.conn,
                "SELECT seq, at, session, generation, turn, kind, text, data FROM events
                 WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                params![after, limit],
                event_row,
            ),
        };
        rows.map_err(|e| self.failed(e))
    }

    fn last_events(
        &self,
        session: Option<&str>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let limit = bounded(limit);
        let rows = match session {
            Some(session) => collect(
                &self.conn,
                "SELECT seq, at, session, generation, turn, kind, text, data FROM events
                 WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
                params![session, limit],
                event_row,
            ),
            None => collect(
                &self.conn,
                "SELECT seq, at, session, generation, turn, kind, text, data FROM events
                 ORDER BY seq DESC LIMIT ?1",
                params![limit],
                event_row,
            ),
        };
        newest_last(rows).map_err(|e| self.failed(e))
    }

    fn handoff(&self, id: &str) -> Result<Option<HandoffRow>, StoreError> {
        let sql = "SELECT id, session, created_at, state, json FROM handoffs WHERE id = ?1";
        self.conn
            .prepare_cached(sql)
            .and_then(|mut stmt| stmt.query_row([id], handoff_row).optional())
            .map_err(|e| self.failed(e))
    }

    fn handoffs(&self, session: Option<&str>, limit: usize) -> Result<Vec<HandoffRow>, StoreError> {
        let limit = bounded(limit);
        // two of the same moment: as they came
        let rows = match session {
            Some(session) => collect(
                &self.conn,
                "SELECT id, session, created_at, state, json FROM handoffs
                 WHERE session = ?1 ORDER BY created_at DESC, key DESC LIMIT ?2",
                params![session, limit],
                handoff_row,
            ),
            None => collect(
                &self.conn,
                "SELECT id, session, created_at, state, json FROM handoffs
                 ORDER BY created_at DESC, key DESC LIMIT ?1",
                params![limit],
                handoff_row,
            ),
        };
        rows.map_err(|e| self.failed(e))
    }

    fn outbox(&self) -> Result<Vec<OutboxRow>, StoreError> {
        outbox(&self.conn).map_err(|e| self.failed(e))
    }

    fn prune_preview(&self, what: &Prune) -> Result<Pruned, StoreError> {
        self.conn
            .unchecked_transaction()
            .and_then(|tx| prune::preview(&tx, what))
            .map_err(|e| self.failed(e))
    }

    fn size(&self) -> Result<u64, StoreError> {
        files::size(&self.path)
    }
}

pub(super) fn no_checkpoint_on_close(conn: &Connection, on: bool) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on)
        .map(drop)
}

fn sessions(conn: &Connection) -> rusqlite::Result<Vec<SessionRow>> {
    // In the order of the file, then sorted here: by id it would seek for every row.
    let sql = "SELECT id, name, agent, live, state, changed_at FROM sessions";
    let mut rows = collect(conn, sql, [], |row| {
        Ok(SessionRow {
            id: row.get(0)?,
            name: row.get(1)?,
            agent: row.get(2)?,
            live: row.get(3)?,
            state: row.get(4)?,
            changed_at: row.get(5)?,
        })
    })?;
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(rows)
}

fn open_messages(conn: &Connection) -> rusqlite::Result<Vec<MessageRow>> {
    let sql = "SELECT m.id, m.session, m.seq, m.is_final, m.meta, m.changed_at, t.text
               FROM messages m JOIN texts t USING (key)
               WHERE m.is_final = 0 ORDER BY m.session, m.seq";
    collect(conn, sql, [], message_row)
}

fn recent_final_of(
    conn: &Connection,
    session: &str,
    limit: usize,
    into: &mut Vec<MessageHead>,
) -> rusqlite::Result<()> {
    let sql = "SELECT id, session, seq, is_final, meta, changed_at FROM messages
               WHERE session = ?1 AND is_final = 1 ORDER BY seq DESC LIMIT ?2";
    let mut stmt = conn.prepare_cached(sql)?;
    for head in stmt.query_map(params![session, bounded(limit)], message_head)? {
        into.push(head?);
    }
    Ok(())
}

fn outbox(conn: &Connection) -> rusqlite::Result<Vec<OutboxRow>> {
    let sql = "SELECT id, session, effect FROM outbox ORDER BY key";
    collect(conn, sql, [], |row| {
        Ok(OutboxRow {
            id: row.get(0)?,
            session: row.get(1)?,
            effect: row.get(2)?,
        })
    })
}

fn highest(conn: &Connection, what: &str, stored: &str) -> rusqlite::Result<i64> {
    let stored: Option<i64> = conn.query_row(stored, [], |row| row.get(0))?;
    let remembered: Option<i64> = conn
        .query_row(
            "SELECT value FROM high_water WHERE what = ?1",
            [what],
            |row| row.get(0),
        )
        .optional()?;
    Ok(stored.max(remembered).unwrap_or(0))
}

pub(super) fn collect<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    conn.prepare_cached(sql)?.query_map(params, row)?.collect()
}

fn message_row(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    Ok(MessageRow {
        id: row.get(0)?,
        session: row.get(1)?,
        seq: row.get(2)?,
        is_final: row.get(3)?,
        meta: row.get(4)?,
        changed_at: row.get(5)?,
        text: row.get(6)?,
    })
}

fn message_head(row: &Row<'_>) -> rusqlite::Result<MessageHead> {
    Ok(MessageHead {
        id: row.get(0)?,
        session: row.get(1)?,
        seq: row.get(2)?,
        is_final: row.get(3)?,
        meta: row.get(4)?,
        changed_at: row.get(5)?,
    })
}

fn event_row(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        seq: row.get(0)?,
        at: row.get(1)?,
        session: row.get(2)?,
        generation: row.get(3)?,
        turn: row.get::<_, i64>(4)?.cast_unsigned(),
        kind: row.get(5)?,
        text: row.get(6)?,
        data: row.get(7)?,
    })
}

fn handoff_row(row: &Row<'_>) -> rusqlite::Result<HandoffRow> {
    Ok(HandoffRow {
        id: row.get(0)?,
        session: row.get(1)?,
        created_at: row.get(2)?,
        state: row.get(3)?,
        json: row.get(4)?,
    })
}

fn newest_last<T>(rows: rusqlite::Result<Vec<T>>) -> rusqlite::Result<Vec<T>> {
    rows.map(|mut rows| {
        rows.reverse();
        rows
    })
}

/// SQLite takes a negative limit for none at all.
fn bounded(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
