//! Everything that can go wrong with a runtime, told apart by what the caller can do about it.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("tmux is not installed (no program {program:?}); install it with {remedy}")]
    Missing {
        program: String,
        remedy: &'static str,
    },
    #[error("tmux {found} is too old, 3.2 or newer is needed; install it with {remedy}")]
    TooOld { found: String, remedy: &'static str },
    #[error("tmux could not be started: {0}")]
    Start(String),
    /// No server runs: nothing of what was asked was done.
    #[error("the tmux server is gone")]
    ServerGone,
    /// The server lives, but it is unknown whether the command was carried out.
    #[error("the connection to tmux was lost while a command was under way")]
    ConnectionLost,
    /// It is unknown whether the command was, or will be, carried out.
    #[error("tmux did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("a tmux session named {0:?} exists already")]
    NameTaken(String),
    #[error("{0:?} cannot be the name of a tmux session: use letters, digits, '-', '_' and '.'")]
    BadName(String),
    #[error("not something tmux can be given: {0}")]
    BadArgument(String),
    #[error("tmux does not know it: {0}")]
    NotFound(String),
    #[error("the program in pane {0} has ended")]
    PaneDead(String),
    #[error("tmux refused: {0}")]
    Refused(String),
    #[error("tmux answered something unexpected: {0}")]
    Unexpected(String),
    #[error("the runtime was closed")]
    Closed,
}

/// How to get tmux on this platform.
pub(crate) const REMEDY: &str = if cfg!(target_os = "macos") {
    "`brew install tmux`"
} else {
    "`sudo apt install tmux` (Debian, Ubuntu), `sudo dnf install tmux` (Fedora), \
     `sudo pacman -S tmux` (Arch) or `sudo apk add tmux` (Alpine)"
};
