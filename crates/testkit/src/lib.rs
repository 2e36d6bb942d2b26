//! What tests, the demo and benchmarks stand on: a scripted model server, a fake agent program,
//! the pinned real agent programs, and clean environments.
//!
//! It is never part of what gets installed, and never touches the real home folder.

pub mod clean;
pub mod fake;
pub mod model;
pub mod person;
pub mod process;
pub mod real;
pub mod sessions;
pub mod sim;
pub mod texts;
pub mod tmux;
mod wait;

pub use wait::wait_until;
