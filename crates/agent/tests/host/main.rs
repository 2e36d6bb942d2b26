//! The agent against the scripted model, through the door that every front end uses.
#![expect(clippy::unwrap_used, reason = "tests")]

mod faults;
mod items;
mod support;
mod task;
mod turns;
