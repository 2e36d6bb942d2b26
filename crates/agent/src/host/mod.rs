//! What every front end drives: commands in, updates out.
//!
//! One task owns the session's file, the machine of turns and everything that runs. What it shows
//! it has written before, so that a kill at any moment loses nothing that anybody has seen. Every
//! wait has a deadline and can be cancelled.

mod commands;
mod driver;
mod effects;
mod handing;
mod live;
mod options;
mod protocol;
mod tasks;

pub use driver::Host;
pub use live::Opening;
pub use options::{Options, Variables};
pub use protocol::{
    Answer, Command, HandoffOutcome, Queue, SessionView, State, Told, Update, WAIT_FOR_THE_ANSWER,
};
