//! A text that is to be taken as if a person had typed it: it may be a command.
//!
//! Nothing is dropped: what cannot be done from outside is refused, with a reason that its sender
//! reads on the receipt. What only shows something belongs to whoever sits at the screen.

use std::path::Path;

use sm_agents::native::SUCCESSOR;

use crate::host::{Command, Told};
use crate::session;
use crate::wish::{Wish, wish};

/// The error says what is to be done instead.
pub fn typed(text: &str, sessions: &Path, cwd: &Path) -> Result<Command, String> {
    if text == SUCCESSOR {
        return Ok(Command::Successor);
    }
    Ok(match wish(text) {
        Wish::Say(text) => Command::Told {
            text,
            how: Told::Prompt,
        },
        Wish::Shell(command) => Command::Shell(command),
        Wish::Handoff { edit: true, .. } => {
            return Err(at_screen("/handoff --edit opens an editor"));
        }
        Wish::Handoff { focus, edit } => Command::Handoff { focus, edit },
        Wish::UndoHandoff => Command::UndoHandoff,
        Wish::Compact(focus) => Command::Compact { focus },
        Wish::New => Command::New,
        Wish::Resume(Some(wanted)) => {
            let found = session::find(sessions, cwd, &wanted);
            Command::Resume(found.map_err(|error| error.to_string())?)
        }
        Wish::Resume(None) => return Err(at_screen("/resume without an id shows a list")),
        Wish::Fork => return Err(at_screen("/fork shows a list")),
        Wish::Export(file) => Command::Export(file),
        Wish::Model(Some(name)) => Command::SetModel(name),
        Wish::Model(None) => return Err(at_screen("/model without a name shows a list")),
        Wish::Thinking(Some(level)) => Command::SetThinking(level),
        Wish::Thinking(None) => return Err(at_screen("/thinking without a level only shows it")),
        Wish::Title(title) => Command::SetTitle(title),
        Wish::Quit => Command::Quit,
        Wish::Context => return Err("/context only shows something: use `sm context`".to_owned()),
        Wish::Help => return Err(at_screen("/help only shows something")),
        Wish::Wrong(why) => return Err(why),
    })
}

fn at_screen(what: &str) -> String {
    format!("{what}: type it at the agent's screen (`sm attach`)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_llm::Thinking;

    fn read(text: &str) -> Result<Command, String> {
        let none = Path::new("/nothing");
        typed(text, none, none)
    }

    #[test]
    fn what_is_typed_is_done_and_what_is_said_is_said() {
        let said = |text: &str| Command::Told {
            text: text.to_owned(),
            how: Told::Prompt,
        };
        for (text, expected) in [
            (SUCCESSOR, Command::Successor),
            ("/new", Command::New),
            ("/quit", Command::Quit),
            ("/model a/b", Command::SetModel("a/b".to_owned())),
            ("/thinking high", Command::SetThinking(Thinking::High)),
            ("!ls -l", Command::Shell("ls -l".to_owned())),
            ("/usr/bin/x is a path", said("/usr/bin/x is a path")),
            ("hello ", said("hello ")),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn nothing_is_dropped_what_cannot_be_done_is_refused_with_a_reason() {
        for (text, reason) in [
            ("/model", "shows a list"),
            ("/resume", "shows a list"),
            ("/resume 0197", "0197"),
            ("/thinking", "sm attach"),
            ("/thinking loud", "levels are off"),
            ("/title", "a title follows"),
            ("/context", "sm context"),
            ("/help", "sm attach"),
            ("/handoff --edit", "opens an editor"),
            ("/nobody knows", "there is no command /nobody"),
            ("!", "a command follows the !"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(reason), "{text}: {why}");
        }
    }
}
