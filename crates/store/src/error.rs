//! Why the store did not do what it was asked.

use std::path::PathBuf;

/// An error of the store. It can be cloned, because one failed transaction may be the answer to
/// many waiting commits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk does not take the write now (full, quota, read-only, IO error). Nothing of the
    /// commit was written; the same commit may succeed later.
    #[error("the database cannot be written: {reason}")]
    Full { reason: String },

    /// Another process holds the database for longer than we are willing to wait.
    #[error("database {} is locked by another process", path.display())]
    Locked { path: PathBuf },

    /// A newer program wrote this database. It was left as it is.
    #[error(
        "database {} has version {found}, this program knows up to version {known}: \
         use the newer program, or move the file away to start afresh",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },

    /// A database, but not one of ours. It was left as it is.
    #[error("{} is the database of another program", path.display())]
    Foreign { path: PathBuf },

    /// The database is damaged. The next open checks it in full and sets it aside.
    #[error("the database is damaged: {reason}")]
    Corrupt { reason: String },

    /// A file operation next to the database failed (create, copy, set aside).
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },

    /// A query failed for another reason.
    #[error("database query failed: {reason}")]
    Query { reason: String },

    /// The writer has been stopped; what was asked was not done.
    #[error("the store has been closed")]
    Closed,
}
