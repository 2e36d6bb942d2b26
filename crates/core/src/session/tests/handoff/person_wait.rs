//! A handoff that needs a person says so at once, and goes back when nobody comes, if it is told to.

use super::*;
use crate::signal::PersonNeed;

const TIMEOUT: i64 = 60_000;

fn notices(outcome: &Outcome) -> Vec<String> {
    let effects = outcome.effects.iter();
    effects
        .filter_map(|e| match e {
            Effect::Notify(notice) => Some(notice.text.clone()),
            _ => None,
        })
        .collect()
}

fn asks(bench: &mut Bench) -> Outcome {
    bench.hook(Signal::PersonNeeded {
        need: PersonNeed::FirstRun("trust".into()),
        call: None,
    })
}

fn waits_for(bench: &Bench) -> Option<&str> {
    let wait = bench.handoff().person_wait.as_ref();
    wait.map(|wait| wait.why.as_str())
}

/// Time goes by with a dialog there.
fn nobody_comes(bench: &mut Bench, ms: i64) -> bool {
    (0..ms / 1_000).any(|_| {
        let outcome = bench.wait(1_000);
        assert_eq!(keys(&outcome), [], "no key goes into a dialog");
        stops_agent(&outcome)
    })
}

#[test]
fn a_dialog_in_front_of_a_handoff_is_told_at_once_and_over_when_it_is_answered() {
    for dialog_first in [false, true] {
        let mut bench = Bench::working();
        let outcome = match dialog_first {
            false => {
                bench.on(asked("h1", Trigger::Agent));
                asks(&mut bench)
            }
            true => {
                asks(&mut bench);
                bench.on(asked("h1", Trigger::Person))
            }
        };
        let told = notices(&outcome);
        assert!(
            told.len() == 1 && told[0].contains("handoff") && told[0].contains("trust"),
            "{told:?}"
        );
        assert!(told[0].contains("sm attach api"), "{told:?}");
        let why = waits_for(&bench).expect("a person").to_owned();
        assert!(why.contains("trust"), "{why}");
        let step = format!("waits for a person: {why}");
        assert_eq!(bench.steps().last(), Some(&step));
        // without a timeout it waits as long as it takes
        assert!(!nobody_comes(&mut bench, 10 * TIMEOUT));
        assert_eq!(bench.handoff().state, HandoffState::Scheduled);
        bench.accepts("answered");
        assert_eq!(waits_for(&bench), None);
    }
}

#[test]
fn a_draft_in_front_of_the_clear_is_said_with_the_handoff() {
    let mut bench = Bench::working();
    bench.session.profile.stashes = false;
    bench.on(asked("h1", Trigger::Agent));
    bench.stops();
    bench.on(prepared("h1"));
    let outcome = bench.evidence(screen(Composer::Draft, Activity::Idle));
    assert_eq!(notices(&outcome).len(), 1, "{outcome:?}");
    assert!(waits_for(&bench).is_some_and(|why| why.contains("half-typed")));
    bench.session.set_person_timeout(Some(TIMEOUT));
    let since = bench.handoff().person_wait.as_ref().unwrap().since;
    while bench.handoff().state.is_open() && bench.now.since(since) < 2 * TIMEOUT {
        if bench.session.probe.is_some() {
            bench.evidence(screen(Composer::Draft, Activity::Idle));
        }
        bench.wait(1_000);
    }
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    assert!(bench.now.since(since) >= TIMEOUT, "not before its time");
    let clear = bench.own(Purpose::Clear);
    assert_eq!(clear, [MessageState::Withdrawn], "the draft stays alone");
}

#[test]
fn nobody_comes_and_the_old_context_goes_on() {
    let mut bench = Bench::working();
    bench.session.set_person_timeout(Some(TIMEOUT));
    bench.on(asked("h1", Trigger::Agent));
    asks(&mut bench);
    let ends = bench.session.person_wait_ends().expect("an end");
    assert!(bench.session.next_deadline().is_some_and(|at| at <= ends));
    assert!(!nobody_comes(&mut bench, TIMEOUT - 5_000));
    assert_eq!(bench.handoff().state, HandoffState::Scheduled);
    // the daemon may die meanwhile: the time counts on
    bench.recovers();
    bench.session.set_person_timeout(Some(TIMEOUT));
    let told: Vec<String> = (0..10).flat_map(|_| notices(&bench.wait(1_000))).collect();
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    let because = bench.handoff().ended_because().unwrap();
    assert!(
        because.contains("nobody came within 60 s") && because.contains("trust"),
        "{because}"
    );
    assert!(
        told.iter().any(|text| text.contains("rolled back")),
        "{told:?}"
    );
    assert!(bench.session.record().failed_handoff().is_some());
    assert_eq!(bench.session.record().generation.0, 1, "nothing was left");
    assert_eq!(bench.session.person_wait_ends(), None);
}

#[test]
fn nobody_comes_after_the_context_was_left_and_the_old_conversation_is_gone_back_to() {
    let mut bench = Bench::working();
    bench.session.set_person_timeout(Some(TIMEOUT));
    bench.session.profile.resume_command = None;
    bench.on(asked("h1", Trigger::Agent));
    bench.cleared_by_hand_of_sm();
    bench.context("c2");
    asks(&mut bench);
    assert!(nobody_comes(&mut bench, 2 * TIMEOUT), "{:?}", bench.steps());
    assert!(bench.handoff().course.is_back());
    assert!(bench.steps().iter().any(|s| s.contains("nobody came")));
}

#[test]
fn a_successor_at_work_that_asks_holds_no_handoff_up() {
    let mut bench = Bench::prompted();
    bench.session.set_person_timeout(Some(TIMEOUT));
    let outcome = asks(&mut bench);
    assert!(!notices(&outcome)[0].contains("handoff"), "{outcome:?}");
    assert_eq!(waits_for(&bench), None);
    nobody_comes(&mut bench, 3 * TIMEOUT);
    assert_eq!(bench.handoff().state, HandoffState::Done);
}
