//! What sm remembers: sessions, messages, events, handoffs and effects still to be done.
//!
//! The store holds plain rows and knows nothing of the state machines: snapshots, metadata and
//! effects are opaque JSON to it. Everything that belongs together goes in as one [`Commit`], which
//! is written whole or not at all, and may be repeated when its outcome is unknown.
//!
//! * [`Store`] and [`Reader`] are the contract; [`SqliteStore`] is the real thing, [`MemoryStore`]
//!   its twin for tests and simulation. Both pass the same contract suite (`tests/contract.rs`).
//! * [`Writer`] is the one thread that owns a store and groups waiting commits into one transaction.
//!
//! This crate must never interpret a row, read a clock, or delete a database file: a damaged one is
//! set aside and reported.

mod error;
mod memory;
mod rows;
mod sqlite;
mod traits;
mod writer;

pub use error::StoreError;
pub use memory::MemoryStore;
pub use rows::{
    Commit, EventRow, HandoffRow, Loaded, MessageChange, MessageHead, MessageRow, MessageUpdate,
    OutboxRow, Prune, Pruned, SessionRow, Which,
};
pub use sqlite::{Durability, OpenNotice, OpenOptions, Opened, SqliteReader, SqliteStore};
pub use traits::{Reader, Store};
pub use writer::{Writer, WriterHandle};
