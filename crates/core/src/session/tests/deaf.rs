//! An agent that does not take what is typed: stopped, or hanging. What it was given waits before
//! it and arrives later; nothing more is given to it meanwhile.

use super::*;

fn deaf(composer: Composer) -> Evidence {
    Evidence {
        deaf: true,
        ..screen(composer, Activity::Idle)
    }
}

fn held(outcome: &Outcome) -> bool {
    outcome.effects.iter().any(|e| match e {
        Effect::Notify(notice) => {
            notice.kind == NoticeKind::MessageHeld && notice.text.contains("does not read")
        }
        _ => false,
    })
}

#[test]
fn what_lies_unread_before_the_agent_is_not_given_again() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(pasted(&outcome));
    let flight = b.session.record().flight.clone().unwrap().no;
    b.on(Event::Pasted { flight, ok: true });
    let mut told = 0;
    for _ in 0..120 {
        b.wait(500);
        if b.session.probe.is_some() {
            let outcome = b.evidence(deaf(Composer::Empty));
            assert!(!pasted(&outcome) && keys(&outcome).is_empty());
            told += usize::from(held(&outcome));
        }
    }
    assert_eq!(told, 1);
    assert_eq!(b.receipt("m1").word(), "written");
    // it runs again, has read, and draws a moment later
    for _ in 0..10 {
        b.wait(500);
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
            assert!(!pasted(&outcome) && keys(&outcome).is_empty());
        }
    }
    b.wait(500);
    let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn an_enter_that_lies_unread_is_not_pressed_again() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    for _ in 0..60 {
        b.wait(500);
        if b.session.probe.is_some() {
            let outcome = b.evidence(deaf(Composer::Ours));
            assert!(!pasted(&outcome) && keys(&outcome).is_empty());
        }
    }
    b.hook(Signal::PromptAccepted {
        text: "hello".into(),
        transcript: None,
    });
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn nothing_is_typed_for_an_agent_that_does_not_read() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    for _ in 0..60 {
        b.wait(500);
        if b.session.probe.is_some() {
            let outcome = b.evidence(deaf(Composer::Empty));
            assert!(!pasted(&outcome) && keys(&outcome).is_empty());
        }
    }
    let why = Hold::NotReading;
    assert_eq!(b.receipt("m1"), MessageState::Held { why });
    for _ in 0..60 {
        b.wait(500);
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
            if pasted(&outcome) {
                return;
            }
        }
    }
    panic!(
        "it reads again, and is given nothing: {:?}",
        b.receipt("m1")
    );
}

#[test]
fn one_that_stands_still_in_the_middle_of_drawing_is_said_not_to_read() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    for _ in 0..20 {
        b.wait(500);
        if b.session.probe.is_some() {
            b.evidence(Evidence {
                deaf: true,
                ..screen(Composer::Hidden, Activity::Unknown)
            });
        }
    }
    let why = Hold::NotReading;
    assert_eq!(b.receipt("m1"), MessageState::Held { why });
}

#[test]
fn keys_that_are_unread_for_a_moment_hold_nothing_up() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(deaf(Composer::Empty));
    assert_eq!(b.receipt("m1").word(), "queued");
    b.wait(30);
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}
