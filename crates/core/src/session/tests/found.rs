//! What the simulation found, each as the shortest example: deliveries.

use super::*;

#[test]
fn a_deadline_moves_while_an_expired_message_is_looked_at() {
    let mut b = Bench::idle();
    let mut m = message("m1", "hello");
    m.expires_at = Some(b.now.plus(50));
    b.on(Event::Send(m)); // being checked
    b.wait(200);
    let deadline = b.session.next_deadline().expect("a deadline");
    assert!(deadline > b.now, "{deadline:?} at {:?}", b.now);
    b.evidence(screen(Composer::Draft, Activity::Idle));
    assert_eq!(b.receipt("m1"), MessageState::Expired);
}

#[test]
fn a_message_that_comes_too_late_expires_at_once() {
    let mut b = Bench::idle();
    let mut m = message("m1", "hello");
    m.expires_at = Some(Timestamp(5));
    b.on(Event::Send(m));
    assert_eq!(b.receipt("m1"), MessageState::Expired);
}

#[test]
fn what_the_agent_had_when_it_ended_is_not_open_for_ever() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.accepts("hello");
    b.exits(1, 0);
    assert_eq!(b.receipt("m1").word(), "consumed");
    assert!(b.session.queue().is_empty());
}

#[test]
fn where_no_record_can_be_read_a_text_that_is_gone_is_not_given_again() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    let unread = || Evidence {
        transcript_read: false,
        ..screen(Composer::Empty, Activity::Idle)
    };
    b.ends_unknown("m1", unread);
}

#[test]
fn enter_is_not_pressed_on_what_was_seen_long_ago() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    b.now = b.now.plus(2_000);
    let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert!(keys(&outcome).is_empty());
    let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn a_screen_that_shows_work_is_not_believed_for_ever_against_the_agents_own_status() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    // a row that a killed agent has left on the terminal
    let mut stale = screen(Composer::Ours, Activity::Busy);
    stale.status = Some(status("c1", Activity::Idle, b.now));
    let outcome = b.evidence(stale.clone());
    assert!(keys(&outcome).is_empty(), "its status may lag");
    let mut pressed = Vec::new();
    for _ in 0..20 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            pressed.extend(keys(&b.evidence(stale.clone())));
        }
        if !pressed.is_empty() {
            break;
        }
    }
    assert_eq!(pressed, [Key::Enter]);
}

#[test]
fn a_screen_that_is_still_being_drawn_is_looked_at_again_in_a_few_frames() {
    for (composer, activity) in [
        (Composer::Empty, Activity::Busy), // the end of the last turn is not drawn yet
        (Composer::Ours, Activity::Busy),
        (Composer::Hidden, Activity::Unknown), // in the middle of it
        (Composer::Empty, Activity::Idle),     // the paste is not
    ] {
        let mut b = Bench::idle();
        b.send("m1", "hello");
        b.evidence(screen(Composer::Empty, Activity::Idle));
        b.was_pasted(1);
        let mut drawn = screen(composer.clone(), activity.clone());
        drawn.status = Some(status("c1", Activity::Idle, b.now));
        let (pasted, mut looks) = (b.now, 0);
        while b.now.since(pasted) < 60_000 {
            let outcome = b.evidence(drawn.clone());
            looks += 1;
            let late = b.session.flight_at.map(|at| at.since(b.now));
            if b.now.since(pasted) < 100 {
                assert!(keys(&outcome).is_empty(), "{composer:?} {activity:?}");
                assert!(late.is_some_and(|late| late <= 35), "{late:?}");
            }
            if b.session.flight_at.is_none() || !keys(&outcome).is_empty() {
                break;
            }
            while b.session.probe.is_none() {
                b.now = b.session.flight_at.unwrap_or(b.now).plus(-10);
                b.on(Event::Tick);
            }
        }
        assert!(looks < 60, "{looks} looks: nobody is kept busy");
    }
}

#[test]
fn what_was_entered_is_not_given_again_where_the_conversation_may_have_changed_unheard() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.now = b.now.plus(3_000);
    b.paste();
    b.ends_unknown("m1", || without_status(Composer::Empty, Activity::Idle));
}

#[test]
fn an_urgent_message_that_cannot_interrupt_is_not_looked_at_without_end() {
    let mut b = Bench::working();
    let mut m = message("m1", "stop that");
    m.mode = Mode::Urgent;
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Hidden, Activity::Busy));
    assert!(
        !outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Probe { .. })),
        "looked again at once"
    );
    assert!(b.session.next_deadline().is_some());
}

#[test]
fn a_delivery_of_a_lost_session_goes_on_after_it_was_restored() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.on(Event::TerminalGone { launch: 1 });
    b.on(Event::LaunchAsked { fresh: false });
    b.started(2);
    b.begins(ContextSource::Resume);
    assert_eq!(b.state(), "idle");
    let deadline = b.session.next_deadline().expect("somebody looks");
    assert!(deadline.since(b.now) <= 10_000, "{deadline:?}");
}

#[test]
fn a_text_the_mailbox_has_taken_is_not_given_again_because_of_a_clear() {
    let mut b = Bench::idle();
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    b.send("m1", "hello");
    let outcome = b.evidence(screen(Composer::Draft, Activity::Idle));
    let flight = outcome.effects.iter().find_map(|e| match e {
        Effect::Mail { flight, .. } => Some(*flight),
        _ => None,
    });
    b.on(Event::Mailed {
        flight: flight.unwrap(),
        waiter: WaiterId(3),
        taken: true,
    });
    let clear = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(clear));
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::Mailbox,
            why: None
        }
    );
    b.accepts("<task-notification>hello");
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn a_text_behind_a_dialog_is_looked_at_rarely_and_at_once_when_things_move() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    let waiting = Activity::Waiting(PersonNeed::Permission("Bash".into()));
    b.hook(Signal::PersonNeeded {
        need: PersonNeed::Permission("Bash".into()),
        call: None,
    });
    let mut looks = 0;
    for _ in 0..600 {
        b.wait(990);
        if b.session.probe.is_some() {
            looks += 1;
            b.evidence(screen(Composer::Hidden, waiting.clone()));
        }
    }
    assert!(looks < 250, "{looks} looks in ten minutes");
    b.stops();
    let deadline = b.session.next_deadline().expect("somebody looks");
    assert!(deadline.since(b.now) < 100, "{deadline:?}");
}

#[test]
fn a_text_that_left_the_composer_may_be_in_the_agents_hands_until_it_rests() {
    let mut b = Bench::working();
    let mut m = message("m1", "hello");
    m.mode = Mode::Urgent;
    b.stops();
    b.on(Event::Send(m));
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.was_pasted(1);
    b.accepts("a task has ended"); // a turn of its own begins; a person presses Enter: the agent queues our text
    b.now = b.now.plus(20_000);
    b.stops();
    for _ in 0..3 {
        b.wait(200);
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Empty, Activity::Idle));
        }
    }
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::Paste,
            why: None
        }
    );
}

#[test]
fn one_look_is_not_enough_to_call_a_text_lost() {
    // the record is read before the screen: between the two the text may go from one to the other
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.wait(5_000);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::Paste,
            why: None
        }
    );
    b.on(user_text("hello", b.now));
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn the_end_of_an_earlier_terminal_is_not_that_of_the_present_one() {
    let mut b = Bench::idle();
    b.on(Event::TerminalGone { launch: 1 });
    assert_eq!(b.state(), "lost");
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::TerminalGone { launch: 1 });
    assert_eq!(b.state(), "starting", "told twice, the second time late");
    b.on(Event::TerminalGone { launch: 2 });
    assert_eq!(b.state(), "lost");
}

#[test]
fn a_conversation_that_cannot_be_resumed_is_followed_by_a_new_generation() {
    let mut b = Bench::idle();
    b.on(Event::TerminalGone { launch: 1 });
    b.on(Event::LaunchAsked { fresh: false });
    assert_eq!(
        b.session.record().generation.0,
        1,
        "the same one, it was hoped"
    );
    b.on(Event::NotResumed { launch: 1 });
    assert_eq!(b.session.record().generation.0, 1, "of another launch");
    b.on(Event::NotResumed { launch: 2 });
    let record = b.session.record();
    assert_eq!((record.generation.0, &record.conversation), (2, &None));
    let call = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Startup,
            transcript: None,
        },
    );
    b.on(Event::Hook(call));
    let record = b.session.record();
    assert_eq!(record.generation.0, 2, "it only gets its name");
    assert_eq!(record.conversation, Some(conversation("c2")));
    let late = b.call("c1", Signal::Working);
    b.on(Event::Hook(late));
    assert_eq!(b.state(), "idle", "the old one is past");
}

/// A stamp from a clock that is ahead must not make everything after it late.
#[test]
fn one_hook_from_the_future_makes_no_other_late() {
    let mut b = Bench::working();
    let current = b.session.record().conversation.clone().unwrap();
    let mut ahead = b.call(current.as_str(), Signal::ToolsFinished);
    ahead.at = ahead.at.plus(7 * 3_600_000);
    b.on(Event::Hook(ahead));
    b.stops();
    assert_eq!(b.session.record().state, State::Idle, "the real one counts");
    // nor a clock that was set back since
    b.now = Timestamp(b.now.0 - 3_600_000);
    b.accepts("go on");
    assert_eq!(b.session.record().state, State::Working);
}

/// What anybody of this user can say in a session's name is written down, and nothing more.
#[test]
fn a_hook_that_nothing_proves_changes_nothing() {
    let mut b = Bench::working();
    let current = b.session.record().conversation.clone().unwrap();
    let before = b.session.record().clone();
    for signal in [
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
        Signal::ContextEnded {
            reason: EndReason::Other,
        },
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: Some("/forged".into()),
        },
    ] {
        for from in [current.as_str(), "another"] {
            let mut call = b.call(from, signal.clone());
            call.origin = Origin::Unproven;
            b.on(Event::Hook(call));
        }
    }
    let after = b.session.record();
    assert_eq!(
        (
            after.state.clone(),
            after.generation,
            after.conversation.clone()
        ),
        (before.state, before.generation, before.conversation)
    );
    assert_eq!(after.last_signal, before.last_signal);
    assert_eq!(after.transcript, before.transcript);
}
