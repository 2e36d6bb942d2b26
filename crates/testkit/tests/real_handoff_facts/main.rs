//! What a handoff relies on, seen on the real programs: how they clear, keep drafts, come back and
//! prove it. A new version that behaves otherwise fails here first. `docs/agents.md` says the same
//! in words.

#![expect(clippy::unwrap_used, reason = "tests")]

mod claude;
mod codex;
mod driver;
