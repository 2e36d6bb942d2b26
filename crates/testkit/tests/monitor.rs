//! Schedules of the simulation with samples of how full the context is, and compactions: many random
//! ones, every crash point of a compaction, and proofs that the checks notice a broken driver.
//!
//! `SM_SIM_SEED=n` replays one schedule (test `replay`); `SM_SIM_SCHEDULES=n` is how many `soak` plays,
//! from `SM_SIM_SEED` on.

#[macro_use]
mod common;

use common::{message, tools};
use sm_core::AgentKind;
use sm_core::message::Mode;
use sm_testkit::sim::{Act, Mutation, Options, Usage, World};

const OF_SEED: common::OfSeed = Options::monitor_of_seed;

/// Codex, cleared by a person unheard; what was pasted was submitted there, and the agent was gone
/// before the daemon came back.
#[test]
fn found_by_soaking_1075070() {
    let stats = common::play(OF_SEED, 1_075_070, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

/// A prompt's hook was spooled; the daemon that had heard of the next compaction died, and the one
/// after it took the prompt for the end of that compaction.
#[test]
fn found_by_soaking_202582() {
    let stats = common::play(OF_SEED, 202_582, 1);
    assert!(stats.steps > 0, "{stats:?}");
}

schedules! {
    OF_SEED, 2_500 each;
    soaked: alerts;
    |stats, count| {
        assert!(stats.alerts > count / 2 && stats.alerts_said > count / 3, "{stats:?}");
        assert!(stats.compactions > count / 8 && stats.crashes > count / 2, "{stats:?}");
        assert!(stats.held_up > 0 && stats.recoveries > 0, "{stats:?}");
    }
    monitor_1: 0;
    monitor_2: 1;
    monitor_3: 2;
    monitor_4: 3;
}

// ── the checks can fail

#[test]
fn latches_that_are_only_in_memory_are_noticed() {
    let what = noticed(Mutation::GaugeInMemory, 1_000);
    assert!(what.contains("told") || what.contains("reading"), "{what}");
}

#[test]
fn samples_that_count_from_their_arrival_are_noticed() {
    let what = noticed(Mutation::SampledOnArrival, 500);
    assert!(what.contains("nobody made"), "{what}");
}

#[test]
fn samples_of_another_context_are_noticed() {
    let what = noticed(Mutation::SampleOfAnybody, 3_000);
    assert!(what.contains("and reads"), "{what}");
}

#[test]
fn compactions_that_are_not_read_are_noticed() {
    let what = noticed(Mutation::BoundaryUnread, 2_000);
    assert!(what.contains("compacti"), "{what}");
}

#[test]
fn typing_into_an_agent_that_compacts_is_noticed() {
    let what = noticed(Mutation::CompactionHidden, 5_000);
    assert!(what.contains("compact"), "{what}");
}

#[test]
fn effects_before_the_journal_are_noticed() {
    noticed(Mutation::JournalAfterEffects, 1_000);
}

// ── every crash point of a compaction

fn watched(agent: AgentKind) -> Options {
    let mut options = Options::calm(agent);
    options.usage = Some(Usage::quiet());
    options
}

/// A full context is told of, compacted inside its turn, fills again, and is told of again.
fn compacts(world: World) -> World {
    let mut plan = tools(6, 300);
    plan.batches[2].compact = true;
    let mut world = world.working(plan);
    world.fill_to(70);
    world.send_as(message(0, Mode::Sequential));
    world.run_until(4_000, World::is_compacting);
    world.send_as(message(1, Mode::Important));
    world.run_until(6_000, |w| !w.is_compacting());
    world.run_for(100);
    world.fill_to(55);
    world
}

fn with_every_crash(agent: AgentKind, scene: impl Fn(World) -> World, check: impl Fn(&World)) {
    common::with_every_crash(&watched(agent), |world| world, scene, 60, check);
}

#[test]
fn killed_at_every_point_of_a_compaction() {
    for agent in [AgentKind::Claude, AgentKind::Codex] {
        with_every_crash(agent, compacts, |world| {
            assert_eq!(world.session().record().compactions, 1, "{}", world.story());
            assert_eq!(
                (world.told(65), world.told(50)),
                (1, 1),
                "{}",
                world.story()
            );
            for m in [0, 1] {
                assert_eq!((world.arrived(m), world.word(m)), (1, "consumed"), "m{m}");
            }
        });
    }
}

#[test]
fn killed_at_every_point_of_a_compaction_whose_hooks_are_all_lost() {
    let scene = |world: World| {
        let mut world = world.idle();
        world.prompt("work");
        world.run_for(5_000);
        world.fill_to(70);
        world.run_for(3_000);
        world.with_faults(|f| f.hook_lost = 1000);
        world.act(Act::Compact);
        world.run_until(9_000, |w| !w.is_compacting());
        world.run_for(50);
        world.faults_over();
        world.prompt("go on");
        world
    };
    with_every_crash(AgentKind::Claude, scene, |world| {
        assert_eq!(world.session().record().compactions, 1, "{}", world.story());
        assert_eq!(
            (world.told(65), world.told(50)),
            (1, 0),
            "{}",
            world.story()
        );
    });
}

// ── directed

#[test]
fn a_falling_value_arms_nothing_and_an_old_sample_moves_nothing() {
    let mut world = World::new(1, watched(AgentKind::Claude)).working(tools(30, 300));
    for percent in [51, 20, 52, 64, 10, 66, 30, 90] {
        world.fill_to(percent);
        world.run_for(500);
    }
    assert_eq!((world.told(50), world.told(65)), (1, 1));
    let reading = world.session().record().usage.clone();
    let old = sm_core::Timestamp(world.now().0 - 3_000);
    world.feed_sample(0, 99.0, old);
    assert_eq!(world.session().record().usage, reading);
    let world = world.settle().unwrap();
    assert_eq!(world.alerts_said(), 2);
}

#[test]
fn one_sample_over_both_tells_the_critical_one_only() {
    let mut world = World::new(1, watched(AgentKind::Claude)).working(tools(10, 300));
    world.fill_to(80);
    world.run_for(2_000);
    assert_eq!((world.told(50), world.told(65)), (0, 1));
    world.fill_to(55);
    world.run_for(2_000);
    assert_eq!((world.told(50), world.told(65)), (0, 1), "both are latched");
    assert_eq!(world.settle().unwrap().alerts_said(), 1);
}

#[test]
fn compactions_heard_of_while_the_daemon_was_dead_count_once_each() {
    let mut world = World::new(1, watched(AgentKind::Claude)).idle();
    world.prompt("work");
    world.run_for(4_000);
    world.fill_to(70);
    world.run_for(1_000);
    world.crash();
    world.act(Act::Compact);
    world.run_until(9_000, |w| !w.is_compacting());
    world.fill_to(52);
    let world = world.settle().unwrap();
    assert_eq!(world.session().record().compactions, 1);
    assert_eq!(
        (world.told(65), world.told(50)),
        (1, 1),
        "{}",
        world.story()
    );
}
