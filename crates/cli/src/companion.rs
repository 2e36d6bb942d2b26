//! The programs that are installed beside `sm`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::error::{CommandError, Result};

/// The whole path of the program of that name beside this one.
pub fn companion(name: &str) -> Result<PathBuf> {
    std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join(name)))
        .filter(|path| path.is_file())
        .ok_or_else(|| {
            CommandError::not_usable(format!("{name} is not beside sm"))
                .hint("install all of sm: `make install`")
        })
}

/// Becomes `sm-agent`, with this command of it.
pub fn become_agent(command: &str, arguments: &[OsString]) -> Result<()> {
    let error = Command::new(companion("sm-agent")?)
        .arg(command)
        .args(arguments)
        .exec();
    Err(
        CommandError::not_usable(format!("sm-agent cannot be started: {error}"))
            .hint("install all of sm: `make install`"),
    )
}
