//! Opening: what is there is looked at before anything is changed.
//!
//! | what is there | what happens |
//! |---|---|
//! | nothing, or an empty file | a new database, mode 0600 |
//! | our version | used |
//! | an older version | copied to `sm.db.v<old>.<stamp>.bak`, then migrated |
//! | a newer version, or another program's database | refused, left as it is |
//! | damaged, or no database at all | set aside as `sm.db.corrupt-<stamp>`, reported, a new one begun |
//! | whole, but older than what was committed | used and reported; its log is copied to `sm.db-wal.damaged-<stamp>` |
//!
//! **How damage is found.** A start has to be fast however big the database is, and being killed is
//! an everyday event that the log recovers from; so there is no `quick_check` at every start, nor
//! after an unclean stop. Instead everything that a daemon reads at start is read here ([`Opened`]
//! hands it over): header, schema, all sessions, open messages, outbox, the ends of the event log.
//! Damage met there, or by any later query, leaves a mark on disk (`sm.db.suspect`); while it is
//! there, opening runs `quick_check` over everything and decides.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::mark::{self, Mark, Numbers};
use super::read::no_checkpoint_on_close;
use super::write::{in_transaction, skip_numbers};
use super::{SqliteReader, SqliteStore, errors, files, schema};
use crate::{Loaded, Reader, StoreError};

/// What a commit has to survive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The machine losing power: every transaction is synced.
    #[default]
    Full,
    /// The death of the process. After a power cut the last commits may be missing.
    Normal,
}

/// How to open.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub durability: Durability,
    /// Part of the names of copies and of what is set aside: the time, given by the caller.
    pub stamp: String,
    /// How long to wait for another process before [`StoreError::Locked`].
    pub busy_timeout: Duration,
    /// How many final messages of each session to load.
    pub recent_final: usize,
}

impl OpenOptions {
    pub fn new(stamp: impl Into<String>) -> Self {
        Self {
            durability: Durability::default(),
            stamp: stamp.into(),
            busy_timeout: Duration::from_secs(2),
            recent_final: 16,
        }
    }

    /// The stamp as part of a file name.
    fn safe_stamp(&self) -> String {
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        self.stamp
            .chars()
            .map(|c| if safe(c) { c } else { '_' })
            .take(64)
            .collect()
    }
}

/// An open database.
#[derive(Debug)]
pub struct Opened {
    pub store: SqliteStore,
    /// What a daemon needs at start, read already.
    pub loaded: Loaded,
    /// What a person should be told.
    pub notices: Vec<OpenNotice>,
}

/// Something that happened while opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenNotice {
    /// An older database was copied here and migrated.
    Migrated { from: i64, to: i64, copy: PathBuf },
    /// A damaged database was moved here; a new one was begun.
    SetAside { to: PathBuf, reason: String },
    /// Damage had been seen before, but the full check found none.
    CheckedSound,
    /// The database lacks the end of what was committed: its log was damaged, cut or removed, or an
    /// older copy was put back.
    Behind {
        events: i64,
        messages: i64,
        /// What is left of the log.
        log: Option<PathBuf>,
    },
}

impl std::fmt::Display for OpenNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Migrated { from, to, copy } => write!(
                f,
                "database migrated from version {from} to {to}; the old one is {}",
                copy.display()
            ),
            Self::SetAside { to, reason } => write!(
                f,
                "the database was damaged ({reason}); it is kept as {}, a new one was begun",
                to.display()
            ),
            Self::CheckedSound => {
                write!(
                    f,
                    "damage had been seen in the database, a full check found none"
                )
            }
            Self::Behind {
                events, messages, ..
            } => write!(
                f,
                "the database lacks the last {events} events and {messages} messages that were committed"
            ),
        }
    }
}

impl SqliteStore {
    /// Opens or creates the database at `path`; its directory must exist.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Opened, StoreError> {
        open_with(path, options, schema::MIGRATIONS)
    }
}

/// With the migrations as an argument, so that tests can be older or newer than the program.
pub(super) fn open_with(
    path: &Path,
    options: &OpenOptions,
    migrations: &[&str],
) -> Result<Opened, StoreError> {
    let mut notices = Vec::new();
    match open_once(path, options, migrations, &mut notices) {
        Err(StoreError::Corrupt { reason }) => {
            let to = files::set_aside(path, &options.safe_stamp())?;
            notices.push(OpenNotice::SetAside { to, reason });
            let (store, loaded) = open_once(path, options, migrations, &mut notices)?;
            Ok(Opened {
                store,
                loaded,
                notices,
            })
        }
        Err(error) => Err(error),
        Ok((store, loaded)) => Ok(Opened {
            store,
            loaded,
            notices,
        }),
    }
}

fn open_once(
    path: &Path,
    options: &OpenOptions,
    migrations: &[&str],
    notices: &mut Vec<OpenNotice>,
) -> Result<(SqliteStore, Loaded), StoreError> {
    files::ensure_private(path)?;
    if files::is_log_alone(path) {
        // SQLite would delete the log.
        return Err(StoreError::Corrupt {
            reason: "the file is empty, but its log is not".to_owned(),
        });
    }
    let mut conn = SqliteReader::connect(path, Access::Write, options.busy_timeout)?;

    let known = migrations.len() as i64;
    let found = look(&conn, path, known)?;
    if files::is_suspect(path) {
        check_everything(&conn, path)?;
        files::clear_suspect(path);
        notices.push(OpenNotice::CheckedSound);
    }
    prepare(&conn, found).map_err(|e| errors::writing(path, e))?;
    if found < known {
        let copy = match found {
            0 => None,
            _ => Some(copy(&conn, path, found, &options.safe_stamp())?),
        };
        schema::migrate(&mut conn, path, migrations)?;
        notices.extend(copy.map(|copy| OpenNotice::Migrated {
            from: found,
            to: known,
            copy,
        }));
    }
    settle(&conn, options.durability, found < known).map_err(|e| errors::writing(path, e))?;
    let mut reader = SqliteReader::over(conn, path, options.busy_timeout);
    let mut loaded = reader.load(options.recent_final)?;
    notices.extend(catch_up(&mut reader, path, options, &mut loaded)?);
    // Ours and sound: from now on closing tidies up.
    no_checkpoint_on_close(reader.connection(), false).map_err(|e| errors::writing(path, e))?;
    let mark = Mark::open(path, Numbers::of(&loaded));
    Ok((SqliteStore::over(reader, mark), loaded))
}

/// Compares what was read with what was committed. What is missing is told once, and its numbers are
/// not given again.
fn catch_up(
    reader: &mut SqliteReader,
    path: &Path,
    options: &OpenOptions,
    loaded: &mut Loaded,
) -> Result<Option<OpenNotice>, StoreError> {
    let found = Numbers::of(loaded);
    let committed = mark::read(path).map_or(found, |mark| mark.max(found));
    if committed == found {
        return Ok(None);
    }
    // Before anything is written: the next commit overwrites it.
    let log = files::keep_log(path, &options.safe_stamp());
    in_transaction(reader.connection_mut(), |tx| skip_numbers(tx, committed))
        .map_err(|e| errors::writing(path, e))?;
    (loaded.last_event, loaded.last_message) = (committed.event, committed.message);
    Ok(Some(OpenNotice::Behind {
        events: committed.event - found.event,
        messages: committed.message - found.message,
        log,
    }))
}

/// The version, if the database is ours and not newer than we are. Changes nothing.
fn look(conn: &Connection, path: &Path, known: i64) -> Result<i64, StoreError> {
    let facts = || -> rusqlite::Result<(i64, i64, i64)> {
        Ok((
            schema::version(conn)?,
            conn.query_row("PRAGMA application_id", [], |row| row.get(0))?,
            conn.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?,
        ))
    };
    let (found, application, objects) = facts().map_err(|e| errors::reading(path, e))?;
    let new = found == 0 && application == 0 && objects == 0;
    if !new && application != schema::APPLICATION_ID {
        return Err(StoreError::Foreign {
            path: path.to_owned(),
        });
    }
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(found)
}

fn check_everything(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let first: String = conn
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|e| errors::reading(path, e))?;
    if first == "ok" {
        Ok(())
    } else {
        Err(StoreError::Corrupt { reason: first })
    }
}

/// What has to be said before the first table is written.
fn prepare(conn: &Connection, version: i64) -> rusqlite::Result<()> {
    if version == 0 {
        // Not worth a sync for each step: an empty database is synced once, when it is complete.
        conn.pragma_update(None, "synchronous", "OFF")?;
        // Lets pruning give space back.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    conn.query_row("PRAGMA journal_mode = WAL", [], |row| {
        row.get::<_, String>(0)
    })?;
    // A large text leaves a large log behind; this much of it is kept for reuse.
    conn.query_row("PRAGMA journal_size_limit = 4194304", [], |_| Ok(()))
}

/// From now on commits are as durable as asked for; so is what a migration has done.
fn settle(conn: &Connection, durability: Durability, migrated: bool) -> rusqlite::Result<()> {
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    conn.pragma_update(None, "synchronous", synchronous)?;
    if migrated {
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// A consistent copy, complete or not there at all under its final name.
fn copy(conn: &Connection, path: &Path, version: i64, stamp: &str) -> Result<PathBuf, StoreError> {
    let target = files::free_name(path, &format!(".v{version}.{stamp}.bak"));
    let part = files::free_name(&target, ".part");
    files::create_private(&part).map_err(|e| files::failed(&part, e))?;
    let copied = conn
        .execute("VACUUM INTO ?1", [part.to_string_lossy()])
        .map_err(|e| errors::writing(path, e))
        .and_then(|_| std::fs::rename(&part, &target).map_err(|e| files::failed(&target, e)));
    if copied.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    copied.map(|()| target)
}

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}
