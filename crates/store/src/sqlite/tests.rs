//! What only SQLite has: files, versions, damage, locks, a full disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::open::open_with;
use super::{Durability, OpenNotice, OpenOptions, Opened, SqliteStore, schema};
use crate::{
    Commit, EventRow, HandoffRow, MessageChange, MessageRow, Reader, SessionRow, Store, StoreError,
};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn db(&self) -> PathBuf {
        self.dir.path().join("sm.db")
    }

    fn open(&self) -> Result<Opened, StoreError> {
        SqliteStore::open(&self.db(), &options())
    }

    /// Names of all files, sorted.
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn options() -> OpenOptions {
    OpenOptions {
        busy_timeout: Duration::from_millis(20),
        ..OpenOptions::new("20260102T030405Z")
    }
}

fn step(n: i64, text: &str) -> Commit {
    Commit {
        sessions: vec![SessionRow {
            id: "s".to_owned(),
            name: "name".to_owned(),
            agent: "generic".to_owned(),
            live: true,
            state: format!("{{\"n\":{n}}}"),
            changed_at: n,
        }],
        messages: vec![MessageChange::Insert(MessageRow {
            id: format!("m{n}"),
            session: "s".to_owned(),
            seq: n,
            is_final: false,
            meta: "{}".to_owned(),
            text: text.to_owned(),
            changed_at: n,
        })],
        events: vec![EventRow {
            seq: n,
            at: n,
            session: "s".to_owned(),
            generation: 1,
            turn: 1,
            kind: "test".to_owned(),
            text: String::new(),
            data: String::new(),
        }],
        ..Commit::default()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_the_owner_can_read_the_files() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    store.commit(&step(1, "x")).unwrap();
    for name in ["sm.db", "sm.db-wal", "sm.db-shm"] {
        assert_eq!(mode(&place.dir.path().join(name)), 0o600, "{name}");
    }
    drop(store);
    fs::set_permissions(place.db(), fs::Permissions::from_mode(0o644)).unwrap();
    let store = place.open().unwrap().store;
    assert_eq!(mode(&place.db()), 0o600);
    drop(store);
    assert_eq!(mode(&place.dir.path().join("sm.db-mark")), 0o600);
    assert_eq!(place.files(), ["sm.db", "sm.db-mark"]);
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    let place = Place::new();
    for durability in [Durability::Full, Durability::Normal] {
        let options = OpenOptions {
            durability,
            ..options()
        };
        let mut store = SqliteStore::open(&place.db(), &options).unwrap().store;
        let level: i64 = store
            .connection()
            .query_row("PRAGMA synchronous", [], |row| row.get(0))
            .unwrap();
        let expected = match durability {
            Durability::Full => 2,
            Durability::Normal => 1,
        };
        assert_eq!(level, expected);
        store.commit(&step(level, "x")).unwrap();
        let before = store.load(32).unwrap();
        drop(store);
        let opened = place.open().unwrap();
        assert_eq!(opened.loaded, before);
        assert_eq!(opened.notices, []);
    }
}

#[test]
fn the_directory_must_exist() {
    let place = Place::new();
    let path = place.dir.path().join("missing/sm.db");
    let error = SqliteStore::open(&path, &options()).unwrap_err();
    assert!(
        matches!(&error, StoreError::File { path: p, .. } if *p == path),
        "{error}"
    );
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_is() {
    let place = Place::new();
    place.open().unwrap().store.commit(&step(1, "x")).unwrap();
    Connection::open(place.db())
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let before = fs::read(place.db()).unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(
        error,
        StoreError::Newer {
            path: place.db(),
            found: 99,
            known: schema::MIGRATIONS.len() as i64
        }
    );
    assert!(error.to_string().contains("has version 99"), "{error}");
    assert!(fs::read(place.db()).unwrap() == before);
}

#[test]
fn the_database_of_another_program_is_refused_and_left_as_it_is() {
    let place = Place::new();
    Connection::open(place.db())
        .unwrap()
        .execute_batch("CREATE TABLE recipes (name TEXT)")
        .unwrap();
    let before = fs::read(place.db()).unwrap();
    assert_eq!(
        place.open().unwrap_err(),
        StoreError::Foreign { path: place.db() }
    );
    assert!(fs::read(place.db()).unwrap() == before);
}

#[test]
fn an_older_database_is_copied_before_it_is_migrated() {
    let place = Place::new();
    place
        .open()
        .unwrap()
        .store
        .commit(&step(1, "kept"))
        .unwrap();

    let newer = [
        schema::MIGRATIONS,
        &["ALTER TABLE sessions ADD COLUMN extra TEXT"],
    ]
    .concat();
    let from = schema::MIGRATIONS.len() as i64;
    let opened = open_with(&place.db(), &options(), &newer).unwrap();
    let copy = place
        .dir
        .path()
        .join(format!("sm.db.v{from}.20260102T030405Z.bak"));
    assert_eq!(
        opened.notices,
        [OpenNotice::Migrated {
            from,
            to: from + 1,
            copy: copy.clone()
        }]
    );
    assert_eq!(opened.loaded.open_messages[0].text, "kept");
    assert_eq!(
        schema::version(opened.store.connection()).unwrap(),
        from + 1
    );
    drop(opened);

    // The copy is a whole database of the old version.
    assert_eq!(mode(&copy), 0o600);
    let old = SqliteStore::open(&copy, &options()).unwrap();
    assert_eq!(old.notices, []);
    assert_eq!(old.loaded.open_messages[0].text, "kept");
    drop(old);

    // Once only.
    let again = open_with(&place.db(), &options(), &newer).unwrap();
    assert_eq!(again.notices, []);
}

#[test]
fn a_database_from_before_handoffs_learns_of_them() {
    let place = Place::new();
    let first = open_with(&place.db(), &options(), &schema::MIGRATIONS[..1]).unwrap();
    let mut store = first.store;
    store.commit(&step(1, "kept")).unwrap();
    drop(store);

    let mut opened = place.open().unwrap();
    assert_eq!(opened.loaded.open_messages[0].text, "kept");
    assert_eq!(opened.store.handoffs(None, 9).unwrap(), []);
    let row = HandoffRow {
        id: "h".to_owned(),
        session: "s".to_owned(),
        created_at: 1,
        state: "done".to_owned(),
        json: "{}".to_owned(),
    };
    let commit = Commit {
        handoffs: vec![row.clone()],
        ..Commit::default()
    };
    opened.store.commit(&commit).unwrap();
    assert_eq!(opened.store.handoffs(Some("s"), 9).unwrap(), [row]);
}

#[test]
fn a_failed_migration_changes_nothing() {
    let place = Place::new();
    place
        .open()
        .unwrap()
        .store
        .commit(&step(1, "kept"))
        .unwrap();
    let broken = [
        schema::MIGRATIONS,
        &["DROP TABLE events; ALTER TABLE nothing ADD COLUMN x TEXT"],
    ]
    .concat();
    let error = open_with(&place.db(), &options(), &broken).unwrap_err();
    assert!(matches!(error, StoreError::Query { .. }), "{error}");
    let opened = place.open().unwrap();
    assert_eq!(opened.loaded.last_event, 1);
    assert_eq!(opened.loaded.open_messages[0].text, "kept");
}

#[test]
fn what_is_no_database_is_set_aside() {
    let place = Place::new();
    let garbage = "this is not a database ".repeat(500);
    for n in 0..2 {
        fs::write(place.db(), &garbage).unwrap();
        fs::write(place.dir.path().join("sm.db-wal"), "a log").unwrap();
        let opened = place.open().unwrap();
        let [OpenNotice::SetAside { to, reason }] = &opened.notices[..] else {
            panic!("{:?}", opened.notices);
        };
        let suffix = ["", ".1"][n];
        let aside = place
            .dir
            .path()
            .join(format!("sm.db.corrupt-20260102T030405Z{suffix}"));
        assert_eq!(*to, aside);
        assert!(reason.contains("not a database"), "{reason}");
        assert!(fs::read_to_string(&aside).unwrap() == garbage);
        assert_eq!(
            fs::read_to_string(format!("{}-wal", aside.display())).unwrap(),
            "a log"
        );
        assert_eq!(opened.loaded, crate::Loaded::default());
        let mut store = opened.store;
        store.commit(&step(1, "new")).unwrap();
        drop(store);
        assert_eq!(place.open().unwrap().loaded.last_event, 1);
    }
}

#[test]
fn a_log_without_its_database_is_kept() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    store.commit(&step(1, "x")).unwrap();
    let log = fs::read(place.dir.path().join("sm.db-wal")).unwrap();
    drop(store);
    fs::write(place.db(), "").unwrap();
    fs::write(place.dir.path().join("sm.db-wal"), &log).unwrap();
    let opened = place.open().unwrap();
    let [OpenNotice::SetAside { to, .. }] = &opened.notices[..] else {
        panic!("{:?}", opened.notices);
    };
    assert!(fs::read(format!("{}-wal", to.display())).unwrap() == log);
    assert_eq!(opened.loaded, crate::Loaded::default());
}

/// Overwrites a page in the middle with something that is no page.
fn damage(path: &Path, page: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[page * 4096..(page + 1) * 4096].fill(0xA5);
    fs::write(path, bytes).unwrap();
}

fn root_page(place: &Place, table: &str) -> usize {
    let conn = Connection::open(place.db()).unwrap();
    let page: i64 = conn
        .query_row(
            "SELECT rootpage FROM sqlite_master WHERE name = ?1",
            [table],
            |row| row.get(0),
        )
        .unwrap();
    usize::try_from(page).unwrap() - 1
}

#[test]
fn damage_met_at_start_sets_the_database_aside() {
    for table in ["sessions", "messages", "outbox", "texts", "events"] {
        let place = Place::new();
        place.open().unwrap().store.commit(&step(1, "x")).unwrap();
        damage(&place.db(), root_page(&place, table));
        let damaged = fs::read(place.db()).unwrap();

        let opened = place.open().unwrap();
        let [OpenNotice::SetAside { to, .. }] = &opened.notices[..] else {
            panic!("{table}: {:?}", opened.notices);
        };
        assert!(fs::read(to).unwrap() == damaged, "{table}");
        assert_eq!(opened.loaded, crate::Loaded::default());
    }
}

#[test]
fn damage_met_later_is_checked_at_the_next_start() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    for n in 1..=2_000 {
        store.commit(&step(n, "x")).unwrap();
        if n == 1 {
            // Not synced each time, only to be quick.
            store
                .connection()
                .pragma_update(None, "synchronous", "OFF")
                .unwrap();
        }
    }
    drop(store);
    // A page that nothing reads at start: an early leaf of the events.
    let leaf: i64 = {
        let conn = Connection::open(place.db()).unwrap();
        conn.query_row(
            "SELECT rootpage FROM sqlite_master WHERE name = 'events_session'",
            [],
            |r| r.get(0),
        )
        .unwrap()
    };
    damage(&place.db(), usize::try_from(leaf).unwrap() - 1);

    let opened = place.open().unwrap();
    assert_eq!(opened.notices, [], "the start does not read everything");
    let error = opened.store.events(Some("s"), 0, 10).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    drop(opened);

    let opened = place.open().unwrap();
    assert!(
        matches!(&opened.notices[..], [OpenNotice::SetAside { .. }]),
        "{:?}",
        opened.notices
    );
    assert!(!place.files().contains(&"sm.db.suspect".to_owned()));
}

#[test]
fn a_false_alarm_is_cleared() {
    let place = Place::new();
    place.open().unwrap().store.commit(&step(1, "x")).unwrap();
    super::files::mark_suspect(&place.db());
    let opened = place.open().unwrap();
    assert_eq!(opened.notices, [OpenNotice::CheckedSound]);
    assert_eq!(opened.loaded.last_event, 1);
    drop(opened);
    assert_eq!(place.open().unwrap().notices, []);
}

#[test]
fn a_text_that_is_no_text_is_damage() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    store.commit(&step(1, "x")).unwrap();
    store
        .connection()
        .execute("UPDATE sessions SET state = CAST(x'ff00ff' AS TEXT)", [])
        .unwrap();
    drop(store);
    let opened = place.open().unwrap();
    assert!(
        matches!(&opened.notices[..], [OpenNotice::SetAside { .. }]),
        "{:?}",
        opened.notices
    );
}

#[test]
fn a_full_disk_refuses_the_whole_commit_and_recovers() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    store.commit(&step(1, "first")).unwrap();
    let limit = |store: &SqliteStore, pages: i64| {
        let set: i64 = store
            .connection()
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| {
                row.get(0)
            })
            .unwrap();
        set
    };
    let pages = limit(&store, 1); // cannot be less than it has: gives that number
    let before = (store.load(9).unwrap(), store.events(None, 0, 9).unwrap());

    let big = "x".repeat(1 << 20);
    for commits in [vec![step(2, &big)], vec![step(2, "small"), step(3, &big)]] {
        let error = store.commit_all(&commits).unwrap_err();
        let StoreError::Full { reason } = &error else {
            panic!("{error}");
        };
        assert!(reason.contains("full"), "{reason}");
        assert_eq!(
            (store.load(9).unwrap(), store.events(None, 0, 9).unwrap()),
            before
        );
    }

    // What needs no room still works, and with room everything does.
    limit(&store, pages + 1_000);
    store.commit(&step(2, &big)).unwrap();
    drop(store);
    let opened = place.open().unwrap();
    assert_eq!(opened.notices, []);
    assert_eq!(opened.loaded.last_event, 2);
    assert!(opened.loaded.open_messages[1].text == big);
}

#[test]
fn a_lock_of_another_process_is_named() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    store.commit(&step(1, "x")).unwrap();
    let mut other = Connection::open(place.db()).unwrap();
    let tx = other
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .unwrap();
    let error = store.commit(&step(2, "x")).unwrap_err();
    assert_eq!(error, StoreError::Locked { path: place.db() });
    assert!(error.to_string().contains("locked by another process"));
    assert_eq!(store.load(9).unwrap().last_event, 1, "reading goes on");
    drop(tx);
    store.commit(&step(2, "x")).unwrap();
    assert_eq!(store.load(9).unwrap().last_event, 2);
}

#[test]
fn opening_a_database_that_is_being_locked_says_so() {
    let place = Place::new();
    drop(place.open().unwrap());
    let other = Connection::open(place.db()).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        .unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(error, StoreError::Locked { path: place.db() });
    drop(other);
    assert_eq!(place.open().unwrap().notices, []);
}

#[test]
fn pruning_gives_space_back() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    let mut commit = step(1, &"x".repeat(3 << 20));
    for change in &mut commit.messages {
        if let MessageChange::Insert(row) = change {
            row.is_final = true;
        }
    }
    store.commit(&commit).unwrap();
    let before = store.size().unwrap();
    let pruned = store
        .prune(&crate::Prune {
            events_before: 10,
            messages_before: 10,
            sessions_before: 10,
        })
        .unwrap();
    assert_eq!(
        (pruned.events, pruned.messages, pruned.sessions.len()),
        (1, 1, 0)
    );
    let after = store.size().unwrap();
    assert!(after + (3 << 20) < before, "{before} -> {after}");
    assert_eq!(store.load(9).unwrap().sessions.len(), 1);
}

#[test]
fn updating_a_message_does_not_write_its_text_again() {
    let place = Place::new();
    let mut store = place.open().unwrap().store;
    store.commit(&step(1, &"x".repeat(2 << 20))).unwrap();
    store
        .connection()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let update = Commit {
        messages: vec![MessageChange::Update(crate::MessageUpdate {
            id: "m1".to_owned(),
            session: "s".to_owned(),
            is_final: true,
            meta: "{}".to_owned(),
            changed_at: 2,
        })],
        ..Commit::default()
    };
    store.commit(&update).unwrap();
    let log = fs::metadata(place.dir.path().join("sm.db-wal"))
        .unwrap()
        .len();
    assert!(log < 64 << 10, "the log has {log} bytes");
    assert!(store.message("s", "m1").unwrap().unwrap().text.len() == 2 << 20);
}
