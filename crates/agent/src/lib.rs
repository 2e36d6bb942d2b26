//! sm's own coding agent: its session files, its loop, its tools and its terminal.
//!
//! It is a program of its own (`sm-agent`, which `sm agent` starts), so that neither `sm` nor its
//! daemon carries what talks to models.

pub mod approval;
pub mod args;
pub mod config;
pub mod generate;
pub mod handoff;
pub mod headless;
pub mod host;
pub mod managed;
mod model_names;
pub mod models;
pub mod prompt;
pub mod session;
pub mod setup;
pub mod slash;
pub mod templates;
pub mod tools;
pub mod tui;
pub mod turn;
mod wish;
