//! Every parser of what others write, fed with what nobody would write: real recordings, cut,
//! flipped, spliced, repeated. Nothing may panic, hang or take memory out of proportion.
//!
//! `SM_FUZZ_SECONDS` is how long each target runs (1), `SM_FUZZ_SEED` and `SM_FUZZ_FROM` repeat
//! what a failure has printed.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod agent;
mod corpus;
mod documents;
mod harness;
mod http;
mod ledger;
mod memory;
mod streams;
mod targets;
