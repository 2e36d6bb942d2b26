//! Agents that prove their new context with the next prompt only, and the way back inside a running
//! agent.

use super::*;

fn codex() -> Bench {
    let mut profile = CLAUDE;
    profile.kind = AgentKind::Codex;
    profile.mailbox = false;
    profile.stashes = false;
    profile.resume_command = None;
    profile.clear = Some(Clear {
        command: "/clear",
        proof: ClearProof::WithPrompt,
    });
    let mut bench = Bench::working();
    bench.session.profile = profile;
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    bench
}

fn look(bench: &mut Bench, composer: Composer) -> Outcome {
    if bench.session.probe.is_none() {
        bench.wait(200);
    }
    bench.evidence(without_status(composer, Activity::Idle))
}

/// Types what is due and presses Enter.
fn enter(bench: &mut Bench) {
    let outcome = look(bench, Composer::Empty);
    assert!(pasted(&outcome), "{outcome:?}");
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    look(bench, Composer::Ours);
    bench.on(Event::Pressed {
        flight,
        outcome: KeyOutcome::Pressed,
    });
}

#[test]
fn the_prompt_proves_the_clear() {
    let mut bench = codex();
    enter(&mut bench);
    bench.wait(200);
    look(&mut bench, Composer::Empty);
    assert!(bench.handoff().unproven, "{:?}", bench.steps());
    enter(&mut bench);
    let wake = bench.wake_text();
    bench.prompt_accepted("c2", &wake);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
    assert_eq!(bench.session.record().generation.0, 2);
}

#[test]
fn a_prompt_that_the_old_context_took_is_followed_by_another_clear() {
    let mut bench = codex();
    enter(&mut bench);
    bench.wait(200);
    look(&mut bench, Composer::Empty);
    enter(&mut bench);
    let wake = bench.wake_text();
    bench.prompt_accepted("c1", &wake);
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
    assert_eq!(bench.session.record().generation.0, 1);
    bench.stops();
    look(&mut bench, Composer::Empty);
    let clears = bench.own(Purpose::Clear).len();
    assert_eq!(clears, 2, "{:?}", bench.steps());
    assert_eq!(bench.own(Purpose::Wake).len(), 2, "and another prompt");
}

#[test]
fn a_draft_where_nothing_can_be_stashed_is_waited_for() {
    let mut bench = codex();
    let outcome = look(&mut bench, Composer::Draft);
    assert!(keys(&outcome).is_empty() && !pasted(&outcome));
    bench.wait(2_000);
    let outcome = look(&mut bench, Composer::Empty);
    assert!(pasted(&outcome), "once it is gone");
}

#[test]
fn a_new_record_of_the_process_proves_the_clear_without_hooks() {
    let mut bench = codex();
    enter(&mut bench);
    bench.wait(200);
    look(&mut bench, Composer::Empty);
    let at = bench.now;
    bench.on(Event::RecordFound {
        conversation: conversation("c2"),
        transcript: Some("/t".into()),
        at,
    });
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    assert_eq!(bench.session.record().generation.0, 2);
}

/// The process shows its contexts, and there is no new one.
fn look_at_contexts(bench: &mut Bench, composer: Composer) -> Outcome {
    if bench.session.probe.is_none() {
        bench.wait(300);
    }
    let evidence = Evidence {
        contexts_read: true,
        deaf: false,
        ..without_status(composer, Activity::Idle)
    };
    bench.evidence(evidence)
}

fn found(bench: &mut Bench, name: &str, at: Timestamp) -> Outcome {
    bench.on(Event::RecordFound {
        conversation: conversation(name),
        transcript: None,
        at,
    })
}

#[test]
fn a_new_context_of_the_process_proves_the_clear_before_the_prompt_is_typed() {
    let mut bench = codex();
    enter(&mut bench);
    assert!(bench.session.record().seeks_context());
    bench.wait(25);
    assert!(bench.session.probe.is_some(), "looked for soon after Enter");
    let at = bench.now;
    found(&mut bench, "c2", at);
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    assert_eq!(bench.session.record().generation.0, 2);
    assert!(!bench.session.record().seeks_context());
    look_at_contexts(&mut bench, Composer::Empty); // of before: asked again
    let outcome = look_at_contexts(&mut bench, Composer::Empty);
    assert_eq!(texts_pasted(&outcome), [bench.wake_text()]);
    assert!(bench.now.since(at) < 100, "nothing was waited for");
}

#[test]
fn a_context_of_before_the_clear_proves_nothing() {
    let mut bench = codex();
    let before = bench.now;
    enter(&mut bench);
    let entered = bench.handoff().entered_at.unwrap();
    found(&mut bench, "c0", before);
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
    found(&mut bench, "c1", entered.plus(5));
    assert_eq!(bench.handoff().state, HandoffState::Prepared, "the old one");
    found(&mut bench, "c2", entered);
    assert_eq!(bench.handoff().state, HandoffState::Cleared, "the same ms");
}

#[test]
fn nobody_is_asked_for_another_context_unless_the_clear_was_entered() {
    let mut bench = codex();
    assert!(!bench.session.record().seeks_context());
    let at = bench.now.plus(5_000);
    found(&mut bench, "c2", at);
    assert_eq!(bench.session.record().generation.0, 1);
}

#[test]
fn a_clear_that_was_not_taken_is_typed_once_more_and_then_the_agent_is_started_again() {
    let mut bench = codex();
    for round in 1..=2 {
        enter(&mut bench);
        let entered = bench.now;
        let mut stopped = false;
        while bench.own(Purpose::Clear).len() == round && !stopped {
            let outcome = look_at_contexts(&mut bench, Composer::Empty);
            stopped = stops_agent(&outcome);
            assert!(!pasted(&outcome), "no prompt for the old context");
            assert!(bench.now.since(entered) < 3_000, "{:?}", bench.steps());
        }
        assert!(bench.now.since(entered) >= 1_000, "it had its time");
        assert!(!bench.handoff().unproven);
        assert_eq!(stopped, round == 2, "{:?}", bench.steps());
    }
    assert_eq!(bench.handoff().carrier, Carrier::Relaunch);
    assert!(bench.own(Purpose::Clear).iter().all(|s| s.is_final()));
}

#[test]
fn a_context_that_shows_late_is_seen_before_the_clear_is_given_up() {
    let mut bench = codex();
    enter(&mut bench);
    bench.wait(1_200);
    look_at_contexts(&mut bench, Composer::Empty);
    assert_eq!(bench.own(Purpose::Clear).len(), 1, "once is not enough");
    let at = bench.now;
    found(&mut bench, "c2", at);
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
}

#[test]
fn a_context_that_shows_while_the_clear_is_typed_again_proves_the_first_one() {
    let mut bench = codex();
    enter(&mut bench);
    let at = bench.now.plus(100);
    while bench.own(Purpose::Clear).len() == 1 {
        look_at_contexts(&mut bench, Composer::Empty);
    }
    let outcome = look_at_contexts(&mut bench, Composer::Empty);
    assert_eq!(texts_pasted(&outcome), ["/clear"]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    found(&mut bench, "c2", at);
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    look_at_contexts(&mut bench, Composer::Ours);
    let outcome = look_at_contexts(&mut bench, Composer::Ours);
    assert_eq!(keys(&outcome), [Key::Erase], "it is taken back");
}

#[test]
fn a_first_turn_that_nobody_typed_is_not_the_successors() {
    for heard in [true, false] {
        let mut bench = Bench::working();
        bench.on(asked("h1", Trigger::Agent));
        bench.cleared_by_hand_of_sm();
        bench.context("c2");
        bench.prompt_accepted(
            "c2",
            "<task-notification>a command has ended</task-notification>",
        );
        assert_eq!(
            bench.handoff().state,
            HandoffState::Cleared,
            "not its prompt"
        );
        assert_eq!(bench.session.record().word(), "handing_off");
        let mut call = bench.call(
            "c2",
            Signal::Stopping {
                again: false,
                background_tasks: Vec::new(),
            },
        );
        let wake = bench.wake_text();
        if heard {
            let outcome = bench.on(Event::Hook(call));
            let answer = Answer::Continue { text: wake.clone() };
            assert_eq!(answers(&outcome), [answer], "it goes on with its prompt");
            let at = bench.now;
            bench.on(user_text(&wake, at));
        } else {
            call.request = None; // from the spool
            bench.on(Event::Hook(call));
            assert_eq!(bench.handoff().state, HandoffState::Cleared);
            bench.evidence(screen(Composer::Empty, Activity::Idle));
            if bench.session.record().flight.as_ref().unwrap().phase == Phase::Checking {
                bench.wait(200);
                bench.evidence(screen(Composer::Empty, Activity::Idle));
            }
            let flight = bench.session.record().flight.as_ref().unwrap().no;
            bench.on(Event::Pasted { flight, ok: true });
            bench.evidence(screen(Composer::Ours, Activity::Idle));
            bench.prompt_accepted("c2", &wake);
            bench.recorded(&wake);
        }
        assert_eq!(bench.handoff().state, HandoffState::Prompted, "{heard}");
        bench.stops();
        assert_eq!(bench.handoff().state, HandoffState::Done, "{heard}");
    }
}

#[test]
fn an_agent_that_can_goes_back_without_being_stopped() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    // started again, alive, and its prompt is nowhere
    bench.session.rec.handoff.as_mut().unwrap().relaunches = 1;
    bench.session.wake_failed(bench.now);
    assert_eq!(bench.handoff().course, Course::Back);
    bench.wait(10);
    if bench.session.probe.is_none() {
        bench.wait(1_000);
    }
    bench.evidence(screen(Composer::Empty, Activity::Idle));
    if bench.session.record().flight.is_none() {
        bench.wait(1_500);
    }
    let mut typed = false;
    for _ in 0..10 {
        if bench.session.probe.is_none() {
            bench.wait(200);
            continue;
        }
        let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
        typed |= outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Paste { pastes, .. } if pastes.concat() == "/resume c1"));
        if typed {
            break;
        }
    }
    assert!(
        typed
            || bench
                .session
                .record()
                .flight
                .as_ref()
                .is_some_and(|f| f.phase == Phase::Writing),
        "{:?}",
        bench.steps()
    );
    let call = bench.call(
        "c1",
        Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        },
    );
    bench.on(Event::Hook(call));
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    assert_eq!(bench.session.record().generation.0, 3);
    bench.send("m1", "hello");
    assert!(matches!(
        bench.receipt("m1"),
        MessageState::Queued | MessageState::Held { .. }
    ));
    assert!(bench.session.record().open_handoff().is_none());
}

#[test]
fn a_successor_that_cannot_be_resumed_is_given_its_prompt_in_another_context() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    bench.on(Event::TerminalGone { launch: 1 });
    bench.on(Event::LaunchAsked { fresh: false });
    bench.on(Event::NotResumed { launch: 2 });
    assert_eq!(bench.session.record().generation.0, 3);
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    bench.on(Event::Started {
        launch: 2,
        process: Process { pid: 7, start: 70 },
    });
    let wake = bench.wake_text();
    bench.prompt_accepted("c3", &wake);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
    assert_eq!(bench.handoff().to, Some(Generation(3)));
    assert_eq!(bench.session.record().generation.0, 3);
}

#[test]
fn an_old_conversation_that_cannot_be_resumed_ends_the_way_back() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    bench.session.profile.resume_command = None;
    bench.session.rec.handoff.as_mut().unwrap().relaunches = 1;
    bench.session.wake_failed(bench.now);
    bench.is_killed(1, 15);
    assert_eq!(bench.handoff().course, Course::BackStarting);
    bench.on(Event::NotResumed { launch: 2 });
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
    assert_eq!(bench.state(), "starting", "it goes on, and messages flow");
}

#[test]
fn a_record_that_comes_later_belongs_to_the_conversation_that_was_found() {
    let mut bench = Bench::working();
    assert_eq!(bench.session.record().transcript, None);
    let at = bench.now;
    let outcome = bench.on(Event::RecordFound {
        conversation: conversation("c1"),
        transcript: Some("/t".into()),
        at,
    });
    assert_eq!(outcome.persist, Persist::Now);
    assert_eq!(bench.session.record().transcript.as_deref(), Some("/t"));
    assert_eq!(bench.session.record().generation.0, 1);
}
