//! Examples of the rules, one sentence each. The simulation in `testkit` looks for what they miss.

use super::*;

#[test]
fn an_idle_agent_gets_a_paste_then_enter_and_the_hook_proves_it() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    let entered = b.paste();
    assert_eq!(keys(&entered), [Key::Enter]);
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::Paste,
            why: None
        }
    );
    b.accepts("hello");
    assert_eq!(
        b.receipt("m1"),
        MessageState::Submitted {
            way: Way::Paste,
            proof: Proof::Hook
        }
    );
    assert_eq!(b.state(), "working");
    b.stops();
    assert_eq!(
        b.receipt("m1"),
        MessageState::Consumed {
            way: Way::Paste,
            proof: Proof::Hook
        }
    );
    assert_eq!(b.state(), "idle");
}

#[test]
fn the_same_id_is_the_same_message() {
    let mut b = Bench::working();
    b.send("m1", "hello");
    b.send("m1", "hello");
    assert_eq!(b.session.queue().len(), 1);
}

#[test]
fn a_sequential_message_waits_for_the_end_of_the_turn_and_becomes_the_next_request() {
    let mut b = Bench::working();
    b.send("m1", "one");
    b.send("m2", "two");
    assert_eq!(b.receipt("m1"), MessageState::Held { why: Hold::Working });
    assert_eq!(answers(&b.hook(Signal::ToolsFinished)), [Answer::Nothing]);
    let stop = b.stops();
    assert_eq!(
        answers(&stop),
        [Answer::Continue {
            text: "[sm: message 1 of 2]\none\n\n[sm: message 2 of 2]\ntwo".into()
        }]
    );
    assert_eq!(b.state(), "working");
    let text =
        "Stop hook feedback:\n[sm: message 1 of 2]\none\n\n[sm: message 2 of 2]\ntwo".to_string();
    b.on(Event::Facts(vec![Fact::UserText {
        text,
        came: Came::StopFeedback,
        at: Some(b.now.plus(10)),
    }]));
    assert_eq!(
        b.receipt("m2"),
        MessageState::Submitted {
            way: Way::StopAnswer,
            proof: Proof::Transcript
        }
    );
}

#[test]
fn an_important_message_takes_the_next_hook() {
    let mut b = Bench::working();
    let mut m = message("m1", "look");
    m.mode = Mode::Important;
    b.on(Event::Send(m));
    let outcome = b.hook(Signal::ToolsFinished);
    assert_eq!(
        answers(&outcome),
        [Answer::Context {
            text: "look".into()
        }]
    );
    assert_eq!(outcome.persist, Persist::Now, "journaled before the answer");
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::HookAnswer,
            why: None,
        }
    );
}

#[test]
fn a_long_important_message_is_put_into_a_file() {
    let mut b = Bench::working();
    let mut m = message("m1", &"x".repeat(20_000));
    m.mode = Mode::Important;
    b.on(Event::Send(m));
    let outcome = b.hook(Signal::ToolsFinished);
    assert!(
        outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Spill { .. }))
    );
    let answers = answers(&outcome);
    let [Answer::Context { text }] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    assert!(text.contains("/data/s1/messages/m1.txt") && text.len() < 9_400);
}

#[test]
fn an_answer_the_agent_never_took_goes_back_into_the_queue() {
    let mut b = Bench::working();
    b.send("m1", "hello");
    b.stops();
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::StopAnswer,
            why: None,
        }
    );
    b.wait(2_000);
    b.evidence(screen(Composer::Empty, Activity::Idle)); // idle after all: the state follows
    for _ in 0..12 {
        b.wait(400);
        if b.session.probe.is_some() {
            b.evidence(screen(Composer::Empty, Activity::Idle));
        }
    }
    let again = !matches!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::StopAnswer,
            why: None,
        }
    );
    assert!(again, "{:?}", b.receipt("m1"));
}

#[test]
fn nothing_is_typed_into_a_draft_and_the_mailbox_leaves_it_alone() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    let outcome = b.evidence(screen(Composer::Draft, Activity::Idle));
    assert!(!pasted(&outcome) && keys(&outcome).is_empty());
    assert_eq!(b.receipt("m1"), MessageState::Held { why: Hold::Draft });
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    let outcome = b.evidence(screen(Composer::Draft, Activity::Idle));
    assert!(outcome.effects.iter().any(|e| matches!(
        e,
        Effect::Mail {
            waiter: WaiterId(3),
            ..
        }
    )));
}

#[test]
fn no_key_is_pressed_while_a_person_is_asked() {
    let mut b = Bench::working();
    b.hook(Signal::PersonNeeded {
        need: PersonNeed::Permission("Bash".into()),
        call: None,
    });
    let mut m = message("m1", "hello");
    m.mode = Mode::Urgent;
    let outcome = b.on(Event::Send(m));
    assert!(keys(&outcome).is_empty() && !pasted(&outcome));
    assert_eq!(
        b.receipt("m1"),
        MessageState::Held {
            why: Hold::WaitingForPerson
        }
    );
    assert_eq!(b.state(), "waiting");
}

#[test]
fn a_dialog_between_the_look_and_the_key_stops_the_key() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(pasted(&outcome));
    b.was_pasted(1);
    let waiting = Activity::Waiting(PersonNeed::Permission("Bash".into()));
    let outcome = b.evidence(screen(Composer::Hidden, waiting));
    assert!(keys(&outcome).is_empty());
}

#[test]
fn enter_is_pressed_again_only_while_the_composer_holds_exactly_our_text() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.paste();
    b.wait(1_600);
    assert_eq!(
        keys(&b.evidence(screen(Composer::Ours, Activity::Idle))),
        [Key::Enter]
    );
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    b.wait(1_600);
    assert!(keys(&b.evidence(screen(Composer::Draft, Activity::Idle))).is_empty());
}

#[test]
fn a_text_that_looks_like_a_command_is_not_pasted() {
    let mut b = Bench::idle();
    b.send("m1", "/clear everything");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(!pasted(&outcome));
    assert_eq!(
        b.receipt("m1"),
        MessageState::Held {
            why: Hold::LooksLikeCommand
        }
    );
    let mut raw = message("m2", "/clear");
    raw.raw = true;
    let mut b = Bench::idle();
    b.on(Event::Send(raw));
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}

/// The mailbox would keep them, and would label the text as no input of the user's.
#[test]
fn a_text_whose_white_space_the_composer_changes_is_a_prompt_and_its_receipt_says_so() {
    let mut b = Bench::idle();
    b.session.profile.paste_fit = |text| PasteFit::Changed {
        pastes: vec![text.replace('\t', "    ").trim().to_owned()],
        arrives: text.replace('\t', "    ").trim().to_owned(),
    };
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    b.send("m1", "with a\ttab");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(outcome.effects.contains(&Effect::Paste {
        flight: 1,
        pastes: vec!["with a    tab".into()],
        guard: Some(ScreenMark::default()),
    }));
    b.was_pasted(1);
    b.evidence(screen(Composer::Ours, Activity::Idle));
    b.accepts("with a    tab");
    assert_eq!(b.receipt("m1").word(), "submitted");
    let about = b.session.message(&MessageId::new("m1").unwrap()).unwrap();
    assert_eq!(
        about.meta.reason().as_deref(),
        Some("the agent changed its white space: tabs became blanks")
    );
    b.stops();
    b.send("m2", "ends with a line end\n");
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}

/// Codex takes a command behind a blank for a prompt.
#[test]
fn a_raw_command_is_typed_as_it_is_however_its_text_would_be_pasted() {
    let mut b = Bench::idle();
    b.session.profile.paste_fit = |text| PasteFit::Exact {
        pastes: vec![" ".into(), text.to_owned()],
    };
    let mut raw = message("m1", "/clear");
    raw.raw = true;
    b.on(Event::Send(raw));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(outcome.effects.contains(&Effect::Paste {
        flight: 1,
        pastes: vec!["/clear".into()],
        guard: Some(ScreenMark::default()),
    }));
}

#[test]
fn a_text_that_would_be_a_command_is_pasted_as_a_text_where_that_is_possible() {
    let mut b = Bench::idle();
    b.session.profile.paste_as_text = |text| PasteFit::behind(" ", text);
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    b.send("m1", "/clear");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(outcome.effects.contains(&Effect::Paste {
        flight: 1,
        pastes: vec![" /clear".into()],
        guard: Some(ScreenMark::default()),
    }));
    b.was_pasted(1);
    b.evidence(screen(Composer::Ours, Activity::Idle));
    b.accepts(" /clear");
    assert_eq!(b.receipt("m1").word(), "submitted");
}

#[test]
fn a_draft_is_waited_for_a_little_before_a_message_goes_in_beside_it() {
    let draft = || screen(Composer::Draft, Activity::Idle);
    let mailed = |outcome: &Outcome| {
        let mail = |e: &Effect| matches!(e, Effect::Mail { .. });
        outcome.effects.iter().any(mail)
    };
    let mut b = Bench::idle();
    b.session.set_draft_patience(5_000);
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    b.send("m1", "hello");
    let outcome = b.evidence(draft());
    let why = Hold::BesideDraft;
    assert_eq!(b.receipt("m1"), MessageState::Held { why });
    let told = |e: &Effect| matches!(e, Effect::Notify(_));
    assert!(!outcome.effects.iter().any(told), "nobody is needed");
    let began = b.now;
    while !mailed(&b.evidence_after(1_000, draft())) {
        assert!(b.now.since(began) < 20_000, "{:?}", b.receipt("m1"));
        if b.session.probe.is_none() {
            b.now = b.session.next_deadline().unwrap();
            b.on(Event::Tick);
        }
    }
    assert!(b.now.since(began) >= 5_000);
    // what is urgent does not wait
    let mut b = Bench::idle();
    b.session.set_draft_patience(5_000);
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(3),
    });
    let mut urgent = message("m1", "hello");
    urgent.mode = Mode::Urgent;
    b.on(Event::Send(urgent));
    assert!(mailed(&b.evidence(draft())));
}

#[test]
fn signs_that_lag_behind_the_hook_hold_a_message_for_a_moment_only() {
    let mut b = Bench::working();
    b.now = b.now.plus(5_000);
    b.stops();
    b.send("m1", "hello");
    let outcome = b.evidence(screen(Composer::Empty, Activity::Busy));
    assert!(!pasted(&outcome));
    assert_eq!(b.state(), "idle");
    assert_eq!(b.receipt("m1"), MessageState::Queued, "nobody is told yet");
    b.wait(50);
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}

#[test]
fn an_urgent_message_interrupts_once_and_is_pasted_when_idle() {
    let mut b = Bench::working();
    let mut m = message("m1", "stop that");
    m.mode = Mode::Urgent;
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Busy));
    assert_eq!(keys(&outcome), [Key::Escape]);
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    b.now = b.now.plus(5_000);
    b.wait(200);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(b.state(), "idle");
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}

#[test]
fn a_message_that_our_interrupt_brought_back_is_entered_again() {
    let mut b = Bench::idle();
    b.send("m1", "the words before");
    b.paste();
    b.accepts("the words before");
    let mut m = message("m2", "stop that");
    m.mode = Mode::Urgent;
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Busy));
    assert_eq!(keys(&outcome), [Key::Escape]);
    let no = b.session.record().flight.as_ref().unwrap().no;
    b.on(Event::Pressed {
        flight: no,
        outcome: KeyOutcome::Pressed,
    });
    // the model had said nothing: the agent is idle again, and has put the prompt back
    b.now = b.now.plus(2_500);
    b.wait(200);
    b.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(b.state(), "idle");
    assert_eq!(
        b.receipt("m1"),
        MessageState::Written {
            way: Way::Paste,
            why: None
        },
        "its receipt does not claim what is not so any more"
    );
    let outcome = b.evidence(screen(Composer::Ours, Activity::Idle));
    assert_eq!(keys(&outcome), [Key::Enter]);
    b.accepts("the words before");
    let way = Way::Paste;
    let proof = Proof::Hook;
    assert_eq!(b.receipt("m1"), MessageState::Submitted { way, proof });
}

#[test]
fn an_escape_that_a_crash_prevented_is_pressed_afterwards() {
    let mut b = Bench::working();
    let mut m = message("m1", "stop that");
    m.mode = Mode::Urgent;
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Busy));
    assert_eq!(keys(&outcome), [Key::Escape]);
    b.on(Event::Recovered {
        terminal_alive: true,
    });
    b.evidence(screen(Composer::Empty, Activity::Busy));
    let mut pressed = Vec::new();
    for _ in 0..100 {
        b.wait(200);
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Empty, Activity::Busy));
            pressed.extend(keys(&outcome));
        }
    }
    assert_eq!(
        pressed,
        [Key::Escape],
        "it works still: nothing was pressed"
    );
}

#[test]
fn a_hook_is_not_answered_while_our_escape_is_on_its_way() {
    let mut b = Bench::working();
    let mut m = message("m1", "stop that");
    m.mode = Mode::Urgent;
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Busy));
    assert_eq!(keys(&outcome), [Key::Escape]);
    let answers = |outcome: &Outcome| {
        let given = outcome.effects.iter().filter(|e| match e {
            Effect::Answer { answer, .. } => *answer != Answer::Nothing,
            _ => false,
        });
        given.count()
    };
    assert_eq!(answers(&b.hook(Signal::ToolsFinished)), 0);
    let stopping = Signal::Stopping {
        again: false,
        background_tasks: Vec::new(),
    };
    assert_eq!(answers(&b.hook(stopping)), 0);
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    b.wait(200);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(pasted(&b.evidence(screen(Composer::Empty, Activity::Idle))));
}

#[test]
fn a_late_hook_of_the_old_context_has_no_effect() {
    let mut b = Bench::working();
    let call = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(call));
    assert_eq!(b.session.record().generation, Generation(2));
    b.accepts("new");
    let late = b.call(
        "c1",
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
    );
    b.on(Event::Hook(late));
    assert_eq!(b.state(), "working");
}

#[test]
fn a_nested_agent_never_speaks_for_the_session() {
    let mut b = Bench::working();
    let mut call = b.call(
        "other",
        Signal::ContextStarted {
            source: ContextSource::Startup,
            transcript: None,
        },
    );
    call.origin = Origin::Nested;
    b.on(Event::Hook(call));
    let mut call = b.call(
        "other",
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new(),
        },
    );
    call.origin = Origin::Unknown;
    b.on(Event::Hook(call));
    assert_eq!(b.state(), "working");
    assert_eq!(b.session.record().generation, Generation::FIRST);
}

#[test]
fn a_sub_agents_hook_is_not_answered_with_a_message() {
    let mut b = Bench::working();
    let mut m = message("m1", "look");
    m.mode = Mode::Important;
    b.on(Event::Send(m));
    let mut call = b.call("c1", Signal::ToolsFinished);
    call.origin = Origin::SubAgent;
    assert_eq!(answers(&b.on(Event::Hook(call))), [Answer::Nothing]);
}

#[test]
fn an_event_that_came_twice_counts_once() {
    let mut b = Bench::idle();
    let call = b.call(
        "c1",
        Signal::PromptAccepted {
            text: "go".into(),
            transcript: None,
        },
    );
    b.on(Event::Hook(call.clone()));
    b.stops();
    b.on(Event::Hook(call));
    assert_eq!(b.state(), "idle");
    assert_eq!(b.session.record().turn, TurnId(1));
}

#[test]
fn when_a_turn_began_is_written_down() {
    let mut b = Bench::idle();
    assert_eq!(b.session.record().turn_since, None);
    let outcome = b.hook(Signal::PromptAccepted {
        text: "go".into(),
        transcript: None,
    });
    let began = b.now;
    assert_ne!(outcome.persist, Persist::Nothing);
    b.hook(Signal::Working);
    assert_eq!(b.session.record().turn_since, Some(began));
}

#[test]
fn a_turn_that_ends_without_a_hook_is_noticed() {
    let mut b = Bench::working();
    b.wait(21_000);
    b.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(b.state(), "idle");
    let mut b = Bench::working();
    let at = Some(b.now.plus(10));
    b.on(Event::Facts(vec![Fact::TurnEnded {
        broken: Some(BreakReason::Interrupted),
        at,
    }]));
    assert_eq!(b.state(), "idle");
}

#[test]
fn a_status_from_before_the_prompt_does_not_end_the_turn() {
    let mut b = Bench::working();
    let status = StatusReading {
        process: Process { pid: 7, start: 70 },
        conversation: None,
        activity: Activity::Idle,
        at: Some(Timestamp(b.now.0 - 500)),
    };
    b.on(Event::Status(status));
    assert_eq!(b.state(), "working");
}

#[test]
fn messages_to_an_exited_session_fail_at_once_and_to_a_lost_one_wait() {
    let mut b = Bench::idle();
    b.exits(1, 3);
    b.send("m1", "hello");
    let MessageState::Failed { reason } = b.receipt("m1") else {
        panic!("{:?}", b.receipt("m1"))
    };
    assert!(
        reason.contains("exit code 3")
            && reason.contains("sm restore ")
            && !reason.contains("sm restore api"),
        "{reason}"
    );
    let mut b = Bench::idle();
    b.on(Event::TerminalGone { launch: 1 });
    b.send("m1", "hello");
    assert_eq!(b.receipt("m1"), MessageState::Held { why: Hold::Lost });
    let outcome = b.on(Event::LaunchAsked { fresh: false });
    let plan = outcome.effects.iter().find_map(|e| match e {
        Effect::Launch(plan) => Some(plan.clone()),
        _ => None,
    });
    let plan = plan.expect("a launch");
    assert_eq!(
        (plan.resume, plan.prompt),
        (Some(conversation("c1")), Some("hello".into()))
    );
}

#[test]
fn a_restore_that_fails_leaves_a_lost_session_lost_and_its_messages_waiting() {
    let mut b = Bench::idle();
    b.on(Event::TerminalGone { launch: 1 });
    b.send("m1", "hello");
    b.send("m2", "and this");
    b.on(Event::LaunchAsked { fresh: false });
    b.on(Event::LaunchFailed {
        launch: 2,
        reason: "tmux does not answer".into(),
    });
    let record = b.session.record();
    assert_eq!(record.state, State::Lost);
    assert!(
        record.why.contains("tmux does not answer"),
        "{}",
        record.why
    );
    for id in ["m1", "m2"] {
        assert_eq!(b.receipt(id), MessageState::Held { why: Hold::Lost });
    }
    let outcome = b.on(Event::LaunchAsked { fresh: false });
    let prompt = outcome.effects.iter().find_map(|e| match e {
        Effect::Launch(plan) => plan.prompt.clone(),
        _ => None,
    });
    assert_eq!(prompt.as_deref(), Some("hello"));
    // once its agent has run, a failure is an end
    b.on(Event::Started {
        launch: 3,
        process: Process { pid: 7, start: 7 },
    });
    b.on(Event::Exited {
        launch: 3,
        code: Some(1),
        signal: None,
    });
    assert_eq!(b.session.record().state, State::Exited);
}

#[test]
fn a_waiter_of_an_older_context_never_gets_a_message() {
    let mut b = Bench::idle();
    let call = b.call(
        "c0",
        Signal::MailboxOpen {
            waiter: WaiterId(1),
        },
    );
    b.on(Event::Hook(call));
    assert!(b.session.waiters.is_empty());
    b.hook(Signal::MailboxOpen {
        waiter: WaiterId(2),
    });
    let call = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    let outcome = b.on(Event::Hook(call));
    assert!(outcome.effects.contains(&Effect::Dismiss {
        waiter: WaiterId(2)
    }));
    assert!(b.session.waiters.is_empty());
}

#[test]
fn who_asked_is_told_once_that_the_turn_has_ended() {
    let mut b = Bench::working();
    for id in ["m1", "m2"] {
        let mut m = message(id, id);
        m.notify = true;
        m.from = boss();
        b.on(Event::Send(m));
    }
    b.stops();
    let text = b.session.flight_text().unwrap();
    let at = Some(b.now.plus(10));
    b.on(Event::Facts(vec![Fact::UserText {
        text,
        came: Came::StopFeedback,
        at,
    }]));
    let outcome = b.hook(Signal::Stopping {
        again: true,
        background_tasks: Vec::new(),
    });
    let told = outcome
        .effects
        .iter()
        .filter(|e| matches!(e, Effect::Tell { .. }))
        .count();
    assert_eq!(told, 1);
}

#[test]
fn after_a_crash_a_pasted_text_gets_its_enter_and_a_lost_one_is_pasted_again() {
    let mut b = Bench::idle();
    b.send("m1", "hello");
    b.evidence(screen(Composer::Empty, Activity::Idle)); // journaled: writing
    let mut lost = Bench {
        session: b.session.clone(),
        ..b
    };
    let mut pasted_before = b;
    pasted_before.recovers();
    assert_eq!(
        keys(&pasted_before.evidence(screen(Composer::Ours, Activity::Idle))),
        [Key::Enter]
    );
    lost.recovers();
    let mut outcome = lost.evidence(screen(Composer::Empty, Activity::Idle));
    let mut looks = 0;
    while !pasted(&outcome) && looks < 200 {
        looks += 1;
        outcome = lost.wait(100);
        if lost.session.probe.is_some() {
            outcome = lost.evidence(screen(Composer::Empty, Activity::Idle));
        }
    }
    assert!(pasted(&outcome), "pasted again after {looks} looks");
}

#[test]
fn a_program_that_cannot_begin_is_ended_in_its_own_words() {
    let ended = |b: &mut Bench, launch: u32| {
        b.on(Event::LastOutput {
            launch,
            text: "sm agent\n  error: no model:   set ANTHROPIC_API_KEY\u{1b}[0m".into(),
        });
        b.exits(1, 2);
        b.session.record().why.clone()
    };
    let starting = || {
        let mut b = Bench::new();
        b.on(Event::LaunchAsked { fresh: false });
        b.started(1);
        b
    };
    let mut b = starting();
    let why = ended(&mut b, 1);
    assert!(
        why.contains("exit code 2") && why.contains("no model: set ANTHROPIC_API_KEY"),
        "{why}"
    );
    // of another launch, or after it has worked, the screen says nothing about the end
    let mut b = starting();
    assert!(!ended(&mut b, 7).contains("no model"));
    let mut b = Bench::working();
    assert!(!ended(&mut b, 1).contains("no model"));
}
