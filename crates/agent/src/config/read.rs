//! From the file to a [`Config`]. Bounded; never panics, whatever the file holds; the first mistake
//! in the order of the file is the one that is told.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sm_core::nearest::nearest;
use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, Key};
use super::{Config, ConfigError};

const LARGEST: u64 = 1024 * 1024;
/// A file has so many names of a person's own at most.
const MOST: usize = 1_000;

impl Config {
    /// A missing file is the defaults.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Ok(match bytes(path)? {
            Some(bytes) => Self::parse(&bytes, path)?,
            None => Self::default(),
        })
    }

    /// Pure; `path` is for messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ConfigError> {
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
            message: e.message().replace('\n', "; "),
        })?;
        let mut reading = Reading {
            config: Self::default(),
            mistakes: Vec::new(),
            seen: 0,
        };
        reading.table(&mut Vec::new(), document.get_ref());
        let first = reading.mistakes.into_iter().min_by_key(|(at, _)| *at);
        let Some((at, mistake)) = first else {
            return Ok(reading.config);
        };
        let line = line_of(bytes, at);
        Err(match mistake {
            Mistake::Unknown { key, nearest } => ConfigError::UnknownKey {
                path: path_buf(),
                line,
                nearest,
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
}

/// What the file holds; `None` if there is none.
pub(super) fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let failed = |source| ConfigError::Read {
        path: path.to_path_buf(),
        source,
    };
    let file = match File::open(path) {
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

enum Mistake {
    Unknown {
        key: String,
        nearest: String,
    },
    Wrong {
        key: String,
        got: String,
        expected: String,
    },
}

struct Reading {
    config: Config,
    /// Where in the file, and what.
    mistakes: Vec<(usize, Mistake)>,
    seen: usize,
}

impl Reading {
    fn table(&mut self, at: &mut Vec<String>, entries: &DeTable<'_>) {
        for (name, value) in entries {
            self.seen += 1;
            if self.seen > MOST {
                return;
            }
            at.push(name.get_ref().to_string());
            let key = KEYS.iter().find(|key| names(key.path, at).is_some());
            if let Some(key) = key {
                self.key(key, at, value.get_ref(), value.span().start);
            } else if is_table(at) {
                match value.get_ref() {
                    DeValue::Table(inner) => self.table(at, inner),
                    other => self.mistakes.push((
                        value.span().start,
                        Mistake::Wrong {
                            key: shown(at),
                            got: describe(other),
                            expected: "a table".into(),
                        },
                    )),
                }
            } else {
                self.unknown(at, value.get_ref(), name.span().start);
            }
            at.pop();
        }
    }

    fn key(&mut self, key: &Key, at: &[String], value: &DeValue<'_>, place: usize) {
        let names = names(key.path, at).unwrap_or_default();
        if (key.set)(&mut self.config, &names, value).is_none() {
            let got = match key.secret {
                true => "not that".into(),
                false => describe(value),
            };
            self.mistakes.push((
                place,
                Mistake::Wrong {
                    key: shown(at),
                    got,
                    expected: key.takes.replace('`', ""),
                },
            ));
        }
    }

    fn unknown(&mut self, at: &[String], value: &DeValue<'_>, place: usize) {
        let mut at = at.to_vec();
        // A whole unknown table is told by its first key: that is where the mistake shows.
        if let DeValue::Table(inner) = value {
            let first = inner.iter().min_by_key(|(name, _)| name.span().start);
            at.extend(first.map(|(name, _)| name.get_ref().to_string()));
        }
        let candidates: Vec<String> = KEYS.iter().map(|key| fitted(key.path, &at)).collect();
        let key = shown(&at);
        let nearest = nearest(&key, candidates.iter().map(String::as_str));
        let nearest = nearest.unwrap_or_default().to_owned();
        self.mistakes
            .push((place, Mistake::Unknown { key, nearest }));
    }
}

/// The person's own names, if this is where the key stands.
fn names(path: &str, at: &[String]) -> Option<Vec<String>> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.len() != at.len() {
        return None;
    }
    let mut names = Vec::new();
    for (part, name) in parts.iter().zip(at) {
        match *part {
            "*" => names.push(name.clone()),
            part if part == name => {}
            _ => return None,
        }
    }
    Some(names)
}

fn is_table(at: &[String]) -> bool {
    KEYS.iter().any(|key| {
        let parts: Vec<&str> = key.path.split('.').collect();
        parts.len() > at.len()
            && parts
                .iter()
                .zip(at)
                .all(|(part, name)| *part == "*" || part == name)
    })
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

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {:?}", bounded(text)),
        DeValue::Integer(number) => format!("the number {}", bounded(number.as_str())),
        DeValue::Float(number) => format!("the number {}", bounded(number.as_str())),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list of something else".into(),
        DeValue::Table(_) => "a table".into(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::Mode;
    use crate::config::Save;
    use sm_llm::{Api, Thinking};
    use std::time::Duration;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text.as_bytes(), Path::new("agent.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn every_key_is_understood() {
        let config = parse(
            r#"
            model = "local/qwen3"
            thinking = "high"
            [approvals]
            mode = "list"
            allow = ["bash:cargo test", "write:src"]
            [handoff]
            auto = false
            tokens = 100_000
            percent = 80
            reserve = 5
            save = "all"
            deadline = "90s"
            repair = false
            facts = 0
            [request]
            deadline = "10m"
            idle = "500ms"
            attempts = 2
            [prompt]
            append = "Be brief."
            project = false
            [providers.local]
            api = "openai-completions"
            base_url = "http://127.0.0.1:8080/v1/"
            key = "sk-1"
            key_env = "LOCAL_KEY"
            key_command = ["pass", "local"]
            [models."local/qwen3.5"]
            window = 32_000
            max_output = 4_000
            thinks = true
            images = false
            "#,
        )
        .unwrap();
        assert_eq!(config.model.as_deref(), Some("local/qwen3"));
        assert_eq!(config.thinking, Thinking::High);
        assert_eq!(config.approvals.mode, Mode::List);
        assert_eq!(config.approvals.allow.len(), 2);
        assert!(!config.handoff.auto && !config.handoff.repair && !config.prompt.project);
        assert_eq!(config.handoff.threshold.tokens, Some(100_000));
        assert_eq!(config.handoff.threshold.percent, Some(80));
        assert_eq!(config.handoff.save, Save::All);
        assert_eq!(config.handoff.deadline, Duration::from_secs(90));
        assert_eq!(config.request.idle, Duration::from_millis(500));
        let local = &config.providers["local"];
        assert_eq!(local.api, Some(Api::OpenAiCompletions));
        assert_eq!(local.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
        assert_eq!(local.key.as_ref().map(|k| k.expose()), Some("sk-1"));
        assert_eq!(config.models["local/qwen3.5"].window, Some(32_000));
        assert!(!format!("{config:?}").contains("sk-1"));
    }

    #[test]
    fn mistakes_name_the_line_and_what_is_near() {
        for (text, said) in [
            (
                "modle = \"a/b\"",
                "line 1: unknown key `modle`; the nearest valid key is `model`",
            ),
            (
                "\n[handof]\nauto = true",
                "line 2: unknown key `handof.auto`; the nearest valid key is `handoff.auto`",
            ),
            (
                "[handoff]\npercnt = 5",
                "the nearest valid key is `handoff.percent`",
            ),
            (
                "[providers.x]\nurl = \"\"",
                "unknown key `providers.x.url`; the nearest valid key is `providers.x.",
            ),
            (
                "[providers.x]\nbase_ulr = \"\"",
                "the nearest valid key is `providers.x.base_url`",
            ),
            (
                "[handoff]\npercent = 100",
                "`handoff.percent` is the number 100; expected a whole number from 0 to 99",
            ),
            (
                "model = \"gpt\"",
                "`model` is the text \"gpt\"; expected provider/id",
            ),
            ("handoff = 1", "`handoff` is the number 1; expected a table"),
            (
                "providers.x = 1",
                "`providers.x` is the number 1; expected a table",
            ),
            (
                "[providers.x]\nkey = 12345",
                "`providers.x.key` is not that; expected a text",
            ),
            (
                "[approvals]\nallow = [\"rm\"]",
                "`approvals.allow` is a list",
            ),
            ("x = [", "it is not TOML"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_missing_file_is_the_defaults_and_the_defaults_are_as_documented() {
        let temp = tempfile::tempdir().unwrap();
        let loaded = Config::load(&temp.path().join("agent.toml")).unwrap();
        assert_eq!(loaded, Config::default());
        let mut text = String::new();
        for key in KEYS.iter().filter(|key| !key.path.contains('*')) {
            text.push_str(&format!("{} = {}\n", key.path, key.default));
        }
        assert_eq!(parse(&text).unwrap(), Config::default());
    }

    #[test]
    fn anything_is_answered() {
        for bytes in [
            &b"\xff\xfe"[..],
            b"",
            b"[[model]]",
            b"a.b.c.d = {}",
            b"\"\" = 1",
            b"[providers]\n\"\".key = 1",
        ] {
            let _ = Config::parse(bytes, Path::new("x"));
        }
        assert!(Config::parse(&vec![b'#'; 1024 * 1024 + 1], Path::new("x")).is_err());
    }
}
