//! The agent in a real terminal, as a person sees it: tmux around it, the scripted model behind it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod commands;
mod handoff;
#[path = "../common/sum.rs"]
mod sum;
mod support;
mod task;
mod terminal;
