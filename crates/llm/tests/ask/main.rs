//! Every protocol against the scripted model, over a real connection.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod attempts;
mod cancel;
mod common;
mod local;
mod refusals;
