//! Our hooks in the settings of others: put in, and taken out to the byte.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claude;
mod codex;

const PROGRAM: &str = "/opt/s m/sm-hook";
