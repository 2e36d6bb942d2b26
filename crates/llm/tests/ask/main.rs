//! Every protocol against the scripted model, over a real connection.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod common;
