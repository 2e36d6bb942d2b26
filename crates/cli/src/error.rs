//! Why a command could not be done, for people: what happened, and what to do next.

use std::io;

/// What the program ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    pub const SUCCESS: Self = Self(0);
    pub const FAILURE: Self = Self(1);
}

impl From<u8> for ExitCode {
    fn from(code: u8) -> Self {
        Self(code)
    }
}

impl From<ExitCode> for i32 {
    fn from(code: ExitCode) -> Self {
        code.0.into()
    }
}

/// What a failure means to a caller. The exit codes are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Refused or not found.
    Refused,
    /// Not usable here: no session, no daemon possible.
    NotUsable,
    /// A sandbox lets this program reach nobody.
    Sandboxed,
    /// Not proven in time; it stays queued.
    NotInTime,
    /// Wrong usage.
    Usage,
    /// Whoever read our output has left: nothing to complain about.
    ReaderLeft,
}

impl Kind {
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::ReaderLeft => 0,
            Self::Refused => 1,
            Self::NotUsable | Self::Sandboxed => 2,
            Self::NotInTime => 3,
            Self::Usage => 64,
        })
    }
}

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    pub kind: Kind,
    pub message: String,
    pub hints: Vec<String>,
}

impl CommandError {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    pub fn not_usable(message: impl Into<String>) -> Self {
        Self::new(Kind::NotUsable, message)
    }

    pub fn not_in_time(message: impl Into<String>) -> Self {
        Self::new(Kind::NotInTime, message)
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A failure with a file.
    pub fn file(path: &std::path::Path, what: &str, error: &io::Error) -> Self {
        Self::refused(format!("cannot {what} {}: {error}", path.display()))
    }

    /// A failure to write our own output.
    pub fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::ReaderLeft, "nobody reads the output"),
            _ => Self::refused(format!("cannot write the output: {error}")),
        }
    }
}

pub type Result<T> = std::result::Result<T, CommandError>;
