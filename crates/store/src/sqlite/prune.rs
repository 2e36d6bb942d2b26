//! Retention. Deletes in small transactions, so that the log stays small however much is old.

use rusqlite::{Connection, Transaction, params};

use super::read::collect;
use super::write::{in_transaction, remember_numbers, remove_session};
use crate::{Prune, Pruned};

/// Rows that one transaction may look at.
const STEP: i64 = 5_000;

const SESSIONS: &str = "
SELECT id FROM sessions s
WHERE live = 0 AND changed_at < ?1
  AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.is_final = 0)
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.session = s.id)
ORDER BY id";

pub(super) fn preview(conn: &Connection, what: &Prune) -> rusqlite::Result<Pruned> {
    let sessions: Vec<String> = collect(conn, SESSIONS, [what.sessions_before], |row| row.get(0))?;
    // Lengths come from the rows' headers: the texts themselves are not read.
    let events = "SELECT count(*), coalesce(sum(octet_length(text) + octet_length(data)), 0)
                  FROM events";
    let messages = "SELECT count(*), coalesce(sum(octet_length(t.text) + octet_length(m.meta)), 0)
                    FROM messages m JOIN texts t USING (key)";
    let mut pruned = Pruned::default();
    let old = count(
        conn,
        &format!("{events} WHERE at < ?1"),
        params![what.events_before],
    )?;
    pruned.events += old.0;
    pruned.bytes += old.1;
    let old = count(
        conn,
        &format!("{messages} WHERE m.is_final = 1 AND m.changed_at < ?1"),
        params![what.messages_before],
    )?;
    pruned.messages += old.0;
    pruned.bytes += old.1;
    for session in &sessions {
        // What goes with its session, and has not been counted above.
        let rest = count(
            conn,
            &format!("{events} WHERE session = ?1 AND at >= ?2"),
            params![session, what.events_before],
        )?;
        pruned.events += rest.0;
        pruned.bytes += rest.1;
        let rest = count(
            conn,
            &format!("{messages} WHERE m.session = ?1 AND m.changed_at >= ?2"),
            params![session, what.messages_before],
        )?;
        pruned.messages += rest.0;
        pruned.bytes += rest.1;
        let handoffs = "SELECT count(*), coalesce(sum(octet_length(json)), 0) FROM handoffs";
        let rest = count(
            conn,
            &format!("{handoffs} WHERE session = ?1"),
            params![session],
        )?;
        pruned.handoffs += rest.0;
        pruned.bytes += rest.1;
        let state = "SELECT count(*), coalesce(sum(octet_length(state)), 0) FROM sessions";
        pruned.bytes += count(conn, &format!("{state} WHERE id = ?1"), params![session])?.1;
    }
    pruned.sessions = sessions;
    Ok(pruned)
}

fn count(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<(u64, u64)> {
    conn.prepare_cached(sql)?.query_row(params, |row| {
        let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok((unsigned(row.get(0)?), unsigned(row.get(1)?)))
    })
}

pub(super) fn run(conn: &mut Connection, what: &Prune) -> rusqlite::Result<Pruned> {
    let pruned = preview(conn, what)?;
    in_transaction(conn, remember_numbers)?;
    for session in &pruned.sessions {
        in_transaction(conn, |tx| remove_session(tx, session))?;
    }
    delete_events(conn, what.events_before)?;
    delete_messages(conn, what.messages_before)?;
    give_back(conn)?;
    Ok(pruned)
}

fn delete_events(conn: &mut Connection, before: i64) -> rusqlite::Result<()> {
    let step_end = "SELECT max(seq) FROM
                    (SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2)";
    in_steps(conn, step_end, |tx, after, to| {
        tx.prepare_cached("DELETE FROM events WHERE seq > ?1 AND seq <= ?2 AND at < ?3")?
            .execute(params![after, to, before])
    })
}

fn delete_messages(conn: &mut Connection, before: i64) -> rusqlite::Result<()> {
    let step_end = "SELECT max(key) FROM
                    (SELECT key FROM messages WHERE key > ?1 ORDER BY key LIMIT ?2)";
    in_steps(conn, step_end, |tx, after, to| {
        tx.prepare_cached(
            "DELETE FROM texts WHERE key IN (SELECT key FROM messages
             WHERE key > ?1 AND key <= ?2 AND is_final = 1 AND changed_at < ?3)",
        )?
        .execute(params![after, to, before])?;
        tx.prepare_cached(
            "DELETE FROM messages
             WHERE key > ?1 AND key <= ?2 AND is_final = 1 AND changed_at < ?3",
        )?
        .execute(params![after, to, before])
    })
}

/// Goes through a table by its key; `step_end` gives the key at which the next step ends.
fn in_steps(
    conn: &mut Connection,
    step_end: &str,
    mut delete: impl FnMut(&Transaction<'_>, i64, i64) -> rusqlite::Result<usize>,
) -> rusqlite::Result<()> {
    let mut after = i64::MIN;
    loop {
        let to: Option<i64> = conn
            .prepare_cached(step_end)?
            .query_row(params![after, STEP], |row| row.get(0))?;
        let Some(to) = to else {
            return Ok(());
        };
        in_transaction(conn, |tx| delete(tx, after, to))?;
        after = to;
    }
}

/// Free pages go back to the file system.
fn give_back(conn: &Connection) -> rusqlite::Result<()> {
    for pragma in [
        "PRAGMA incremental_vacuum",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    ] {
        let mut stmt = conn.prepare(pragma)?;
        let mut rows = stmt.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}
