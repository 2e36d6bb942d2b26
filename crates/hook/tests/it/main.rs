//! The real program against a small server that stands for the daemon.
#![expect(clippy::unwrap_used, reason = "tests")]

mod hook;
mod installed;
mod launch;
mod log;
mod mailbox;
mod statusline;
mod support;
