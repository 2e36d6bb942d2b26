//! What can be wrong with a file of settings.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{}, line {line}: it is not UTF-8 text", path.display())]
    NotText { path: PathBuf, line: usize },
    #[error("{}, line {line}: it is not TOML: {message}", path.display())]
    Syntax {
        path: PathBuf,
        line: usize,
        message: String,
    },
    #[error("{}, line {line}: unknown key `{key}`; the nearest valid key is `{nearest}`", path.display())]
    UnknownKey {
        path: PathBuf,
        line: usize,
        key: String,
        nearest: String,
    },
    #[error("{}, line {line}: `{key}` is {got}; expected {expected}", path.display())]
    WrongValue {
        path: PathBuf,
        line: usize,
        key: String,
        got: String,
        expected: String,
    },
}
