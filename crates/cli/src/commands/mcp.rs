//! `sm mcp`.

use clap::Args;

use super::{mcp_server, mcp_tools};
use crate::error::Result;

/// Gives the agent of a session its own tools, by the Model Context Protocol on standard input and
/// output.
///
/// sm starts it with Claude Code and Codex; nobody else needs to. The tools: handoff, which takes the
/// document itself; handoff_template, context, archive_search, whoami. They are about the session they
/// run in and no other. What cannot be had within two seconds is answered with what to do instead.
#[derive(Debug, Args)]
pub struct Mcp {}

impl Mcp {
    pub fn run(self) -> Result<()> {
        mcp_server::serve(mcp_tools::Tools::of_session())
    }
}
