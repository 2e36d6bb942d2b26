//! The program as its users meet it: what it sends, what it prints, how it exits.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agent;
mod alias;
mod channel;
mod completions;
mod doctor;
mod eval;
mod events;
mod exits;
mod fake;
mod handoff;
mod hooks;
mod messages;
mod open;
mod places;
mod real;
mod run;
mod run_jobs;
mod sessions;
mod uninstall;
