//! Deterministic simulation of the session core: one session, a simulated agent, store, clock and
//! people, with faults injected from a seed.
//!
//! No threads, no real time, no randomness but the seed's: the same seed gives the same schedule.
//! It never decides anything for the session; it only plays the world around it and checks what the
//! session did to it.
//!
//! The driver keeps the order a daemon has to keep:
//! - a step is journaled before its effects; what is in memory is gone after a crash;
//! - a probe reads the transcript first, then status, title and screen; facts come before evidence;
//! - before a hook of another conversation is handed over, the old transcript is read to its end, and
//!   after a restart every record of `Session::records_to_read` is, oldest first;
//! - a guard is compared and its key pressed in one step;
//! - a waiter writes its text only after `Mailed { taken: true }` was journaled;
//! - that a terminal is gone is told only as long as it is the session's;
//! - what the launcher reports (started, exited) waits in the spool for the next daemon;
//! - a launch that is asked for again after a crash is the same one, by its number;
//! - the log program of a terminal repeats a report until somebody has heard it;
//! - a sample that nobody took is kept in the place of the one before it, and told among the events of
//!   the spool by its time.
//!
//! A composer may show something else than was pasted for as long as it stands there, and an agent
//! may strip characters of what it takes.
//!
//! Not played: machines that are suspended within a delivery or a handoff, reports of older scripts, windows of several sizes, shell mode, texts that are spilled to files, full disks, and
//! two people. A person never replaces a pasted text by one of
//! the same length between the look and the key: the guard could not tell. An agent without a status
//! file whose hooks are all lost after an unheard `/clear`, while a person submits our text, gets it
//! twice; such schedules are rarer than the default faults reach.

mod agent;
mod check;
mod crash;
mod daemon;
mod directed;
mod effects;
mod handoff;
mod handoff_check;
mod hooks;
mod life;
mod limits;
mod monitor;
mod monitor_check;
mod options;
mod person;
mod rng;
mod submit;
mod terminal;
mod trace;
mod turn;
mod watched;
mod world;

pub use agent::{Agent, Batch, Stage, TurnPlan};
pub use limits::Limits;
pub use monitor::Usage;
pub use options::{Faults, Mutation, Options, Person};
pub use rng::Rng;
pub use trace::{Failure, Stats};
pub use world::{Act, World};

/// Plays the schedule of a seed. A failure is played again for its trace.
pub fn run(seed: u64, options: &Options) -> Result<Stats, Box<Failure>> {
    let mut world = World::new(seed, options.clone());
    world.play();
    world.finish();
    match world.failure() {
        None => Ok(world.stats().clone()),
        Some(failure) if options.trace => Err(Box::new(failure)),
        Some(_) => {
            let mut traced = options.clone();
            traced.trace = true;
            let mut again = World::new(seed, traced);
            again.play();
            again.finish();
            Err(Box::new(again.failure().unwrap_or_else(|| Failure {
                seed,
                test: options.test(),
                what: "failed once and not again: the simulation is not deterministic".into(),
                trace: Vec::new(),
            })))
        }
    }
}

/// Plays many schedules; stops at the first that breaks a rule.
pub fn run_many(
    seeds: impl IntoIterator<Item = u64>,
    options: impl Fn(u64) -> Options,
) -> Result<Stats, Box<Failure>> {
    let mut total = Stats::default();
    for seed in seeds {
        total.add(&run(seed, &options(seed))?);
    }
    Ok(total)
}
