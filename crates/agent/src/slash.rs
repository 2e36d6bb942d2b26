//! What is typed with a slash before it. Pure; the same for every front end.

/// One command, and what can stand behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub name: &'static str,
    /// Shown behind the name while nothing is typed there.
    pub hint: &'static str,
    pub about: &'static str,
}

pub const COMMANDS: [Known; 13] = [
    Known {
        name: "handoff",
        hint: "[focus instructions]",
        about: "go on in a new session with a document of this one; --edit lets you edit it first",
    },
    Known {
        name: "undo-handoff",
        hint: "",
        about: "go back to the session before the handoff",
    },
    Known {
        name: "compact",
        hint: "[focus instructions]",
        about: "go on in this session with a document in place of what was said",
    },
    Known {
        name: "new",
        hint: "",
        about: "a new session",
    },
    Known {
        name: "resume",
        hint: "[id or path]",
        about: "go on with another session",
    },
    Known {
        name: "fork",
        hint: "",
        about: "a new session from a prompt of this one, which you can change",
    },
    Known {
        name: "export",
        hint: "[file]",
        about: "write the session to a page, or to a .md or .jsonl file",
    },
    Known {
        name: "model",
        hint: "[part of its name]",
        about: "choose the model, or take the one that is named",
    },
    Known {
        name: "thinking",
        hint: "[level]",
        about: "show or change how long the model thinks",
    },
    Known {
        name: "context",
        hint: "",
        about: "how full the context is",
    },
    Known {
        name: "title",
        hint: "[text]",
        about: "name the session",
    },
    Known {
        name: "help",
        hint: "",
        about: "what can be typed",
    },
    Known {
        name: "quit",
        hint: "",
        about: "leave",
    },
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    Handoff {
        focus: Option<String>,
        edit: bool,
    },
    UndoHandoff,
    Compact(Option<String>),
    New,
    Resume(Option<String>),
    Fork,
    Export(Option<String>),
    Model(Option<String>),
    Thinking(Option<String>),
    Context,
    Title(Option<String>),
    Help,
    Quit,
    /// Looks like a command and is none.
    Unknown(String),
}

/// `None`: it is a prompt. A path at the beginning of a text is no command.
pub fn parse(text: &str) -> Option<Slash> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        return None;
    }
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty());
    let owned = rest.map(str::to_owned);
    Some(match name {
        "handoff" => {
            let edit = rest.is_some_and(|rest| rest == "--edit" || rest.starts_with("--edit "));
            let focus = match (rest, edit) {
                (Some(rest), true) => rest.strip_prefix("--edit").map(str::trim),
                (rest, _) => rest,
            };
            Slash::Handoff {
                focus: focus.filter(|focus| !focus.is_empty()).map(str::to_owned),
                edit,
            }
        }
        "undo-handoff" => Slash::UndoHandoff,
        "compact" => Slash::Compact(owned),
        "new" => Slash::New,
        "resume" => Slash::Resume(owned),
        "fork" => Slash::Fork,
        "export" => Slash::Export(owned),
        "model" => Slash::Model(owned),
        "thinking" => Slash::Thinking(owned),
        "context" => Slash::Context,
        "title" => Slash::Title(owned),
        "help" => Slash::Help,
        "quit" | "exit" => Slash::Quit,
        other => Slash::Unknown(other.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
        let handoff = |focus: Option<&str>, edit| {
            Some(Slash::Handoff {
                focus: focus.map(str::to_owned),
                edit,
            })
        };
        for (text, expected) in [
            ("/handoff", handoff(None, false)),
            ("  /handoff the parser ", handoff(Some("the parser"), false)),
            ("/handoff --edit", handoff(None, true)),
            (
                "/handoff --edit the parser",
                handoff(Some("the parser"), true),
            ),
            ("/handoff --editor", handoff(Some("--editor"), false)),
            ("/quit", Some(Slash::Quit)),
            ("/model a/b", Some(Slash::Model(Some("a/b".into())))),
            ("/hand", Some(Slash::Unknown("hand".into()))),
            ("/etc/passwd is a file", None),
            ("hello /handoff", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn every_command_that_is_listed_is_understood() {
        for known in COMMANDS {
            let parsed = parse(&format!("/{}", known.name));
            assert!(
                !matches!(parsed, None | Some(Slash::Unknown(_))),
                "{}",
                known.name
            );
        }
    }
}
