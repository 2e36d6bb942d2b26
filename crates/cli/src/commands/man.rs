//! `sm man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::commands::Cli;
use crate::error::{CommandError, Result};
use crate::print::Printer;

/// Writes the manual pages into a directory.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Man {
    /// The directory; it is made if it is missing.
    dir: PathBuf,
}

impl Man {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let failed = |error: std::io::Error| CommandError::file(&self.dir, "write into", &error);
        std::fs::create_dir_all(&self.dir).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &self.dir).map_err(failed)?;
        out.line(&format!("manual pages are in {}", self.dir.display()))
    }
}
