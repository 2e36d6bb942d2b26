//! What every program of sm shares to find and reach the daemon: where things are on disk,
//! the wire format, a small HTTP client over the Unix socket, the spool, starting the daemon,
//! process identities, and the log of a terminal.
//!
//! It is on the hook path, so it depends on nothing outside std, opens no database, parses no
//! configuration and starts no thread. It never decides anything about a session: that is the
//! daemon's business.

mod body;
pub mod daemon;
pub mod files;
pub mod footprint;
pub mod http;
pub mod json;
pub mod latest;
pub mod paths;
pub mod platform;
pub mod process;
pub mod proof;
pub mod repository;
pub mod spool;
pub mod sse;
pub mod terminal_log;
pub mod wire;

pub use footprint::Footprint;
pub use http::{Client, HttpError, Request, Response};
pub use paths::{PathError, Paths};
pub use process::Process;
pub use spool::Spool;
