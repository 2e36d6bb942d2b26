//! `sm serve`.

use std::io::IsTerminal;

use clap::Args;
use sm_daemon::ServeOptions;

use crate::client::Daemon;
use crate::entry;
use crate::error::{CommandError, ExitCode, Result};

/// Runs the daemon until it is stopped.
///
/// Every command starts it by itself when it is needed; this is for service managers and for
/// watching it work.
#[derive(Debug, Args)]
pub struct Serve {
    /// The port on 127.0.0.1, instead of SM_PORT and the configuration.
    #[arg(long)]
    port: Option<u16>,
    /// Log to stderr, as it does on a terminal.
    #[arg(long)]
    foreground: bool,
}

impl Serve {
    pub fn run(self) -> Result<ExitCode> {
        let foreground = self.foreground || std::io::stderr().is_terminal();
        let paths = Daemon::open()?.paths().clone();
        // The configuration is read before anything else, so that a mistake in it is told here.
        let configured = match entry::configuration(&paths) {
            Ok(config) => config.daemon.port,
            Err(error) => {
                return Err(CommandError::not_usable(error.to_string()).hint(error.hint()));
            }
        };
        let port = Some(self.port.unwrap_or(configured));
        entry::serve(paths, ServeOptions { port, foreground })
    }
}
