//! Every key of `agent.toml`. `*` stands for a name of the person's own.

use std::time::Duration;

use sm_llm::{Api, Secret, Thinking};
use sm_settings::{DeValue, boolean, list};

use super::{Config, Save};
use crate::approval::{Mode, Rule};

/// `names` are what stands where the path has a `*`. `None`: not what the key takes.
type Set = fn(&mut Config, names: &[String], value: &DeValue<'_>) -> Option<()>;

pub struct Key {
    pub path: &'static str,
    pub default: &'static str,
    pub takes: &'static str,
    pub doc: &'static str,
    pub(super) set: Set,
    /// Its value is never repeated in a message.
    pub(super) secret: bool,
}

const fn key(
    path: &'static str,
    default: &'static str,
    takes: &'static str,
    doc: &'static str,
    set: Set,
) -> Key {
    Key {
        path,
        default,
        takes,
        doc,
        set,
        secret: false,
    }
}

pub const KEYS: [Key; 26] = [
    key(
        "model",
        "\"\"",
        "`provider/id`",
        "the model that is asked; `--model` goes before it",
        |c, _, v| {
            c.model = Some(text(v)?).filter(|name| !name.is_empty());
            c.model
                .as_ref()
                .is_none_or(|name| name.contains('/'))
                .then_some(())
        },
    ),
    key(
        "thinking",
        "\"off\"",
        "`off`, `minimal`, `low`, `medium`, `high` or `xhigh`",
        "how long the model thinks",
        |c, _, v| {
            c.thinking = thinking(&text(v)?)?;
            Some(())
        },
    ),
    key(
        "approvals.mode",
        "\"ask\"",
        "`ask`, `list` or `all`",
        "what happens to calls that are not in `allow`: a person is asked, they are refused, they run",
        |c, _, v| {
            c.approvals.mode = match text(v)?.as_str() {
                "ask" => Mode::Ask,
                "list" => Mode::List,
                "all" => Mode::All,
                _ => return None,
            };
            Some(())
        },
    ),
    key(
        "approvals.allow",
        "[]",
        "a list of `bash`, `bash:COMMAND`, `write`, `write:PATH`, `read`, `read:PATH`",
        "what may run without a word: commands that begin with these words and have no syntax of the shell in them, paths and what is below them",
        |c, _, v| {
            let rules = list(v)?;
            let fine = |rule: &String| Rule::parse(rule, "/".as_ref()).is_ok();
            rules.iter().all(fine).then(|| c.approvals.allow = rules)
        },
    ),
    key(
        "handoff.auto",
        "true",
        "`true` or `false`",
        "whether a context that is nearly full is handed over by itself",
        |c, _, v| {
            c.handoff.auto = boolean(v)?;
            Some(())
        },
    ),
    key(
        "handoff.tokens",
        "0",
        "a whole number",
        "handed over above so many tokens; 0: by `percent` or `reserve`",
        |c, _, v| {
            c.handoff.threshold.tokens = Some(number(v)?).filter(|n| *n > 0);
            Some(())
        },
    ),
    key(
        "handoff.percent",
        "0",
        "a whole number from 0 to 99",
        "handed over above this part of the window; 0: by `reserve`",
        |c, _, v| {
            let percent = u8::try_from(number(v)?).ok().filter(|p| *p < 100)?;
            c.handoff.threshold.percent = Some(percent).filter(|p| *p > 0);
            Some(())
        },
    ),
    key(
        "handoff.reserve",
        "32768",
        "a whole number",
        "handed over when fewer tokens than this are left of the window",
        |c, _, v| {
            c.handoff.threshold.reserve = number(v)?;
            Some(())
        },
    ),
    key(
        "handoff.save",
        "\"never\"",
        "`never`, `auto` or `all`",
        "which documents are also written to `handoff-<time>.md` in a folder beside the new session's file",
        |c, _, v| {
            c.handoff.save = match text(v)?.as_str() {
                "never" => Save::Never,
                "auto" => Save::Automatic,
                "all" => Save::All,
                _ => return None,
            };
            Some(())
        },
    ),
    key(
        "handoff.deadline",
        "\"5m\"",
        "a time such as `90s` or `5m`",
        "for the whole of a handoff, with every attempt",
        |c, _, v| {
            c.handoff.deadline = duration(&text(v)?)?;
            Some(())
        },
    ),
    key(
        "handoff.repair",
        "true",
        "`true` or `false`",
        "whether a document that lacks sections is asked for once more",
        |c, _, v| {
            c.handoff.repair = boolean(v)?;
            Some(())
        },
    ),
    key(
        "handoff.facts",
        "4000",
        "a whole number",
        "characters for what the session's ledger knows and the document does not say; 0: none",
        |c, _, v| {
            c.handoff.facts = usize::try_from(number(v)?).ok().filter(|n| *n <= 100_000)?;
            Some(())
        },
    ),
    key(
        "request.deadline",
        "\"30m\"",
        "a time",
        "for one answer of the model, with every attempt",
        |c, _, v| {
            c.request.deadline = duration(&text(v)?)?;
            Some(())
        },
    ),
    key(
        "request.idle",
        "\"5m\"",
        "a time",
        "so long may nothing come from the provider",
        |c, _, v| {
            c.request.idle = duration(&text(v)?)?;
            Some(())
        },
    ),
    key(
        "request.attempts",
        "5",
        "a whole number from 1 to 20",
        "how often a request is made that fails for a while",
        |c, _, v| {
            c.request.attempts = u32::try_from(number(v)?)
                .ok()
                .filter(|n| (1..=20).contains(n))?;
            Some(())
        },
    ),
    key(
        "prompt.append",
        "\"\"",
        "a text",
        "put at the end of the system prompt",
        |c, _, v| {
            c.prompt.append = Some(text(v)?).filter(|text| !text.trim().is_empty());
            Some(())
        },
    ),
    key(
        "prompt.project",
        "true",
        "`true` or `false`",
        "whether `AGENTS.md` and `CLAUDE.md` are read",
        |c, _, v| {
            c.prompt.project = boolean(v)?;
            Some(())
        },
    ),
    key(
        "providers.*.api",
        "by the name",
        "`anthropic-messages`, `openai-responses` or `openai-completions`",
        "the protocol it speaks",
        |c, names, v| {
            let api = match text(v)?.as_str() {
                "anthropic-messages" => Api::AnthropicMessages,
                "openai-responses" => Api::OpenAiResponses,
                "openai-completions" => Api::OpenAiCompletions,
                _ => return None,
            };
            c.providers.entry(names.first()?.clone()).or_default().api = Some(api);
            Some(())
        },
    ),
    key(
        "providers.*.base_url",
        "by the name",
        "an address",
        "where it answers, such as `http://127.0.0.1:8080/v1`",
        |c, names, v| {
            let url = text(v)?;
            let known = url.starts_with("http://") || url.starts_with("https://");
            let url = url.trim_end_matches('/').to_owned();
            known.then_some(())?;
            c.providers
                .entry(names.first()?.clone())
                .or_default()
                .base_url = Some(url);
            Some(())
        },
    ),
    Key {
        secret: true,
        ..key(
            "providers.*.key",
            "\"\"",
            "a text",
            "the key itself; better where it does not lie in a file",
            |c, names, v| {
                let key = text(v)?;
                let provider = c.providers.entry(names.first()?.clone()).or_default();
                provider.key = (!key.is_empty()).then(|| Secret::new(key));
                Some(())
            },
        )
    },
    key(
        "providers.*.key_env",
        "by the name",
        "the name of a variable",
        "the variable of the environment that has the key",
        |c, names, v| {
            let name = text(v)?;
            c.providers
                .entry(names.first()?.clone())
                .or_default()
                .key_env = Some(name).filter(|n| !n.is_empty());
            Some(())
        },
    ),
    key(
        "providers.*.key_command",
        "[]",
        "a list of texts",
        "a command that prints the key, such as `[\"pass\", \"anthropic\"]`",
        |c, names, v| {
            let command = list(v)?;
            if command.first().is_some_and(String::is_empty) {
                return None;
            }
            c.providers
                .entry(names.first()?.clone())
                .or_default()
                .key_command = command;
            Some(())
        },
    ),
    key(
        "models.*.window",
        "by the name",
        "a whole number",
        "how many tokens its context holds; the table is written `[models.\"provider/id\"]`",
        |c, names, v| {
            let window = number(v).filter(|n| *n >= 1_000)?;
            c.models.entry(names.first()?.clone()).or_default().window = Some(window);
            Some(())
        },
    ),
    key(
        "models.*.max_output",
        "by the name",
        "a whole number",
        "how many tokens one answer may have",
        |c, names, v| {
            let most = number(v).filter(|n| *n > 0)?;
            c.models
                .entry(names.first()?.clone())
                .or_default()
                .max_output = Some(most);
            Some(())
        },
    ),
    key(
        "models.*.thinks",
        "by the name",
        "`true` or `false`",
        "whether it can be asked to think",
        |c, names, v| {
            c.models.entry(names.first()?.clone()).or_default().thinks = Some(boolean(v)?);
            Some(())
        },
    ),
    key(
        "models.*.images",
        "by the name",
        "`true` or `false`",
        "whether it can be shown images",
        |c, names, v| {
            c.models.entry(names.first()?.clone()).or_default().images = Some(boolean(v)?);
            Some(())
        },
    ),
];

pub(crate) fn thinking(word: &str) -> Option<Thinking> {
    Some(match word {
        "off" => Thinking::Off,
        "minimal" => Thinking::Minimal,
        "low" => Thinking::Low,
        "medium" => Thinking::Medium,
        "high" => Thinking::High,
        "xhigh" => Thinking::Xhigh,
        _ => return None,
    })
}

fn text(value: &DeValue<'_>) -> Option<String> {
    sm_settings::text(value).map(str::to_owned)
}

fn number(value: &DeValue<'_>) -> Option<u64> {
    sm_settings::number(value).filter(|n| *n <= 1_000_000_000)
}

fn duration(text: &str) -> Option<Duration> {
    sm_settings::duration(text, Duration::from_secs(24 * 3600))
}
