//! The file, from its bytes to the values of its keys.

use std::io::{self, Read};
use std::path::Path;

use sm_client::files;
use sm_core::nearest::nearest;
use toml::de::{DeTable, DeValue};

use crate::SettingsError;
use crate::value::{bounded, described};

/// Settings are a few lines; anything larger is something else.
const LARGEST: u64 = 1024 * 1024;

/// One key, and where its value goes: into an `S`.
pub trait Key<S> {
    /// With its tables: `daemon.port`. `*` stands for a name of the person's own.
    fn path(&self) -> &'static str;
    /// `names` are what stands where the path has a `*`. None: not what the key takes.
    fn set(&self, settings: &mut S, names: &[String], value: &DeValue<'_>) -> Option<()>;
    /// What it takes, in words.
    fn expects(&self) -> String;
    /// Its value is never repeated in a message.
    fn is_secret(&self) -> bool {
        false
    }
}

/// What the file holds; `None` if there is none.
pub fn load(path: &Path) -> Result<Option<Vec<u8>>, SettingsError> {
    let failed = |source| SettingsError::Read {
        path: path.to_path_buf(),
        source,
    };
    let file = match files::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(Some(bytes))
}

/// Puts what the file says into `settings`; after an error they are not to be used. Pure: `path` is
/// for messages.
pub fn parse<S, K: Key<S>>(
    bytes: &[u8],
    path: &Path,
    keys: &[K],
    settings: &mut S,
) -> Result<(), SettingsError> {
    let path = path.to_path_buf();
    if bytes.len() as u64 > LARGEST {
        let limit = LARGEST;
        return Err(SettingsError::TooLarge { path, limit });
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let line = line_of(bytes, e.valid_up_to());
            return Err(SettingsError::NotText { path, line });
        }
    };
    let document = DeTable::parse(text).map_err(|e| SettingsError::Syntax {
        path: path.clone(),
        line: line_of(bytes, e.span().map_or(0, |span| span.start)),
        // One line: it is shown inside a sentence.
        message: e.message().replace('\n', "; "),
    })?;
    let mut reading = Reading {
        keys,
        settings,
        first: None,
    };
    reading.table(&mut Vec::new(), document.get_ref());
    let Some((at, mistake)) = reading.first else {
        return Ok(());
    };
    let line = line_of(bytes, at);
    Err(match mistake {
        Mistake::Unknown { at } => SettingsError::UnknownKey {
            path,
            line,
            key: shown(&at),
            nearest: nearest_to(&at, keys.iter().map(Key::path)),
        },
        Mistake::Wrong { key, got, expected } => SettingsError::WrongValue {
            path,
            line,
            key,
            got,
            expected,
        },
    })
}

enum Mistake {
    Unknown {
        at: Vec<String>,
    },
    Wrong {
        key: String,
        got: String,
        expected: String,
    },
}

struct Reading<'a, S, K> {
    keys: &'a [K],
    settings: &'a mut S,
    /// Where in the file, and what.
    first: Option<(usize, Mistake)>,
}

impl<S, K: Key<S>> Reading<'_, S, K> {
    fn table(&mut self, at: &mut Vec<String>, entries: &DeTable<'_>) {
        let keys = self.keys;
        for (name, value) in entries {
            at.push(name.get_ref().to_string());
            let found = keys
                .iter()
                .find_map(|key| Some((key, names(key.path(), at)?)));
            let place = value.span().start;
            match (found, value.get_ref()) {
                (Some((key, names)), value) => {
                    if key.set(self.settings, &names, value).is_none() {
                        let got = match key.is_secret() {
                            true => "not that".into(),
                            false => described(value),
                        };
                        self.wrong(place, at, got, key.expects());
                    }
                }
                (None, value) if !self.is_table(at) => {
                    self.mistake(name.span().start, || Mistake::Unknown {
                        at: first_below(at, value),
                    });
                }
                (None, DeValue::Table(inner)) => self.table(at, inner),
                (None, value) => self.wrong(place, at, described(value), "a table".into()),
            }
            at.pop();
        }
    }

    fn wrong(&mut self, place: usize, at: &[String], got: String, expected: String) {
        self.mistake(place, || Mistake::Wrong {
            key: shown(at),
            got,
            expected,
        });
    }

    fn mistake(&mut self, place: usize, what: impl FnOnce() -> Mistake) {
        if self.first.as_ref().is_none_or(|(first, _)| place < *first) {
            self.first = Some((place, what()));
        }
    }

    /// On the way to a key.
    fn is_table(&self, at: &[String]) -> bool {
        self.keys.iter().any(|key| {
            let mut parts = key.path().split('.');
            let begins = at.iter().all(|name| {
                let part = parts.next();
                part.is_some_and(|part| part == "*" || part == name)
            });
            begins && parts.next().is_some()
        })
    }
}

/// The person's own names, if this is where the key stands. A name with a dot in quotes is one name.
fn names(path: &str, at: &[String]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut parts = path.split('.');
    for name in at {
        match parts.next()? {
            "*" => names.push(name.clone()),
            part if part == name => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(names)
}

/// A whole unknown table is told by its first key: that is where the mistake shows.
fn first_below(at: &[String], value: &DeValue<'_>) -> Vec<String> {
    let mut at = at.to_vec();
    if let DeValue::Table(inner) = value {
        let first = inner.iter().min_by_key(|(name, _)| name.span().start);
        at.extend(first.map(|(name, _)| name.get_ref().to_string()));
    }
    at
}

fn nearest_to<'a>(at: &[String], paths: impl Iterator<Item = &'a str>) -> String {
    let candidates: Vec<String> = paths.map(|path| fitted(path, at)).collect();
    let nearest = nearest(&shown(at), candidates.iter().map(String::as_str));
    nearest.unwrap_or_default().to_owned()
}

/// A key's path with the names that stand in the file.
fn fitted(path: &str, at: &[String]) -> String {
    let parts = path
        .split('.')
        .enumerate()
        .map(|(n, part)| match (part, at.get(n)) {
            ("*", Some(name)) => bounded(name),
            (part, _) => part.to_owned(),
        });
    parts.collect::<Vec<_>>().join(".")
}

fn shown(at: &[String]) -> String {
    let parts: Vec<String> = at.iter().map(|part| bounded(part)).collect();
    parts.join(".")
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|b| **b == b'\n').count()
}
