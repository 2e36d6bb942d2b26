//! JSON with the place of everything in it: strict, as the agents read it. It never fails on
//! anything but by saying where.

use super::Refusal;

/// Nobody nests settings this deep; a bound keeps the reader's own stack safe.
const MAX_DEPTH: usize = 200;

/// A value and its bytes in the text: from `start` to before `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    String(String),
    /// A number, `true`, `false` or `null`.
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Where its key begins.
    pub start: usize,
    pub key: String,
    pub value: Node,
}

impl Node {
    pub fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            Kind::Array(_) | Kind::String(_) | Kind::Plain => None,
        }
    }

    pub fn elements(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            Kind::Object(_) | Kind::String(_) | Kind::Plain => None,
        }
    }

    pub fn string(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Plain => None,
        }
    }

    /// The value of a key of an object; of several of the same name the last counts.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let member = self.members()?.iter().rev().find(|m| m.key == key)?;
        Some(&member.value)
    }

    /// First and last byte of each thing inside.
    pub fn inside(&self) -> Vec<(usize, usize)> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|m| (m.start, m.value.end)).collect(),
            Kind::Array(elements) => elements.iter().map(|e| (e.start, e.end)).collect(),
            Kind::String(_) | Kind::Plain => Vec::new(),
        }
    }
}

pub fn parse(text: &str) -> Result<Node, Refusal> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.blanks();
    let root = reader.value(0)?;
    reader.blanks();
    match reader.peek() {
        None => Ok(root),
        Some(_) => Err(reader.unexpected("the end of the file")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn refuse<T>(&self, at: usize, what: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal::at(self.text, at, what))
    }

    fn unexpected(&self, wanted: &str) -> Refusal {
        let what = match self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        {
            None => format!("the file ends where {wanted} is expected"),
            Some('/') => "a comment, which JSON does not have".to_owned(),
            Some(c) => format!("{c:?} where {wanted} is expected"),
        };
        Refusal::at(self.text, self.at, what)
    }

    fn value(&mut self, depth: usize) -> Result<Node, Refusal> {
        let start = self.at;
        if depth > MAX_DEPTH {
            return self.refuse(start, "too deeply nested");
        }
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.object(depth)?),
            Some(b'[') => Kind::Array(self.array(depth)?),
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            Some(_) | None => return Err(self.unexpected("a value")),
        };
        Ok(Node {
            start,
            end: self.at,
            kind,
        })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Refusal> {
        let mut members = Vec::new();
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(members);
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in quotes"));
            }
            let key = self.string()?;
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("a colon"));
            }
            self.at += 1;
            self.blanks();
            let value = self.value(depth + 1)?;
            members.push(Member { start, key, value });
            if !self.goes_on(b'}')? {
                return Ok(members);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, Refusal> {
        let mut elements = Vec::new();
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(elements);
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if !self.goes_on(b']')? {
                return Ok(elements);
            }
        }
    }

    /// After a thing inside: a comma and the next, or the end.
    fn goes_on(&mut self, close: u8) -> Result<bool, Refusal> {
        self.blanks();
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.blanks();
                if self.peek() == Some(close) {
                    return self.refuse(comma, "a comma with nothing after it");
                }
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(_) | None => Err(self.unexpected(&format!("a comma or {:?}", char::from(close)))),
        }
    }

    fn word(&mut self, word: &str) -> Result<Kind, Refusal> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(Kind::Plain)
    }

    fn number(&mut self) -> Result<Kind, Refusal> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Kind::Plain)
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    /// The text of a string. Half a surrogate pair is taken as the agents take it, but cannot be
    /// shown: it reads as U+FFFD.
    fn string(&mut self) -> Result<String, Refusal> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .find(|c: char| c == '"' || c == '\\' || c < ' ')
                .unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => return self.refuse(open, "a string that does not end"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => {
                    return self.refuse(self.at, "a control character or line end in a string");
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Refusal> {
        let start = self.at;
        self.at += 2;
        let plain = match self.text.as_bytes().get(start + 1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'u') => {
                let high = self.hex(start)?;
                let mut code = u32::from(high);
                if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.hex(start)?;
                    if (0xdc00..0xe000).contains(&low) {
                        code = 0x10000 + ((code - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    } else {
                        self.at = back;
                    }
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            Some(_) | None => return self.refuse(start, "an escape that JSON does not have"),
        };
        out.push(plain);
        Ok(())
    }

    fn hex(&mut self, start: usize) -> Result<u16, Refusal> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|four| four.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|four| u16::from_str_radix(four, 16).ok()) {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => self.refuse(start, "an escape that JSON does not have"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_is_refused_at_its_place() {
        for (text, expected) in [
            (
                "",
                "line 1, column 1: the file ends where a value is expected",
            ),
            (
                "\n  \n",
                "line 3, column 1: the file ends where a value is expected",
            ),
            (
                "{\n  // mine\n}",
                "line 2, column 3: a comment, which JSON does not have",
            ),
            (
                "{\"a\": 1 /* x */}",
                "line 1, column 9: a comment, which JSON does not have",
            ),
            (
                "{\n \"a\": 1,\n}",
                "line 2, column 8: a comma with nothing after it",
            ),
            ("[1,]", "line 1, column 3: a comma with nothing after it"),
            (
                "{a: 1}",
                "line 1, column 2: 'a' where a key in quotes is expected",
            ),
            (
                "{'a': 1}",
                "line 1, column 2: '\\'' where a key in quotes is expected",
            ),
            (
                "{\"é\" 1}",
                "line 1, column 6: '1' where a colon is expected",
            ),
            (
                "{\"a\":1 \"b\":2}",
                "line 1, column 8: '\"' where a comma or '}' is expected",
            ),
            (
                "{\"a\":01}",
                "line 1, column 7: '1' where a comma or '}' is expected",
            ),
            (
                "{\"a\":+1}",
                "line 1, column 6: '+' where a value is expected",
            ),
            (
                "{\"a\":1.}",
                "line 1, column 8: '}' where a digit is expected",
            ),
            (
                "{\"a\":nul}",
                "line 1, column 6: 'n' where a value is expected",
            ),
            (
                "{\"a\":NaN}",
                "line 1, column 6: 'N' where a value is expected",
            ),
            (
                "{\"a\":\"x\ny\"}",
                "line 1, column 8: a control character or line end in a string",
            ),
            ("{\"a\":\"x", "line 1, column 6: a string that does not end"),
            (
                r#"{"a":"\x"}"#,
                "line 1, column 7: an escape that JSON does not have",
            ),
            (
                r#"{"a":"\u12é"}"#,
                "line 1, column 7: an escape that JSON does not have",
            ),
            (
                "{}{}",
                "line 1, column 3: '{' where the end of the file is expected",
            ),
            (
                "{",
                "line 1, column 2: the file ends where a key in quotes is expected",
            ),
        ] {
            let refused = parse(text).map_err(|refusal| refusal.to_string());
            assert_eq!(refused, Err(expected.to_owned()), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn strings_are_read_and_places_kept() {
        let text = "\u{feff} {\"a\\u00e9\\ud83d\\ude00\\ud800x\\n\\/\" : [ -1.5e+3, true,\"\u{7f}\" ] }\r\n";
        let root = parse(text).unwrap();
        let member = &root.members().unwrap()[0];
        assert_eq!(member.key, "aé😀\u{fffd}x\n/");
        let inside = member.value.inside();
        let parts: Vec<&str> = inside.iter().map(|(s, e)| &text[*s..*e]).collect();
        assert_eq!(parts, ["-1.5e+3", "true", "\"\u{7f}\""]);
        assert_eq!(
            &text[member.value.start..member.value.end],
            "[ -1.5e+3, true,\"\u{7f}\" ]"
        );
    }
}
