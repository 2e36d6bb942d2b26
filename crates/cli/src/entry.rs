//! The two doors into the daemon's crate: running it, and reading its configuration.

use sm_client::Paths;
use sm_daemon::ServeOptions;
use sm_daemon::config::{Config, ConfigError};

use crate::error::{ExitCode, Result};
use crate::print;

/// Runs the daemon until it is stopped.
pub fn serve(paths: Paths, options: ServeOptions) -> Result<ExitCode> {
    match sm_daemon::run(paths, options) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // Its own exit codes: a service manager tells them apart.
            print::failure(&error.to_string(), &error.hint());
            Ok(ExitCode::from(error.exit_code()))
        }
    }
}

/// The configuration with what the environment changes of it.
pub fn configuration(paths: &Paths) -> std::result::Result<Config, ConfigError> {
    let mut config = Config::load(paths.config_file())?;
    if let Ok(port) = std::env::var("SM_PORT") {
        config.override_port(&port)?;
    }
    Ok(config)
}
