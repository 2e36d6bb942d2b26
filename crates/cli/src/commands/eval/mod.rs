//! `sm eval`: how good what sm does is, measured on the user's own history. It reads, and asks no daemon.

mod fidelity;
mod history;
mod score;
mod show;

use clap::{Args, Subcommand};

use crate::error::Result;
use crate::print::Printer;

/// Measures sm on your own history.
#[derive(Debug, Args)]
pub struct Eval {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Fidelity(fidelity::Fidelity),
}

impl Eval {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        match self.command {
            Command::Fidelity(command) => command.run(out),
        }
    }
}
