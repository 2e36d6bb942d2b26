//! A small JSON reader for the few answers our std-only programs must understand.
//!
//! Input from outside: never panics, bounded in depth, `None` for anything that is not JSON.
//! It never writes and is no replacement for serde in the daemon.

/// Deeper nesting is refused: nothing of ours needs it, and recursion must end.
const MAX_DEPTH: usize = 64;

/// A JSON value. Numbers stay as they were written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    /// In order; of equal keys the last one counts in `get`.
    Object(Vec<(String, Value)>),
}

impl Value {
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Object(fields) => fields
                .iter()
                .rev()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(values) => Some(values),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Object(_) => {
                None
            }
        }
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(digits) => digits.parse().ok(),
            Self::Null | Self::Bool(_) | Self::String(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// All elements as texts; `None` if one is something else.
    pub fn as_strings(&self) -> Option<Vec<String>> {
        self.as_array()?
            .iter()
            .map(|value| value.as_str().map(str::to_owned))
            .collect()
    }
}

/// Reads one whole JSON text.
pub fn parse(input: &[u8]) -> Option<Value> {
    let mut reader = Reader { input, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    (reader.at == input.len()).then_some(value)
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        self.input[self.at..].starts_with(word.as_bytes()).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.peek()? {
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'"' => self.string().map(Value::String),
            b'[' => self.array(depth),
            b'{' => self.object(depth),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.take(b'[')?;
        let mut values = Vec::new();
        self.space();
        if self.take(b']').is_some() {
            return Some(Value::Array(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.space();
            if self.take(b',').is_none() {
                self.take(b']')?;
                return Some(Value::Array(values));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take(b'{')?;
        let mut fields = Vec::new();
        self.space();
        if self.take(b'}').is_some() {
            return Some(Value::Object(fields));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.take(b':')?;
            fields.push((key, self.value(depth + 1)?));
            self.space();
            if self.take(b',').is_none() {
                self.take(b'}')?;
                return Some(Value::Object(fields));
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let from = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.input[from..self.at]).ok()?;
        // Rust's own reader says whether it is a number; "+1", "1." and ".5" cannot start here
        // or do no harm.
        digits.parse::<f64>().ok()?;
        Some(Value::Number(digits.to_owned()))
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut text = Vec::new();
        loop {
            let from = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | 0..=0x1f) {
                self.at += 1;
            }
            text.extend_from_slice(&self.input[from..self.at]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return String::from_utf8(text).ok();
                }
                b'\\' => {
                    self.at += 1;
                    let letter = self.escape()?;
                    text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return None,
        })
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            // A lone low surrogate is no character; agents do write them for cut emoji.
            return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let behind = self.at;
        if self.take(b'\\').is_some() && self.take(b'u').is_some() {
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
        }
        self.at = behind;
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.input.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |value, digit| {
            Some(value * 16 + char::from(*digit).to_digit(16)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_serde(value: &Value) -> serde_json::Value {
        match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(flag) => (*flag).into(),
            Value::Number(digits) => serde_json::from_str(digits).unwrap(),
            Value::String(text) => text.as_str().into(),
            Value::Array(values) => values.iter().map(as_serde).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.clone(), as_serde(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    const SAMPLES: &[&str] = &[
        r#"{"argv":["claude","--x","ü \u00e9 \ud83e\udd80"],"env":[["K","V\n"],["E",""]],"cwd":"/"}"#,
        r#" [ ] "#,
        r#"{"a":{"b":[1,-2.5,3e4,0,true,false,null,{}]},"a2":""}"#,
        r#""\"\\\/\b\f\n\r\t""#,
        "12",
    ];

    #[test]
    fn reads_what_serde_reads() {
        for sample in SAMPLES {
            let theirs: serde_json::Value = serde_json::from_str(sample).unwrap();
            assert_eq!(
                as_serde(&parse(sample.as_bytes()).unwrap()),
                theirs,
                "{sample}"
            );
        }
    }

    #[test]
    fn refuses_what_is_not_json() {
        let deep = "[".repeat(100_000);
        for bad in [
            "",
            " ",
            "{",
            "[1,",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "nul",
            "tru",
            "01x",
            "-",
            "\"\\u00g0\"",
            "[1]2",
            "{a:1}",
            "'a'",
            "\u{feff}1",
            &deep,
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad:.20}");
        }
        assert_eq!(parse(b"\"\xff\""), None);
        assert_eq!(
            parse(br#""\ud83ex""#),
            Some(Value::String("\u{fffd}x".to_owned()))
        );
    }

    #[test]
    fn no_bytes_make_it_panic() {
        // xorshift: the same bytes every run.
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut accepted = 0;
        for round in 0..40_000 {
            let sample = SAMPLES[round % SAMPLES.len()].as_bytes();
            let mut bytes = sample.to_vec();
            for _ in 0..random() % 4 {
                let at = random() as usize % bytes.len();
                bytes[at] = random() as u8;
            }
            bytes.truncate(random() as usize % (bytes.len() + 1));
            accepted += usize::from(parse(&bytes).is_some());
        }
        assert!(accepted < 40_000);
    }
}
