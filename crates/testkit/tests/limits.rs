//! Schedules of the simulation in which the provider refuses turns for a while: many random ones with
//! crashes and suspended machines, every crash point of a limit, and proofs that the checks notice a
//! broken driver.
//!
//! `SM_SIM_SEED=n` replays one schedule (test `replay`); `SM_SIM_SCHEDULES=n` is how many `soak` plays,
//! from `SM_SIM_SEED` on.

#[macro_use]
mod common;

use common::{message, tools};
use sm_core::AgentKind;
use sm_core::message::Mode;
use sm_testkit::sim::{Act, Limits, Mutation, Options, World};

const OF_SEED: common::OfSeed = Options::limits_of_seed;

schedules! {
    OF_SEED, 5_000 each;
    soaked: words_to_go_on;
    |stats, count| {
        assert!(stats.limits > count && stats.words_to_go_on > count / 5, "{stats:?}");
        assert!(stats.crashes > count / 4, "{stats:?}");
    }
    limits_1: 0;
    limits_2: 1;
    limits_3: 2;
    limits_4: 3;
}

/// Enter on the word to go on went nowhere because a turn began by itself, which met another limit.
#[test]
fn found_by_soaking_1008496() {
    let stats = common::play(OF_SEED, 1_008_496, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// The spool told of a turn and its end, and only the record that this was a limit.
#[test]
fn found_by_soaking_1047017() {
    let stats = common::play(OF_SEED, 1_047_017, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// Somebody's prompt began in the moment of the limit, and was broken off at once.
#[test]
fn found_by_soaking_1046376() {
    let stats = common::play(OF_SEED, 1_046_376, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// The launcher of an agent that had ended waited for the next one of another terminal, for ever.
#[test]
fn found_by_soaking_1059558() {
    let stats = common::play(OF_SEED, 1_059_558, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// The limit of a successor held the way back, whose time ran out over somebody's draft.
#[test]
fn found_by_soaking_1028454() {
    let stats = common::play(OF_SEED, 1_028_454, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

// ── the checks can fail

#[test]
fn a_limit_that_is_only_in_memory_is_noticed() {
    let mut options = limited(AgentKind::Claude);
    options.mutation = Mutation::LimitInMemory;
    let went_on = |point| {
        let mut options = options.clone();
        options.crash_at = point;
        let mut world = refused(World::new(7, options).idle());
        world.run_for(120_000);
        world
    };
    let points = went_on(None).stats().crash_points;
    let forgotten = (1..=points).filter(|point| went_on(Some(*point)).words_to_go_on() == 0);
    assert!(forgotten.count() > 0, "{points} points");
}

#[test]
fn a_word_to_go_on_before_the_limit_is_over_is_noticed() {
    let what = noticed(Mutation::ResetMisread, 500);
    assert!(what.contains("before the limit is over"), "{what}");
}

#[test]
fn effects_before_the_journal_are_noticed() {
    noticed(Mutation::JournalAfterEffects, 1_000);
}

// ── one limit

fn limited(agent: AgentKind) -> Options {
    let mut options = Options::calm(agent);
    options.limits = Some(Limits::quiet());
    options
}

/// A turn with tools is cut off by a limit of a minute.
fn refused(mut world: World) -> World {
    world.plan_turn(tools(2, 300));
    world.plan_turn(tools(1, 300));
    world.refuse_for(60_000);
    world.prompt("work");
    assert!(world.run_until(10_000, |world| world.stats().limits > 0));
    world
}

#[test]
fn killed_at_every_point_of_a_limit_it_goes_on_once() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let scene = |world: World| {
            let mut world = refused(world.idle());
            world.send_as(message(0, Mode::Sequential));
            world.run_for(120_000);
            world
        };
        common::with_every_crash(
            &limited(agent),
            |world| world,
            scene,
            20,
            |world| {
                assert_eq!(world.words_to_go_on(), 1, "{agent:?}");
                assert_eq!(world.arrived(0), 1);
            },
        );
    }
}

#[test]
fn a_person_who_goes_on_is_not_told_again() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        let mut world = refused(World::new(7, limited(agent)).idle());
        world.run_for(20_000);
        world.act(Act::Nudge);
        world.run_for(200_000);
        let world = common::settle(world);
        // refused again, and the word to go on is about that turn
        assert!(world.stats().limits <= 2);
        assert!(world.words_to_go_on() <= 1);
    }
}
