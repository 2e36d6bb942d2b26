//! `sm mcp`.

use std::io::Read;

use clap::Args;
use serde_json::Value;

use super::{mcp_server, mcp_tools};
use crate::error::{CommandError, Result};

/// Gives the agent of a session its own tools, by the Model Context Protocol on standard input and
/// output.
///
/// Claude Code, Codex and sm's own agent are given it by sm; nobody else needs to start it. The tools:
/// handoff, which takes the document itself; handoff_template, context, archive_search, whoami. They
/// are about the session they run in and no other. What cannot be had within two seconds is answered with what to do instead.
#[derive(Debug, Args)]
pub struct Mcp {
    /// Calls one tool with the arguments on standard input, as JSON, and prints its answer: how sm's own
    /// agent does it.
    #[arg(long, hide = true, value_name = "TOOL")]
    call: Option<String>,
}

impl Mcp {
    pub fn run(self) -> Result<()> {
        let tools = mcp_tools::Tools::of_session();
        match self.call {
            None => mcp_server::serve(tools),
            Some(name) => call(&tools, &name),
        }
    }
}

fn call(tools: &mcp_tools::Tools, name: &str) -> Result<()> {
    let mut given = Vec::new();
    std::io::stdin()
        .take(mcp_server::LONGEST_LINE as u64)
        .read_to_end(&mut given)
        .map_err(|error| CommandError::not_usable(format!("standard input: {error}")))?;
    let arguments: Value = serde_json::from_slice(&given)
        .map_err(|error| CommandError::usage(format!("the arguments are not JSON: {error}")))?;
    println!("{}", tools.answer(name, arguments)?);
    Ok(())
}
