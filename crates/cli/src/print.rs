//! The one place that writes to the terminal.
//!
//! Commands hand over finished lines; nothing else in this program uses stdout or stderr.

use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};
use std::sync::OnceLock;

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use crate::error::{CommandError, Kind, Result};
use crate::text::{Color, Look, Signs, Tone, many_lines, safe_json};

/// More than this is no answer to a question.
const LONGEST_ANSWER: u64 = 100;

/// Standard output, and how it looks.
pub struct Printer {
    out: BufWriter<io::Stdout>,
    pub look: Look,
}

impl Printer {
    pub fn for_stdout() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        Self {
            look: Look {
                color: color_for(is_terminal),
                signs: signs_for(is_terminal),
                width: is_terminal.then(columns),
                zone: OnceLock::new(),
                now: Timestamp::now(),
                home: std::env::var("HOME").ok(),
            },
            out: BufWriter::new(stdout),
        }
    }

    /// A line of ours; what comes from data was cleaned where the line was made.
    pub fn line(&mut self, line: &str) -> Result<()> {
        writeln!(self.out, "{line}").map_err(|error| CommandError::output(&error))
    }

    /// Text that has its own line ends.
    pub fn text(&mut self, text: &str) -> Result<()> {
        write!(self.out, "{text}").map_err(|error| CommandError::output(&error))
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out
            .write_all(bytes)
            .map_err(|error| CommandError::output(&error))
    }

    /// A value as the API gave it.
    pub fn json(&mut self, value: &Value) -> Result<()> {
        let json = serde_json::to_string_pretty(value)
            .map_err(|error| CommandError::refused(format!("cannot write JSON: {error}")))?;
        self.line(&safe_json(&json))
    }

    /// A value on one line, for streams.
    pub fn json_line(&mut self, value: &Value) -> Result<()> {
        self.line(&safe_json(&value.to_string()))
    }

    pub fn flush(&mut self) -> Result<()> {
        self.out
            .flush()
            .map_err(|error| CommandError::output(&error))
    }

    /// The time has moved on (while following).
    pub fn tick(&mut self) {
        self.look.now = Timestamp::now();
    }
}

/// Something worth knowing that is no part of the output.
pub fn note(text: &str) {
    let look = color_for(io::stderr().is_terminal());
    say(look, Tone::Dim, "", text);
}

pub fn error(error: &CommandError) {
    error_labelled("error: ", error);
}

/// For commands whose wording is promised.
pub fn error_labelled(label: &str, error: &CommandError) {
    match error.kind {
        Kind::ReaderLeft => return,
        Kind::Refused | Kind::NotUsable | Kind::Sandboxed | Kind::NotInTime | Kind::Usage => {}
    }
    let color = color_for(io::stderr().is_terminal());
    say(color, Tone::Bad, label, &error.message);
    for hint in &error.hints {
        say(color, Tone::Busy, "hint: ", hint);
    }
}

/// A failure that is told by its own crate.
pub fn failure(message: &str, hint: &str) {
    error(&CommandError::refused(message).hint(hint));
}

fn say(color: Color, tone: Tone, label: &str, text: &str) {
    let text = many_lines(text);
    let line = match (color, tone) {
        (Color::On, Tone::Bad) => format!("\x1b[1;31m{label}\x1b[0m{text}"),
        (Color::On, Tone::Busy) => format!("\x1b[36m{label}\x1b[0m{text}"),
        _ => format!("{label}{text}"),
    };
    // Nothing can be done about a closed terminal.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Asks a person; anything but yes is no: the whole line has to be the answer, and nothing that was
/// typed before the question, or comes in one go with more, is one.
pub fn confirm(question: &str) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    let _ = write!(io::stderr(), "{} [y/N] ", many_lines(question));
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin()
        .lock()
        .take(LONGEST_ANSWER)
        .read_line(&mut answer);
    let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    read.is_ok() && yes && !more_is_typed()
}

/// Lines behind the answer: it was part of a paste. They are not left to the shell.
fn more_is_typed() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let soon = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    let more = poll(&mut fds, Some(&soon)).is_ok_and(|ready| ready > 0);
    if more {
        let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
    }
    more
}

/// What a person types as an answer, on one line.
pub fn ask(question: &str) -> Result<String> {
    let _ = write!(io::stderr(), "{}", many_lines(question));
    let _ = io::stderr().flush();
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| CommandError::not_usable(format!("no answer can be read: {error}")))?;
    Ok(answer.trim().to_owned())
}

fn color_for(is_terminal: bool) -> Color {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    if is_terminal && !no_color && !dumb {
        Color::On
    } else {
        Color::Off
    }
}

/// Gauges and charts are for eyes; a file or a program gets plain characters.
fn signs_for(is_terminal: bool) -> Signs {
    let no_unicode = std::env::var_os("NO_UNICODE").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    if is_terminal && !no_unicode && !dumb {
        Signs::Unicode
    } else {
        Signs::Ascii
    }
}

fn columns() -> usize {
    let asked = rustix::termios::tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col));
    match asked {
        Ok(columns) if columns > 0 => columns,
        _ => std::env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok())
            .unwrap_or(80),
    }
}
