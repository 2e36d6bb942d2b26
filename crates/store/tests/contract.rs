//! The contract of a store, run for each of them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{event, handoff, insert, message, outbox, session, update};
use sm_store::{
    Commit, MemoryStore, OpenOptions, Prune, Pruned, Reader, SqliteStore, Store, Which,
};

/// A store under test, with a way to look at what would be there after a crash right now.
trait Subject {
    fn store(&mut self) -> &mut dyn Store;
    fn after_crash(&self) -> Box<dyn Reader>;
}

struct Sqlite {
    dir: tempfile::TempDir,
    copies: std::cell::Cell<u32>,
    store: SqliteStore,
}

impl Sqlite {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let opened = SqliteStore::open(&dir.path().join("sm.db"), &OpenOptions::new("t")).unwrap();
        assert_eq!(opened.notices, []);
        Self {
            dir,
            copies: 0.into(),
            store: opened.store,
        }
    }
}

impl Subject for Sqlite {
    fn store(&mut self) -> &mut dyn Store {
        &mut self.store
    }

    /// The files as they are, without those of memory: what a killed process leaves.
    fn after_crash(&self) -> Box<dyn Reader> {
        let n = self.copies.get();
        self.copies.set(n + 1);
        let to = self.dir.path().join(format!("copy{n}.db"));
        for suffix in ["", "-wal"] {
            let from = self.dir.path().join(format!("sm.db{suffix}"));
            std::fs::copy(from, format!("{}{suffix}", to.display())).unwrap();
        }
        let opened = SqliteStore::open(&to, &OpenOptions::new("t")).unwrap();
        assert_eq!(opened.notices, []);
        Box::new(opened.store)
    }
}

struct Memory(MemoryStore);

impl Subject for Memory {
    fn store(&mut self) -> &mut dyn Store {
        &mut self.0
    }

    fn after_crash(&self) -> Box<dyn Reader> {
        Box::new(self.0.clone())
    }
}

macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod sqlite { $(#[test] fn $name() { super::$name(&mut super::Sqlite::new()); })* }
        mod memory {
            $(#[test] fn $name() {
                super::$name(&mut super::Memory(super::MemoryStore::new()));
            })*
        }
    };
}

contract!(
    a_new_store_is_empty,
    a_commit_comes_back_whole,
    a_session_is_replaced,
    a_repeated_commit_changes_nothing,
    an_inserted_message_is_never_rewritten,
    an_update_leaves_the_text_alone,
    an_update_of_an_unknown_message_changes_nothing,
    the_same_message_id_in_two_sessions_is_two_messages,
    an_unknown_session_has_nothing,
    loading_gives_open_messages_and_recent_final_ones,
    messages_are_the_latest_in_arrival_order,
    ten_thousand_events,
    numbers_keep_their_whole_range,
    large_texts_come_back_byte_for_byte,
    awkward_texts_come_back_byte_for_byte,
    handoffs_are_replaced_and_come_newest_first,
    the_outbox_keeps_its_order,
    commits_of_one_transaction_are_applied_in_order,
    a_removed_session_leaves_nothing_but_its_last_word,
    numbers_are_not_given_again_after_removal,
    a_reader_sees_every_commit_at_once,
    a_crash_leaves_whole_commits,
    pruning_keeps_what_is_alive,
    pruning_takes_what_was_previewed,
    pruning_can_spare_a_kind,
);

fn a_new_store_is_empty(s: &mut dyn Subject) {
    let store = s.store();
    assert_eq!(store.load(10).unwrap(), sm_store::Loaded::default());
    assert_eq!(store.last_events(None, 10).unwrap(), []);
    store.commit(&Commit::default()).unwrap();
    assert_eq!(store.load(10).unwrap(), sm_store::Loaded::default());
}

/// One of everything.
fn full_commit() -> Commit {
    Commit {
        sessions: vec![session("s1", 5)],
        messages: vec![insert(message("s1", "m1", 1, "hello"))],
        events: vec![event(1, "s1"), event(2, "s1")],
        handoffs: vec![handoff("h1", "s1", 5)],
        outbox_add: vec![outbox("o1", "s1"), outbox("o2", "s1")],
        outbox_done: vec!["o2".to_owned()],
        sessions_removed: vec![],
    }
}

fn a_commit_comes_back_whole(s: &mut dyn Subject) {
    let store = s.store();
    let commit = full_commit();
    store.commit(&commit).unwrap();

    let loaded = store.load(10).unwrap();
    assert_eq!(loaded.sessions, commit.sessions);
    assert_eq!(loaded.open_messages, [message("s1", "m1", 1, "hello")]);
    assert_eq!(loaded.recent_final, []);
    assert_eq!(loaded.outbox, [outbox("o1", "s1")]);
    assert_eq!((loaded.last_event, loaded.last_message), (2, 1));
    assert_eq!(store.events(None, 0, 10).unwrap(), commit.events);
    assert_eq!(store.outbox().unwrap(), loaded.outbox);
    assert_eq!(store.handoff("h1").unwrap(), Some(handoff("h1", "s1", 5)));
    assert!(store.size().unwrap() > 0);
}

fn a_session_is_replaced(s: &mut dyn Subject) {
    let store = s.store();
    let sessions = |row| Commit {
        sessions: vec![row],
        ..Commit::default()
    };
    store.commit(&sessions(session("s1", 1))).unwrap();
    let mut changed = session("s1", 2);
    changed.name = "renamed".to_owned();
    changed.live = false;
    changed.state = "{\"v\":2}".to_owned();
    store.commit(&sessions(changed.clone())).unwrap();
    assert_eq!(store.load(0).unwrap().sessions, [changed]);
}

fn a_repeated_commit_changes_nothing(s: &mut dyn Subject) {
    let store = s.store();
    let commit = full_commit();
    store.commit(&commit).unwrap();
    let (loaded, events) = (store.load(9).unwrap(), store.events(None, 0, 9).unwrap());
    let handoffs = store.handoffs(None, 9).unwrap();
    store.commit(&commit).unwrap();
    store.commit_all(&[commit.clone(), commit]).unwrap();
    assert_eq!(store.load(9).unwrap(), loaded);
    assert_eq!(store.events(None, 0, 9).unwrap(), events);
    assert_eq!(store.handoffs(None, 9).unwrap(), handoffs);
}

fn an_inserted_message_is_never_rewritten(s: &mut dyn Subject) {
    let store = s.store();
    let commit = |row| Commit {
        messages: vec![insert(row)],
        ..Commit::default()
    };
    store
        .commit(&commit(message("s1", "m1", 1, "first")))
        .unwrap();
    store
        .commit(&commit(message("s1", "m1", 2, "second")))
        .unwrap();
    let stored = store.message("s1", "m1").unwrap();
    assert_eq!(stored, Some(message("s1", "m1", 1, "first")));
    assert_eq!(store.messages("s1", Which::All, 9).unwrap().len(), 1);
}

fn an_update_leaves_the_text_alone(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&full_commit()).unwrap();
    let commit = Commit {
        messages: vec![update("s1", "m1", true, "{\"state\":\"consumed\"}", 9)],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
    let stored = store.message("s1", "m1").unwrap().unwrap();
    assert_eq!(stored.text, "hello");
    assert_eq!(stored.meta, "{\"state\":\"consumed\"}");
    assert_eq!(
        (stored.is_final, stored.changed_at, stored.seq),
        (true, 9, 1)
    );
}

fn an_update_of_an_unknown_message_changes_nothing(s: &mut dyn Subject) {
    let store = s.store();
    let commit = Commit {
        messages: vec![update("s1", "m9", true, "{}", 9)],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
    assert_eq!(store.message("s1", "m9").unwrap(), None);
}

fn the_same_message_id_in_two_sessions_is_two_messages(s: &mut dyn Subject) {
    let store = s.store();
    let commit = Commit {
        messages: vec![
            insert(message("fk", "m1", 1, "for fk")),
            insert(message("fk2", "m1", 2, "for fk2")),
        ],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
    for (session, text) in [("fk", "for fk"), ("fk2", "for fk2")] {
        let rows = store.messages(session, Which::All, 9).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].text, text);
    }
}

fn an_unknown_session_has_nothing(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&full_commit()).unwrap();
    assert_eq!(store.message("nobody", "m1").unwrap(), None);
    assert_eq!(store.messages("nobody", Which::All, 9).unwrap(), []);
    assert_eq!(store.events(Some("nobody"), 0, 9).unwrap(), []);
    assert_eq!(store.last_events(Some("nobody"), 9).unwrap(), []);
    assert_eq!(store.handoff("none").unwrap(), None);
    assert_eq!(store.handoffs(Some("nobody"), 9).unwrap(), []);
    let before = store.load(9).unwrap();
    let commit = Commit {
        sessions_removed: vec!["nobody".to_owned()],
        outbox_done: vec!["nothing".to_owned()],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
    assert_eq!(store.load(9).unwrap(), before);
}

fn loading_gives_open_messages_and_recent_final_ones(s: &mut dyn Subject) {
    let store = s.store();
    let mut commit = Commit {
        sessions: vec![session("b", 1), session("a", 1)],
        ..Commit::default()
    };
    for seq in 1..=10 {
        for id in ["b", "a"] {
            let mut row = message(id, &format!("m{seq}"), seq, "x");
            row.is_final = seq <= 6;
            commit.messages.push(insert(row));
        }
    }
    store.commit(&commit).unwrap();

    let loaded = store.load(2).unwrap();
    let ids = |rows: Vec<(&str, i64)>| {
        rows.iter()
            .map(|(s, n)| format!("{s}{n}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let sessions: Vec<_> = loaded.sessions.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(sessions, ["a", "b"]);
    assert_eq!(
        ids(loaded
            .open_messages
            .iter()
            .map(|m| (m.session.as_str(), m.seq))
            .collect()),
        "a7 a8 a9 a10 b7 b8 b9 b10"
    );
    assert_eq!(
        ids(loaded
            .recent_final
            .iter()
            .map(|m| (m.session.as_str(), m.seq))
            .collect()),
        "a6 a5 b6 b5"
    );
    assert!(
        loaded
            .recent_final
            .iter()
            .all(|m| m.is_final && m.meta == "{}")
    );
    assert_eq!(loaded.last_message, 10);
}

fn messages_are_the_latest_in_arrival_order(s: &mut dyn Subject) {
    let store = s.store();
    let mut commit = Commit::default();
    // Ids do not sort as they arrived.
    for (seq, id) in [(3, "a"), (1, "c"), (2, "b"), (4, "0")] {
        let mut row = message("s", id, seq, "x");
        row.is_final = seq == 3;
        commit.messages.push(insert(row));
    }
    store.commit(&commit).unwrap();
    for (which, limit, expected) in [
        (Which::All, 9, "c b a 0"),
        (Which::All, 2, "a 0"),
        (Which::All, 0, ""),
        (Which::All, usize::MAX, "c b a 0"),
        (Which::Open, 9, "c b 0"),
        (Which::Open, 2, "b 0"),
    ] {
        let rows = store.messages("s", which, limit).unwrap();
        let ids: Vec<_> = rows.iter().map(|m| m.id.as_str()).collect();
        assert_eq!(ids.join(" "), expected, "{which:?} {limit}");
    }
}

fn ten_thousand_events(s: &mut dyn Subject) {
    let store = s.store();
    for chunk in 0..10 {
        let rows = (1..=1000).map(|n| {
            let seq = chunk * 1000 + n;
            event(seq, if seq % 2 == 0 { "even" } else { "odd" })
        });
        let commit = Commit {
            events: rows.collect(),
            ..Commit::default()
        };
        store.commit(&commit).unwrap();
    }
    let seqs = |rows: Vec<sm_store::EventRow>| rows.iter().map(|e| e.seq).collect::<Vec<_>>();

    assert_eq!(store.load(0).unwrap().last_event, 10_000);
    assert_eq!(
        seqs(store.events(None, 0, usize::MAX).unwrap()).len(),
        10_000
    );
    assert_eq!(
        seqs(store.events(None, 9_998, 10).unwrap()),
        [9_999, 10_000]
    );
    assert_eq!(seqs(store.events(None, 10_000, 10).unwrap()), [0i64; 0]);
    assert_eq!(
        seqs(store.events(Some("even"), 4_000, 2).unwrap()),
        [4_002, 4_004]
    );
    assert_eq!(
        seqs(store.last_events(Some("odd"), 2).unwrap()),
        [9_997, 9_999]
    );
    assert_eq!(
        seqs(store.last_events(None, 3).unwrap()),
        [9_998, 9_999, 10_000]
    );
    let all: Vec<i64> = (1..=10_000).collect();
    let mut paged = Vec::new();
    while let page @ [_, ..] = &*seqs(
        store
            .events(None, paged.last().copied().unwrap_or(0), 777)
            .unwrap(),
    ) {
        paged.extend_from_slice(page);
    }
    assert_eq!(paged, all);
}

fn numbers_keep_their_whole_range(s: &mut dyn Subject) {
    let store = s.store();
    let mut row = event(i64::MAX, "s");
    row.turn = u64::MAX;
    row.generation = u32::MAX;
    row.at = i64::MIN;
    let commit = Commit {
        events: vec![row.clone()],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
    assert_eq!(store.last_events(None, 1).unwrap(), [row]);
}

fn large_texts_come_back_byte_for_byte(s: &mut dyn Subject) {
    let store = s.store();
    let text: String = ('a'..='z').cycle().take(5 << 20).collect();
    let commit = Commit {
        messages: vec![insert(message("s", "big", 1, &text))],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
    let change = Commit {
        messages: vec![update("s", "big", false, "{\"n\":1}", 2)],
        ..Commit::default()
    };
    store.commit(&change).unwrap();
    assert!(store.message("s", "big").unwrap().unwrap().text == text);
    assert!(store.load(1).unwrap().open_messages[0].text == text);
}

fn awkward_texts_come_back_byte_for_byte(s: &mut dyn Subject) {
    let store = s.store();
    let texts = [
        "",
        "\0",
        "a\0b",
        "'; DROP TABLE messages; --",
        "日本 \u{10ffff}",
        "\x1b[201~",
    ];
    for (seq, text) in (1i64..).zip(texts) {
        let mut row = event(seq, text);
        row.text = text.to_owned();
        let commit = Commit {
            messages: vec![insert(message(text, text, seq, text))],
            events: vec![row.clone()],
            ..Commit::default()
        };
        store.commit(&commit).unwrap();
        let stored = store.message(text, text).unwrap();
        assert_eq!(stored, Some(message(text, text, seq, text)));
        assert_eq!(store.events(Some(text), 0, 9).unwrap(), [row]);
    }
}

fn handoffs_are_replaced_and_come_newest_first(s: &mut dyn Subject) {
    let store = s.store();
    let put = |rows: Vec<sm_store::HandoffRow>| Commit {
        handoffs: rows,
        ..Commit::default()
    };
    store
        .commit(&put(vec![
            handoff("h1", "s1", 10),
            handoff("h2", "s2", 30),
            handoff("h3", "s1", 20),
        ]))
        .unwrap();
    // Two of the same moment: the later one is newer.
    store.commit(&put(vec![handoff("h0", "s1", 20)])).unwrap();
    let mut done = handoff("h1", "s1", 10);
    done.state = "done".to_owned();
    done.json = "{\"steps\":[1]}".to_owned();
    store.commit(&put(vec![done.clone()])).unwrap();
    assert_eq!(store.handoff("h1").unwrap(), Some(done));
    for (session, limit, expected) in [
        (None, 9, "h2 h0 h3 h1"),
        (None, 2, "h2 h0"),
        (None, 0, ""),
        (Some("s1"), usize::MAX, "h0 h3 h1"),
        (Some("s1"), 1, "h0"),
        (Some("s2"), 9, "h2"),
    ] {
        let rows = store.handoffs(session, limit).unwrap();
        let ids: Vec<_> = rows.iter().map(|h| h.id.as_str()).collect();
        assert_eq!(ids.join(" "), expected, "{session:?} {limit}");
    }
}

fn the_outbox_keeps_its_order(s: &mut dyn Subject) {
    let store = s.store();
    let ids = |rows: Vec<sm_store::OutboxRow>| {
        rows.into_iter().map(|o| o.id).collect::<Vec<_>>().join(" ")
    };
    let add = |id: &str, done: &str| Commit {
        outbox_add: vec![outbox(id, "s")],
        outbox_done: done.split_whitespace().map(str::to_owned).collect(),
        ..Commit::default()
    };
    for (id, done, expected) in [
        ("z", "", "z"),
        ("a", "", "z a"),
        ("m", "a", "z m"),
        ("b", "b", "z m"),
        ("c", "", "z m c"),
        ("d", "c", "z m d"),
        ("e", "", "z m d e"),
    ] {
        store.commit(&add(id, done)).unwrap();
        assert_eq!(ids(store.outbox().unwrap()), expected, "after {id}");
    }
}

fn commits_of_one_transaction_are_applied_in_order(s: &mut dyn Subject) {
    let store = s.store();
    let step = |n: i64| Commit {
        sessions: vec![session("s", n)],
        events: vec![event(n, "s")],
        ..Commit::default()
    };
    let removed = Commit {
        sessions_removed: vec!["s".to_owned()],
        ..Commit::default()
    };
    store
        .commit_all(&[step(1), step(2), removed, step(3), step(4)])
        .unwrap();
    assert_eq!(store.load(0).unwrap().sessions, [session("s", 4)]);
    assert_eq!(
        store.events(None, 0, 9).unwrap(),
        [event(3, "s"), event(4, "s")]
    );
}

fn a_removed_session_leaves_nothing_but_its_last_word(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&full_commit()).unwrap();
    let other = Commit {
        sessions: vec![session("s2", 1)],
        messages: vec![insert(message("s2", "m1", 2, "stays"))],
        events: vec![event(3, "s2")],
        handoffs: vec![handoff("h2", "s2", 1)],
        outbox_add: vec![outbox("o3", "s2")],
        ..Commit::default()
    };
    store.commit(&other).unwrap();
    let removal = Commit {
        sessions_removed: vec!["s1".to_owned()],
        events: vec![event(4, "s1")],
        ..Commit::default()
    };
    for _ in 0..2 {
        store.commit(&removal).unwrap();
        let loaded = store.load(9).unwrap();
        assert_eq!(loaded.sessions, other.sessions);
        assert_eq!(loaded.open_messages, [message("s2", "m1", 2, "stays")]);
        assert_eq!(loaded.outbox, other.outbox_add);
        assert_eq!(store.message("s1", "m1").unwrap(), None);
        assert_eq!(store.handoffs(None, 9).unwrap(), other.handoffs);
        assert_eq!(
            store.events(None, 0, 9).unwrap(),
            [event(3, "s2"), event(4, "s1")]
        );
    }
}

fn numbers_are_not_given_again_after_removal(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&full_commit()).unwrap();
    let removal = Commit {
        sessions_removed: vec!["s1".to_owned()],
        ..Commit::default()
    };
    store.commit(&removal).unwrap();
    assert_eq!(store.events(None, 0, 9).unwrap(), []);
    let loaded = store.load(9).unwrap();
    assert_eq!((loaded.last_event, loaded.last_message), (2, 1));
}

fn a_reader_sees_every_commit_at_once(s: &mut dyn Subject) {
    let store = s.store();
    let reader = store.reader().unwrap();
    for n in 1..=50 {
        let commit = Commit {
            sessions: vec![session("s", n)],
            events: vec![event(n, "s")],
            ..Commit::default()
        };
        store.commit(&commit).unwrap();
        let loaded = reader.load(0).unwrap();
        assert_eq!(loaded.sessions, [session("s", n)]);
        assert_eq!(loaded.last_event, n);
    }
    // It can be used elsewhere while the store goes on.
    let thread = std::thread::spawn(move || reader.events(Some("s"), 48, 9).unwrap());
    assert_eq!(thread.join().unwrap(), [event(49, "s"), event(50, "s")]);
}

fn a_crash_leaves_whole_commits(s: &mut dyn Subject) {
    for n in 1..=5 {
        let commit = Commit {
            sessions: vec![session("s", n)],
            messages: vec![insert(message("s", &format!("m{n}"), n, "x"))],
            events: vec![event(n, "s")],
            handoffs: vec![handoff(&format!("h{n}"), "s", n)],
            outbox_add: vec![outbox(&format!("o{n}"), "s")],
            ..Commit::default()
        };
        s.store().commit(&commit).unwrap();
        let left = s.after_crash();
        assert_eq!(left.load(9).unwrap(), s.store().load(9).unwrap());
        assert_eq!(left.load(9).unwrap().sessions, commit.sessions);
        assert_eq!(left.events(None, n - 1, 9).unwrap(), commit.events);
        assert_eq!(left.handoffs(None, 1).unwrap(), commit.handoffs);
    }
}

/// Sessions: live, ended long ago, ended with an open message, ended with an effect pending, ended
/// just now. Each with an old and a new event and an old final message.
fn aged() -> Commit {
    let mut commit = Commit::default();
    for (n, id) in (1i64..).zip(["live", "old", "owed", "pending", "recent"]) {
        let mut row = session(id, if id == "recent" { 900 } else { 100 });
        row.live = id == "live";
        commit.sessions.push(row);
        for (offset, at) in [(0, 100), (10, 900)] {
            let mut row = event(n + offset, id);
            row.at = at;
            commit.events.push(row);
        }
        commit.handoffs.push(handoff(&format!("h-{id}"), id, 100));
        let mut done = message(id, "done", n, "done");
        done.is_final = true;
        done.changed_at = 100;
        commit.messages.push(insert(done));
    }
    let mut open = message("owed", "open", 9, "open");
    open.changed_at = 100;
    commit.messages.push(insert(open));
    commit.outbox_add.push(outbox("effect", "pending"));
    commit
}

const OLD: Prune = Prune {
    events_before: 500,
    messages_before: 500,
    sessions_before: 500,
};

fn pruning_keeps_what_is_alive(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&aged()).unwrap();
    let pruned = store.prune(&OLD).unwrap();
    assert_eq!(pruned.sessions, ["old"]);

    let loaded = store.load(9).unwrap();
    let sessions: Vec<_> = loaded.sessions.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(sessions, ["live", "owed", "pending", "recent"]);
    assert_eq!(loaded.open_messages.len(), 1);
    assert_eq!(loaded.recent_final, []);
    assert_eq!(loaded.outbox, [outbox("effect", "pending")]);
    let events = store.events(None, 0, 99).unwrap();
    let left: Vec<_> = events.iter().map(|e| (e.session.as_str(), e.at)).collect();
    assert_eq!(
        left,
        [
            ("live", 900),
            ("owed", 900),
            ("pending", 900),
            ("recent", 900)
        ]
    );
    assert_eq!((loaded.last_event, loaded.last_message), (15, 9));
    // However old: the history of a session stays as long as the session.
    let handoffs = store.handoffs(None, 9).unwrap();
    let mut left: Vec<_> = handoffs.iter().map(|h| h.session.as_str()).collect();
    left.sort_unstable();
    assert_eq!(left, ["live", "owed", "pending", "recent"]);
}

fn pruning_takes_what_was_previewed(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&aged()).unwrap();
    let before = store.load(9).unwrap();
    let preview = store.prune_preview(&OLD).unwrap();
    assert_eq!(store.load(9).unwrap(), before);
    assert_eq!((preview.events, preview.messages), (6, 5));
    assert_eq!(preview.handoffs, 1);
    assert!(preview.bytes > 0);
    assert_eq!(store.prune(&OLD).unwrap(), preview);
    assert_eq!(store.prune_preview(&OLD).unwrap(), Pruned::default());
    assert_eq!(store.prune(&OLD).unwrap(), Pruned::default());
}

fn pruning_can_spare_a_kind(s: &mut dyn Subject) {
    let store = s.store();
    store.commit(&aged()).unwrap();
    let keep = Prune {
        events_before: i64::MIN,
        messages_before: i64::MIN,
        sessions_before: i64::MIN,
    };
    assert_eq!(store.prune(&keep).unwrap(), Pruned::default());
    let pruned = store
        .prune(&Prune {
            messages_before: 500,
            ..keep
        })
        .unwrap();
    assert_eq!(
        (pruned.events, pruned.messages, pruned.sessions.len()),
        (0, 5, 0)
    );
    assert_eq!(store.events(None, 0, 99).unwrap().len(), 10);
    assert_eq!(store.load(9).unwrap().sessions.len(), 5);
}
