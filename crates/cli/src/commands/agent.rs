//! `sm agent`: starts sm's own agent, which is a program of its own.

use std::ffi::OsString;

use clap::Args;

use crate::companion::become_agent;
use crate::error::Result;

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
        become_agent("agent", &self.arguments)
    }
}
