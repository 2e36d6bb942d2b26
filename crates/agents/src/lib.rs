//! What each agent program says and wants to hear, one folder per program.
//!
//! Everything here is pure: bytes and text come in, values of `sm_core::signal` and lines to run
//! go out. No file is opened, no clock read, no process started. What a program says is outside
//! input: every parser accepts anything, and says `Other`, `Unknown` or a warning when it does not
//! understand.
//!
//! Adding an agent: a folder with its launch line, its hooks, its record of the conversation and
//! its screen, a `Profile`, and one arm in each match of [`kind`].

pub mod claude;
pub mod codex;
pub mod fork;
pub mod generic;
pub mod install;
mod json;
pub mod kind;
pub mod launch;
pub mod marks;
pub mod native;
pub mod own_tools;
pub mod parsed;
pub mod paste;
mod refusal;
mod sgr;
mod shell;
pub mod surgery;
pub mod tool_call;
pub mod tried;
mod wrapped;

pub use kind::{Tail, answer, parse_hook, paste_fit, profile, read_screen, read_title};
pub use launch::{Launch, LaunchError, LaunchRequest, Start};
pub use own_tools::OwnTools;
pub use parsed::{Parsed, event};
pub use paste::PasteFit;
