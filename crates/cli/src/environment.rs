//! What this process was started with: its session, its variables, its terminal.

use std::io;

use sm_client::wire;

use crate::print;

/// The session this program runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    pub id: String,
    /// Proves it.
    pub secret: Option<String>,
}

impl Own {
    pub fn from_env() -> Option<Self> {
        let set = |key| std::env::var(key).ok().filter(|value| !value.is_empty());
        Some(Self {
            id: set(wire::SESSION_VAR).filter(|id| wire::is_plain_word(id))?,
            secret: set(wire::SECRET_VAR),
        })
    }
}

/// Of another session or another terminal: a new session gets its own.
const NOT_HANDED_ON: &[&str] = &[
    wire::SESSION_VAR,
    wire::SECRET_VAR,
    wire::HOOKS_VAR,
    wire::RUN_VAR,
    "TMUX",
    "TMUX_PANE",
    "_",
];

/// The environment a new session gets. What is not text cannot be sent, and is said.
pub fn variables() -> Vec<(String, String)> {
    let mut lost = Vec::new();
    let kept = std::env::vars_os()
        .filter_map(|(key, value)| {
            let shown = key.to_string_lossy().into_owned();
            match (key.into_string(), value.into_string()) {
                (Ok(key), Ok(value)) => Some((key, value)),
                (Ok(_) | Err(_), _) => {
                    lost.push(shown);
                    None
                }
            }
        })
        .filter(|(key, _)| !NOT_HANDED_ON.contains(&key.as_str()))
        .collect();
    if !lost.is_empty() {
        print::note(&format!(
            "not text, so not handed on to the session: {}",
            lost.join(", ")
        ));
    }
    kept
}

/// Columns and rows of the terminal, if there is one.
pub fn terminal_size() -> (Option<u16>, Option<u16>) {
    let size = rustix::termios::tcgetwinsize(io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(io::stdin()))
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()));
    match size {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (Some(size.ws_col), Some(size.ws_row)),
        _ => (None, None),
    }
}

/// Whether a person sits at both ends: there is a terminal to attach.
pub fn is_interactive() -> bool {
    use std::io::IsTerminal;
    io::stdin().is_terminal() && io::stdout().is_terminal()
}
