//! What all tests of the simulation share: worlds to direct, and schedules to play.

#![allow(
    dead_code,
    unused_macros,
    clippy::unwrap_used,
    clippy::allow_attributes,
    reason = "each test file uses some of them"
)]

use sm_core::message::{Mode, NewMessage, Sender};
use sm_core::{AgentKind, MessageId};
use sm_testkit::sim::{self, Batch, Mutation, Options, TurnPlan, World};

/// Options of a seed: one function a kind of schedule.
pub type OfSeed = fn(u64) -> Options;

/// The tests that every kind of schedule has: one of a seed, as many as asked, the usual ones in parts
/// that run side by side, and drivers that are broken on purpose.
macro_rules! schedules {
    (
        $of_seed:expr, $count:literal each;
        soaked: $soaked:ident;
        |$stats:ident, $n:ident| $check:block
        $($name:ident: $part:expr;)*
    ) => {
        #[test]
        fn replay() {
            common::replay($of_seed);
        }

        #[test]
        #[ignore = "as long as asked: SM_SIM_SCHEDULES"]
        fn soak() {
            assert!(common::soak($of_seed).$soaked > 0);
        }

        $(#[test]
        fn $name() {
            let $n: u64 = $count;
            let $stats = common::play($of_seed, $part * $n, $n);
            println!("{:?}", $stats);
            $check
        })*

        fn noticed(mutation: Mutation, within: u64) -> String {
            common::noticed($of_seed, mutation, within)
        }
    };
}

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

/// A person's message that can be told from the others.
pub fn message(no: u32, mode: Mode) -> NewMessage {
    NewMessage {
        id: MessageId::new(format!("m{no}")).unwrap(),
        from: Sender::Person,
        text: format!("message <{no}>"),
        mode,
        raw: false,
        notify: true,
        expires_at: None,
    }
}

/// Plays the scene once undisturbed, then once for every point at which the daemon can die after
/// `begin`. `many`: fewer points would mean nothing.
pub fn with_every_crash(
    options: &Options,
    begin: impl Fn(World) -> World,
    scene: impl Fn(World) -> World,
    many: u64,
    check: impl Fn(&World),
) {
    let world = begin(World::new(7, options.clone()));
    let first = world.stats().crash_points;
    let world = scene(world)
        .settle()
        .unwrap_or_else(|failure| panic!("undisturbed: {failure}"));
    check(&world);
    let points = world.stats().crash_points;
    assert!(
        points > first + many,
        "{points} points are too few to mean anything"
    );
    for point in first + 1..=points {
        let mut options = options.clone();
        options.crash_at = Some(point);
        options.trace = true;
        match scene(begin(World::new(7, options))).settle() {
            Ok(world) => {
                println!("killed at point {point} of {points}");
                check(&world);
            }
            Err(failure) => panic!("killed at point {point} of {points}: {failure}"),
        }
    }
}
