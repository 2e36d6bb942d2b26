//! `sm statusline`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::error::{CommandError, Result};

/// Prints an agent's status line from what the agent gives on stdin, and tells the daemon.
///
/// The same as `sm-hook claude statusline`, which is what sm puts into the sessions it starts.
#[derive(Debug, Args)]
pub struct StatusLine {
    /// What is printed; `{percent}`, `{tokens}`, `{window}` and `{left}` are filled in.
    #[arg(long, value_name = "TEXT")]
    format: Option<String>,
    /// A status line command of your own: its output comes first.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl StatusLine {
    pub fn run(self) -> Result<()> {
        let beside = std::env::current_exe()
            .ok()
            .and_then(|own| Some(own.parent()?.join("sm-hook")))
            .filter(|path| path.is_file());
        let mut hook = Command::new(beside.unwrap_or_else(|| "sm-hook".into()));
        hook.args(["claude", "statusline"]);
        if let Some(format) = self.format {
            hook.arg("--format").arg(format);
        }
        if !self.command.is_empty() {
            hook.arg("--").args(self.command);
        }
        let error = hook.exec();
        Err(
            CommandError::not_usable(format!("sm-hook cannot be started: {error}"))
                .hint("install sm and sm-hook into the same directory: `make install`"),
        )
    }
}
