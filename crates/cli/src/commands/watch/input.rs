//! Keys out of the bytes of a terminal. Pure; whatever comes, it never fails and keeps little.
//!
//! A paste is one thing, so that what is pasted is never taken for commands.

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// With Control, in lower case.
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Paste(String),
}

/// More of a paste is not kept.
const MOST_PASTED: usize = 64 * 1024;
/// A sequence that is longer is none.
const MOST_SEQUENCE: usize = 32;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Bytes that have come and are no key yet.
#[derive(Debug, Default)]
pub struct Input {
    held: Vec<u8>,
    paste: Option<Vec<u8>>,
}

enum Taken {
    /// So many bytes, which may be a key.
    Key(usize, Option<Key>),
    /// It is the beginning of something.
    More,
}

impl Input {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.held.extend_from_slice(bytes);
        self.keys(false)
    }

    /// Whether something has begun whose end would have come by now.
    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty() && self.paste.is_none()
    }

    /// Nothing more came: what is held is what it is.
    pub fn settle(&mut self) -> Vec<Key> {
        match self.paste {
            Some(_) => Vec::new(),
            None => self.keys(true),
        }
    }

    fn keys(&mut self, settled: bool) -> Vec<Key> {
        let mut keys = Vec::new();
        loop {
            if self.paste.is_some() {
                match self.pasted() {
                    Some(text) => keys.push(Key::Paste(text)),
                    None => return keys,
                }
            }
            if self.held.starts_with(PASTE_BEGINS) {
                self.held.drain(..PASTE_BEGINS.len());
                self.paste = Some(Vec::new());
                continue;
            }
            if self.held.is_empty() {
                return keys;
            }
            match take(&self.held, settled) {
                Taken::Key(length, key) => {
                    self.held.drain(..length.clamp(1, self.held.len()));
                    keys.extend(key);
                }
                Taken::More => return keys,
            }
        }
    }

    /// The paste, if its end is there.
    fn pasted(&mut self) -> Option<String> {
        let paste = self.paste.as_mut()?;
        let end = self
            .held
            .windows(PASTE_ENDS.len())
            .position(|window| window == PASTE_ENDS);
        // what could be the beginning of the end stays
        let sure = end.unwrap_or_else(|| self.held.len().saturating_sub(PASTE_ENDS.len() - 1));
        let room = MOST_PASTED.saturating_sub(paste.len());
        paste.extend(self.held.drain(..sure).take(room));
        end?;
        self.held.drain(..PASTE_ENDS.len());
        let paste = self.paste.take()?;
        Some(String::from_utf8_lossy(&paste).into_owned())
    }
}

fn take(held: &[u8], settled: bool) -> Taken {
    let Some(first) = held.first() else {
        return Taken::More;
    };
    match first {
        0x1b => escaped(held, settled),
        b'\r' | b'\n' => Taken::Key(1, Some(Key::Enter)),
        b'\t' => Taken::Key(1, Some(Key::Tab)),
        0x7f | 0x08 => Taken::Key(1, Some(Key::Backspace)),
        byte @ 0x01..=0x1a => Taken::Key(1, Some(Key::Ctrl(char::from(byte - 1 + b'a')))),
        0x00 | 0x1c..=0x1f => Taken::Key(1, None),
        _ => character(held, settled),
    }
}

fn character(held: &[u8], settled: bool) -> Taken {
    let wanted = match held.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) | None => 1,
    };
    let Some(bytes) = held.get(..wanted) else {
        return match settled {
            true => Taken::Key(held.len(), None),
            false => Taken::More,
        };
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let key = text.chars().next().filter(|c| !c.is_control());
            Taken::Key(wanted, key.map(Key::Char))
        }
        Err(_) => Taken::Key(1, None),
    }
}

fn escaped(held: &[u8], settled: bool) -> Taken {
    let unfinished = match settled {
        // Escape alone, or a sequence that stayed unfinished.
        true => Taken::Key(held.len(), (held.len() == 1).then_some(Key::Esc)),
        false => Taken::More,
    };
    match held.get(1) {
        None => unfinished,
        Some(b'[') => {
            let rest = held.get(2..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                return match rest.len() > MOST_SEQUENCE {
                    true => Taken::Key(held.len(), None),
                    false => unfinished,
                };
            };
            let last = rest.get(end).copied().unwrap_or_default();
            let numbers = rest.get(..end).unwrap_or_default();
            Taken::Key(3 + end, sequence(numbers, last))
        }
        Some(b'O') => match held.get(2) {
            Some(last) => Taken::Key(3, sequence(b"", *last)),
            None => unfinished,
        },
        // Escape, then another key.
        Some(0x1b) => Taken::Key(1, Some(Key::Esc)),
        // Alt with a key means nothing here, and must not be the key itself.
        Some(_) => match character(held.get(1..).unwrap_or_default(), settled) {
            Taken::Key(length, _) => Taken::Key(1 + length, None),
            Taken::More => unfinished,
        },
    }
}

fn sequence(numbers: &[u8], last: u8) -> Option<Key> {
    let first: Vec<u8> = numbers
        .iter()
        .copied()
        .take_while(u8::is_ascii_digit)
        .collect();
    match (last, first.as_slice()) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'C', _) => Some(Key::Right),
        (b'D', _) => Some(Key::Left),
        (b'H', _) | (b'~', b"1" | b"7") => Some(Key::Home),
        (b'F', _) | (b'~', b"4" | b"8") => Some(Key::End),
        (b'Z', _) => Some(Key::BackTab),
        (b'~', b"3") => Some(Key::Delete),
        (b'~', b"5") => Some(Key::PageUp),
        (b'~', b"6") => Some(Key::PageDown),
        (b'M', b"") if numbers.is_empty() => Some(Key::Enter), // the keypad's
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Vec<Key> {
        let mut input = Input::default();
        let mut keys = input.feed(bytes);
        keys.extend(input.settle());
        keys
    }

    #[test]
    fn keys_out_of_bytes() {
        use Key::*;
        for (bytes, keys) in [
            (
                &b"aK/?"[..],
                vec![Char('a'), Char('K'), Char('/'), Char('?')],
            ),
            ("ü日🦀".as_bytes(), vec![Char('ü'), Char('日'), Char('🦀')]),
            (
                b"\r\n\t\x7f\x08",
                vec![Enter, Enter, Tab, Backspace, Backspace],
            ),
            (b"\x03\x1a\x00\x1f", vec![Ctrl('c'), Ctrl('z')]),
            (b"\x1b", vec![Esc]),
            (b"\x1b\x1b", vec![Esc, Esc]),
            (b"\x1b[A\x1b[B\x1bOC\x1b[1;5D", vec![Up, Down, Right, Left]),
            (
                b"\x1b[H\x1b[4~\x1b[3~\x1b[5~\x1b[6~",
                vec![Home, End, Delete, PageUp, PageDown],
            ),
            (b"\x1b[Z", vec![BackTab]),
            (b"\x1bq\x1bK", vec![]),
            (b"\x1b[<0;1;1M\x1b[?1;2cq", vec![Char('q')]),
            (
                b"\x1b[200~K\ny\x1b[201~q",
                vec![Paste("K\ny".into()), Char('q')],
            ),
            (b"\xff\xfea", vec![Char('a')]),
            (b"\xe6\x97", vec![]),
            (b"\x1b[", vec![]),
        ] {
            assert_eq!(typed(bytes), keys, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn cut_anywhere_it_is_the_same() {
        let bytes = "a\x1b[A日\x1b[200~K\x1b[20y\x1b[201~\x1b[6~z".as_bytes();
        let whole = Input::default().feed(bytes);
        assert_eq!(whole.len(), 6);
        for at in 0..bytes.len() {
            let mut input = Input::default();
            let mut keys = input.feed(&bytes[..at]);
            keys.extend(input.feed(&bytes[at..]));
            assert_eq!(keys, whole, "cut at {at}");
            assert!(!input.is_waiting());
        }
    }

    #[test]
    fn whatever_comes_little_is_kept() {
        let mut input = Input::default();
        let mut seed = 1_u32;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            input.feed(&[seed.to_be_bytes()[0]]);
            assert!(input.held.len() <= MOST_SEQUENCE + 8);
        }
        let mut pasted = Input::default();
        pasted.feed(PASTE_BEGINS);
        pasted.feed(&vec![b'x'; 3 * MOST_PASTED]);
        let keys = pasted.feed(PASTE_ENDS);
        assert!(matches!(&keys[..], [Key::Paste(text)] if text.len() == MOST_PASTED));
    }
}
