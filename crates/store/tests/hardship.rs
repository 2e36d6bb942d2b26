//! Real trouble, in processes of their own: killed at any moment, and a file system that refuses.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{event, insert, message, outbox, session};
use sm_store::{Commit, OpenOptions, Reader, SqliteStore, Store, StoreError};

/// Set for the child processes: the database to use.
const CHILD: &str = "SM_STORE_TEST_CHILD";

fn open(path: &Path) -> sm_store::Opened {
    SqliteStore::open(path, &OpenOptions::new("t")).unwrap()
}

fn step(n: i64) -> Commit {
    Commit {
        sessions: vec![session("s", n)],
        messages: vec![insert(message("s", &format!("m{n}"), n, &"x".repeat(2000)))],
        events: vec![event(n, "s")],
        outbox_add: vec![outbox(&format!("o{n}"), "s")],
        outbox_done: vec![format!("o{}", n - 1)],
        ..Commit::default()
    }
}

/// This program again, running only the named test as a child.
fn child(test: &str, database: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, database)
        .stdin(Stdio::null());
    command
}

#[test]
fn killed_at_any_moment_every_answered_commit_is_there_and_whole() {
    if let Some(path) = std::env::var_os(CHILD) {
        let opened = open(&PathBuf::from(path));
        let mut store = opened.store;
        for n in opened.loaded.last_event + 1.. {
            store.commit(&step(n)).unwrap();
            println!("committed {n}");
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sm.db");
    let mut proven = 0;
    for round in 0..5 {
        let name = "killed_at_any_moment_every_answered_commit_is_there_and_whole";
        let mut process = child(name, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut committed = 0;
        while committed < 7 * (round + 1) {
            let line = lines.next().unwrap().unwrap();
            // The first may share its line with what the test runner says.
            if let Some((_, n)) = line.split_once("committed ") {
                proven = n.parse().unwrap();
                committed += 1;
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            if let Some(n) = line.strip_prefix("committed ") {
                // The last line may be cut off by the kill.
                proven = n.parse().unwrap_or(proven);
            }
        }

        let opened = open(&path);
        assert_eq!(opened.notices, []);
        let last = opened.loaded.last_event;
        assert!(last >= proven, "committed {proven}, found {last}");
        assert_eq!(opened.loaded.sessions, step(last).sessions);
        assert_eq!(opened.loaded.outbox, step(last).outbox_add);
        assert_eq!(opened.loaded.open_messages.len() as i64, last);
        assert_eq!(
            opened.store.events(None, 0, usize::MAX).unwrap().len() as i64,
            last
        );
    }
}

#[test]
fn a_file_system_that_refuses_loses_nothing_and_is_survived() {
    if let Some(path) = std::env::var_os(CHILD) {
        refused_child(&PathBuf::from(path));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sm.db");
    drop(open(&path));
    let name = "a_file_system_that_refuses_loses_nothing_and_is_survived";
    let inner = child(name, &path);
    // Beyond the limit a write fails, instead of killing, because the signal is ignored.
    let mut process = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -S -f 512; exec \"$@\"", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env(CHILD, &path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = String::new();
    process
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let mut err = String::new();
    process
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(process.wait().unwrap().success(), "{out}\n{err}");

    let opened = open(&path);
    assert_eq!(opened.notices, []);
    let last = opened.loaded.last_event;
    assert!(out.contains(&format!("last {last}\n")), "{last}: {out}");
}

fn refused_child(path: &Path) {
    let mut store = open(path).store;
    let mut n = 1;
    let error = loop {
        match store.commit(&step(n)) {
            Ok(()) => n += 1,
            Err(error) => break error,
        }
        assert!(n < 10_000, "the limit was never met");
    };
    assert!(n > 1);
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    // Still refusing, still whole.
    assert!(matches!(
        store.commit(&step(n)),
        Err(StoreError::Full { .. })
    ));
    let loaded = store.load(0).unwrap();
    assert_eq!(loaded.last_event, n - 1);
    assert_eq!(loaded.sessions, step(n - 1).sessions);
    assert_eq!(loaded.open_messages.len() as i64, n - 1);

    // Room again: the same commit, the same store.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    rustix::process::setrlimit(
        rustix::process::Resource::Fsize,
        rustix::process::Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .unwrap();
    store.commit(&step(n)).unwrap();
    assert_eq!(store.load(0).unwrap().last_event, n);
    println!("last {n}");
}
