//! The commands of our installed hooks: how they are written, and how they are known again.
//!
//! They are known by what they run, not by their text: whatever the path of `sm-hook`, a call with
//! the mark is ours. The mark also says what else was made for it, so that `remove` knows what to
//! take away. Never anything of the user's is taken for ours: a line that does more than one plain
//! call is not.

use crate::shell;

const PROGRAM: &str = "sm-hook";
const MARK: &str = "--installed";
const WAS: &str = "--was";
const FORMAT: &str = "--format";

/// What had to be made for a hook, beside the hook itself. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    Nothing,
    /// The end of the file's last line.
    LineEnd,
    /// The list of its event.
    Event,
    /// The table of all hooks.
    Hooks,
    File,
}

impl Made {
    const ALL: [Self; 5] = [
        Self::Nothing,
        Self::LineEnd,
        Self::Event,
        Self::Hooks,
        Self::File,
    ];

    fn mark(self) -> &'static str {
        match self {
            Self::Nothing => MARK,
            Self::LineEnd => "--installed=line-end",
            Self::Event => "--installed=event",
            Self::Hooks => "--installed=hooks",
            Self::File => "--installed=file",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|made| made.mark() == word);
        // One of a later version is ours too.
        known.or_else(|| {
            word.strip_prefix(MARK)?
                .starts_with('=')
                .then_some(Self::Nothing)
        })
    }
}

/// A call of our program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub program: String,
    pub agent: String,
    /// An event, `mailbox` or `statusline`.
    pub word: String,
    /// `None`: it was not installed by us, but given with a launch or written by hand.
    pub made: Option<Made>,
    /// The user's own status line, which ours runs.
    pub chained: Option<String>,
    /// What a status line of the user's own hand asks for.
    pub format: Option<String>,
    /// How `chained` was written in the file, if not in the plain way.
    pub was: Option<String>,
}

impl Call {
    /// Reads a command; `None` if it is not a plain call of our program.
    pub fn read(command: &str) -> Option<Self> {
        let words = shell::words(command)?;
        let mut words = words.into_iter().peekable();
        words.next_if_eq("exec");
        let program = words.next()?;
        let (agent, word) = match program.rsplit('/').next()? {
            PROGRAM => (words.next()?, words.next()?),
            // The same status line by its other name.
            "sm" => ("claude".to_owned(), words.next_if_eq("statusline")?),
            _ => return None,
        };
        let mut call = Self {
            program,
            agent,
            word,
            made: None,
            chained: None,
            format: None,
            was: None,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--" => {
                    let rest: Vec<String> = words.by_ref().collect();
                    call.chained = Some(rest.join(" "));
                }
                WAS => call.was = words.next(),
                FORMAT => call.format = words.next(),
                word => match word.strip_prefix("--format=") {
                    Some(format) => call.format = Some(format.to_owned()),
                    None => call.made = call.made.or(Made::parse(word)),
                },
            }
        }
        Some(call)
    }

    /// Whether it is one that was installed for this agent.
    pub fn is_installed_for(&self, agent: &str) -> bool {
        self.made.is_some() && self.agent == agent
    }

    pub fn is_status_line(&self) -> bool {
        self.word == "statusline"
    }
}

/// The command of an installed hook.
pub fn hook(program: &str, agent: &str, word: &str, made: Made) -> String {
    shell::hook([program, agent, word, made.mark()])
}

/// The command of an installed status line that runs the user's own.
pub fn status_line(program: &str, agent: &str, chained: Option<(&str, Option<&str>)>) -> String {
    let ours = [program, agent, "statusline", MARK];
    match chained {
        None => shell::hook(ours),
        Some((command, None)) => shell::hook(ours.into_iter().chain(["--", command])),
        Some((command, Some(was))) => {
            shell::hook(ours.into_iter().chain([WAS, was, "--", command]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again() {
        for program in ["/usr/bin/sm-hook", "/home/it's me/a b/sm-hook", "sm-hook"] {
            for made in Made::ALL {
                let call = Call::read(&hook(program, "claude", "Stop", made)).unwrap();
                assert_eq!(
                    (call.program.as_str(), call.word.as_str()),
                    (program, "Stop")
                );
                assert_eq!(call.made, Some(made));
                assert!(call.is_installed_for("claude") && !call.is_installed_for("codex"));
            }
            for (command, was) in [
                ("", None),
                ("jq -r '.model.id' | tr a b; echo \"$HOME\"", None),
                ("a\nb", Some(r#""a\u000ab""#)),
                ("-- x --installed", None),
            ] {
                let line = status_line(program, "claude", Some((command, was)));
                let call = Call::read(&line).unwrap();
                assert_eq!(call.chained.as_deref(), Some(command));
                assert_eq!(call.was.as_deref(), was);
                assert!(call.is_status_line() && call.is_installed_for("claude"));
            }
            let alone = Call::read(&status_line(program, "claude", None)).unwrap();
            assert_eq!((alone.chained, alone.was), (None, None));
        }
    }

    #[test]
    fn only_a_plain_call_of_our_program_is_ours() {
        for (command, installed) in [
            ("exec /x/sm-hook claude Stop", Some(false)),
            ("/x/sm-hook claude Stop --installed", Some(true)),
            ("exec \"/x y/sm-hook\" claude Stop --installed", Some(true)),
            ("exec sm-hook claude Stop --installed=new-word", Some(true)),
            ("exec sm-hook claude Stop --installedx", Some(false)),
            ("sm-hook claude statusline -- '--installed'", Some(false)),
            ("sm-hook claude Stop --installed; say done", None),
            ("sm-hook claude Stop --installed | tee x", None),
            ("echo sm-hook claude Stop --installed", None),
            ("my-sm-hook claude Stop --installed", None),
            ("sm statusline --format {percent}% -- x", Some(false)),
            ("/usr/bin/sm status", None),
            ("sm-hook --installed", None),
            ("sm-hook", None),
            ("exec", None),
            ("'sm-hook claude Stop --installed", None),
            ("", None),
        ] {
            let read = Call::read(command).map(|call| call.made.is_some());
            assert_eq!(read, installed, "{command}");
        }
    }
}
