//! The store in one SQLite file: WAL, one writing connection, further connections read only.
//!
//! The only place of the program that opens the database. It must never overwrite or delete a
//! database it cannot read (see [`open`](self)), and never leave half a commit.

mod errors;
mod files;
mod mark;
mod open;
mod prune;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

pub use open::{Durability, OpenNotice, OpenOptions, Opened};
pub use read::SqliteReader;
pub use write::SqliteStore;
