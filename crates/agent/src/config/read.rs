//! From `agent.toml` to a [`Config`].

use std::path::Path;

use sm_settings::DeValue;

use super::keys::{KEYS, Key};
use super::{Config, ConfigError};

impl Config {
    /// A missing file is the defaults.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Ok(match sm_settings::load(path)? {
            Some(bytes) => Self::parse(&bytes, path)?,
            None => Self::default(),
        })
    }

    /// Pure; `path` is for messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        sm_settings::parse(bytes, path, &KEYS, &mut config)?;
        Ok(config)
    }
}

impl sm_settings::Key<Config> for Key {
    fn path(&self) -> &'static str {
        self.path
    }

    fn set(&self, config: &mut Config, names: &[String], value: &DeValue<'_>) -> Option<()> {
        (self.set)(config, names, value)
    }

    fn expects(&self) -> String {
        self.takes.replace('`', "")
    }

    fn is_secret(&self) -> bool {
        self.secret
    }
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
