//! Terminal bytes into what they ask for. Knows nothing of a screen.
//!
//! The bytes may be cut anywhere: what is unfinished is kept, a few bytes at most. Runs of plain
//! text are handed on whole, as most of a log is that.

/// What the bytes ask for, one after the other.
pub(crate) trait Perform {
    /// Where the bytes that follow lie in the log.
    fn position(&mut self, at: u64);
    /// Printable ASCII.
    fn ascii(&mut self, text: &[u8]);
    /// Any other character.
    fn char(&mut self, c: char);
    /// One of the control characters below the space.
    fn control(&mut self, byte: u8);
    /// `ESC`, perhaps something between, and a final byte.
    fn escape(&mut self, between: &[u8], last: u8);
    fn csi(&mut self, csi: &Csi<'_>);
}

/// A control sequence without its final byte.
pub(crate) struct Csi<'a> {
    body: &'a [u8],
    pub last: u8,
}

impl<'a> Csi<'a> {
    /// `?` and the like, or 0.
    pub fn private(&self) -> u8 {
        match self.body.first() {
            Some(&byte @ b'<'..=b'?') => byte,
            _ => 0,
        }
    }

    /// The byte between the parameters and the final one, or 0.
    pub fn between(&self) -> u8 {
        match self.body.last() {
            Some(&byte @ b' '..=b'/') => byte,
            _ => 0,
        }
    }

    /// Every parameter; `None` for one that is left out.
    pub fn params(&self) -> impl Iterator<Item = Option<usize>> + use<'a> {
        let digits = match self.private() {
            0 => self.body,
            _ => self.body.get(1..).unwrap_or_default(),
        };
        digits
            .split(|byte| matches!(byte, b';' | b':'))
            .map(|text| {
                let mut value = None;
                for byte in text.iter().filter(|byte| byte.is_ascii_digit()) {
                    let sum = value.unwrap_or(0) * 10 + usize::from(byte - b'0');
                    value = Some(sum.min(99_999));
                }
                value
            })
    }

    pub fn param(&self, index: usize) -> Option<usize> {
        self.params().nth(index).flatten()
    }

    /// A count or a place: left out or 0 is 1.
    pub fn count(&self, index: usize) -> usize {
        self.param(index).unwrap_or(1).max(1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ground,
    Escape,
    Csi,
    /// Too long to mean anything.
    CsiIgnored,
    /// A title and the like: ends with BEL, or as all strings do.
    Osc,
    /// Any other string: ends with the next ESC.
    String,
}

/// Longer sequences mean nothing.
const LONGEST: usize = 256;

#[derive(Debug, Clone)]
pub(crate) struct Parser {
    pub(crate) state: State,
    /// The sequence so far.
    pub(crate) body: Vec<u8>,
    /// The character so far.
    pub(crate) unfinished: Vec<u8>,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            state: State::Ground,
            body: Vec::new(),
            unfinished: Vec::new(),
        }
    }
}

impl Parser {
    /// `at`: where the first of the bytes lies in the log.
    pub fn feed(&mut self, bytes: &[u8], at: u64, to: &mut impl Perform) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            let here = at + (bytes.len() - rest.len()) as u64;
            let used = match self.state {
                State::Ground if !self.unfinished.is_empty() => self.finish_char(rest, here, to),
                State::Ground => self.ground(rest, here, to),
                State::Escape => {
                    self.escape(byte, to);
                    1
                }
                State::Csi | State::CsiIgnored => {
                    self.csi(byte, here, to);
                    1
                }
                State::Osc | State::String => self.string(rest),
            };
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    fn ground(&mut self, bytes: &[u8], at: u64, to: &mut impl Perform) -> usize {
        to.position(at);
        let plain = bytes
            .iter()
            .position(|byte| !(0x20..0x7f).contains(byte))
            .unwrap_or(bytes.len());
        if plain > 0 {
            to.ascii(bytes.get(..plain).unwrap_or_default());
            return plain;
        }
        match bytes.first() {
            Some(&byte @ 0x80..) => self.character(byte, bytes, to),
            Some(0x1b) if bytes.get(1) == Some(&b'[') => match whole_csi(bytes) {
                Some((csi, length)) => {
                    to.position(at + length as u64 - 1);
                    to.csi(&csi);
                    length
                }
                None => {
                    self.enter(State::Csi);
                    2
                }
            },
            Some(&byte) => {
                self.control(byte, to);
                1
            }
            None => 0,
        }
    }

    fn control(&mut self, byte: u8, to: &mut impl Perform) {
        match byte {
            0x1b => self.enter(State::Escape),
            0x7f => {}
            byte => to.control(byte),
        }
    }

    fn enter(&mut self, state: State) {
        self.body.clear();
        self.state = state;
    }

    fn character(&mut self, first: u8, bytes: &[u8], to: &mut impl Perform) -> usize {
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => {
                to.char(char::REPLACEMENT_CHARACTER);
                return 1;
            }
        };
        let piece = bytes.get(..length.min(bytes.len())).unwrap_or_default();
        match std::str::from_utf8(piece) {
            Ok(text) => {
                text.chars().for_each(|c| to.char(c));
                length
            }
            Err(error) => match error.error_len() {
                // As many bytes as could not be the beginning of a character count as one.
                Some(bad) => {
                    to.char(char::REPLACEMENT_CHARACTER);
                    bad
                }
                None => {
                    self.unfinished.extend_from_slice(piece);
                    piece.len()
                }
            },
        }
    }

    /// The rest of a character that was cut.
    fn finish_char(&mut self, bytes: &[u8], at: u64, to: &mut impl Perform) -> usize {
        let mut joined = std::mem::take(&mut self.unfinished);
        let had = joined.len();
        to.position(at.saturating_sub(had as u64));
        joined.extend(bytes.iter().take(4 - had.min(4)));
        let Some(&first) = joined.first() else {
            return 0;
        };
        self.character(first, &joined, to).saturating_sub(had)
    }

    fn escape(&mut self, byte: u8, to: &mut impl Perform) {
        match byte {
            0x1b => self.enter(State::Escape),
            0x18 | 0x1a => self.enter(State::Ground),
            0..=0x1f => to.control(byte),
            b' '..=b'/' => {
                if self.body.len() < LONGEST {
                    self.body.push(byte);
                }
            }
            b'[' if self.body.is_empty() => self.enter(State::Csi),
            b']' if self.body.is_empty() => self.enter(State::Osc),
            b'P' | b'X' | b'^' | b'_' | b'k' if self.body.is_empty() => self.enter(State::String),
            0x30..=0x7e => {
                self.state = State::Ground;
                to.escape(&self.body, byte);
            }
            0x7f => {}
            0x80.. => self.enter(State::Ground),
        }
    }

    fn csi(&mut self, byte: u8, at: u64, to: &mut impl Perform) {
        match byte {
            0x1b => self.enter(State::Escape),
            0x18 | 0x1a => self.enter(State::Ground),
            0..=0x1f => to.control(byte),
            0x20..=0x3f if self.body.len() < LONGEST => self.body.push(byte),
            0x20..=0x3f => self.state = State::CsiIgnored,
            0x40..=0x7e => {
                let known = self.state == State::Csi;
                self.state = State::Ground;
                if known {
                    to.position(at);
                    to.csi(&Csi {
                        body: &self.body,
                        last: byte,
                    });
                }
            }
            0x7f => {}
            0x80.. => self.enter(State::Ground),
        }
    }

    fn string(&mut self, bytes: &[u8]) -> usize {
        let bell_ends = self.state == State::Osc;
        let ends = |byte: &u8| matches!(byte, 0x18 | 0x1a | 0x1b) || (*byte == 7 && bell_ends);
        let Some(at) = bytes.iter().position(ends) else {
            return bytes.len();
        };
        let next = match bytes.get(at) {
            Some(0x1b) => State::Escape,
            _ => State::Ground,
        };
        self.enter(next);
        at + 1
    }

    /// No more will come.
    pub fn finish(&mut self, at: u64, to: &mut impl Perform) {
        let cut = std::mem::take(&mut self.unfinished);
        if !cut.is_empty() {
            to.position(at.saturating_sub(cut.len() as u64));
            to.char(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// A control sequence that is there as a whole, and its length. Most are.
fn whole_csi(bytes: &[u8]) -> Option<(Csi<'_>, usize)> {
    let body = bytes.get(2..)?;
    let length = body
        .iter()
        .take(LONGEST)
        .position(|byte| !(0x20..0x40).contains(byte))?;
    let last = *body
        .get(length)
        .filter(|last| (0x40..0x7f).contains(*last))?;
    let csi = Csi {
        body: body.get(..length)?,
        last,
    };
    Some((csi, length + 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard(String);

    impl Perform for Heard {
        fn position(&mut self, _: u64) {}
        fn ascii(&mut self, text: &[u8]) {
            self.0.push_str(&String::from_utf8_lossy(text));
        }
        fn char(&mut self, c: char) {
            self.0.push(c);
        }
        fn control(&mut self, byte: u8) {
            self.0 += &format!("<{byte}>");
        }
        fn escape(&mut self, between: &[u8], last: u8) {
            self.0 += &format!("<e{}{}>", String::from_utf8_lossy(between), last as char);
        }
        fn csi(&mut self, csi: &Csi<'_>) {
            let params: Vec<String> = csi
                .params()
                .map(|p| p.map_or("-".into(), |p| p.to_string()))
                .collect();
            let mark = |byte: u8| (byte != 0).then_some(byte as char);
            self.0.push('<');
            self.0.extend(mark(csi.private()));
            self.0 += &params.join(";");
            self.0.extend(mark(csi.between()));
            self.0 += &format!("{}>", csi.last as char);
        }
    }

    fn hear(bytes: &[u8], cut: usize) -> String {
        let (mut parser, mut heard) = (Parser::default(), Heard::default());
        parser.feed(&bytes[..cut], 0, &mut heard);
        parser.feed(&bytes[cut..], cut as u64, &mut heard);
        parser.finish(bytes.len() as u64, &mut heard);
        heard.0
    }

    #[test]
    fn what_bytes_mean_wherever_they_are_cut() {
        for (bytes, expected) in [
            (&b"plain text"[..], "plain text"),
            (b"a\r\nb\x7f", "a<13><10>b"),
            (b"\x1b[31mred\x1b[m", "<31m>red<-m>"),
            (b"\x1b[?1049h\x1b[1;H", "<?1049h><1;-H>"),
            (b"\x1b[2 q\x1b[>4;1m", "<2 q><>4;1m>"),
            (b"\x1b[4:3m", "<4;3m>"),
            (b"\x1b[99999999999A", "<99999A>"),
            (b"\x1b(0\x1bM\x1b#8", "<e(0><eM><e#8>"),
            (b"\x1b]0;title\x07x", "x"),
            (b"\x1b]0;title\x1b\\x", "<e\\>x"),
            (b"\x1bPq\x07z\x1b\\x", "<e\\>x"),
            (b"\x1bktitle\x1b\\x", "<e\\>x"),
            // A control character inside a sequence is obeyed; a cancel ends it.
            (b"\x1b[3\r1mx\x1b[3\x18y", "<13><31m>xy"),
            (b"\x1b[3\x1b[4mz", "<4m>z"),
            ("é€😀".as_bytes(), "é€😀"),
            (b"\xff\xc3(\xe2\x82", "\u{fffd}\u{fffd}(\u{fffd}"),
            (b"\xf0\x9f\x98\x1b[m", "\u{fffd}<-m>"),
        ] {
            for cut in 0..=bytes.len() {
                assert_eq!(hear(bytes, cut), expected, "{bytes:?} cut at {cut}");
            }
        }
        let long = [b"\x1b[".to_vec(), vec![b'1'; 300], b"mx".to_vec()].concat();
        assert_eq!(hear(&long, 0), "x");
    }
}
