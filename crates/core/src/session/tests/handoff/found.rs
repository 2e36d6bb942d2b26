//! What the simulation found about handoffs, each as the shortest story that shows it.

use super::*;

fn scheduled() -> Bench {
    let mut bench = Bench::working();
    bench.on(asked("h1", Trigger::Agent));
    bench
}

/// `/clear` was typed and entered, and nothing shows what became of it.
fn entered() -> Bench {
    let mut bench = scheduled();
    bench.cleared_by_hand_of_sm();
    bench
}

/// An agent that proves its clear with the next prompt only.
fn late_proof(bench: &mut Bench) {
    bench.session.profile.clear = Some(Clear {
        command: "/clear",
        proof: ClearProof::WithPrompt,
    });
    bench.session.profile.mailbox = false;
    bench.session.profile.stashes = false;
    bench.session.profile.resume_command = None;
}

fn look(bench: &mut Bench, evidence: Evidence) -> Outcome {
    for _ in 0..20 {
        if bench.session.probe.is_some() {
            break;
        }
        let due = bench.session.next_deadline().unwrap();
        bench.wait(due.since(bench.now).max(0));
    }
    bench.evidence(evidence)
}

fn crashed(bench: &mut Bench) -> Outcome {
    bench.is_killed(1, 9)
}

#[test]
fn a_clear_in_a_conversation_nobody_had_named_begins_a_new_generation() {
    let mut bench = Bench::idle();
    late_proof(&mut bench);
    bench.session.rec.conversation = None;
    bench.on(asked("h1", Trigger::Person));
    bench.on(prepared("h1"));
    bench.paste();
    bench.wait(200);
    look(&mut bench, without_status(Composer::Empty, Activity::Idle));
    look(&mut bench, without_status(Composer::Empty, Activity::Idle));
    let wake = bench.wake_text();
    bench.prompt_accepted("c9", &wake);
    assert_eq!(bench.session.record().generation.0, 2, "not the first one");
    assert_eq!(bench.own(Purpose::Clear).len(), 1, "{:?}", bench.steps());
}

#[test]
fn a_clear_that_was_taken_cannot_be_cancelled_while_its_proof_is_to_come() {
    let mut bench = entered();
    late_proof(&mut bench);
    bench.wait(200);
    look(&mut bench, without_status(Composer::Empty, Activity::Idle));
    assert!(bench.handoff().unproven, "{:?}", bench.steps());
    bench.on(Event::HandoffCancelled);
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
}

#[test]
fn a_person_who_goes_back_to_the_old_conversation_keeps_it() {
    let mut bench = entered();
    bench.context("c2");
    assert_eq!(bench.handoff().state, HandoffState::Cleared);
    let call = bench.call(
        "c1",
        Signal::ContextStarted {
            source: ContextSource::Resume,
            transcript: None,
        },
    );
    bench.on(Event::Hook(call));
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    assert_eq!(bench.session.record().failed_handoff(), None, "their own");
    let outcome = look(&mut bench, screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&outcome), Vec::<String>::new());
}

#[test]
fn a_context_that_was_there_before_the_handoff_is_the_one_to_leave() {
    let mut bench = Bench::idle();
    let late = bench.call(
        "c2",
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: None,
        },
    );
    bench.wait(3_000); // its hook takes this long
    bench.on(asked("h1", Trigger::Person));
    bench.on(prepared("h1"));
    bench.on(Event::Hook(late));
    assert_eq!(bench.session.record().generation.0, 2);
    assert_eq!(bench.handoff().state, HandoffState::Prepared);
    assert_eq!(bench.handoff().from_conversation, Some(conversation("c2")));
    let outcome = look(&mut bench, status_of("c2"));
    let outcome = match texts_pasted(&outcome).is_empty() {
        true => look(&mut bench, status_of("c2")),
        false => outcome,
    };
    assert_eq!(texts_pasted(&outcome), ["/clear"], "{:?}", bench.steps());
}

fn status_of(conversation_id: &str) -> Evidence {
    let mut evidence = screen(Composer::Empty, Activity::Idle);
    if let Some(status) = evidence.status.as_mut() {
        status.conversation = Some(conversation(conversation_id));
    }
    evidence
}

#[test]
fn nobody_replaces_a_handoff_whose_agent_is_gone() {
    let mut bench = scheduled();
    assert!(prepares(&crashed(&mut bench)));
    bench.on(asked("h2", Trigger::Person));
    assert_eq!(bench.handoff().id.as_str(), "h1", "it is being started for");
    assert_eq!(launches(&bench.on(prepared("h1"))).len(), 1);
}

#[test]
fn an_agent_that_crashed_is_not_started_before_its_artifacts_are_made_again() {
    let mut bench = scheduled();
    crashed(&mut bench);
    let mut outcomes = vec![bench.recovers()];
    outcomes.push(bench.wait(3_000));
    assert!(outcomes.iter().any(prepares), "asked for once more");
    assert!(outcomes.iter().all(|o| launches(o).is_empty()));
    let outcome = bench.on(prepared("h1"));
    let prompt = launches(&outcome)[0].prompt.clone().unwrap_or_default();
    assert!(prompt.starts_with("Read /work/notes.md"), "{prompt:?}");
}

#[test]
fn a_crash_without_a_document_to_hand_on_ends_the_session() {
    let mut bench = scheduled();
    crashed(&mut bench);
    bench.on(Event::HandoffPrepared {
        handoff: HandoffId::new("h1").unwrap(),
        prepared: Err("the disk is full".into()),
    });
    assert_eq!(bench.handoff().state, HandoffState::Abandoned);
    assert_eq!(bench.state(), "exited", "nobody starts it again");
}

#[test]
fn a_kill_after_the_successor_had_its_prompt_abandons_nothing() {
    let mut bench = Bench::prompted();
    bench.on(Event::KillAsked);
    let wake = bench.wake_text();
    bench.on(user_text(&wake, bench.now.plus(5))); // what its record says
    bench.exits(1, 143);
    assert_eq!(bench.handoff().state, HandoffState::Done);
}

/// Whoever restores the session goes on in the successor.
#[test]
fn a_kill_while_the_successor_takes_its_prompt_waits_for_what_became_of_it() {
    for taken in [true, false] {
        let mut bench = Bench::working();
        bench.on(asked("h1", Trigger::Agent));
        bench.cleared_by_hand_of_sm();
        bench.context("c2");
        bench.paste();
        bench.on(Event::KillAsked);
        assert_eq!(bench.handoff().state, HandoffState::Cleared);
        if taken {
            let wake = bench.wake_text();
            bench.prompt_accepted("c2", &wake);
            bench.on(user_text(&wake, bench.now.plus(5)));
        }
        bench.exits(1, 143);
        let expected = match taken {
            true => HandoffState::Done,
            false => HandoffState::Abandoned,
        };
        assert_eq!(bench.handoff().state, expected);
    }
}

#[test]
fn an_urgent_message_that_was_about_to_interrupt_is_frozen_too() {
    let mut bench = Bench::working();
    let mut urgent = message("m1", "stop that");
    urgent.mode = Mode::Urgent;
    bench.on(Event::Send(urgent));
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Busy));
    assert_eq!(keys(&outcome), [Key::Escape]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(asked("h1", Trigger::Agent));
    bench.on(Event::Pressed {
        flight,
        outcome: KeyOutcome::ScreenMoved,
    });
    bench.stops();
    bench.on(prepared("h1"));
    for _ in 0..4 {
        let outcome = look(&mut bench, screen(Composer::Empty, Activity::Idle));
        assert!(!texts_pasted(&outcome).contains(&"stop that".to_string()));
    }
    let frozen = Hold::HandingOff;
    assert_eq!(bench.receipt("m1"), MessageState::Held { why: frozen });
}

#[test]
fn a_clear_that_somebody_else_did_first_is_taken_back_out_of_the_composer() {
    let mut bench = scheduled();
    bench.stops();
    bench.on(prepared("h1"));
    let outcome = bench.evidence(screen(Composer::Empty, Activity::Idle));
    assert_eq!(texts_pasted(&outcome), ["/clear"]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    bench.context("c2"); // a person's own
    let mut outcome = look(&mut bench, shows("c2", Composer::Ours));
    for _ in 0..3 {
        if keys(&outcome).is_empty() {
            outcome = look(&mut bench, shows("c2", Composer::Ours));
        }
    }
    assert_eq!(keys(&outcome), [Key::Erase], "never Enter, never stashed");
    bench.on(Event::Pressed {
        flight,
        outcome: KeyOutcome::Pressed,
    });
    let mut pasted = Vec::new();
    for _ in 0..3 {
        pasted.extend(texts_pasted(&look(
            &mut bench,
            shows("c2", Composer::Empty),
        )));
    }
    assert_eq!(
        pasted.first(),
        Some(&bench.wake_text()),
        "{:?}",
        bench.steps()
    );
}

fn shows(conversation_id: &str, composer: Composer) -> Evidence {
    let mut evidence = status_of(conversation_id);
    if let Some(screen) = evidence.screen.as_mut() {
        screen.composer = composer;
    }
    evidence
}

#[test]
fn a_prompt_waits_in_the_composer_until_it_is_known_whose_context_it_is() {
    let mut bench = entered();
    bench.context("c2");
    let mut outcome = look(&mut bench, status_of("c2"));
    if texts_pasted(&outcome).is_empty() {
        outcome = look(&mut bench, status_of("c2"));
    }
    assert_eq!(texts_pasted(&outcome), [bench.wake_text()]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    let outcome = look(&mut bench, shows("c1", Composer::Ours));
    assert_eq!(keys(&outcome), [], "a person may just have gone back");
    let outcome = look(&mut bench, shows("c2", Composer::Ours));
    assert_eq!(keys(&outcome), [Key::Enter]);
}

#[test]
fn a_prompt_waits_while_somebody_nobody_knows_may_have_the_terminal() {
    let mut bench = entered();
    bench.context("c2");
    let mut outcome = look(&mut bench, status_of("c2"));
    if texts_pasted(&outcome).is_empty() {
        outcome = look(&mut bench, status_of("c2"));
    }
    assert_eq!(texts_pasted(&outcome), [bench.wake_text()]);
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    let source = ContextSource::Resume;
    let mut call = bench.call(
        "c1",
        Signal::ContextStarted {
            source,
            transcript: None,
        },
    );
    call.origin = Origin::Unknown;
    let heard = bench.now;
    bench.on(Event::Hook(call));
    // its status lags behind a person who goes back
    let mut pressed = Vec::new();
    while pressed.is_empty() && bench.now.since(heard) < 5_000 {
        pressed = keys(&look(&mut bench, shows("c2", Composer::Ours)));
    }
    assert_eq!(pressed, [Key::Enter]);
    assert!(bench.now.since(heard) >= 1_000, "it was settled first");
}

#[test]
fn a_clear_that_was_never_pasted_over_a_stash_is_pasted_after_a_crash() {
    let mut bench = scheduled();
    bench.stops();
    bench.on(prepared("h1"));
    let outcome = bench.evidence(screen(Composer::Stashed, Activity::Idle));
    assert_eq!(texts_pasted(&outcome), ["/clear"]);
    bench.recovers(); // before it was done
    let mut pasted = Vec::new();
    for _ in 0..80 {
        pasted.extend(texts_pasted(&look(
            &mut bench,
            screen(Composer::Stashed, Activity::Idle),
        )));
    }
    assert!(
        pasted.contains(&"/clear".to_string()),
        "{:?}",
        bench.steps()
    );
}

#[test]
fn a_prompt_of_a_handoff_that_has_ended_says_nothing_about_the_next_one() {
    let mut bench = entered();
    bench.context("c2");
    let mut outcome = look(&mut bench, status_of("c2"));
    if texts_pasted(&outcome).is_empty() {
        outcome = look(&mut bench, status_of("c2"));
    }
    let wake = bench.wake_text();
    assert_eq!(texts_pasted(&outcome), std::slice::from_ref(&wake));
    let flight = bench.session.record().flight.as_ref().unwrap().no;
    bench.on(Event::Pasted { flight, ok: true });
    bench.context("c1"); // a person goes back: what was pasted is being taken back
    assert_eq!(bench.handoff().state, HandoffState::RolledBack);
    bench.on(asked("h2", Trigger::Person));
    bench.prompt_accepted("c1", &format!("{wake} and something of a person's"));
    assert_eq!(bench.handoff().id.as_str(), "h2");
    assert_eq!(bench.steps(), ["scheduled; it runs when the turn is over"]);
}
