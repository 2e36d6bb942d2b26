//! Without a terminal: the agent in our place.
//!
//! It keeps our pid, our descriptors and our parent, so signals, job control and the exit code are
//! its own and there is nothing that could differ from running it directly.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::{Run, RunError};

/// Becomes the agent; returns only if that is not possible.
pub fn plain(run: Run) -> RunError {
    let mut command = match command(&run) {
        Ok(command) => command,
        Err(error) => return error,
    };
    let error = command.exec();
    RunError::Program {
        program: run.program,
        error,
    }
}

/// How it is started, wherever its terminal is.
pub(crate) fn command(run: &Run) -> Result<Command, RunError> {
    let mut command = Command::new(&run.program);
    command.args(&run.args);
    for (key, value) in &run.env {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    if let Some(cwd) = &run.cwd {
        // Asked first: a missing directory and a missing program look the same afterwards.
        if !Path::is_dir(cwd) {
            return Err(RunError::NoDirectory(cwd.clone()));
        }
        command.current_dir(cwd);
    }
    Ok(command)
}
