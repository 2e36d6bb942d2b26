//! What the daemon says, and what is asked for then.

use super::{app, choose, day, event, message, named, open, types};
use crate::commands::watch::app::{App, Link, Part, Update, Wish};

fn tick(app: &mut App) -> Vec<Wish> {
    let now = app.look.now;
    app.told(Update::Tick(now))
}

fn names(app: &App) -> Vec<&str> {
    let all = app.order().iter();
    all.map(|listed| app.sessions[listed.at].name.as_str())
        .collect()
}

#[test]
fn sessions_come_change_and_go() {
    let mut app = app(80, 24, vec![]);
    assert_eq!(app.session(), None);
    app.told(Update::Session(Box::new(named("b", "idle"))));
    app.told(Update::Session(Box::new(named("a", "idle"))));
    assert_eq!(names(&app), ["a", "b"]);
    assert_eq!(app.session().unwrap().name, "b", "who was chosen stays it");
    app.told(Update::Session(Box::new(named("b", "waiting"))));
    assert_eq!(names(&app), ["b", "a"]);
    app.told(Update::Gone("id-b".into()));
    assert_eq!(app.session().unwrap().name, "a", "its neighbour");
    app.told(Update::Gone("id-a".into()));
    app.told(Update::Gone("id-a".into()));
    assert_eq!(app.session(), None);
}

#[test]
fn what_is_shown_is_asked_for_once_at_a_time() {
    let mut app = open(200, 60);
    let output = || Wish::Fetch(Part::Output, "id-api".into());
    let context = || Wish::Fetch(Part::Context, "id-api".into());
    // it works, so its terminal may show something new each time
    assert_eq!(tick(&mut app), [output()]);
    assert_eq!(tick(&mut app), []);
    for _ in 0..100 {
        let mut changed = named("api", "idle");
        changed.turn = 9;
        assert_eq!(app.told(Update::Session(Box::new(changed))), []);
    }
    assert!(app.is_restless());
    assert_eq!(tick(&mut app), [context()]);
    app.told(Update::Output("id-api".into(), "new".into()));
    assert_eq!(tick(&mut app), [output()]);
    app.told(Update::Nothing(Part::Output, "id-api".into()));
    app.told(Update::Output("id-other".into(), "not this".into()));
    assert_eq!(app.detail.output.as_deref(), Some(&["new".to_owned()][..]));
    // idle: nothing new by itself
    assert_eq!(tick(&mut app), []);
}

#[test]
fn events_are_added_in_order_and_not_without_end() {
    let mut app = open(200, 60);
    for seq in [2, 3, 3, 1, 4] {
        app.told(Update::Journal(event(seq, "more")));
    }
    let seqs =
        |app: &App| -> Vec<i64> { app.detail.events.iter().flatten().map(|e| e.seq).collect() };
    assert_eq!(seqs(&app), [1, 2, 3, 4]);
    for seq in 5..2000 {
        app.told(Update::Journal(event(seq, "more")));
    }
    assert_eq!(seqs(&app).len(), 500);
    assert_eq!(seqs(&app).last(), Some(&1999));
}

#[test]
fn a_receipt_is_followed_to_its_end() {
    let mut app = app(80, 24, day());
    choose(&mut app, "docs");
    let look = [Wish::Receipt {
        session: "id-api".into(),
        message: "m1".into(),
    }];
    app.told(Update::Sent(Box::new(message("queued"))));
    assert!(app.is_restless());
    assert_eq!(tick(&mut app), look);
    assert_eq!(tick(&mut app), [], "asked once at a time");
    app.told(Update::NoReceipt);
    assert_eq!(tick(&mut app), look);
    app.told(Update::Sent(Box::new(message("submitted"))));
    let mut late = message("queued");
    late.changed_at = "2026-03-01T11:58:00Z".into();
    app.told(Update::Sent(Box::new(late)));
    assert_eq!(
        app.sent.as_ref().unwrap().state,
        "submitted",
        "it never goes back"
    );
    app.told(Update::Sent(Box::new(message("consumed"))));
    assert_eq!(tick(&mut app), []);
    assert!(!app.is_restless());
    types(&mut app, "\x1b");
    assert!(app.sent.is_none());
}

#[test]
fn without_a_daemon_the_last_known_stays_and_nothing_is_asked() {
    let mut app = open(200, 60);
    let known = names(&app).len();
    app.told(Update::Lost("no daemon".into()));
    assert_eq!(app.link, Link::Lost("no daemon".into()));
    assert_eq!(tick(&mut app), []);
    assert_eq!(types(&mut app, "j1234"), []);
    assert_eq!(names(&app).len(), known);
    assert!(!app.is_restless());
    // it is there again: everything that is shown is asked for
    app.told(Update::Snapshot(day()));
    assert_eq!(app.link, Link::Live);
    assert_eq!(tick(&mut app).len(), 2);
}

#[test]
fn notes_say_what_was_done() {
    let mut app = app(80, 24, day());
    app.told(Update::Done("api is ended".into()));
    assert_eq!(app.note.as_ref().unwrap().1, "api is ended");
    app.told(Update::Failed("it was refused".into()));
    assert_eq!(app.note.as_ref().unwrap().1, "it was refused");
}
