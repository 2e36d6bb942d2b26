//! A text that is to be taken as if a person had typed it: it may be a command. What only shows
//! something on the screen does nothing here.

use std::path::Path;

use sm_agents::native::SUCCESSOR;

use crate::config::thinking;
use crate::host::{Command, Told};
use crate::session;
use crate::slash::{self, Slash};

/// `None`: there is nothing to do.
pub fn typed(text: &str, sessions: &Path, cwd: &Path) -> Option<Command> {
    let prompt = || Command::Told {
        text: text.to_owned(),
        how: Told::Prompt,
    };
    if text.trim() == SUCCESSOR {
        return Some(Command::Successor);
    }
    if let Some(command) = text.strip_prefix('!').map(str::trim)
        && !command.is_empty()
    {
        return Some(Command::Shell(command.to_owned()));
    }
    Some(match slash::parse(text) {
        None | Some(Slash::Unknown(_)) => prompt(),
        Some(Slash::Handoff { focus, edit }) => Command::Handoff { focus, edit },
        Some(Slash::UndoHandoff) => Command::UndoHandoff,
        Some(Slash::New) => Command::New,
        Some(Slash::Resume(wanted)) => {
            let wanted = wanted?;
            match session::find(sessions, cwd, &wanted) {
                Ok(path) => Command::Resume(path),
                // The agent says why it cannot be opened.
                Err(_) => Command::Resume(wanted.into()),
            }
        }
        Some(Slash::Model(name)) => Command::SetModel(name?),
        Some(Slash::Thinking(level)) => Command::SetThinking(thinking(&level?)?),
        Some(Slash::Title(title)) => Command::SetTitle(title?),
        Some(Slash::Quit) => Command::Quit,
        Some(Slash::Context | Slash::Help) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_done_and_what_is_said_is_said() {
        let none = Path::new("/nothing");
        let said = |text: &str| {
            Some(Command::Told {
                text: text.to_owned(),
                how: Told::Prompt,
            })
        };
        for (text, expected) in [
            (SUCCESSOR, Some(Command::Successor)),
            ("/new", Some(Command::New)),
            ("/quit", Some(Command::Quit)),
            ("/model a/b", Some(Command::SetModel("a/b".to_owned()))),
            ("/model", None),
            ("/thinking loud", None),
            ("/help", None),
            ("/resume 0197", Some(Command::Resume("0197".into()))),
            ("!ls -l", Some(Command::Shell("ls -l".to_owned()))),
            ("!", said("!")),
            ("/nobody knows", said("/nobody knows")),
            ("/usr/bin/x is a path", said("/usr/bin/x is a path")),
            ("hello", said("hello")),
        ] {
            assert_eq!(typed(text, none, none), expected, "{text}");
        }
    }
}
