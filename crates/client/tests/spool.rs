//! The spool on a real file system: bounds, torn lines, and writers racing the daemon.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use sm_client::Spool;
use sm_client::spool::{Appended, CUT_BODY, Completeness, Entry, FILE_NAME, MAX_FILE, MAX_LINE};

fn entry<'a>(id: &'a str, body: &'a [u8]) -> Entry<'a> {
    Entry {
        id,
        at: 1_700_000_000_123,
        agent: "claude",
        event: "Stop",
        session: "s-1",
        ancestors: "12:34,5:6",
        secret: None,
        body,
        completeness: Completeness::Whole,
    }
}

fn take_all(spool: &Spool) -> Vec<Value> {
    let mut values = Vec::new();
    for taken in spool.take().unwrap() {
        for line in taken.lines().unwrap() {
            values.push(serde_json::from_slice(&line.unwrap()).unwrap());
        }
        taken.done().unwrap();
    }
    values
}

#[test]
fn a_line_is_what_the_daemon_expects() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("state/spool");
    let spool = Spool::new(&dir);
    assert_eq!(spool.take().unwrap().len(), 0);
    spool.append(&entry("1-a", b"{\"x\":\"\n\xff\"}")).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(dir.join(FILE_NAME)), 0o600);
    assert_eq!(mode(dir.clone()), 0o700);
    assert_eq!(
        take_all(&spool),
        [
            json!({"v": 1, "id": "1-a", "at": 1_700_000_000_123_u64, "agent": "claude",
                "event": "Stop", "session": "s-1", "ancestors": "12:34,5:6",
                "body": "{\"x\":\"\n\u{fffd}\"}"})
        ]
    );
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn a_body_that_makes_the_line_too_long_is_cut() {
    let temp = tempfile::tempdir().unwrap();
    let spool = Spool::new(temp.path());
    // Two bytes a letter and an odd start: the cut would fall into a letter.
    let long = format!("x{}", "ä".repeat(MAX_LINE / 2));
    spool.append(&entry("cut", long.as_bytes())).unwrap();
    let fits = "y".repeat(MAX_LINE - 300);
    spool.append(&entry("fits", fits.as_bytes())).unwrap();
    let values = take_all(&spool);
    assert_eq!(values[0]["cut"], true);
    assert_eq!(values[0]["body"].as_str().unwrap(), &long[..CUT_BODY - 1]);
    assert_eq!(values[1].get("cut"), None);
    assert_eq!(values[1]["body"].as_str().unwrap(), fits);
}

#[test]
fn a_full_spool_counts_what_it_drops() {
    let temp = tempfile::tempdir().unwrap();
    let spool = Spool::new(temp.path());
    let body = vec![b'z'; 1_000_000];
    let results: Vec<Appended> = (0..12)
        .map(|_| spool.append(&entry("1", &body)).unwrap())
        .collect();
    let dropped = results
        .iter()
        .filter(|result| **result == Appended::Dropped)
        .count();
    assert_eq!(dropped, 4);
    assert!(fs::metadata(temp.path().join(FILE_NAME)).unwrap().len() <= MAX_FILE);
    assert_eq!(spool.take_dropped().unwrap(), 4);
    assert_eq!(spool.take_dropped().unwrap(), 0);
    assert_eq!(take_all(&spool).len(), 8);
}

#[test]
fn a_torn_line_spoils_nothing_but_itself() {
    let temp = tempfile::tempdir().unwrap();
    let spool = Spool::new(temp.path());
    spool.append(&entry("1", b"")).unwrap();
    let tear = || {
        let path = temp.path().join(FILE_NAME);
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"\n\n{\"v\":1,\"id\":\"to").unwrap();
    };
    tear();
    spool.append(&entry("2", b"")).unwrap();
    tear();
    let taken = spool.take().unwrap();
    let lines: Vec<Vec<u8>> = taken[0].lines().unwrap().map(Result::unwrap).collect();
    let ids: Vec<Option<String>> = lines
        .iter()
        .map(|line| {
            let value: Value = serde_json::from_slice(line).ok()?;
            Some(value["id"].as_str()?.to_owned())
        })
        .collect();
    // The torn one in the middle is a line of its own; the one at the end is left out.
    assert_eq!(ids, [Some("1".to_owned()), None, Some("2".to_owned())]);
}

#[test]
fn what_a_dead_daemon_took_comes_first() {
    let temp = tempfile::tempdir().unwrap();
    let spool = Spool::new(temp.path());
    for id in ["1", "2", "3"] {
        spool.append(&entry(id, b"")).unwrap();
        // Taken, then the daemon dies.
        drop(spool.take().unwrap());
    }
    spool.append(&entry("4", b"")).unwrap();
    let ids: Vec<Value> = take_all(&spool)
        .iter()
        .map(|value| value["id"].clone())
        .collect();
    assert_eq!(ids, ["1", "2", "3", "4"]);
}

#[test]
fn writers_and_the_daemon_at_once_lose_and_double_nothing() {
    const WRITERS: usize = 6;
    const LINES: usize = 400;
    let temp = tempfile::tempdir().unwrap();
    let spool = Spool::new(temp.path());
    let running = AtomicUsize::new(WRITERS);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (spool, running) = (&spool, &running);
            scope.spawn(move || {
                for line in 0..LINES {
                    let id = format!("{writer}-{line}");
                    // Beyond a page, so that a mixed write would show.
                    let body = id.repeat(1 + line % 3 * 700);
                    let appended = spool.append(&entry(&id, body.as_bytes())).unwrap();
                    assert_eq!(appended, Appended::Written);
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while running.load(Ordering::SeqCst) > 0 {
            seen.extend(take_all(&spool));
        }
    });
    seen.extend(take_all(&spool));
    let ids: HashSet<&str> = seen
        .iter()
        .map(|value| value["id"].as_str().unwrap())
        .collect();
    assert_eq!((seen.len(), ids.len()), (WRITERS * LINES, WRITERS * LINES));
    // Each writer's own lines stay in order.
    for writer in 0..WRITERS {
        let prefix = format!("{writer}-");
        let order: Vec<usize> = seen
            .iter()
            .filter_map(|value| value["id"].as_str()?.strip_prefix(&prefix)?.parse().ok())
            .collect();
        assert!(order.is_sorted(), "{writer}");
    }
}
