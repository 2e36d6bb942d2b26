//! What a program has switched on in the terminal and not switched off again.
//!
//! A program that is killed leaves the mouse reporting, the cursor hidden, the other screen shown.
//! What is undone is exactly what was seen to be done: some sequences are not harmless where they
//! are not needed. Pure: it looks at bytes that are passed on anyway.

use std::fmt::Write as _;

/// Parameters of a sequence beyond this are not looked at.
const LONGEST: usize = 64;

/// Private modes that hurt a shell, or the next program, if they are left on; innermost first.
const OFF: [u16; 20] = [
    2026, // the screen is held back until a drawing is done
    9, 1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016, 1007, // mouse
    1004, // focus
    2004, // bracketed paste
    2031, // colours of the person's theme are told
    2048, // sizes are told
    1,    // cursor keys
    66,   // keypad
    5,    // reverse video
    6,    // origin
    69,   // left and right margins
];
/// Those that are on by themselves.
const ON: [u16; 2] = [7, 25];
/// The other screen, by its three names.
const OTHER_SCREEN: [u16; 3] = [47, 1047, 1049];

#[derive(Debug, Default)]
pub struct Modes {
    state: State,
    sequence: Vec<u8>,
    /// Private modes that are not as they are by themselves.
    changed: Vec<u16>,
    /// By which name the other screen is shown.
    other_screen: Option<u16>,
    /// Kitty's keyboard modes, of the usual and of the other screen.
    keyboards: [Keyboard; 2],
    other_keys: bool,
    keypad: bool,
    styled: bool,
    region: bool,
    cursor_style: bool,
    charset: bool,
    drawn: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Keyboard {
    pushed: u16,
    set: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC (` and its like: one more byte says which.
    Charset,
    Sequence,
    /// A title, an image, a clipboard: up to its end mark; whether a bell ends it, too.
    String {
        bell: bool,
    },
    StringEscape {
        bell: bool,
    },
}

/// Colours that are set here, or set back, and what follows: most of all sequences are these.
fn colours(state: State, bytes: &[u8]) -> Option<(bool, &[u8])> {
    let mut rest = match state {
        State::Text => bytes.strip_prefix(b"\x1b[")?,
        State::Escape
        | State::Charset
        | State::Sequence
        | State::String { .. }
        | State::StringEscape { .. } => return None,
    };
    let mut styled = false;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'0' | b';' => {}
            b'1'..=b'9' => styled = true,
            b'm' => return Some((styled, rest)),
            _ => return None,
        }
    }
    None
}

/// A sequence that begins here and is here to its end: its parameters, its last byte, and what
/// follows. Those that are cut, or broken off by something else, are followed byte by byte.
fn whole_sequence(state: State, bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let rest = match state {
        State::Text => bytes.strip_prefix(b"\x1b[")?,
        State::Escape
        | State::Charset
        | State::Sequence
        | State::String { .. }
        | State::StringEscape { .. } => return None,
    };
    let end = rest
        .iter()
        .take(LONGEST)
        .position(|byte| !matches!(byte, 0x20..=0x3f))?;
    let (parameters, rest) = rest.split_at(end);
    match rest.split_first()? {
        (last @ 0x40..=0x7e, rest) => Some((parameters, *last, rest)),
        _ => None,
    }
}

impl Modes {
    /// Whether anybody has moved the cursor, or the like: the terminal takes more than lines.
    pub fn drawn(&self) -> bool {
        self.drawn
    }

    pub fn saw(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // Most of it is text, or an image.
            let skip = match self.state {
                State::Text => memchr::memchr(0x1b, bytes),
                State::String { .. } => memchr::memchr3(0x1b, 0x07, 0x18, bytes),
                State::Escape | State::Charset | State::Sequence | State::StringEscape { .. } => {
                    Some(0)
                }
            };
            let Some(rest) = skip.and_then(|skip| bytes.get(skip..)) else {
                return;
            };
            if let Some((styled, rest)) = colours(self.state, rest) {
                self.styled = styled;
                bytes = rest;
                continue;
            }
            if let Some((sequence, last, rest)) = whole_sequence(self.state, rest) {
                self.sequence(sequence, last);
                bytes = rest;
                continue;
            }
            let Some((byte, rest)) = rest.split_first() else {
                return;
            };
            self.byte(*byte);
            bytes = rest;
        }
    }

    fn byte(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (State::StringEscape { .. }, b'\\') | (State::String { bell: true }, 0x07) => {
                State::Text
            }
            (_, 0x18 | 0x1a) => State::Text,
            (State::String { bell }, 0x1b) => State::StringEscape { bell },
            (State::String { bell }, _) => State::String { bell },
            (_, 0x1b) => State::Escape,
            (State::Text, _) => State::Text,
            (State::Escape | State::StringEscape { .. }, _) => self.escape(byte),
            (State::Charset, _) => {
                self.charset = byte != b'B';
                State::Text
            }
            (State::Sequence, 0x40..=0x7e) => {
                let sequence = std::mem::take(&mut self.sequence);
                self.sequence(&sequence, byte);
                self.sequence = sequence;
                State::Text
            }
            (State::Sequence, _) => {
                if self.sequence.len() <= LONGEST {
                    self.sequence.push(byte);
                }
                State::Sequence
            }
        };
    }

    fn escape(&mut self, byte: u8) -> State {
        match byte {
            b'[' => {
                self.sequence.clear();
                return State::Sequence;
            }
            b']' => return State::String { bell: true },
            b'P' | b'_' | b'^' | b'X' => return State::String { bell: false },
            b'(' => return State::Charset,
            b'=' => self.keypad = true,
            b'>' => self.keypad = false,
            b'c' => *self = Self::default(),
            _ => {}
        }
        State::Text
    }

    fn sequence(&mut self, sequence: &[u8], last: u8) {
        // As above, but cut in two.
        if last == b'm'
            && sequence
                .iter()
                .all(|byte| matches!(byte, b'0'..=b'9' | b';'))
        {
            self.styled = sequence.iter().any(|byte| matches!(byte, b'1'..=b'9'));
            return;
        }
        self.drawn = true;
        let Ok(text) = std::str::from_utf8(sequence) else {
            return;
        };
        if text.len() > LONGEST {
            return;
        }
        match (text.as_bytes().first(), last) {
            (Some(b'?'), b'h' | b'l') => {
                for mode in text.trim_start_matches('?').split(';') {
                    if let Ok(mode) = mode.parse() {
                        self.private(mode, last == b'h');
                    }
                }
            }
            (Some(b'>'), b'u') => {
                let keyboard = self.keyboard();
                keyboard.pushed = keyboard.pushed.saturating_add(1);
            }
            (Some(b'<'), b'u') => {
                let count = text.get(1..).and_then(|n| n.parse().ok()).unwrap_or(1);
                let keyboard = self.keyboard();
                keyboard.pushed = keyboard.pushed.saturating_sub(count);
            }
            (Some(b'='), b'u') => {
                let off = matches!(text, "=" | "=0" | "=0;1");
                self.keyboard().set = !off;
            }
            (Some(b'>'), b'm') => {
                if let Some(value) = text.strip_prefix(">4") {
                    self.other_keys = !matches!(value, "" | ";" | ";0");
                }
            }
            (Some(b'!'), b'p') => self.soft_reset(),
            (None | Some(b'0'..=b'9' | b';' | b':'), b'm') => {
                self.styled = !text.split(';').all(|part| matches!(part, "" | "0"));
            }
            (None | Some(b'0'..=b'9' | b';'), b'r') => self.region = !text.is_empty(),
            (_, b'q') => {
                if let Some(style) = text.strip_suffix(' ') {
                    self.cursor_style = !matches!(style, "" | "0");
                }
            }
            _ => {}
        }
    }

    fn keyboard(&mut self) -> &mut Keyboard {
        let [usual, other] = &mut self.keyboards;
        if self.other_screen.is_some() {
            other
        } else {
            usual
        }
    }

    fn private(&mut self, mode: u16, on: bool) {
        if OTHER_SCREEN.contains(&mode) {
            self.other_screen = on.then_some(mode);
            return;
        }
        let by_itself = ON.contains(&mode);
        if !by_itself && !OFF.contains(&mode) {
            return;
        }
        self.changed.retain(|known| *known != mode);
        if on != by_itself {
            self.changed.push(mode);
        }
    }

    /// What a terminal undoes by itself when it is asked to.
    fn soft_reset(&mut self) {
        self.changed
            .retain(|mode| ![1, 6, 7, 25, 66].contains(mode));
        self.keypad = false;
        self.styled = false;
        self.region = false;
        self.charset = false;
    }

    /// The bytes that put the terminal back, and from now on it is taken to be so. Empty if the
    /// program has left it as it found it.
    pub fn undo(&mut self) -> Vec<u8> {
        let modes = std::mem::take(self);
        let mut out = String::new();
        // In the middle of something: what follows must not become part of it.
        match modes.state {
            State::Text => {}
            State::Escape | State::Charset | State::Sequence => out.push('\x18'),
            State::String { .. } | State::StringEscape { .. } => out.push_str("\x1b\\"),
        }
        for mode in OFF.iter().filter(|mode| modes.changed.contains(mode)) {
            let _ = write!(out, "\x1b[?{mode}l");
        }
        if modes.other_keys {
            out.push_str("\x1b[>4m");
        }
        let [usual, other] = modes.keyboards;
        if let Some(name) = modes.other_screen {
            leave_keyboard(other, &mut out);
            let _ = write!(out, "\x1b[?{name}l");
        }
        leave_keyboard(usual, &mut out);
        if modes.keypad {
            out.push_str("\x1b>");
        }
        if modes.region {
            // It would also take the cursor home.
            out.push_str("\x1b7\x1b[r\x1b8");
        }
        if modes.charset {
            out.push_str("\x1b(B");
        }
        if modes.styled {
            out.push_str("\x1b[m");
        }
        if modes.cursor_style {
            out.push_str("\x1b[0 q");
        }
        for mode in ON.iter().filter(|mode| modes.changed.contains(mode)) {
            let _ = write!(out, "\x1b[?{mode}h");
        }
        out.into_bytes()
    }
}

fn leave_keyboard(keyboard: Keyboard, out: &mut String) {
    if keyboard.pushed > 0 {
        let _ = write!(out, "\x1b[<{}u", keyboard.pushed);
    }
    if keyboard.set {
        out.push_str("\x1b[=0u");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_on_is_undone_and_nothing_else() {
        for (shown, undone) in [
            ("", ""),
            ("plain text\r\n", ""),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[?25l\x1b[?25h", ""),
            ("\x1b[?25h\x1b[?7h", ""),
            ("\x1b[?7l", "\x1b[?7h"),
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?2004h\x1b[?2004h\x1b[?2004l", ""),
            ("\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l"),
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?47h", "\x1b[?47l"),
            ("\x1b[?1049h\x1b[?1049l", ""),
            ("\x1b[>1u", "\x1b[<1u"),
            ("\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<1u"),
            ("\x1b[>1u\x1b[<9u", ""),
            ("\x1b[?1049h\x1b[>1u", "\x1b[<1u\x1b[?1049l"),
            ("\x1b[>1u\x1b[?1049h", "\x1b[?1049l\x1b[<1u"),
            ("\x1b[=5u", "\x1b[=0u"),
            ("\x1b[=5u\x1b[=0;1u", ""),
            ("\x1b[?u\x1b[c", ""),
            ("\x1b[>4;2m", "\x1b[>4m"),
            ("\x1b[>4;2m\x1b[>4;0m", ""),
            ("\x1b=", "\x1b>"),
            ("\x1b=\x1b>", ""),
            ("\x1b[31;1mred", "\x1b[m"),
            ("\x1b[31mred\x1b[0m", ""),
            ("\x1b[38:2::1:2:3m", "\x1b[m"),
            ("\x1b[3;20r", "\x1b7\x1b[r\x1b8"),
            ("\x1b[3;20r\x1b[r", ""),
            ("\x1b[5 q", "\x1b[0 q"),
            ("\x1b(0lqk", "\x1b(B"),
            ("\x1b(0lqk\x1b(B", ""),
            ("\x1b[?2026hhalf a drawing", "\x1b[?2026l"),
            ("\x1b[31m\x1b[?25l\x1b[?2004h\x1bc", ""),
            ("\x1b[?25l\x1b[31m\x1b[!p", ""),
            // cut in the middle
            ("\x1b", "\x18"),
            ("\x1b[?25", "\x18"),
            ("\x1b]0;a title", "\x1b\\"),
            ("\x1b]0;a title\x07", ""),
            ("\x1b]0;a title\x1b\\", ""),
            ("\x1b_Gf=100;AAAA", "\x1b\\"),
            ("\x1bPq#0\x07", "\x1b\\"),
            ("\x1bPq\x18", ""),
            // inside of a string nothing is a mode
            ("\x1b]52;c;[?25l\x07", ""),
            // unknown or broken
            ("\x1b[?99999999l\x1b[?;25l", "\x1b[?25h"),
            ("\x1b[?\u{ff}l", ""),
        ] {
            let mut modes = Modes::default();
            modes.saw(shown.as_bytes());
            let found = String::from_utf8(modes.undo()).unwrap();
            assert_eq!(found, undone, "{shown:?}");
            assert_eq!(modes.undo(), b"", "{shown:?}");
            // It may come in any pieces.
            let mut modes = Modes::default();
            for byte in shown.bytes() {
                modes.saw(&[byte]);
            }
            assert_eq!(
                String::from_utf8(modes.undo()).unwrap(),
                undone,
                "{shown:?}"
            );
        }
    }

    #[test]
    fn any_bytes_are_looked_at_and_memory_stays_bounded() {
        let mut modes = Modes::default();
        let mut seed = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Escapes and digits are where it gets interesting.
            match seed >> 29 {
                0 => 0x1b,
                1 => b'[',
                2 => b'?',
                3 => b'0' + (seed >> 16) as u8 % 12,
                _ => (seed >> 16) as u8,
            }
        })
        .take(500_000)
        .collect();
        modes.saw(&noise);
        // Whole sequences are taken at once, others byte by byte: both are the same.
        let mut slowly = Modes::default();
        for byte in &noise {
            slowly.saw(&[*byte]);
        }
        slowly.sequence.clone_from(&modes.sequence);
        assert_eq!(format!("{modes:?}"), format!("{slowly:?}"));
        modes.saw(b"\x1b[");
        modes.saw(&vec![b'1'; 1_000_000]);
        assert!(modes.sequence.len() <= LONGEST + 1);
        assert!(modes.changed.len() <= OFF.len() + ON.len());
        modes.undo();
    }
}
