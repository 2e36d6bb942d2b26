//! Whether the person has just said goodbye: Ctrl+C, Ctrl+D, or a line like `/exit`.
//!
//! It only looks at what is passed on anyway, keeps no more of it than such a line is long, and
//! changes nothing. What is pasted says nothing: it is not typed.

use std::time::Instant;

use crate::Farewell;

/// Longer lines are none of those that are known.
const LONGEST: usize = 8;
/// Longer sequences of a terminal are none of those that are known.
const LONGEST_SEQUENCE: usize = 24;
const GOODBYES: [&[u8]; 4] = [b"/exit", b"/quit", b"exit", b"quit"];

#[derive(Debug, Default)]
pub struct Keys {
    state: State,
    /// What has been typed since the last Enter; `None`: not a goodbye any more.
    line: Line,
    sequence: Vec<u8>,
    last: Option<(Farewell, Instant)>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Typing,
    Escape,
    Sequence,
    /// Between the marks of a bracketed paste.
    Paste,
    PasteEscape,
    PasteSequence,
}

#[derive(Debug, Default)]
struct Line {
    text: Vec<u8>,
    other: bool,
}

impl Keys {
    pub fn saw(&mut self, bytes: &[u8], now: Instant) {
        for byte in bytes {
            self.key(*byte, now);
        }
    }

    /// One byte; the goodbye that ends with it.
    pub fn hears(&mut self, byte: u8, now: Instant) -> Option<Farewell> {
        let before = self.last.take();
        self.key(byte, now);
        let said = self.last;
        self.last = said.or(before);
        said.map(|(farewell, _)| farewell)
    }

    /// The last goodbye.
    pub fn last(&self) -> Option<(Farewell, Instant)> {
        self.last
    }

    /// Another agent begins: what was said was said to the one before it.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// What has been typed of a line is in no composer any more.
    pub fn forget_line(&mut self) {
        self.line = Line::default();
    }

    fn key(&mut self, byte: u8, now: Instant) {
        self.state = match (self.state, byte) {
            (State::Typing | State::Escape, 0x1b) => State::Escape,
            (State::Typing, _) => {
                self.typed(byte, now);
                State::Typing
            }
            (State::Escape, b'[') => self.begin(State::Sequence),
            (State::Escape, _) => {
                // Alt with a key, or Escape and then a key: the line is what it was, or empty.
                self.line = Line::default();
                self.typed(byte, now);
                State::Typing
            }
            (State::Sequence, 0x40..=0x7e) => self.sequence(byte, now),
            (State::Sequence, 0x20..=0x3f) => self.more(byte, State::Sequence),
            (State::Sequence, 0x1b) => State::Escape,
            (State::Sequence, _) => {
                self.typed(byte, now);
                State::Typing
            }
            (State::Paste | State::PasteEscape | State::PasteSequence, 0x1b) => State::PasteEscape,
            (State::PasteEscape, b'[') => self.begin(State::PasteSequence),
            (State::PasteSequence, b'~') if self.sequence == b"201" => {
                self.line.other = true;
                State::Typing
            }
            (State::PasteSequence, 0x20..=0x3f) => self.more(byte, State::PasteSequence),
            (State::Paste | State::PasteEscape | State::PasteSequence, _) => State::Paste,
        };
    }

    fn begin(&mut self, state: State) -> State {
        self.sequence.clear();
        state
    }

    fn more(&mut self, byte: u8, state: State) -> State {
        if self.sequence.len() < LONGEST_SEQUENCE {
            self.sequence.push(byte);
        }
        state
    }

    fn typed(&mut self, byte: u8, now: Instant) {
        match byte {
            0x03 => self.farewell(Farewell::CtrlC, now),
            0x04 => self.farewell(Farewell::CtrlD, now),
            b'\r' | b'\n' => self.enter(now),
            0x08 | 0x7f => {
                self.line.text.pop();
            }
            // Ctrl+U empties the line.
            0x15 => self.line = Line::default(),
            0x20.. => {
                if self.line.text.len() < LONGEST {
                    self.line.text.push(byte);
                } else {
                    self.line.other = true;
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, now: Instant) {
        let line = std::mem::take(&mut self.line);
        if !line.other && GOODBYES.contains(&line.text.trim_ascii()) {
            self.farewell(Farewell::ExitCommand, now);
        }
    }

    fn farewell(&mut self, farewell: Farewell, now: Instant) {
        self.line = Line::default();
        self.last = Some((farewell, now));
    }

    /// A key that the terminal tells in its longer form, or the beginning of a paste.
    fn sequence(&mut self, last: u8, now: Instant) -> State {
        if last == b'~' && self.sequence == b"200" {
            return State::Paste;
        }
        if let Some((code, control)) = key_code(&self.sequence, last) {
            match (code, control) {
                (99, true) => self.farewell(Farewell::CtrlC, now),
                (100, true) => self.farewell(Farewell::CtrlD, now),
                (13, false) => self.enter(now),
                (32..=126, false) => self.typed(u8::try_from(code).unwrap_or(b'?'), now),
                _ => {}
            }
        }
        State::Typing
    }
}

/// Which key a sequence tells, and whether with Ctrl alone (or with nothing): `CSI code ; mods u`
/// of kitty, `CSI 27 ; mods ; code ~` of xterm. `None`: another one, or its release.
pub fn key_code(sequence: &[u8], last: u8) -> Option<(u32, bool)> {
    let text = std::str::from_utf8(sequence).ok()?;
    let mut fields = text.split(';');
    let mut next = || fields.next().unwrap_or("");
    let number = |field: &str| field.split(':').next().and_then(|n| n.parse().ok());
    let (code, mods) = match last {
        b'u' => (number(next())?, next()),
        b'~' if next() == "27" => {
            let mods = next();
            (number(next())?, mods)
        }
        _ => return None,
    };
    let mut mods = mods.split(':');
    let held: u32 = match mods.next() {
        None | Some("") => 1,
        Some(held) => held.parse().ok()?,
    };
    if mods.next() == Some("3") {
        return None;
    }
    // 1 more than a set of bits; locks (64, 128) say nothing.
    match held.saturating_sub(1) & 0b11_1111 {
        0 => Some((code, false)),
        4 => Some((code, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodbyes_are_known_by_their_keys() {
        use Farewell::{CtrlC, CtrlD, ExitCommand};
        for (typed, expected) in [
            ("", None),
            ("hello\r", None),
            ("\x03", Some(CtrlC)),
            ("text\x03", Some(CtrlC)),
            ("\x04", Some(CtrlD)),
            ("/exit\r", Some(ExitCommand)),
            ("  /quit \r", Some(ExitCommand)),
            ("hello\rexit\r", Some(ExitCommand)),
            ("/exix\x7ft\r", Some(ExitCommand)),
            ("never\x15/exit\r", Some(ExitCommand)),
            ("/exit", None),
            ("/exit now\r", None),
            ("please /exit\r", None),
            ("\x1b[99;5u", Some(CtrlC)),
            ("\x1b[99;5:1u", Some(CtrlC)),
            ("\x1b[99;69u", Some(CtrlC)),
            ("\x1b[99;5:3u", None),
            ("\x1b[99;6u", None),
            ("\x1b[100;5u", Some(CtrlD)),
            ("\x1b[27;5;99~", Some(CtrlC)),
            ("\x1b[27;2;99~", None),
            ("/exit\x1b[13u", Some(ExitCommand)),
            ("\x1b[47u\x1b[101uxit\r", Some(ExitCommand)),
            ("\x1b[A\x1b[1;5C\x1bOP", None),
            ("\x1b[200~/exit\r\x03\x04\x1b[201~", None),
            ("\x1b[200~/exit\x1b[201~\r", None),
            ("\x1b[200~\x1b[20\x1b[201~\x03", Some(CtrlC)),
            ("\x1b\x03", Some(CtrlC)),
            ("\x1b[\x03", Some(CtrlC)),
            ("\x1b[99999999999999999999u\x1b[;u\x1b[:u\x1b[u", None),
        ] {
            let mut keys = Keys::default();
            let now = Instant::now();
            keys.saw(typed.as_bytes(), now);
            let found = keys.last().map(|(farewell, _)| farewell);
            assert_eq!(found, expected, "{typed:?}");
            // One byte after the other says the same.
            let mut keys = Keys::default();
            let heard = typed.bytes().filter_map(|byte| keys.hears(byte, now));
            assert_eq!(heard.last(), expected, "{typed:?}");
            assert_eq!(keys.last().map(|(f, _)| f), expected, "{typed:?}");
            keys.forget();
            assert_eq!(keys.last(), None);
        }
    }
}
