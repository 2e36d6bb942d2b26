//! Session files on a real file system.

#![expect(clippy::unwrap_used, reason = "tests")]

mod foreign;
mod life;
mod torn;
