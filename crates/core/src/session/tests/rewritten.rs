//! Agents and terminals that make something else of a text than was given: exactly once does not
//! rest on the same bytes, and nobody waits for ever behind what nobody recognises.

use super::*;

#[test]
fn a_prompt_of_which_the_agent_stripped_characters_is_ours() {
    for (given, taken, told) in [
        (
            "⚠\u{fe0f} ab\u{e0041}cd",
            "⚠ abcd",
            "2 invisible characters",
        ),
        (
            "ab\u{34f}cd",
            "abcd",
            "1 invisible character of it (U+034F)",
        ),
        ("see \u{e000} there", "see there", "U+E000"),
        ("e\u{301}te\u{301}", "été", "normalised"),
    ] {
        let mut b = Bench::idle();
        b.send("m1", given);
        b.paste();
        b.accepts(taken);
        let (way, proof) = (Way::Paste, Proof::Hook);
        assert_eq!(b.receipt("m1"), MessageState::Submitted { way, proof });
        let reason = b.session.message(&MessageId::new("m1").unwrap()).unwrap();
        let reason = reason.meta.reason().unwrap_or_default();
        assert!(reason.contains(told), "{given:?}: {reason}");
        b.stops();
        for _ in 0..30 {
            b.wait(1_000);
            if b.session.probe.is_some() {
                let looked = b.evidence(screen(Composer::Empty, Activity::Idle));
                assert!(!pasted(&looked), "{given:?} is given again");
            }
        }
    }
}

#[test]
fn what_may_be_ours_beyond_recognition_is_not_given_again() {
    let mut b = Bench::idle();
    b.send("m1", "RUN: echo ran >> ran.txt");
    b.paste();
    b.accepts("what an agent may make of it");
    b.stops();
    b.ends_unknown("m1", || screen(Composer::Empty, Activity::Idle));
}

#[test]
fn what_still_stands_in_the_composer_was_not_what_the_agent_accepted() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.accepts("<task-notification>a task has ended");
    b.stops();
    b.wait(5_000);
    let again = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(keys(&again), [Key::Enter]);
    b.accepts("hello");
    let (way, proof) = (Way::Paste, Proof::Hook);
    assert_eq!(b.receipt("m1"), MessageState::Submitted { way, proof });
}

#[test]
fn a_composer_that_shows_something_else_is_told_and_holds_up_nobody_for_ever() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.send("m2", "and then this");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    let mut told = 0;
    for _ in 0..10 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            let looked = b.evidence(screen(Composer::Draft, Activity::Idle));
            assert_eq!(keys(&looked), [], "nobody knows what it would enter");
            told += looked
                .effects
                .iter()
                .filter(|e| matches!(e, Effect::Notify(_)))
                .count();
        }
    }
    let (way, why) = (Way::Paste, Some(Hold::NotShown));
    assert_eq!(b.receipt("m1"), MessageState::Written { way, why });
    assert_eq!(told, 1);
    b.ends_unknown("m1", || screen(Composer::Draft, Activity::Idle));
    assert_eq!(b.receipt("m2"), MessageState::Held { why: Hold::Draft });
    b.wait(20_000);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.wait(10);
    assert!(b.session.record().flight.is_some(), "the next one goes on");
}

#[test]
fn a_screen_that_never_shows_the_composer_again_is_told() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    for _ in 0..30 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Hidden, Activity::Unknown));
        }
    }
    let (way, why) = (Way::Paste, Some(Hold::UnknownScreen));
    assert_eq!(b.receipt("m1"), MessageState::Written { way, why });
}

/// Idle by its hook, and nothing that can be seen of it says so.
fn unproven(composer: Composer) -> Evidence {
    let mut seen = screen(composer, Activity::Unknown);
    seen.status = None;
    seen
}

fn told(outcome: &Outcome) -> usize {
    let notice = |e: &&Effect| matches!(e, Effect::Notify(_));
    outcome.effects.iter().filter(notice).count()
}

#[test]
fn an_agent_that_never_proves_idle_is_told_and_holds_up_nobody_for_ever() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.send("m2", "and then this");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    let mut notices = 0;
    for _ in 0..12 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            notices += told(&b.evidence(unproven(Composer::Empty)));
        }
    }
    let (way, why) = (Way::Paste, Some(Hold::UnknownScreen));
    assert_eq!(b.receipt("m1"), MessageState::Written { way, why });
    assert_eq!(notices, 1);
    b.ends_unknown("m1", || unproven(Composer::Empty));
    b.wait(20_000);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(b.session.record().flight.is_some(), "the next one goes on");
}

#[test]
fn what_the_mailbox_gave_to_an_agent_that_never_proves_idle_is_not_waited_for_for_ever() {
    let mut b = Bench::idle();
    let waiter = WaiterId(3);
    b.hook(Signal::MailboxOpen { waiter });
    b.send("m1", "hello");
    b.evidence(screen(Composer::Draft, Activity::Idle));
    let flight = b.session.record().flight.as_ref().unwrap().no;
    b.on(Event::Mailed {
        flight,
        waiter,
        taken: true,
    });
    let mut notices = 0;
    for _ in 0..20 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            notices += told(&b.evidence(unproven(Composer::Empty)));
        }
    }
    let (way, why) = (Way::Mailbox, Some(Hold::UnknownScreen));
    assert_eq!(b.receipt("m1"), MessageState::Written { way, why });
    assert_eq!(notices, 1);
    b.ends_unknown("m1", || unproven(Composer::Empty));
}

#[test]
fn a_first_prompt_behind_a_screen_that_hides_its_composer_is_not_waited_for_for_ever() {
    let mut b = Bench::new();
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    b.begins(ContextSource::Startup);
    for _ in 0..20 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Hidden, Activity::Idle));
        }
    }
    let (way, why) = (Way::LaunchArgument, Some(Hold::UnknownScreen));
    assert_eq!(b.receipt("m1"), MessageState::Written { way, why });
    b.ends_unknown("m1", || screen(Composer::Hidden, Activity::Idle));
}

/// Given on the launch line, or through the mailbox: neither is entered by us.
fn given_without_enter(text: &str) -> [(Way, Bench); 2] {
    let mut launched = Bench::new();
    launched.send("m1", text);
    launched.on(Event::LaunchAsked { fresh: false });
    launched.started(1);
    launched.begins(ContextSource::Startup);
    let mut mailed = Bench::idle();
    let waiter = WaiterId(3);
    mailed.hook(Signal::MailboxOpen { waiter });
    mailed.send("m1", text);
    mailed.evidence(screen(Composer::Draft, Activity::Idle));
    let flight = mailed.session.record().flight.as_ref().unwrap().no;
    mailed.on(Event::Mailed {
        flight,
        waiter,
        taken: true,
    });
    [(Way::LaunchArgument, launched), (Way::Mailbox, mailed)]
}

#[test]
fn a_prompt_without_our_enter_may_be_stripped_as_well() {
    for (way, mut b) in given_without_enter("see \u{e000}there \u{378}now\u{fe0f}") {
        b.accepts(match way {
            Way::Mailbox => "<task-notification>see there now</task-notification>",
            _ => "see there now",
        });
        let proof = Proof::Hook;
        assert_eq!(b.receipt("m1"), MessageState::Submitted { way, proof });
        let message = b.session.message(&MessageId::new("m1").unwrap()).unwrap();
        let reason = message.meta.reason().unwrap_or_default();
        assert!(reason.contains("U+E000"), "{way:?}: {reason}");
        // its record has it as it was taken
        b.on(Event::Facts(vec![Fact::UserText {
            text: "see there now".into(),
            came: Came::Prompt,
            at: Some(b.now.plus(5)),
        }]));
        assert!(b.session.record().unrecorded.is_empty(), "{way:?}");
        b.stops();
        for _ in 0..30 {
            b.wait(1_000);
            if b.session.probe.is_some() {
                let looked = b.evidence(screen(Composer::Empty, Activity::Idle));
                assert!(!pasted(&looked), "{way:?} is given again");
            }
        }
    }
}

#[test]
fn what_may_be_ours_without_our_enter_is_not_given_again() {
    for (_, mut b) in given_without_enter("RUN: echo ran >> ran.txt") {
        b.accepts("what an agent may make of it");
        b.stops();
        b.ends_unknown("m1", || screen(Composer::Empty, Activity::Idle));
    }
}

#[test]
fn a_message_that_nobody_can_read_fails_at_once_and_blocks_nobody() {
    for text in ["\u{1}\u{1b}\u{7}", "\u{200b}\u{feff}", " \u{fe0f}\n"] {
        let mut b = Bench::idle();
        b.send("m1", text);
        let MessageState::Failed { reason } = b.receipt("m1") else {
            panic!("{text:?}: {:?}", b.receipt("m1"))
        };
        assert!(reason.contains("nothing in it to be read"), "{reason}");
        b.send("m2", "hello");
        assert_eq!(keys(&b.paste()), [Key::Enter]);
    }
}

#[test]
fn a_command_for_a_shell_that_a_person_asked_for_is_entered_and_not_run_twice() {
    let mut b = Bench::idle();
    let mut m = message("m1", "!touch here");
    m.raw = true;
    b.on(Event::Send(m));
    let entered = b.paste();
    assert_eq!(keys(&entered), [Key::Enter]);
    for _ in 0..5 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            let looked = b.evidence(screen(Composer::Empty, Activity::Idle));
            assert!(!pasted(&looked));
        }
    }
    let state = b.receipt("m1");
    assert!(state.reached_agent(), "{state:?}");
}

/// People see nothing of it by themselves, and its sender has to know what the model was told.
#[test]
fn what_came_through_the_mailbox_is_shown_and_its_label_is_in_the_receipt() {
    let mut b = Bench::idle();
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    b.send("m1", "hello");
    b.evidence(screen(Composer::Draft, Activity::Idle));
    let mut call = b.call(
        "c1",
        Signal::PromptAccepted {
            text: "hello".into(),
            transcript: None,
        },
    );
    call.request = Some(RequestId(9));
    let text = "hello".to_owned();
    assert_eq!(answers(&b.on(Event::Hook(call))), [Answer::Show { text }]);
    for label in ["task-notification", "[NOT USER INPUT]"] {
        b.on(Event::Facts(vec![
            Fact::Labelled {
                text: "<summary/> hello".into(),
                label: label.into(),
            },
            Fact::UserText {
                text: "hello".into(),
                came: Came::Prompt,
                at: None,
            },
            Fact::Assistant { at: None }, // it has ended, and its text was let go
        ]));
        let message = b.session.message(&MessageId::new("m1").unwrap()).unwrap();
        assert_eq!(message.meta.label.as_deref(), Some(label));
        assert!(message.meta.reason().unwrap_or_default().contains(label));
    }
    b.stops();
    b.send("m2", "pasted");
    b.paste();
    b.accepts("pasted");
    b.on(Event::Facts(vec![Fact::Labelled {
        text: "pasted".into(),
        label: "quoted elsewhere".into(),
    }]));
    let message = b.session.message(&MessageId::new("m2").unwrap()).unwrap();
    assert_eq!(message.meta.label, None);
}

/// A machine under load took so long, and was given it twice.
#[test]
fn what_the_mailbox_has_given_is_not_given_again_soon() {
    let mut b = Bench::idle();
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    b.send("m1", "hello");
    b.evidence(screen(Composer::Draft, Activity::Idle));
    let flight = b.session.record().flight.as_ref().unwrap().no;
    b.on(Event::Mailed {
        flight,
        waiter: WaiterId(3),
        taken: true,
    });
    for _ in 0..16 {
        b.wait(500);
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Empty, Activity::Idle));
        }
        let written = matches!(b.receipt("m1"), MessageState::Written { .. });
        assert!(written, "{:?}", b.receipt("m1"));
    }
}
