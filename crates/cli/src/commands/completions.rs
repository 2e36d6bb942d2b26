//! `sm completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::commands::Cli;
use crate::error::Result;
use crate::print::Printer;

/// Prints the completions for a shell.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "sm", &mut script);
        out.bytes(&script)
    }
}
