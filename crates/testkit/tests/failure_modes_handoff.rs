//! What broke in earlier systems that handed work from one context to the next, as directed schedules
//! of the simulation. The number is that of the failure mode.

mod common;

use common::{claude, settle, tools, world};
use sm_core::handoff::{HandoffState, Trigger};
use sm_core::message::Mode;
use sm_core::{AgentKind, MessageState, State};
use sm_testkit::sim::{Act, Options, Stage, TurnPlan, World};

/// A turn whose last tool call is `sm handoff`.
fn hands_off() -> TurnPlan {
    let mut plan = tools(2, 300);
    plan.batches[1].handoffs = 1;
    plan
}

fn state(world: &World) -> Option<HandoffState> {
    let handoff = world.session().record().handoff.as_ref();
    handoff.map(|handoff| handoff.state)
}

/// Goes on until the handoff is there.
fn reaches(world: &mut World, ms: i64, wanted: HandoffState) {
    assert!(
        world.run_until(ms, |w| state(w) == Some(wanted)),
        "{:?} instead of {wanted:?}: {}",
        state(world),
        world.story()
    );
}

#[test]
fn fm01_notices_of_the_old_turn_do_not_reach_the_successors() {
    let mut w = claude().working(hands_off());
    w.run_for(20_000);
    assert_eq!(state(&w), Some(HandoffState::Done));
    let w = settle(w);
    assert_eq!(w.notices(), 0, "nobody had asked");
    assert_eq!(w.session().record().generation.0, 2);
}

#[test]
fn fm02_late_hooks_of_the_left_context_do_not_end_the_first_turn_of_the_successor() {
    let mut w = claude().working(hands_off());
    w.plan_turn(tools(1, 20_000));
    w.run_for(100);
    w.with_faults(|f| f.hook_delayed = 1000); // from now on hooks come up to 3 s late
    reaches(&mut w, 60_000, HandoffState::Prompted);
    w.faults_over();
    w.run_for(200);
    let until = w.run_until(10_000, |w| w.agent().stage == Stage::Idle);
    assert!(!until, "its turn goes on");
    assert_eq!(w.state(), &State::Working);
    settle(w);
}

#[test]
fn fm03_the_first_stop_of_the_successor_counts() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        let m = w.send("for the successor", Mode::Sequential);
        reaches(&mut w, 30_000, HandoffState::Done);
        assert!(w.run_until(5_000, |w| w.state() == &State::Idle));
        let w = settle(w);
        assert_eq!((w.arrived(m), w.word(m)), (1, "consumed"));
    }
}

#[test]
fn fm19_a_handoff_survives_the_daemon_that_scheduled_it() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        reaches(&mut w, 5_000, HandoffState::Scheduled);
        w.crash();
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Done));
        assert_eq!(w.session().record().generation.0, 2);
    }
}

#[test]
fn fm20_the_prompt_waits_for_the_proof_of_a_slow_clear() {
    for seed in 0..12 {
        let mut options = Options::calm(AgentKind::Claude);
        options.trace = true;
        let mut w = World::new(seed, options).working(hands_off());
        w.with_faults(|f| f.clear_slow = 1000);
        reaches(&mut w, 120_000, HandoffState::Done); // the world fails on a prompt in the old context
        w.faults_over();
        let w = settle(w);
        assert_eq!(w.said().len(), 1, "{:?}", w.said());
    }
}

#[test]
fn fm20_without_any_hook_the_clear_is_proven_by_other_evidence() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        reaches(&mut w, 5_000, HandoffState::Scheduled);
        w.with_faults(|f| f.hook_lost = 1000);
        reaches(&mut w, 120_000, HandoffState::Prompted);
        w.faults_over();
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Done));
    }
}

#[test]
fn fm21_a_prompt_that_is_never_taken_ends_in_the_old_conversation_and_is_told() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        w.with_faults(|f| f.prompt_vanishes = 1000);
        reaches(&mut w, 300_000, HandoffState::RolledBack);
        w.faults_over();
        let w = settle(w);
        assert_eq!(w.agent().current, 0, "the old conversation");
        assert_eq!(w.said().first().map(String::as_str), Some("work"));
    }
}

#[test]
fn a_successor_that_drops_the_document_is_given_it_again_or_not_kept() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        w.with_faults(|f| f.document_dropped = 1000);
        // told where it is, the successor does not have it: the next way
        let stopped = |w: &World| {
            let handoff = w.session().record().handoff.as_deref();
            handoff.is_some_and(|h| h.steps.iter().any(|s| s.text.contains("is stopped")))
        };
        assert!(w.run_until(300_000, stopped));
        w.faults_over();
        let w = settle(w);
        let handoff = w.session().record().handoff.as_deref().unwrap();
        assert_eq!(handoff.state, HandoffState::Done, "{:?}", handoff.steps);
        let proof = handoff.in_context.and_then(|document| document.proof);
        assert!(proof.is_some(), "{:?}", handoff.steps);

        let mut w = world(agent).working(hands_off());
        w.with_faults(|f| f.document_dropped = 1000);
        reaches(&mut w, 300_000, HandoffState::RolledBack);
    }
}

#[test]
fn fm22_killed_between_the_clear_and_the_prompt() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        assert!(w.run_until(20_000, |w| w.agent().current == 1), "cleared");
        w.crash();
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Done));
        assert_eq!(w.stats().clears, 1, "never a second clear");
    }
}

#[test]
fn fm26_two_handoffs_of_one_session_each_have_their_own_document() {
    let mut w = claude().working(hands_off());
    reaches(&mut w, 30_000, HandoffState::Done);
    w.run_for(2_000);
    let second = w.hand_off(Trigger::Person);
    let w = settle(w);
    let prompt = format!("Read /doc/{second}.md and continue from where you left off.");
    let said = w.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with(&prompt), "{said:?}");
    let document = format!("the words of {second} end here.");
    assert!(said[0].ends_with(&document), "{said:?}");
    assert_eq!(w.session().record().generation.0, 3);
}

#[test]
fn fm27_only_the_agents_own_process_is_stopped_for_a_relaunch() {
    let mut w = claude().working(hands_off());
    w.with_faults(|f| f.clear_ignored = 1000);
    reaches(&mut w, 60_000, HandoffState::Done);
    w.faults_over();
    let w = settle(w);
    assert_eq!((w.stats().stops, w.session().record().launch), (1, 2));
}

#[test]
fn fm28_what_was_sent_before_and_during_goes_to_the_successor_once_and_in_order() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        reaches(&mut w, 5_000, HandoffState::Scheduled);
        let sent: Vec<usize> = [Mode::Sequential, Mode::Important, Mode::Sequential]
            .into_iter()
            .enumerate()
            .map(|(at, mode)| {
                w.run_for(150);
                w.send(&format!("text {at};"), mode)
            })
            .collect();
        let w = settle(w);
        let order = w.said().concat();
        for m in sent {
            assert_eq!((w.arrived(m), w.word(m)), (1, "consumed"));
        }
        let place = |at: usize| order.find(&format!("text {at};"));
        assert!(place(0).is_some() && place(0) < place(1) && place(1) < place(2));
        assert!(order.starts_with("Read /doc/"), "{order}");
    }
}

#[test]
fn fm28_an_urgent_message_does_not_overtake_the_prompt_of_the_successor() {
    let mut w = claude().working(hands_off());
    reaches(&mut w, 5_000, HandoffState::Scheduled);
    let m = w.send("at once", Mode::Urgent);
    reaches(&mut w, 30_000, HandoffState::Prompted);
    assert!(matches!(w.receipt(m), Some(MessageState::Held { .. })));
    assert_eq!(
        w.stats().escapes,
        0,
        "the turn that hands off is not interrupted"
    );
    let w = settle(w);
    assert_eq!(w.arrived(m), 1);
}

#[test]
fn fm33_automatic_handoffs_do_not_follow_each_other_without_work() {
    let mut w = claude().working(tools(1, 100));
    w.run_for(2_000);
    w.hand_off(Trigger::Threshold);
    reaches(&mut w, 30_000, HandoffState::Done);
    for _ in 0..10 {
        w.run_for(6_000);
        w.hand_off(Trigger::Threshold);
    }
    let w = settle(w);
    assert_eq!((w.stats().handoffs, w.stats().handoffs_refused), (1, 10));
    assert_eq!(w.session().record().generation.0, 2);
}

#[test]
fn fm35_a_context_that_somebody_else_began_is_not_left_again() {
    let mut w = claude().working(hands_off());
    reaches(&mut w, 5_000, HandoffState::Scheduled);
    w.act(Act::Clear); // queued: it runs when the turn is over
    let w = settle(w);
    assert_eq!(state(&w), Some(HandoffState::Done));
    assert_eq!((w.stats().clears, w.agent().current), (0, 1));
}

#[test]
fn fm36_a_dialog_at_the_end_of_the_turn_gets_no_key_and_the_handoff_waits() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        reaches(&mut w, 5_000, HandoffState::Scheduled);
        assert!(w.run_until(5_000, |w| w.agent().stage == Stage::Idle));
        w.act(Act::Question);
        w.run_for(60_000);
        assert_eq!((w.stats().clears, w.stats().enters), (0, 0));
        assert!(matches!(w.state(), State::Waiting(_)), "{:?}", w.state());
        w.act(Act::Answer { approve: true });
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Done));
    }
}

#[test]
fn fm08_a_draft_is_put_aside_and_comes_back_or_is_waited_for() {
    for (agent, waits) in [(AgentKind::Claude, false), (AgentKind::Codex, true)] {
        let mut w = world(agent).idle();
        w.act(Act::Type("please DO NOT delete the prod".into()));
        w.plan_turn(hands_off());
        w.prompt("work");
        w.run_for(60_000);
        assert_eq!(w.composer(), "please DO NOT delete the prod");
        let done = state(&w) == Some(HandoffState::Done);
        assert_eq!(done, !waits, "{:?}", state(&w));
        w.act(Act::Submit);
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Done));
    }
}

#[test]
fn a_person_who_ends_the_agent_or_the_session_gets_nothing_relaunched() {
    for kills in [false, true] {
        let mut w = claude().working(hands_off());
        reaches(&mut w, 5_000, HandoffState::Scheduled);
        match kills {
            true => w.act(Act::Kill),
            false => w.exit_agent(),
        }
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Abandoned), "kill: {kills}");
        assert_eq!(
            (w.state(), w.session().record().launch),
            (&State::Exited, 1)
        );
    }
}

#[test]
fn a_lost_terminal_keeps_the_handoff_for_the_restore() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut w = world(agent).working(hands_off());
        reaches(&mut w, 5_000, HandoffState::Scheduled);
        w.act(Act::TerminalGone);
        w.run_for(30_000);
        assert_eq!(w.state(), &State::Lost);
        assert!(w.session().record().open_handoff().is_some());
        w.act(Act::Restore);
        let w = settle(w);
        assert_eq!(state(&w), Some(HandoffState::Done));
        assert_eq!(w.session().record().generation.0, 2);
    }
}

#[test]
fn a_handoff_whose_prompt_nobody_recognises_is_told_and_goes_on_with_a_person() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        for act in [Act::Submit, Act::Erase] {
            let mut w = world(agent).working(hands_off());
            w.run_until(30_000, |w| state(w) == Some(HandoffState::Scheduled));
            w.with_faults(|f| f.draws_otherwise = 1000);
            let told = |w: &World| w.story().contains("the composer shows something else");
            assert!(w.run_until(60_000, told), "{}", w.story());
            w.faults_over();
            w.act(act);
            reaches(&mut w, 120_000, HandoffState::Done);
            settle(w);
        }
    }
}
