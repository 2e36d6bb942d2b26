//! What can be wrong with a config, and what to do about it.

use std::path::PathBuf;

use super::keys::KEYS;

/// Says what happened; [`ConfigError::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
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
    #[error("{}: `{lower}` is {low}, which is more than `{higher}` with {high}", path.display())]
    Order {
        path: PathBuf,
        lower: &'static str,
        low: u32,
        higher: &'static str,
        high: u32,
    },
    #[error("the environment variable {variable} is {got}; expected {expected}")]
    Variable {
        variable: &'static str,
        got: String,
        expected: String,
    },
}

impl ConfigError {
    pub fn hint(&self) -> String {
        match self {
            Self::Read { path, .. } => format!(
                "make {} a file that you can read, or remove it to use the defaults",
                path.display()
            ),
            Self::Order { .. } => {
                "expected run.early_warn <= run.warn <= run.critical <= run.limit; one that is not set has its default (see docs/config.md)".to_owned()
            }
            Self::TooLarge { path, .. } => {
                format!(
                    "{} is probably not sm's config; move it away",
                    path.display()
                )
            }
            Self::NotText { .. } => "save the file as UTF-8".into(),
            Self::Syntax { line, .. } => {
                format!("correct line {line}; texts need quotes, tables are written [table]")
            }
            Self::UnknownKey {
                key, nearest, line, ..
            } => {
                let table = nearest.rsplit_once('.').map_or("", |(table, _)| table);
                let there: Vec<&str> = KEYS
                    .iter()
                    .filter(|known| known.table() == table)
                    .map(super::keys::Key::name)
                    .collect();
                format!(
                    "in line {line} write `{nearest}` instead of `{key}`, or remove it; [{table}] has: {}",
                    there.join(", ")
                )
            }
            Self::WrongValue { key, line, .. } => {
                match KEYS.iter().find(|known| known.path == key) {
                    Some(known) => format!(
                        "correct line {line}, or remove it to use the default {}",
                        known.default
                    ),
                    None => format!("write [{key}] in a line of its own and its keys below it"),
                }
            }
            Self::Variable { variable, .. } => format!("correct or unset {variable}"),
        }
    }
}
