//! What a person wants by a text they submitted, here or through `sm send --raw`. Pure.

use std::path::PathBuf;

use sm_llm::Thinking;

use crate::config::thinking;
use crate::slash::{self, COMMANDS, Slash};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    Say(String),
    Shell(String),
    Handoff {
        focus: Option<String>,
        edit: bool,
    },
    UndoHandoff,
    Compact(Option<String>),
    New,
    /// Without a name a list is shown.
    Resume(Option<String>),
    /// A prompt is chosen from a list.
    Fork,
    /// To this file, or to one with a name of ours.
    Export(Option<PathBuf>),
    /// Without a name a list is shown.
    Model(Option<String>),
    Thinking(Option<Thinking>),
    Title(String),
    Context,
    Help,
    Quit,
    /// It looks like a command and is none; the text says why.
    Wrong(String),
}

pub(crate) fn wish(text: &str) -> Wish {
    if let Some(command) = text.trim().strip_prefix('!') {
        return match command.trim() {
            "" => Wish::Wrong("a command follows the !".into()),
            command => Wish::Shell(command.to_owned()),
        };
    }
    match slash::parse(text) {
        None => Wish::Say(text.to_owned()),
        Some(Slash::Handoff { focus, edit }) => Wish::Handoff { focus, edit },
        Some(Slash::UndoHandoff) => Wish::UndoHandoff,
        Some(Slash::Compact(focus)) => Wish::Compact(focus),
        Some(Slash::New) => Wish::New,
        Some(Slash::Resume(name)) => Wish::Resume(name),
        Some(Slash::Fork) => Wish::Fork,
        Some(Slash::Export(file)) => Wish::Export(file.map(PathBuf::from)),
        Some(Slash::Model(name)) => Wish::Model(name),
        Some(Slash::Thinking(None)) => Wish::Thinking(None),
        Some(Slash::Thinking(Some(word))) => match thinking(&word) {
            Some(level) => Wish::Thinking(Some(level)),
            None => Wish::Wrong("levels are off, minimal, low, medium, high and xhigh".into()),
        },
        Some(Slash::Title(Some(title))) => Wish::Title(title),
        Some(Slash::Title(None)) => Wish::Wrong("a title follows /title".into()),
        Some(Slash::Context) => Wish::Context,
        Some(Slash::Help) => Wish::Help,
        Some(Slash::Quit) => Wish::Quit,
        Some(Slash::Unknown(name)) => Wish::Wrong(format!(
            "there is no command /{name}{}; /help shows them all",
            nearest(&name).map_or(String::new(), |near| format!(" (did you mean /{near}?)"))
        )),
    }
}

pub(crate) fn thinking_word(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::Off => "off",
        Thinking::Minimal => "minimal",
        Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
        Thinking::Xhigh => "xhigh",
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let begins = |command: &&str| {
        let same = name
            .bytes()
            .zip(command.bytes())
            .take_while(|(a, b)| a == b);
        same.count() + 1 >= name.len().min(command.len()).max(3)
    };
    COMMANDS.iter().map(|command| command.name).find(begins)
}

/// A path that a person typed.
pub(crate) fn is_path(name: &str) -> Option<PathBuf> {
    name.contains('/').then(|| PathBuf::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes() {
        let handoff = |focus: Option<&str>, edit| Wish::Handoff {
            focus: focus.map(str::to_owned),
            edit,
        };
        for (text, expected) in [
            ("hello", Wish::Say("hello".into())),
            ("/handoff", handoff(None, false)),
            (
                "/handoff the parser, not the tests",
                handoff(Some("the parser, not the tests"), false),
            ),
            ("/handoff --edit", handoff(None, true)),
            ("! cargo test", Wish::Shell("cargo test".into())),
            ("/thinking high", Wish::Thinking(Some(Thinking::High))),
            ("/thinking", Wish::Thinking(None)),
            ("/resume", Wish::Resume(None)),
            ("/model a/b", Wish::Model(Some("a/b".into()))),
            (
                "/etc/hosts is wrong",
                Wish::Say("/etc/hosts is wrong".into()),
            ),
            ("/quit", Wish::Quit),
        ] {
            assert_eq!(wish(text), expected, "{text}");
        }
        for text in ["/handof", "/foo", "!", "/thinking loud", "/title"] {
            assert!(matches!(wish(text), Wish::Wrong(_)), "{text}");
        }
        let Wish::Wrong(why) = wish("/handof") else {
            panic!("no such command");
        };
        assert!(why.contains("did you mean /handoff?"), "{why}");
    }
}
