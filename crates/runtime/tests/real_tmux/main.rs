//! The runtime against the tmux that is installed. Every test has a server of its own in a
//! directory of its own, and ends it, also when it fails.
#![expect(clippy::unwrap_used, reason = "tests")]

mod connection;
mod events;
mod fixture;
mod life;
mod screen;
mod survival;
mod typing;
