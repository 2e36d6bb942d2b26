//! What is said about a context, by audience, and what is filled in. Pure words: when they are said is
//! decided elsewhere.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is said, by audience. `{name}`, `{percent}`, `{tokens}`, `{left}`, `{window}`, `{before}` and
/// `{after}` are filled in; `{how}` is how to hand off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    pub warning_agent: Cow<'static, str>,
    pub critical_agent: Cow<'static, str>,
    pub critical_owner: Cow<'static, str>,
    /// To the agent whose compaction was held up.
    pub imminent_agent: Cow<'static, str>,
    pub compaction_parent: Cow<'static, str>,
    pub compaction_owner: Cow<'static, str>,
}

/// How the agent of a session hands over, as far as its launch knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// By `sm`, which its shell finds.
    #[default]
    Command,
    /// By `sm` of this path, as its shell may find another one or none.
    Path(String),
    /// By a tool of this name.
    Tool(String),
    /// By a tool; where it is missing, by `sm` of this path, as in [`Self::Path`].
    ToolOrPath { tool: String, path: String },
}

impl How {
    pub fn is_command(&self) -> bool {
        *self == Self::Command
    }

    /// The command of `sm` for its shell.
    pub fn program(&self) -> &str {
        match self {
            Self::Command | Self::Tool(_) => "sm",
            Self::Path(path) | Self::ToolOrPath { path, .. } => path,
        }
    }

    /// The tool, where there is one.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) | Self::ToolOrPath { tool, .. } => Some(tool),
            Self::Command | Self::Path(_) => None,
        }
    }

    /// What an alert says about it.
    pub fn told(&self) -> String {
        let by_command = |sm: &str| {
            format!(
                "`{sm} handoff --template` prints what a good document holds; run `{sm} handoff <path>` as your last action, or give the document on standard input, for which no file has to be written: `{sm} handoff - <<'END'`"
            )
        };
        match self {
            Self::Command => by_command("sm"),
            Self::Path(path) => format!("Your shell may not find `sm`: {}", by_command(path)),
            Self::Tool(tool) | Self::ToolOrPath { tool, .. } => {
                let sm = self.program();
                format!(
                    "No file and no command is needed: call the tool `{tool}` with the document itself as your last action; `{tool}_template` or `{sm} handoff --template` shows what a good document holds. If you do not have that tool: `{sm} handoff - <<'END'` takes the document from standard input"
                )
            }
        }
    }

    /// The same in a few words.
    pub fn in_short(&self) -> String {
        match self {
            Self::Command | Self::Path(_) => format!("run `{} handoff <path>`", self.program()),
            Self::Tool(tool) | Self::ToolOrPath { tool, .. } => {
                format!("hand it over with the tool `{tool}`")
            }
        }
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            warning_agent: "[sm context] Context at {percent}% ({tokens} tokens, {left} left). Consider writing a handoff doc and running `sm handoff <path>`. {how}.".into(),
            critical_agent: "[sm context] Context at {percent}% ({tokens} tokens, {left} left) — critically high. Write your handoff doc NOW and run `sm handoff <path>`. Compaction is imminent. {how}.".into(),
            critical_owner: "{name}: its context is at {percent}% ({tokens} of {window} tokens). It was told to hand off. See: sm context {name}".into(),
            imminent_agent: "[sm context] Your context is full and is about to be compacted; sm holds that up for a few requests. Write your handoff doc NOW and run `sm handoff <path>`. {how}.".into(),
            compaction_parent: "[sm context] Compaction fired for {name}. Context was lost ({before} → {after} tokens).".into(),
            compaction_owner: "{name} compacted its context: {before} → {after} tokens; what was not written down is lost to it. See: sm context {name}, sm archive {name}".into(),
        }
    }
}

impl Texts {
    /// The same without pressure and without capitals.
    pub fn neutral() -> Self {
        Self {
            warning_agent: "[sm context] Context usage: {percent}% ({tokens} tokens, {left} left). A handoff document can be written and handed over with `sm handoff <path>`. {how}.".into(),
            critical_agent: "[sm context] Context usage: {percent}% ({tokens} tokens, {left} left). A compaction may follow soon. Please write a handoff document and run `sm handoff <path>`. {how}.".into(),
            imminent_agent: "[sm context] The context is full and a compaction is about to follow. Please write a handoff document and run `sm handoff <path>`. {how}.".into(),
            ..Self::default()
        }
    }
}

/// The values that stand in a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    pub name: String,
    pub percent: Option<u8>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    pub before: Option<u64>,
    pub after: Option<u64>,
    pub how: How,
}

impl Values {
    /// Fills a template in. What is not known is said so; unknown braces stay as they are.
    pub fn fill(&self, template: &str) -> String {
        let number = |n: Option<u64>| n.map_or_else(|| "unknown".to_string(), thousands);
        let left = match (self.tokens, self.window) {
            (Some(tokens), Some(window)) => Some(window.saturating_sub(tokens)),
            (Some(_), None) | (None, Some(_) | None) => None,
        };
        let percent = self
            .percent
            .map_or_else(|| "?".to_string(), |p| p.to_string());
        template
            .replace("{percent}", &percent)
            .replace("{tokens}", &number(self.tokens))
            .replace("{left}", &number(left))
            .replace("{window}", &number(self.window))
            .replace("{before}", &number(self.before))
            .replace("{after}", &number(self.after))
            .replace("{how}", &self.how.told())
            .replace("{name}", &self.name) // last: a name is nobody's template
    }
}

/// `86000` as `86,000`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
