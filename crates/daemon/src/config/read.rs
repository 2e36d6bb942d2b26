//! From `config.toml` to a [`Config`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use sm_settings::{DeValue, bounded, duration, list, number, text};

use super::context::Rule;
use super::error::ConfigError;
use super::keys::{KEYS, Key, Takes};
use super::settings::{Config, TmuxSocket};

const LONGEST_DURATION: Duration = Duration::from_secs(3650 * 24 * 3600);

impl Config {
    /// A missing file is the defaults.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Ok(match sm_settings::load(path)? {
            Some(bytes) => Self::parse(&bytes, path, home.as_deref())?,
            None => Self::default(),
        })
    }

    /// Pure. `path` is for messages, and its folder is what relative paths count from.
    pub fn parse(bytes: &[u8], path: &Path, home: Option<&Path>) -> Result<Self, ConfigError> {
        let mut reading = Reading {
            config: Self::default(),
            folder: path.parent().unwrap_or(Path::new("")),
            home,
        };
        sm_settings::parse(bytes, path, KEYS, &mut reading)?;
        reading.config.run.in_order().map_err(|pair| {
            let [(lower, low), (higher, high)] = pair;
            ConfigError::Order {
                path: path.to_path_buf(),
                lower,
                low,
                higher,
                high,
            }
        })?;
        Ok(reading.config)
    }

    /// `SM_PORT`, given as what it holds; it goes before `daemon.port`.
    pub fn override_port(&mut self, value: &str) -> Result<(), ConfigError> {
        self.daemon.port = value.trim().parse().map_err(|_| ConfigError::Variable {
            variable: "SM_PORT",
            got: format!("{:?}", bounded(value)),
            expected: "a whole number from 0 to 65535".into(),
        })?;
        Ok(())
    }
}

pub(super) struct Reading<'a> {
    config: Config,
    folder: &'a Path,
    home: Option<&'a Path>,
}

impl sm_settings::Key<Reading<'_>> for Key {
    fn path(&self) -> &'static str {
        self.path
    }

    fn set(&self, into: &mut Reading<'_>, _: &[String], value: &DeValue<'_>) -> Option<()> {
        into.set(self, value)
    }

    fn expects(&self) -> String {
        self.takes.to_string()
    }
}

impl Reading<'_> {
    fn set(&mut self, key: &Key, value: &DeValue<'_>) -> Option<()> {
        match &key.takes {
            Takes::Number { range, set } => {
                let number = u32::try_from(number(value)?).ok()?;
                range
                    .contains(&number)
                    .then(|| set(&mut self.config, number))
            }
            Takes::Text { set } => {
                let text = text(value).filter(|text| !text.is_empty())?;
                set(&mut self.config, text.to_string());
                Some(())
            }
            Takes::List { set } => {
                set(&mut self.config, list(value)?);
                Some(())
            }
            Takes::Command { set } => {
                let command = list(value)?;
                if command.first().is_some_and(String::is_empty) {
                    return None;
                }
                set(&mut self.config, command);
                Some(())
            }
            Takes::Path { set } => {
                let text = text(value)?;
                let path = match text {
                    "" => None,
                    text => Some(self.path(text)?),
                };
                set(&mut self.config, path);
                Some(())
            }
            Takes::Socket { set } => {
                let socket = match text(value)? {
                    "" => TmuxSocket::Own,
                    path if path.contains('/') => TmuxSocket::Path(self.path(path)?),
                    name => TmuxSocket::Name(name.to_string()),
                };
                set(&mut self.config, socket);
                Some(())
            }
            Takes::Duration { set } => {
                let time = match text(value)? {
                    "" => None,
                    text => Some(duration(text, LONGEST_DURATION)?),
                };
                set(&mut self.config, time);
                Some(())
            }
            Takes::Rules { set } => {
                let rules: Option<Vec<Rule>> = list(value)?
                    .iter()
                    .map(|text| Rule::parse(text, |path| self.path(path)))
                    .collect();
                set(&mut self.config, rules?);
                Some(())
            }
            Takes::Words { set } => {
                let words = text(value).map(|text| text.trim().to_string())?;
                set(&mut self.config, (!words.is_empty()).then_some(words));
                Some(())
            }
            Takes::Switch { set } => {
                set(&mut self.config, value.as_bool()?);
                Some(())
            }
            Takes::Choice { of, set } => {
                let text = text(value)?;
                let place = of.iter().position(|one| *one == text)?;
                set(&mut self.config, place);
                Some(())
            }
        }
    }

    fn path(&self, text: &str) -> Option<PathBuf> {
        if text == "~" || text.starts_with("~/") {
            let below = text.trim_start_matches('~').trim_start_matches('/');
            return Some(self.home?.join(below));
        }
        Some(self.folder.join(text))
    }
}
