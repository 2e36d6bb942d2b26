//! The tmux runtime over one control-mode connection.
//!
//! | file | what |
//! |---|---|
//! | `protocol` | control mode: bytes in, messages out (pure) |
//! | `quote`, `sanitize` | what may be sent (pure) |
//! | `watch` | two listings of panes -> what happened in between (pure) |
//! | `config`, `connect` | the program, its version, starting and joining the server |
//! | `server` | whether a server is there, and who else talks to it |
//! | `client` | the actor that owns the connection; answers in order |
//! | `handle` | [`Tmux`]: the connection and the server as a whole |
//! | `pane`, `typing`, `screen` | operations on a pane: life, keys and pastes, looking |
//! | `picture` | what a pane shows, for another terminal; keys from there |
//!
//! Rules that always hold here: targets are ids or exact names, never prefixes; no value of an
//! environment is in any argv; no process is started per operation; the connection never carries
//! pane output (`no-output`), so reading slowly cannot stall a pane.

mod client;
mod config;
mod connect;
mod handle;
mod ids;
mod pane;
mod picture;
pub mod protocol;
pub mod quote;
mod sanitize;
mod screen;
mod server;
mod typing;
mod watch;

pub use client::Events;
pub use config::{Socket, TmuxConfig, Version};
pub use handle::Tmux;
pub use ids::{PaneId, TmuxSessionId, WindowId};
pub use pane::{NewPane, PANE_TTY, PaneInfo, PaneRef};
pub use picture::Picture;
pub use sanitize::sanitize;
pub use screen::{Capture, Screen};
pub use typing::{Key, Typed};
pub use watch::{ExitStatus, RuntimeEvent};
