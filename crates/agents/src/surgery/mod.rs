//! Changing a settings file of the user's: ours goes in and comes out, every other byte stays.
//!
//! Text in, text out; whoever calls reads and writes the files. What has to be known to take ours
//! out again is in the file itself, in the commands of our hooks ([`call`]). Nothing is changed
//! that cannot be taken back exactly: that is tried before a text is given out.

pub mod call;
pub mod json;
pub mod json_edit;
pub mod toml;

/// Where in a text, for people: both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    pub fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[start..].trim_start_matches('\u{feff}');
        Self {
            line: before.matches('\n').count() + 1,
            column: column.chars().count() + 1,
        }
    }
}

/// Why a file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("line {}, column {}: {what}", at.line, at.column)]
    At { at: Place, what: String },
    #[error("the change could not be taken back exactly")]
    NotReversible,
}

impl Refusal {
    pub fn at(text: &str, at: usize, what: impl Into<String>) -> Self {
        Self::At {
            at: Place::of(text, at),
            what: what.into(),
        }
    }
}

/// Whether a status line may be added where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePolicy {
    Add,
    /// Only one that is there is chained: a new one would hide that of another file.
    OnlyChain,
}

/// What became of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// The agent has none.
    None,
    Added,
    /// The user's own command is run by ours.
    Chained,
    /// It is the user's, and runs our program already.
    AlreadyOurs,
    /// It is there, but no command.
    NotACommand,
    /// There is none in this file, and one may not be added.
    LeftOut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub text: String,
    pub line: Line,
}

/// What is left when ours is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    Text(String),
    /// The file was made for our hooks, and nothing else is in it.
    NoFile,
}

/// What of ours is in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Event and program of each of our hooks, in the order of the file.
    pub hooks: Vec<(String, String)>,
    /// The program of our status line.
    pub line: Option<String>,
    /// Events that we listen to and that have no hook of ours.
    pub missing: Vec<&'static str>,
    /// How many of our hooks the agent has been told to trust, if it asks for that.
    pub trusted: Option<usize>,
}

impl Found {
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.line.is_none()
    }

    /// The programs that are run, each once.
    pub fn programs(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        let hooks = self.hooks.iter().map(|(_, program)| program);
        for program in hooks.chain(&self.line) {
            if !all.contains(&program.as_str()) {
                all.push(program);
            }
        }
        all
    }
}

/// The line ends of a text.
pub fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_people_do() {
        for (text, at, line, column) in [
            ("", 0, 1, 1),
            ("ab", 1, 1, 2),
            ("a\nb", 2, 2, 1),
            ("é\r\nüx", 6, 2, 2),
            ("\u{feff}{", 3, 1, 1),
        ] {
            assert_eq!(Place::of(text, at), Place { line, column }, "{text:?}");
        }
    }
}
