//! An agent that is driven over its socket: what it is given in which state, and how.

use super::handoff::{asked, prepared_with};
use super::*;
use crate::effect::Handing;
use crate::handoff::{HandoffState, Trigger};
use crate::profile::Input;

fn driven(working: bool) -> Bench {
    let mut b = if working {
        Bench::working()
    } else {
        Bench::idle()
    };
    b.session.profile = Profile {
        hook_answer_limit: None,
        stop_answer: None,
        input: Input::Socket,
        reads_screen: false,
        escape_interrupts: false,
        stashes: false,
        clear: Some(Clear {
            command: "/leave",
            proof: ClearProof::AtOnce,
        }),
        ..CLAUDE
    };
    b
}

fn opens(b: &mut Bench, waiter: u64) -> Outcome {
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(waiter),
    })
}

fn given(outcome: &Outcome) -> Vec<(Handing, String)> {
    let mails = outcome.effects.iter().filter_map(|effect| match effect {
        Effect::Mail { text, handing, .. } => Some((*handing, text.clone())),
        _ => None,
    });
    mails.collect()
}

fn takes(b: &mut Bench, waiter: u64) -> Outcome {
    let flight = b.session.record().flight.as_ref().unwrap().no;
    b.on(Event::Mailed {
        flight,
        waiter: WaiterId(waiter),
        taken: true,
    })
}

fn accepts(b: &mut Bench, text: &str) -> Outcome {
    b.hook(Signal::PromptAccepted {
        text: text.into(),
        transcript: None,
    })
}

/// What its status and its record say.
fn seen(activity: Activity) -> Evidence {
    Evidence {
        alive: Some(true),
        status: Some(StatusReading {
            process: Process { pid: 7, start: 70 },
            conversation: None,
            activity,
            at: None,
        }),
        title: Activity::Unknown,
        screen: None,
        transcript_read: true,
        contexts_read: false,
        deaf: false,
    }
}

fn with_mode(id: &str, text: &str, mode: Mode) -> Event {
    Event::Send(NewMessage {
        mode,
        ..message(id, text)
    })
}

#[test]
fn an_idle_one_is_given_everything_that_waits_as_one_prompt_once_it_calls() {
    let mut b = driven(false);
    assert!(given(&b.send("m1", "one")).is_empty());
    let held = MessageState::Held {
        why: Hold::NotReached,
    };
    assert_eq!(b.receipt("m1"), held);
    b.send("m2", "two");
    let outcome = opens(&mut b, 3);
    let [(handing, text)] = &given(&outcome)[..] else {
        panic!("one text: {outcome:?}");
    };
    assert_eq!(*handing, Handing::Prompt);
    assert!(text.contains("one") && text.contains("two"));
    assert!(!pasted(&outcome) && keys(&outcome).is_empty());
    takes(&mut b, 3);
    assert_eq!(b.receipt("m1").word(), "written", "taken is not proven");
    accepts(&mut b, text);
    assert_eq!(b.receipt("m1").word(), "submitted");
    assert_eq!(b.receipt("m2").word(), "submitted");
}

#[test]
fn inside_a_turn_only_what_may_join_it_does() {
    for (mode, expected) in [
        (Mode::Sequential, None),
        (Mode::Important, Some(Handing::Steer)),
        (Mode::Urgent, Some(Handing::Interrupt)),
    ] {
        let mut b = driven(true);
        opens(&mut b, 3);
        let outcome = b.on(with_mode("m1", "hello", mode));
        let how = given(&outcome).first().map(|(handing, _)| *handing);
        assert_eq!(how, expected, "{mode:?}");
        assert!(keys(&outcome).is_empty(), "nothing is typed");
    }
}

#[test]
fn a_person_who_is_asked_is_not_disturbed() {
    let mut b = driven(true);
    opens(&mut b, 3);
    b.hook(Signal::PersonNeeded {
        need: PersonNeed::Permission("bash".into()),
        call: None,
    });
    let outcome = b.on(with_mode("m1", "hello", Mode::Urgent));
    assert!(given(&outcome).is_empty());
    assert_eq!(
        b.receipt("m1"),
        MessageState::Held {
            why: Hold::WaitingForPerson
        }
    );
    assert_eq!(given(&b.hook(Signal::Working))[0].0, Handing::Interrupt);
}

#[test]
fn what_was_not_taken_is_given_again() {
    let mut b = driven(false);
    opens(&mut b, 3);
    assert_eq!(given(&b.send("m1", "hello")).len(), 1);
    let flight = b.session.record().flight.as_ref().unwrap().no;
    b.on(Event::Mailed {
        flight,
        waiter: WaiterId(3),
        taken: false,
    });
    assert!(b.session.record().flight.is_none());
    b.wait(300);
    assert_eq!(given(&opens(&mut b, 4)).len(), 1);
}

#[test]
fn while_it_works_nothing_that_it_took_is_given_again() {
    let mut b = driven(true);
    opens(&mut b, 3);
    b.on(with_mode("m1", "steer", Mode::Important));
    takes(&mut b, 3);
    b.on(Event::Recovered {
        terminal_alive: true,
    });
    opens(&mut b, 4);
    for _ in 0..100 {
        let outcome = b.wait(200);
        assert!(given(&outcome).is_empty());
        if b.session.probe.is_some() {
            assert!(given(&b.evidence(seen(Activity::Busy))).is_empty());
        }
    }
    accepts(&mut b, "steer");
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn what_a_killed_agent_took_and_never_said_is_given_again_exactly_once() {
    let mut b = driven(false);
    opens(&mut b, 3);
    b.send("m1", "hello");
    takes(&mut b, 3);
    b.on(Event::TerminalGone { launch: 1 });
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::Started {
        launch: 2,
        process: Process { pid: 7, start: 70 },
    });
    b.begins(ContextSource::Resume);
    opens(&mut b, 4);
    // nowhere, twice: then it is given, and what it says proves it
    let mut times = Vec::new();
    for _ in 0..100 {
        let mut outcomes = vec![b.wait(200)];
        if b.session.probe.is_some() {
            outcomes.push(b.evidence(seen(Activity::Idle)));
        }
        let again: Vec<_> = outcomes.iter().flat_map(given).collect();
        if !again.is_empty() {
            takes(&mut b, 4);
            accepts(&mut b, "hello");
            opens(&mut b, 5);
            times.extend(again);
        }
    }
    assert_eq!(times, [(Handing::Prompt, "hello".to_string())]);
    assert!(b.receipt("m1").reached_agent());
}

#[test]
fn a_command_of_a_person_is_done_once_it_is_taken() {
    let mut b = driven(false);
    opens(&mut b, 3);
    let outcome = b.on(Event::Send(NewMessage {
        raw: true,
        ..message("m1", "/model x")
    }));
    assert_eq!(
        given(&outcome),
        [(Handing::Command, "/model x".to_string())]
    );
    takes(&mut b, 3);
    assert!(b.receipt("m1").reached_agent());
}

#[test]
fn what_the_agent_refuses_fails_with_its_reason_and_the_next_one_goes_on() {
    let mut b = driven(false);
    opens(&mut b, 3);
    b.on(Event::Send(NewMessage {
        raw: true,
        ..message("m1", "/model")
    }));
    b.send("m2", "hello");
    let flight = b.session.record().flight.as_ref().unwrap().no;
    let refused = |flight| Event::MailRefused {
        flight,
        waiter: WaiterId(3),
        reason: "a list is shown".into(),
    };
    b.on(refused(flight + 1));
    assert_eq!(b.receipt("m1").word(), "written", "of another delivery");
    b.on(refused(flight));
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("refused: {:?}", b.receipt("m1"));
    };
    assert!(reason.contains("a list is shown"), "{reason}");
    assert_eq!(
        given(&opens(&mut b, 4)),
        [(Handing::Prompt, "hello".to_string())]
    );
}

#[test]
fn a_handoff_leaves_the_context_and_wakes_the_successor_over_the_socket() {
    let mut b = driven(true);
    opens(&mut b, 3);
    b.on(asked("h1", Trigger::Agent));
    b.send("m1", "for the successor");
    b.stops();
    let outcome = b.on(prepared_with("h1", "the whole document"));
    let [(Handing::Command, leave)] = &given(&outcome)[..] else {
        panic!("the clear: {outcome:?}");
    };
    assert_eq!(*leave, "/leave");
    takes(&mut b, 3);
    let call = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(call));
    assert_eq!(b.session.record().generation.0, 2);
    let outcome = opens(&mut b, 4);
    let [(Handing::Prompt, wake)] = &given(&outcome)[..] else {
        panic!("the wake: {outcome:?}");
    };
    assert!(wake.ends_with("\n\nthe whole document"), "{wake}");
    takes(&mut b, 4);
    accepts(&mut b, wake);
    b.on(user_text(wake, b.now));
    opens(&mut b, 5);
    let outcome = b.stops();
    let handoff = b.session.record().handoff.clone().unwrap();
    assert_eq!(handoff.state, HandoffState::Done, "{handoff:?}");
    assert_eq!(
        given(&outcome),
        [(Handing::Prompt, "for the successor".to_string())]
    );
}
