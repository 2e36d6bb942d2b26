//! The programs that are installed beside `sm`.

use std::path::PathBuf;

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
