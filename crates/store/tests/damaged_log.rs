//! The write-ahead file of a killed daemon, damaged in every way and at every frame: what was
//! committed before the damage is there, whole, and what is missing is told.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{event, insert, message, session};
use sm_store::{Commit, Durability, OpenNotice, OpenOptions, Opened, Reader, SqliteStore, Store};

/// Header of the log, and of each frame before its page.
const HEADER: usize = 32;
const FRAME: usize = 24 + 4096;
/// So many commits, of which these are in the database itself.
const COMMITS: i64 = 12;
const CHECKPOINTED: i64 = 4;

fn step(n: i64) -> Commit {
    Commit {
        sessions: vec![session("s", n)],
        messages: vec![insert(message("s", &format!("m{n}"), n, "text"))],
        events: vec![event(n, "s")],
        ..Commit::default()
    }
}

fn open(path: &Path) -> Opened {
    let options = OpenOptions {
        durability: Durability::Normal,
        ..OpenOptions::new("t")
    };
    SqliteStore::open(path, &options).unwrap()
}

/// The files as a kill leaves them.
struct Killed {
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Killed {
    fn after_commits() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sm.db");
        let mut store = open(&path).store;
        for n in 1..=COMMITS {
            store.commit(&step(n)).unwrap();
            if n == CHECKPOINTED {
                store.checkpoint().unwrap();
            }
        }
        let files = ["sm.db", "sm.db-wal", "sm.db-mark"]
            .map(|name| (name, fs::read(dir.path().join(name)).unwrap()))
            .to_vec();
        Self { files }
    }

    fn log(&self) -> Vec<u8> {
        self.files[1].1.clone()
    }

    fn with_log(&self, log: Option<&[u8]>) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in &self.files {
            match (*name, log) {
                ("sm.db-wal", None) => {}
                ("sm.db-wal", Some(log)) => fs::write(dir.path().join(name), log).unwrap(),
                _ => fs::write(dir.path().join(name), bytes).unwrap(),
            }
        }
        let path = dir.path().join("sm.db");
        (dir, path)
    }
}

/// What there is of the journal, and how many commits it lacks by what was told.
fn judge(what: &str, path: &Path) -> i64 {
    let opened = open(path);
    let there = opened.store.events(None, 0, usize::MAX).unwrap().len() as i64;
    assert!(there >= CHECKPOINTED, "{what}: {there} commits are left");
    // a beginning of what was committed, each of it whole
    let loaded = &opened.loaded;
    assert_eq!(loaded.sessions, step(there).sessions, "{what}");
    let messages: Vec<String> = loaded.open_messages.iter().map(|m| m.id.clone()).collect();
    let expected: Vec<String> = (1..=there).map(|n| format!("m{n}")).collect();
    assert_eq!(messages, expected, "{what}");
    match (&opened.notices[..], COMMITS - there) {
        ([], 0) => {}
        (
            [
                OpenNotice::Behind {
                    events, messages, ..
                },
            ],
            lost,
        ) if lost > 0 => assert_eq!((*events, *messages), (lost, lost), "{what}"),
        (notices, lost) => panic!("{what}: {lost} commits are missing, told: {notices:?}"),
    }
    // no number is given twice, and it is told once
    assert_eq!(
        (loaded.last_event, loaded.last_message),
        (COMMITS, COMMITS),
        "{what}"
    );
    let mut store = opened.store;
    store.commit(&step(COMMITS + 1)).unwrap();
    drop(store);
    let again = open(path);
    assert_eq!(again.notices, [], "{what}: told again");
    assert_eq!(again.loaded.last_event, COMMITS + 1, "{what}");
    there
}

#[test]
fn damage_anywhere_in_the_log_leaves_a_beginning_and_is_told() {
    let killed = Killed::after_commits();
    let whole = killed.log();
    let frames = (whole.len() - HEADER) / FRAME;
    assert!(frames >= COMMITS as usize, "{frames} frames");
    let (_dir, path) = killed.with_log(Some(&whole));
    assert_eq!(judge("untouched", &path), COMMITS);

    let mut seen = std::collections::BTreeSet::new();
    let places = (0..frames).map(|frame| HEADER + frame * FRAME);
    for at in std::iter::once(0).chain(places) {
        let frame_end = (at + FRAME).min(whole.len());
        let damages: [(&str, Vec<u8>); 6] = [
            ("cut", whole[..at].to_vec()),
            ("cut inside", whole[..(at + 100).min(whole.len())].to_vec()),
            ("one bit", {
                let mut log = whole.clone();
                log[at + 17] ^= 1;
                log
            }),
            ("one bit of a page", {
                let mut log = whole.clone();
                let byte = (at + 2000).min(whole.len() - 1);
                log[byte] ^= 0x10;
                log
            }),
            ("zeros", {
                let mut log = whole.clone();
                log[at..frame_end].fill(0);
                log
            }),
            ("zeros from there on", {
                let mut log = whole.clone();
                log[at..].fill(0);
                log
            }),
        ];
        for (kind, log) in damages {
            let what = format!("{kind} at {at}");
            let (_dir, path) = killed.with_log(Some(&log));
            seen.insert(judge(&what, &path));
        }
    }
    assert!(seen.len() > 4, "damage at different places: {seen:?}");
}

#[test]
fn a_log_that_is_gone_or_something_else_is_told() {
    let killed = Killed::after_commits();
    let noise: Vec<u8> = (0..50_000_u32).map(|n| ((n * 7919) >> 3) as u8).collect();
    for (what, log) in [
        ("gone", None),
        ("empty", Some(&[][..])),
        ("text", Some(&b"this is no log"[..])),
        ("noise", Some(&noise[..])),
    ] {
        let (dir, path) = killed.with_log(log);
        judge(what, &path);
        let kept = dir.path().join("sm.db-wal.damaged-t");
        let log = log.filter(|log| !log.is_empty());
        assert_eq!(fs::read(kept).ok().as_deref(), log, "{what}");
    }
}

/// The mark is a help and no condition: without it, or with nonsense in it, the database is used.
#[test]
fn a_mark_that_is_gone_or_makes_no_sense_is_made_anew() {
    let killed = Killed::after_commits();
    let huge = format!("{:020} {:020}\n", i64::MAX, i64::MAX);
    for mark in [None, Some(""), Some("nonsense"), Some(huge.as_str())] {
        let (dir, path) = killed.with_log(Some(&killed.log()));
        let file = dir.path().join("sm.db-mark");
        match mark {
            None => fs::remove_file(&file).unwrap(),
            Some(text) => fs::write(&file, text).unwrap(),
        }
        assert_eq!(judge("its mark", &path), COMMITS);
        assert!(fs::read_to_string(&file).unwrap().contains("13"));
    }
}
