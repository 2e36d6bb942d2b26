//! Terminal bytes to keys. Pure.

const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Paste(String),
    Enter,
    Newline,
    Escape,
    Backspace,
    Up,
    Ctrl(char),
    /// Anything the program has no use for.
    Other,
}

/// Keeps what is not yet a whole key: a cut escape sequence, a cut character, an open paste.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, used)) = next(&self.pending) {
            self.pending.drain(..used);
            keys.push(key);
        }
        keys
    }

    /// Whether a lone Escape waits for what may follow it.
    pub(super) fn is_undecided(&self) -> bool {
        self.pending == b"\x1b"
    }

    /// Nothing followed: it was the Escape key.
    pub(super) fn decide(&mut self) -> Option<Key> {
        self.is_undecided().then(|| {
            self.pending.clear();
            Key::Escape
        })
    }
}

/// The first key of the bytes and how many it took; `None` while it is not whole.
fn next(bytes: &[u8]) -> Option<(Key, usize)> {
    let first = *bytes.first()?;
    match first {
        0x1b => escape(bytes),
        b'\r' => Some((Key::Enter, 1)),
        b'\n' => Some((Key::Newline, 1)),
        0x7f | 0x08 => Some((Key::Backspace, 1)),
        0x00 => Some((Key::Other, 1)),
        0x01..=0x1a => Some((Key::Ctrl(char::from(first + 0x60)), 1)),
        0x1c..=0x1f => Some((Key::Other, 1)),
        _ => character(bytes),
    }
}

fn escape(bytes: &[u8]) -> Option<(Key, usize)> {
    if bytes.starts_with(PASTE_START) {
        let body = &bytes[PASTE_START.len()..];
        let end = body.windows(PASTE_END.len()).position(|w| w == PASTE_END)?;
        let text = String::from_utf8_lossy(&body[..end])
            .replace("\r\n", "\n")
            .replace('\r', "\n");
        return Some((Key::Paste(text), PASTE_START.len() + end + PASTE_END.len()));
    }
    match bytes.get(1)? {
        b'[' | b'O' => {
            let length = bytes[2..].iter().position(|b| (0x40..=0x7e).contains(b))? + 3;
            let key = if &bytes[..length] == b"\x1b[A" || &bytes[..length] == b"\x1bOA" {
                Key::Up
            } else {
                Key::Other
            };
            Some((key, length))
        }
        // two Escapes are two keys; Escape and a character are one, as terminals send Alt
        0x1b => Some((Key::Escape, 1)),
        b'\r' => Some((Key::Newline, 2)),
        _ => Some((Key::Other, 2)),
    }
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    if bytes.len() < length {
        return None;
    }
    let key = std::str::from_utf8(&bytes[..length])
        .ok()
        .and_then(|text| text.chars().next());
    match key {
        Some(character) => Some((Key::Char(character), length)),
        None => Some((Key::Other, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        use Key::{Backspace, Char, Ctrl, Enter, Escape, Newline, Other, Paste, Up};
        for (bytes, keys) in [
            (&b"hi\r"[..], vec![Char('h'), Char('i'), Enter]),
            ("ä✳".as_bytes(), vec![Char('ä'), Char('✳')]),
            (
                b"\x1b[200~a\rb\nc\x1b[201~\r",
                vec![Paste("a\nb\nc".into()), Enter],
            ),
            (b"\x1b\x1b[A", vec![Escape, Up]),
            (
                b"\x13\x03\x7f\n",
                vec![Ctrl('s'), Ctrl('c'), Backspace, Newline],
            ),
            (b"\x1b[1;5C\xff\x1bx", vec![Other, Other, Other]),
        ] {
            let mut whole = Decoder::default();
            assert_eq!(whole.feed(bytes), keys, "{bytes:?}");
        }
    }

    #[test]
    fn a_paste_may_come_in_pieces() {
        let text = "ü".repeat(50);
        let bytes = [PASTE_START, text.as_bytes(), PASTE_END].concat();
        let mut decoder = Decoder::default();
        let keys: Vec<Key> = bytes
            .chunks(7)
            .flat_map(|chunk| decoder.feed(chunk))
            .collect();
        assert_eq!(keys, [Key::Paste(text)]);
    }

    #[test]
    fn a_lone_escape_is_decided_later() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\x1b"), []);
        assert!(decoder.is_undecided());
        assert_eq!(decoder.decide(), Some(Key::Escape));
        assert_eq!(decoder.decide(), None);
    }
}
