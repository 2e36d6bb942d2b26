//! Where agents run: terminals that outlive the daemon.
//!
//! [`Tmux`] is a cheap handle on a tmux server of our own, spoken to over one control-mode
//! connection. Nothing else in the workspace starts tmux or names its targets.
//!
//! This crate must never decide what to do with a session (that is `core`), never read an agent's
//! screen for meaning (that is `agents`), and never let the daemon's speed reach a pane: a daemon
//! that is stopped or gone costs an agent nothing.

mod error;
pub mod tmux;

pub use error::Error;
pub use sm_core::signal::ScreenMark;
pub use tmux::{
    Capture, Events, ExitStatus, Key, NewPane, PANE_TTY, PaneId, PaneInfo, PaneRef, Picture,
    RuntimeEvent, Screen, Socket, Tmux, TmuxConfig, TmuxSessionId, Typed, Version, WindowId,
};
