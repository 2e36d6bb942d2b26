//! The agent against the scripted model, through the door that every front end uses.
#![expect(clippy::unwrap_used, reason = "tests")]

mod faults;
mod items;
#[path = "../common/sum.rs"]
mod sum;
mod support;
mod task;
mod turns;
