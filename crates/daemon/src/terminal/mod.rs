//! A session's terminal for a browser: what it shows now, then its bytes as they come.
//!
//! The screen is asked from who hosts the terminal, the bytes are read from its log, which is written
//! anyway: tmux's connection carries no output, and nobody who looks can slow an agent down.
//!
//! The two have to fit together. A byte reaches the screen before it reaches the log, so whatever
//! the log held *before* the screen was asked for is on it: the bytes go on from there, and none is
//! lost. What was on its way to the log in that moment would be drawn twice. So a screen counts only
//! if the log stood still for a moment before and after it; where it never does (a flood), bytes may
//! be drawn twice, and a fresh screen is sent as soon as it has stood still. The same is done once
//! for a screen that was followed by bytes soon: on a busy machine a moment may have been too short.
//!
//! | file | what |
//! |---|---|
//! | `tail` | the log's bytes from a place on |
//! | `flow` | how much may be sent (pure) |
//! | `words` | what is said both ways (pure) |
//! | `show` | one browser that looks |

mod flow;
mod show;
mod tail;
mod words;

pub use show::show;

/// So many can look at once.
pub const LOOKING: usize = 64;
