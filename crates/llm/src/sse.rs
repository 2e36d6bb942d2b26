//! Server-sent events out of bytes as they arrive. Pure; never fails, takes no more memory than
//! one event may have.

/// An event larger than this is no answer of a model.
const LARGEST: usize = 32 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Empty where the stream does not name its events.
    pub name: String,
    pub data: String,
}

/// The bytes of a stream that make no whole line yet, and the lines that make no whole event.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return: a newline after it belongs to it.
    after_return: bool,
    begun: bool,
    too_large: bool,
}

impl Parser {
    /// Takes the next bytes and hands on every event they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<Event>) {
        while let Some(at) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (piece, rest) = bytes.split_at(at);
            let end = rest[0];
            bytes = &rest[1..];
            if end == b'\n' && self.after_return && piece.is_empty() {
                self.after_return = false;
                continue;
            }
            self.after_return = end == b'\r';
            self.keep(piece);
            let line = std::mem::take(&mut self.line);
            if let Some(event) = self.take_line(&line) {
                out.push(event);
            }
            self.line = line;
            self.line.clear();
        }
        if !bytes.is_empty() {
            self.after_return = false;
            self.keep(bytes);
        }
    }

    /// Whether an event was larger than any answer may be.
    pub(crate) fn too_large(&self) -> bool {
        self.too_large
    }

    /// What is left at the end of the stream: some servers leave out the last empty line.
    pub(crate) fn finish(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let _ = self.take_line(&line);
        }
        if let Some(event) = self.take_line(b"") {
            out.push(event);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len() + self.event.data.len() + bytes.len() > LARGEST {
            self.too_large = true;
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        let line = if self.begun {
            line
        } else {
            self.begun = true;
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            // llama.cpp says a failure in a field of this name
            b"data" | b"error" => {
                if field == b"error" {
                    self.event.name = "error".to_owned();
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(&String::from_utf8_lossy(value));
            }
            // a comment, or a field of which this program makes no use
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<Event> {
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        for piece in pieces {
            parser.feed(piece, &mut out);
        }
        parser.finish(&mut out);
        out
    }

    fn event(name: &str, data: &str) -> Event {
        Event {
            name: name.into(),
            data: data.into(),
        }
    }

    #[test]
    fn events_are_found_in_every_dress() {
        for (text, expected) in [
            ("", vec![]),
            ("data: a\n\n", vec![event("", "a")]),
            ("data:a\r\n\r\n", vec![event("", "a")]),
            (
                "event: x\rdata: a\r\rdata: b\r\r",
                vec![event("x", "a"), event("", "b")],
            ),
            (
                ": ping\n\ndata: a\ndata: b\nid: 1\n\n",
                vec![event("", "a\nb")],
            ),
            ("\u{feff}data: a\n\n", vec![event("", "a")]),
            ("event: only a name\n\n", vec![]),
            ("data\n\n", vec![event("", "")]),
            ("data: [DONE]", vec![event("", "[DONE]")]),
            (
                "data: a\r\n\ndata: b\n\n",
                vec![event("", "a"), event("", "b")],
            ),
        ] {
            assert_eq!(read(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn an_event_without_end_takes_bounded_memory() {
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..64 {
            parser.feed(&piece, &mut out);
        }
        assert!(parser.too_large() && parser.line.len() <= LARGEST && out.is_empty());
    }

    proptest! {
        #[test]
        fn a_stream_is_read_the_same_however_it_arrives(
            text in "(data: ?|event: ?|: |[a-zü:{}\"\\\\]|\r|\n|\r\n|\n\n){0,60}",
            cuts in prop::collection::vec(0_usize..200, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(read(&[bytes]), read(&pieces));
        }
    }
}
