//! The writer thread: order, grouping, and an answer for everybody.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use common::{event, session};
use sm_store::{
    Commit, EventRow, HandoffRow, Loaded, MemoryStore, MessageRow, OpenOptions, OutboxRow, Prune,
    Pruned, Reader, SqliteStore, Store, StoreError, Which, Writer,
};

fn step(n: i64) -> Commit {
    Commit {
        sessions: vec![session("s", n)],
        events: vec![event(n, "s")],
        ..Commit::default()
    }
}

/// Lets a test hold the writer inside a transaction, and counts transactions.
struct Gated {
    inner: MemoryStore,
    entered: Sender<usize>,
    go: Receiver<()>,
}

fn gated() -> (Gated, MemoryStore, Receiver<usize>, Sender<()>) {
    let inner = MemoryStore::new();
    let (entered, sizes) = mpsc::channel();
    let (open, go) = mpsc::channel();
    let gated = Gated {
        inner: inner.clone(),
        entered,
        go,
    };
    (gated, inner, sizes, open)
}

impl Store for Gated {
    fn commit_all(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        self.entered.send(commits.len()).unwrap();
        let _ = self.go.recv();
        if commits
            .iter()
            .any(|c| c.outbox_done.contains(&"poison".to_owned()))
        {
            return Err(StoreError::Query {
                reason: "poison".to_owned(),
            });
        }
        self.inner.commit_all(commits)
    }

    fn prune(&mut self, prune: &Prune) -> Result<Pruned, StoreError> {
        self.inner.prune(prune)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }
}

impl Reader for Gated {
    fn load(&self, recent_final: usize) -> Result<Loaded, StoreError> {
        self.inner.load(recent_final)
    }
    fn message(&self, session: &str, id: &str) -> Result<Option<MessageRow>, StoreError> {
        self.inner.message(session, id)
    }
    fn messages(&self, s: &str, which: Which, n: usize) -> Result<Vec<MessageRow>, StoreError> {
        self.inner.messages(s, which, n)
    }
    fn events(&self, s: Option<&str>, after: i64, n: usize) -> Result<Vec<EventRow>, StoreError> {
        self.inner.events(s, after, n)
    }
    fn last_events(&self, s: Option<&str>, n: usize) -> Result<Vec<EventRow>, StoreError> {
        self.inner.last_events(s, n)
    }
    fn handoff(&self, id: &str) -> Result<Option<HandoffRow>, StoreError> {
        self.inner.handoff(id)
    }
    fn handoffs(&self, s: Option<&str>, n: usize) -> Result<Vec<HandoffRow>, StoreError> {
        self.inner.handoffs(s, n)
    }
    fn outbox(&self) -> Result<Vec<OutboxRow>, StoreError> {
        self.inner.outbox()
    }
    fn prune_preview(&self, prune: &Prune) -> Result<Pruned, StoreError> {
        self.inner.prune_preview(prune)
    }
    fn size(&self) -> Result<u64, StoreError> {
        self.inner.size()
    }
}

#[test]
fn what_is_waiting_becomes_one_transaction_answered_in_order() {
    let (store, inner, sizes, open) = gated();
    let writer = Writer::spawn(store).unwrap();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let submit = |n: i64| {
        let answers = answers.clone();
        writer.submit(step(n), move |result| {
            answers.lock().unwrap().push((n, result))
        });
    };
    submit(1);
    assert_eq!(
        sizes.recv().unwrap(),
        1,
        "the first does not wait for others"
    );
    (2..=100).for_each(submit);
    open.send(()).unwrap();
    assert_eq!(sizes.recv().unwrap(), 99, "all that waited in the meantime");
    open.send(()).unwrap();
    writer.flush().unwrap();

    let answers = answers.lock().unwrap();
    assert_eq!(*answers, (1..=100).map(|n| (n, Ok(()))).collect::<Vec<_>>());
    assert_eq!(inner.load(0).unwrap().sessions, [session("s", 100)]);
}

#[test]
fn a_transaction_is_bounded_in_bytes() {
    let (store, _inner, sizes, open) = gated();
    let writer = Writer::spawn(store).unwrap();
    let big = || {
        let mut commit = step(1);
        commit.events[0].text = "x".repeat(3 << 20);
        commit
    };
    writer.submit(step(1), |_| {});
    assert_eq!(sizes.recv().unwrap(), 1);
    (0..4).for_each(|_| writer.submit(big(), |_| {}));
    (0..3).for_each(|_| open.send(()).unwrap());
    assert_eq!((sizes.recv().unwrap(), sizes.recv().unwrap()), (2, 2));
    drop(open);
    writer.stop();
}

#[test]
fn a_full_disk_is_told_to_everyone_and_ends() {
    let (store, inner, sizes, open) = gated();
    let writer = Writer::spawn(store).unwrap();
    let (tx, answers) = mpsc::channel();
    let submit = |n: i64| {
        let tx = tx.clone();
        writer.submit(step(n), move |result| tx.send((n, result)).unwrap());
    };
    submit(1);
    sizes.recv().unwrap();
    (2..=5).for_each(submit);
    inner.refuse_writes(Some("no space left on device"));
    open.send(()).unwrap();
    open.send(()).unwrap();
    for n in 1..=5 {
        let full = StoreError::Full {
            reason: "no space left on device".to_owned(),
        };
        assert_eq!(answers.recv().unwrap(), (n, Err(full)));
    }
    assert_eq!(inner.load(0).unwrap(), Loaded::default());

    inner.refuse_writes(None);
    open.send(()).unwrap();
    assert_eq!(writer.commit(step(6)), Ok(()));
    assert_eq!(inner.load(0).unwrap().last_event, 6);
}

#[test]
fn one_that_cannot_be_written_does_not_take_others_along() {
    let (store, inner, sizes, open) = gated();
    let writer = Writer::spawn(store).unwrap();
    let (tx, answers) = mpsc::channel();
    let submit = |n: i64, commit: Commit| {
        let tx = tx.clone();
        writer.submit(commit, move |result| tx.send((n, result.is_ok())).unwrap());
    };
    submit(1, step(1));
    sizes.recv().unwrap();
    submit(2, step(2));
    submit(
        3,
        Commit {
            outbox_done: vec!["poison".to_owned()],
            ..step(3)
        },
    );
    submit(4, step(4));
    drop(open);
    let got: Vec<_> = (0..4).map(|_| answers.recv().unwrap()).collect();
    assert_eq!(got, [(1, true), (2, true), (3, false), (4, true)]);
    let seqs: Vec<i64> = inner
        .events(None, 0, 9)
        .unwrap()
        .iter()
        .map(|e| e.seq)
        .collect();
    assert_eq!(seqs, [1, 2, 4]);
}

#[test]
fn stopping_writes_what_is_waiting_and_refuses_the_rest() {
    let (store, inner, sizes, open) = gated();
    let writer = Writer::spawn(store).unwrap();
    let handle = writer.handle();
    let (tx, answers) = mpsc::channel();
    for n in 1..=3 {
        let tx = tx.clone();
        writer.submit(step(n), move |result| tx.send((n, result)).unwrap());
        if n == 1 {
            sizes.recv().unwrap();
        }
    }
    drop(open);
    writer.stop();
    let got: Vec<_> = (0..3).map(|_| answers.recv().unwrap()).collect();
    assert_eq!(got, [(1, Ok(())), (2, Ok(())), (3, Ok(()))]);
    assert_eq!(inner.load(0).unwrap().last_event, 3);

    assert_eq!(handle.commit(step(4)), Err(StoreError::Closed));
    assert_eq!(handle.flush(), Err(StoreError::Closed));
    handle.submit(step(5), move |result| tx.send((5, result)).unwrap());
    assert_eq!(answers.recv().unwrap(), (5, Err(StoreError::Closed)));
    let (ptx, pruned) = mpsc::channel();
    let all = Prune {
        events_before: 0,
        messages_before: 0,
        sessions_before: 0,
    };
    handle.prune(all, move |result| ptx.send(result).unwrap());
    assert_eq!(pruned.recv().unwrap(), Err(StoreError::Closed));
}

#[test]
fn pruning_has_its_place_in_the_order() {
    let store = MemoryStore::new();
    let writer = Writer::spawn(store.clone()).unwrap();
    let everything = Prune {
        events_before: i64::MAX,
        messages_before: i64::MAX,
        sessions_before: i64::MAX,
    };
    writer.submit(step(1), |_| {});
    let (tx, pruned) = mpsc::channel();
    writer.prune(everything, move |result| tx.send(result).unwrap());
    writer.submit(step(2), |_| {});
    writer.flush().unwrap();
    assert_eq!(pruned.recv().unwrap().unwrap().events, 1);
    assert_eq!(store.events(None, 0, 9).unwrap(), [event(2, "s")]);
}

#[test]
fn many_threads_on_a_real_database_lose_nothing() {
    const THREADS: i64 = 8;
    const EACH: i64 = 100;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sm.db");
    let store = SqliteStore::open(&path, &OpenOptions::new("t"))
        .unwrap()
        .store;
    let reader = store.reader().unwrap();
    let writer = Writer::spawn(store).unwrap();
    let answered = Arc::new(AtomicUsize::new(0));

    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let handle = writer.handle();
            let answered = answered.clone();
            scope.spawn(move || {
                let id = format!("s{thread}");
                for n in 1..=EACH {
                    let commit = Commit {
                        sessions: vec![session(&id, n)],
                        events: vec![event(thread * EACH + n, &id)],
                        ..Commit::default()
                    };
                    if n % 10 == 0 {
                        handle.commit(commit).unwrap();
                        answered.fetch_add(1, Ordering::SeqCst);
                    } else {
                        let answered = answered.clone();
                        handle.submit(commit, move |result| {
                            result.unwrap();
                            answered.fetch_add(1, Ordering::SeqCst);
                        });
                    }
                }
            });
        }
        // Meanwhile the reader never sees half a commit: a session's state and its last event agree.
        for _ in 0..20 {
            for row in reader.load(0).unwrap().sessions {
                let last = reader.last_events(Some(&row.id), 1).unwrap();
                let thread: i64 = row.id[1..].parse().unwrap();
                assert!(last[0].seq - thread * EACH >= row.changed_at);
            }
        }
    });
    writer.flush().unwrap();
    assert_eq!(answered.load(Ordering::SeqCst) as i64, THREADS * EACH);
    writer.stop();
    drop(reader);

    let loaded = SqliteStore::open(&path, &OpenOptions::new("t")).unwrap();
    let sessions: Vec<_> = (0..THREADS)
        .map(|t| session(&format!("s{t}"), EACH))
        .collect();
    assert_eq!(loaded.loaded.sessions, sessions);
    let events = loaded.store.events(None, 0, usize::MAX).unwrap();
    assert_eq!(events.len() as i64, THREADS * EACH);
}
