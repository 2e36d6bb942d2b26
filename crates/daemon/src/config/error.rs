//! What can be wrong with a config, and what to do about it.

use std::path::PathBuf;

use sm_settings::SettingsError;

use super::keys::{KEYS, Key};

/// Says what happened; [`ConfigError::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] SettingsError),
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
            Self::File(error) => hint(error),
            Self::Order { .. } => {
                "expected run.early_warn <= run.warn <= run.critical <= run.limit; one that is not set has its default (see docs/config.md)".to_owned()
            }
            Self::Variable { variable, .. } => format!("correct or unset {variable}"),
        }
    }
}

fn hint(error: &SettingsError) -> String {
    match error {
        SettingsError::Read { path, .. } => format!(
            "make {} a file that you can read, or remove it to use the defaults",
            path.display()
        ),
        SettingsError::TooLarge { path, .. } => {
            format!(
                "{} is probably not sm's config; move it away",
                path.display()
            )
        }
        SettingsError::NotText { .. } => "save the file as UTF-8".into(),
        SettingsError::Syntax { line, .. } => {
            format!("correct line {line}; texts need quotes, tables are written [table]")
        }
        SettingsError::UnknownKey {
            key, nearest, line, ..
        } => {
            let table = nearest.rsplit_once('.').map_or("", |(table, _)| table);
            let there = KEYS.iter().filter(|known| known.table() == table);
            let there: Vec<&str> = there.map(Key::name).collect();
            format!(
                "in line {line} write `{nearest}` instead of `{key}`, or remove it; [{table}] has: {}",
                there.join(", ")
            )
        }
        SettingsError::WrongValue { key, line, .. } => {
            match KEYS.iter().find(|known| known.path == key) {
                Some(known) => format!(
                    "correct line {line}, or remove it to use the default {}",
                    known.default
                ),
                None => format!("write [{key}] in a line of its own and its keys below it"),
            }
        }
    }
}
