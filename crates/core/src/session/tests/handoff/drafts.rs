//! A person's draft outlives every handoff: nothing is typed into it, and no process is ended that
//! holds one.

use super::*;

fn told_to_wait(outcome: &Outcome) -> bool {
    outcome
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Notify(notice) if notice.kind == NoticeKind::HandoffHeld))
}

/// The successor's context is there, and its prompt is due.
fn cleared() -> Bench {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    bench
}

fn answer(bench: &mut Bench, evidence: Evidence) -> Outcome {
    for _ in 0..60 {
        if bench.session.probe.is_some() {
            break;
        }
        bench.wait(1_000);
    }
    bench.evidence(evidence)
}

#[test]
fn a_stash_of_the_old_context_is_let_come_back_before_the_prompt_is_typed() {
    let mut bench = cleared();
    let outcome = bench.evidence(without_status(Composer::Stashed, Activity::Idle));
    assert!(!pasted(&outcome) && !told_to_wait(&outcome), "a moment");
    bench.wait(50);
    let outcome = bench.evidence(without_status(Composer::Draft, Activity::Idle));
    assert_eq!(keys(&outcome), [Key::Stash]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pressed {
        flight,
        outcome: KeyOutcome::Pressed,
    });
    let outcome = bench.evidence(without_status(Composer::Stashed, Activity::Idle));
    assert_eq!(
        texts_pasted(&outcome),
        [bench.wake_text()],
        "put aside here"
    );
    bench.on(Event::Pasted { flight, ok: false });
    let outcome = answer(
        &mut bench,
        without_status(Composer::Stashed, Activity::Idle),
    );
    assert!(pasted(&outcome), "by the next attempt too");
}

#[test]
fn a_stash_that_stays_is_waited_for_where_no_status_tells_that_it_is_over() {
    let mut bench = cleared();
    bench.wait(2_000);
    let outcome = answer(
        &mut bench,
        without_status(Composer::Stashed, Activity::Idle),
    );
    assert!(!pasted(&outcome) && told_to_wait(&outcome), "{outcome:?}");
    let outcome = answer(&mut bench, screen(Composer::Stashed, Activity::Idle));
    assert!(pasted(&outcome), "with a status it is a person's own");
}

/// Whatever failed, the agent is not stopped while a draft may be in it.
#[test]
fn an_agent_with_a_draft_is_not_stopped() {
    type Failure = fn(&mut Bench);
    let cases: [(&str, Failure); 4] = [
        ("clear", |b| b.session.clear_failed(b.now)),
        ("prompt", |b| b.session.wake_failed(b.now)),
        ("way back", |b| {
            b.session
                .own_delivery_failed(crate::message::Purpose::Back, b.now);
        }),
        ("start", |b| {
            b.session.rec.handoff.as_mut().unwrap().course = Course::Starting;
            b.session.profile.resume_command = None;
            b.session.handoff_overdue(b.now);
        }),
    ];
    for (what, fail) in cases {
        for composer in [Composer::Draft, Composer::Stashed, Composer::DraftOverStash] {
            let mut bench = cleared();
            bench.evidence(without_status(composer.clone(), Activity::Idle));
            fail(&mut bench);
            let outcome = bench.wait(10);
            assert!(!stops_agent(&outcome), "{what} {composer:?}");
            assert!(told_to_wait(&outcome), "{what} {composer:?}");
            // it is looked at again, and again: said once
            for _ in 0..20 {
                let outcome = answer(&mut bench, without_status(composer.clone(), Activity::Idle));
                assert!(!stops_agent(&outcome), "{what}");
                // while it starts, the delivery of its prompt tells why that waits
                assert!(what == "start" || !told_to_wait(&outcome), "{what}");
            }
            // a person sends it: their turn is theirs
            bench.prompt_accepted("c2", "the draft");
            for _ in 0..20 {
                if bench.session.probe.is_some() {
                    bench.evidence(screen(Composer::Empty, Activity::Busy));
                }
                let outcome = bench.wait(3_000);
                assert!(!stops_agent(&outcome), "{what}: in a person's turn");
            }
            bench.stops();
            let stopped = (0..40).any(|_| {
                if bench.session.probe.is_some() {
                    bench.evidence(screen(Composer::Empty, Activity::Idle));
                }
                stops_agent(&bench.wait(1_000))
            });
            assert!(stopped, "{what} {composer:?}: {:?}", bench.steps());
        }
    }
}

#[test]
fn a_draft_behind_our_own_text_is_remembered() {
    let mut bench = cleared();
    bench.evidence(screen(Composer::Draft, Activity::Idle));
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pressed {
        flight,
        outcome: KeyOutcome::Pressed,
    });
    bench.evidence(screen(Composer::Stashed, Activity::Idle));
    bench.on(Event::Pasted { flight, ok: true });
    bench.evidence(screen(Composer::Ours, Activity::Idle));
    assert!(bench.session.drafted);
    // and after a crash of the daemon
    let again = Session::restore(
        bench.session.record().clone(),
        bench.session.profile,
        "/data/s1".into(),
        bench.session.queue.clone(),
        VecDeque::new(),
    );
    assert!(again.drafted);
    bench.prompt_accepted("c2", &bench.wake_text());
    bench.stops();
    bench.wait(2_000);
    answer(&mut bench, screen(Composer::Empty, Activity::Idle));
    assert!(!bench.session.drafted);
}

#[test]
fn a_draft_that_comes_back_while_the_clear_is_not_proven_is_told() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    bench.paste();
    let mut told = 0;
    for _ in 0..60 {
        if bench.session.probe.is_none() {
            bench.wait(500);
            continue;
        }
        let outcome = bench.evidence(screen(Composer::Draft, Activity::Idle));
        assert!(!stops_agent(&outcome));
        told += usize::from(told_to_wait(&outcome));
    }
    assert_eq!(told, 1, "{:?}", bench.steps());
}

#[test]
fn a_draft_is_put_aside_before_the_clear_and_before_the_prompt() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    for expected in ["/clear", "Read /work/notes.md"] {
        let outcome = bench.evidence(screen(Composer::Draft, Activity::Idle));
        assert_eq!(keys(&outcome), [Key::Stash]);
        assert!(!pasted(&outcome));
        let flight = bench.session.record().flight.as_ref().unwrap().no;
        bench.on(Event::Pressed {
            flight,
            outcome: KeyOutcome::Pressed,
        });
        let outcome = bench.evidence(screen(Composer::Stashed, Activity::Idle));
        assert!(texts_pasted(&outcome).concat().starts_with(expected));
        let flight = bench.session.record().flight.as_ref().unwrap().no;
        bench.on(Event::Pasted { flight, ok: true });
        let outcome = bench.evidence(screen(Composer::Ours, Activity::Idle));
        assert_eq!(keys(&outcome), [Key::Enter]);
        bench.on(Event::Pressed {
            flight,
            outcome: KeyOutcome::Pressed,
        });
        if expected == "/clear" {
            bench.context("c2");
        }
    }
}

#[test]
fn a_draft_over_a_stash_is_waited_for() {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    let outcome = bench.evidence(screen(Composer::DraftOverStash, Activity::Idle));
    assert!(keys(&outcome).is_empty() && !pasted(&outcome));
    assert!(
        outcome
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Notify(notice) if notice.kind == NoticeKind::HandoffHeld))
    );
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
}
