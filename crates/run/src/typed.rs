//! What comes from the person's terminal, told apart: keys, pastes, and what the terminal itself
//! answers to a program's questions. Pure; it changes no byte and loses none.

use crate::keys::key_code;

/// A key is not longer; nor is an answer that matters to a program that just starts.
const LONGEST: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A character.
    Text,
    Enter,
    /// Any other key.
    Key,
    /// A paste with its marks; a very long one comes in parts.
    Paste,
    /// Nobody typed it: an answer of the terminal, the mouse, the focus.
    Reply,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// So many bytes of a character are missing.
    Character(u8),
    Escape,
    Function,
    Sequence,
    String,
    StringEscape,
    Paste,
}

/// Takes bytes as they come, cut anywhere.
#[derive(Debug, Default)]
pub struct Typed {
    state: State,
    token: Vec<u8>,
}

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// A paste is told in parts of this size.
const PASTE_PART: usize = 1 << 20;

impl Typed {
    pub fn feed(&mut self, bytes: &[u8], mut tell: impl FnMut(Token, &[u8])) {
        for byte in bytes {
            self.byte(*byte, &mut tell);
        }
    }

    /// What has begun and is not complete: a lone Escape, most often.
    pub fn rest(&mut self, mut tell: impl FnMut(Token, &[u8])) {
        let token = match self.state {
            State::Paste => Token::Paste,
            _ => Token::Key,
        };
        if !self.token.is_empty() {
            self.tell(token, &mut tell);
        }
        self.state = State::Ground;
    }

    fn tell(&mut self, token: Token, tell: &mut impl FnMut(Token, &[u8])) {
        tell(token, &self.token);
        self.token.clear();
        self.state = State::Ground;
    }

    fn byte(&mut self, byte: u8, tell: &mut impl FnMut(Token, &[u8])) {
        // What cannot belong to what has begun is something of its own.
        let breaks = match self.state {
            State::Ground | State::Paste | State::StringEscape => false,
            State::Character(_) => byte & 0xc0 != 0x80,
            State::Escape => byte == 0x1b,
            State::Function | State::Sequence => !(0x20..0x7f).contains(&byte),
            State::String => matches!(byte, b'\r' | b'\n' | 0x03 | 0x04),
        };
        if breaks || self.token.len() > LONGEST && self.state != State::Paste {
            self.tell(Token::Key, tell);
        }
        self.token.push(byte);
        match self.state {
            State::Ground => match byte {
                0x1b => self.state = State::Escape,
                b'\r' | b'\n' => self.tell(Token::Enter, tell),
                0x20..0x7f => self.tell(Token::Text, tell),
                0xc2..0xe0 => self.state = State::Character(1),
                0xe0..0xf0 => self.state = State::Character(2),
                0xf0..0xf5 => self.state = State::Character(3),
                _ => self.tell(Token::Key, tell),
            },
            State::Character(1) => self.tell(Token::Text, tell),
            State::Character(missing) => self.state = State::Character(missing.saturating_sub(1)),
            State::Escape => match byte {
                b'[' => self.state = State::Sequence,
                b'O' => self.state = State::Function,
                b']' | b'P' | b'_' | b'^' | b'X' => self.state = State::String,
                _ => self.tell(Token::Key, tell),
            },
            State::Function => self.tell(Token::Key, tell),
            State::Sequence if byte < 0x40 => {}
            State::Sequence if self.token == PASTE_BEGINS => self.state = State::Paste,
            State::Sequence => {
                let token = sequence(&self.token);
                self.tell(token, tell);
            }
            State::String => match byte {
                0x07 => self.tell(Token::Reply, tell),
                0x1b => self.state = State::StringEscape,
                _ => {}
            },
            State::StringEscape => match byte {
                b'\\' => self.tell(Token::Reply, tell),
                _ => self.state = State::String,
            },
            State::Paste => {
                if self.token.ends_with(PASTE_ENDS) {
                    self.tell(Token::Paste, tell);
                } else if self.token.len() >= PASTE_PART {
                    // Its end mark must not be cut in two.
                    let keep = self.token.len().saturating_sub(PASTE_ENDS.len());
                    let rest = self.token.split_off(keep);
                    self.tell(Token::Paste, tell);
                    self.token = rest;
                    self.state = State::Paste;
                }
            }
        }
    }
}

fn sequence(token: &[u8]) -> Token {
    let body = token.get(2..).unwrap_or_default();
    let Some((last, body)) = body.split_last() else {
        return Token::Key;
    };
    let begins = |with: &[u8]| body.first().is_some_and(|first| with.contains(first));
    match last {
        b'c' | b'n' | b't' => Token::Reply,
        b'y' if body.ends_with(b"$") => Token::Reply,
        b'R' if body.contains(&b';') => Token::Reply,
        b'I' | b'O' if body.is_empty() => Token::Reply,
        b'u' if begins(b"?") => Token::Reply,
        b'M' | b'm' if begins(b"<") => Token::Reply,
        last => match key_code(body, *last) {
            Some((13, false)) => Token::Enter,
            Some(_) | None => Token::Key,
        },
    }
}

/// A paste without its marks, lines ended by line ends.
pub fn pasted(token: &[u8]) -> String {
    let body = token.strip_prefix(PASTE_BEGINS).unwrap_or(token);
    let body = body.strip_suffix(PASTE_ENDS).unwrap_or(body);
    String::from_utf8_lossy(body)
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

/// A text as a terminal would paste it: nothing in it can end the paste or be a key.
pub fn as_paste(text: &str) -> Vec<u8> {
    let plain: String = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    let mut bytes = PASTE_BEGINS.to_vec();
    bytes.extend_from_slice(plain.replace('\n', "\r").as_bytes());
    bytes.extend_from_slice(PASTE_ENDS);
    bytes
}

/// Bytes to be given at once, and how long to wait before them, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    pub pause: u64,
}

/// Agents take characters that come faster than anybody types for a paste, and an Enter right
/// behind them for a part of it.
const BETWEEN_KEYS: u64 = 12;
const AROUND_ENTER: u64 = 250;
/// Nobody types so much in the time that is waited: it need not look typed.
const MOST_TYPED: usize = 1000;

/// Keys to be given again, as if they were typed.
pub fn pieces(bytes: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut typed, mut after_enter) = (0_usize, false);
    let mut add = |token: Token, bytes: &[u8]| {
        let pause = match token {
            Token::Enter | Token::Paste => AROUND_ENTER,
            _ if after_enter => AROUND_ENTER,
            Token::Text | Token::Key | Token::Reply => BETWEEN_KEYS,
        };
        after_enter = matches!(token, Token::Enter | Token::Paste);
        typed += 1;
        let bytes = bytes.to_vec();
        match pieces.last_mut() {
            Some(last) if typed > MOST_TYPED && pause == BETWEEN_KEYS => last.bytes.extend(bytes),
            Some(_) | None => pieces.push(Piece { bytes, pause }),
        }
    };
    let mut reader = Typed::default();
    reader.feed(bytes, &mut add);
    reader.rest(&mut add);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8], cut: usize) -> Vec<(Token, Vec<u8>)> {
        let mut told = Vec::new();
        let mut typed = Typed::default();
        let mut add = |token, bytes: &[u8]| told.push((token, bytes.to_vec()));
        typed.feed(&bytes[..cut], &mut add);
        typed.feed(&bytes[cut..], &mut add);
        typed.rest(&mut add);
        told
    }

    #[test]
    fn keys_pastes_and_answers_wherever_they_are_cut() {
        use Token::{Enter, Key, Paste, Reply, Text};
        for (bytes, expected) in [
            (&b"ab\r"[..], &[Text, Text, Enter][..]),
            ("é日😀".as_bytes(), &[Text, Text, Text]),
            (b"\x03\x7f\x15", &[Key, Key, Key]),
            (b"\x1b", &[Key]),
            (b"\x1b\x1b[A", &[Key, Key]),
            (b"\x1bx\x1bOP\x1b[1;5C\x1b[3~", &[Key, Key, Key, Key]),
            (b"\x1b[13u\x1b[13;2u\x1b[97u", &[Enter, Key, Key]),
            (b"\x1b[200~a\rb\x1b[201~\r", &[Paste, Enter]),
            (b"\x1b[200~\x1b[20\x1b[201~", &[Paste]),
            (b"\x1b[200~never ends", &[Paste]),
            (b"\x1b[?62;4c\x1b[12;40R\x1b[?1u\x1b[?2026;2$y", &[Reply; 4]),
            (b"\x1b[I\x1b[O\x1b[<0;3;4M\x1b[<0;3;4m\x1b[0n", &[Reply; 5]),
            (b"\x1b]11;rgb:1e/1e/1e\x1b\\x", &[Reply, Text]),
            (b"\x1b]11;rgb:1e/1e/1e\x07\x1bP1+r\x1b\\", &[Reply, Reply]),
            // Alt with a key that could begin an answer.
            (b"\x1b]\r", &[Key, Enter]),
            (b"\x1b]\x03", &[Key, Key]),
            (b"\xff\xc3(\xe2\x82", &[Key, Key, Text, Key]),
            (b"\x1b[\x03", &[Key, Key]),
        ] {
            for cut in 0..=bytes.len() {
                let told = told(bytes, cut);
                let tokens: Vec<Token> = told.iter().map(|(token, _)| *token).collect();
                assert_eq!(tokens, expected, "{bytes:?} cut at {cut}");
                let all: Vec<u8> = told.into_iter().flat_map(|(_, bytes)| bytes).collect();
                assert_eq!(all, bytes, "nothing is lost");
            }
        }
    }

    #[test]
    fn a_long_paste_comes_in_parts_and_whole() {
        let mut bytes = PASTE_BEGINS.to_vec();
        bytes.extend(vec![b'x'; 3 * PASTE_PART]);
        bytes.extend(PASTE_ENDS);
        let parts = told(&bytes, 0);
        assert!(parts.len() > 3);
        assert!(parts.iter().all(|(token, _)| *token == Token::Paste));
        let all: Vec<u8> = parts.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(all, bytes);
    }

    #[test]
    fn what_is_given_again_looks_typed() {
        let pieces = pieces("hé\r\x1b[200~p\x1b[201~x\x1b[A".as_bytes());
        let told: Vec<(&[u8], u64)> = pieces.iter().map(|p| (&p.bytes[..], p.pause)).collect();
        let expected: [(&[u8], u64); 6] = [
            (b"h", BETWEEN_KEYS),
            ("é".as_bytes(), BETWEEN_KEYS),
            (b"\r", AROUND_ENTER),
            (b"\x1b[200~p\x1b[201~", AROUND_ENTER),
            (b"x", AROUND_ENTER),
            (b"\x1b[A", BETWEEN_KEYS),
        ];
        assert_eq!(told, expected);
        let many = super::pieces(&[b'x'; 5000]);
        assert_eq!(many.len(), MOST_TYPED);
        assert_eq!(many.iter().map(|p| p.bytes.len()).sum::<usize>(), 5000);
    }

    #[test]
    fn a_paste_cannot_be_left() {
        assert_eq!(
            as_paste("a\nb\tc\x1b[201~\x03\r"),
            b"\x1b[200~a\rb\tc[201~\x1b[201~"
        );
        assert_eq!(pasted(b"\x1b[200~a\rb\r\nc\x1b[201~"), "a\nb\nc");
    }
}
