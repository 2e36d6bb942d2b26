//! A small scripted terminal program that behaves like Claude Code in everything `sm` relies on:
//! command line, hooks and background hooks, status line, status file, transcript, screen,
//! composer, title, `/clear`, `/compact`, `/exit`, Escape, permission dialog, queueing.
//!
//! Its "model" is built in: the lines of a prompt say what the turn does ([`script`]). Faults are
//! switched on by `FAKE_AGENT` ([`options`]). Everything the "model" is given is recorded in
//! `$FAKE_AGENT_LOG`, so that tests can assert that a text arrived exactly once.
//!
//! Two threads share the work: the screen's ([`ui`]), which owns composer and terminal and never
//! waits for a hook; and the agent's ([`agent`], [`turn`]), which does one job after the other.
//! Keys, composer, view, payloads and records are pure.
//!
//! It must never talk to a network, and never write outside its home, its working directory and
//! what its prompts tell it to run.

mod agent;
mod answer;
mod composer;
mod files;
mod hooks;
mod keys;
mod messages;
mod options;
mod painter;
mod payload;
mod records;
mod script;
mod settings;
mod status_line;
mod terminal;
mod tool;
mod turn;
mod ui;
mod view;

pub use ui::run;

/// The version it says it is.
pub(crate) const VERSION: &str = "2.1.197";
