//! Handoffs whose agent ends, is lost or does not follow, and daemons that die meanwhile: what is
//! started again, and what is not.

use super::*;

#[test]
fn a_clear_that_shows_no_new_context_ends_in_a_relaunch_with_the_prompt() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    let mut stopped = false;
    for _ in 0..60 {
        bench.wait(500);
        if bench.session.probe.is_some() {
            let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
            assert!(texts_pasted(&outcome).is_empty(), "never a second clear");
            stopped |= stops_agent(&outcome);
        }
        if stopped {
            break;
        }
    }
    assert!(stopped, "{:?}", bench.steps());
    let outcome = bench.exits(1, 143);
    let plans = launches(&outcome);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].resume, None);
    let prompt = plans[0].prompt.clone().expect("the wake as an argument");
    assert!(prompt.starts_with("Read /work/notes.md"));
    assert_eq!(bench.session.record().generation.0, 2);
    assert_eq!(bench.handoff().carrier, Carrier::Relaunch);
    bench.started(2);
    bench.prompt_accepted("c9", &prompt);
    assert_eq!(bench.handoff().state, HandoffState::Prompted);
}

#[test]
fn a_kill_or_a_persons_exit_while_scheduled_abandons_it_and_relaunches_nothing() {
    for kill in [true, false] {
        let mut bench = Bench::working();
        bench.on(asked("h1", Trigger::Agent));
        if kill {
            bench.on(Event::KillAsked);
        }
        let outcome = bench.on(Event::Exited {
            launch: 1,
            code: Some(if kill { 143 } else { 0 }),
            signal: None,
        });
        assert_eq!(
            bench.handoff().state,
            HandoffState::Abandoned,
            "kill: {kill}"
        );
        assert!(launches(&outcome).is_empty());
        assert_eq!(bench.state(), "exited");
    }
}

#[test]
fn a_kill_between_two_processes_starts_no_other() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.is_killed(1, 9);
    bench.on(Event::KillAsked);
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
    let outcome = bench.on(prepared("h1"));
    assert!(launches(&outcome).is_empty());
    bench.on(Event::TerminalGone { launch: 1 });
    assert_eq!(bench.state(), "exited");
}

#[test]
fn an_agent_that_crashes_while_scheduled_is_started_again_with_the_document() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.is_killed(1, 9);
    assert!(prepares(&outcome), "artifacts first");
    assert!(launches(&outcome).is_empty());
    let outcome = bench.on(prepared("h1"));
    assert_eq!(launches(&outcome).len(), 1);
    assert!(launches(&outcome)[0].prompt.is_some());
}

#[test]
fn an_agent_that_crashes_after_the_clear_is_started_again_with_the_document() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    let outcome = bench.exits(1, 1);
    let plans = launches(&outcome);
    assert!(plans[0].prompt.as_deref().unwrap().starts_with("Read "));
}

#[test]
fn a_person_who_ends_the_successor_before_its_prompt_finds_it_with_a_restore() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    let outcome = bench.exits(1, 0);
    assert!(launches(&outcome).is_empty());
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    let outcome = bench.on(Event::LaunchAsked { fresh: false });
    assert_eq!(launches(&outcome).len(), 1);
    assert!(
        bench
            .own(Purpose::Wake)
            .iter()
            .any(|state| !state.is_final()),
        "the prompt is still to be given: {:?}",
        bench.own(Purpose::Wake)
    );
}

#[test]
fn a_lost_terminal_keeps_the_handoff_for_a_restore() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.on(Event::TerminalGone { launch: 1 });
    assert!(prepares(&outcome));
    bench.on(prepared("h1"));
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
    let outcome = bench.on(Event::LaunchAsked { fresh: false });
    let plans = launches(&outcome);
    assert_eq!(plans[0].resume, None);
    assert!(plans[0].prompt.as_deref().unwrap().starts_with("Read "));
    assert_eq!(bench.session.record().generation.0, 2);
}

#[test]
fn a_prompt_that_is_never_taken_leads_to_a_relaunch_and_then_back() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    // pasted, entered, and gone, again and again
    let mut stopped = false;
    for _ in 0..600 {
        if bench.session.probe.is_some() {
            let composer = match bench.session.record().flight.as_ref().map(|f| f.phase) {
                Some(Phase::Verifying) => Composer::Ours,
                _ => Composer::Empty,
            };
            let outcome = bench.evidence(screen(composer, Activity::Idle));
            stopped |= stops_agent(&outcome);
            if pasted(&outcome) {
                let flight = bench.session.record().flight.as_ref().unwrap().no;
                bench.on(Event::Pasted { flight, ok: true });
            }
        } else {
            bench.wait(300);
        }
        if stopped {
            break;
        }
    }
    assert!(stopped, "{:?}", bench.steps());
    bench.exits(1, 143);
    assert_eq!(bench.handoff().course, Course::Starting);
    // the new one takes no prompt either
    bench.started(2);
    bench.exits(2, 1);
    let outcome = bench.exits(3, 1);
    let plans = launches(&outcome);
    assert_eq!(
        plans[0].resume,
        Some(conversation("c1")),
        "{:?}",
        bench.steps()
    );
    assert_eq!(plans[0].prompt, None);
    bench.on(Event::Started {
        launch: 4,
        process: Process { pid: 9, start: 90 },
    });
    let call = bench.call(
        "c1",
        Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        },
    );
    let outcome = bench.on(Event::Hook(call));
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    let failed = bench.session.record().failed_handoff().unwrap();
    assert_eq!(
        failed.ended_because(),
        Some("the successor could not be given its prompt")
    );
    assert!(told_owner(&outcome));
    assert_eq!(
        bench.session.record().conversation,
        Some(conversation("c1"))
    );
    assert!(
        bench.session.record().generation.0 > 2,
        "never entered twice"
    );
}

#[test]
fn a_launch_that_a_crash_may_have_swallowed_is_asked_for_again() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    let outcome = bench.is_killed(1, 9);
    assert!(prepares(&outcome));
    let first = launches(&bench.on(prepared("h1")));
    for started in [false, true] {
        if started {
            bench.started(2);
        }
        let outcome = bench.recovers();
        let again = launches(&outcome);
        match started {
            true => assert_eq!(again, []),
            false => assert_eq!(again, first, "the same launch with the same prompt"),
        }
    }
    assert_eq!(bench.session.record().launch, 2);
}

#[test]
fn a_daemon_that_was_killed_goes_on_from_every_step() {
    // scheduled, preparing, clearing, cleared, prompting: the record alone is enough to go on
    for cut in 0..5 {
        let mut bench = Bench::working();
        bench.on(asked("h1", Trigger::Agent));
        if cut > 0 {
            bench.stops();
        }
        if cut > 1 {
            bench.on(prepared("h1"));
        }
        if cut > 2 {
            bench.paste();
        }
        if cut > 3 {
            bench.context("c2");
        }
        bench.recovers();
        if cut == 0 {
            bench.stops();
        }
        for _ in 0..200 {
            if bench.handoff().state == HandoffState::Scheduled && bench.session.preparing.is_some()
            {
                bench.on(prepared("h1"));
            } else if bench.session.probe.is_some() {
                let phase = bench.session.record().flight.as_ref().map(|f| f.phase);
                let composer = match phase {
                    Some(Phase::Verifying) => Composer::Ours,
                    _ => Composer::Empty,
                };
                let outcome = bench.evidence(screen(composer, Activity::Idle));
                if pasted(&outcome) {
                    let flight = bench.session.record().flight.as_ref().unwrap().no;
                    bench.on(Event::Pasted { flight, ok: true });
                }
                let entered = keys(&outcome).contains(&Key::Enter);
                if entered && bench.session.flight_purpose() == Purpose::Clear {
                    bench.context("c2");
                } else if entered {
                    let wake = bench.wake_text();
                    bench.prompt_accepted("c2", &wake);
                }
            } else if bench.handoff().state == HandoffState::Prepared && cut == 3 {
                bench.context("c2"); // entered before the crash
            } else {
                bench.wait(100);
            }
            if bench.handoff().state == HandoffState::Prompted {
                break;
            }
        }
        assert_eq!(
            bench.handoff().state,
            HandoffState::Prompted,
            "cut {cut}: {:?}",
            bench.steps()
        );
        assert_eq!(bench.session.record().generation.0, 2, "cut {cut}");
    }
}
