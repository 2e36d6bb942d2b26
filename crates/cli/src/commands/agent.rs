//! `sm agent`: starts sm's own agent, which is a program of its own.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::error::{CommandError, Result};

/// sm's own coding agent: interactive in the terminal, or one prompt with `-p`.
///
/// `sm agent [PROMPT]` begins a session, `--continue` and `--resume [ID|PATH]` go on with one,
/// `-p PROMPT [--json]` runs without a terminal. `sm agent --help` lists everything.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Agent {
    /// The agent's own arguments.
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl Agent {
    pub fn run(self) -> Result<()> {
        let beside = std::env::current_exe()
            .ok()
            .and_then(|own| Some(own.parent()?.join("sm-agent")))
            .filter(|path| path.is_file());
        let error = Command::new(beside.unwrap_or_else(|| "sm-agent".into()))
            .arg("agent")
            .args(self.arguments)
            .exec();
        Err(
            CommandError::not_usable(format!("sm-agent cannot be started: {error}"))
                .hint("install sm and sm-agent into the same directory: `make install`"),
        )
    }
}
