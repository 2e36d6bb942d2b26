//! `sm run`: an agent in the person's own terminal, as if it had been started directly.
//!
//! * [`run`] puts a PTY between the person's terminal and the agent and passes every byte on
//!   unchanged, both ways; what the agent shows is written down as in managed sessions.
//! * A [`Brain`] is told when agents start and end, may end one, and decides whether another one
//!   takes its place on the same terminal. [`NoRotation`] never does.
//! * [`plain`] is what is done where there is no terminal: the agent in our place, nothing between.
//!
//! Nothing in the relay decides about a context: that is the brain's business. What the person types
//! is looked at to know whether they have just said goodbye and whether they are writing, and kept
//! back only between the end of one agent and the beginning of the next.

mod brain;
mod error;
mod keeper;
mod keys;
mod modes;
mod pending;
mod plain;
mod pty;
mod relay;
pub mod rotate;
mod run;
mod screen;
mod signals;
mod terminal;
mod typed;
mod typing;
mod wait;

pub use brain::{Brain, Control, Ended, Entered, Entry, Farewell, Next, NoRotation, Report, Run};
pub use error::RunError;
pub use plain::plain;
pub use run::run;
pub use screen::{Looked, Screen};
pub use signals::Signals;
pub use sm_client::process::Process;
pub use terminal::Terminal;
