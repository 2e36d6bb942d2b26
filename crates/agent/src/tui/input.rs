//! Keys out of the bytes of a terminal.
//!
//! Pure; whatever the bytes are, nothing is kept without bound and no sequence of a terminal ever
//! becomes text. A lone escape character is a key only when nothing has followed it for a moment:
//! the caller says when ([`Input::timeout`]).

/// A paste longer than this is cut: nobody reads it, and a model cannot.
const LONGEST_PASTE: usize = 4 << 20;
/// No sequence of a terminal is longer.
const LONGEST_SEQUENCE: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    /// Enter with Shift or Alt, or Ctrl+J: a new line, not the end of the text.
    Newline,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    WordLeft,
    WordRight,
    DeleteWordLeft,
    DeleteWordRight,
    Esc,
    /// With a lower-case letter.
    Ctrl(char),
    Paste(String),
}

#[derive(Debug, Default)]
pub(crate) struct Input {
    waiting: Vec<u8>,
    /// The text of a paste whose end has not come.
    paste: Option<Vec<u8>>,
}

enum Step {
    Key(usize, Option<Key>),
    PasteBegins(usize),
    /// More bytes are needed.
    More,
}

impl Input {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.waiting.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            if self.paste.is_some() {
                match self.pasted() {
                    Some(text) => keys.push(Key::Paste(text)),
                    None => return keys,
                }
            }
            match next(&self.waiting) {
                Step::Key(length, key) => {
                    self.waiting.drain(..length);
                    keys.extend(key);
                }
                Step::PasteBegins(length) => {
                    self.waiting.drain(..length);
                    self.paste = Some(Vec::new());
                }
                Step::More => return keys,
            }
        }
    }

    /// Whether something waits for its rest, and a moment without one decides.
    pub fn waits(&self) -> bool {
        self.paste.is_none() && self.waiting.first() == Some(&0x1b)
    }

    /// Nothing has followed for a moment.
    pub fn timeout(&mut self) -> Vec<Key> {
        if !self.waits() {
            return Vec::new();
        }
        // What came after the escape character belonged to a sequence that was never finished.
        self.waiting.clear();
        vec![Key::Esc]
    }

    /// The whole paste, if its end is there.
    fn pasted(&mut self) -> Option<String> {
        const END: &[u8] = b"\x1b[201~";
        let paste = self.paste.as_mut()?;
        let end = self.waiting.windows(END.len()).position(|w| w == END);
        // Of what has come without an end, the last bytes may be the beginning of one.
        let take = end.unwrap_or(self.waiting.len().saturating_sub(END.len() - 1));
        let room = LONGEST_PASTE.saturating_sub(paste.len());
        paste.extend(self.waiting.drain(..take).take(room));
        end?;
        self.waiting.drain(..END.len());
        let bytes = self.paste.take()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.replace("\r\n", "\n").replace('\r', "\n"))
    }
}

fn next(bytes: &[u8]) -> Step {
    let Some(first) = bytes.first() else {
        return Step::More;
    };
    match first {
        0x1b => escape(bytes),
        b'\r' => Step::Key(1, Some(Key::Enter)),
        b'\n' => Step::Key(1, Some(Key::Newline)),
        b'\t' => Step::Key(1, Some(Key::Tab)),
        0x7f | 0x08 => Step::Key(1, Some(Key::Backspace)),
        1..=26 => Step::Key(1, Some(Key::Ctrl(char::from(b'a' + first - 1)))),
        0x1f => Step::Key(1, Some(Key::Ctrl('_'))),
        0..=0x1f => Step::Key(1, None),
        0x20..=0x7e => Step::Key(1, Some(Key::Char(char::from(*first)))),
        0x80.. => character(bytes),
    }
}

/// A character of several bytes.
fn character(bytes: &[u8]) -> Step {
    let head = bytes.get(..bytes.len().min(4)).unwrap_or(bytes);
    match std::str::from_utf8(head) {
        Ok(text) => one_of(text),
        Err(error) if error.valid_up_to() > 0 => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            one_of(std::str::from_utf8(valid).unwrap_or_default())
        }
        Err(error) => match error.error_len() {
            Some(length) => Step::Key(length, None),
            None => Step::More,
        },
    }
}

fn one_of(text: &str) -> Step {
    match text.chars().next() {
        Some(c) => Step::Key(c.len_utf8(), (!c.is_control()).then_some(Key::Char(c))),
        None => Step::More,
    }
}

fn escape(bytes: &[u8]) -> Step {
    match bytes.get(1) {
        None => Step::More,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Step::More,
            Some(last) => Step::Key(3, named(*last, 1)),
        },
        // Answers of the terminal: a string up to its end.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => string(bytes),
        Some(0x1b) => Step::Key(1, Some(Key::Esc)),
        Some(b'\r' | b'\n') => Step::Key(2, Some(Key::Newline)),
        Some(0x7f | 0x08) => Step::Key(2, Some(Key::DeleteWordLeft)),
        Some(b'b') => Step::Key(2, Some(Key::WordLeft)),
        Some(b'f') => Step::Key(2, Some(Key::WordRight)),
        Some(b'd') => Step::Key(2, Some(Key::DeleteWordRight)),
        Some(_) => Step::Key(2, None),
    }
}

fn string(bytes: &[u8]) -> Step {
    let end = bytes
        .iter()
        .enumerate()
        .skip(2)
        .find(|(_, b)| **b == 0x07 || **b == 0x1b);
    match end {
        Some((at, 0x07)) => Step::Key(at + 1, None),
        Some((at, _)) if bytes.get(at + 1) == Some(&b'\\') => Step::Key(at + 2, None),
        Some((at, _)) if bytes.len() > at + 1 => Step::Key(at, None),
        _ if bytes.len() > LONGEST_SEQUENCE => Step::Key(bytes.len(), None),
        Some(_) | None => Step::More,
    }
}

fn control_sequence(bytes: &[u8]) -> Step {
    let body = bytes.get(2..).unwrap_or_default();
    let Some(end) = body.iter().position(|b| !(0x20..0x40).contains(b)) else {
        return match bytes.len() > LONGEST_SEQUENCE {
            true => Step::Key(bytes.len(), None),
            false => Step::More,
        };
    };
    let parameters = body.get(..end).unwrap_or_default();
    let length = end + 3;
    let last = body.get(end).copied().unwrap_or_default();
    if last < 0x40 {
        // Broken off by a control character, which speaks for itself.
        return Step::Key(length - 1, None);
    }
    let numbers: Vec<u32> = std::str::from_utf8(parameters)
        .unwrap_or_default()
        .split(';')
        .map(|number| {
            let number = number.split(':').next().unwrap_or_default();
            number.parse().unwrap_or(0)
        })
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let modifier = number(1).max(1);
    match (last, number(0)) {
        (b'~', 200) => Step::PasteBegins(length),
        (b'~', 27) => Step::Key(length, coded(number(2), modifier)),
        (b'~', code) => Step::Key(length, tilde(code, modifier)),
        (b'u', code) => Step::Key(length, coded(code, modifier)),
        (b'Z', _) => Step::Key(length, Some(Key::BackTab)),
        (last, _) => Step::Key(length, named(last, modifier)),
    }
}

/// Keys with a letter of their own. The modifier is 1 + Shift 1 + Alt 2 + Ctrl 4.
fn named(last: u8, modifier: u32) -> Option<Key> {
    let by_word = modifier > 2;
    Some(match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if by_word => Key::WordRight,
        b'D' if by_word => Key::WordLeft,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => return None,
    })
}

fn tilde(code: u32, modifier: u32) -> Option<Key> {
    Some(match code {
        1 | 7 => Key::Home,
        4 | 8 => Key::End,
        3 if modifier > 2 => Key::DeleteWordRight,
        3 => Key::Delete,
        _ => return None,
    })
}

/// A key by the number of its character.
fn coded(code: u32, modifier: u32) -> Option<Key> {
    let bits = modifier.saturating_sub(1);
    let (shift, alt, ctrl) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
    Some(match code {
        13 if shift || alt || ctrl => Key::Newline,
        13 => Key::Enter,
        27 => Key::Esc,
        9 if shift => Key::BackTab,
        9 => Key::Tab,
        127 if alt || ctrl => Key::DeleteWordLeft,
        127 => Key::Backspace,
        code => {
            let c = char::from_u32(code)?;
            match (ctrl, alt) {
                (true, _) if c.is_ascii_alphabetic() => Key::Ctrl(c.to_ascii_lowercase()),
                (false, false) if !c.is_control() => Key::Char(c),
                (true | false, _) => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_by_their_bytes() {
        for (bytes, expected) in [
            ("a", vec![Key::Char('a')]),
            ("é日", vec![Key::Char('é'), Key::Char('日')]),
            ("\r", vec![Key::Enter]),
            ("\n", vec![Key::Newline]),
            ("\x1b\r", vec![Key::Newline]),
            ("\x1b[13;2u", vec![Key::Newline]),
            ("\x1b[27;2;13~", vec![Key::Newline]),
            ("\x1b[A\x1bOB", vec![Key::Up, Key::Down]),
            ("\x1b[1;5D\x1bb", vec![Key::WordLeft, Key::WordLeft]),
            ("\x1b[1;3C", vec![Key::WordRight]),
            ("\x1b[3~\x7f", vec![Key::Delete, Key::Backspace]),
            (
                "\x1b\x7f\x1bd",
                vec![Key::DeleteWordLeft, Key::DeleteWordRight],
            ),
            (
                "\x03\x04\x0f",
                vec![Key::Ctrl('c'), Key::Ctrl('d'), Key::Ctrl('o')],
            ),
            ("\x1f", vec![Key::Ctrl('_')]),
            (
                "\x1b[200~a\rb\x1b[31mc\x1b[201~x",
                vec![Key::Paste("a\nb\x1b[31mc".into()), Key::Char('x')],
            ),
            // What a terminal answers is nobody's text.
            ("\x1b]11;rgb:0000/0000/0000\x07a", vec![Key::Char('a')]),
            ("\x1b[?1;2c\x1b[12;40Ra", vec![Key::Char('a')]),
            ("\x1bP1$r\x1b\\a", vec![Key::Char('a')]),
            ("\x1b[I\x1b[O", vec![]),
            ("\x1b[5", vec![]),
        ] {
            let mut input = Input::default();
            assert_eq!(input.feed(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn an_escape_alone_is_a_key_after_a_moment() {
        let mut input = Input::default();
        assert_eq!(input.feed(b"\x1b"), []);
        assert!(input.waits());
        assert_eq!(input.timeout(), [Key::Esc]);
        assert!(!input.waits());
        assert_eq!(input.timeout(), []);
        assert_eq!(input.feed(b"\x1b\x1b"), [Key::Esc]);
    }

    #[test]
    fn the_end_of_a_paste_may_come_in_pieces() {
        let mut input = Input::default();
        assert_eq!(input.feed(b"\x1b[200~ab\x1b[20"), []);
        assert!(!input.waits(), "a paste is not decided by time");
        assert_eq!(input.feed(b"1~"), [Key::Paste("ab".into())]);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x1b_u8), Just(b'['), Just(b'2'), Just(b'~')], 0..80), at in 0_usize..80) {
            let mut whole = Input::default();
            let expected = whole.feed(&bytes);
            let mut pieces = Input::default();
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            let mut found = pieces.feed(a);
            found.extend(pieces.feed(b));
            prop_assert_eq!(&found, &expected);
            for key in &found {
                if let Key::Char(c) = key {
                    prop_assert!(!c.is_control());
                }
            }
        }
    }
}
