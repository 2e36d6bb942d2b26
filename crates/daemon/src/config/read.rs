//! From a file to a [`Config`]. Bounded; never panics, whatever the file holds; the first mistake in
//! the order of the file is the one that is told.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::context::Rule;
use super::error::ConfigError;
use super::keys::{KEYS, Key, TABLES, Takes};
use super::nearest;
use super::settings::{Config, TmuxSocket};

/// A config is a few lines; anything larger is something else.
const LARGEST: u64 = 1024 * 1024;
const LONGEST_LIST: usize = 1024;
const LONGEST_DURATION: Duration = Duration::from_secs(3650 * 24 * 3600);

impl Config {
    /// A missing file is the defaults.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read {
            path: path.to_path_buf(),
            source,
        };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(failed(e)),
        };
        let mut bytes = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Self::parse(&bytes, path, home.as_deref())
    }

    /// Pure. `path` is for messages, and its folder is what relative paths count from.
    pub fn parse(bytes: &[u8], path: &Path, home: Option<&Path>) -> Result<Self, ConfigError> {
        let path_buf = || path.to_path_buf();
        if bytes.len() as u64 > LARGEST {
            return Err(ConfigError::TooLarge {
                path: path_buf(),
                limit: LARGEST,
            });
        }
        let text = std::str::from_utf8(bytes).map_err(|e| ConfigError::NotText {
            path: path_buf(),
            line: line_of(bytes, e.valid_up_to()),
        })?;
        let document = DeTable::parse(text).map_err(|e| ConfigError::Syntax {
            path: path_buf(),
            line: line_of(bytes, e.span().map_or(0, |span| span.start)),
            // One line: it is shown inside a sentence.
            message: e.message().replace('\n', "; "),
        })?;
        let mut reading = Reading {
            config: Self::default(),
            folder: path.parent().unwrap_or(Path::new("")),
            home,
            mistakes: Vec::new(),
        };
        reading.table("", document.get_ref());
        let first = reading.mistakes.into_iter().min_by_key(|(at, _)| *at);
        let Some((at, mistake)) = first else {
            reading.config.run.in_order().map_err(|pair| {
                let [(lower, low), (higher, high)] = pair;
                ConfigError::Order {
                    path: path_buf(),
                    lower,
                    low,
                    higher,
                    high,
                }
            })?;
            return Ok(reading.config);
        };
        let line = line_of(bytes, at);
        Err(match mistake {
            Mistake::Unknown { key } => ConfigError::UnknownKey {
                path: path_buf(),
                line,
                nearest: nearest(&key, KEYS.iter().map(|known| known.path))
                    .unwrap_or_default()
                    .to_string(),
                key,
            },
            Mistake::Wrong { key, got, expected } => ConfigError::WrongValue {
                path: path_buf(),
                line,
                key,
                got,
                expected,
            },
        })
    }

    /// `SM_PORT`, given as what it holds; it goes before `daemon.port`.
    pub fn override_port(&mut self, value: &str) -> Result<(), ConfigError> {
        self.daemon.port = value.trim().parse().map_err(|_| ConfigError::Variable {
            variable: "SM_PORT",
            got: shown(value),
            expected: "a whole number from 0 to 65535".into(),
        })?;
        Ok(())
    }
}

enum Mistake {
    Unknown {
        key: String,
    },
    Wrong {
        key: String,
        got: String,
        expected: String,
    },
}

struct Reading<'a> {
    config: Config,
    folder: &'a Path,
    home: Option<&'a Path>,
    /// Where in the file, and what.
    mistakes: Vec<(usize, Mistake)>,
}

impl Reading<'_> {
    fn table(&mut self, table: &str, entries: &DeTable<'_>) {
        for (name, value) in entries {
            let path = match table {
                "" => bounded(name.get_ref()),
                table => format!("{table}.{}", bounded(name.get_ref())),
            };
            // A name with a dot in quotes must not pass for a key in a table.
            let dotted = name.get_ref().contains('.');
            if let Some(key) = KEYS.iter().find(|key| key.path == path && !dotted) {
                self.key(key, value);
            } else if is_table(&path) && !dotted {
                match value.get_ref() {
                    DeValue::Table(inner) => self.table(&path, inner),
                    other => self.mistakes.push((
                        value.span().start,
                        Mistake::Wrong {
                            got: describe(other),
                            expected: "a table".into(),
                            key: path,
                        },
                    )),
                }
            } else {
                // A whole unknown table is told by its first key: that is where the typo shows.
                let key = match value.get_ref() {
                    DeValue::Table(inner) => {
                        first_key(inner).map_or(path.clone(), |inner| format!("{path}.{inner}"))
                    }
                    DeValue::String(_)
                    | DeValue::Integer(_)
                    | DeValue::Float(_)
                    | DeValue::Boolean(_)
                    | DeValue::Datetime(_)
                    | DeValue::Array(_) => path,
                };
                self.mistakes
                    .push((name.span().start, Mistake::Unknown { key }));
            }
        }
    }

    fn key(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) {
        if self.set(key, value.get_ref()).is_none() {
            self.mistakes.push((
                value.span().start,
                Mistake::Wrong {
                    key: key.path.to_string(),
                    got: describe(value.get_ref()),
                    expected: key.expects(),
                },
            ));
        }
    }

    /// None: not what the key takes.
    fn set(&mut self, key: &Key, value: &DeValue<'_>) -> Option<()> {
        match &key.takes {
            Takes::Number { range, set } => {
                let DeValue::Integer(number) = value else {
                    return None;
                };
                let number = u32::from_str_radix(number.as_str(), number.radix()).ok()?;
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
                    text => Some(duration(text)?),
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

/// NUL can be in a TOML text, but in no argument, path or environment.
fn text<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::String(text) if !text.contains('\0') => Some(text),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}

fn list(value: &DeValue<'_>) -> Option<Vec<String>> {
    let DeValue::Array(items) = value else {
        return None;
    };
    if items.len() > LONGEST_LIST {
        return None;
    }
    items
        .iter()
        .map(|item| text(item.get_ref()).map(str::to_string))
        .collect()
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let ms = match unit.trim() {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let time = Duration::from_millis(number.checked_mul(ms)?);
    (!time.is_zero() && time <= LONGEST_DURATION).then_some(time)
}

/// Known, or on the way to a known one (`agents`).
fn is_table(path: &str) -> bool {
    TABLES.iter().any(|(table, _)| {
        table
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

fn first_key(table: &DeTable<'_>) -> Option<String> {
    table
        .iter()
        .min_by_key(|(name, _)| name.span().start)
        .map(|(name, _)| bounded(name.get_ref()))
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {}", shown(text)),
        DeValue::Integer(number) => format!("the number {}", bounded(number.as_str())),
        DeValue::Float(number) => format!("the number {}", bounded(number.as_str())),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

fn shown(text: &str) -> String {
    format!("{:?}", bounded(text))
}

/// What is repeated in a message stays short and on one line.
fn bounded(text: &str) -> String {
    const MOST: usize = 60;
    let mut out: String = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|b| **b == b'\n').count()
}
