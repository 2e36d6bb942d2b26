//! `sm generate`: a document about a transcript, by sm's own agent.

use std::ffi::OsString;

use clap::Args;

use crate::companion::become_agent;
use crate::error::Result;

/// Prints a handoff document about a transcript, written by a model.
///
/// `sm generate --transcript FILE [FOCUS]` reads a transcript of Claude Code, Codex, pi, omp or sm's
/// own agent and touches no session. `sm generate --help` lists everything.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Generate {
    /// The arguments: `--transcript FILE`, the focus, `--model MODEL`, `--json`.
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl Generate {
    pub fn run(self) -> Result<()> {
        become_agent("generate", &self.arguments)
    }
}
