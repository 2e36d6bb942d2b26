//! What the simulation found, each as the shortest example: commands, first prompts, turns and who is told of them.

use super::*;

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
fn a_command_sent_by_a_person_is_typed_as_it_is() {
    let mut b = Bench::idle();
    let mut m = message("m1", "/compact");
    m.raw = true;
    b.on(Event::Send(m));
    let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
    assert!(outcome.effects.contains(&Effect::Paste {
        flight: 1,
        pastes: vec!["/compact".into()],
        guard: Some(ScreenMark::default()),
    }));
}

#[test]
fn a_message_that_is_proven_after_its_turn_is_consumed_and_its_sender_told() {
    let mut b = Bench::working();
    let mut m = message("m1", "hello");
    m.notify = true;
    m.from = boss();
    b.on(Event::Send(m));
    b.stops();
    let text = b.session.flight_text().unwrap();
    let at = b.now.plus(5);
    b.hook(Signal::Stopping {
        again: true,
        background_tasks: Vec::new(),
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
fn a_turn_that_goes_on_with_a_message_is_counted_even_if_its_beginning_was_not_heard() {
    let mut b = Bench::idle();
    let before = b.session.record().turn;
    b.send("m1", "hello"); // being checked
    b.stops();
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
        m.from = boss();
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
fn a_command_at_the_head_does_not_keep_an_urgent_message_from_the_end_of_the_turn() {
    let mut b = Bench::working();
    let mut raw = message("m1", "/compact");
    raw.raw = true;
    b.on(Event::Send(raw));
    let mut urgent = message("m2", "/tmp is full");
    urgent.mode = Mode::Urgent;
    b.on(Event::Send(urgent));
    let stop = b.stops();
    assert_eq!(
        answers(&stop),
        [Answer::Continue {
            text: "/tmp is full".into()
        }]
    );
}

#[test]
fn a_first_prompt_is_not_given_again_where_its_conversation_was_never_heard_of() {
    let mut b = Bench::new();
    b.session.rec.conversation = None;
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false }); // goes in on the launch line
    b.started(1);
    let cleared = b.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    b.on(Event::Hook(cleared));
    b.ends_unknown("m1", || without_status(Composer::Empty, Activity::Idle));
}

#[test]
fn a_first_prompt_that_was_left_in_the_composer_gets_its_enter() {
    let mut b = Bench::new();
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    b.begins(ContextSource::Startup);
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
fn who_asked_is_told_when_the_terminal_goes_away() {
    let mut b = Bench::idle();
    let mut m = message("m1", "hello");
    m.notify = true;
    m.from = boss();
    b.on(Event::Send(m));
    b.paste();
    let text = b.session.flight_text().unwrap();
    b.accepts(&text);
    let outcome = b.on(Event::TerminalGone { launch: 1 });
    assert!(
        outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Tell { .. }))
    );
}

#[test]
fn an_agent_that_is_busy_with_its_start_has_no_turn_before_its_first_prompt() {
    let mut b = Bench::new();
    b.send("m1", "hello");
    b.on(Event::LaunchAsked { fresh: false });
    b.started(1);
    b.wait(1_000);
    b.evidence(screen(Composer::Empty, Activity::Busy));
    assert_eq!(b.session.record().turn, TurnId(0), "{}", b.state());
    b.accepts("hello");
    assert_eq!(b.session.record().turn, TurnId(1));
}

#[test]
fn two_escapes_are_not_pressed_soon_after_each_other() {
    let mut b = Bench::working();
    let mut first = message("m1", "stop that");
    first.mode = Mode::Urgent;
    b.on(Event::Send(first));
    let busy = || screen(Composer::Empty, Activity::Busy);
    assert_eq!(keys(&b.evidence(busy())), [Key::Escape]);
    let escaped = b.now;
    b.on(Event::Pressed {
        flight: 1,
        outcome: KeyOutcome::Pressed,
    });
    b.hook(Signal::TurnBroken(BreakReason::Interrupted)); // by itself, in fact
    b.wait(100);
    let idle = || screen(Composer::Empty, Activity::Idle);
    while !pasted(&b.evidence(idle())) {
        b.wait(100);
    }
    b.on(Event::Pasted {
        flight: b.session.rec.flight.as_ref().unwrap().no,
        ok: true,
    });
    b.accepts("stop that");
    b.hook(Signal::Working);
    let mut second = message("m2", "and that");
    second.mode = Mode::Urgent;
    let mut outcomes = vec![b.on(Event::Send(second))];
    let begun = b.now;
    let mut pressed = None;
    while pressed.is_none() && b.now.since(begun) < 10_000 {
        if b.session.probe.is_some() {
            outcomes.push(b.evidence(busy()));
        } else {
            outcomes.push(b.wait(100));
        }
        let escape = outcomes.drain(..).any(|o| keys(&o).contains(&Key::Escape));
        pressed = escape.then_some(b.now);
    }
    let pressed = pressed.expect("it interrupts in the end");
    assert!(
        pressed.since(escaped) >= 2_000,
        "{}",
        pressed.since(escaped)
    );
}

/// The hook of the prompt that opened the context came late, from the spool; that prompt tells of
/// the messages that wait. The answer to the Stop hook was lost with its connection.
#[test]
fn a_late_prompt_that_quotes_a_message_does_not_prove_it() {
    let mut b = Bench::working();
    let quoting = Signal::PromptAccepted {
        text: "Read notes.md.\n- 1 message waits, from a person: and then this".into(),
        transcript: None,
    };
    let late = b.call("c1", quoting);
    b.wait(50);
    b.send("m1", "and then this");
    b.stops();
    let given = b.receipt("m1");
    assert!(matches!(given, MessageState::Written { .. }), "{given:?}");
    b.on(Event::Hook(late));
    assert_eq!(b.receipt("m1"), given, "that prompt is older");
    let mut pasted = false;
    for _ in 0..8 {
        b.wait(4_000);
        let looked = b.evidence(screen(Composer::Empty, Activity::Idle));
        pasted |= looked
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Paste { .. }));
    }
    assert!(pasted, "it is given again: {:?}", b.receipt("m1"));
}

/// It has followed too many answers to Stop hooks in a row, those to other hooks of its among them.
#[test]
fn an_answer_that_the_agent_wrote_down_and_did_not_follow_is_not_consumed() {
    let mut b = Bench::working();
    b.send("m1", "hello");
    b.stops();
    let text = b.session.flight_text().unwrap();
    let at = b.now.plus(5);
    b.on(user_text(&text, at));
    assert_eq!(b.receipt("m1").word(), "submitted");
    // no hook tells of the end: the agent rests
    let mut gave = None;
    for _ in 0..12 {
        if b.session.probe.is_some() {
            let outcome = b.evidence(screen(Composer::Empty, Activity::Idle));
            gave = outcome.effects.into_iter().find_map(|e| match e {
                Effect::Paste { pastes, .. } => Some(pastes.concat()),
                _ => None,
            });
        }
        if gave.is_some() {
            break;
        }
        assert_eq!(b.receipt("m1").word(), "submitted");
        b.wait(2_500);
    }
    let gave = gave.expect("the agent is told to go on with it");
    assert!(gave.contains("above") && !gave.contains("hello"), "{gave}");
    b.was_pasted(2);
    b.accepts(&gave);
    assert_eq!(b.receipt("m1").word(), "consumed");
}
