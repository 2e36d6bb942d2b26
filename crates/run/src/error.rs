//! Why an agent could not be run.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot run {}: {error}", program.display())]
    Program { program: OsString, error: io::Error },
    #[error("the working directory {} is not there", .0.display())]
    NoDirectory(PathBuf),
    #[error("cannot {what}: {error}")]
    System {
        what: &'static str,
        error: io::Error,
    },
}

impl RunError {
    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System {
            what,
            error: error.into(),
        }
    }

    /// Whether the program is simply not there.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Program { error, .. } => error.kind() == io::ErrorKind::NotFound,
            Self::NoDirectory(_) | Self::System { .. } => false,
        }
    }
}
