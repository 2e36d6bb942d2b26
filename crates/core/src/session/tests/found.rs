//! What the simulation found, each as the shortest example.

use super::*;
use crate::ids::Generation;

fn status(conversation_id: &str, activity: Activity, at: Timestamp) -> StatusReading {
    StatusReading {
        process: Process { pid: 7, start: 70 },
        conversation: Some(conversation(conversation_id)),
        activity,
        at: Some(at),
    }
}

fn user_text(text: &str, at: Timestamp) -> Event {
    Event::Facts(vec![Fact::UserText {
        text: text.into(),
        came: Came::Prompt,
        at: Some(at),
    }])
}

#[test]
fn a_message_that_went_back_into_the_queue_is_looked_at_again() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.on(Event::Pasted {
        flight: 1,
        ok: false,
    });
    assert_eq!(b.receipt("m1"), MessageState::Queued);
    let deadline = b.session.next_deadline().expect("somebody looks");
    assert!(deadline.since(b.now) < 1_000, "{deadline:?}");
}

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
fn a_command_is_run_once_although_no_hook_tells_of_it() {
    let mut b = Bench::idle();
    let mut m = message("m1", "/compact");
    m.raw = true;
    b.on(Event::Send(m));
    b.paste();
    for _ in 0..20 {
        b.wait(400);
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
            assert!(!pasted(&outcome));
        }
    }
    assert_eq!(
        b.receipt("m1"),
        MessageState::Consumed {
            way: Way::Paste,
            proof: Proof::None
        }
    );
}

#[test]
fn a_command_is_not_run_again_because_a_second_enter_came_too_late() {
    let mut b = Bench::idle();
    let mut m = message("m1", "/compact");
    m.raw = true;
    b.on(Event::Send(m));
    b.paste();
    b.wait(1_600);
    b.evidence(screen(Composer::Ours, Activity::Idle)); // a second Enter is ordered
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::ScreenMoved,
    });
    for _ in 0..60 {
        b.wait(400);
        if b.session.probe.is_some() {
            assert!(!pasted(
                &b.evidence(screen(Composer::Empty, Activity::Idle))
            ));
        }
    }
    assert_eq!(b.receipt("m1").word(), "consumed");
}

#[test]
fn a_command_behind_a_dialog_still_lacks_its_enter() {
    let mut b = Bench::idle();
    let mut m = message("m1", "/compact");
    m.raw = true;
    b.on(Event::Send(m));
    b.paste();
    b.wait(1_600);
    let waiting = Activity::Waiting(PersonNeed::Permission("Bash".into()));
    b.evidence(screen(Composer::Hidden, waiting));
    assert_eq!(b.receipt("m1").word(), "written");
}

#[test]
fn a_command_sent_by_a_session_is_typed_as_it_is() {
    let mut b = Bench::idle();
    let mut m = message("m1", "/compact");
    m.raw = true;
    m.from = Sender::Session {
        id: SessionId::new("s9").unwrap(),
        name: "boss".into(),
    };
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(outcome.effects.contains(&Effect::Paste {
        flight: 1,
        pastes: vec!["/compact".into()]
    }));
}

#[test]
fn a_message_that_is_proven_after_its_turn_is_consumed_and_its_sender_told() {
    let mut b = Bench::working();
    let mut m = message("m1", "hello");
    m.notify = true;
    m.from = Sender::Session {
        id: SessionId::new("s9").unwrap(),
        name: "boss".into(),
    };
    b.on(Event::Send(m));
    b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    let text = b.session.flight_text().unwrap();
    let at = b.now.plus(5);
    b.hook(Signal::Stopping {
        again: true,
        background_tasks: 0,
    });
    b.on(user_text(&text, at)); // the record was slow
    let mut told = 0;
    for _ in 0..5 {
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
            let tells = outcome.effects.iter();
            told += tells.filter(|e| matches!(e, Effect::Tell { .. })).count();
        }
        b.wait(3_000);
    }
    assert_eq!((b.receipt("m1").word(), told), ("consumed", 1));
}

#[test]
fn what_the_agent_had_when_it_ended_is_not_open_for_ever() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.hook(Signal::PromptAccepted {
        text: "hello".into(),
        transcript: None,
    });
    b.on(Event::Exited {
        launch: 1,
        code: Some(0),
        signal: None,
    });
    assert_eq!(b.receipt("m1").word(), "consumed");
    assert!(b.session.queue().is_empty());
}

#[test]
fn a_turn_that_goes_on_with_a_message_is_counted_even_if_its_beginning_was_not_heard() {
    let mut b = Bench::idle();
    let before = b.session.record().turn;
    b.send("m1", "hello"); // being checked
    b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    assert_eq!(b.state(), "working");
    assert!(b.session.record().turn_open);
    assert!(b.session.record().turn > before);
}

#[test]
fn notices_of_turns_nobody_heard_of_are_told_apart() {
    let mut b = Bench::idle();
    let mut ids = Vec::new();
    for id in ["m1", "m2"] {
        let mut m = message(id, id);
        m.notify = true;
        m.from = Sender::Session {
            id: SessionId::new("s9").unwrap(),
            name: "boss".into(),
        };
        b.on(Event::Send(m));
        b.paste();
        let text = b.session.flight_text().unwrap();
        b.on(user_text(&text, b.now)); // all hooks of the turn are lost
        b.wait(100);
        let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
        ids.extend(outcome.effects.into_iter().filter_map(|e| match e {
            Effect::Tell { message, .. } => Some(message.id),
            _ => None,
        }));
    }
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
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
    for _ in 0..60 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            let outcome = b.evidence(unread());
            assert!(!pasted(&outcome));
        }
    }
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("{:?}", b.receipt("m1"))
    };
    assert!(reason.contains("not known whether"), "{reason}");
}

#[test]
fn a_command_at_the_head_does_not_keep_an_urgent_message_from_the_end_of_the_turn() {
    let mut b = Bench::working();
    let mut raw = message("m1", "/compact");
    raw.raw = true;
    b.on(Event::Send(raw));
    let mut urgent = message("m2", "/tmp is full");
    urgent.mode = Mode::Urgent;
    b.on(Event::Send(urgent));
    let stop = b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    assert_eq!(
        answers(&stop),
        [Answer::Continue {
            text: "/tmp is full".into()
        }]
    );
}

/// Codex-like: nothing but hooks tells which conversation it is.
fn without_status(composer: Composer, activity: Activity) -> Evidence {
    Evidence {
        status: None,
        title: activity.clone(),
        ..screen(composer, activity)
    }
}

#[test]
fn who_repeats_what_was_just_typed_is_the_sessions_own_agent() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    let mut call = b.call(
        "c2",
        Signal::PromptAccepted {
            text: "hello".into(),
            transcript: None,
        },
    );
    call.origin = Origin::Unknown;
    b.on(Event::Hook(call));
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn a_nested_agent_does_not_become_the_first_conversation() {
    let mut b = Bench::new();
    b.session.rec.conversation = None;
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::Started {
        launch: 1,
        process: Process { pid: 7, start: 70 },
    });
    b.evidence_after(1_000, without_status(Composer::Empty, Activity::Idle));
    b.now = b.now.plus(5_000);
    b.on(Event::Title(Activity::Busy));
    b.evidence(without_status(Composer::Empty, Activity::Busy));
    assert_eq!(b.state(), "working"); // all of its own hooks were lost
    let mut call = b.call(
        "nested",
        Signal::Stopping {
            again: false,
            background_tasks: 0,
        },
    );
    call.origin = Origin::Unknown;
    b.on(Event::Hook(call));
    assert_eq!(
        (b.state(), &b.session.record().conversation),
        ("working", &None)
    );
}

#[test]
fn enter_is_not_pressed_on_what_was_seen_long_ago() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.on(Event::Pasted {
        flight: 1,
        ok: true,
    });
    b.now = b.now.plus(2_000);
    let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert!(keys(&outcome).is_empty());
    let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn what_was_entered_is_not_given_again_where_the_conversation_may_have_changed_unheard() {
    let mut b = Bench::idle();
    b.session.profile.reports_start = false;
    b.send("m1", "hello");
    b.now = b.now.plus(3_000);
    b.paste();
    for _ in 0..60 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            let outcome = b.evidence(without_status(Composer::Empty, Activity::Idle));
            assert!(!pasted(&outcome));
        }
    }
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("{:?}", b.receipt("m1"))
    };
    assert!(reason.contains("not known whether"), "{reason}");
}

#[test]
fn a_first_prompt_is_not_given_again_where_its_conversation_was_never_heard_of() {
    let mut b = Bench::new();
    b.session.rec.conversation = None;
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false }); // goes in on the launch line
    b.on(Event::Started {
        launch: 1,
        process: Process { pid: 7, start: 70 },
    });
    let cleared = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(cleared));
    for _ in 0..60 {
        b.wait(1_000);
        if b.session.probe.is_some() {
            let outcome = b.evidence(without_status(Composer::Empty, Activity::Idle));
            assert!(!pasted(&outcome));
        }
    }
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("{:?}", b.receipt("m1"))
    };
    assert!(reason.contains("not known whether"), "{reason}");
}

#[test]
fn a_first_prompt_that_was_left_in_the_composer_gets_its_enter() {
    let mut b = Bench::new();
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::Started {
        launch: 1,
        process: Process { pid: 7, start: 70 },
    });
    b.hook(Signal::ContextStarted {
        source: ContextSource::Startup,
        transcript: None,
    });
    let mut pressed = Vec::new();
    for _ in 0..10 {
        b.wait(400);
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
            assert!(!pasted(&outcome));
            pressed.extend(keys(&outcome));
        }
    }
    assert_eq!(pressed.first(), Some(&Key::Enter));
    assert_eq!(b.receipt("m1").word(), "written");
}

#[test]
fn records_that_may_hold_a_proof_are_named_after_a_context_was_left() {
    let mut b = Bench::working();
    b.send("m1", "hello");
    b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    for next in ["c2", "c3"] {
        let clear = b.call(
            next,
            Signal::ContextStarted {
                source: ContextSource::Clear,
                transcript: None,
            },
        );
        b.on(Event::Hook(clear));
    }
    let named = b.session.records_to_read();
    assert_eq!(named, ["c1", "c2", "c3"].map(conversation));
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
fn a_late_start_of_a_context_that_was_left_is_late() {
    let mut b = Bench::idle();
    let second = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.now = b.now.plus(500);
    let third = b.call(
        "c3",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(third));
    b.on(Event::Hook(second));
    assert_eq!(b.session.record().conversation, Some(conversation("c3")));
    assert_eq!(b.session.record().generation, Generation(2));
}

#[test]
fn what_the_status_said_before_the_newest_context_is_late_too() {
    let mut b = Bench::idle();
    let old = status("c2", Activity::Idle, b.now.plus(1));
    b.now = b.now.plus(500);
    let third = b.call(
        "c3",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(third));
    b.on(Event::Status(old));
    assert_eq!(b.session.record().conversation, Some(conversation("c3")));
}

#[test]
fn a_hook_of_before_a_context_that_a_slow_look_found_is_late() {
    let mut b = Bench::idle();
    b.on(Event::Title(Activity::Busy)); // asks
    b.now = b.now.plus(500);
    let late = b.call(
        "c1",
        Signal::PromptAccepted {
            text: "go".into(),
            transcript: None,
        },
    );
    b.now = b.now.plus(500);
    let mut seen = screen(Composer::Empty, Activity::Idle);
    seen.status = Some(status("c2", Activity::Idle, b.now));
    b.evidence(seen);
    b.on(Event::Hook(late));
    assert_eq!(b.session.record().conversation, Some(conversation("c2")));
}

#[test]
fn a_person_who_went_back_to_an_old_conversation_is_followed_without_its_hook() {
    let mut b = Bench::idle();
    let second = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(second));
    b.now = b.now.plus(5_000);
    b.on(Event::Status(status("c1", Activity::Idle, b.now)));
    assert_eq!(b.session.record().conversation, Some(conversation("c1")));
    assert_eq!(b.session.record().generation, Generation(3));
}

#[test]
fn evidence_that_was_asked_for_before_the_state_changed_does_not_change_it_back() {
    let mut b = Bench::idle();
    b.on(Event::Title(Activity::Busy)); // asks
    b.hook(Signal::PromptAccepted {
        text: "go".into(),
        transcript: None,
    });
    b.now = b.now.plus(6_000);
    b.evidence(screen(Composer::Empty, Activity::Idle)); // a slow look, of before
    assert_eq!(b.state(), "working");
}

#[test]
fn a_delivery_of_a_lost_session_goes_on_after_it_was_restored() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.on(Event::TerminalGone);
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::Started {
        launch: 2,
        process: Process { pid: 8, start: 80 },
    });
    b.hook(Signal::ContextStarted {
        source: ContextSource::Resume,
        transcript: None,
    });
    assert_eq!(b.state(), "idle");
    let deadline = b.session.next_deadline().expect("somebody looks");
    assert!(deadline.since(b.now) <= 10_000, "{deadline:?}");
}

#[test]
fn an_agent_whose_end_nobody_reports_is_noticed() {
    let mut b = Bench::working();
    let gone = || Evidence {
        alive: Some(false),
        ..screen(Composer::Hidden, Activity::Unknown)
    };
    b.on(Event::Title(Activity::Idle));
    b.evidence(gone());
    for _ in 0..20 {
        b.wait(2_000);
        if b.session.probe.is_some() {
            b.evidence(gone());
        }
    }
    assert_eq!(b.state(), "exited");
}

#[test]
fn a_compaction_is_over_when_tools_run() {
    let mut b = Bench::working();
    b.hook(Signal::CompactionStarting { automatic: true });
    b.hook(Signal::ToolsFinished);
    assert_eq!(b.state(), "working");
    assert_eq!(b.session.record().compactions, 1);
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
    assert_eq!(b.receipt("m1"), MessageState::Written { way: Way::Mailbox });
    b.hook(Signal::PromptAccepted {
        text: "<task-notification>hello".into(),
        transcript: None,
    });
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn an_idle_session_is_looked_at_now_and_then() {
    let b = Bench::idle();
    assert!(b.session.next_deadline().is_some());
}

#[test]
fn who_asked_is_told_when_the_terminal_goes_away() {
    let mut b = Bench::idle();
    let mut m = message("m1", "hello");
    m.notify = true;
    m.from = Sender::Session {
        id: SessionId::new("s9").unwrap(),
        name: "boss".into(),
    };
    b.on(Event::Send(m));
    b.paste();
    let text = b.session.flight_text().unwrap();
    b.hook(Signal::PromptAccepted {
        text,
        transcript: None,
    });
    let outcome = b.on(Event::TerminalGone);
    assert!(
        outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Tell { .. }))
    );
}

#[test]
fn a_text_behind_a_dialog_is_looked_at_rarely_and_at_once_when_things_move() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    let waiting = Activity::Waiting(PersonNeed::Permission("Bash".into()));
    b.hook(Signal::PersonNeeded(PersonNeed::Permission("Bash".into())));
    let mut looks = 0;
    for _ in 0..600 {
        b.wait(990);
        if b.session.probe.is_some() {
            looks += 1;
            b.evidence(screen(Composer::Hidden, waiting.clone()));
        }
    }
    assert!(looks < 250, "{looks} looks in ten minutes");
    b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    let deadline = b.session.next_deadline().expect("somebody looks");
    assert!(deadline.since(b.now) < 100, "{deadline:?}");
}

#[test]
fn a_text_that_left_the_composer_may_be_in_the_agents_hands_until_it_rests() {
    let mut b = Bench::working();
    let mut m = message("m1", "hello");
    m.mode = Mode::Urgent;
    b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    b.on(Event::Send(m));
    b.evidence(screen(Composer::Empty, Activity::Idle));
    b.on(Event::Pasted {
        flight: 1,
        ok: true,
    });
    b.hook(Signal::PromptAccepted {
        text: "a task has ended".into(),
        transcript: None,
    }); // a turn of its own begins; a person presses Enter: the agent queues our text
    b.now = b.now.plus(20_000);
    b.hook(Signal::Stopping {
        again: false,
        background_tasks: 0,
    });
    for _ in 0..3 {
        b.wait(200);
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Empty, Activity::Idle));
        }
    }
    assert_eq!(b.receipt("m1"), MessageState::Written { way: Way::Paste });
}

#[test]
fn one_look_is_not_enough_to_call_a_text_lost() {
    // the record is read before the screen: between the two the text may go from one to the other
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.wait(5_000);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(b.receipt("m1"), MessageState::Written { way: Way::Paste });
    b.on(user_text("hello", b.now));
    assert_eq!(b.receipt("m1").word(), "submitted");
}

const GENERIC: Profile = Profile {
    kind: AgentKind::Generic,
    hook_answer_limit: None,
    stop_answer: None,
    mailbox: false,
    names_conversation: false,
    prompt_argument: false,
    reads_screen: false,
    has_transcript: false,
    reports_start: false,
    paste_fit: |text| PasteFit::unless_command(text, &[]),
    escape_interrupts: false,
};

fn nothing_to_see() -> Evidence {
    Evidence {
        alive: Some(true),
        status: None,
        title: Activity::Unknown,
        screen: None,
        transcript_read: false,
    }
}

fn generic_idle() -> Bench {
    let mut b = Bench::new();
    b.session.profile = GENERIC;
    b.session.rec.conversation = None;
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::Started {
        launch: 1,
        process: Process { pid: 7, start: 70 },
    });
    b.on(Event::Output { active: false });
    b
}

#[test]
fn a_program_without_a_screen_gets_one_enter() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see());
    let outcome = b.on(Event::Pasted {
        flight: 1,
        ok: true,
    });
    assert_eq!(keys(&outcome), [Key::Enter]);
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    let mut enters = 0;
    for _ in 0..10 {
        enters += keys(&b.wait(400)).len();
        if b.session.probe.is_some() {
            enters += keys(&b.evidence(nothing_to_see())).len();
        }
    }
    assert_eq!((enters, b.receipt("m1").word()), (0, "consumed"));
}

#[test]
fn an_enter_that_was_under_way_when_the_daemon_died_is_pressed() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see());
    b.on(Event::Pasted {
        flight: 1,
        ok: true,
    }); // journaled: entering
    b.session = Session::restore(
        b.session.record().clone(),
        GENERIC,
        "/data/s1".into(),
        b.session.queue().to_vec(),
        VecDeque::new(),
    );
    b.on(Event::Recovered {
        terminal_alive: true,
    });
    let outcome = b.evidence(nothing_to_see());
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn a_paste_that_was_under_way_when_the_daemon_died_is_not_claimed_and_not_repeated() {
    let mut b = generic_idle();
    b.send("m1", "hello");
    b.evidence(nothing_to_see()); // journaled: writing
    b.session = Session::restore(
        b.session.record().clone(),
        GENERIC,
        "/data/s1".into(),
        b.session.queue().to_vec(),
        VecDeque::new(),
    );
    b.on(Event::Recovered {
        terminal_alive: true,
    });
    let mut enters = 0;
    for _ in 0..10 {
        b.wait(400);
        if b.session.probe.is_some() {
            let outcome = b.evidence(nothing_to_see());
            assert!(!pasted(&outcome));
            enters += keys(&outcome).len();
        }
    }
    assert_eq!(enters, 1, "what may stand there is submitted");
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("{:?}", b.receipt("m1"))
    };
    assert!(reason.contains("not known whether"), "{reason}");
}
