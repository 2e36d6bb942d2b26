//! Agents that prove their new context with the next prompt only, and the way back inside a running
//! agent.

use super::handoff::{asked, prepared, stop};
use super::*;
use crate::handoff::*;
use crate::message::Purpose;

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
    stop(&mut bench);
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
    stop(&mut bench);
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
        transcript: "/t".into(),
        at,
    });
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    assert_eq!(bench.session.record().generation.0, 2);
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
