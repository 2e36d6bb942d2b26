//! What all tests of the simulation share: worlds to direct, and schedules to play.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file uses some of them"
)]

use sm_core::AgentKind;
use sm_testkit::sim::{self, Batch, Mutation, Options, TurnPlan, World};

/// Options of a seed: one function a kind of schedule.
pub type OfSeed = fn(u64) -> Options;

/// A world in which nothing goes wrong by itself.
pub fn world(agent: AgentKind) -> World {
    let mut options = Options::calm(agent);
    options.trace = true;
    World::new(11, options)
}

pub fn claude() -> World {
    world(AgentKind::Claude)
}

/// A turn with so many tool calls of this length.
pub fn tools(count: usize, tool_ms: i64) -> TurnPlan {
    TurnPlan {
        batches: (0..count)
            .map(|_| Batch {
                tool_ms,
                ..Batch::default()
            })
            .collect(),
        think_ms: 200,
        api_error: false,
    }
}

/// Runs until nothing is left to do.
pub fn settle(world: World) -> World {
    world.settle().unwrap_or_else(|failure| panic!("{failure}"))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

pub fn play(of_seed: OfSeed, from: u64, count: u64) -> sim::Stats {
    match sim::run_many(from..from + count, of_seed) {
        Ok(stats) => stats,
        Err(failure) => panic!("{failure}"),
    }
}

/// Plays the schedule of `SM_SIM_SEED` and tells its whole story if it breaks a rule.
pub fn replay(of_seed: OfSeed) {
    let seed = number("SM_SIM_SEED").unwrap_or(1);
    let mut options = of_seed(seed);
    options.trace = true;
    match sim::run(seed, &options) {
        Ok(stats) => assert!(stats.steps > 0),
        Err(failure) => panic!("{failure:#}"),
    }
}

/// `SM_SIM_SCHEDULES` schedules from `SM_SIM_SEED` on.
pub fn soak(of_seed: OfSeed) -> sim::Stats {
    let from = number("SM_SIM_SEED").unwrap_or(1_000_000);
    let count = number("SM_SIM_SCHEDULES").unwrap_or(200_000);
    let stats = play(of_seed, from, count);
    println!("{count} schedules from seed {from}: {stats:?}");
    stats
}

/// What is said of a driver that is broken like this, within so many schedules.
pub fn noticed(of_seed: OfSeed, mutation: Mutation, within: u64) -> String {
    for seed in 0..within {
        let mut options = of_seed(seed);
        options.mutation = mutation;
        if let Err(failure) = sim::run(seed, &options) {
            assert!(!failure.trace.is_empty(), "no story");
            return failure.what;
        }
    }
    panic!("{mutation:?} was not noticed in {within} schedules");
}
