//! Going on in a fresh context when one is full, without a daemon: the agent's hooks speak to a small
//! server of the run's own, a pure machine decides when a context is left, its document becomes a
//! handoff of the project's channel, and the next agent begins with it.
//!
//! The user's own files are never written, and nothing is given to an agent that the person has not
//! given it, but our hooks and the handoff.

mod arguments;
mod asked;
mod background;
mod brain;
mod current;
mod desk;
mod document;
mod folder;
mod hands;
mod leaving;
mod level;
mod link;
mod own_files;
mod passed;
mod person;
mod pulse;
mod rotation;
mod server;
mod session;
mod settings;
mod state;
mod transcript;
mod without;
mod words;

pub use arguments::is_one_shot;
pub use brain::{Begin, RotateError, Rotating};
pub use folder::{Folder, is_running};
pub use level::Thresholds;
pub use rotation::{Restarts, Rules};
pub use state::Setup;
pub use without::Without;
