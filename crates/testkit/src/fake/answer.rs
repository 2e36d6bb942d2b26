//! What a hook answered. Pure.

use serde_json::Value;

/// Beyond this many characters the model gets a preview only.
const CONTEXT_LIMIT: usize = 10_000;
const PREVIEW: usize = 2_000;

/// How a hook ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub millis: u64,
}

/// What the hooks of one event said together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Texts for the model.
    pub context: Vec<String>,
    /// Reasons against going on: what a Stop hook says keeps the agent working.
    pub blocked: Vec<Blocked>,
    /// `"continue": false`.
    pub halt: bool,
    /// A permission hook's decision.
    pub permission: Option<bool>,
    /// Lines for the person.
    pub messages: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    pub command: String,
    pub reason: String,
}

impl Answer {
    pub(super) fn of(event: &str, hooks: &[Ended]) -> Self {
        let mut answer = Self::default();
        hooks.iter().for_each(|hook| answer.add(event, hook));
        answer
    }

    fn add(&mut self, event: &str, hook: &Ended) {
        let blocked = |reason: &str| Blocked {
            command: hook.command.clone(),
            reason: reason.to_owned(),
        };
        if hook.code == Some(2) {
            self.blocked.push(blocked(hook.stderr.trim_end()));
            return;
        }
        if hook.code != Some(0) {
            return;
        }
        let Ok(json) = serde_json::from_str::<Value>(&hook.stdout) else {
            // plain text is context where the agent takes any
            let text = hook.stdout.trim();
            if matches!(event, "SessionStart" | "UserPromptSubmit") && !text.is_empty() {
                self.context.push(capped(text));
            }
            return;
        };
        let specific = &json["hookSpecificOutput"];
        if let Some(text) = specific["additionalContext"]
            .as_str()
            .filter(|text| !text.is_empty())
        {
            self.context.push(capped(text));
        }
        if json["decision"] == "block" {
            self.blocked
                .push(blocked(json["reason"].as_str().unwrap_or_default()));
        }
        self.halt |= json["continue"] == false;
        self.messages
            .extend(json["systemMessage"].as_str().map(str::to_owned));
        self.permission = match specific["decision"]["behavior"].as_str() {
            Some("allow") => Some(true),
            Some("deny") => Some(false),
            _ => self.permission,
        };
    }
}

/// What the model gets of a text; the real program names a file with the rest.
fn capped(text: &str) -> String {
    if text.chars().count() <= CONTEXT_LIMIT {
        return text.to_owned();
    }
    let preview: String = text.chars().take(PREVIEW).collect();
    format!("<persisted-output>\nOutput too large.\n\n{preview}\n</persisted-output>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(event: &str, code: i32, stdout: &str, stderr: &str) -> Answer {
        let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
        Answer::of(
            event,
            &[Ended {
                command: "c".into(),
                code: Some(code),
                stdout,
                stderr,
                millis: 0,
            }],
        )
    }

    #[test]
    fn answers_are_read_like_claude_reads_them() {
        let context = r#"{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"a\nb"},"systemMessage":"s"}"#;
        let answer = said("PostToolBatch", 0, context, "");
        assert_eq!(
            (answer.context, answer.messages),
            (vec!["a\nb".to_owned()], vec!["s".to_owned()])
        );
        assert_eq!(capped(&"ä".repeat(10_000)).chars().count(), 10_000);
        assert!(capped(&"ä".repeat(10_001)).starts_with("<persisted-output>"));
        let blocked = said("Stop", 0, r#"{"decision":"block","reason":"go on"}"#, "").blocked;
        assert_eq!(
            blocked,
            [Blocked {
                command: "c".into(),
                reason: "go on".into()
            }]
        );
        assert_eq!(said("Stop", 2, "", "why\n").blocked[0].reason, "why");
        assert!(said("PostToolUse", 0, r#"{"continue":false}"#, "").halt);
        assert_eq!(said("SessionStart", 0, "plain\n", "").context, ["plain"]);
        assert_eq!(said("Stop", 0, "plain", ""), Answer::default());
        assert_eq!(
            said("Stop", 1, r#"{"decision":"block"}"#, "broken"),
            Answer::default()
        );
    }
}
