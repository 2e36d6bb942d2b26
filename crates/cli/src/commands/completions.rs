//! `sm completions`.

use clap::Args;
use clap_complete::Shell;

use crate::completion;
use crate::error::{CommandError, Result};
use crate::print::Printer;

/// Prints the completions for a shell.
///
/// They complete commands and options, and the names of sessions, agents, handoffs, messages and
/// models. The daemon is asked for them; it is never started for that.
#[derive(Debug, Args)]
#[command(after_help = "\
To use them, put this into the start file of your shell:
  bash  ~/.bashrc                   source <(sm completions bash)
  zsh   ~/.zshrc, below compinit    source <(sm completions zsh)
  fish  ~/.config/fish/config.fish  sm completions fish | source")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let shell = self.shell.to_string();
        let script = completion::script(&shell).ok_or_else(|| {
            CommandError::refused(format!("there are no completions for {shell}"))
        })?;
        out.bytes(&script)
    }
}
