//! Every key, in every place that has keys.

use sm_core::confirm_key::{ALONE, Arrival, QUIET};

use super::{app, choose, day, later, named, open, types, types_fast};
use crate::commands::watch::app::{App, Deed, Focus, Mode, Page, Part, Tab, Wish};
use crate::commands::watch::group::Grouping;
use crate::commands::watch::input::{Input, Key};
use crate::commands::watch::list::Sort;

fn name(app: &App) -> &str {
    app.session().map_or("", |session| session.name.as_str())
}

fn fetch(part: Part, name: &str) -> Wish {
    Wish::Fetch(part, format!("id-{name}"))
}

/// The list is: docs, old-one, importer, which need a person; then api, tests.
#[test]
fn choosing() {
    for (typed, chosen) in [
        ("", "docs"),
        ("j", "old-one"),
        ("\x1b[B\x1b[B", "importer"),
        ("jjk", "old-one"),
        ("jj\x1b[A", "old-one"),
        ("k", "docs"),
        ("\x1b[F", "tests"),
        ("\x1b[F\x1b[A", "api"),
        ("\x1b[F\x1b[H", "docs"),
        ("\x1b[6~", "tests"),
        ("\x1b[6~\x1b[5~", "docs"),
        ("jjjjjjjjjjk", "api"),
    ] {
        let mut app = app(80, 24, day());
        assert!(types(&mut app, typed).is_empty(), "{typed:?}");
        assert_eq!(name(&app), chosen, "{typed:?}");
    }
}

#[test]
fn what_is_chosen_stays_chosen() {
    let mut app = app(80, 24, day());
    choose(&mut app, "tests");
    types(&mut app, "s");
    assert_eq!((app.sort, name(&app)), (Sort::State, "tests"));
    types(&mut app, "ss");
    assert_eq!((app.sort, name(&app)), (Sort::Activity, "tests"));
    types(&mut app, "s");
    assert_eq!(app.sort, Sort::Name);
    types(&mut app, "/te");
    assert_eq!((app.filter.as_str(), name(&app)), ("te", "tests"));
    // what does not match cannot stay
    types(&mut app, "\x7f\x7fimport\r");
    assert_eq!((name(&app), &app.focus), ("importer", &Focus::Keys));
    types(&mut app, "\x1b");
    assert_eq!((app.filter.as_str(), name(&app)), ("", "importer"));
    types(&mut app, "/x\x1b");
    assert_eq!(app.filter, "");
    types(&mut app, "/\x1b[B\r");
    assert_eq!(name(&app), "api");
}

#[test]
fn grouping() {
    let mut app = app(80, 24, day());
    choose(&mut app, "tests");
    for grouping in [Grouping::Family, Grouping::Directory, Grouping::None] {
        assert_eq!(types(&mut app, "g"), []);
        assert_eq!((app.grouping, name(&app)), (grouping, "tests"));
    }
}

#[test]
fn a_session_is_opened_read_and_left() {
    let mut app = app(80, 24, day());
    choose(&mut app, "api");
    let opened = types(&mut app, "\r");
    assert_eq!(
        opened,
        [fetch(Part::Output, "api"), fetch(Part::Context, "api")]
    );
    assert_eq!(app.page, Page::Detail);
    // asked once
    assert_eq!(types(&mut app, "1"), []);
    for (typed, tab, part) in [
        ("\t", Tab::Timeline, Some(Part::Events)),
        ("3", Tab::Messages, Some(Part::Messages)),
        ("\x1b[C", Tab::Handoffs, Some(Part::Handoffs)),
        ("\t", Tab::Output, None),
        ("\x1b[Z", Tab::Handoffs, None),
        ("\x1b[D", Tab::Messages, None),
        ("4", Tab::Handoffs, None),
        ("2", Tab::Timeline, None),
    ] {
        let wished = types(&mut app, typed);
        let expected: Vec<Wish> = part.map(|part| fetch(part, "api")).into_iter().collect();
        assert_eq!((app.tab, wished), (tab, expected), "{typed:?}");
    }
    types(&mut app, "\x1b");
    assert_eq!(app.page, Page::List);
    // the same tab of another one
    assert_eq!(types(&mut app, "j"), []);
    assert_eq!(
        types(&mut app, "\t"),
        [fetch(Part::Events, "tests"), fetch(Part::Context, "tests")]
    );
    types(&mut app, "\x7f");
    assert_eq!(app.page, Page::List);
}

#[test]
fn a_session_is_scrolled() {
    let mut app = open(80, 24);
    types(&mut app, "\r");
    for (typed, scroll) in [
        ("k", 1),
        ("\x1b[A", 2),
        ("j", 1),
        ("\x1b[5~", 17),
        ("\x1b[6~", 1),
        ("\x1b[B\x1b[B", 0),
        ("\x1b[H", 80),
        ("k", 80),
        ("\x1b[F", 0),
    ] {
        types(&mut app, typed);
        assert_eq!(app.scroll, scroll, "{typed:?}");
    }
    // beside the list the arrows choose, and pages are read
    let mut wide = open(200, 60);
    types(&mut wide, "\x1b[5~");
    assert_eq!((wide.scroll, name(&wide)), (52, "api"));
    types(&mut wide, "j");
    assert_eq!((wide.scroll, name(&wide)), (0, "tests"));
}

#[test]
fn attaching() {
    let mut app = app(80, 24, day());
    choose(&mut app, "api");
    let attach = [Wish::Attach("id-api".into())];
    assert_eq!(types(&mut app, "a"), attach);
    types(&mut app, "\r");
    assert_eq!(
        types(&mut app, "\r"),
        attach,
        "in the session Enter attaches"
    );
    assert_eq!(types(&mut open(200, 60), "\r"), attach);
}

#[test]
fn a_message_is_written_and_sent() {
    let mut app = app(80, 24, day());
    choose(&mut app, "api");
    for (typed, mode) in [
        ("m", Mode::Sequential),
        ("\t", Mode::Important),
        ("\t", Mode::Urgent),
    ] {
        types(&mut app, typed);
        let is = matches!(&app.focus, Focus::Message { mode: now, .. } if *now == mode);
        assert!(is, "{:?}", app.focus);
    }
    // keys are text here
    let wishes = types(&mut app, "Kq?y\r");
    let send = Wish::Send {
        session: "id-api".into(),
        text: "Kq?y".into(),
        mode: Mode::Urgent,
    };
    assert_eq!(
        wishes,
        [
            send,
            fetch(Part::Messages, "api"),
            fetch(Part::Context, "api")
        ]
    );
    assert_eq!((app.tab, &app.focus), (Tab::Messages, &Focus::Keys));
    assert_eq!(types(&mut app, "mno\x1b"), []);
    assert_eq!(types(&mut app, "m  \r"), []);
    assert_eq!(app.focus, Focus::Keys);
    // it goes to who it was begun for, whatever becomes of the list meanwhile
    types(&mut app, "mhello");
    app.chosen = Some("id-docs".into());
    let wishes = types(&mut app, "\r");
    assert!(matches!(&wishes[0], Wish::Send { session, .. } if session == "id-api"));
}

#[test]
fn what_cannot_be_undone_is_asked_first() {
    let mut handing = named("api", "working");
    handing.handoff = Some(crate::handoff::tests::open("scheduled"));
    for (session, key, deed) in [
        (named("api", "working"), "K", Deed::Kill),
        (named("api", "idle"), "h", Deed::HandOff),
        (handing, "h", Deed::CancelHandoff),
        (named("api", "lost"), "r", Deed::Restore),
        (named("api", "exited"), "r", Deed::Restore),
    ] {
        let done = [Wish::Do(deed, "id-api".into())];
        for (answer, wishes) in [
            ("y", &done[..]),
            ("n", &[]),
            ("q", &[]),
            ("\x1b", &[]),
            ("\r", &[]),
            ("Y", &[]),
            ("K", &[]),
            ("\x1b[200~y\x1b[201~", &[]),
            // another key first is a text, and that is no
            (" jy", &[]),
        ] {
            let mut app = app(80, 24, vec![session.clone()]);
            assert_eq!(types(&mut app, key), []);
            assert!(matches!(&app.focus, Focus::Confirm { deed: now, on, .. }
                if *now == deed && on.name == "api"));
            assert_eq!(types(&mut app, answer), wishes, "{deed:?} {answer:?}");
        }
    }
    // the one that was named, not the one that is chosen by then
    let mut app = app(80, 24, day());
    choose(&mut app, "api");
    types(&mut app, "K");
    app.chosen = Some("id-docs".into());
    assert_eq!(
        types(&mut app, "y"),
        [Wish::Do(Deed::Kill, "id-api".into())]
    );
}

#[test]
fn a_typed_sentence_does_nothing_that_is_asked_about() {
    for text in [
        "Keep your hands off, quit",
        "Ky",
        "Kyy",
        "Kyes",
        "Kay",
        "handy",
        "hy",
        "hyarn instead",
    ] {
        let mut app = app(80, 24, vec![named("api", "idle")]);
        let wishes = types_fast(&mut app, text);
        assert!(
            !wishes
                .iter()
                .any(|wish| matches!(wish, Wish::Do(..) | Wish::Quit)),
            "{text}: {wishes:?}"
        );
        assert!(app.note.is_some(), "{text}");
    }
    // Enter behind it says that this is all.
    let mut done = app(80, 24, vec![named("api", "idle")]);
    types(&mut done, "K");
    assert_eq!(
        types_fast(&mut done, "y\r"),
        [Wish::Do(Deed::Kill, "id-api".into())]
    );
    // One that was read with other keys ends the line of a paste.
    for text in ["y\r", "y\rmore", "y\r\r"] {
        let mut app = app(80, 24, vec![named("api", "idle")]);
        types(&mut app, "K");
        let now = later();
        app.drawn(now);
        let now = now + QUIET;
        let keys = Input::default().feed(text.as_bytes());
        let arrival = Arrival::of_read(keys.len());
        let mut wishes = Vec::new();
        for key in keys {
            wishes.extend(app.key_of_read(key, arrival, now));
        }
        wishes.extend(app.settle(now + ALONE));
        assert_eq!(wishes, [], "{text:?}");
        assert!(app.note.is_some(), "{text:?}");
    }
    // A letter waits for its moment; then it counts.
    let mut app = app(80, 24, vec![named("api", "idle")]);
    types(&mut app, "K");
    let start = later();
    app.drawn(start);
    assert_eq!(app.key(Key::Char('y'), start + QUIET), []);
    assert_eq!(app.settle(start + QUIET), []);
    assert_eq!(
        app.settle(start + QUIET + ALONE),
        [Wish::Do(Deed::Kill, "id-api".into())]
    );
}

#[test]
fn one_that_lives_is_not_restored() {
    let mut app = app(80, 24, vec![named("api", "working")]);
    assert_eq!(types(&mut app, "r"), []);
    assert_eq!(app.focus, Focus::Keys);
    assert!(app.note.is_some());
    types(&mut app, "\x1b");
    assert!(app.note.is_none());
}

#[test]
fn leaving_from_everywhere() {
    for before in ["", "\r", "m", "/", "K", "?", "mtext"] {
        let mut app = app(80, 24, day());
        types(&mut app, before);
        assert_eq!(types(&mut app, "\x03"), [Wish::Quit], "{before:?}");
        assert_eq!(types(&mut app, "\x1a"), [Wish::Suspend], "{before:?}");
        assert_eq!(types(&mut app, "\x0c"), [Wish::Redraw], "{before:?}");
    }
    let mut app = app(80, 24, day());
    assert_eq!(types(&mut app, "q"), [Wish::Quit]);
    types(&mut app, "?");
    assert_eq!(app.focus, Focus::Help);
    assert_eq!(types(&mut app, "q"), [], "it only leaves the help");
    assert_eq!(types(&mut app, "\rq").last(), Some(&Wish::Quit));
}

#[test]
fn with_nobody_there_nothing_is_done() {
    for key in "jksg/?amhKr1234\r\t\x1b\x7f".chars() {
        let mut app = app(80, 24, vec![]);
        assert_eq!(types(&mut app, &key.to_string()), [], "{key:?}");
    }
    let mut app = app(80, 24, day());
    assert_eq!(
        app.key(Key::Paste("K\ny\nq".into()), later()),
        [],
        "a paste is no command"
    );
    assert_eq!(app.focus, Focus::Keys);
}
