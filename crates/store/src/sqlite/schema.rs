//! The schema, as numbered migrations on `user_version`.
//!
//! A migration that has been released never changes; a change of the schema is one more at the end.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::errors;
use crate::StoreError;

/// "smdb": tells our databases from those of others.
pub(super) const APPLICATION_ID: i64 = 0x736d_6462;

/// Migration n (from 1) brings a database from version n-1 to n.
pub(super) const MIGRATIONS: &[&str] = &[V1, V2];

// Texts have a table of their own: an update of a message's state must not rewrite megabytes.
// `high_water` remembers the highest numbers when the rows that held them are removed.
const V1: &str = "
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    agent      TEXT NOT NULL,
    live       INTEGER NOT NULL,
    state      TEXT NOT NULL,
    changed_at INTEGER NOT NULL
);

CREATE TABLE messages (
    key        INTEGER PRIMARY KEY,
    session    TEXT NOT NULL,
    id         TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    is_final   INTEGER NOT NULL,
    meta       TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    UNIQUE (session, id)
);
CREATE INDEX messages_order ON messages (session, is_final, seq);
CREATE INDEX messages_open ON messages (session, seq) WHERE is_final = 0;
CREATE INDEX messages_seq ON messages (seq);

CREATE TABLE texts (
    key  INTEGER PRIMARY KEY,
    text TEXT NOT NULL
);

CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    session    TEXT NOT NULL,
    generation INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    text       TEXT NOT NULL,
    data       TEXT NOT NULL
);
CREATE INDEX events_session ON events (session, seq);

CREATE TABLE outbox (
    key     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    effect  TEXT NOT NULL
);

CREATE TABLE high_water (
    what  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);
";

const V2: &str = "
CREATE TABLE handoffs (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    session    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state      TEXT NOT NULL,
    json       TEXT NOT NULL
);
CREATE INDEX handoffs_session ON handoffs (session, created_at);
CREATE INDEX handoffs_time ON handoffs (created_at);
";

pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings the schema up to date; each migration is one transaction with its number.
pub(super) fn migrate(
    conn: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), StoreError> {
    for (number, sql) in (1i64..).zip(migrations) {
        let run = |conn: &mut Connection| -> rusqlite::Result<()> {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Asked inside the transaction: nobody can have migrated in between.
            if version(&tx)? < number {
                tx.execute_batch(sql)?;
                tx.pragma_update(None, "application_id", APPLICATION_ID)?;
                tx.pragma_update(None, "user_version", number)?;
            }
            tx.commit()
        };
        run(conn).map_err(|e| errors::writing(path, e))?;
    }
    Ok(())
}
