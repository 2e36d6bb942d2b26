//! The tools on real files and real processes.

#![expect(clippy::unwrap_used, reason = "tests")]

mod arguments;
mod files;
mod running;
mod searching;
mod support;
