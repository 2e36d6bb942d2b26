//! Hooks and status line, from the flag, the project and the user, as Claude Code merges them:
//! all hooks run, one status line wins.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Settings {
    hooks: Vec<(String, Hook)>,
    pub status_line: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hook {
    matcher: String,
    pub command: String,
    pub timeout: Duration,
    pub manner: Manner,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Manner {
    /// The agent waits for its answer.
    Waited,
    /// It runs beside the agent.
    Background,
    /// It runs beside the agent and wakes it by exiting with 2.
    Waking {
        message: Option<String>,
        summary: Option<String>,
    },
}

impl Settings {
    /// `given` are values of `--settings`: a file, or JSON itself.
    pub(super) fn load(given: &[String], config: &Path, cwd: &Path) -> Result<Self, String> {
        let mut all = Self::default();
        for value in given {
            let text = if value.trim_start().starts_with('{') {
                value.clone()
            } else {
                std::fs::read_to_string(value)
                    .map_err(|e| format!("Settings file not found: {value}: {e}"))?
            };
            let json = serde_json::from_str(&text).map_err(|e| format!("Invalid settings: {e}"))?;
            all.add(&json);
        }
        let project = cwd.join(".claude");
        for file in [
            project.join("settings.local.json"),
            project.join("settings.json"),
            config.join("settings.json"),
        ] {
            let json = std::fs::read(file)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if let Some(json) = json {
                all.add(&json);
            }
        }
        Ok(all)
    }

    /// Adds settings of lower precedence.
    fn add(&mut self, json: &Value) {
        if self.status_line.is_none() {
            self.status_line = json["statusLine"]["command"].as_str().map(str::to_owned);
        }
        for (event, groups) in json["hooks"].as_object().into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let matcher = group["matcher"].as_str().unwrap_or_default();
                for hook in group["hooks"].as_array().into_iter().flatten() {
                    if let Some(command) = hook["command"].as_str() {
                        self.hooks
                            .push((event.clone(), Hook::read(hook, matcher, command)));
                    }
                }
            }
        }
    }

    /// The hooks of an event whose matcher accepts its subject (source, trigger, tool).
    pub(super) fn hooks(&self, event: &str, subject: &str) -> Vec<Hook> {
        let wanted = |hook: &Hook| {
            matches!(hook.matcher.as_str(), "" | "*")
                || hook.matcher.split('|').any(|word| word == subject)
        };
        self.hooks
            .iter()
            .filter(|(name, hook)| name == event && wanted(hook))
            .map(|(_, hook)| hook.clone())
            .collect()
    }
}

impl Hook {
    fn read(json: &Value, matcher: &str, command: &str) -> Self {
        let text = |key: &str| json[key].as_str().map(str::to_owned);
        let manner = if json["asyncRewake"] == true {
            Manner::Waking {
                message: text("rewakeMessage"),
                summary: text("rewakeSummary"),
            }
        } else if json["async"] == true {
            Manner::Background
        } else {
            Manner::Waited
        };
        let timeout = Duration::from_secs(json["timeout"].as_u64().unwrap_or(60));
        Self {
            matcher: matcher.into(),
            command: command.into(),
            timeout,
            manner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_merge_and_the_first_status_line_wins() {
        let dir = tempfile::tempdir().unwrap();
        let user = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"user"}]}]},"statusLine":{"command":"user"}}"#;
        std::fs::write(dir.path().join("settings.json"), user).unwrap();
        let flag = r#"{"hooks":{"Stop":[{"hooks":[{"command":"flag","asyncRewake":true,"timeout":7}]}],
            "SessionStart":[{"matcher":"clear|startup","hooks":[{"command":"start"}]}]},"statusLine":{"command":"flag"}}"#;
        let settings =
            Settings::load(&[flag.to_owned()], dir.path(), Path::new("/nonexistent")).unwrap();
        assert_eq!(settings.status_line.as_deref(), Some("flag"));
        let stop = settings.hooks("Stop", "");
        assert_eq!(
            stop.iter().map(|h| h.command.as_str()).collect::<Vec<_>>(),
            ["flag", "user"]
        );
        assert_eq!(
            stop[0].manner,
            Manner::Waking {
                message: None,
                summary: None
            }
        );
        assert_eq!(stop[0].timeout, Duration::from_secs(7));
        assert_eq!(settings.hooks("SessionStart", "clear").len(), 1);
        assert_eq!(settings.hooks("SessionStart", "resume").len(), 0);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let none = Path::new("/nonexistent");
        assert!(Settings::load(&["/nonexistent/x.json".into()], none, none).is_err());
        assert!(Settings::load(&["{broken".into()], none, none).is_err());
    }
}
