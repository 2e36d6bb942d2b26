//! What is asked for when an agent is started, and the line that starts it.

use crate::own_tools::OwnTools;
use sm_core::ids::ConversationId;

/// Which conversation the agent starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A new one; with this id if the agent can be told one.
    New(Option<ConversationId>),
    /// One that an earlier process had.
    Resume(ConversationId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRequest {
    /// Program and its fixed arguments (a generic agent's whole command).
    pub program: Vec<String>,
    pub start: Start,
    /// The first prompt, delivered as an argument where the agent can take one.
    pub prompt: Option<String>,
    /// What the person wrote after `--`.
    pub args: Vec<String>,
    /// Path of `sm-hook`.
    pub hook_program: String,
    /// Where the per-launch settings were written (Claude); ignored by others.
    pub settings_path: String,
    /// Tools of sm's own that the agent is given, if it can be given any.
    pub tools: Option<OwnTools>,
}

/// The line to run, and what became of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<String>,
    /// The conversation the agent will have, where that is certain before it says so itself.
    pub conversation: Option<ConversationId>,
    /// Whether the prompt is on the line (else it has to be delivered another way).
    pub prompt_given: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    #[error("no program to run was given")]
    NoProgram,
    #[error("the prompt contains a NUL character")]
    NulInPrompt,
    #[error("a {0} program has no conversations to resume")]
    CannotResume(&'static str),
}

impl LaunchRequest {
    /// What every agent needs: something to run, and nothing that cannot be in an argument.
    pub(crate) fn check(&self) -> Result<(), LaunchError> {
        if self.program.first().is_none_or(String::is_empty) {
            return Err(LaunchError::NoProgram);
        }
        if self.prompt.as_deref().is_some_and(|p| p.contains('\0')) {
            return Err(LaunchError::NulInPrompt);
        }
        Ok(())
    }
}

impl Launch {
    /// The line with the prompt behind it, where it may be there: `users_prompt` says that the person
    /// gave one of his own, `fits` whether the program takes it as it stands.
    pub(crate) fn with_prompt(
        mut argv: Vec<String>,
        conversation: Option<ConversationId>,
        request: &LaunchRequest,
        users_prompt: bool,
        fits: impl Fn(&str) -> bool,
    ) -> Self {
        let prompt = request
            .prompt
            .as_ref()
            .filter(|p| !users_prompt && p.len() <= PROMPT_ARGUMENT_MAX && fits(p));
        if let Some(prompt) = prompt {
            // `--` keeps a prompt with a leading dash, and ends options that take many values.
            argv.extend(["--".to_owned(), prompt.clone()]);
        }
        Self {
            argv,
            conversation,
            prompt_given: prompt.is_some(),
        }
    }
}

/// Longest prompt given as an argument: one argument may have 128 KiB on Linux.
const PROMPT_ARGUMENT_MAX: usize = 96 * 1024;

/// Takes `--name value` or `--name=value` out of `args`; the last one counts, as in the programs.
pub(crate) fn take_option(args: &mut Vec<String>, name: &str) -> Option<String> {
    let mut found = None;
    let mut i = 0;
    while i < args.len() && args[i] != "--" {
        if args[i] == name && i + 1 < args.len() {
            found = Some(args.remove(i + 1));
            args.remove(i);
        } else if let Some(value) = args[i].strip_prefix(name).and_then(|r| r.strip_prefix('=')) {
            found = Some(value.to_owned());
            args.remove(i);
        } else {
            i += 1;
        }
    }
    found
}

/// Whether one of the options is among the arguments (before `--`).
pub(crate) fn has_option(args: &[String], names: &[&str]) -> bool {
    args.iter().take_while(|a| *a != "--").any(|arg| {
        names.iter().any(|n| {
            arg == n
                || arg
                    .strip_prefix(n)
                    .is_some_and(|r| n.starts_with("--") && r.starts_with('='))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_before_the_double_dash() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut args = words("--settings a --model m --settings=b -- --settings c");
        assert_eq!(take_option(&mut args, "--settings").as_deref(), Some("b"));
        assert_eq!(args, words("--model m -- --settings c"));
        assert!(has_option(&args, &["--model"]));
        assert!(has_option(&words("--resume=x"), &["-r", "--resume"]));
        assert!(!has_option(
            &words("--resumes -- --resume"),
            &["-r", "--resume"]
        ));
    }
}
