//! Which model is meant by a name, where it answers, and whose key it is asked with.
//!
//! A key comes from the configuration, from a command or from the environment, in this order; it
//! is never logged, printed or part of an error.

use std::process::Stdio;
use std::time::Duration;

use sm_llm::{Api, Model, Secret};

use crate::config::Config;
use crate::model_names::{matching, only_of_provider};

/// A command that prints a key may ask a person for a password.
const KEY_COMMAND: Duration = Duration::from_secs(60);
const LONGEST_KEY: usize = 16 * 1024;

/// How to get going, when nothing is configured.
pub const GETTING_STARTED: &str = "\
no model is configured, and no Ollama or llama.cpp server answers on this machine. One of these is enough:
  Anthropic: export ANTHROPIC_API_KEY=…      then: sm agent --model anthropic/claude-sonnet-4-5
  OpenAI:    export OPENAI_API_KEY=…         then: sm agent --model openai/gpt-5.1
  your own:  ollama serve, llama-server or any OpenAI-compatible server; it is found by itself, or named in agent.toml";

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{GETTING_STARTED}")]
    NotConfigured,
    #[error(
        "{0:?} is no model, nor part of the name of one that can be had here: write PROVIDER/ID, such as anthropic/claude-sonnet-4-5; /model lists those that are known"
    )]
    NoName(String),
    #[error("{part:?} fits several models: {}; write more of the name", names.join(", "))]
    Several { part: String, names: Vec<String> },
    #[error(
        "there is no provider {0:?}: anthropic, openai, openrouter, ollama and llama.cpp are known; another one needs api and base_url under [providers.{0}] in agent.toml"
    )]
    NoProvider(String),
    #[error(
        "no key for {provider}: set {variable}, or key, key_env or key_command under [providers.{provider}] in agent.toml"
    )]
    NoKey { provider: String, variable: String },
    #[error("the command for the key of {provider} {cause}")]
    KeyCommand { provider: String, cause: String },
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Here(Secret),
    Command(Vec<String>),
    /// A server of one's own that wants none.
    None,
}

/// A provider that needs no configuration.
struct Known {
    name: &'static str,
    api: Api,
    base_url: Option<&'static str>,
    /// The variable of its key; `None`: it wants none.
    variable: Option<&'static str>,
    /// The variable by which people send it elsewhere, to a gateway: a key for that one must not
    /// go to the provider itself.
    elsewhere: Option<&'static str>,
}

const KNOWN: [Known; 5] = [
    Known {
        name: "anthropic",
        api: Api::AnthropicMessages,
        base_url: None,
        variable: Some("ANTHROPIC_API_KEY"),
        elsewhere: Some("ANTHROPIC_BASE_URL"),
    },
    Known {
        name: "openai",
        api: Api::OpenAiResponses,
        base_url: None,
        variable: Some("OPENAI_API_KEY"),
        elsewhere: Some("OPENAI_BASE_URL"),
    },
    Known {
        name: "openrouter",
        api: Api::OpenAiCompletions,
        base_url: None,
        variable: Some("OPENROUTER_API_KEY"),
        elsewhere: None,
    },
    Known {
        name: "ollama",
        api: Api::OpenAiCompletions,
        base_url: Some("http://127.0.0.1:11434/v1"),
        variable: None,
        elsewhere: None,
    },
    Known {
        name: "llama.cpp",
        api: Api::OpenAiCompletions,
        base_url: Some("http://127.0.0.1:8080/v1"),
        variable: None,
        elsewhere: None,
    },
];

/// What can be asked where there is a key for the provider; the first where no model is named.
const OFFERED: [(&str, &str, &[&str]); 2] = [
    (
        "ANTHROPIC_API_KEY",
        "anthropic",
        &[
            "claude-sonnet-4-5",
            "claude-opus-4-5",
            "claude-haiku-4-5",
            "claude-sonnet-4-6",
            "claude-opus-4-6",
            "claude-opus-4-7",
            "claude-opus-4-8",
            "claude-opus-4-1",
        ],
    ),
    (
        "OPENAI_API_KEY",
        "openai",
        &[
            "gpt-5.1",
            "gpt-5.1-codex-mini",
            "gpt-5.2",
            "gpt-5.2-pro",
            "gpt-5.3-codex",
            "gpt-5.4",
            "gpt-5.4-mini",
            "gpt-5.4-nano",
            "gpt-5.5",
            "gpt-5",
            "gpt-5-mini",
            "gpt-5-nano",
            "gpt-4.1",
            "gpt-4o",
            "o3",
            "o4-mini",
        ],
    ),
];

/// The model of this name, with its key. `variable` reads the environment.
pub async fn model(
    name: &str,
    config: &Config,
    variable: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Model, ModelError> {
    let (mut model, source) = resolve(name, config, variable)?;
    model.key = match source {
        Source::Here(key) => Some(key),
        Source::Command(command) => Some(ask(&model.provider, &command).await?),
        Source::None => None,
    };
    Ok(model)
}

/// One answer has this many tokens at most; the same in every request.
pub fn max_output(model: &Model) -> u64 {
    const MOST: u64 = 32_000;
    model.max_output.min(MOST).min(model.window / 4).max(1)
}

/// The model that is meant: the one that is named, else the configured one, else one for which
/// there is a key, else one of a server on this machine.
pub async fn choose(
    named: Option<&str>,
    config: &Config,
    variable: &(dyn Fn(&str) -> Option<String> + Sync),
    places: &sm_llm::Places,
) -> Result<Model, ModelError> {
    let name = named
        .map(str::to_owned)
        .or_else(|| default_name(config, variable));
    let Some(name) = name else {
        let found = sm_llm::local_servers_at(places).await;
        let first = found.into_iter().next();
        return first
            .map(|found| found.model)
            .ok_or(ModelError::NotConfigured);
    };
    let name = full_name(&name, config, variable, places).await?;
    let mut model = model(&name, config, variable).await?;
    let local = matches!(model.provider.as_str(), "ollama" | "llama.cpp");
    if local
        && !config.models.contains_key(&name)
        && !config.providers.contains_key(&model.provider)
    {
        // The server knows how much its model can read.
        let found = sm_llm::local_servers_at(places).await;
        let same = found
            .into_iter()
            .find(|f| f.model.provider == model.provider && f.model.id == model.id);
        model = same.map_or(model, |found| found.model);
    }
    Ok(model)
}

/// The name of the model that is meant when nobody names one.
pub fn default_name(config: &Config, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    config.model.clone().or_else(|| {
        let mut offered = OFFERED.iter();
        let found = offered.find(|(name, provider, _)| has_key(name, provider, config, variable));
        found.and_then(|(_, provider, ids)| Some(format!("{provider}/{}", ids.first()?)))
    })
}

/// The name that is meant by any part of it that fits only one. `PROVIDER/ID` is taken as it is if it
/// is the part of no other name, also for a model that nobody has heard of.
pub async fn full_name(
    part: &str,
    config: &Config,
    variable: &(dyn Fn(&str) -> Option<String> + Sync),
    places: &sm_llm::Places,
) -> Result<String, ModelError> {
    let names = named(config, variable, Vec::new());
    let is_provider = part.split_once('/').is_some_and(|(provider, id)| {
        let known = KNOWN.iter().any(|known| known.name == provider);
        !id.is_empty() && (known || config.providers.contains_key(provider))
    });
    if is_provider {
        return Ok(only_of_provider(part, &names).unwrap_or(part).to_owned());
    }
    match matching(part, &names) {
        Err(ModelError::NoName(_)) => {}
        found => return found,
    }
    let local = sm_llm::local_servers_at(places).await;
    let local = local
        .into_iter()
        .map(|found| format!("{}/{}", found.model.provider, found.model.id));
    matching(part, &local.collect::<Vec<_>>())
}

/// Names that can be taken as they are: what the configuration names, what there is a key for in
/// the environment, what servers on this machine have.
pub async fn offered(config: &Config) -> Vec<String> {
    let variable = |name: &str| std::env::var(name).ok();
    let places = sm_llm::Places::usual(variable("OLLAMA_HOST").as_deref());
    let local = sm_llm::local_servers_at(&places).await;
    let local = local
        .into_iter()
        .map(|found| format!("{}/{}", found.model.provider, found.model.id));
    named(config, &variable, local.collect())
}

/// Those of them that are known without asking a server.
pub fn written(config: &Config) -> Vec<String> {
    named(config, &|name: &str| std::env::var(name).ok(), Vec::new())
}

/// Whether a provider can be asked: its key is where [`resolve`] looks for it. `usual` is the variable
/// that it is in where nothing else is configured.
fn has_key(
    usual: &str,
    provider: &str,
    config: &Config,
    variable: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let settings = config.providers.get(provider);
    let written = settings.is_some_and(|s| s.key.is_some() || !s.key_command.is_empty());
    let name = settings.and_then(|s| s.key_env.as_deref()).unwrap_or(usual);
    written || variable(name).is_some_and(|value| !value.is_empty())
}

/// Each once, those a person has written down first.
fn named(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<String>,
    local: Vec<String>,
) -> Vec<String> {
    let keys = OFFERED
        .iter()
        .filter(|(name, provider, _)| has_key(name, provider, config, variable))
        .flat_map(|(_, provider, ids)| ids.iter().map(move |id| format!("{provider}/{id}")));
    let all = config
        .model
        .iter()
        .chain(config.models.keys())
        .cloned()
        .chain(keys)
        .chain(local);
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn resolve(
    name: &str,
    config: &Config,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(Model, Source), ModelError> {
    let no_name = || ModelError::NoName(name.chars().take(100).collect());
    let (provider, id) = name.split_once('/').ok_or_else(no_name)?;
    if provider.is_empty() || id.is_empty() {
        return Err(no_name());
    }
    let known = KNOWN.iter().find(|known| known.name == provider);
    let settings = config.providers.get(provider);
    let api = settings
        .and_then(|s| s.api)
        .or(known.map(|known| known.api));
    let from = |name: &str| variable(name).filter(|value| !value.is_empty());
    let base_url = settings
        .and_then(|s| s.base_url.clone())
        .or_else(|| known.and_then(|known| known.elsewhere).and_then(from))
        .or_else(|| known.and_then(|known| known.base_url.map(str::to_owned)));
    let Some(api) = api.filter(|_| known.is_some() || base_url.is_some()) else {
        return Err(ModelError::NoProvider(provider.chars().take(60).collect()));
    };
    let mut model = sm_llm::known::model(provider, api, id);
    if let Some(url) = base_url {
        model.base_url = url;
    }
    if let Some(own) = config.models.get(name) {
        model.window = own.window.unwrap_or(model.window);
        model.max_output = own.max_output.unwrap_or(model.max_output);
        model.thinks = own.thinks.unwrap_or(model.thinks);
        model.images = own.images.unwrap_or(model.images);
    }
    let source = if let Some(key) = settings.and_then(|s| s.key.clone()) {
        Source::Here(key)
    } else if let Some(command) = settings.map(|s| &s.key_command).filter(|c| !c.is_empty()) {
        Source::Command(command.clone())
    } else {
        let named = settings.and_then(|s| s.key_env.as_deref());
        match named.or(known.and_then(|known| known.variable)) {
            Some(name) => match from(name) {
                Some(key) => Source::Here(Secret::new(key.trim())),
                None => {
                    return Err(ModelError::NoKey {
                        provider: provider.into(),
                        variable: name.into(),
                    });
                }
            },
            None => Source::None,
        }
    };
    Ok((model, source))
}

/// Runs the command that prints the key.
async fn ask(provider: &str, command: &[String]) -> Result<Secret, ModelError> {
    let failed = |cause: String| ModelError::KeyCommand {
        provider: provider.to_owned(),
        cause,
    };
    let Some((program, args)) = command.split_first() else {
        return Err(failed("is empty".into()));
    };
    let running = tokio::process::Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(KEY_COMMAND, running)
        .await
        .map_err(|_| failed(format!("did not end within {} s", KEY_COMMAND.as_secs())))?
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("failed: {}", output.status)));
    }
    // The first line, as `pass` and its kind print it.
    let text = String::from_utf8_lossy(&output.stdout);
    let key = text.lines().next().unwrap_or_default().trim();
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(failed("printed no key".into()));
    }
    Ok(Secret::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(text: &str) -> Config {
        Config::parse(text.as_bytes(), Path::new("agent.toml")).unwrap()
    }

    fn environment(name: &str) -> Option<String> {
        match name {
            "ANTHROPIC_API_KEY" => Some("sk-ant".into()),
            "MINE" => Some("sk-mine".into()),
            "OPENAI_API_KEY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn a_name_becomes_a_model_and_a_key() {
        let config = config(
            r#"
            [providers.mine]
            api = "openai-completions"
            base_url = "http://h:1/v1"
            key_env = "MINE"
            [providers.bare]
            api = "openai-completions"
            base_url = "http://h:2"
            [providers.openrouter]
            key_command = ["pass", "x"]
            [models."bare/org/m"]
            window = 12_000
            "#,
        );
        let here = |key: &str| Source::Here(Secret::new(key));
        for (name, api, url, source) in [
            (
                "anthropic/claude-x",
                Api::AnthropicMessages,
                "https://api.anthropic.com",
                here("sk-ant"),
            ),
            (
                "mine/m",
                Api::OpenAiCompletions,
                "http://h:1/v1",
                here("sk-mine"),
            ),
            (
                "bare/org/m",
                Api::OpenAiCompletions,
                "http://h:2",
                Source::None,
            ),
            (
                "ollama/qwen3",
                Api::OpenAiCompletions,
                "http://127.0.0.1:11434/v1",
                Source::None,
            ),
            (
                "openrouter/a/b",
                Api::OpenAiCompletions,
                "https://openrouter.ai/api/v1",
                Source::Command(vec!["pass".into(), "x".into()]),
            ),
        ] {
            let (model, from) = resolve(name, &config, &environment).unwrap();
            assert_eq!(
                (model.api, model.base_url.as_str(), &from),
                (api, url, &source),
                "{name}"
            );
        }
        let (model, _) = resolve("bare/org/m", &config, &environment).unwrap();
        assert_eq!((model.id.as_str(), model.window), ("org/m", 12_000));
    }

    #[test]
    fn a_key_for_a_gateway_goes_to_the_gateway() {
        let gateway = |name: &str| match name {
            "ANTHROPIC_BASE_URL" => Some("http://gateway:1".to_owned()),
            other => environment(other),
        };
        let (model, _) = resolve("anthropic/claude-x", &config(""), &gateway).unwrap();
        assert_eq!(model.base_url, "http://gateway:1");
        let named = config("[providers.anthropic]\nbase_url = \"http://named:2\"");
        let (model, _) = resolve("anthropic/claude-x", &named, &gateway).unwrap();
        assert_eq!(model.base_url, "http://named:2");
    }

    #[test]
    fn what_is_missing_is_named() {
        let config = config("[providers.half]\napi = \"openai-completions\"");
        for (name, said) in [
            ("claude", "write PROVIDER/ID"),
            ("/x", "write PROVIDER/ID"),
            ("other/x", "[providers.other]"),
            ("half/x", "[providers.half]"),
            ("openai/gpt-5", "set OPENAI_API_KEY"),
        ] {
            let error = resolve(name, &config, &environment)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{name}: {error}");
        }
        assert_eq!(
            GETTING_STARTED.lines().count(),
            4,
            "a reason and three ways"
        );
    }

    #[test]
    fn without_a_name_the_configuration_goes_before_the_environment() {
        let none = |_: &str| None;
        let named = config("model = \"a/b\"");
        assert_eq!(default_name(&named, &environment).as_deref(), Some("a/b"));
        let name = default_name(&Config::default(), &environment);
        assert_eq!(name.as_deref(), Some("anthropic/claude-sonnet-4-5"));
        assert_eq!(default_name(&Config::default(), &none), None);
    }

    #[test]
    fn what_is_offered_is_what_can_be_taken() {
        let config = config("model = \"a/b\"\n[models.\"c/d\"]\nwindow = 1_000\n");
        let local = vec!["ollama/qwen3".to_owned(), "a/b".to_owned()];
        let names = named(&config, &environment, local);
        assert_eq!(
            names.get(..3).unwrap(),
            ["a/b", "c/d", "anthropic/claude-sonnet-4-5"]
        );
        assert!(names.contains(&"anthropic/claude-haiku-4-5".to_owned()));
        assert_eq!(names.last().unwrap(), "ollama/qwen3");
        assert!(!names.iter().any(|name| name.starts_with("openai/")));
        let nothing = named(&Config::default(), &|_| None, Vec::new());
        assert!(nothing.is_empty());
    }

    #[test]
    fn a_key_counts_where_it_is_configured_to_be() {
        let openai = |text: &str| {
            let config = config(&format!("[providers.openai]\n{text}"));
            let names = named(&config, &environment, Vec::new());
            names.iter().any(|name| name == "openai/gpt-5.1")
        };
        assert!(openai("key_env = \"MINE\""));
        assert!(openai("key = \"sk\""));
        assert!(openai("key_command = [\"pass\"]"));
        assert!(!openai("key_env = \"NOT_SET\""));
        // as the model itself: another variable takes the place of the usual one
        let moved = config("[providers.anthropic]\nkey_env = \"NOT_SET\"");
        assert!(named(&moved, &environment, Vec::new()).is_empty());
        assert_eq!(default_name(&moved, &environment), None);
    }

    #[tokio::test]
    async fn a_whole_name_is_taken_as_it_is() {
        let config = config(
            "[providers.mine]\napi = \"openai-completions\"\nbase_url = \"http://h:1\"\n[models.\"mine/org/m\"]\nwindow = 1_000\n",
        );
        let places = sm_llm::Places::usual(Some("http://127.0.0.1:1"));
        for (part, expected) in [
            ("anthropic/claude-new", "anthropic/claude-new"),
            // part of one known name
            ("anthropic/claude-haiku", "anthropic/claude-haiku-4-5"),
            ("anthropic/haiku", "anthropic/claude-haiku-4-5"),
            ("anthropic/claude-opus-4-5", "anthropic/claude-opus-4-5"),
            // of several: it may be one that nobody has heard of
            ("anthropic/claude-opus-4", "anthropic/claude-opus-4"),
            // of another provider's
            ("openai/claude-haiku", "openai/claude-haiku"),
            ("mine/sonnet", "mine/sonnet"),
            ("org/m", "mine/org/m"),
            ("sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ] {
            let name = full_name(part, &config, &environment, &places).await;
            assert_eq!(name.unwrap(), expected, "{part}");
        }
    }

    #[tokio::test]
    async fn a_command_prints_the_key_and_nobody_else_does() {
        let command = |text: &str| vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()];
        let key = ask("p", &command("echo sk-1; echo user")).await.unwrap();
        assert_eq!(key.expose(), "sk-1");
        for text in ["echo sk-2; exit 3", "echo", "exec /nothing/there"] {
            let error = ask("p", &command(text)).await.unwrap_err().to_string();
            assert!(!error.contains("sk-2"), "{error}");
        }
    }
}
