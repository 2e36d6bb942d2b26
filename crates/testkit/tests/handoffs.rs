//! Schedules of the simulation with handoffs: many random ones, every crash point of whole handoffs,
//! and proofs that the checks notice a broken driver.
//!
//! `SM_SIM_SEED=n` replays one schedule (test `replay`); `SM_SIM_SCHEDULES=n` is how many `soak` plays,
//! from `SM_SIM_SEED` on.

#![expect(clippy::unwrap_used, reason = "tests")]

#[macro_use]
mod common;

use common::message;
use sm_core::handoff::{Carrier, HandoffState, Trigger};
use sm_core::message::Mode;
use sm_core::{AgentKind, HandoffId};
use sm_testkit::sim::{Act, Batch, Mutation, Options, TurnPlan, World};

const OF_SEED: common::OfSeed = Options::handoffs_of_seed;

// In all at least 50,000 schedules have a handoff.
schedules! {
    OF_SEED, 3_250 each;
    soaked: handed_off;
    |stats, count| {
        assert!(stats.with_handoff >= 3_130, "{stats:?}");
        assert!(stats.handed_off > count && stats.crashes > count, "{stats:?}");
        assert!(stats.stops > count / 40 && stats.stashes > count / 8, "{stats:?}");
        assert!(stats.abandoned > count / 100, "{stats:?}");
        assert!(stats.given_again > count / 100, "{stats:?}");
    }
    handoffs_1: 0;
    handoffs_2: 1;
    handoffs_3: 2;
    handoffs_4: 3;
    handoffs_5: 4;
    handoffs_6: 5;
    handoffs_7: 6;
    handoffs_8: 7;
    handoffs_9: 8;
    handoffs_10: 9;
    handoffs_11: 10;
    handoffs_12: 11;
    handoffs_13: 12;
    handoffs_14: 13;
    handoffs_15: 14;
    handoffs_16: 15;
}

/// The session was ended between the Enter of the successor's prompt and the hook that proves it.
#[test]
fn found_by_soaking_111853() {
    let stats = common::play(OF_SEED, 111_853, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// A paste that was ordered for a process that crashed came into the next one, which had the same prompt
/// as its argument.
#[test]
fn found_by_soaking_1013763() {
    let stats = common::play(OF_SEED, 1_013_763, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// A person cleared the context before sm did, whose clear had no effect in the next one.
#[test]
fn found_by_soaking_1036621() {
    let stats = common::play(OF_SEED, 1_036_621, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

// ── the checks can fail

#[test]
fn a_clear_that_is_done_again_after_a_crash_is_noticed() {
    let what = noticed(Mutation::ClearAgain, 2_000);
    assert!(what.contains("clears"), "{what}");
}

#[test]
fn a_prompt_before_the_proof_of_the_clear_is_noticed() {
    noticed(Mutation::ClearBelieved, 500);
}

#[test]
fn a_message_that_is_not_frozen_is_noticed() {
    let what = noticed(Mutation::FreezeIgnored, 500);
    assert!(what.contains("arrived"), "{what}");
}

#[test]
fn a_stash_over_a_stash_is_noticed() {
    let what = noticed(Mutation::StashUnseen, 5_000);
    assert!(what.contains("stashed draft was destroyed"), "{what}");
}

#[test]
fn a_handoff_that_is_only_in_memory_is_noticed() {
    let what = noticed(Mutation::HandoffInMemory, 100);
    assert!(what.contains("not in the journal"), "{what}");
}

#[test]
fn a_hook_that_is_believed_without_the_record_is_noticed() {
    let what = noticed(Mutation::HookIsProof, 500);
    assert!(what.contains("0 successors took its prompt"), "{what}");
}

#[test]
fn a_document_whose_text_does_not_go_along_is_noticed() {
    let what = noticed(Mutation::DocumentLeftOut, 100);
    assert!(what.contains("0 successors took its prompt"), "{what}");
}

#[test]
fn effects_before_the_journal_are_noticed() {
    noticed(Mutation::JournalAfterEffects, 1_000);
}

// ── every crash point of whole handoffs

/// The agent hands off with its last tool call; messages come before and after.
fn hands_off(world: World) -> World {
    let tool = |handoffs| Batch {
        tool_ms: 300,
        handoffs,
        ..Batch::default()
    };
    let plan = TurnPlan {
        batches: [tool(0), tool(1)].into(),
        think_ms: 100,
        api_error: false,
    };
    let mut world = world;
    world.plan_turn(plan);
    world.prompt("work");
    world.run_for(60);
    world.send_as(message(0, Mode::Sequential));
    world.run_for(900);
    world.send_as(message(1, Mode::Important));
    world
}

fn latest(world: &World) -> HandoffId {
    let handoff = world.session().record().handoff.as_ref();
    handoff
        .unwrap_or_else(|| panic!("none: {}", world.story()))
        .id
        .clone()
}

fn with_every_crash(
    agent: AgentKind,
    scene: impl Fn(World) -> World,
    check: impl Fn(&World, &HandoffId),
) {
    let check = |world: &World| check(world, &latest(world));
    common::with_every_crash(&Options::calm(agent), World::idle, scene, 60, check);
}

fn arrived_at_the_successor(world: &World, id: &HandoffId) {
    let handoff = world.handoff(id).unwrap();
    assert_eq!(handoff.state, HandoffState::Done, "{:?}", handoff.steps);
    assert_eq!(world.wakes(id), 1);
    assert_eq!(handoff.to, Some(world.session().record().generation));
    let most = match world.agent().kind {
        AgentKind::Claude => 1,
        // a prompt of which nobody knows whether it was taken is given to a new process
        AgentKind::Codex | AgentKind::Native | AgentKind::Generic => 2,
    };
    assert!(world.agent().current <= most, "{}", world.story());
    for m in [0, 1] {
        assert_eq!((world.arrived(m), world.word(m)), (1, "consumed"), "m{m}");
    }
}

#[test]
fn killed_at_every_point_of_a_handoff() {
    with_every_crash(AgentKind::Claude, hands_off, arrived_at_the_successor);
}

#[test]
fn killed_at_every_point_of_a_handoff_that_is_proven_with_the_prompt() {
    with_every_crash(AgentKind::Codex, hands_off, arrived_at_the_successor);
}

#[test]
fn killed_at_every_point_of_a_handoff_around_a_draft() {
    let scene = |world: World| {
        let mut world = world;
        world.act(Act::Type("half a thought".into()));
        let mut world = hands_off(world);
        world.act_later(40_000, Act::Submit);
        world
    };
    with_every_crash(AgentKind::Claude, scene, |world, id| {
        arrived_at_the_successor(world, id);
        let said = world.said().to_vec();
        assert!(
            said.contains(&"half a thought".to_string()),
            "{said:?} {}",
            world.story()
        );
    });
}

#[test]
fn killed_at_every_point_of_a_handoff_whose_clear_has_no_effect() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let scene = |world: World| {
            let mut world = hands_off(world);
            world.with_faults(|f| f.clear_ignored = 1000);
            world.run_for(60_000);
            world
        };
        with_every_crash(agent, scene, |world, id| {
            let handoff = world.handoff(id).unwrap();
            assert_eq!(handoff.state, HandoffState::Done, "{:?}", handoff.steps);
            assert_eq!(handoff.carrier, Carrier::Relaunch, "{:?}", handoff.steps);
            assert_eq!((world.arrived(0), world.arrived(1)), (1, 1));
        });
    }
}

#[test]
fn killed_at_every_point_of_a_handoff_that_goes_back() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let scene = |world: World| {
            let mut world = hands_off(world);
            world.with_faults(|f| f.prompt_vanishes = 1000);
            world.run_for(300_000);
            world
        };
        with_every_crash(agent, scene, |world, id| {
            let handoff = world.handoff(id).unwrap();
            assert_eq!(
                handoff.state,
                HandoffState::RolledBack,
                "{:?}",
                handoff.steps
            );
            assert_eq!((world.wakes(id), world.agent().current), (0, 0));
            assert_eq!((world.arrived(0), world.arrived(1)), (1, 1));
        });
    }
}

#[test]
fn killed_at_every_point_of_a_handoff_that_a_hook_of_the_users_blocks() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        for blocked in [true, false] {
            let scene = |world: World| {
                let mut world = hands_off(world);
                world.with_faults(|f| match blocked {
                    true => f.prompt_blocked = 1000,
                    false => f.document_unsaid = 1000,
                });
                world.run_for(300_000);
                world
            };
            with_every_crash(agent, scene, |world, id| {
                let handoff = world.handoff(id).unwrap();
                let state = handoff.state;
                assert_eq!(state, HandoffState::RolledBack, "{:?}", handoff.steps);
                assert_eq!((world.wakes(id), world.agent().current), (0, 0));
                assert_eq!((world.arrived(0), world.arrived(1)), (1, 1));
            });
        }
    }
}

#[test]
fn killed_at_every_point_of_a_persons_handoff_of_an_agent_that_crashes() {
    let scene = |world: World| {
        let mut world = world;
        world.prompt("old work");
        world.run_for(3_000);
        world.hand_off(Trigger::Person);
        world.run_until(20_000, |w| w.session().record().handoff.is_some());
        world.run_for(20);
        world.crash_agent();
        world
    };
    with_every_crash(AgentKind::Claude, scene, |world, id| {
        let handoff = world.handoff(id).unwrap();
        assert_eq!(handoff.state, HandoffState::Done, "{:?}", handoff.steps);
        assert_eq!(world.wakes(id), 1);
    });
}
