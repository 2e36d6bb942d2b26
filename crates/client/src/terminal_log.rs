//! What a terminal has shown, written down raw: the log behind a session's archive.
//!
//! A folder holds `terminal.NNNNNN.log` (together every byte, in order), beside each part when what
//! was written (`.times`), and `terminal.notes` with the sizes of the terminal. Never stops for the
//! disk's sake: what cannot be written is counted, and the log says so.

mod times;
mod writer;

pub use writer::{Writer, is_written};

use std::time::{SystemTime, UNIX_EPOCH};

/// As the log tells time: milliseconds since the epoch.
pub fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0))
}
